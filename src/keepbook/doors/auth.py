"""Authentication: from a token to a caller, and from a caller to one owner's book.

A `person` or `agent` token opens its own owner's book. A `service` token belongs to a host application, which names the
owner with each request. As long as no token was ever made, the installation's local owner is served, and only on
loopback; after that every request needs a token.
"""

import ipaddress
from dataclasses import dataclass, replace
from functools import cached_property

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.owners import authority
from keepbook.book.owners.authority import Actor
from keepbook.book.owners.owners import clean_owner
from keepbook.errors import Invalid, NotAllowed
from keepbook.tools import bound

OWNER_HEADER = "X-Keepbook-Owner"
ACTOR_HEADER = "X-Keepbook-Actor"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The names of this machine on its loopback interface."""
VISITOR = "visitor"
"""The kind of a caller in the demo; each visitor has a copy of the demo's book."""


@dataclass(frozen=True)
class Caller:
    """Whose book a request is about, who acts, and what they may do."""

    owner: str
    kind: str = "person"
    scopes: frozenset[str] = authority.EVERYTHING
    token_id: str | None = None
    preset: str | None = None
    agent: str | None = None
    """The owner's agent that the token is bound to; the caller has that agent's tools and no others."""
    blind: bool = False
    """Whether the caller is a specialist in the team of `agent`, who may see no decision, no position and no memory."""
    mode: str | None = None
    """The mode of its chat; `authoring` adds the tools that write, if the preset has some."""

    session: str | None = None
    """The secret of a page's session, if the caller sent that and no token."""
    as_person: bool = False
    """Whether a service token acts as the person: it has the scope `person`, and the request asks for it."""
    remote: bool = False
    """Whether a program calls the API, and not one of our pages."""
    name: str | None = None
    """The name of its token."""
    counted_as: str | None = None
    """The id of the token with which its requests are counted: that of its owner which made it, or itself."""

    @cached_property
    def as_actor(self) -> Actor:
        """The actor for the table of `owners.authority`."""
        kind = self.kind
        if kind == "service":
            if self.as_person:
                kind = "host"
            else:
                kind = "service"
        elif kind == "agent" and self.agent is not None:
            kind = "bound"
        return Actor(kind, self.scopes, self.agent, self.token_id, self.remote)

    @property
    def actor(self) -> str:
        if self.as_actor.is_person:
            return "person"
        return "agent"

    def ask(self, operation: str, *, agent: str | None = None, given: bool = False) -> None:
        """Raise `NotAllowed` unless this caller may do the operation."""
        authority.require_permission(self.as_actor, operation, agent=agent, given=given)

    def book(self, kb: Keepbook, door: str) -> Book:
        return kb.book(self.owner, by=self.actor, door=door, hand=self.as_actor, name=self.name)

    def tools_book(self, kb: Keepbook, door: str) -> Book:
        """The book for tools. It writes as an agent, also with a person's token: only programs call tools."""
        if self.agent is not None:
            hand = self.as_actor
        else:
            hand = replace(authority.ALONE["agent"], token=self.token_id)
        return kb.book(self.owner, by="agent", door=door, hand=hand, name=self.name)


def gives_memory(book: Book, caller: Caller) -> bool:
    """Whether the settings of the agent that this caller is bound to give it the person's memory."""
    if caller.agent is None:
        return True
    return not caller.blind and bound.gives_memory(book, caller.agent)


def is_local(address: str) -> bool:
    """Whether an address is this machine's own, which nobody else can reach or send from."""
    try:
        return address in LOOPBACK or ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def unauthenticated_error(why: str) -> NotAllowed:
    return NotAllowed(why, code="unauthenticated")


def caller_for(
    kb: Keepbook,
    secret: str | None,
    named: str | None,
    *,
    local: bool,
    anyone: bool = False,
    acts: str | None = None,
    page: bool = False,
) -> Caller:
    """The caller that a secret belongs to; raises `NotAllowed` if there is none.

    named: the owner that the request names
    local: whether it came over loopback
    anyone: whether it is about no owner's book
    acts: `person` or `agent`, as whom the token should act
    page: whether the secret is a session of the pages
    """
    if kb.demo:
        return Caller(kb.settings.owner, VISITOR)
    if secret is None:
        if not local or kb.tokens.asked_for():
            raise unauthenticated_error("send a token: Authorization: Bearer kb_… (keepbook token create makes one)")
        if named is not None and named != kb.settings.owner:
            raise NotAllowed("without tokens only the local owner is served; make a service token", code="other_owner")
        everything = authority.EVERYTHING | {authority.METRICS}  # without tokens, the local owner also runs the server
        return Caller(kb.settings.owner, kind="agent" if acts == "agent" else "person", scopes=everything)
    if page:
        token = kb.tokens.of_session(secret)
    else:
        token = kb.tokens.check(secret)
    if token is None:
        raise unauthenticated_error("this token is unknown, revoked or expired; make a new one: keepbook token create")
    scopes = frozenset(token.scopes)
    if token.owner is None:
        if anyone:
            return Caller("*", token.kind, scopes, token.id, name=token.name)
        if named is None:
            raise Invalid(f"a service token serves many: name the owner in {OWNER_HEADER}", field=OWNER_HEADER)
        return Caller(
            clean_owner(named), token.kind, scopes, token.id, name=token.name, as_person=_as_person(scopes, acts)
        )
    if named is not None and named != token.owner:
        raise NotAllowed("this token opens another owner's book", code="other_owner")
    # A token may act as less than it is, never as more.
    kind = "agent" if acts == "agent" and token.kind == "person" else token.kind
    session = None
    if page:
        session = secret
    first = kb.tokens.first_maker(token)
    return Caller(
        token.owner, kind, scopes, token.id, counted_as=first, name=token.name, agent=token.agent, session=session
    )


def _as_person(scopes: frozenset[str], acts: str | None) -> bool:
    """Whether a service token acts as the person: it must have that scope, and the request must ask for it."""
    if acts not in (None, "agent", "person"):
        raise Invalid(f"{ACTOR_HEADER} is person or agent", field=ACTOR_HEADER)
    if acts == "person" and authority.PERSON not in scopes:
        raise NotAllowed(
            'this token acts as an agent: say so with by="agent" (X-Keepbook-Actor: agent), or make one with the scope '
            "'person', which acts as the person",
            code="scope",
        )
    return acts == "person"
