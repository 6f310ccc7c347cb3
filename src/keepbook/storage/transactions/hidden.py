"""Books that are hidden while they are restored or erased in pieces: until that has ended, nobody sees or writes them.

A lease says so, with the name of the owner. Only a file needs this, in which a long write holds up the writers of all
owners; on a server a restore or an erasure is one transaction.
"""

import json

from sqlalchemy import Connection

from keepbook.errors import Conflict
from keepbook.storage.prepared_statement import driver_of

HIDDEN = "hidden "
"""The beginning of the name of the lease. Its holder is JSON: a token, why the book is hidden, and what is kept for
that."""
RESTORED, ERASED = "restored", "erased"
_LEASE = "SELECT holder FROM leases WHERE name = ?"


def lease_of(owner: str) -> str:
    return f"{HIDDEN}{owner}"


def refuse_hidden(conn: Connection, owner: str) -> None:
    """Refuse an owner whose book is hidden."""
    found = driver_of(conn).execute(_LEASE, (f"{HIDDEN}{owner}",)).fetchone()
    if found is not None:
        why = json.loads(found[0])[1]
        raise Conflict(f"this book is being {why}; try again when that has ended", code="busy")
