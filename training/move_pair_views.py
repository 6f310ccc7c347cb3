"""Every dialogue in several variations, as windows of a clause and one line: made once, by all cores."""

import multiprocessing
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from keepbook.models.reader.move_reader.move_windows import MoveCoder
from training.move_cases import drawn
from training.move_pair_fit import PairExample, Windows, pair_examples
from training.moves import Dialogue

MANY = 4
"""Variations of each dialogue."""
SOME = 25
"""Dialogues that are varied together."""


class Work(NamedTuple):
    hand: str
    dialogues: Sequence[Dialogue]
    strangers: Sequence[str]
    """Lines of other people of the same hand."""
    words: Path
    seed: int


def pair_views(hands: Mapping[str, Sequence[Dialogue]], words: Path, workers: int) -> dict[str, Windows]:
    """By hand, dialogue and variation, the windows."""
    jobs = []
    for nth, (hand, dialogues) in enumerate(hands.items()):
        strangers = [line for one in dialogues for line in one.lines.values()]
        places = range(0, len(dialogues), SOME)
        jobs += [Work(hand, dialogues[at : at + SOME], strangers, words, 1000 * nth + at) for at in places]
    found: dict[str, list[list[list[PairExample]]]] = {hand: [] for hand in hands}
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for work, some in zip(jobs, pool.imap(_views, jobs), strict=True):
            found[work.hand] += some
    return dict(found)


def _views(work: Work) -> list[list[list[PairExample]]]:
    coder, chance = MoveCoder(Tokenizer.from_file(str(work.words))), random.Random(work.seed)
    return [
        [
            [one for case in drawn(dialogue, work.strangers, chance) for one in pair_examples(case, coder, chance)]
            for _ in range(MANY)
        ]
        for dialogue in work.dialogues
    ]
