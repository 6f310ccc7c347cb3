"""From the readings of left-out hands to what is shipped: doubt, bars and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keepbook.models.reader.model_files import ChosenMoves
from keepbook.models.reader.move_reader.move_doubt import doubt
from keepbook.models.reader.move_reader.move_encoder import CLOSER
from keepbook.models.reader.move_reader.move_linear import LinearMoveReader
from keepbook.models.reader.move_reader.move_pairs import with_pairs
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.moves import DEEDS, Heat, MoveBars
from keepbook.models.reader.values import ChatReader
from training import move_doubt_fit
from training.judge_moves import OUT_OF_REACH, START, WRONG, Reading, choose, judge, judge_deeds
from training.move_cases import cases
from training.moves import Dialogue

ByHand = Mapping[str, Sequence[Reading]]
APART = "os"
"""Hands that only judge."""
LINEAR_STEPS = tuple(at / 100 for at in range(50, 100, 3))
LINEAR_DEEDS = ("withdraw", "never", "keep", "undo")


def encoder(
    own: ByHand, given: ByHand, groups: Sequence[str]
) -> tuple[ChosenMoves, dict[str, list[Reading]], dict[str, Any]]:
    """From the readings with the reader's own cuts and with the writers' parts: what is chosen, the readings with their
    doubt, and the figures.

    The doubt about the deeds of a group of hands is fitted on the other groups. `APART` are judged and nothing else:
    neither doubt nor bars have seen them.
    """
    rows = {hand: move_doubt_fit.rows([*own[hand], *given[hand]]) for hand in own if hand not in APART}
    read: dict[str, list[Reading]] = {}
    for group in groups:
        fitted = move_doubt_fit.fit([row for other in rows if other not in group for row in rows[other]])
        read |= {hand: [doubted(reading, fitted) for reading in own[hand]] for hand in group}
    bars = choose([one for hand, some in read.items() if hand not in APART for one in some])
    everything = move_doubt_fit.fit([row for some in rows.values() for row in some])
    return ChosenMoves(bars, Heat(), everything), read, figures(read, bars)


def doubted(reading: Reading, fitted: Mapping[str, Sequence[float]]) -> Reading:
    """As the runtime doubts what may be a deed."""
    case, moves, pairs = reading
    asked = MoveRequest(case.turns, case.at, [(move.start, move.end) for move in moves], case.lines)
    found = list(moves)
    for which, first in enumerate(moves):
        if sum(first.acts[act] for act in DEEDS) >= CLOSER:
            told = pairs[which] if pairs else {}
            move = with_pairs(first, told)
            found[which] = replace(move, unsure=doubt(asked, which, move, fitted, told))
    return Reading(case, tuple(found))


def linear(read: ByHand) -> tuple[ChosenMoves, dict[str, Any]]:
    """The linear reader's bars: one for all explicit orders; it changes, ends and answers nothing by itself."""
    every = [one for some in read.values() for one in some]
    out = dict.fromkeys(DEEDS, OUT_OF_REACH) | {"off": 0.8}
    bars = replace(START, sure=START.sure | out, likely=START.likely | dict.fromkeys(DEEDS, 0.6), point_sure=0.6)
    for step in reversed(LINEAR_STEPS):
        tried = replace(bars, sure={**bars.sure, **dict.fromkeys(LINEAR_DEEDS, step)})
        if judge_deeds(every, tried).share("wrong turns", "turns") > WRONG:
            break
        bars = tried
    return ChosenMoves(bars, Heat(), {}), figures(read, bars)


def linear_readings(weights: bytes, cutter: ChatReader, dialogues: Sequence[Dialogue]) -> list[Reading]:
    reader = LinearMoveReader(weights)
    found = []
    for case in (case for dialogue in dialogues for case in cases(dialogue)):
        pieces = [(one.start, one.end) for one in cutter.read(case.turns, only=case.at)]
        found.append(Reading(case, tuple(reader.moves(case.turns, case.at, pieces, case.lines))))
    return found


def figures(read: ByHand, bars: MoveBars) -> dict[str, Any]:
    """By hand, and over all of them."""
    found = {hand: judge(readings, bars).as_dict() for hand, readings in sorted(read.items())}
    for name, hands in (("all", read), ("judged only", [hand for hand in read if hand in APART])):
        found[name] = judge([one for hand in hands for one in read[hand]], bars).as_dict()
    return found
