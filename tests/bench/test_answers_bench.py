"""The answers bench: three formats go in, each stage is a file that others can make, and figures come out."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.bench.test_recall_bench import sample
from tests.models.wire import Received, Say, Wire

from keepbook import Invalid, ModelFailed, NotFound
from keepbook.bench.answers import answer_run, model_stages
from keepbook.bench.answers.answer_report import AnswerScore, figures_of, paired_differences, share_interval
from keepbook.bench.answers.answer_run import AnswerRun
from keepbook.bench.answers.answer_sets import read_cases
from keepbook.bench.answers.model_stages import judge_prompt, parse_points
from keepbook.bench.answers.question_contexts import ContextLimits
from keepbook.bench.answers.stage_files import StageFile
from keepbook.doors.cli import main as cli
from keepbook.models.model import Conversation, ReplyFinished, Usage
from keepbook.settings import Settings

SETTINGS = Settings(embedder="none", model="openai:scripted", openai_base_url="http://127.0.0.1:9/v1")


def message(role: str, id: int, content: str, anchor: str | None = None) -> dict[str, Any]:
    return {"role": role, "id": id, "content": content} | ({"time_anchor": anchor} if anchor else {})


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """One long chat with questions judged by points."""
    folder = tmp_path / "gardener"
    folder.mkdir()
    first = [message("user", 0, "My allotment has nine beds.", "March-15-2024"), message("assistant", 1, "Nice size.")]
    again = [message("user", 2, "I dug two more beds.", "April-02-2024"), message("assistant", 3, "Eleven then.")]
    batches = [{"batch_number": 1, "turns": [first, again]}]
    asked = {
        "knowledge_update": [
            {"question": "How many beds are there?", "ideal_response": "eleven", "rubric": ["eleven", "since April"]}
        ],
        "abstention": [{"question": "Which bus goes there?", "ideal_response": "unknown", "rubric": ["says unknown"]}],
    }
    (folder / "chat.json").write_text(json.dumps(batches), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
    return folder


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Many sessions with one question each."""
    said = [[message("user", 0, "My kayak is called Otter."), message("assistant", 1, "A good name.")], []]
    one = {
        "question_id": "q1", "question_type": "single-session-user", "question": "What is the kayak called?",
        "answer": "Otter", "question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"], "haystack_sessions": said,
        "answer_session_ids": ["a"],
    }  # fmt: skip
    absent = one | {"question_id": "q2_abs", "question": "What is the canoe called?", "answer": "No canoe was named."}
    path = tmp_path / "sessions.json"
    path.write_text(json.dumps([one, absent]), encoding="utf-8")
    return path


class ScriptedModel:
    """Answers with the passage that names a kayak or beds, and judges an answer right that has the expected word."""

    name = "openai:scripted"

    def __init__(self, *, fails_after: int = 1000) -> None:
        self.asked: list[Conversation] = []
        self.left = fails_after

    async def reply(self, conversation: Conversation, tools: Any) -> AsyncIterator[ReplyFinished]:
        if not self.left:
            raise ModelFailed("the scripted model is tired", cause="refused")
        self.left -= 1
        self.asked.append(conversation)
        text = conversation.said[-1].text
        yield ReplyFinished(self._judge(text) if conversation.form else self._read(text), (), Usage(50, 5))

    def _read(self, text: str) -> str:
        shown = text.partition("\nQuestion:")[0]
        return "It is Otter." if "Otter" in shown and "canoe" not in text else "That was not mentioned."

    def _judge(self, text: str) -> str:
        if "Points that" in text:
            return '{"points": [1, 0.5]}' if "2. " in text else 'Well: {"points": [1]}'
        silent = "not mentioned" in text.partition("Answer to be judged: ")[2].partition("\n")[0]
        right = silent if "Nothing was said" in text else not silent
        return json.dumps({"points": [int(right)]})


def run_bench(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **asked: Any
) -> tuple[bool, dict[str, Any]]:
    monkeypatch.setattr(answer_run, "able_model", lambda _models, _name: model)
    is_whole = answer_run.main(AnswerRun(**asked), SETTINGS, json=True)
    return is_whole, json.loads(capsys.readouterr().out)


def test_one_long_chat_is_read_with_its_days_and_points(points: Path) -> None:
    (case,) = read_cases(str(points))
    (turns,) = case.sessions.values()
    assert [turn.at and turn.at.date().isoformat() for turn in turns] == ["2024-03-15"] * 2 + ["2024-04-02"] * 2
    assert [turn.at for turn in turns] == sorted(turn.at for turn in turns if turn.at)
    update, absent = case.questions
    assert (update.kind, update.points, update.told) == ("knowledge_update", ("eleven", "since April"), True)
    assert not absent.told
    assert [one.name for one in read_cases(str(points.parent))] == ["gardener"], "a folder of such folders"


def test_many_sessions_are_read_each_with_its_own_history(sessions: Path) -> None:
    one, absent = read_cases(str(sessions))
    assert [len(turns) for turns in one.sessions.values()] == [2, 0]
    assert one.questions[0].asked_at.isoformat() == "2023-05-30T23:40:00+00:00"
    assert (absent.questions[0].kind, absent.questions[0].told) == ("abstention", False)


def test_what_has_none_of_the_formats_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="--data"):
        list(read_cases(str(tmp_path / "nothing")))
    strange = tmp_path / "strange.json"
    strange.write_text('[{"talk": 1}]', encoding="utf-8")
    for place in (strange, tmp_path):
        with pytest.raises(Invalid, match="three formats"):
            list(read_cases(str(place)))


def test_from_conversations_to_figures_with_every_baseline(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "out", ScriptedModel()
    is_whole, told = run_bench(model, monkeypatch, capsys, data=str(sessions), out=out)
    assert is_whole
    assert set(told["ways"]) == {"keepbook", "fts5", "full"}, "without an embedder there is no row of it"
    ours = told["ways"]["keepbook"]
    assert ours["single-session-user"]["score"] == ours["not told"]["score"] == ours["all that was told"]["score"] == 1
    assert 0 < ours["single-session-user"]["low"] < 1
    assert told["ingestion"] | {"turns": 4, "conversations": 2, "model_calls": 0} == told["ingestion"]
    assert told["model_tokens"]["reader"] == {"in": 300, "out": 30}
    assert {pair["name"] for pair in told["paired"]} == {"keepbook − fts5", "keepbook − full"}
    line = json.loads((out / "contexts.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "My kayak is called Otter" in line["context"]
    assert line["asked_at"] == "2023-05-30"
    assert all(form.form.name == "verdict" for form in model.asked if form.form)


def test_points_give_halves_and_two_runs_are_compared(
    points: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"data": str(points), "ways": ("keepbook",)}
    run_bench(ScriptedModel(), monkeypatch, capsys, out=tmp_path / "one", **asked)
    _, told = run_bench(
        ScriptedModel(), monkeypatch, capsys, out=tmp_path / "two", against=str(tmp_path / "one"), **asked
    )
    assert told["ways"]["keepbook"]["knowledge_update"]["score"] == 0.75
    assert told["ways"]["keepbook"]["abstention"]["score"] == 1
    assert {(pair["name"], pair["difference"], pair["better"], pair["worse"]) for pair in told["paired"]} == {
        ("keepbook now − before", 0, 0, 0)
    }


def test_a_run_that_stops_goes_on_where_it_was(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"data": str(sessions), "out": tmp_path / "out", "ways": ("keepbook",), "at_once": 1}
    is_whole, told = run_bench(ScriptedModel(fails_after=1), monkeypatch, capsys, **asked)
    assert not is_whole
    assert (told["answers"], told["verdicts"]) == (1, 0)
    with (tmp_path / "out" / "answers.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "q2_abs", "way": "keep')  # a program that was killed
    model = ScriptedModel()
    is_whole, told = run_bench(model, monkeypatch, capsys, **asked)
    assert is_whole
    assert (told["answers"], told["verdicts"]) == (2, 2)
    assert len(model.asked) == 3, "what was there is not asked again"
    quiet = ScriptedModel()
    assert run_bench(quiet, monkeypatch, capsys, **asked)[0]
    assert quiet.asked == []
    assert told["ingestion"]["turns"] == 4, "and nothing is ingested twice"


def test_another_reader_and_another_judge_need_only_the_files(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run_bench(ScriptedModel(), monkeypatch, capsys, data=str(sessions), out=out, ways=("keepbook",), until="contexts")
    assert not (out / "answers.jsonl").exists()
    by_hand, judged = tmp_path / "by-hand.jsonl", tmp_path / "judged.jsonl"
    by_hand.write_text('{"id": "q1", "way": "keepbook", "answer": "It is Otter."}\n', encoding="utf-8")
    files = {"answers": str(by_hand), "verdicts": str(judged)}
    judge = ScriptedModel()
    _, told = run_bench(judge, monkeypatch, capsys, data=None, out=out, files=files)
    assert [form.form is not None for form in judge.asked].count(False) == 1, "the question that nobody had answered"
    assert told["verdicts"] == 2
    judged.write_text('{"id": "q1", "way": "keepbook", "points": [0]}\n', encoding="utf-8")
    _, told = run_bench(ScriptedModel(), monkeypatch, capsys, data=None, out=out, files=files)
    assert told["ways"]["keepbook"]["single-session-user"]["score"] == 0, "a verdict of another judge is taken"


def test_an_answer_that_changed_is_judged_anew(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"data": str(sessions), "out": tmp_path / "out", "ways": ("keepbook",)}
    run_bench(ScriptedModel(), monkeypatch, capsys, **asked)
    answers = StageFile(tmp_path / "out" / "answers.jsonl")
    answers.add({"id": "q1", "way": "keepbook", "answer": "That was not mentioned."})
    _, told = run_bench(ScriptedModel(), monkeypatch, capsys, **asked)
    assert told["ways"]["keepbook"]["single-session-user"]["score"] == 0


def test_contexts_keep_to_their_budget_and_baselines_to_that_of_the_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([sample("puppy"), sample("parrot")]), encoding="utf-8")
    asked = {"data": str(path), "until": "contexts", "half": "report"}
    _, told = run_bench(ScriptedModel(), monkeypatch, capsys, out=tmp_path / "free", **asked)
    lines = {(line["id"], line["way"]): line for line in StageFile(tmp_path / "free" / "contexts.jsonl")}
    assert {line["case"] for line in lines.values()} == {"conversation 2"}
    assert {line["kind"] for line in lines.values() if not line["told"]} == {"adversarial"}
    for (id, way), line in lines.items():
        assert way == "full" or line["tokens"] <= lines[id, "keepbook"]["tokens"]
    limits = ContextLimits(tokens=20, full=1)
    _, told = run_bench(ScriptedModel(), monkeypatch, capsys, out=tmp_path / "small", limits=limits, **asked)
    assert set(told["contexts"]) == {"keepbook", "fts5"}, "the full text does not fit"
    assert all(line["tokens"] <= 20 for line in StageFile(tmp_path / "small" / "contexts.jsonl"))


def test_at_most_so_many_questions_of_a_kind_and_always_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([sample("puppy"), sample("parrot")]), encoding="utf-8")
    for folder in ("one", "two"):
        out = tmp_path / folder
        run_bench(ScriptedModel(), monkeypatch, capsys, data=str(path), until="contexts", out=out, questions=1)
    one, two = (StageFile(tmp_path / folder / "contexts.jsonl") for folder in ("one", "two"))
    assert [line["id"] for line in one] == [line["id"] for line in two]
    assert len({line["id"] for line in one}) == 4, "one of each kind"


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ('{"points": [1, 0.5]}', [1, 0.5]),
        ('So:\n```json\n{"points": [0, 1]}\n```', [0, 1]),
        ('{"points": [1]}', None),
        ('{"points": [1, 2]}', None),
        ('{"points": "all"}', None),
        ("right", None),
    ],
)
def test_a_verdict_is_read_or_not_at_all(text: str, points: list[float] | None) -> None:
    assert parse_points(text, 2, (0.0, 0.5, 1.0)) == points


def test_a_verdict_that_cannot_be_read_is_told_and_asked_again(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel()
    monkeypatch.setattr(model, "_judge", lambda _text: "It depends.")
    asked = {"data": str(sessions), "out": tmp_path / "out", "ways": ("keepbook",)}
    is_whole, told = run_bench(model, monkeypatch, capsys, **asked)
    assert (is_whole, told["verdicts"]) == (False, 0)
    assert run_bench(ScriptedModel(), monkeypatch, capsys, **asked)[1]["verdicts"] == 2


def test_the_judge_is_not_shown_who_answered_and_knows_what_nobody_said() -> None:
    context = {"question": "Which bus?", "points": [], "expected": "line 9", "told": False, "way": "keepbook"}
    text = judge_prompt(context, "Line 4.")
    assert "line 9" not in text
    assert "keepbook" not in text
    assert "line 9" in judge_prompt(context | {"told": True}, "Line 4.")


def test_the_notebook_can_neither_read_nor_judge(sessions: Path, tmp_path: Path) -> None:
    run = AnswerRun(data=str(sessions), out=tmp_path / "out")
    with pytest.raises(Invalid, match="--model"):
        answer_run.main(run, Settings(embedder="none", model="offline"), json=True)


def test_without_a_model_what_others_answered_and_judged_is_told(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run_bench(ScriptedModel(), monkeypatch, capsys, data=str(sessions), out=out, ways=("keepbook",))
    monkeypatch.undo()
    offline = Settings(embedder="none", model="offline")
    assert answer_run.main(AnswerRun(data=None, out=out), offline, json=True)
    assert '"verdicts": 2' in capsys.readouterr().out
    (out / "answers.jsonl").write_text('{"id": "q1", "way": "keepbook", "answer": "Otter"}\n', encoding="utf-8")
    with pytest.raises(Invalid, match="--model"):
        answer_run.main(AnswerRun(data=None, out=out), offline, json=True)


def test_intervals_hold_the_score_and_pairs_cancel_what_is_equal() -> None:
    low, high = share_interval([1.0] * 8 + [0.0] * 2)
    assert 0.44 < low < 0.55
    assert 0.9 < high < 0.96
    assert share_interval([0.5] * 9) == (0.5, 0.5)
    ours = {str(at): AnswerScore(str(at), "a", "k", True, float(at % 2), 10 + at, 1.0) for at in range(20)}
    theirs = {id: one._replace(score=0.0) for id, one in ours.items() if id != "3"}
    whole, kind = paired_differences("a − b", ours, theirs)
    assert (whole.n, whole.better, whole.worse) == (19, 9, 0)
    assert kind.low <= kind.difference <= kind.high
    assert figures_of(list(ours.values()))["tokens_95"] == 28


def test_a_model_that_ends_without_an_answer_has_failed() -> None:
    with pytest.raises(ModelFailed, match="ended without"):
        asyncio.run(model_stages.ask_model(Silent(), "system", "text"))  # type: ignore[arg-type]


def test_the_command_asks_models_by_name_over_the_network(
    points: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(request: Received) -> Say:
        if not request.system.startswith("You judge"):
            return Say("Eleven" if "two more beds" in request.last else "It was not mentioned")
        return Say('{"points": [1, 0]}' if "2. since April" in request.last else '{"points": [1]}')

    with Wire("openai", answer) as wire:
        known = {"EMBEDDER": "none", "OPENAI_BASE_URL": wire.url, "OPENAI_KEY": "sk-made-up", "MODEL": "offline"}
        for name, value in known.items():
            monkeypatch.setenv(f"KEEPBOOK_{name}", value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        command = ["bench", "answers", "--data", str(points), "--out", str(tmp_path / "out"), "--way", "keepbook"]
        assert cli([*command, "--model", "openai:reader", "--judge", "openai:judge", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [request.json["model"] for request in wire.received].count("judge") == 2
        assert cli([*command, "--model", "openai:reader"]) == 0
        assert len(wire.received) == 4, "all of it was there"
        shown = capsys.readouterr().out
        assert cli([*command, "--until", "verses"]) == 1
    assert told["ways"]["keepbook"]["knowledge_update"]["score"] == 0.5
    assert told["model_tokens"]["judge"] == {"in": 200, "out": 20}
    assert "knowledge_update" in shown
    assert "no model called" in shown
    assert "--until is one of contexts, answers, verdicts" in capsys.readouterr().err


class Silent:
    name = "openai:silent"

    async def reply(self, conversation: Conversation, tools: Any) -> AsyncIterator[ReplyFinished]:
        for event in ():
            yield event
