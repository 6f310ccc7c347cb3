"""A book in memory that has the tables and guards of another, in which something is tried that the other is spared."""

from keepbook.storage.database import Database, Tx
from keepbook.storage.installed import Record, installed_code, table_set


def twin_of(tx: Tx, record: Record) -> Database | None:
    """An empty book like the one of a transaction, whose `record` of extensions is given. If the code of one is gone,
    or is of another version, the twin's tables are made as the file has them; of a server none can be made then."""
    twin = Database(":memory:", tx.clock, extensions=installed_code(record))
    if twin.record == record:
        return twin
    if tx.conn.dialect.name != "sqlite":
        twin.close()
        return None
    twin.become_empty_like(tx.conn)
    twin.record, twin.tables = record, table_set(record)
    return twin
