"""Vectors: what memories and turns mean, beside the words they say."""

from keepbook.storage.migrations import run_frozen

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_frozen(revision)
