"""The book as it was first released: the ledger and everything it covers, chats, agents, trading, doors, indexes."""

from keepbook.storage.migrations import run_frozen
from keepbook.storage.schema import schema_mark

revision: str = schema_mark("0001")
down_revision = None


def upgrade() -> None:
    run_frozen("0001")
