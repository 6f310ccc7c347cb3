"""People who sign in at the operator's OpenID provider. A person is identified by the provider's issuer and their
subject there, never by an address or a name, which may pass to somebody else.

Signing in alone opens no book. The operator invites a person to a book, by an invitation that is used once and ends; or
lets everybody who signs in begin an empty book.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.when import Moment, instant, parse_stamp, stamp
from keepbook.book.owners.owners import clean_owner
from keepbook.book.owners.tokens import hash_of
from keepbook.errors import Invalid, NotAllowed, NotFound
from keepbook.storage.database import Database
from keepbook.storage.tables.upkeep import identities, page_sessions

SIGNED_IN = timedelta(hours=12)
"""How long a page stays signed in. Somebody who is removed at the provider is signed out here by then."""
OPEN_FOR = timedelta(days=7)
"""How long an invitation waits."""
LONGEST = 255
"""How many characters a subject may have, by the OpenID standard."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A person at a provider and the book that they open; before they came, an invitation to it."""

    id: str
    owner: str
    issuer: str | None
    subject: str | None
    created_at: datetime
    expires_at: datetime | None
    joined_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation just made: the one moment at which its secret is known."""

    invitation: str
    known: Identity


@explain_arguments
class Identities:
    """Who may sign in at the operator's provider: `kb.identities`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def invite(self, owner: str, *, expires: Moment = None) -> Invitation:
        """Invite somebody to a book, once: whoever signs in with it opens that book from then on. It waits a week,
        unless `expires` says until when."""
        now = self._database.clock()
        until = instant(expires, field="expires") or stamp(now + OPEN_FOR)
        if until <= stamp(now):
            raise Invalid("expires must lie in the future", field="expires")
        secret = f"kbi_{secrets.token_urlsafe(32)}"
        row = _new_row(clean_owner(owner), now) | {"invitation": hash_of(secret), "expires_at": until}
        with self._database.write(row["owner"]) as tx:
            tx.conn.execute(insert(identities), row)
            return Invitation(secret, _get(tx.conn, row["id"]))

    def list(self, owner: str | None = None) -> Sequence[Identity]:
        """Who was invited and who came, of one book or of the installation; the newest first."""
        query = select(identities).order_by(identities.c.created_at.desc(), identities.c.id)
        if owner is not None:
            query = query.where(identities.c.owner == owner)
        with self._database.unscoped() as conn:
            return [_to_identity(row) for row in conn.execute(query)]

    def end(self, id: str) -> Identity:
        """End an invitation, or what a person may open: from now on they are signed out, and come in by a new
        invitation alone."""
        with self._database.unscoped() as conn:
            found = _get(conn, id)
        now = stamp(self._database.clock())
        with self._database.write(found.owner) as tx:
            standing = identities.c.ended_at.is_(None)
            tx.conn.execute(update(identities).where(identities.c.id == id, standing).values(ended_at=now))
            tx.conn.execute(delete(page_sessions).where(page_sessions.c.identity_id == id))
            return _get(tx.conn, id)

    def invited_to(self, invitation: str) -> str | None:
        """Whose book an invitation opens, while it does."""
        with self._database.unscoped() as conn:
            found = _open_invitation(conn, invitation, self._database.clock())
        if found is None:
            return None
        return found.owner

    def sign_in(
        self, issuer: str, subject: str, *, invitation: str | None = None, new_book: bool = False
    ) -> tuple[str, Identity]:
        """Start a session of the pages for who the provider says it is; returns the session's secret, this once.

        invitation: what a person shows who comes for the first time
        new_book: whether somebody without one begins an empty book
        """
        if not 0 < len(subject) <= LONGEST:
            raise Invalid(f"a subject has 1 to {LONGEST} characters", field="subject")
        known = self._known(issuer, subject)
        if known is None:
            known = self._join(issuer, subject, invitation, new_book=new_book)
        return self._session_for(known), known

    def _known(self, issuer: str, subject: str) -> Identity | None:
        standing = _is_person(issuer, subject) & identities.c.ended_at.is_(None)
        with self._database.unscoped() as conn:
            row = conn.execute(select(identities).where(standing)).first()
        if row is None:
            return None
        return _to_identity(row)

    def _join(self, issuer: str, subject: str, invitation: str | None, *, new_book: bool) -> Identity:
        now = self._database.clock()
        joined = {"issuer": issuer, "subject": subject, "joined_at": stamp(now)}
        if invitation is not None:
            return self._accept(invitation, joined, now)
        with self._database.unscoped() as conn:
            left = conn.execute(select(identities.c.id).where(_is_person(issuer, subject)).limit(1)).first()
        if left is not None or not new_book:
            raise NotAllowed(
                "nobody here has invited you; ask whoever runs this server for an invitation", code="not_invited"
            )
        row = _new_row(f"person-{secrets.token_hex(8)}", now) | joined
        with self._database.write(row["owner"]) as tx:
            tx.conn.execute(insert(identities), row)
            return _get(tx.conn, row["id"])

    def _accept(self, invitation: str, joined: dict[str, str], now: datetime) -> Identity:
        with self._database.unscoped() as conn:
            found = _open_invitation(conn, invitation, now)
        if found is None:
            raise _no_invitation()
        with self._database.write(found.owner) as tx:
            still = _open_invitation(tx.conn, invitation, now)  # somebody else may have used it since
            if still is None:
                raise _no_invitation()
            tx.conn.execute(update(identities).where(identities.c.id == still.id).values(joined))
            return _get(tx.conn, still.id)

    def _session_for(self, known: Identity) -> str:
        now = self._database.clock()
        secret = f"kbs_{secrets.token_urlsafe(32)}"
        row = {
            "hash": hash_of(secret),
            "identity_id": known.id,
            "created_at": stamp(now),
            "expires_at": stamp(now + SIGNED_IN),
        }
        ended = select(identities.c.id).where(identities.c.ended_at.isnot(None))
        with self._database.unscoped(writes=True) as conn:
            conn.execute(insert(page_sessions), row)
            conn.execute(delete(page_sessions).where(page_sessions.c.expires_at <= stamp(now)))
            conn.execute(delete(page_sessions).where(page_sessions.c.identity_id.in_(ended)))  # ended meanwhile
        return secret


def _new_row(owner: str, now: datetime) -> dict[str, Any]:
    return {"id": new_id(), "owner": owner, "created_at": stamp(now)}


def _is_person(issuer: str, subject: str) -> Any:
    return (identities.c.issuer == issuer) & (identities.c.subject == subject)


def _no_invitation() -> NotAllowed:
    return NotAllowed("this invitation was used, has ended, or never was; ask for another", code="not_invited")


def _open_invitation(conn: Connection, invitation: str, now: datetime) -> Identity | None:
    waiting = select(identities).where(
        identities.c.invitation == hash_of(invitation),
        identities.c.joined_at.is_(None),
        identities.c.ended_at.is_(None),
        identities.c.expires_at > stamp(now),
    )
    row = conn.execute(waiting).first()
    if row is None:
        return None
    return _to_identity(row)


def _get(conn: Connection, id: str) -> Identity:
    row = conn.execute(select(identities).where(identities.c.id == id)).first()
    if row is None:
        raise NotFound(f"nobody was invited as {id!r}")
    return _to_identity(row)


def _to_identity(row: Any) -> Identity:
    def when(text: str | None) -> datetime | None:
        if text is None:
            return None
        return parse_stamp(text)

    return Identity(
        row.id, row.owner, row.issuer, row.subject, parse_stamp(row.created_at), when(row.expires_at),
        when(row.joined_at), when(row.ended_at),
    )  # fmt: skip
