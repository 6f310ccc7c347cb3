"""Who is asking: a token becomes a caller, and a caller one owner's book.

A `person` or `agent` token opens its own owner's book. A `service` token belongs to a host application, which names
the owner with each request. Without any token ever made, the installation's local owner is served, and only on
loopback; once there is one, every request needs one.
"""

from dataclasses import dataclass

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.owners.owners import clean_owner
from keepbook.book.owners.tokens import SCOPES
from keepbook.errors import Invalid, NotAllowed

OWNER_HEADER = "X-Keepbook-Owner"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose book a request is about, on whose word, and what it may do."""

    owner: str
    kind: str = "person"
    scopes: frozenset[str] = frozenset(SCOPES)
    token_id: str | None = None
    preset: str | None = None
    agent: str | None = None
    """One of the owner's agents, whose tools it has and no others."""
    blind: bool = False
    """With `agent`: a specialist of its team, who sees no decision, no position and no memory."""
    mode: str | None = None
    """What its chat is for; `authoring` adds tools that write, where the preset has some."""

    @property
    def actor(self) -> str:
        return "agent" if self.kind == "agent" else "person"

    def needs(self, scope: str) -> None:
        """Refuse unless this caller may."""
        if scope not in self.scopes:
            raise NotAllowed(
                f"this token may {' and '.join(sorted(self.scopes))}; this needs the scope {scope!r}", code="scope"
            )

    def book(self, kb: Keepbook, door: str) -> Book:
        return kb.book(self.owner, by=self.actor, door=door)


def unauthenticated(why: str) -> NotAllowed:
    return NotAllowed(why, code="unauthenticated")


def caller_for(kb: Keepbook, secret: str | None, named: str | None, *, local: bool, anyone: bool = False) -> Caller:
    """The caller behind a secret. `named` is the owner that the request names; `local` that it came over loopback;
    `anyone` that it is about no owner at all."""
    if secret is None:
        if not local or kb.tokens.asked_for():
            raise unauthenticated("send a token: Authorization: Bearer kb_… (keepbook token create makes one)")
        if named is not None and named != kb.settings.owner:
            raise NotAllowed("without tokens only the local owner is served; make a service token", code="other_owner")
        return Caller(kb.settings.owner)
    token = kb.tokens.check(secret)
    if token is None:
        raise unauthenticated("this token is unknown, revoked or expired; make a new one: keepbook token create")
    scopes = frozenset(token.scopes)
    if token.owner is None:
        if anyone:
            return Caller("*", token.kind, scopes, token.id)
        if named is None:
            raise Invalid(f"a service token serves many: name the owner in {OWNER_HEADER}", field=OWNER_HEADER)
        return Caller(clean_owner(named), token.kind, scopes, token.id)
    if named is not None and named != token.owner:
        raise NotAllowed("this token opens another owner's book", code="other_owner")
    return Caller(token.owner, token.kind, scopes, token.id, agent=token.agent)
