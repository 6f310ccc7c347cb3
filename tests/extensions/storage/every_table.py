"""Every table of a new database: of the core and of the extensions of this package."""

from keepbook.book.ledger.batch import batch_kinds
from keepbook.storage.tables import shipped_tables

TABLES = shipped_tables()
DECLARED, COVERED, EXPORTED, OWNED = TABLES.declared, TABLES.covered, TABLES.exported, TABLES.owned
PARENTS_FIRST = TABLES.parents_first
BY_NAME = {table.name: table for table in DECLARED}
KINDS = batch_kinds(TABLES)
