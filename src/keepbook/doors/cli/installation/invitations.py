"""`keepbook people`: who signs in at the operator's provider."""

from typing import TYPE_CHECKING, Annotated

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import AMBER, GONE, ID, META, Paper, ink, join_with_dots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from keepbook.book.owners.identities import Identity


def register(app: typer.Typer) -> None:
    people = group(app, "people", panel=CARE, words="Invite people who sign in at your provider, list them, end it.")
    command(people, "invite", invite, writes=True)
    command(people, "list", listing)
    command(people, "end", end, writes=True)


def invite(
    call: Invocation,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="WHEN", help="Until when it waits: a week.", show_default=False)
    ] = None,
) -> None:
    """Invite somebody to the book of --owner, once; the invitation is shown this once."""
    made = call.keepbook.identities.invite(call.settings.owner, expires=call.moment(expires, "expires", end=True))
    known = made.known
    if call.as_json:
        call.json({"id": known.id, "invitation": made.invitation, "owner": known.owner, "expires_at": known.expires_at})
        return
    call.paper.put(f"/sign-in?invitation={made.invitation}")
    call.note(f"Invitation {known.id} to the book of {known.owner}. Send it behind your server's address; it is shown "
              "this once.")  # fmt: skip


def listing(call: Invocation, everyone: Annotated[bool, typer.Option("--all", help="Of every owner.")] = False) -> None:
    """Show who was invited to a book and who came; with --all, to any."""
    call.answer(call.keepbook.identities.list(None if everyone else call.settings.owner), _people)


def end(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="As `people list` shows it.", show_default=False)],
) -> None:
    """Sign a person out of every page, and let them in by a new invitation alone; or end an invitation."""
    call.answer(call.keepbook.identities.end(id), _ended)


def _ended(paper: Paper, known: "Identity") -> None:
    paper.put(f"Ended {known.id}.")


def _people(paper: Paper, people: "Sequence[Identity]") -> None:
    if not people:
        paper.put("Nobody was invited, and nobody signs in at a provider.")
    for known in people:
        told: list[Text | str] = [ink(known.id, ID), known.owner, _state(paper, known)]
        if known.subject is not None:
            told.append(ink(f"{known.subject} at {known.issuer}", META))
        paper.put(join_with_dots(told))


def _state(paper: Paper, known: "Identity") -> "Text | str":
    if known.ended_at:
        return ink("ended", GONE)
    if known.joined_at:
        return f"since {paper.day(known.joined_at)}"
    if known.expires_at and known.expires_at <= paper.now:
        return ink("not taken", AMBER)
    return "invited"
