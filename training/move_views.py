"""Every dialogue in several variations, as windows: made once, by all cores, and learned from by every job."""

import multiprocessing
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from keepbook.models.reader.move_reader.move_windows import MoveCoder
from training.move_cases import Case, drawn, drawn_as_cut
from training.move_examples import Example, examples
from training.moves import Dialogue

ALONE = 0.5
"""How often pieces are judged in windows of their own."""
AS_CUT = 0.4
"""How often a dialogue is cut as the reader would cut it."""

Views = list[list[list[Example]]]
"""By dialogue and variation, the windows."""


class Work(NamedTuple):
    dialogues: Sequence[Dialogue]
    strangers: Sequence[str]
    """Lines of other people of the same hand."""
    many: int
    words: Path
    seed: int
    cuts: dict[str, list[tuple[int, int]]]
    """Where the reader would cut."""


def views(
    groups: Sequence[Sequence[Dialogue]], many: int, words: Path, workers: int, cuts: dict[str, list[tuple[int, int]]]
) -> list[Views]:
    """For each group of dialogues (of one hand) their windows, in `many` variations."""
    jobs, owners = [], []
    for group, dialogues in enumerate(groups):
        strangers = [line for one in dialogues for line in one.lines.values()]
        for begin in range(0, len(dialogues), 25):
            some = dialogues[begin : begin + 25]
            prefixes = {f"{one.hand}/{one.id}" for one in some}
            mine = {key: value for key, value in cuts.items() if key.rpartition("/")[0] in prefixes}
            jobs.append(Work(some, strangers, many, words, 1000 * group + begin, mine))
            owners.append(group)
    found: list[Views] = [[] for _ in groups]
    if workers < 2:
        results = map(_views, jobs)
        for group, some in zip(owners, results, strict=True):
            found[group] += some
        return found
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for group, some in zip(owners, pool.imap(_views, jobs), strict=True):
            found[group] += some
    return found


def _views(work: Work) -> Views:
    coder = MoveCoder(Tokenizer.from_file(str(work.words)))
    chance = random.Random(work.seed)
    return [[_view(one, work, coder, chance) for _ in range(work.many)] for one in work.dialogues]


def _view(dialogue: Dialogue, work: Work, coder: MoveCoder, chance: random.Random) -> list[Example]:
    found = []
    if work.cuts and chance.random() < AS_CUT:
        given = drawn_as_cut(dialogue, work.strangers, chance, work.cuts)
    else:
        given = drawn(dialogue, work.strangers, chance)
    for case in given:
        found += examples(case, coder, _some(case, chance) if chance.random() < ALONE else None)
    return found


def _some(case: Case, chance: random.Random) -> list[int]:
    """Pieces that are judged alone: those that do something, and one more."""
    acting = [at for at, clause in enumerate(case.clauses) if clause.acts[0] not in ("say", "talk")]
    return [*acting[:2], chance.randrange(len(case.clauses))]
