"""Migrations as frozen SQL: `versions/NNNN_<engine>.sql` holds exactly what release NNNN changed.

A migration never imports today's tables: what it did on the day of its release is what it does for ever.
"""

from pathlib import Path

from alembic import op

from keepbook.storage.statements import split


def run_frozen(revision: str) -> None:
    conn = op.get_bind()
    script = Path(__file__).parent / "versions" / f"{revision}_{conn.dialect.name}.sql"
    for statement in split(script.read_text(encoding="utf-8")):
        # Without parameters a driver leaves the percent signs of a script alone.
        conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
