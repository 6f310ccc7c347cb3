"""One run, stage after stage, each from its file to the next; what is there is kept, so a run goes on where it was."""

import json as json_module
import random
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from keepbook.app import Keepbook
from keepbook.bench.answers.answer_report import AnswerScore, answer_table, read_scores, report
from keepbook.bench.answers.answer_sets import AnswerCase, JudgedQuestion, read_cases
from keepbook.bench.answers.model_stages import StageWork, able_model, make_answers, make_verdicts, refuse_notebook
from keepbook.bench.answers.question_contexts import WAYS, AskingClock, ContextLimits, make_contexts
from keepbook.bench.answers.stage_files import LineKey, StageFile, existing_stage
from keepbook.errors import NotFound
from keepbook.settings import Settings

STAGES = ("contexts", "answers", "verdicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRun:
    """What a run is asked for. `until` is its last stage."""

    data: str | None
    """Without it the contexts are there already."""
    out: Path
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Stage files that lie elsewhere, by stage."""
    until: str = STAGES[-1]
    model: str | None = None
    judge: str | None = None
    ways: Collection[str] = WAYS
    limits: ContextLimits = field(default_factory=ContextLimits)
    half: str | None = None
    questions: int | None = None
    """Of each kind at most so many, always the same ones."""
    at_once: int = 4
    against: str | None = None
    """The folder of another run."""

    def stage(self, name: str) -> StageFile:
        return StageFile(Path(self.files.get(name) or self.out / f"{name}.jsonl"))

    @property
    def place(self) -> Path:
        return self.out / "book.db"


def chosen_cases(cases: Iterator[AnswerCase], half: str | None, most: int | None) -> Iterator[AnswerCase]:
    """The cases of that half, with at most so many questions of each kind, drawn over all of them."""
    wanted = (case for case in cases if half in (None, case.half))
    if most is None:
        yield from wanted
        return
    known = list(wanted)
    kinds: dict[str, list[JudgedQuestion]] = {}
    for case in known:
        for question in case.questions:
            kinds.setdefault(question.kind, []).append(question)
    drawn = {one.id for some in kinds.values() for one in random.Random(7).sample(some, min(most, len(some)))}
    for case in known:
        questions = [one for one in case.questions if one.id in drawn]
        if questions:
            yield case._replace(questions=questions)


def main(run: AnswerRun, settings: Settings, json: bool) -> bool:
    """Carry out the stages and print the figures; true where every answer that there is has its verdict."""
    run.out.mkdir(parents=True, exist_ok=True)
    stored, contexts, answers, verdicts = map(run.stage, ("ingested", *STAGES))
    clock, last = AskingClock(), STAGES.index(run.until)
    works = []
    with closing(Keepbook(run.place, settings=settings, clock=clock)) as kb:
        reader, judge = able_model(kb.models, run.model), able_model(kb.models, run.judge or run.model)
        if last >= 1 and reader is None and not len(answers):
            refuse_notebook("model")
        if last >= 2 and judge is None and not len(verdicts):
            refuse_notebook("judge")
        if run.data is not None:
            cases = chosen_cases(read_cases(run.data), run.half, run.questions)
            for name in make_contexts(kb, clock, cases, stored, contexts, run.ways, run.limits):
                print(f"{name}: {len(contexts)} contexts", file=sys.stderr)
    if not len(contexts):
        raise NotFound(f"there are no contexts in {contexts.path}; name the data with --data PATH", field="data")
    if last >= 1:
        works.append(make_answers(contexts, answers, reader, run.at_once))
    if last >= 2:
        works.append(make_verdicts(contexts, answers, verdicts, judge, run.at_once))
    told = report(contexts, answers, verdicts, stored, run.place.stat().st_size, against=_earlier(run.against))
    if json:
        print(json_module.dumps(told))
    else:
        print("\n".join(answer_table(told)))
    for line in _troubles(works):
        print(line, file=sys.stderr)
    return not any(work.stopped or work.unreadable for work in works)


def _earlier(folder: str | None) -> dict[LineKey, AnswerScore] | None:
    """What another run was judged."""
    if folder is None:
        return None
    contexts, verdicts = (existing_stage(Path(folder) / f"{name}.jsonl", "against") for name in (STAGES[0], STAGES[-1]))
    return read_scores(contexts, verdicts)


def _troubles(works: Collection[StageWork]) -> Iterator[str]:
    for work in works:
        if work.stopped is not None:
            yield f"stopped: {work.stopped}; run it again to go on"
        if work.unreadable:
            yield f"{work.unreadable} verdicts could not be read; run it again to ask anew"
