"""The sheets around chats: lists of them, one chat, how a closing went, notes, what waits for the person's word."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from keepbook.book.chats.closing_result import closing_in_words
from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.text.quotation import shown_text
from keepbook.doors.cli.sheets.memory import ACTIONS, entry
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
from keepbook.patterns import regex

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult, SkippedCandidate
    from keepbook.book.chats.notes import Note
    from keepbook.book.chats.pencil import Pencil
    from keepbook.book.chats.threads import Message, Thread
    from keepbook.book.memory.memories import Memory, Written
    from keepbook.book.memory.proposals import Proposal
    from keepbook.book.recall.chats import Snippet
    from keepbook.book.recall.turns.hits import ChatHit
    from keepbook.book.recall.turns.topic_events import TimelineLine
    from keepbook.models.notebook.open_questions import OpenQuestion

UNTITLED = "untitled"
NEW = "underline"
_FIRST_LINE = 120
_MARKED = regex(r"⟦([^⟦⟧]*)⟧")


# Chats


def threads_sheet(paper: Paper, found: Sequence["Thread"], *, narrowed: bool, trash: bool) -> None:
    if not found:
        if trash:
            paper.put("No chat is in the trash.")
        else:
            if narrowed:
                begin = "No chat fits. All there are: "
            else:
                begin = "There is no chat yet. Begin one: "
            paper.put(begin, paper.hint("threads list" if narrowed else "chat"))
        return
    table = columns("id", "chat", "turns", "state", "age", text=1)
    for thread in found:
        row: list[RenderableType] = [ink(thread.id, ID), _thread_title(thread), ink(f"{thread.turns:,}", META)]
        table.add_row(*row, ink(thread.state, META), ink(paper.age(thread.touched_at), META))
    paper.sheet(table)


def _thread_title(thread: "Thread") -> RenderableType:
    title = ink(thread.title or thread.session or UNTITLED, "" if thread.title else META)
    remarks = _remarks(thread)
    if remarks:
        return Group(title, join_with_dots(remarks))
    return title


def _remarks(thread: "Thread") -> list[Text]:
    """What is not the normal case."""
    if thread.incognito:
        found = [ink("incognito", META)]
    else:
        found = []
    if thread.session and thread.title:
        found.append(ink(f"session {thread.session}", META))
    if thread.agent:
        found.append(ink(f"with {thread.agent}", META))
    if thread.failure:
        if thread.parked:
            parked = "parked"
        else:
            parked = "not read for memories yet"
        found.append(ink(f"{parked}: {thread.failure}", AMBER))
    return found


def thread_sheet(paper: Paper, thread: "Thread", said: Sequence["Message"], learned: Sequence["Memory"]) -> None:
    """One chat; hidden context is not what anybody said."""
    paper.put(ink(thread.id, ID), "  ", ink(thread.title or UNTITLED, HEAD))
    if thread.deleted_at:
        state = "in the trash"
    else:
        state = thread.state
    paper.put(join_with_dots([state, thread.preset, f"began {paper.clock(thread.created_at)}", *_remarks(thread)]))
    paper.gap()
    table = grid(text=2, count=3)
    for message in said:
        who = message.speaker or ("you" if message.role == "user" else message.role)
        table.add_row(ink(str(message.turn), META), ink(who, META), ink(message.text))
    paper.sheet(table)
    if learned:
        paper.gap()
        paper.put("Learned from it")
        table = grid(text=1)
        for memory in learned:
            table.add_row(ink(memory.id, ID), entry(paper, memory))
        paper.sheet(table, indent=2)
    paper.gap()
    if thread.deleted_at:
        paper.put("Bring it back: ", paper.hint("threads restore", thread.id))
    else:
        paper.put("Go on: ", paper.hint("chat", "--thread", thread.id))


def thread_changed_sheet(paper: Paper, thread: "Thread", what: str) -> None:
    paper.put(f"The chat is {what}: ", ink(thread.id, ID), " ", ink(thread.title or UNTITLED))


def view_changed_sheet(paper: Paper, thread: "Thread") -> None:
    turns = ", ".join(map(str, thread.out_of_view)) or "none"
    paper.put("Turns that the model is not sent in ", ink(thread.id, ID), f": {turns}.")


def thread_deleted_sheet(paper: Paper, answer: Mapping[str, Any]) -> None:
    id, memories = answer["id"], pluralise(len(answer["learned"]), "memory", "memories")
    if answer["forever"]:
        paper.put("Deleted for good: ", ink(id, ID), ". Backups made earlier still hold it.")
    else:
        paper.put(
            ink(id, ID), f" is in the trash for {TRASH_DAYS} days. Bring it back: ", paper.hint("threads restore", id)
        )
    if answer["learned"] and answer["memories_deleted"]:
        paper.put(f"With it {memories} learned from it. See: ", paper.hint("list", "--state trash"))
    elif answer["learned"]:
        more = "" if answer["forever"] else " To delete them too: "
        hint = "" if answer["forever"] else paper.hint("threads delete", id, "--memories")
        paper.put(f"{memories} learned from it stay.", more, hint)


# Finding


def snippets(paper: Paper, found: Sequence["Snippet"]) -> None:
    if not found:
        _nothing_said(paper)
        return
    table = columns("chat", "turn", "said", "age", text=2)
    for snippet in found:
        said = Group(highlight_match(paper, snippet.text), _place_in_words(snippet.title, snippet.role))
        row: list[RenderableType] = [ink(snippet.thread_id, ID), ink(str(snippet.turn), META), said]
        table.add_row(*row, ink(paper.age(snippet.at), META))
    paper.sheet(table)


def highlight_match(paper: Paper, text: str) -> Text:
    """The words that matched stand out; into a pipe they keep their brackets."""
    if not paper.console.is_terminal:
        return ink(text)
    shown = Text()
    for number, piece in enumerate(_MARKED.split(text)):
        shown.append_text(ink(piece, f"{HEAD} {NEW}" if number % 2 else ""))
    return shown


def turns(paper: Paper, found: Sequence["ChatHit"]) -> None:
    if not found:
        _nothing_said(paper)
        return
    table = columns("chat", "turn", "said", "age", "fit", text=2)
    for hit in found:
        beside = [ink(f"{one.speaker or one.role}: {one.text}", META) for one in hit.around]
        said = Group(ink(hit.text), *beside, _place_in_words(hit.title, hit.speaker or hit.role, *hit.reasons))
        row: list[RenderableType] = [ink(hit.thread_id, ID), ink(str(hit.turn), META), said]
        table.add_row(*row, ink(paper.age(hit.at), META), ink(two_digit_share(hit.relevance), META))
    paper.sheet(table)


def timeline(paper: Paper, lines: Sequence["TimelineLine"]) -> None:
    if not lines:
        _nothing_said(paper)
        return
    table = columns("day", "what", "where", text=1)
    for line in lines:
        where = line.memory_id or f"{line.thread_id} {line.turn}"
        table.add_row(ink(line.day.isoformat(), META), ink(line.text), ink(where, ID))
    paper.sheet(table)


def _place_in_words(title: str | None, who: str, *more: str) -> Text:
    return join_with_dots(["you" if who == "user" else who, title or UNTITLED, *more])


def _nothing_said(paper: Paper) -> None:
    paper.put("No chat says that. Try other words, or see all chats: ", paper.hint("threads list"))


# Closing


def all_closed(paper: Paper, answers: "Sequence[ClosingResult]") -> None:
    """What closing many chats came to."""
    if not answers:
        paper.put("No chat is open.")
        return
    failed = [one for one in answers if one.status == "failed"]
    kept, waits = (sum(len(getattr(one, name)) for one in answers) for name in ("written", "proposed"))
    paper.put(f"Closed {pluralise(len(answers) - len(failed), 'chat')}: {kept:,} kept, {waits:,} proposed.")
    if waits:
        paper.put("Look through them: ", paper.hint("proposals list"))
    for one in failed:
        paper.put(ink(f"{one.thread_id}: {as_sentence(one.notice or 'It failed')}", AMBER))


def closing_sheet(paper: Paper, answer: "ClosingResult", *, whole: bool = False) -> None:
    """What was learned, in one line; `whole` adds why the rest was not."""
    if answer.status not in ("closed", "open"):
        words = {
            "busy": "Somebody else is reading this chat for memories at this moment.",
            "nothing": "The chat is closed already: nothing new was said in it.",
        }
        paper.put(ink(words.get(answer.status) or as_sentence(answer.notice or "It failed"), AMBER))
        return
    if answer.made_by is not None:
        paper.put(closing_counts(answer))
    if answer.written:
        learned = join_with_dots([ink(_learned_line(one), HEAD) for one in answer.written])
        undo = Text(", ").join([paper.hint("undo", one["event"]) for one in answer.written])
        paper.put("Learned from this chat: ", learned, ink(". Undo: ", META), undo)
    elif answer.made_by is None:
        paper.put("Closed. Nothing in it was to be read for memories.")
    elif not answer.proposed:
        paper.put("Closed. Nothing new to remember.")
    if answer.proposed:
        waits = "thing waits" if len(answer.proposed) == 1 else "things wait"
        paper.put(f"{len(answer.proposed):,} {waits} for your word: ", paper.hint("proposals list"))
    if answer.notice:
        paper.put(ink(as_sentence(answer.notice), META))
    if answer.status == "open":
        paper.put(ink("More was said meanwhile, so the chat stays open.", META))
    if whole and answer.skipped:
        skipped_sheet(paper, answer.skipped)


def closing_counts(answer: "ClosingResult") -> str:
    """ "3 kept · 1 proposed · 1 left out" """
    return closing_in_words(len(answer.written), len(answer.proposed), len(answer.skipped)) or "Nothing new was kept."


def _learned_line(one: Mapping[str, Any]) -> str:
    if one["op"] == "forget":
        return f"forgot: {one['content']}"
    return str(one["content"])


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


def skipped_sheet(paper: Paper, found: Sequence["SkippedCandidate"]) -> None:
    """Candidates that were not kept, and why."""
    paper.gap()
    paper.put(ink("Skipped", HEAD))
    table = grid(text=1)
    for one in found:
        table.add_row(ink(one.op, META), Group(ink(one.content, PENCIL), ink(one.reason, META)))
    paper.sheet(table, indent=2)


# What a reply wrote


def slip_sheet(paper: Paper, events: Sequence[Mapping[str, Any]]) -> None:
    """The quiet line under a reply that wrote: what changed, and the way back."""
    saved = any(event["op"] in ("remember", "update") for event in events)
    paper.put(ink(f"Memory {'saved' if saved else 'changed'} · {pluralise(len(events), 'change')}", META))
    table = grid(text=1)
    for event in events:
        table.add_row(ink(ACTIONS.get(event["op"], event["op"]), META), Group(*_wording(event)))
    paper.sheet(table, indent=2)
    undo = Text(", ").join([paper.hint("undo", event["event"]) for event in events])
    paper.put(ink("  From your next chat on. Undo: ", META), undo)


def _wording(event: Mapping[str, Any]) -> list[RenderableType]:
    before, after = event["before"] or {}, event["after"] or {}
    if relation := after.get("relation") or before.get("relation"):
        ends = after or before
        return [Text.assemble(ink(ends.get("from_id"), ID), f" {relation} ", ink(ends.get("to_id"), ID))]
    old, new = before.get("content"), after.get("shown") or after.get("content")
    if old and new and old != after.get("content"):
        return [Text.assemble("− ", ink(old, GONE)), Text.assemble("+ ", ink(new, NEW))]
    gone = event["op"] in ("forget", "delete")
    if gone:
        style = GONE
    elif event["op"] == "remember":
        style = NEW
    else:
        style = ""
    return [ink(new or old, style)]


# Pencil


def in_pencil(paper: Paper, lines: Sequence["Pencil"]) -> None:
    """The quiet line under a turn: what closing would keep of it."""
    for one in lines:
        paper.put(ink("  Noted: ", META), ink(one.content, PENCIL))
    paper.put(ink("  ", META), paper.hint("pencil"), ink(" lists it, to keep now or leave out.", META))


def pencil_sheet(paper: Paper, lines: "Sequence[Pencil | OpenQuestion]") -> None:
    """What a chat asks, what it offers, and what closing would keep or propose of it."""
    if not lines:
        paper.put(ink("Nothing waits here: closing this chat would keep nothing more.", META))
        return
    table = grid(text=1)
    for number, one in enumerate(lines, 1):
        table.add_row(ink(str(number), ID), Group(*_waiting_line(one)))
    paper.sheet(table)
    paper.put(paper.hint("keep", 1), ink(" keeps it now, ", META), paper.hint("no", 1), ink(" leaves it out.", META))


def _waiting_line(one: "Pencil | OpenQuestion") -> list[Text]:
    # Loaded with the chat by now; --help must not load it.
    from keepbook.models.notebook.open_questions import OpenQuestion

    if isinstance(one, OpenQuestion):
        return [ink(one.text, PENCIL), ink(" · ".join(each.label for each in one.choices), META)]
    if one.target:
        says = "changes what stands in the book"
    elif one.proposal:
        says = "waits for your yes"
    else:
        says = "" if one.sure else "would be proposed"
    return [ink(one.content, PENCIL), *([ink(says, META)] if says else [])]


def questions_sheet(paper: Paper, questions: "Sequence[OpenQuestion]", *, in_reply: bool) -> None:
    """The questions of a turn: of one its answers are numbered, of several the questions are."""
    if len(questions) == 1:
        if not in_reply:
            paper.put(ink(f"  {questions[0].text}"))
        answers = [f"{number} {one.label}" for number, one in enumerate(questions[0].choices, 1)]
        paper.put(ink("  ", META), join_with_dots(answers))
        return
    for number, one in enumerate(questions, 1):
        paper.put(ink(f"  {number} ", ID), ink(one.text))
        if one.question != "keep":
            for each in one.choices:
                paper.put("      ", paper.hint("proposals answer", one.id, each.choice), ink(f"  {each.label}", META))
    paper.put(ink("  ", META), paper.hint("keep", 1), ink(" keeps the first, ", META), paper.hint("no", 1),
              ink(" leaves it as it is.", META))  # fmt: skip


def pencil_declined_sheet(paper: Paper, one: "Pencil") -> None:
    paper.put(ink("Left out: ", META), ink(one.content, GONE))


# Notes


def journal(paper: Paper, found: Sequence["Note"], *, narrowed: bool) -> None:
    if not found:
        paper.put("No note says that. All there are: " if narrowed else "There is no note yet. Write one: ",
                  paper.hint("notes list" if narrowed else 'notes write "…"'))  # fmt: skip
        return
    table = columns("id", "note", "age", text=1)
    for each in found:
        first, _, rest = each.text.partition("\n")
        short = f"{first[:_FIRST_LINE]}{' …' if rest or len(first) > _FIRST_LINE else ''}"
        table.add_row(ink(each.id, ID), ink(short), ink(paper.age(each.created_at), META))
    paper.sheet(table)


def note(paper: Paper, one: "Note") -> None:
    origin = [f"chat {one.thread_id}, turn {one.turn}"] if one.turn is not None else []
    edited = [f"edited {paper.clock(one.updated_at)}"] if one.updated_at != one.created_at else []
    paper.put(ink(one.id, ID), "  ", join_with_dots([paper.clock(one.created_at), *edited, *origin]))
    paper.put(ink(one.text))


def note_done_sheet(paper: Paper, one: "Note", done: str) -> None:
    paper.put(f"{done}: note ", ink(one.id, ID), ".")


# Proposals


def review(paper: Paper, found: Sequence["Proposal"], *, status: str) -> None:
    if not found:
        paper.put("Nothing waits for your word." if status == "waiting" else f"Nothing was {status}.")
        return
    table = columns("id", "proposal", "category", "age", text=1)
    for one in found:
        said = ink(shown_text(one), PENCIL)
        row: list[RenderableType] = [ink(one.id, ID), Group(said, join_with_dots(_about(one)), *_answers(one))]
        table.add_row(*row, ink(one.category, META), ink(paper.age(one.created_at), META))
    paper.sheet(table)
    if status == "waiting":
        paper.gap()
        first = found[0].id
        paper.put("Yes: ", paper.hint("proposals accept", first), "   No: ", paper.hint("proposals decline", first))
        asked = next((one for one in found if one.choices), None)
        if asked is not None:
            paper.put("One of its answers: ", paper.hint("proposals answer", asked.id, asked.choices[0].choice))


def _answers(one: "Proposal") -> list[Text]:
    """What can be answered to a question, each with its words."""
    return [ink(f"{choice.choice}: {choice.label}", META) for choice in one.choices]


def _about(one: "Proposal") -> list[Text]:
    line = one.memory_id or "a line"
    verbs = {"update": "changes", "end": "ends", "forget": "forgets", "confirm": "confirms"}
    does = f"{verbs[one.op]} {line}" if one.op in verbs else "new"
    if one.reason:
        reason = [ink(one.reason, AMBER if one.nature == "conflict" else META)]
    else:
        reason = []
    chat = [ink(f"chat {one.thread_id}", META)] if one.thread_id else []
    return [ink(does, META), *reason, *chat]


def proposal_declined_sheet(paper: Paper, one: "Proposal") -> None:
    paper.put("Declined: ", ink(shown_text(one)), ". Nothing was kept, and it is not proposed again.")
    paper.put("Take it back: ", paper.hint("proposals reopen", one.id))


def proposal_answered_sheet(paper: Paper, answer: "Written | Proposal") -> None:
    event = getattr(answer, "event", None)
    if event is None:
        paper.put("Answered: ", ink(shown_text(answer)), ". Nothing was changed.")
        return
    paper.put("Answered. ", ink(answer.id, ID), " ", ink(shown_text(answer)), ". Undo: ", paper.hint("undo", event))


def proposal_reopened_sheet(paper: Paper, one: "Proposal") -> None:
    paper.put("It waits again: ", ink(shown_text(one)), ".")
