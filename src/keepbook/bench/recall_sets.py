"""Reads the sets that recall is measured on: conversations, questions about them, and the turns that answer.

There are two formats. LoCoMo's is a JSON file with conversations of two people, each of which becomes a book; the first
half of them is for tuning, the second for reporting. Ours has JSON lines, each a question with its half, and the chat
and the turn that answer it; the chats of a person with an assistant are in the folder `chats` beside the file, and all
chats of one writer become a book.

With `joined`, that many chats of our format become one exchange of two long messages ("letters"), and those of all
writers of a half are in one book.
"""

import json as json_module
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.errors import Invalid, NotFound
from keepbook.patterns import regex

KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's categories of questions; the fifth, which is left out, asks about what nobody said."""
HALVES = ("tuning", "report")
FIRST_DAY = datetime(2024, 1, 1, 12, tzinfo=UTC)
"""The time of the first of our chats. They have no date, and are stored as if they were a day apart."""

TurnKey = tuple[str, int]
"""A session, and the number of a turn in it, from 1."""


class EvaluationQuestion(NamedTuple):
    text: str
    kind: str
    evidence: frozenset[TurnKey]


class SpokenTurn(NamedTuple):
    speaker: str
    text: str
    at: datetime | None


class EvaluationConversation(NamedTuple):
    """Sessions by name, and questions about them; `reports` tells the second half from the first."""

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
    sessions, keys = locomo_sessions(sample["conversation"])
    questions = []
    for asked in sample["qa"]:
        kind = KINDS.get(int(asked["category"]))
        ids = [id for text in asked.get("evidence") or [] for id in _evidence_ids(str(text))]
        evidence = frozenset(keys[id] for id in ids if id in keys)
        if kind and evidence:
            questions.append(EvaluationQuestion(str(asked["question"]), kind, evidence))
    return EvaluationConversation(sessions, questions, reports)


def locomo_sessions(
    told: Mapping[str, Any],
) -> tuple[dict[str, list[SpokenTurn]], dict[tuple[int, int], TurnKey]]:
    """The sessions of one conversation in their order, and the key of each turn by the id that it has in the data."""
    matches = [_SESSION.fullmatch(name) for name in told]
    numbers = sorted(int(match[1]) for match in matches if match is not None)
    sessions, keys = {}, {}
    for number in numbers:
        turns = told[f"session_{number}"] or []
        at = parse_moment(told.get(f"session_{number}_date_time"))
        sessions[f"session {number}"] = [SpokenTurn(turn["speaker"], turn["text"], at) for turn in turns]
        for nth, turn in enumerate(turns, 1):
            keys[_evidence_ids(turn["dia_id"])[0]] = (f"session {number}", nth)
    return sessions, keys


_EVIDENCE = regex(r"D:?(\d+):(\d+)")


def _evidence_ids(text: str) -> list[tuple[int, int]]:
    """The (session, turn) that a text names, in any spelling of the data: `D8:6; D9:17`, `D:11:26`, `D30:05`."""
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
    """The books of our format: one for each writer, or with `joined` one for each half."""
    found = []
    by = "half" if joined else "writer"
    for book in dict.fromkeys(question[by] for question in asked):
        about = [question for question in asked if question[by] == book]
        chats: dict[str, list[tuple[str, str]]] = {}
        for writer in dict.fromkeys(question["writer"] for question in about):
            lines = (folder / "chats" / f"{writer}.jsonl").read_text(encoding="utf-8").splitlines()
            chats |= {chat["id"]: _turns(chat) for chat in map(json_module.loads, lines)}
        sessions, keys = _letters(chats, joined) if joined else _as_written(chats)
        questions = [
            EvaluationQuestion(one["question"], one["kind"], frozenset({keys[one["chat"], one["turn"]]}))
            for one in about
        ]
        found.append(EvaluationConversation(sessions, questions, reports=HALVES.index(about[0]["half"]) == 1))
    return found


def _turns(chat: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Role and text of each turn; a text may be in parts."""
    found = []
    for turn in chat["turns"]:
        text = turn["text"] if "text" in turn else "".join(part["t"] for part in turn["parts"])
        found.append((turn["role"], text))
    return found


def _as_written(
    chats: Mapping[str, Sequence[tuple[str, str]]],
) -> tuple[dict[str, list[SpokenTurn]], dict[TurnKey, TurnKey]]:
    """Each chat as a session, and the keys of its turns, which are the same."""
    sessions = {
        id: [SpokenTurn(role, text, FIRST_DAY + timedelta(days=nth)) for role, text in turns]
        for nth, (id, turns) in enumerate(chats.items())
    }
    return sessions, {(id, nth): (id, nth) for id, turns in chats.items() for nth in range(1, len(turns) + 1)}


def _letters(
    chats: Mapping[str, Sequence[tuple[str, str]]], joined: int
) -> tuple[dict[str, list[SpokenTurn]], dict[TurnKey, TurnKey]]:
    """The sessions, each of two long messages that join the turns of several chats by their role; and for each turn of
    a chat, the key of the message that has it."""
    sessions: dict[str, list[SpokenTurn]] = {}
    keys: dict[TurnKey, TurnKey] = {}
    ids = list(chats)
    for start in range(0, len(ids), joined):
        ids_of_letter = ids[start : start + joined]
        session, at = ids_of_letter[0], FIRST_DAY + timedelta(days=start)
        sessions[session] = []
        for side in ("user", "assistant"):
            texts = []
            for id in ids_of_letter:
                texts += [text for role, text in chats[id] if role == side]
            sessions[session].append(SpokenTurn(side, "\n\n".join(texts), at))
        for id in ids_of_letter:
            for nth, (role, _) in enumerate(chats[id], 1):
                keys[id, nth] = (session, 1 if role == "user" else 2)
    return sessions, keys
