"""Tokens for the doors. Only a token's hash is stored, so nobody who reads the database can use one.

A `person` or `agent` token opens one owner's book; a `service` token is a host application's, which names the owner
with each request. Tokens hold no personal text and are looked up before anyone is served, outside every owner's scope.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_optional
from keepbook.book.ground.when import Moment, instant, parse_stamp, stamp
from keepbook.book.owners import authority
from keepbook.book.owners.owners import clean_owner
from keepbook.errors import Invalid, NotAllowed, NotFound
from keepbook.storage.database import Database
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.upkeep import identities, page_sessions, tokens

KINDS = ("person", "agent", "service")
USUAL_SCOPES = ("read", "write")
KEPT = timedelta(days=30)
"""How long a page stays signed in."""
NOTED_EVERY = timedelta(hours=1)
"""How often "last used" is written: a request that only reads should rarely write."""

MOST_REMEMBERED = 10_000
"""Of how many tokens that others made it is remembered which token was the first."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; the secret itself is not."""

    id: str
    owner: str | None
    kind: str
    scopes: tuple[str, ...]
    name: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    agent: str | None = None
    """The id of the one agent of the owner's that it speaks for."""
    made_with: str | None = None
    """The id of the token that made it; None: the operator, or the person without one."""

    def opens(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made: the one moment at which its secret is known."""

    token: str
    known: Token


@explain_arguments
class Tokens:
    """The tokens of an installation: `kb.tokens`."""

    def __init__(self, database: Database, administrator: str | None = None, *, locked: bool = False) -> None:
        """`administrator` is the address by which service tokens are made, where it is another; `locked` says that
        nobody is served unknown, also where there is no token yet: people sign in elsewhere."""
        self._database = database
        self._administrator = administrator
        self._asked_for = locked
        self._first_makers: dict[str, str] = {}

    def create(
        self,
        owner: str | None = None,
        *,
        kind: str = "person",
        scopes: Iterable[str] = USUAL_SCOPES,
        name: str | None = None,
        expires: Moment = None,
        agent: str | None = None,
        made_with: str | None = None,
    ) -> NewToken:
        """Make a token and return its secret, this once. `agent` is the id of the agent whose tools it has. A token
        that is `made_with` another ends no later than that one, and is revoked with it."""
        now = self._database.clock()
        secret = f"kb_{secrets.token_urlsafe(32)}"
        id = new_id()
        row = {
            "id": id,
            "owner": _owner_of(kind, owner),
            "hash": hash_of(secret),
            "kind": kind,
            "scopes": ",".join(authority.clean_scopes(kind, scopes)),
            "name": clean_optional(name, "name", 80),
            "created_at": stamp(now),
            "expires_at": self._end(_later_than(now, instant(expires, field="expires")), made_with),
            "agent": _agent_of(kind, agent),
            "made_with": made_with,
        }
        with self._making(row["owner"]) as conn:
            if made_with is not None:
                _refuse_ended(_get_maker(conn, made_with), now)
            conn.execute(insert(tokens), row)
            return NewToken(secret, _get_token(conn, id))

    @contextmanager
    def _making(self, owner: str | None) -> Iterator[Connection]:
        """A service token opens every book, so that only the administrator of a server makes one."""
        if owner is None:
            with self._database.administering(self._administrator) as conn:
                yield conn
        else:
            with self._writing(owner) as conn:
                yield conn

    def _end(self, wanted: str | None, made_with: str | None) -> str | None:
        if made_with is None:
            return wanted
        with self._database.unscoped() as conn:
            last = _get_token(conn, made_with).expires_at
        if last is None or (wanted is not None and wanted <= stamp(last)):
            return wanted
        if wanted is not None:
            raise Invalid(f"this is made with a token that ends at {stamp(last)}; end by then", field="expires")
        return stamp(last)

    def list(self, owner: str | None = None) -> Sequence[Token]:
        """One owner's tokens, or all of the installation; the newest first."""
        query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id)
        if owner is not None:
            query = query.where(tokens.c.owner == owner)
        with self._database.unscoped() as conn:
            return [_to_token(row) for row in conn.execute(query)]

    def revoke(self, id: str, *, owner: str | None = None) -> Token:
        """Revoke a token with all that was made with it: from now on they open nothing. With `owner`, only a token of
        that owner."""
        with self._database.unscoped() as conn:
            found = _get_token(conn, id)
        if owner is not None and found.owner != owner:
            raise _unknown(id)
        now = stamp(self._database.clock())
        with self._writing(found.owner) as conn:
            _revoke(conn, [id], now)
            _revoke_made(conn, id, found.owner, now)
            known = _get_token(conn, id)
        # A service token may have made tokens for other owners. They are looked up only now, when no more can be made
        # with it (`_get_maker`). If this is interrupted, revoking the token again goes on with them.
        with self._database.unscoped() as conn:
            others = {whose for _, whose in _made_with(conn, id) if whose and whose != found.owner}
        for whose in sorted(others):
            with self._writing(whose) as conn:
                _revoke_made(conn, id, whose, now)
        return known

    @contextmanager
    def _writing(self, owner: str | None) -> Iterator[Connection]:
        """An owner's token stands under the owner's ledger; a service token has no owner, and no ledger."""
        if owner is None:
            with self._database.unscoped(writes=True) as conn:
                yield conn
        else:
            with self._database.write(owner) as tx:
                yield tx.conn

    def check(self, secret: str) -> Token | None:
        """The token behind a secret, if it is still valid."""
        now = self._database.clock()
        asked = {"hash": hash_of(secret)}
        row = self._database.query_once(lambda conn: _BY_HASH.first(conn, asked))
        if row is None:
            return None
        known = _to_token(row)
        if not known.opens(now):
            return None
        if known.last_used_at is None or now - known.last_used_at >= NOTED_EVERY:
            with self._database.unscoped(writes=True) as conn:
                conn.execute(update(tokens).where(tokens.c.id == known.id).values(last_used_at=stamp(now)))
        return known

    def first_maker(self, token: Token) -> str:
        """The id of the token of the same owner that made `token`, or made its maker, and so on; its own id if none
        did. It never changes, so it is looked up once."""
        if token.made_with is None:
            return token.id
        known = self._first_makers.get(token.id)
        if known is None:
            maker = self._database.query_once(lambda conn: _get_token(conn, str(token.made_with)))
            known = token.id
            if maker.owner == token.owner:
                known = self.first_maker(maker)
            if len(self._first_makers) >= MOST_REMEMBERED:
                self._first_makers.clear()
            self._first_makers[token.id] = known
        return known

    def stands(self, id: str | None) -> bool:
        """Whether a token is still valid. Without a token: whether none was ever made here."""
        if id is None:
            return not self.asked_for()
        row = self._database.query_once(lambda conn: conn.execute(select(tokens).where(tokens.c.id == id)).first())
        return row is not None and _to_token(row).opens(self._database.clock())

    # Pages: a session of their own, so that no browser keeps a token

    def sign_in(self, secret: str) -> tuple[str, Token] | None:
        """Start a session of the pages with a person's token; returns the session's secret, this once."""
        known = self.check(secret)
        if known is None:
            return None
        if known.kind == "person":
            return self.session_for(known.id), known
        return "", known

    def session_for(self, token_id: str) -> str:
        """Start a session of the pages for a token; returns its secret, this once."""
        now = self._database.clock()
        secret = f"kbs_{secrets.token_urlsafe(32)}"
        row = {"hash": hash_of(secret), "token_id": token_id, "created_at": stamp(now), "expires_at": stamp(now + KEPT)}
        with self._database.unscoped(writes=True) as conn:
            closed = select(tokens.c.id).where(tokens.c.revoked_at.isnot(None))
            over = or_(page_sessions.c.expires_at <= stamp(now), page_sessions.c.token_id.in_(closed))
            conn.execute(insert(page_sessions), row)
            conn.execute(delete(page_sessions).where(over))  # includes the new one, if the token was revoked meanwhile
        return secret

    def of_session(self, secret: str) -> Token | None:
        """The token behind a session of the pages, while both are valid."""
        asked = {"hash": hash_of(secret), "now": stamp(self._database.clock())}
        row = self._database.query_once(lambda conn: _BY_SESSION.first(conn, asked))
        if row is None:
            return self._signed_in_elsewhere(asked)
        known = _to_token(row)
        if not known.opens(self._database.clock()):
            return None
        if known.kind != "person":  # no session is made for another kind: the row was forged
            return None
        return known

    def _signed_in_elsewhere(self, asked: dict[str, str]) -> Token | None:
        """What a session opens that was begun at a provider: the person's book, without the rights of an administrator.
        It has the shape of a token but is none: nobody can send it, or make tokens with it."""
        row = self._database.query_once(lambda conn: _BY_IDENTITY.first(conn, asked))
        if row is None:
            return None
        begun, over = parse_stamp(row.begun_at), parse_stamp(row.over_at)
        return Token(row.id, row.owner, "person", USUAL_SCOPES, None, begun, over, None, begun)

    def sign_out(self, secret: str) -> None:
        """End a session; its token stays valid."""
        with self._database.unscoped(writes=True) as conn:
            conn.execute(delete(page_sessions).where(page_sessions.c.hash == hash_of(secret)))

    def asked_for(self) -> bool:
        """Whether a token was ever made here: from then on every request needs one."""
        if not self._asked_for:
            any_one = self._database.query_once(lambda conn: conn.execute(select(tokens.c.id).limit(1)).first())
            self._asked_for = any_one is not None
        return self._asked_for


def _owner_of(kind: str, owner: str | None) -> str | None:
    if kind not in KINDS:
        raise Invalid(f"a token is for a {', an '.join(KINDS[:2])} or a {KINDS[2]}, not {kind!r}", field="kind")
    if kind == "service":
        if owner is not None:
            raise Invalid("a service token names its owner with each request; give none here", field="owner")
        return None
    return clean_owner(owner)


def _agent_of(kind: str, agent: str | None) -> str | None:
    if agent is not None and kind != "agent":
        raise Invalid("only a token of kind agent speaks for one; leave out the agent, or say so", field="agent")
    return clean_optional(agent, "agent", 80)


def _later_than(now: datetime, expires: str | None) -> str | None:
    if expires is not None and expires <= stamp(now):
        raise Invalid("expires must lie in the future", field="expires")
    return expires


def hash_of(secret: str) -> str:
    """The hash under which a secret is stored. A slow one is not needed: a secret has 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _refuse_ended(maker: Token, now: datetime) -> None:
    if not maker.opens(now):
        raise NotAllowed("the token that this is to be made with is revoked or expired", code="unauthenticated")


def _revoke(conn: Connection, ids: Sequence[str], now: str) -> None:
    """Revoke these tokens, if they are not yet, and end their sessions."""
    conn.execute(update(tokens).where(tokens.c.id.in_(ids), tokens.c.revoked_at.is_(None)).values(revoked_at=now))
    conn.execute(delete(page_sessions).where(page_sessions.c.token_id.in_(ids)))


def _revoke_made(conn: Connection, id: str, owner: str | None, now: str) -> None:
    """Revoke the tokens of an owner that were made with this one."""
    _revoke(conn, [one for one, whose in _made_with(conn, id) if whose == owner], now)


def _made_with(conn: Connection, id: str) -> list[tuple[str, str | None]]:
    """Ids and owners of the tokens that were made with this one, or with one of those, and so on."""
    found: list[tuple[str, str | None]] = []
    makers = [id]
    while makers:
        rows = conn.execute(select(tokens.c.id, tokens.c.owner).where(tokens.c.made_with.in_(makers))).all()
        found += [(row.id, row.owner) for row in rows]
        makers = [row.id for row in rows]
    return found


def _unknown(id: str) -> NotFound:
    return NotFound(f"there is no token {id!r}")


def _get_token(conn: Connection, id: str) -> Token:
    row = conn.execute(select(tokens).where(tokens.c.id == id)).first()
    if row is None:
        raise _unknown(id)
    return _to_token(row)


def _get_maker(conn: Connection, id: str) -> Token:
    """The token that another is to be made with, locked: it cannot be revoked before this transaction ends."""
    row = conn.execute(select(tokens).where(tokens.c.id == id).with_for_update(read=True)).first()
    if row is None:
        raise _unknown(id)
    return _to_token(row)


_BY_HASH = PreparedStatement(select(tokens).where(tokens.c.hash == bindparam("hash")))
_BY_SESSION = PreparedStatement(
    select(tokens)
    .join(page_sessions, page_sessions.c.token_id == tokens.c.id)
    .where(page_sessions.c.hash == bindparam("hash"), page_sessions.c.expires_at > bindparam("now"))
)

_BY_IDENTITY = PreparedStatement(
    select(
        identities.c.id,
        identities.c.owner,
        page_sessions.c.created_at.label("begun_at"),
        page_sessions.c.expires_at.label("over_at"),
    )
    .join(page_sessions, page_sessions.c.identity_id == identities.c.id)
    .where(page_sessions.c.hash == bindparam("hash"), page_sessions.c.expires_at > bindparam("now"))
    .where(identities.c.joined_at.isnot(None), identities.c.ended_at.is_(None))
)


@lru_cache(maxsize=256)
def _to_token(row: Any) -> Token:
    def when(text: str | None) -> datetime | None:
        if text is None:
            return None
        return parse_stamp(text)

    return Token(
        row.id, row.owner, row.kind, tuple(row.scopes.split(",")), row.name,
        parse_stamp(row.created_at), when(row.expires_at), when(row.revoked_at), when(row.last_used_at),
        row.agent, row.made_with,
    )  # fmt: skip
