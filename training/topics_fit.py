"""What never-topics learn: `python -m training.topics_fit` writes `topics.json` and `topics.npz` in
`src/keepbook/book/text/`.

Learned from the sentences in `topics.jsonl` beside them: the weights of the words' signals, what nearness to known
directions of the bundled embedder says for each group, and how much each of the two has to say, judged on sentences
that neither had seen (five parts, each left out once). Nothing is drawn at random; doing it again gives the same files.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from keepbook.book.text import topic_words
from keepbook.book.text.topic_meaning import (
    EVERYDAY,
    Layer,
    TopicExample,
    directions_of,
    layer_of,
    logistic,
    near,
    spread,
    to_int8,
    topic_examples,
)
from keepbook.book.text.words import STOP_WORDS
from keepbook.models.embedders.bundled import find_bundled

OUT = Path(topic_words.__file__).parent / "topics.json"
PARTS, OFTEN, FREE, BOTH = 5, 12, 3.0, 10.0
WORDS_LEAST, LEAST = 0.2, -0.2
"""Where "meant" begins: by words alone above even, they are often used for something else; with meaning below it, what
was kept against somebody's wish is worse than what was left out."""
NONE, ELSE = "none", 0.3
"""Sentences of every day that are about none of the groups, and how much each counts beside those of a group."""
HALF = 0.5
"""A word of the frame counts half as much as a signal while it is learned."""


_BEGINNINGS = ((r"i(?:'m| am|m)\b", "Is"), (r"i(?:'ve| have|ve)\b", "Has"), (r"i was\b", "Was"), (r"i had\b", "Had"))


def as_line(text: str) -> str | None:
    """How the book would say it: without the person. Closing asks about such lines too."""
    for said, line in _BEGINNINGS:
        if found := re.match(said, text, re.IGNORECASE):
            return line + text[found.end() :]
    if found := re.match(r"i ([a-z]+)\b", text, re.IGNORECASE):
        verb = found[1].lower()
        return (verb if verb.endswith(("ed", "s")) else verb + "s").capitalize() + text[found.end() :]
    return None


def with_lines(sentences: list[TopicExample]) -> list[TopicExample]:
    lines = [one._replace(text=line) for one in sentences if (line := as_line(one.text)) is not None]
    return [*sentences, *lines]


def of_every_group(sentences: list[TopicExample]) -> list[TopicExample]:
    """A sentence of every day once for each group, with what it is for that group."""
    groups = groups_of(sentences)
    found = []
    for one in sentences:
        names = groups if one.group in (NONE, EVERYDAY) else [one.group]
        found += [TopicExample(name, one.text, one.is_about(name)) for name in names]
    return found


def groups_of(sentences: list[TopicExample]) -> list[str]:
    return sorted({one.group for one in sentences} - {NONE, EVERYDAY})


class Words:
    def __init__(self, of: list[TopicExample]) -> None:
        neutral = {one.text for one in with_lines(of) if one.group == NONE}
        sentences = of_every_group(with_lines(of))
        counts = Counter(word for one in with_lines(of) for word in topic_words.frame_words(one.text))
        often = {word for word, times in counts.items() if times >= OFTEN and not word.isdecimal()}
        self.frame = sorted(often - STOP_WORDS)
        self.signals = sorted(topic_words.signals(sentences[0].text, sentences[0].group))
        self.groups = sorted({one.group for one in sentences})
        meant = np.array([one.meant for one in sentences], float)
        counts_for = np.array([ELSE if one.text in neutral else 1.0 for one in sentences])
        self.found = logistic(np.array([self.row(one) for one in sentences]), meant, counts_for, FREE)

    def row(self, one: TopicExample) -> list[float]:
        given, said = topic_words.signals(one.text, one.group), topic_words.frame_words(one.text)
        return [
            *(given[name] for name in self.signals),
            *(float(one.group == name) for name in self.groups),
            *(HALF * (word in said) for word in self.frame),
        ]

    def score(self, one: TopicExample) -> float:
        return float(np.dot(self.row(one), self.found[:-1]) + self.found[-1])

    def written(self) -> dict[str, object]:
        values = iter(float(value) for value in self.found)
        signals = {name: round(next(values), 4) for name in self.signals}
        groups = {name: round(next(values), 4) for name in self.groups}
        frame = {word: round(HALF * next(values), 4) for word in self.frame}
        return {"signals": signals, "groups": groups, "frame": frame, "bias": round(next(values), 4)}


def main() -> None:
    embedder = find_bundled()
    if embedder is None:
        raise SystemExit("needs keepbook[embed]")
    sentences = list(topic_examples())
    directions = dict(
        zip((one.text for one in sentences), embedder.embed([one.text for one in sentences]), strict=True)
    )
    groups = groups_of(sentences)
    neutral = {one.text for one in sentences if one.group == NONE}

    def layers(of: list[TopicExample]) -> dict[str, Layer]:
        rows = np.array([directions[one.text] for one in of])
        known = directions_of(to_int8(spread(rows)))
        return {group: layer_of(of, rows, known, group) for group in groups}

    rows, meant, counts = [], [], []
    for part in range(PARTS):
        others = [one for at, one in enumerate(sentences) if at % PARTS != part]
        words, meaning = Words(others), layers(others)
        for one in of_every_group(sentences[part::PARTS]):
            layer, english = meaning[one.group], topic_words.is_english(one.text)
            by_meaning = float(np.dot(near(directions[one.text], layer.known), layer.weights[:-1]) + layer.weights[-1])
            both = [words.score(one), by_meaning]
            rows.append([*both, 0, 0, 0] if english else [0, 0, *both, 1])
            meant.append(one.meant)
            counts.append(ELSE if one.text in neutral else 1.0)
    both = logistic(np.array(rows, float), np.array(meant, float), np.array(counts), BOTH)
    sums = np.array(rows) @ both[:-1] + both[-1]
    for name, least in (("even", 0.0), ("least", LEAST)):
        right = sum(s >= least and m for s, m in zip(sums, meant, strict=True))
        print(name, "left out in turn: P", round(right / sum(sums >= least), 3), "R", round(right / sum(meant), 3))
    write(Words(sentences), layers(sentences), embedder.space, both)


def write(words: Words, layers: dict[str, Layer], space: str, both: np.ndarray) -> None:
    known = to_int8(next(iter(layers.values())).known)
    np.savez_compressed(
        OUT.with_suffix(".npz"), space=space, known=known, **{name: layer.weights for name, layer in layers.items()}
    )
    of_words, of_meaning, foreign_words, foreign_meaning, foreign, bias = (round(float(one), 4) for one in both)
    learned = {
        "words": words.written() | {"least": WORDS_LEAST},
        "both": {
            "words": of_words, "meaning": of_meaning, "least": round(LEAST - bias, 4),
            "words foreign": foreign_words, "meaning foreign": foreign_meaning,
            "least foreign": round(LEAST - bias - foreign, 4),
        },
    }  # fmt: skip
    OUT.write_text(json.dumps(learned, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(OUT.stat().st_size, OUT.with_suffix(".npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
