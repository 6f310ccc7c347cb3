"""Commands that write: remember, update, forget, delete, restore, confirm, promote, demote, link, unlink, undo."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keepbook.doors.cli.sheets import memory as memory_sheets
from keepbook.doors.cli.terminal.command import WRITE, Invocation, command
from keepbook.doors.cli.terminal.labels import parse_metadata, tags
from keepbook.doors.cli.terminal.paper import AMBER, ID, Paper, ink, pluralise
from keepbook.errors import Invalid, NotFound

Ref = Annotated[str, typer.Argument(metavar="MEMORY", help="Its id, or a piece of what it says.", show_default=False)]
Content = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="What to keep, in one sentence; - reads it from stdin.", show_default=False),
]
Category = Annotated[str | None, typer.Option("--category", "-c", help="Its group; the preset says which there are.")]
Subject = Annotated[str | None, typer.Option("--subject", "-s", help="The person, project or thing it is about.")]
Summary = Annotated[str | None, typer.Option("--summary", help="A shorter wording for the block.")]
Body = Annotated[
    str | None,
    typer.Option("--detail", "--body", help="Longer background, for recall only; - reads it from stdin."),
]
Confidence = Annotated[str | None, typer.Option("--confidence", help="asserted (the default) or inferred.")]
Importance = Annotated[float | None, typer.Option("--importance", help="0 to 1: what stays when the block is full.")]
Since = Annotated[str | None, typer.Option("--since", help="True from when on: 2026-03-01, 'March', 'last Friday'.")]
Until = Annotated[str | None, typer.Option("--until", help="True until when: 2026-12-31, 'Friday', 'end of March'.")]
ThreadOption = Annotated[str | None, typer.Option("--thread", help="The chat it comes from.")]
TagsOption = Annotated[
    list[str] | None,
    typer.Option("--tag", help="A word to file it under; may be repeated. In an update '' takes all away."),
]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Metadata; may be repeated. In an update '' takes all away."),
]
Turns = Annotated[list[str] | None, typer.Option("--turn", help="The turn that said it; may be repeated.")]

ExpectVersion = Annotated[
    int | None, typer.Option("--expect-version", help="Refuse if it is at another version by now.")
]


def register(app: typer.Typer) -> None:
    for name, work in (
        ("remember", remember), ("update", update), ("forget", forget), ("delete", delete), ("restore", restore),
        ("confirm", confirm), ("promote", promote), ("demote", demote), ("link", link), ("unlink", unlink),
        ("undo", undo),
    ):  # fmt: skip
        command(app, name, work, panel=WRITE, writes=True)


def remember(
    call: Invocation,
    content: Content,
    category: Category = None,
    subject: Subject = None,
    summary: Summary = None,
    detail: Body = None,
    confidence: Confidence = None,
    importance: Importance = None,
    since: Since = None,
    until: Until = None,
    scope: Annotated[str | None, typer.Option("--scope", help="Only for this agent or skill.")] = None,
    thread: ThreadOption = None,
    turn: Turns = None,
    tag: TagsOption = None,
    meta: MetadataOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Keep it though something like it is there, or you asked never to.")
    ] = False,
) -> None:
    """Keep a new thing."""
    written = call.book.remember(
        _text(call, content, detail), category=category, subject=subject, summary=summary,
        body=_detail(call, detail), confidence=confidence, importance=importance,
        valid_from=call.moment(since, "since"), valid_until=call.moment(until, "until", end=True),
        scope=scope, thread_id=thread, turn_ids=turn or (), force=force, tags=tags(tag), metadata=parse_metadata(meta),
    )  # fmt: skip
    call.answer(written, memory_sheets.write_sheet, "remember")


def update(
    call: Invocation,
    memory: Ref,
    content: Content,
    correction: Annotated[
        bool, typer.Option("--correction", help="It was wrong from the start, rather than changed now.")
    ] = False,
    category: Category = None,
    subject: Subject = None,
    summary: Summary = None,
    detail: Body = None,
    confidence: Confidence = None,
    importance: Importance = None,
    since: Since = None,
    until: Until = None,
    expect_version: ExpectVersion = None,
    thread: ThreadOption = None,
    turn: Turns = None,
    tag: TagsOption = None,
    meta: MetadataOption = None,
    force: Annotated[bool, typer.Option("--force", help="Keep it though you asked never to keep its topic.")] = False,
) -> None:
    """Say it anew: the next version of a memory. A detail, tags and metadata not given are kept, '' clears them."""
    if until:
        valid_until = call.moment(until, "until", end=True)
    else:
        valid_until = until
    written = call.book.update(
        memory, _text(call, content, detail), summary=summary, body=_detail(call, detail), category=category,
        subject=subject, confidence=confidence, importance=importance, valid_from=call.moment(since, "since"),
        valid_until=valid_until,
        correction=correction, expect_version=expect_version, thread_id=thread, turn_ids=turn or (), tags=tags(tag),
        metadata=parse_metadata(meta), force=force,
    )  # fmt: skip
    call.answer(written, memory_sheets.write_sheet, "update")


def forget(
    call: Invocation,
    memory: Ref,
    reason: Annotated[
        str, typer.Option("--reason", help="user_deleted, user_corrected or agent_forget.")
    ] = "user_deleted",
    expect_version: ExpectVersion = None,
) -> None:
    """Archive a memory: out of every chat and recall, restorable."""
    call.answer(call.book.forget(memory, reason, expect_version), memory_sheets.write_sheet, "forget")


def delete(
    call: Invocation,
    memory: Ref,
    forever: Annotated[
        bool, typer.Option("--forever", help="Gone at once, text and all; nothing brings it back. Needs the id.")
    ] = False,
) -> None:
    """Put a memory into the trash, from where it can come back for 30 days."""
    if not forever:
        written = call.book.delete(memory)
        assert written is not None
        call.answer(written, memory_sheets.write_sheet, "delete")
        return
    # By its id alone: a piece of text may fit another memory than was meant, and there is no way back.
    id = call.book.get(memory).id
    call.book.delete(id, forever=True)
    call.answer({"id": id, "forever": True}, _purge_sheet)


def restore(
    call: Invocation,
    memory: Ref,
    check: Annotated[
        bool, typer.Option("--check", help="MEMORY is a backup: open it aside and prove every owner's ledger.")
    ] = False,
    expect_version: ExpectVersion = None,
) -> None:
    """Bring a memory back from the archive or the trash; or prove a backup with --check."""
    if not check:
        call.answer(call.book.restore(memory, expect_version), memory_sheets.write_sheet, "restore")
        return
    # SQLAlchemy is slow to load, and --help does not need it.
    from keepbook.copies import prove

    proved = prove(call.admin_place, Path(memory).expanduser())
    call.answer({"ok": all(one.ok for one in proved), "file": memory, "owners": proved}, _copy_check_sheet)
    if not all(one.ok for one in proved):
        raise typer.Exit(1)


def confirm(call: Invocation, memory: Ref) -> None:
    """Say that a memory still holds; its fading starts anew."""
    call.answer(call.book.confirm(memory), memory_sheets.write_sheet, "confirm")


def promote(call: Invocation, memory: Ref) -> None:
    """Make a reading your own word."""
    call.answer(call.book.promote(memory), memory_sheets.write_sheet, "promote")


def demote(call: Invocation, memory: Ref) -> None:
    """Make your word a mere reading."""
    call.answer(call.book.demote(memory), memory_sheets.write_sheet, "demote")


def link(
    call: Invocation,
    from_memory: Annotated[str, typer.Argument(metavar="FROM", help="An id, or a piece of what it says.")],
    to_memory: Annotated[str, typer.Argument(metavar="TO", help="An id, or a piece of what it says.")],
    relation: Annotated[
        str,
        typer.Argument(help="relates_to, contradicts, supersedes, because_of, or another short word."),
    ] = "relates_to",
) -> None:
    """Join two memories."""
    call.answer(call.book.link(from_memory, to_memory, relation), memory_sheets.link_sheet, "link")


def unlink(
    call: Invocation,
    link_id: Annotated[str, typer.Argument(metavar="LINK", help="The id of the link, as `show` lists it.")],
) -> None:
    """Take a link away."""
    call.answer(call.book.unlink(link_id), memory_sheets.link_sheet, "unlink")


def undo(
    call: Invocation,
    event: Annotated[
        int | None, typer.Argument(metavar="ENTRY", help="Its number, as the write or `ledger` shows it.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The newest entry, whatever it is.")] = False,
    load: Annotated[
        int | None, typer.Option("--load", metavar="LOAD", min=1, help="What a file brought, as `import` answered it.")
    ] = None,
) -> None:
    """Take back one write, or what a file brought. Undo of an undo is redo."""
    if (event is not None) + last + (load is not None) != 1:
        raise Invalid(
            "name the entry to undo by its number, or say --last for the newest one, or --load LOAD for a file",
            field="event",
        )
    if load is not None:
        # SQLAlchemy is slow to load, and --help does not need it.
        from keepbook.book.ledger.loads import MEMORIES
        from keepbook.book.upkeep.take_back import take_back_load
        from keepbook.doors.cli.sheets import import_sheet as imported_sheets

        taken = take_back_load(call.book, load)
        if taken.what == MEMORIES:
            call.answer({"load": load, **taken.gone}, imported_sheets.take_back_sheet)
        else:
            count = taken.told.get("count", taken.trades)
            call.answer({"load": load, taken.what: count}, imported_sheets.take_back_other_sheet, taken.what)
        return
    if event is None:
        newest = call.book.ledger(limit=1)
        if not newest:
            raise NotFound("there is nothing to undo: the ledger is empty")
        event = newest[0].event
    call.answer(call.book.undo(event), memory_sheets.undo_sheet, event)


def _text(call: Invocation, content: str, detail: str | None) -> str:
    if content == detail == "-":
        raise Invalid("stdin can be read once: give the text or the detail on the line", field="content")
    return call.text(content, "content")


def _detail(call: Invocation, detail: str | None) -> str | None:
    if detail is None:
        return None
    return call.text(detail, "detail")


def _purge_sheet(paper: Paper, answer: dict[str, object]) -> None:
    paper.put("Deleted for good: ", ink(str(answer["id"]), ID), ". Backups made earlier still hold it.")


def _copy_check_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    for one in answer["owners"]:
        if not one.ok:
            paper.put(ink(f"{one.owner}: the ledger is broken: {one.why}.", AMBER))
        elif one.why is not None:
            paper.put(ink(f"{one.owner}: {one.why}; the first sweep ends that.", AMBER))
    if answer["ok"]:
        links = sum(one.links for one in answer["owners"])
        owners = pluralise(len(answer["owners"]), "owner")
        paper.put(f"The copy opens, and the ledger holds for {owners}: {pluralise(links, 'link')} in all.")
