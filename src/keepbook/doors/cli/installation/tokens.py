"""`keepbook token`: the keys to the HTTP door."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import AMBER, GONE, ID, META, Paper, ink, join_with_dots
from keepbook.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from keepbook.book.owners.tokens import Token


def register(app: typer.Typer) -> None:
    token = group(app, "token", panel=CARE, words="Make, list and revoke the keys to the HTTP door.")
    command(token, "create", create, writes=True)
    command(token, "list", listing)
    command(token, "revoke", revoke, writes=True)


SCOPES_HELP = "Several, by commas: read, write, admin; for a service also person; or one alone: metrics, resolve."


def create(
    call: Invocation,
    kind: Annotated[
        str, typer.Option("--kind", help="person, agent, or service (a host application that serves many).")
    ] = "person",
    scopes: Annotated[
        str,
        typer.Option(
            "--scopes",
            help=SCOPES_HELP,
        ),
    ] = "read,write",
    name: Annotated[str | None, typer.Option("--name", help="To tell it from others: laptop.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="WHEN", help="Until when it opens.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="With --kind agent: one of yours, with its tools.")
    ] = None,
) -> None:
    """Make a token; it is shown this once. From the first one on, every request needs one."""
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    owner = None
    if kind != "service":
        owner = call.settings.owner
    if kind == "service" and call.given.owner is not None:
        raise Invalid("a service token names its owner with each request; leave out --owner", field="owner")
    bound = None
    if agent is not None:
        bound = _agent_id(call, agent)
    made = call.keepbook.tokens.create(
        owner, kind=kind, scopes=wanted, name=name, expires=call.moment(expires, "expires", end=True), agent=bound
    )
    known = made.known
    if call.as_json:
        call.json(
            {"id": known.id, "token": made.token, "owner": known.owner, "kind": known.kind, "scopes": known.scopes}
        )
        return
    if known.owner is None:
        whose = "any owner, named with each request"
    else:
        whose = known.owner
    call.paper.put(made.token)
    call.note(f"Token {known.id} for {whose} ({', '.join(known.scopes)}). It is shown this once: keep it safe.")


def _agent_id(call: Invocation, agent: str) -> str:
    # With the engine, which --help does not need.
    from keepbook.tools.bound import agent_id

    return agent_id(call.book, agent)


def listing(
    call: Invocation,
    everyone: Annotated[bool, typer.Option("--all", help="Of every owner, and services'.")] = False,
    ended: Annotated[bool, typer.Option("--ended", help="Also those that were revoked, or have expired.")] = False,
) -> None:
    """Show the tokens of an owner that open something; their secrets are not kept."""
    if everyone:
        owner = None
    else:
        owner = call.settings.owner
    known = call.keepbook.tokens.list(owner)
    if ended:
        shown = known
    else:
        shown = [token for token in known if token.opens(call.paper.now)]
    call.answer(shown, partial(_tokens, whose=owner, left_out=len(known) - len(shown)))


def revoke(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `token list` shows it.", show_default=False)],
) -> None:
    """Revoke a token, and what was made with it: from here on they open nothing."""
    call.answer(call.keepbook.tokens.revoke(id), _revoke_sheet)


def _revoke_sheet(paper: Paper, token: "Token") -> None:
    paper.put(f"Revoked {token.id}.")


def _tokens(paper: Paper, tokens: "Sequence[Token]", *, whose: str | None, left_out: int) -> None:
    if not tokens and left_out:
        paper.put("No token opens anything.")
    elif not tokens and whose is not None:
        paper.put(f"No tokens of {whose}; every owner's, and services': ", paper.hint("token", "list", "--all"))
    elif not tokens:
        paper.put("No tokens. Without one, only this machine's owner is served, on this machine.")
    for token in tokens:
        whose = token.owner or ("every owner" if token.kind == "service" else "erased")
        known: list[Text | str] = [ink(token.id, ID), whose, token.kind, ", ".join(token.scopes), _state(paper, token)]
        if token.last_used_at:
            used = f"last used {paper.age(token.last_used_at)}"
        else:
            used = "never used"
        if token.made_with:
            maker = [ink(f"made with {token.made_with}", META)]
        else:
            maker = []
        paper.put(join_with_dots([*known, *([token.name] if token.name else []), *maker, ink(used, META)]))
    if left_out:
        paper.put(f"{left_out} more opened something once: ", paper.hint("token", "list", "--ended"))


def _state(paper: Paper, token: "Token") -> "Text | str":
    if token.revoked_at:
        return ink("revoked", GONE)
    if token.expires_at and token.expires_at <= paper.now:
        return ink("expired", AMBER)
    if token.expires_at:
        return f"until {paper.day(token.expires_at)}"
    return "no end"
