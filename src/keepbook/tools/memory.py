"""What an agent can do with a memory, each operation once, as a plain function over a book.

The names of the arguments are those that presets bind to; what a preset leaves out keeps its default here.
Every answer is a few plain words for a model, the same as data, and for a write the event that undoes it.
An operation refuses by raising a `KeepbookError`; the catalogue turns that into words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.chats.face import NewTurn, record_session
from keepbook.book.ground.to_json import to_json
from keepbook.book.memory.links import Link
from keepbook.book.memory.memories import Memory, State, Version, Written
from keepbook.book.recall.memories import Hit
from keepbook.book.text.quotation import is_an_agents, is_guess, shown_text
from keepbook.presets import Argument
from keepbook.tools.chat_turns import FoundChatTurns, FoundEvents, recall_chats, timeline
from keepbook.tools.definition import READS, Annotations, ToolAnswer
from keepbook.tools.spoken_days import zoned_day

LIST_CHARS = 24_000
"""How many letters a listing may have, some 6,000 tokens. The newest memories are listed, the others only counted."""
PAGE = 1000  # memories
DETAIL_CHARS = 1_000
"""How many letters of a memory's detail a recall says in words; its data has all of it."""

_STATE = ("category", "subject", "confidence", "version", "last_confirmed_at", "archived_reason")


# Rules


def line(memory: Memory) -> str:
    """A memory in one line: its id, what it says, and what a reader must know about it: also which agent worded it."""
    by = is_an_agents(memory.source, memory.written_by, memory.last_confirmed_at)
    notes = [memory.category or "", memory.subject and f"about {memory.subject}"]
    notes += ["inferred" if is_guess(memory) else "", "" if memory.current else "not true now"]
    notes.append(f"by {memory.written_by}" if by else "")
    told = "; ".join(note for note in notes if note)
    return f"[{memory.id}] {shown_text(memory)}" + (f" ({told})" if told else "")


def _sentence(text: str) -> str:
    if text.endswith((".", "!", "?", "…")):
        return text
    return f"{text}."


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1] + "…"


def _newest_lines(memories: Sequence[Memory], chars: int) -> list[str]:
    lines: list[str] = []
    for memory in reversed(memories):
        told = line(memory)
        chars -= len(told) + 1
        if chars < 0 and lines:
            break
        lines.append(told)
    return lines[::-1]


def brief_state(state: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The few fields of a ledger entry's state that a page shows struck through or underlined."""
    if state is None:
        return None
    name = State(**{key: value for key, value in state.items() if key != "content"}).name
    return {"content": state["content"], "state": name} | {key: state[key] for key in _STATE}


# Operations


def remember(
    book: Book,
    /,
    content: str,
    category: str | None = None,
    subject: str | None = None,
    detail: str | None = None,
    since: str | None = None,
    until: str | None = None,
    confidence: Literal["asserted", "inferred"] | None = None,
    force: bool = False,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
    *,
    turn_ids: Sequence[str] = (),
) -> ToolAnswer:
    """Keep one new fact."""
    with book.transaction():
        written = book.remember(
            content, category=category, subject=subject, body=detail, confidence=_confidence(book, confidence),
            since=since, until=until, force=force, tags=tags, metadata=metadata, turn_ids=turn_ids,
        )  # fmt: skip
        if written.unchanged:
            if written.event is None:
                done = "Nothing was written."
            else:
                done = "It is confirmed."
            return answer_to_write(book, written, f"Already known {line(written)}. {done}")
        said = f"Saved [{written.id}]: {_sentence(shown_text(written))} {_since_in_words(written, book.zone)}"
        if written.similar and not force:
            near = "\n".join(line(memory) for memory in written.similar)
            said += f"\nClose to it is:\n{near}\nIf one of these is out of date, update or forget it."
        return answer_to_write(book, written, said)


def update(
    book: Book,
    /,
    memory: str,
    content: str,
    detail: str | None = None,
    correction: bool = False,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
    *,
    turn_ids: Sequence[str] = (),
) -> ToolAnswer:
    """Say it anew: the world changed, or with `correction` it was never right."""
    with book.transaction():
        written = book.update(
            memory, content, body=detail, correction=correction, confidence=_confidence(book, None), tags=tags,
            metadata=metadata, turn_ids=turn_ids,
        )  # fmt: skip
        if written.unchanged:
            return answer_to_write(book, written, f"It says so already: {line(written)}. Nothing was written.")
        if correction:
            verb = "Corrected"
        else:
            verb = "Updated"
        said = f"{verb} [{written.id}]: {_sentence(shown_text(written))} {_since_in_words(written, book.zone)}"
        return answer_to_write(book, written, said)


def forget(
    book: Book,
    /,
    memory: str,
    reason: Literal["user_deleted", "user_corrected", "agent_forget"] = "agent_forget",
) -> ToolAnswer:
    """Stop using a memory; it stays in the archive."""
    with book.transaction():
        written = book.forget(memory, reason)
        if written.unchanged:
            return answer_to_write(book, written, f"It was forgotten before: {line(written)}. Nothing was written.")
        said = f"Forgotten [{written.id}]: {_sentence(shown_text(written))} Do not use it any more; it can be restored."
        return answer_to_write(book, written, said)


def confirm(book: Book, /, memory: str) -> ToolAnswer:
    """Note that the person has said that it still holds."""
    with book.transaction():
        written = book.confirm(memory)
        return answer_to_write(book, written, f"Confirmed [{written.id}]: {_sentence(shown_text(written))}")


def link(book: Book, /, from_memory: str, to_memory: str, relation: str) -> ToolAnswer:
    """Record how two memories belong together."""
    with book.transaction():
        made = book.link(from_memory, to_memory, relation)
        ends = f"{line(book.get(made.from_id))}\n{made.relation}\n{line(book.get(made.to_id))}"
        if made.event is None:
            said = "They are linked already"
        else:
            said = "Linked"
        return ToolAnswer(f"{said}:\n{ends}", to_json(made), _event(book, made.from_id, made.event))


def list_memories(
    book: Book,
    /,
    category: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
) -> ToolAnswer:
    """What is stored right now, the newest last."""
    page = book.list(category or None, limit=PAGE, tags=tags, metadata=metadata)
    stored, total = list(page), page.total
    while page.next:
        page = book.list(category or None, limit=PAGE, cursor=page.next, tags=tags, metadata=metadata)
        stored += page
    if not stored:
        return ToolAnswer(f"Nothing is stored{f' under {category}' if category else ' yet'}.", _memories_to_json([], 0))
    lines = _newest_lines(stored, LIST_CHARS)
    shown = stored[len(stored) - len(lines) :]
    if total > 1:
        said = f"{total} stored:"
    else:
        said = "1 stored:"
    if len(lines) < total:
        said = f"{total} stored; the {total - len(lines)} oldest are left out here, search for those:"
    return ToolAnswer("\n".join([said, *lines]), _memories_to_json(shown, total))


def recall(
    book: Book,
    /,
    query: str,
    limit: Annotated[int, Field(ge=1, le=200)] = 10,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
) -> ToolAnswer:
    """Search everything stored, best answer first. The detail that others wrote beside a line counts as what they
    recorded, as a passage of theirs does."""
    hits = book.recall(query, limit, tags=tags, metadata=metadata)
    if not hits:
        return ToolAnswer("Nothing stored answers that.", {"hits": []})
    lines, others = [], dict[str, None]()
    for hit in hits:
        lines.append(line(hit))
        if hit.body:
            lines.append("    " + " ".join(_cut(hit.body, DETAIL_CHARS).split()))
            if hit.written_by is not None and hit.last_confirmed_at is None:
                others[hit.written_by] = None
    told = "\n".join([f"{len(hits)} found, best first:", *lines])
    return ToolAnswer(told, {"hits": to_json(hits)}, others=tuple(others))


def history(book: Book, /, memory: str) -> ToolAnswer:
    """Every version of one memory, oldest first."""
    id = book.find(memory)
    known, zone = book.get(id), book.zone
    if len(known.versions) > 1:
        count = f"{len(known.versions)} versions, oldest first"
    else:
        count = "1 version"
    away = ""
    if known.state in _PUT_AWAY:
        away = f" ({_PUT_AWAY[known.state]})"
    said = [f"[{id}]{away} has {count}:"]
    said += [_version_line(version, zone) for version in known.versions]
    return ToolAnswer("\n".join(said), {"id": id, "state": known.state, "versions": to_json(known.versions)})


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """One turn of an outside agent's chat."""

    role: Literal["user", "assistant"]
    text: str
    at: str | None = None
    speaker: str | None = None


def record_turns(book: Book, /, session: str, turns: list[SaidTurn]) -> ToolAnswer:
    """Record what was said in an outside agent's chat; it is read for memories when the chat falls silent."""
    chat, said = record_session(book, session, [NewTurn(one.role, one.text, one.at, one.speaker) for one in turns])
    data = {"thread_id": chat.id, "turns": [message.turn for message in said]}
    return ToolAnswer(f"Recorded {len(said)} turn{'' if len(said) == 1 else 's'} of session {session}.", data)


# What the operations answer as data, for clients that want to know before they call.


@dataclass(frozen=True, slots=True)
class ListedMemories:
    memories: list[Memory]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class FoundMemories:
    hits: list[Hit]


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    id: str
    state: str
    versions: list[Version]


@dataclass(frozen=True, slots=True)
class RecordedTurns:
    thread_id: str
    turns: list[int]


@dataclass(frozen=True, slots=True)
class MemoryOperation:
    """A function that a preset's tool may call, and what it may do to the book."""

    function: Callable[..., ToolAnswer]
    annotations: Annotations
    returns: Any
    """The type of its data."""
    says: bool = False
    """Whether it keeps words of a chat, so that it is told which turns said them."""


OPERATIONS: Mapping[str, MemoryOperation] = {
    "remember": MemoryOperation(remember, Annotations(idempotent=True), Written, says=True),
    "update": MemoryOperation(update, Annotations(idempotent=True), Written, says=True),
    "forget": MemoryOperation(forget, Annotations(destructive=True, idempotent=True), Written),
    "confirm": MemoryOperation(confirm, Annotations(), Written),
    "link": MemoryOperation(link, Annotations(idempotent=True), Link),
    "list": MemoryOperation(list_memories, READS, ListedMemories),
    "recall": MemoryOperation(recall, READS, FoundMemories),
    "recall_chats": MemoryOperation(recall_chats, READS, FoundChatTurns),
    "timeline": MemoryOperation(timeline, READS, FoundEvents),
    "history": MemoryOperation(history, READS, MemoryHistory),
    "record_turns": MemoryOperation(record_turns, Annotations(), RecordedTurns),
}
"""The operations by name, as a preset's `does` gives it."""

_LABELS = {
    "tags": Argument("tags", "Words to file it under; left out, those it has stay.", required=False),
    "metadata": Argument("metadata", "What your program notes with it, name and text each.", required=False),
}
_LABELLED = {
    "tags": Argument("tags", "Only what has all of these tags.", required=False),
    "metadata": Argument("metadata", "Only what has all of these, name and text each.", required=False),
}
OUTSIDE: Mapping[str, Mapping[str, Argument]] = {
    "remember": _LABELS, "update": _LABELS, "list": _LABELLED, "recall": _LABELLED,
}  # fmt: skip
"""Arguments that outside agents get beside those of the preset: labels are for programs, not for chats."""

ARGUMENT_OF = {
    "body": "detail",
    "valid_from": "since",
    "valid_until": "until",
    "ref": "memory",
    "id": "memory",
    "from_id": "from_memory",
    "to_id": "to_memory",
}
"""The operations' names of arguments for which the book's fields have another name."""

_PUT_AWAY = {"archived": "forgotten", "trash": "in the trash"}


def _confidence(book: Book, given: str | None) -> str | None:
    # Where an agent runs with nobody there to say anything, all it writes is its own reading.
    if book.origin.source == "inferred":
        return "inferred"
    return given


def _since_in_words(written: Written, zone: str) -> str:
    if written.current:
        return "It counts from the next chat on."
    if written.valid_until is not None and written.valid_until <= written.updated_at:
        return f"It is kept as past: it held until {zoned_day(written.valid_until, zone)}."
    return f"It counts in chats from {zoned_day(written.valid_from, zone)} on."


def _version_line(version: Version, zone: str) -> str:
    true = f"true from {zoned_day(version.valid_from, zone)}"
    if version.valid_until is not None:
        true += f" until {zoned_day(version.valid_until, zone)}"
    if version.correction:
        how = ", a correction"
    elif version.restored_from:
        how = ", restored"
    else:
        how = ""
    noted = f"noted {zoned_day(version.recorded_at, zone)}, {version.source}{how}"
    return f"{version.version}. {shown_text(version)} ({true}; {noted})"


def answer_to_write(book: Book, written: Written, said: str) -> ToolAnswer:
    """The answer to a write: its words, the memory, and what undoes it."""
    if written.notice is None:
        told = said
    else:
        told = f"{said} Tell the person: {written.notice}."
    return ToolAnswer(told, to_json(written), _event(book, written.id, written.event))


def _event(book: Book, id: str, event: int | None) -> dict[str, Any] | None:
    """The data that a page shows as a line with Undo; None if nothing was written."""
    if event is None:
        return None
    entry = book.ledger(after=event - 1, before=event + 1, limit=1)[0]
    if entry.link_id:
        before, after = entry.before, entry.after
    else:
        before, after = brief_state(entry.before), brief_state(entry.after)
    return {"op": entry.action, "id": id, "before": before, "after": after, "event": event}


def _memories_to_json(memories: Sequence[Memory], total: int) -> dict[str, Any]:
    return {"memories": to_json(memories), "total": total, "next": None}
