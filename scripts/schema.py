"""The schema on its way to a release: `write`, `freeze`.

`write` writes the newest migration from `tables/` and `guards/`, while it is open. `freeze` is part of a release: it
keeps a small book of that schema with something in every table, as SQL, on each engine, and prints the line that pins
the migration by its hash. From then on a change of the schema is a migration of its own.
"""

import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from keepbook import Keepbook
from keepbook.storage import schema
from keepbook.storage.database import upgrade

ROOT = Path(__file__).parent.parent
VERSIONS = Path(schema.__file__).parent / "migrations" / "versions"
BOOKS = ROOT / "tests" / "extensions" / "storage" / "released"
SERVER = ROOT / "scripts" / "test_postgres.py"


def write() -> None:
    newest = schema.REVISIONS[-1]
    if newest in schema.PINNED:
        sys.exit(f"{newest} is released and never changes; begin the next migration")
    for engine in schema.ENGINES:
        (VERSIONS / f"{newest}_{engine}.sql").write_text(schema.shipped_sql(engine), encoding="utf-8")
        print(f"{newest}_{engine}.sql written")


def freeze() -> None:
    newest = schema.REVISIONS[-1]
    BOOKS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _keep_a_book(str(Path(folder) / "book.db"), BOOKS / f"{newest}_sqlite.sql")
        server = Path(folder) / "server"
        server.mkdir()
        with subprocess.Popen([sys.executable, str(SERVER), "keep", str(server)], stdin=subprocess.PIPE) as keeper:
            started = subprocess.run(
                [sys.executable, str(SERVER), "start", str(server)], stdout=subprocess.PIPE, check=True
            )
            url = started.stdout.decode().split()[-1]
            upgrade(url)
            _keep_a_book(url, BOOKS / f"{newest}_postgresql.sql")
            keeper.communicate()
    print(f'Now PINNED in storage/schema.py says "{newest}": "{schema.fingerprint(newest)}"')


def _keep_a_book(place: str, file: Path) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.furnished import dumped, furnished  # of the tests, which are not installed

    with closing(Keepbook(place)) as kb:
        furnished(kb)
    file.write_text(dumped(place), encoding="utf-8")


if __name__ == "__main__":
    {"write": write, "freeze": freeze}[sys.argv[1]]()
