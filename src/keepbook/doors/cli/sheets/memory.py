"""The sheets a person reads: memories, one memory, its history, recall, the ledger, what a write did.

Each takes the paper and the value a book answered, and says what it means and what can be done next.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from rich.console import Group, RenderableType
from rich.text import Text

from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.text.quotation import is_an_agents, is_guess, shown_text
from keepbook.doors.cli.terminal.paper import (
    AMBER,
    GONE,
    HEAD,
    ID,
    META,
    PENCIL,
    Paper,
    columns,
    grid,
    ink,
    join_with_dots,
    pluralise,
    two_digit_share,
)

if TYPE_CHECKING:
    from keepbook.book.book import MemoryDetail
    from keepbook.book.ground.to_json import Page
    from keepbook.book.ledger.ledger import Entry
    from keepbook.book.ledger.owner_settings import Configured
    from keepbook.book.ledger.thing_entries import ThingSet
    from keepbook.book.memory.block import ComposedBlock, Fate
    from keepbook.book.memory.links import Link
    from keepbook.book.memory.memories import Memory, Written
    from keepbook.book.recall.memories import Hit

SOURCES = {
    "profile": "you typed it",
    "chat": "you said it in a chat",
    "inferred": "inferred",
    "extracted": "found in a chat",
    "imported": "imported",
}
REASONS = {
    "user_deleted": "you took it back",
    "user_corrected": "you corrected it",
    "agent_forget": "an agent forgot it",
    "undone": "its saving was undone",
}


# What a write did


def write_sheet(paper: Paper, memory: "Written", verb: str) -> None:
    """One line for a write, with the way back; where nothing was written, it says so."""
    if memory.unchanged:
        paper.put(_UNCHANGED[verb], " ", ink(memory.id, ID), ": ", ink(shown_text(memory)))
        if memory.event is None:
            paper.put("Nothing was written.")
        else:
            paper.put("It is confirmed. Undo: ", paper.hint("undo", memory.event))
        return
    done = Text(_DONE[verb].format(id=memory.id, version=memory.version))
    done.highlight_words([memory.id], ID)
    paper.put(done, " Undo: ", paper.hint("undo", memory.event))
    for other in memory.similar:
        paper.put("You already have something like this: ", ink(other.id, ID), " ", ink(shown_text(other)))
    if memory.similar:
        other = memory.similar[0]
        paper.put("Keep both, or undo this one and ", paper.hint("update", other.id, '"…"'))
    if verb in ("remember", "update") and not memory.current:
        paper.put(ink(_not_now(paper, memory), AMBER))


_DONE = {
    "remember": "Saved {id}.",
    "update": "Saved as version {version} of {id}.",
    "forget": "Archived {id}: out of every chat and recall.",
    "delete": f"{{id}} is in the trash for {TRASH_DAYS} days.",
    "restore": "Restored {id}.",
    "confirm": "Confirmed {id}.",
    "promote": "{id} counts as your own word now.",
    "demote": "{id} counts as a reading now, not as your word.",
}
_UNCHANGED = {
    "remember": "Already in the book as",
    "update": "That is what it says already:",
    "forget": "Archived already:",
    "delete": "In the trash already:",
    "confirm": "Confirmed already:",
    "restore": "It is not archived and not in the trash:",
    "promote": "It counts as your own word already:",
    "demote": "It counts as a reading already:",
}


def link_sheet(paper: Paper, link: "Link", verb: str) -> None:
    joined: list[Text | str] = [ink(link.from_id, ID), f" {link.relation} ", ink(link.to_id, ID)]
    if link.event is None:
        paper.put("Linked already: ", *joined, ", link ", ink(link.id, ID), ". Nothing was written.")
        return
    if verb == "link":
        begins = "Linked: "
    else:
        begins = "No longer linked: "
    paper.put(begins, *joined, ", link ", ink(link.id, ID), ". Undo: ", paper.hint("undo", link.event))


def undo_sheet(paper: Paper, answer: "Written | Link | Configured | ThingSet", event: int) -> None:
    redo = paper.hint("undo", answer.event)
    state = getattr(answer, "state", None)
    if state is None:
        paper.put(f"Undone: entry {event}. Redo: ", redo)
        return
    where = {"active": "says", "archived": "is archived", "trash": "is in the trash"}[state]
    memory = cast("Written", answer)
    paper.put(f"Undone: entry {event}. ", ink(memory.id, ID), f" {where}: ", ink(shown_text(memory)))
    paper.put("Redo: ", redo)


# Memories in rows


def listing_sheet(paper: Paper, page: "Page[Memory]", *, state: str, narrowed: bool, rendered: "ComposedBlock") -> None:
    """A page of a book, and how many of it go into a new chat."""
    if not page.total:
        nothing_here(paper, state=state, narrowed=narrowed)
        return
    memories_table(paper, page.items, rendered.fates)
    paper.gap()
    if len(page) < page.total:
        paper.put(f"{len(page)} of {pluralise(page.total, 'memory', 'memories')}.")
    else:
        shown = None
        if state == "active" and not narrowed:
            shown = len(rendered.shown)
        paper.put(_sum(page.items, shown))
    if page.next:
        paper.put("More: ", paper.hint("list", "--cursor", page.next), _same_filters(narrowed))


def _same_filters(narrowed: bool) -> Text:
    if narrowed:
        return ink(" with the same filters", META)
    return ink("", META)


def nothing_here(paper: Paper, *, state: str = "active", narrowed: bool = False) -> None:
    if narrowed:
        paper.put("No memory fits. Everything there is: ", paper.hint("list"))
    elif state in ("archived", "trash"):
        if state == "archived":
            paper.put("Nothing is archived.")
        else:
            paper.put("The trash is empty.")
    else:
        paper.put("The book is empty. Tell your agent something worth keeping, or write the first entry yourself:")
        paper.put(paper.hint("remember", '"Prefers index funds"'))


def memories_table(paper: Paper, kept: Sequence["Memory"], fates: Mapping[str, "Fate"] | None = None) -> None:
    table = columns("id", "memory", "category", "age", text=1)
    for memory in kept:
        row: list[RenderableType] = [ink(memory.id, ID), entry(paper, memory, fates)]
        table.add_row(*row, ink(memory.category, META), ink(paper.age(memory.recorded_at), META))
    paper.sheet(table)


def entry(paper: Paper, memory: "Memory", fates: Mapping[str, "Fate"] | None = None, *more: str) -> RenderableType:
    """What a memory says, in ink or in pencil, and under it what is not the normal case."""
    style = ""
    if is_guess(memory):
        style = PENCIL
    said = ink(shown_text(memory), style)
    if memory.state != "active":
        said.stylize(GONE)
    if memory.subject and not shown_text(memory).casefold().startswith(memory.subject.casefold()):
        said = Text.assemble(ink(f"{memory.subject}: ", META), said)
    remarks = [*memory_marks(paper, memory, fates), *(ink(text, META) for text in more)]
    if remarks:
        return Group(said, join_with_dots(remarks))
    return said


def memory_marks(paper: Paper, memory: "Memory", fates: Mapping[str, "Fate"] | None = None) -> list[Text]:
    """The words for all that is not normal about a memory; most have none. `fates` says what a new chat gets,
    and is left out where today does not matter."""
    found: list[Text] = []
    if memory.source == "extracted" and memory.effective_score is not None:
        if memory.quoted:
            how, style = "said", META
        else:
            how, style = "found", PENCIL
        found.append(ink(f"{how} in a chat, score {two_digit_share(memory.effective_score)}", style))
    elif is_guess(memory):
        found.append(ink("inferred", PENCIL))
    if memory.source == "imported":
        found.append(ink("imported", META))
    if memory.state == "archived":
        found.append(ink(f"archived: {REASONS.get(memory.archived_reason or '', memory.archived_reason)}", META))
    if memory.state == "trash":
        found.append(ink("in the trash", META))
    if not memory.current:
        found.append(ink(_not_now(paper, memory), AMBER))
    elif memory.valid_until is not None:
        found.append(ink(f"true until {paper.edge(memory.valid_until)}", META))
    if fates is not None and memory.stale and memory.state == "active":
        found.append(ink(f"not used for {(paper.now - memory.last_referenced_at).days} days", AMBER))
    if memory.scope:
        found.append(ink(f"only for {memory.scope}", META))
    fate = (fates or {}).get(memory.id)
    if fate is not None and fate.place != "in_block":
        found.append(
            ink(f"{'recall only' if fate.place == 'recall_only' else 'not in the block'}: {fate.reason}", META)
        )
    return found


def _not_now(paper: Paper, memory: "Memory") -> str:
    if memory.valid_from > paper.now:
        return f"not true yet: from {paper.edge(memory.valid_from)} on"
    if memory.valid_until is None:
        return "not true now"
    return f"not true any more: until {paper.edge(memory.valid_until)}"


def _is_an_agents(memory: "Memory") -> bool:
    """Whether an agent chose the words, and the person has not confirmed them."""
    return is_an_agents(memory.source, memory.written_by, memory.last_confirmed_at)


def _sum(kept: Sequence["Memory"], shown: int | None) -> str:
    """31 memories: 25 you said (6 of them found in chats), 4 by agents, 2 inferred. 14 go into every new chat."""
    found = sum(memory.source == "extracted" for memory in kept)
    inferred = sum(is_guess(memory) and memory.source != "extracted" for memory in kept)
    imported = sum(memory.source == "imported" and memory.confidence == "asserted" for memory in kept)
    agents = sum(map(_is_an_agents, kept))
    said = len(kept) - inferred - imported - agents
    if found:
        from_chats = f"you said ({found:,} of them found in chats)"
    else:
        from_chats = "you said"
    kinds = ((said, from_chats), (agents, "by agents"), (inferred, "inferred"), (imported, "imported"))
    parts = ", ".join(f"{number:,} {words}" for number, words in kinds if number)
    total = f"{pluralise(len(kept), 'memory', 'memories')}: {parts}."
    if shown is None:
        return total
    if len(kept) == 1:
        return f"{total} It goes into every new chat." if shown else f"{total} It goes into no new chat."
    if shown == len(kept):
        whole = "All"
    else:
        whole = f"{shown:,}"
    return f"{total} {whole} of them go into every new chat."


def hits(paper: Paper, found: Sequence["Hit"]) -> None:
    if not found:
        paper.put("Nothing in the book answers that. Try other words, or see everything: ", paper.hint("list"))
        return
    table = columns("id", "memory", "category", "fit", text=1)
    for hit in found:
        reasons = [reason for reason in hit.reasons if reason != "not true now"]
        row: list[RenderableType] = [ink(hit.id, ID), entry(paper, hit, None, *reasons)]
        table.add_row(*row, ink(hit.category, META), ink(two_digit_share(hit.relevance), META))
    paper.sheet(table)


def past_sheet(
    paper: Paper,
    kept: Sequence["Memory"],
    *,
    known: datetime | None,
    valid: datetime | None,
    begins: datetime | None = None,
) -> None:
    """The book as it was known at one instant, about another; `begins` is when its first entry was written, if it was
    after that."""
    if known is None:
        told = "now"
    else:
        told = f"on {paper.clock(known)}"
    if valid is None:
        true = "now"
    else:
        true = f"on {paper.clock(valid)}"
    paper.put(ink(f"What the book knew {told} about what was true {true}:", META))
    if kept:
        memories_table(paper, kept)
    else:
        paper.put("Nothing.")
    if begins is not None:
        hint = paper.hint("as-of", "--valid", (valid or begins).date())
        paper.put(f"The book begins on {paper.day(begins)}. What it says today of that day: ", hint)


# One memory


def memory_sheet(paper: Paper, memory: "MemoryDetail", others: Mapping[str, str]) -> None:
    """Everything about one memory; `others` is what the memories it is linked to say."""
    tags = [tag for tag in (memory.category, memory.subject, memory.scope and f"only for {memory.scope}") if tag]
    paper.put(ink(memory.id, ID), "  ", join_with_dots([*tags, f"version {memory.version}"]))
    if memory.state == "active":
        style = HEAD
    else:
        style = GONE
    paper.put(ink(shown_text(memory), style))
    if remarks := memory_marks(paper, memory, {}):
        paper.put(join_with_dots(remarks))
    paper.gap()
    facts = grid(text=1)
    for name, words in _facts(paper, memory):
        facts.add_row(ink(name, META), ink(words))
    paper.sheet(facts, indent=2)
    if memory.links:
        paper.gap()
        paper.put("Links")
        table = grid(text=3, count=4)
        for link in memory.links:
            out = link.from_id == memory.id
            if out:
                other = link.to_id
            else:
                other = link.from_id
            if out:
                way = link.relation
            else:
                way = f"{link.relation} (from there)"
            table.add_row(ink(link.id, META), ink(way), ink(other, ID), ink(others.get(other)))
        paper.sheet(table, indent=2)
    paper.gap()
    paper.put("History: ", paper.hint("history", memory.id))


def _facts(paper: Paper, memory: "MemoryDetail") -> list[tuple[str, str]]:
    began = f"since {paper.edge(memory.valid_from)}"
    if memory.valid_until is not None:
        began = f"from {paper.edge(memory.valid_from)} until {paper.edge(memory.valid_until)}"
    used = f"in {pluralise(memory.reference_count, 'chat')}, last {paper.age(memory.last_referenced_at)}"
    chat = memory.thread_id and f"{memory.thread_id}{', turns ' if memory.turn_ids else ''}{', '.join(memory.turn_ids)}"
    rows: list[tuple[str, Any]] = [
        ("summary", memory.summary),
        ("detail", memory.body),
        ("tags", ", ".join(memory.tags)),
        ("metadata", ", ".join(f"{key}={value}" for key, value in memory.metadata.items())),
        ("source", SOURCES.get(memory.source, memory.source)),
        ("confidence", memory.confidence),
        ("true", began),
        ("recorded", paper.clock(memory.recorded_at)),
        ("confirmed", memory.last_confirmed_at and paper.clock(memory.last_confirmed_at)),
        ("used", used if memory.reference_count else "in no chat yet"),
        ("importance", f"{memory.importance:g}" if memory.importance != 0.5 else None),
        ("chat", chat),
        ("from" if memory.source == "imported" else "made by", memory.made_by),
    ]
    return [(name, words) for name, words in rows if words]


# The ledger

ACTIONS = {
    "remember": "saved",
    "update": "changed",
    "end": "ended",
    "forget": "archived",
    "delete": "to the trash",
    "restore": "restored",
    "confirm": "confirmed",
    "promote": "promoted",
    "demote": "demoted",
    "link": "linked",
    "unlink": "unlinked",
    "configure": "set",
    "set": "set",
    "purge": "deleted for good",
    "mend": "mended: rows were set aside",
}
ACTORS = {"person": "you", "agent": "agent", "extractor": "extractor", "job": "job"}


def ledger(paper: Paper, entries: Sequence["Entry"], *, narrowed: bool, limit: int) -> None:
    if not entries:
        if narrowed:
            paper.put("No entry fits.")
        else:
            paper.put("The ledger is empty: nothing has been written yet.")
        return
    table = grid(text=1)
    table.columns[0].justify = "right"
    for line in entries:
        who = [ACTORS.get(line.actor, line.actor), line.door]
        if line.thread_id:
            who.append(f"chat {line.thread_id}")
        head = Text.assemble(ink(paper.clock(line.at), META), "  ", join_with_dots(who), "  ", _entry_text(line))
        table.add_row(ink(str(line.event), HEAD), Group(head, *_wording(line)))
    paper.sheet(table)
    if len(entries) == limit and entries[-1].event > 1:
        paper.gap()
        paper.put("Earlier: ", paper.hint("ledger", "--before", entries[-1].event), _same_filters(narrowed))


def _entry_text(line: "Entry") -> Text:
    if line.action == "undo":
        did = f"undid {line.undoes}:"
    else:
        did = ACTIONS.get(line.action, line.action)
    if line.action == "mend":
        return Text(f"{did} ({(line.after or {}).get('rows')})")
    if line.memory_id is None:
        told = (f"{name} {value or 'not set'}" for name, value in (line.after or {}).items())
        return Text.assemble(f"{did} ", ink(", ".join(told)))
    if line.link_id is None:
        return Text.assemble(f"{did} ", ink(line.memory_id, ID))
    relation = (line.after or line.before or {}).get("relation", "")
    ends = (ink(line.memory_id, ID), f" {relation} ", ink(line.other_id, ID))
    return Text.assemble(f"{did} ", *ends, ink(f" (link {line.link_id})", META))


def _wording(line: "Entry") -> list[RenderableType]:
    """What a memory says after an entry; where the entry changed it, the old words and the new."""
    if line.link_id is not None or line.memory_id is None:
        return []
    before, after = (line.before or {}).get("content"), (line.after or {}).get("content")
    if before and after and before != after:
        change = grid(text=1)
        change.padding = (0, 1, 0, 0)
        change.add_row("−", ink(before, GONE))
        change.add_row("+", ink(after))
        return [change]
    return [ink(after or before or "its text is gone", META)]
