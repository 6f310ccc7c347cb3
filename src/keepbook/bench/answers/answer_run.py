"""One run of the bench: its stages one after the other. Each reads the file of the stage before and adds to its own, so
that a run that was stopped continues where it was."""

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
    """The options of a run."""

    data: str | None
    """The conversations and questions; not needed if the stage of contexts is done."""
    out: Path
    """The folder for the files of the stages, and for the book."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Stage files outside that folder, by stage."""
    until: str = STAGES[-1]
    """The last stage to carry out."""
    model: str | None = None
    judge: str | None = None
    ways: Collection[str] = WAYS
    limits: ContextLimits = field(default_factory=ContextLimits)
    half: str | None = None
    questions: int | None = None
    """How many questions of each kind are asked at most; always the same ones."""
    at_once: int = 4
    """How many requests to a model run at a time."""
    against: str | None = None
    """The folder of another run, to compare with."""

    def stage(self, name: str) -> StageFile:
        return StageFile(Path(self.files.get(name) or self.out / f"{name}.jsonl"))

    @property
    def place(self) -> Path:
        return self.out / "book.db"


def chosen_cases(cases: Iterator[AnswerCase], half: str | None, most: int | None) -> Iterator[AnswerCase]:
    """The cases of a half, or all; with at most `most` questions of each kind, drawn from all cases together. A case
    without a drawn question is left out."""
    of_half = (case for case in cases if half is None or case.half == half)
    if most is None:
        yield from of_half
        return
    listed = list(of_half)
    kinds: dict[str, list[JudgedQuestion]] = {}
    for case in listed:
        for question in case.questions:
            kinds.setdefault(question.kind, []).append(question)
    drawn: set[str] = set()
    for questions in kinds.values():
        drawn |= {one.id for one in random.Random(7).sample(questions, min(most, len(questions)))}
    for case in listed:
        chosen = [one for one in case.questions if one.id in drawn]
        if chosen:
            yield case._replace(questions=chosen)


def main(run: AnswerRun, settings: Settings, json: bool) -> bool:
    """Carry out the stages and print the figures. Returns whether no stage was stopped, and every verdict could be
    read."""
    run.out.mkdir(parents=True, exist_ok=True)
    stored, contexts = run.stage("ingested"), run.stage("contexts")
    answers, verdicts = run.stage("answers"), run.stage("verdicts")
    makes_answers, makes_verdicts = run.until in ("answers", "verdicts"), run.until == "verdicts"
    clock, works = AskingClock(), []
    with closing(Keepbook(run.place, settings=settings, clock=clock)) as kb:
        reader, judge = able_model(kb.models, run.model), able_model(kb.models, run.judge or run.model)
        if makes_answers and reader is None and not len(answers):
            refuse_notebook("model")
        if makes_verdicts and judge is None and not len(verdicts):
            refuse_notebook("judge")
        if run.data is not None:
            cases = chosen_cases(read_cases(run.data), run.half, run.questions)
            for name in make_contexts(kb, clock, cases, stored, contexts, run.ways, run.limits):
                print(f"{name}: {len(contexts)} contexts", file=sys.stderr)
    if not len(contexts):
        raise NotFound(f"there are no contexts in {contexts.path}; name the data with --data PATH", field="data")
    if makes_answers:
        works.append(make_answers(contexts, answers, reader, run.at_once))
    if makes_verdicts:
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
    """The scores of the run in this folder."""
    if folder is None:
        return None
    contexts = existing_stage(Path(folder) / "contexts.jsonl", "against")
    verdicts = existing_stage(Path(folder) / "verdicts.jsonl", "against")
    return read_scores(contexts, verdicts)


def _troubles(works: Collection[StageWork]) -> Iterator[str]:
    for work in works:
        if work.stopped is not None:
            yield f"stopped: {work.stopped}; run it again to go on"
        if work.unreadable:
            yield f"{work.unreadable} verdicts could not be read; run it again to ask anew"
