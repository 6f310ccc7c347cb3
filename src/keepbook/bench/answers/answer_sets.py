"""Reads the public sets that answers are measured on: conversations, each with questions and the expected answers.

There are three formats. LoCoMo's: ten conversations of two people, with an answer for each question. Long chats whose
questions are judged by points: a folder with `chat.json` and `questions.json`, or a folder of such folders. A list of
questions, each of which has a history of many sessions to itself. All of them also ask about what nobody said (LoCoMo's
fifth category, the kind `abstention`, ids that end in `_abs`); the right answer to that is that it was not mentioned.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.bench.recall_sets import FIRST_DAY, HALVES, KINDS, SpokenTurn, locomo_sessions, parse_moment
from keepbook.errors import Invalid, NotFound

LOCOMO_KINDS = {**KINDS, 5: "adversarial"}
NOT_TOLD = {"adversarial", "abstention"}
"""The kinds of questions about what nobody said."""
ABSENT = "_abs"
"""The end of the id of such a question, in the third format."""
EARLIEST = timedelta(hours=8)
"""The time of day given to the first message of a day, if only the day is known; the next ones follow by the minute."""


class JudgedQuestion(NamedTuple):
    """A question with the expected answer, and the points by which an answer is judged; without points it is right or
    wrong. `told`: somebody said the answer."""

    id: str
    kind: str
    text: str
    expected: str
    points: tuple[str, ...]
    told: bool
    asked_at: datetime


class AnswerCase(NamedTuple):
    """One history, which becomes the book of one owner: its sessions by name, and the questions about it."""

    name: str
    sessions: dict[str, list[SpokenTurn]]
    questions: list[JudgedQuestion]
    half: str


def read_cases(path: str) -> Iterator[AnswerCase]:
    """The cases of a file or folder, read lazily, because together they may be large."""
    place = Path(path)
    if not place.exists():
        raise NotFound(f"there is no {path}; name the data with --data PATH", field="data")
    try:
        yield from _chats_with_points(place) if place.is_dir() else _listed(place)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise Invalid(f"{path} has none of the three formats of this bench: {error!r}", field="data") from None


def _listed(path: Path) -> Iterator[AnswerCase]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if "haystack_sessions" in data[0]:
        yield from map(_many_sessions, data)
        return
    tuning, report = HALVES
    for number, sample in enumerate(data):
        yield _two_people(sample, number, tuning if number < len(data) / 2 else report)


def _last_said(sessions: Mapping[str, Sequence[SpokenTurn]]) -> datetime:
    """The time of the last turn."""
    every = [turn for turns in sessions.values() for turn in turns]
    return max((turn.at for turn in every if turn.at), default=FIRST_DAY)


# LoCoMo's


def _two_people(sample: Mapping[str, Any], number: int, half: str) -> AnswerCase:
    sessions, _ = locomo_sessions(sample["conversation"])
    asked_at = _last_said(sessions)
    questions = []
    for nth, asked in enumerate(sample["qa"], 1):
        kind = LOCOMO_KINDS[int(asked["category"])]
        question = JudgedQuestion(
            id=f"{number + 1}:{nth}", kind=kind, text=str(asked["question"]), expected=str(asked.get("answer", "")),
            points=(), told=kind not in NOT_TOLD, asked_at=asked_at,
        )  # fmt: skip
        questions.append(question)
    return AnswerCase(f"conversation {number + 1}", sessions, questions, half)


# One long chat, judged by points


def _chats_with_points(folder: Path) -> Iterator[AnswerCase]:
    if (folder / "chat.json").is_file():
        found = [folder]
    else:
        found = sorted(one.parent for one in folder.glob("*/chat.json"))
    if not found:
        raise ValueError("a folder without chat.json")
    for one in found:
        yield _chat_with_points(one)


def _chat_with_points(folder: Path) -> AnswerCase:
    """The case in a folder with `chat.json` and `questions.json`."""
    batches = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
    sessions = {f"batch {batch['batch_number']}": list[SpokenTurn]() for batch in batches}
    for name, turn in _with_their_time(batches):
        sessions[name].append(turn)
    asked_at = _last_said(sessions)
    questions = []
    for kind, asked in json.loads((folder / "questions.json").read_text(encoding="utf-8")).items():
        for nth, one in enumerate(asked, 1):
            question = JudgedQuestion(
                id=f"{folder.name}:{kind}:{nth}", kind=kind, text=one["question"],
                expected=str(one.get("ideal_response", "")), points=tuple(map(str, one["rubric"])),
                told=kind not in NOT_TOLD, asked_at=asked_at,
            )  # fmt: skip
            questions.append(question)
    return AnswerCase(folder.name, sessions, questions, HALVES[1])


def _with_their_time(batches: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, SpokenTurn]]:
    """Each message with the name of its batch. Some messages have a date, the "anchor", which holds until the next one;
    messages before the first anchor get its date."""
    messages = []
    for batch in batches:
        for turn in batch["turns"]:
            messages += [(f"batch {batch['batch_number']}", message) for message in turn]
    anchors = [message["time_anchor"] for _, message in messages if message.get("time_anchor")]
    at = _start_of(anchors[0]) if anchors else FIRST_DAY
    for name, message in messages:
        anchor = message.get("time_anchor")
        if anchor:
            at = max(at, _start_of(anchor))  # an anchor may be repeated later on the same day
        yield name, SpokenTurn(message["role"], message["content"], at)
        at += timedelta(minutes=1)


def _start_of(anchor: str) -> datetime:
    return datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) + EARLIEST


# Many sessions with one question each


def _many_sessions(told: Mapping[str, Any]) -> AnswerCase:
    """The case of one question and its history."""
    id = str(told["question_id"])
    known = zip(told["haystack_session_ids"], told["haystack_dates"], told["haystack_sessions"], strict=True)
    sessions = {}
    for nth, (name, date, turns) in enumerate(known, 1):
        at = parse_moment(date)
        # The number makes the name unique: a history may have the same session twice.
        sessions[f"{nth} {name}"] = [SpokenTurn(turn["role"], turn["content"], at) for turn in turns]
    is_told = not id.endswith(ABSENT)
    question = JudgedQuestion(
        id=id, kind=str(told["question_type"]) if is_told else "abstention", text=str(told["question"]),
        expected=str(told["answer"]), points=(), told=is_told,
        asked_at=parse_moment(told.get("question_date")) or _last_said(sessions),
    )  # fmt: skip
    return AnswerCase(id, sessions, [question], HALVES[1])
