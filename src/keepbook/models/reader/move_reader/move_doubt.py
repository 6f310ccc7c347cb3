"""Estimates the probability that a deed is wrong, from everything that was read about it.

Act and line may each be sure, and yet "rent IS 850" changes nothing. So this model looks at the deed as a whole: by how
much act and line lead the next best, what the second reading says (`move_pairs`), whether an old and a new value were
found, which words clause and line share, and words that weaken a statement ("nearly", "if", "hers"). It was fitted on
writers outside the encoders' training set, so it has learned from the errors that they make with strangers.
"""

import math
from collections.abc import Mapping, Sequence

from keepbook.models.reader.features import split_words
from keepbook.models.reader.move_reader.move_pairs import Pairs, log_odds, pair_features
from keepbook.models.reader.move_reader.move_signs import SIGNS, MoveRequest, move_features
from keepbook.models.reader.moves import DEEDS, Move

CUES = tuple(
    frozenset(some.split())
    for some in (
        "if when unless",
        "maybe perhaps might could possibly probably",
        "nearly almost about",
        "was were used ago before until till",
        "not no never n't dont don't",
        "will would gonna going soon plan want next",
        "now since anymore longer today",
        "he she they his her their hers",
        "my i i'm im we our me mine",
        "said says told asked wrote",
        "lol haha jk joke kidding",
        "too also both either",
        "everything all any anything",
        "that this it those",
    )
)
"""Words that weaken or change a statement; each group is one feature."""
ACTED = 8
"""Twice this many of the first features have weights of their own for each act."""
LEADS = (0, 2, 3, 5, 6)
"""The features of `move_signs` for which the difference between the likeliest line and the next one is a feature."""
EVEN = 0.5
"""A line with this probability counts as meant."""


def deed(move: Move) -> tuple[str, tuple[str, ...]] | None:
    """The likeliest deed: its act, and the lines it means. None if the act needs a line and there is none."""
    act = max(DEEDS, key=lambda name: move.acts[name])
    ranked = sorted(move.points, key=lambda name: -move.points[name])
    lines = [name for name in ranked if "/" not in name]
    if act in ("never", "off"):
        return act, ()
    if act == "answer":
        choices = [name for name in ranked if "/" in name]
        if choices:
            return act, (choices[0],)
        return None
    if act in ("change", "end"):
        return (act, (lines[0],)) if lines else None
    meant = tuple(name for name in lines if move.points[name] >= EVEN)
    if meant or act == "keep" or (act == "withdraw" and move.ahead >= EVEN):
        return act, meant
    if lines:
        return act, (lines[0],)
    return None


def doubt_features(
    asked: MoveRequest, which: int, move: Move, act: str, lines: Sequence[str], pairs: Pairs
) -> list[float]:
    """The features that speak for or against a deed."""
    names = [line.id for line in asked.lines] + [f"{asked.at}:{start}" for start, _ in asked.pieces]
    ranked = sorted(move.points, key=lambda name: -move.points[name])
    seen = dict(zip(names, move_features(asked, range(len(asked.pieces)), [which])[0], strict=True))
    nothing = [0.0] * SIGNS
    first, second = (seen.get(name, nothing) for name in [*ranked, "", ""][:2])
    return [
        *_chances(move, act),
        *_lines(asked, move, ranked, lines),
        *_text(asked, which, ranked[:1]),
        *first,
        *(first[at] - second[at] for at in LEADS),
        *pair_features(pairs, act, lines),
    ]


def _chances(move: Move, act: str) -> list[float]:
    acts = move.acts
    second = sorted(acts.values())[-2]
    some = (acts[act], second, acts["talk"], acts["say"], acts["change"] + acts["end"], acts["withdraw"], acts["keep"])
    return [log_odds(one) for one in (*some, acts["answer"])]


def _lines(asked: MoveRequest, move: Move, ranked: Sequence[str], lines: Sequence[str]) -> list[float]:
    points = [*(move.points[name] for name in ranked[:3]), 0.0, 0.0, 0.0][:3]
    old = None
    if ranked:
        old = move.old.get(ranked[0])
    flags = (move.unsure, move.own, move.mistake, move.ahead, move.rest["ask"], move.rest["falls"])
    return [
        *map(log_odds, points),
        points[0] - points[1],
        len(lines),
        len(asked.lines) / 10,
        *map(log_odds, flags),
        old[2] if old else 0.0,
        move.new[2] if move.new else 0.0,
        max((need.likely for need in move.needs), default=0.0),
    ]


def _text(asked: MoveRequest, which: int, top: Sequence[str]) -> list[float]:
    said = split_words(asked.words(which))
    line = next((line.content for line in asked.lines if line.id in top), "")
    there = split_words(line)
    found = [len(said) / 10, float("?" in said), float(_has_figure(said))]
    found += [float(not cue.isdisjoint(said)) for cue in CUES]
    return [*found, float(_has_figure(there)), len(there) / 10]


def _has_figure(given: Sequence[str]) -> bool:
    return any(word.startswith("#") for word in given)


def scale_features(numbers: Sequence[float], act: str, fitted: Mapping[str, Sequence[float]]) -> list[float]:
    """The features on one scale, followed by one feature for each act, and by the first features once for each act,
    zero for all others than this one."""
    scaled = [
        max(-4.0, min(4.0, (one - middle) / wide))
        for one, middle, wide in zip(numbers, fitted["middle"], fitted["wide"], strict=True)
    ]
    here = DEEDS.index(act)
    own = [float(at == here) for at in range(len(DEEDS))]
    again = [scaled[at] if which == here else 0.0 for which in range(len(DEEDS)) for at in range(2 * ACTED)]
    return scaled + own + again


def doubt(asked: MoveRequest, which: int, move: Move, fitted: Mapping[str, Sequence[float]], pairs: Pairs) -> float:
    """The probability that the deed would be wrong; 1 if there is none. `move` combines both readings."""
    found = deed(move)
    if found is None:
        return 1.0
    act, lines = found
    numbers = scale_features(doubt_features(asked, which, move, act, lines, pairs), act, fitted)
    score = fitted["bias"][0] + sum(one * by for one, by in zip(numbers, fitted["weights"], strict=True))
    return 1 / (1 + math.exp(score))
