"""Doors: tokens, leases for work that one worker does at a time, answers kept for requests that come twice."""

from keepbook.storage.migrations import run_frozen

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_frozen(revision)
