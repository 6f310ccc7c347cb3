"""Commands that read: list, show, recall, block, inject; and those that look back: history, as-of, ledger."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.book.ground.limits import clean_category
from keepbook.book.ground.when import parse_stamp
from keepbook.book.text.quotation import shown_text
from keepbook.doors.cli.commands.reindex import asking
from keepbook.doors.cli.sheets import memory as memory_sheets
from keepbook.doors.cli.sheets import timeline
from keepbook.doors.cli.terminal.command import LOOK_BACK, READ, Invocation, command
from keepbook.doors.cli.terminal.labels import parse_metadata, tags
from keepbook.doors.cli.terminal.paper import Paper

if TYPE_CHECKING:
    from datetime import datetime

    from keepbook.book.book import Book

EVERY_SCOPE = "*"

Ref = Annotated[str, typer.Argument(metavar="MEMORY", help="Its id, or a piece of what it says.", show_default=False)]
KnownOption = Annotated[
    str | None,
    typer.Option("--known", help="As the book knew it then: 2026-03-01, 'last Friday', '2 weeks ago'."),
]
Valid = Annotated[str | None, typer.Option("--valid", help="About what was true then.")]
OnlyTags = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag; repeated, with all of them.")]
OnlyPairs = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Only with this metadata; may be repeated.")
]
LastId = Annotated[str | None, typer.Option("--cursor", metavar="ID", help="Go on behind the last one that was shown.")]
OnlyCategory = Annotated[str | None, typer.Option("--category", "-c", help="Only this group.")]


def register(app: typer.Typer) -> None:
    command(app, "list", listing, panel=READ)
    command(app, "show", show, panel=READ)
    command(app, "recall", recall, panel=READ)
    command(app, "block", block, panel=READ)
    command(app, "inject", inject, panel=READ, writes=True)
    command(app, "history", history, panel=LOOK_BACK)
    command(app, "as-of", as_of, panel=LOOK_BACK)
    command(app, "ledger", ledger, panel=LOOK_BACK)


def listing(
    call: Invocation,
    category: OnlyCategory = None,
    subject: Annotated[str | None, typer.Option("--subject", "-s", help="Only about this.")] = None,
    state: Annotated[str, typer.Option("--state", help="active, archived, trash or all.")] = "active",
    scope: Annotated[
        str | None, typer.Option("--scope", help="Unscoped ones and those of this agent; else every one.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 100,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Go on where a list ended.")] = None,
    tag: OnlyTags = None,
    meta: OnlyPairs = None,
) -> None:
    """List the memories, oldest first."""
    labels: Any = {"tags": tags(tag), "metadata": parse_metadata(meta)}
    page = call.book.list(category, subject, scope or EVERY_SCOPE, state, limit, cursor, **labels)
    if category is not None and not page.total:
        clean_category(category, call.book.preset())  # of another preset there may be some; of a slip there are none
    if call.as_json:
        call.json(page)
        return
    narrowed = any(given is not None for given in (category, subject, scope, cursor, tag, meta))
    memory_sheets.listing_sheet(call.paper, page, state=state, narrowed=narrowed, rendered=call.book.rendered())


def show(call: Invocation, memory: Ref) -> None:
    """Show everything about one memory."""
    found = call.book.get(call.book.find(memory))
    if call.as_json:
        call.json(found)
        return
    ends = {end for link in found.links for end in (link.from_id, link.to_id)} - {found.id}
    memory_sheets.memory_sheet(call.paper, found, {id: shown_text(call.book.get(id)) for id in sorted(ends)})


def recall(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="Words or a question.", show_default=False)],
    category: OnlyCategory = None,
    known: KnownOption = None,
    valid: Valid = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="Unscoped ones and those of this agent; else every one.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 10,
    tag: OnlyTags = None,
    meta: OnlyPairs = None,
    cursor: LastId = None,
) -> None:
    """Find the memories that answer a question, best first."""
    labels: Any = {"tags": tags(tag), "metadata": parse_metadata(meta), "cursor": cursor}
    if known is not None or valid is not None:
        past = call.moment(known, "known"), call.moment(valid, "valid")
        found = call.book.recall(query, limit, category, scope or EVERY_SCOPE, *past, **labels)
        call.answer(found, memory_sheets.hits)
        return
    with asking(call):
        call.answer(call.book.recall(query, limit, category, scope or EVERY_SCOPE, **labels), memory_sheets.hits)


def block(
    call: Invocation,
    known: KnownOption = None,
    valid: Valid = None,
    scope: Annotated[str | None, typer.Option("--scope", help="As this agent or skill sees it.")] = None,
) -> None:
    """Print the text that a new chat would be given."""
    text = call.book.block(
        preset=call.given.preset, scope=scope, known=call.moment(known, "known"), valid=call.moment(valid, "valid")
    )
    _print_block(call, {"block": text})


def inject(
    call: Invocation,
    session: Annotated[str, typer.Argument(help="Any name for the chat.", show_default=False)],
    scope: Annotated[str | None, typer.Option("--scope", help="As this agent or skill sees it.")] = None,
) -> None:
    """Print the block of a session: made at the first call, then the same bytes for as long as it lasts."""
    text = call.book.inject(session, preset=call.given.preset, scope=scope)
    _print_block(call, {"session": session, "block": text})


def history(call: Invocation, memory: Ref) -> None:
    """Show every version of a memory, on both clocks."""
    call.answer(call.book.history(memory), timeline.history_sheet)


def as_of(
    call: Invocation,
    day: Annotated[
        str | None, typer.Argument(metavar="WHEN", help="The book as it stood then: known then, about then.")
    ] = None,
    known: KnownOption = None,
    valid: Valid = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="How many at most; else all.")] = None,
    cursor: LastId = None,
) -> None:
    """Show the book as it was known at one moment, about another."""
    if known is None:
        then = call.moment(day, "known")
    else:
        then = call.moment(known, "known")
    if valid is None:
        about = call.moment(day, "valid")
    else:
        about = call.moment(valid, "valid")
    kept = call.book.as_of(known=then, valid=about, limit=limit, cursor=cursor)
    if call.as_json:
        call.json(kept)
        return
    memory_sheets.past_sheet(
        call.paper,
        kept,
        known=parse_stamp(then) if then else None,
        valid=parse_stamp(about) if about else None,
        begins=_begins_after(call.book, then),
    )


def _begins_after(book: "Book", known: str | None) -> "datetime | None":
    """When the first entry of a book was written, if that was after what is asked about."""
    first = book.ledger(before=2, limit=1)
    if not first or known is None or first[0].at <= parse_stamp(known):
        return None
    return first[0].at


def ledger(
    call: Invocation,
    memory: Annotated[str | None, typer.Option("--memory", "-m", help="Only about the memory with this id.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Only from this chat.")] = None,
    actor: Annotated[str | None, typer.Option("--actor", help="person, agent, extractor or job.")] = None,
    after: Annotated[int, typer.Option("--after", help="Only entries after this number.")] = 0,
    before: Annotated[int | None, typer.Option("--before", help="Only entries before this number.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 100,
) -> None:
    """Show what was written, newest first."""
    entries = call.book.ledger(memory=memory, thread=thread, actor=actor, after=after, before=before, limit=limit)
    narrowed = bool(memory or thread or actor or after or before)
    call.answer(entries, memory_sheets.ledger, narrowed=narrowed, limit=limit)


def _print_block(call: Invocation, answer: dict[str, Any]) -> None:
    call.answer(answer, _as_it_stands)
    if not answer["block"]:
        call.note("The block is empty: no memory goes into a new chat.")


def _as_it_stands(_: Paper, answer: dict[str, Any]) -> None:
    """Bytes for a prompt: no wrapping, no colour."""
    if answer["block"]:
        sys.stdout.write(f"{answer['block']}\n")
