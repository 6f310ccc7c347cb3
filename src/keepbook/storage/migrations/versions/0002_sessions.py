"""Sessions: chats and their words, notes, proposals, choices, the cost meter, due work."""

from keepbook.storage.migrations import run_frozen

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_frozen(revision)
