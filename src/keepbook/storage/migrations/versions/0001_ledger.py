"""The ledger: owners, memories with their versions, links, injections, erasures, the word index."""

from keepbook.storage.migrations import run_frozen

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_frozen(revision)
