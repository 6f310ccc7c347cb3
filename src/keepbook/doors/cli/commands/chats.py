"""Commands around chats: threads, notes, proposals, recall-chats, timeline.

A chat is opened with `keepbook chat` or recorded by an agent from outside; here its person looks after it.
"""

from typing import Annotated

import typer

from keepbook.doors.cli.commands.reindex import asking
from keepbook.doors.cli.sheets import chats as sheets
from keepbook.doors.cli.sheets import memory as memory_sheets
from keepbook.doors.cli.terminal.command import CHATS, Invocation, command, group
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import Invalid

STATES = ("active", "idle", "archived")
MOST_CHATS = 1_000_000
DECISIONS = ("waiting", "accepted", "declined", "expired")

ThreadArgument = Annotated[
    str, typer.Argument(metavar="CHAT", help="Its id, as `threads list` shows it.", show_default=False)
]
NoteArgument = Annotated[
    str, typer.Argument(metavar="NOTE", help="Its id, as `notes list` shows it.", show_default=False)
]
ProposalArgument = Annotated[
    str, typer.Argument(metavar="PROPOSAL", help="Its id, as `proposals list` shows it.", show_default=False)
]
ChoiceArgument = Annotated[
    str,
    typer.Argument(metavar="CHOICE", help="One of its answers, as `proposals list` shows them.", show_default=False),
]
WordsArgument = Annotated[str, typer.Argument(metavar="WORDS", help="What was said.", show_default=False)]
NoteTextArgument = Annotated[
    str, typer.Argument(metavar="TEXT", help="The note; - reads it from stdin.", show_default=False)
]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]


def register(app: typer.Typer) -> None:
    threads = group(app, "threads", panel=CHATS, words="Look after your chats.")
    command(threads, "list", listing)
    command(threads, "show", show)
    command(threads, "search", search)
    command(threads, "rename", rename, writes=True)
    command(threads, "archive", archive, writes=True)
    command(threads, "close", close, writes=True)
    command(threads, "delete", delete, writes=True)
    command(threads, "restore", restore, writes=True)
    command(threads, "out-of-view", out_of_view, writes=True)
    command(app, "recall-chats", recall_chats, panel=CHATS)
    command(app, "timeline", timeline, panel=CHATS)
    notes = group(app, "notes", panel=CHATS, words="Keep a journal: replies you bookmarked, and what you write.")
    command(notes, "list", list_notes)
    command(notes, "show", show_note)
    command(notes, "write", write_note, writes=True)
    command(notes, "bookmark", bookmark, writes=True)
    command(notes, "edit", edit_note, writes=True)
    command(notes, "delete", delete_note, writes=True)
    proposals = group(app, "proposals", panel=CHATS, words="Decide on what waits for your word.")
    command(proposals, "list", list_proposals)
    command(proposals, "accept", accept, writes=True)
    command(proposals, "decline", decline, writes=True)
    command(proposals, "answer", answer, writes=True)
    command(proposals, "reopen", reopen, writes=True)


# Threads


def listing(
    call: Invocation,
    state: Annotated[str | None, typer.Option("--state", help="Only active, idle or archived ones.")] = None,
    trash: Annotated[bool, typer.Option("--trash", help="What lies in the trash instead.")] = False,
    limit: LimitOption = 100,
) -> None:
    """List the chats, the last touched first."""
    if state is not None and state not in STATES:
        raise Invalid(f"state is one of {', '.join(STATES)}, not {state!r}", field="state")
    found = call.book.threads.list(state=state, trash=trash, limit=limit)
    call.answer(found, sheets.threads_sheet, narrowed=state is not None, trash=trash)


def show(call: Invocation, thread: ThreadArgument) -> None:
    """Show a chat: what was said in it, and what was learned from it."""
    chat = call.book.threads.get(thread)
    learned = [call.book.get(id) for id in call.book.threads.learned(chat.id)]
    if call.as_json:
        # The book is open by now, and with it this.
        from keepbook.book.ground.to_json import to_json

        learned_ids = [memory.id for memory in learned]
        call.json({**to_json(chat.thread), "messages": to_json(chat.messages()), "learned": learned_ids})
        return
    sheets.thread_sheet(call.paper, chat.thread, chat.messages(), learned)


def search(call: Invocation, query: WordsArgument, limit: LimitOption = 20) -> None:
    """Find the turns that say these words, in all chats."""
    call.answer(call.book.threads.search(query, limit), sheets.snippets)


def rename(
    call: Invocation,
    thread: ThreadArgument,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Its name from now on.", show_default=False)],
) -> None:
    """Give a chat a name; yours is never replaced by another."""
    call.answer(call.book.threads.rename(thread, title), sheets.thread_changed_sheet, "renamed")


def archive(call: Invocation, thread: ThreadArgument) -> None:
    """Put a closed chat aside; a new message brings it back."""
    call.answer(call.book.threads.archive(thread), sheets.thread_changed_sheet, "archived")


def close(
    call: Invocation,
    thread: Annotated[
        str | None, typer.Argument(metavar="CHAT", help="Its id, as `threads list` shows it.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every open chat, the oldest first.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Read by the notebook: free, on this machine.")] = False,
) -> None:
    """Close a chat now, or all of them: read what is new in it for memories."""
    if (thread is None) == (not every):
        raise Invalid("name one chat, or close every open one with --all", field="thread")
    if thread is None:
        _close_all(call, offline)
        return
    with show_progress("Reading the chat for memories"):
        closed = call.book.close_thread(thread, offline=offline)
    call.answer(closed, sheets.closing_sheet, whole=True)
    if closed.status == "failed":
        raise typer.Exit(1)


def _close_all(call: Invocation, offline: bool) -> None:
    """Every open chat in the order they were spoken, so that what was said later wins."""
    book = call.book
    with show_progress("Reading chats for memories") as told:
        waiting = sorted(book.threads.list(state="active", limit=MOST_CHATS), key=lambda one: one.touched_at)
        closed = []
        for number, one in enumerate(waiting, 1):
            closed.append(book.close_thread(one.id, offline=offline))
            told.say(f"{number:,} of {len(waiting):,}")
    call.answer(closed, sheets.all_closed)
    if any(one.status == "failed" for one in closed):
        raise typer.Exit(1)


def delete(
    call: Invocation,
    thread: ThreadArgument,
    memories: Annotated[
        bool, typer.Option("--memories", help="Also put what was learned from it in the trash.")
    ] = False,
    forever: Annotated[bool, typer.Option("--forever", help="Gone at once; nothing brings it back.")] = False,
) -> None:
    """Put a chat into the trash, from where it can come back for 30 days."""
    book = call.book
    learned = [id for id in book.threads.learned(thread) if book.get(id).state != "trash"]
    left = book.threads.delete(thread, memories=memories, forever=forever)
    answer = {"id": thread, "forever": left is None, "learned": learned, "memories_deleted": memories}
    call.answer(answer, sheets.thread_deleted_sheet)


def restore(call: Invocation, thread: ThreadArgument) -> None:
    """Bring a chat back from the trash."""
    call.answer(call.book.threads.restore(thread), sheets.thread_changed_sheet, "restored")


def out_of_view(
    call: Invocation,
    thread: ThreadArgument,
    turns: Annotated[
        list[int] | None, typer.Argument(metavar="TURN", help="Their numbers; without any, all.", show_default=False)
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="Let the model see them again.")] = False,
) -> None:
    """Leave turns that others recorded out of what a model is sent; they stay readable."""
    chat = call.book.threads.get(thread)
    if back:
        changed = chat.bring_into_view(turns)
    else:
        changed = chat.take_out_of_view(turns)
    call.answer(changed, sheets.view_changed_sheet)


def recall_chats(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="Words or a question.", show_default=False)],
    limit: LimitOption = 10,
    since: Annotated[str | None, typer.Option("--since", metavar="DAY", help="Only what was said since.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Only what was said before.")] = None,
    by_time: Annotated[bool, typer.Option("--by-time", help="The oldest first.")] = False,
    spread: Annotated[bool, typer.Option("--spread", help="Something of every chat that answers.")] = False,
    around: Annotated[int, typer.Option("--around", min=0, help="So many turns beside each.")] = 0,
) -> None:
    """Find the passages of earlier chats that answer a question, best first."""
    order = None
    if by_time:
        order = "time"
    with asking(call):
        found = call.book.recall_chats(
            query, limit, since=since, until=until, order=order, spread=spread, around=around
        )
        call.answer(found, sheets.turns)


def timeline(
    call: Invocation,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The matter in a few words.", show_default=False)],
    since: Annotated[str | None, typer.Option("--since", metavar="DAY", help="Only what was said since.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Only what was said before.")] = None,
) -> None:
    """Show what happened on a topic, a dated line for each event."""
    with asking(call):
        call.answer(call.book.timeline(topic, since=since, until=until), sheets.timeline)


# Notes


def list_notes(
    call: Invocation,
    words: Annotated[str | None, typer.Option("--search", help="Only those that say this.")] = None,
) -> None:
    """List the notes, the newest first."""
    call.answer(call.book.notes.list(words), sheets.journal, narrowed=words is not None)


def show_note(call: Invocation, note: NoteArgument) -> None:
    """Show a note in full."""
    call.answer(call.book.notes.get(note), sheets.note)


def write_note(call: Invocation, text: NoteTextArgument) -> None:
    """Write a note of your own."""
    call.answer(call.book.notes.write(call.text(text, "text")), sheets.note_done_sheet, "Noted")


def bookmark(
    call: Invocation,
    thread: ThreadArgument,
    turn: Annotated[
        int, typer.Argument(metavar="TURN", help="Its number, as `threads show` has it.", show_default=False)
    ],
) -> None:
    """Keep what was said at a turn of a chat."""
    call.answer(call.book.notes.bookmark(thread, turn), sheets.note_done_sheet, "Bookmarked")


def edit_note(call: Invocation, note: NoteArgument, text: NoteTextArgument) -> None:
    """Write a note anew."""
    call.answer(call.book.notes.edit(note, call.text(text, "text")), sheets.note_done_sheet, "Changed")


def delete_note(call: Invocation, note: NoteArgument) -> None:
    """Delete a note, for good."""
    call.answer(call.book.notes.delete(note), sheets.note_done_sheet, "Deleted for good")


# Proposals


def list_proposals(
    call: Invocation,
    status: Annotated[
        str, typer.Option("--status", help="waiting (the default), accepted, declined or expired.")
    ] = "waiting",
) -> None:
    """List what waits for your word, oldest first."""
    if status not in DECISIONS:
        raise Invalid(f"status is one of {', '.join(DECISIONS)}, not {status!r}", field="status")
    call.answer(call.book.proposals.list(status), sheets.review, status=status)


def accept(
    call: Invocation,
    proposal: ProposalArgument,
    both: Annotated[bool, typer.Option("--both", help="Keep a change beside the line that it would change.")] = False,
) -> None:
    """Say yes: from here on it is your own word."""
    op = call.book.proposals.get(proposal).op
    if op == "add" or (both and op == "update"):
        word = "remember"
    else:
        word = op
    call.answer(call.book.proposals.accept(proposal, both), memory_sheets.write_sheet, word)


def decline(call: Invocation, proposal: ProposalArgument) -> None:
    """Say no: nothing is kept, and it is not proposed again."""
    call.answer(call.book.proposals.decline(proposal), sheets.proposal_declined_sheet)


def answer(call: Invocation, proposal: ProposalArgument, choice: ChoiceArgument) -> None:
    """Answer a question with one of its choices."""
    answered = call.book.proposals.answer(proposal, choice)
    call.answer(answered, sheets.proposal_answered_sheet)


def reopen(call: Invocation, proposal: ProposalArgument) -> None:
    """Take back a no: it waits for your word again."""
    call.answer(call.book.proposals.reopen(proposal), sheets.proposal_reopened_sheet)
