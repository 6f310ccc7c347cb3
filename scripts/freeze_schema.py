"""Write the frozen SQL of the first migration from `tables.py` and `guards/`.

Run it while revision 0001 is unreleased; after that, a change is a new migration written by hand.
"""

from pathlib import Path

from sqlalchemy import create_mock_engine
from sqlalchemy.sql.ddl import ExecutableDDLElement

import keepbook.storage
from keepbook.storage.schema import guards
from keepbook.storage.tables import metadata

VERSIONS = Path(keepbook.storage.__file__).parent / "migrations" / "versions"


def frozen(engine: str, url: str) -> str:
    statements: list[str] = []

    def take(statement: ExecutableDDLElement, *_: object, **__: object) -> None:
        compiled = str(statement.compile(dialect=mock.dialect))
        statements.append("\n".join(line.rstrip() for line in compiled.strip().splitlines()) + ";")

    mock = create_mock_engine(url, take)
    metadata.create_all(mock, checkfirst=False)
    return "\n\n".join(statements) + "\n\n" + guards(engine)


for engine, url in (("sqlite", "sqlite://"), ("postgresql", "postgresql+psycopg://")):
    target = VERSIONS / f"0001_{engine}.sql"
    target.write_text(frozen(engine, url), encoding="utf-8")
    print(f"{target.name}: {len(target.read_text().splitlines())} lines")
