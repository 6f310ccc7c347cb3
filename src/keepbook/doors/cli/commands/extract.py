"""`keepbook extract --dry-run FILE`: what closing this chat would keep, and why not the rest.

The transcript is JSON Lines of {role, text, at?, speaker?}, or plain text in which "User:" and "Assistant:" begin a
turn. It is really closed, by the very code that closes every chat, but on a copy of the book in memory that is gone
afterwards. So nothing is written, and what is shown is what would happen. Only what the model took is counted.
"""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from keepbook.book.ground.when import instant
from keepbook.doors.cli.sheets import chats as sheets
from keepbook.doors.cli.terminal.command import CHATS, Invocation, command
from keepbook.doors.cli.terminal.paper import (
    AMBER,
    GONE,
    HEAD,
    ID,
    META,
    PENCIL,
    Paper,
    grid,
    ink,
    join_with_dots,
    two_digit_share,
)
from keepbook.doors.cli.terminal.streams import reading, show_progress
from keepbook.errors import Invalid, ModelFailed
from keepbook.patterns import regex

if TYPE_CHECKING:
    from datetime import datetime

    from keepbook.book.book import Book
    from keepbook.book.chats.closing_result import ClosingResult, SkippedCandidate
    from keepbook.book.chats.face import Chat

ROLES = ("user", "assistant", "tool", "system")
_SPEAKS = regex(r"(user|human|person|me|assistant|agent|ai|bot)\s*:\s*", re.IGNORECASE)
_ASSISTANTS = {"assistant", "agent", "ai", "bot"}


@dataclass(frozen=True, slots=True)
class ExtractTurn:
    """One turn of a transcript."""

    role: str
    text: str
    at: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractFinding:
    """What would be kept, or would wait for a yes; `memory_id` and `before` where it changes what is there."""

    op: str
    memory_id: str | None
    content: str
    before: str | None
    category: str | None
    subject: str | None
    score: float | None
    turns: tuple[str, ...]
    valid_from: "datetime | str | None"
    reason: str | None


@dataclass(frozen=True, slots=True)
class ExtractRehearsal:
    """A closing that left nothing behind. Without `made_by` the chat would not be read at all."""

    preset: str
    made_by: str | None
    notice: str | None
    kept: tuple[ExtractFinding, ...]
    proposed: tuple[ExtractFinding, ...]
    skipped: "tuple[SkippedCandidate, ...]"
    summary: str | None


def register(app: typer.Typer) -> None:
    command(app, "extract", extract, panel=CHATS)


def extract(
    call: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The chat, as JSON Lines or as text; - is stdin.", show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show it; there is no other way.")] = False,
) -> None:
    """Show what closing a chat would keep, and why not the rest."""
    if not dry_run:
        raise Invalid("extract only shows what closing would keep; say so with --dry-run", field="dry_run")
    lines = parse_transcript(_whole(file), call.zone)
    with show_progress("Reading the chat for memories"):
        rehearsal = rehearse_closing(call, lines)
    call.answer(rehearsal, _rehearsal_sheet)


# The transcript


def _whole(file: str) -> str:
    with reading(file) as stream:
        try:
            return "".join(stream)
        except UnicodeDecodeError:
            raise Invalid("the file is not text in UTF-8", field="file") from None


def parse_transcript(text: str, zone: str) -> list[ExtractTurn]:
    """The turns of a chat, in either form."""
    if text.lstrip().startswith("{"):
        lines = _from_json(text, zone)
    else:
        lines = _from_text(text)
    if not any(line.role == "user" for line in lines):
        raise Invalid("no turn in it is the person's; begin those with 'User:'", field="file")
    return lines


def _from_json(text: str, zone: str) -> list[ExtractTurn]:
    found = []
    for number, written in enumerate(text.split("\n"), 1):  # JSON knows no other end of a line
        if not written.strip():
            continue
        try:
            told: Any = json.loads(written)
        except ValueError:
            raise Invalid(f"line {number} is not valid JSON", field="file") from None
        if not isinstance(told, dict) or not isinstance(told.get("text"), str):
            raise Invalid(f'line {number} must be an object with "role" and "text"', field="file")
        role, speaker = told.get("role"), told.get("speaker")
        if role not in ROLES:
            raise Invalid(f"line {number}: role is one of {', '.join(ROLES)}, not {role!r}", field="file")
        at = instant(told.get("at"), field=f"line {number}, at", zone=zone)
        found.append(ExtractTurn(role, told["text"], at, None if speaker is None else str(speaker)))
    return found


def _from_text(text: str) -> list[ExtractTurn]:
    turns: list[tuple[str, list[str]]] = []
    for number, written in enumerate(text.splitlines(), 1):
        if begins := _SPEAKS.match(written.lstrip()):
            if begins[1].lower() in _ASSISTANTS:
                role = "assistant"
            else:
                role = "user"
            turns.append((role, [written.lstrip()[begins.end() :]]))
        elif turns:
            turns[-1][1].append(written)
        elif written.strip():
            raise Invalid(f"line {number} does not say who speaks; begin it with 'User:' or 'Assistant:'", field="file")
    return [ExtractTurn(role, "\n".join(said).strip()) for role, said in turns if "".join(said).strip()]


# The rehearsal


def rehearse_closing(call: Invocation, lines: Sequence[ExtractTurn]) -> ExtractRehearsal:
    """Close the chat on a copy of the book."""
    copy = _copy_of_book(call)
    chat = copy.threads.start(preset=call.given.preset)
    chat.inject()  # as a chat that begins now would be; what merely repeats it is not learned
    for line in lines:
        chat.add(line.role, line.text, line.at, line.speaker)
    spent = _spent(copy)
    closed = chat.close()
    for key, (tokens_in, tokens_out) in _spent(copy).items():
        before = spent.get(key, (0, 0))
        if (tokens_in, tokens_out) != before:
            call.book.spending.count(*key, tokens_in - before[0], tokens_out - before[1])
    if closed.status == "failed":
        raise ModelFailed(chat.thread.failure or closed.notice or "the model did not answer")
    return _findings(copy, chat, closed)


def _copy_of_book(call: Invocation) -> "Book":
    whole = io.StringIO()
    call.book.export(whole)
    copy = call.open(":memory:").book(call.book.owner, door="cli")
    copy.import_(whole.getvalue().splitlines(keepends=True))
    return copy


def _spent(book: "Book") -> dict[tuple[str, str], tuple[int, int]]:
    """Tokens by operation and model, this month's and all others' together."""
    total: dict[tuple[str, str], tuple[int, int]] = {}
    for one in book.spending.list():
        tokens_in, tokens_out = total.get((one.operation, one.model), (0, 0))
        total[one.operation, one.model] = tokens_in + one.tokens_in, tokens_out + one.tokens_out
    return total


def _findings(copy: "Book", chat: "Chat", closed: "ClosingResult") -> ExtractRehearsal:
    kept, proposed = [], []
    for one in closed.written:
        memory = copy.get(one["id"])
        earlier = [version.content for version in memory.versions if version.version < memory.version]
        new = one["op"] == "add"
        if one["op"] == "forget":
            before = one["content"]
        elif earlier:
            before = earlier[-1]
        else:
            before = None
        memory_id = None
        if not new:
            memory_id = memory.id
        kept.append(
            ExtractFinding(
                one["op"], memory_id, memory.content, before, memory.category, memory.subject,
                memory.score, memory.turn_ids, memory.valid_from, None,
            )
        )  # fmt: skip
    for id in closed.proposed:
        waits = copy.proposals.get(id)
        before = None
        if waits.memory_id is not None:
            before = copy.get(waits.memory_id).content
        proposed.append(
            ExtractFinding(
                waits.op, waits.memory_id, waits.content, before, waits.category, waits.subject, waits.score,
                waits.turn_ids, waits.valid_from, waits.reason,
            )
        )  # fmt: skip
    thread = chat.thread
    if closed.made_by:
        notice = closed.notice
    else:
        notice = "memory is switched off in this book, so nothing would be kept"
    return ExtractRehearsal(
        thread.preset, closed.made_by, notice, tuple(kept), tuple(proposed), closed.skipped, thread.summary
    )


# What would happen


def _rehearsal_sheet(paper: Paper, answer: ExtractRehearsal) -> None:
    reader = ""
    if answer.made_by:
        reader = f", read by {answer.made_by}"
    paper.put(ink(f"What closing this chat would do (preset {answer.preset}{reader}):", META))
    if answer.notice:
        paper.put(ink(sheets.as_sentence(answer.notice), AMBER))
    for found, title in ((answer.kept, "Keep"), (answer.proposed, "Let wait for a yes")):
        if found:
            paper.gap()
            paper.put(ink(title, HEAD))
            table = grid(text=1)
            for one in found:
                table.add_row(ink(one.op, META), _finding_lines(one))
            paper.sheet(table, indent=2)
    if answer.made_by and not (answer.kept or answer.proposed):
        paper.put("Keep nothing.")
    waiting = {(one.op, one.content) for one in answer.proposed}
    left = [one for one in answer.skipped if (one.op, one.content) not in waiting]
    if left:
        sheets.skipped_sheet(paper, left)
    if answer.summary:
        paper.gap()
        paper.put(ink("Summary: ", META), ink(answer.summary))
    paper.gap()
    paper.put("Nothing was written.")


def _finding_lines(one: ExtractFinding) -> RenderableType:
    said: list[RenderableType] = []
    if one.before:
        said.append(Text.assemble("− ", ink(one.before, GONE), " ", ink(one.memory_id, ID)))
    if one.op != "forget":
        said.append(Text.assemble("+ " if said else "", ink(one.content, PENCIL)))
    score = None
    if one.score is not None:
        score = f"score {two_digit_share(one.score)}"
    turns = None
    if one.turns:
        turns = f"turn{'s' if len(one.turns) > 1 else ''} {', '.join(one.turns)}"
    return Group(
        *said, join_with_dots([word for word in (one.subject, one.category, score, turns, one.reason) if word])
    )
