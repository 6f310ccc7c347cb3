"""Books that are being restored in pieces: until they are whole, nobody sees or writes them.

A lease says so, with the name of the owner. Only a file needs this, in which a long write holds up the writers of all
owners; on a server a restore is one transaction.
"""

from sqlalchemy import Connection

from keepbook.errors import Conflict
from keepbook.storage.prepared_statement import driver_of

RESTORING = "restore "
"""The beginning of the name of the lease."""
_LEASE = "SELECT 1 FROM leases WHERE name = ?"


def lease_of(owner: str) -> str:
    return f"{RESTORING}{owner}"


def refuse_hidden(conn: Connection, owner: str) -> None:
    """Refuse an owner whose book is being restored."""
    if driver_of(conn).execute(_LEASE, (f"{RESTORING}{owner}",)).fetchone() is not None:
        raise Conflict("this book is being restored; try again when that has ended", code="busy")
