"""Migrations as frozen SQL: `versions/NNNN_<engine>.sql` holds exactly what release NNNN changed.

A migration never imports today's tables: what it did on the day of its release is what it does for ever. The newest
one is open until it is released: `scripts/schema.py write` writes it from the tables and guards, and
`scripts/schema.py freeze` ends that.
"""

from alembic import op

from keepbook.storage.schema import frozen
from keepbook.storage.statements import split


def run_frozen(revision: str) -> None:
    conn = op.get_bind()
    for statement in split(frozen(revision, conn.dialect.name)):
        # Without parameters a driver leaves the percent signs of a script alone.
        conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
