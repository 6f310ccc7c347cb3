"""What a person meets, on hands that nothing was learned from: `python -m training.judge_left_out FOLDER [--write]`.

FOLDER has what `left_out_turns` kept. How far a deed is trusted is fitted for each group of hands on the other groups,
then every turn is decided as the product decides it and held against what the writer meant (`judge_turns`). With
`--write`, the figures go to `move_figures.json`.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keepbook.models.reader.model_files import chosen_moves
from keepbook.models.reader.move_reader.move_doubt import deed, doubt_features
from keepbook.models.reader.move_reader.move_pairs import with_pairs
from keepbook.models.reader.moves import MoveBars
from training import move_doubt_fit
from training.judge_moves import clause_of, how_right, keep
from training.judge_turns import TurnRead, as_figures, judge_turns
from training.left_out_groups import GROUPS
from training.left_out_turns import HeldTurn, held_turns, understood
from training.move_cases import Case
from training.move_choose import APART
from training.moves import Dialogue

Held = Mapping[str, Sequence[tuple[Case, Dialogue, HeldTurn]]]
"""By hand, its turns with what was read of each."""


def main() -> None:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("folder", type=Path)
    known.add_argument("--write", action="store_true")
    given = known.parse_args()
    held = {hand: held_turns(given.folder, hand) for group in GROUPS for hand in group}
    found = figures(read_apart(held), chosen_moves("moves").bars)
    print(json.dumps(found["all"]), json.dumps(found["judged only"]), sep="\n")
    if given.write:
        keep("left-out hands, decided", found)


def read_apart(held: Held) -> dict[str, list[TurnRead]]:
    """Every hand as understood with a doubt that was fitted without its group."""
    rows = {hand: [row for case, _, one in some for row in deed_rows(case, one)] for hand, some in held.items()}
    found = {}
    for group in GROUPS:
        others = [row for hand in rows if hand not in group and hand not in APART for row in rows[hand]]
        fitted = move_doubt_fit.fit(others)
        for hand in group:
            found[hand] = [TurnRead(case, one, understood(turn, case, one, fitted)) for case, one, turn in held[hand]]
    return found


def deed_rows(case: Case, held: HeldTurn) -> list[move_doubt_fit.Row]:
    """What may be a deed in a turn, as signs, and whether it would be right."""
    if held.readings is None:
        return []
    asked, moves, every = held.readings
    same = {f"{asked.at}:{move.start}": f"{case.at}:{clause_of(case, move).start}" for move in moves.values()}
    found = []
    for which, pairs in every.items():
        move = with_pairs(moves[which], pairs)
        done = deed(move)
        if done is None or move.acts[done[0]] < move_doubt_fit.LEAST:
            continue
        act, lines = done
        right = how_right(case, move, act, frozenset(same.get(name, name) for name in lines)) != "wrong"
        found.append((case.hand, act, doubt_features(asked, which, move, act, lines, pairs), right))
    return found


def figures(read: Mapping[str, Sequence[TurnRead]], bars: MoveBars) -> dict[str, Any]:
    """By hand, over all, and over those that only judge."""
    found = {hand: as_figures(judge_turns(turns, bars)) for hand, turns in sorted(read.items())}
    for name, hands in (("all", list(read)), ("judged only", list(APART))):
        found[name] = as_figures(judge_turns([one for hand in hands for one in read[hand]], bars))
    return found


if __name__ == "__main__":
    main()
