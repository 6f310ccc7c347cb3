"""${message}"""

from keepbook.storage.migrations import run_frozen

revision = "${up_revision}"
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    run_frozen(revision)
