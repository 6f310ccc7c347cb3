"""Agents: their runs and transcripts, the decisions that come of them, and the bars those are resolved on."""

from keepbook.storage.migrations import run_frozen

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_frozen(revision)
