"""What answers are measured on: conversations, each with questions and what a right answer says.

Three formats are read. LoCoMo's: two people, ten conversations, an answer for each question. One long chat with
questions judged by points: a folder with `chat.json` and `questions.json`, or a folder of such folders. Many sessions
with one question each: a list in which every question has a history of its own. What nothing was said about is asked
too (LoCoMo's fifth category, the kind `abstention`, ids that end in `_abs`): there it is right to say so.
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
"""Kinds of question about what nobody said."""
ABSENT = "_abs"
EARLIEST = timedelta(hours=8)
"""When the first message of a day was said, where only the day is known; the others follow by the minute."""


class JudgedQuestion(NamedTuple):
    """A question, the answer expected, and the points by which it is judged; without points it is right or wrong."""

    id: str
    kind: str
    text: str
    expected: str
    points: tuple[str, ...]
    told: bool
    asked_at: datetime


class AnswerCase(NamedTuple):
    """One history, to be kept as one book: sessions by name, and what is asked about it."""

    name: str
    sessions: dict[str, list[SpokenTurn]]
    questions: list[JudgedQuestion]
    half: str


def read_cases(path: str) -> Iterator[AnswerCase]:
    """The cases of a file or folder, one after the other: together they may be large."""
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
    for number, sample in enumerate(data):
        yield _two_people(sample, number, HALVES[number >= len(data) / 2])


def _last_said(sessions: Mapping[str, Sequence[SpokenTurn]]) -> datetime:
    every = [turn for turns in sessions.values() for turn in turns]
    return max((turn.at for turn in every if turn.at), default=FIRST_DAY)


# LoCoMo's


def _two_people(sample: Mapping[str, Any], number: int, half: str) -> AnswerCase:
    sessions, _ = locomo_sessions(sample["conversation"])
    asked_at = _last_said(sessions)
    questions = []
    for nth, asked in enumerate(sample["qa"], 1):
        kind = LOCOMO_KINDS[int(asked["category"])]
        expected = str(asked.get("answer", ""))
        told = kind not in NOT_TOLD
        questions.append(
            JudgedQuestion(f"{number + 1}:{nth}", kind, str(asked["question"]), expected, (), told, asked_at)
        )
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
    batches = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
    sessions = {f"batch {batch['batch_number']}": list[SpokenTurn]() for batch in batches}
    for name, turn in _with_their_time(batches):
        sessions[name].append(turn)
    asked_at = _last_said(sessions)
    questions = []
    for kind, asked in json.loads((folder / "questions.json").read_text(encoding="utf-8")).items():
        for nth, one in enumerate(asked, 1):
            points = tuple(map(str, one["rubric"]))
            expected = str(one.get("ideal_response", ""))
            id = f"{folder.name}:{kind}:{nth}"
            questions.append(
                JudgedQuestion(id, kind, one["question"], expected, points, kind not in NOT_TOLD, asked_at)
            )
    return AnswerCase(folder.name, sessions, questions, HALVES[1])


def _with_their_time(batches: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, SpokenTurn]]:
    """Each message with the name of its batch. An anchor holds until the next; what was said before any is of its
    day."""
    messages = [
        (f"batch {batch['batch_number']}", message) for batch in batches for turn in batch["turns"] for message in turn
    ]
    anchors = [message["time_anchor"] for _, message in messages if message.get("time_anchor")]
    if anchors:
        at = _start_of(anchors[0])
    else:
        at = FIRST_DAY
    for name, message in messages:
        anchor = message.get("time_anchor")
        # An anchor that is told again goes on with the day, it does not begin it anew.
        if anchor:
            at = max(at, _start_of(anchor))
        yield name, SpokenTurn(message["role"], message["content"], at)
        at += timedelta(minutes=1)


def _start_of(anchor: str) -> datetime:
    return datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) + EARLIEST


# Many sessions with one question each


def _many_sessions(told: Mapping[str, Any]) -> AnswerCase:
    id = str(told["question_id"])
    known = zip(told["haystack_session_ids"], told["haystack_dates"], told["haystack_sessions"], strict=True)
    sessions = {}
    for nth, (name, date, turns) in enumerate(known, 1):
        at = parse_moment(date)
        # The same session may stand in a history twice.
        sessions[f"{nth} {name}"] = [SpokenTurn(turn["role"], turn["content"], at) for turn in turns]
    asked_at = parse_moment(told.get("question_date")) or _last_said(sessions)
    is_told = not id.endswith(ABSENT)
    if is_told:
        kind = str(told["question_type"])
    else:
        kind = "abstention"
    question = JudgedQuestion(id, kind, str(told["question"]), str(told["answer"]), (), is_told, asked_at)
    return AnswerCase(id, sessions, [question], HALVES[1])
