"""What recall is measured on: conversations, questions about them, and the turns that answer.

Two shapes are read. LoCoMo's, a file of JSON: two people, each conversation a book, the first half of the conversations
for tuning and the second for reporting. And ours, lines of JSON: one person and an assistant, all chats of one writer
in one book; a line is a question, with its half, the chat and the turn that answers. The chats stand in the folder
`chats` beside the file. Joined, all that is said by one side in so many chats is one long message, and the letters of
all writers of a half are in one book.
"""

import json as json_module
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.errors import Invalid, NotFound
from keepbook.patterns import regex

KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""What LoCoMo's categories are; the fifth has no evidence to find."""
HALVES = ("tuning", "report")
FIRST_DAY = datetime(2024, 1, 1, 12, tzinfo=UTC)
"""Our chats have no date; they are kept a day apart."""

TurnKey = tuple[str, int]


class EvaluationQuestion(NamedTuple):
    text: str
    kind: str
    evidence: frozenset[TurnKey]


class SpokenTurn(NamedTuple):
    speaker: str
    text: str
    at: datetime | None


class EvaluationConversation(NamedTuple):
    """Sessions by name, each a list of turns; a turn is known by its session and its number from 1."""

    sessions: dict[str, list[SpokenTurn]]
    questions: list[EvaluationQuestion]
    reports: bool


def conversations(path: str, joined: int = 0) -> list[EvaluationConversation]:
    if not Path(path).is_file():
        raise NotFound(f"there is no file {path}; name the data with --data FILE", field="data")
    try:
        text = Path(path).read_text(encoding="utf-8")
        if path.endswith(".jsonl"):
            return _of_writers([json_module.loads(line) for line in text.splitlines()], Path(path).parent, joined)
        data = json_module.loads(text)
        return [_of_two(sample, number >= len(data) / 2) for number, sample in enumerate(data)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{path} is not a file of LoCoMo's shape, nor of ours: {error!r}", field="data") from None


# LoCoMo's


_SESSION = regex(r"session_(\d+)")


def _of_two(sample: Mapping[str, Any], reports: bool) -> EvaluationConversation:
    sessions, place = locomo_sessions(sample["conversation"])
    questions = []
    for asked in sample["qa"]:
        kind = KINDS.get(int(asked["category"]))
        named = [id for text in asked.get("evidence") or [] for id in _evidence_ids(str(text))]
        evidence = frozenset(place[id] for id in named if id in place)
        if kind and evidence:
            questions.append(EvaluationQuestion(str(asked["question"]), kind, evidence))
    return EvaluationConversation(sessions, questions, reports)


def locomo_sessions(
    told: Mapping[str, Any],
) -> tuple[dict[str, list[SpokenTurn]], dict[tuple[int, int], TurnKey]]:
    """The sessions of one conversation in their order, and which turn each id of the data names."""
    numbers = sorted(int(match[1]) for name in told if (match := _SESSION.fullmatch(name)))
    sessions, place = {}, {}
    for number in numbers:
        turns = told[f"session_{number}"] or []
        at = parse_moment(told.get(f"session_{number}_date_time"))
        sessions[f"session {number}"] = [SpokenTurn(turn["speaker"], turn["text"], at) for turn in turns]
        for nth, turn in enumerate(turns, 1):
            place[_evidence_ids(turn["dia_id"])[0]] = (f"session {number}", nth)
    return sessions, place


_EVIDENCE = regex(r"D:?(\d+):(\d+)")


def _evidence_ids(text: str) -> list[tuple[int, int]]:
    """`D8:6; D9:17`, `D:11:26`, `D30:05`: all the ways in which the data names its turns."""
    return [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(text)]


def parse_moment(text: str | None) -> datetime | None:
    for form in ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return datetime.strptime(text or "", form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


# Ours


def _of_writers(asked: Sequence[Mapping[str, Any]], folder: Path, joined: int) -> list[EvaluationConversation]:
    found = []
    if joined:
        by = "half"
    else:
        by = "writer"
    for book in dict.fromkeys(question[by] for question in asked):
        about = [question for question in asked if question[by] == book]
        chats: dict[str, list[tuple[str, str]]] = {}
        for writer in dict.fromkeys(question["writer"] for question in about):
            lines = (folder / "chats" / f"{writer}.jsonl").read_text(encoding="utf-8").splitlines()
            chats |= {chat["id"]: _turns(chat) for chat in map(json_module.loads, lines)}
        if joined:
            sessions, place = _letters(chats, joined)
        else:
            sessions, place = _as_written(chats)
        questions = [
            EvaluationQuestion(one["question"], one["kind"], frozenset({place[one["chat"], one["turn"]]}))
            for one in about
        ]
        found.append(EvaluationConversation(sessions, questions, bool(HALVES.index(about[0]["half"]))))
    return found


def _turns(chat: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (turn["role"], turn["text"] if "text" in turn else "".join(part["t"] for part in turn["parts"]))
        for turn in chat["turns"]
    ]


def _as_written(
    chats: Mapping[str, Sequence[tuple[str, str]]],
) -> tuple[dict[str, list[SpokenTurn]], dict[TurnKey, TurnKey]]:
    sessions = {
        id: [SpokenTurn(role, text, FIRST_DAY + timedelta(days=nth)) for role, text in turns]
        for nth, (id, turns) in enumerate(chats.items())
    }
    return sessions, {(id, nth): (id, nth) for id, turns in chats.items() for nth in range(1, len(turns) + 1)}


def _letters(
    chats: Mapping[str, Sequence[tuple[str, str]]], joined: int
) -> tuple[dict[str, list[SpokenTurn]], dict[TurnKey, TurnKey]]:
    """So many chats become a letter and its answer."""
    sessions: dict[str, list[SpokenTurn]] = {}
    place: dict[TurnKey, TurnKey] = {}
    ids = list(chats)
    for start in range(0, len(ids), joined):
        some = ids[start : start + joined]
        told = [
            (side, "\n\n".join(text for id in some for role, text in chats[id] if role == side))
            for side in ("user", "assistant")
        ]
        sessions[some[0]] = [SpokenTurn(side, text, FIRST_DAY + timedelta(days=start)) for side, text in told]
        for id in some:
            place |= {(id, nth): (some[0], 1 + (role != "user")) for nth, (role, _) in enumerate(chats[id], 1)}
    return sessions, place
