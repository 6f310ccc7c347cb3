"""Run the tests in their two parts: the core's where no extension can be imported, then all others.

What is given is passed on to pytest, once for each part. A part in which nothing was asked for is no fault, as long as
the other has something. Which test belongs where says tests/parts.py.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.parts import PARTS, TESTS, may_have, named_path

INTERRUPTED, NOTHING = 2, 5
"""Of pytest's exit codes: somebody, or -x, has ended the run; no test was collected."""


def words_of(part: str, words: list[str]) -> list[str] | None:
    """The command line of one part; None where it names only tests of the other."""
    paths = [word for word in words if TESTS in (path := named_path(word)).parents and path.exists()]
    others = [word for word in paths if not may_have(named_path(word), part)]
    if paths and paths == others:
        return None
    return [word for word in words if word not in others]


def run_part(part: str, words: list[str] | None) -> int:
    if words is None:
        return NOTHING
    print(f"--- {part} ---", flush=True)
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, env=os.environ | {"KEEPBOOK_TESTS": part}, cwd=TESTS.parent, check=False).returncode


def run_parts(words: list[str]) -> int:
    """The exit code of both: the first that tells of a failure."""
    codes = []
    for part in PARTS:
        codes.append(run_part(part, words_of(part, words)))
        if codes[-1] == INTERRUPTED:
            return INTERRUPTED
    if codes == [NOTHING, NOTHING]:
        return NOTHING
    return next((code for code in codes if code not in (0, NOTHING)), 0)


if __name__ == "__main__":
    try:
        sys.exit(run_parts(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
