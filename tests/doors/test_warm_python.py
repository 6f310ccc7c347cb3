"""The programs that tests start are processes of their own, though the house is loaded before they begin."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every program is started fresh")


def started(*words: str, **more: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, __file__, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more
    )


def told(*words: str, said: str = "", **more: Any) -> dict[str, Any]:
    with started("tell", *words, **more) as program:
        found = json.loads(program.communicate(said)[0])
    return found | {"code": program.returncode, "number": program.pid}


@LINUX
def test_a_program_has_what_it_was_given_and_is_its_own_process(tmp_path: Path) -> None:
    one = told("a", "b c", said="heard", cwd=tmp_path, env={**os.environ, "KEEPBOOK_OWNER": "carol"})
    assert one["loaded"], "it was started warm"
    assert (one["words"], one["said"], one["place"]) == (["a", "b c"], "heard", str(tmp_path))
    assert (one["owner"], one["code"], one["pid"]) == ("carol", 7, one["number"])
    assert (one["parent"], one["name"]) == (os.getpid(), "__main__")
    two = told(cwd=tmp_path)
    assert two["pid"] != one["pid"]
    assert two["owner"] is None, "nothing of the one before is left"


@LINUX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_whoever_waits_is_told(number: int) -> None:
    with started("wait") as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "waiting\n"
        program.send_signal(number)
        assert program.wait(30) == -number


def test_what_only_a_fresh_interpreter_can_do_starts_one() -> None:
    assert not told(env={**os.environ, "PYTHONUTF8": "1"})["loaded"]
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print('keepbook.doors.cli' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"


def main(words: list[str]) -> int:
    if words[0] == "wait":
        sys.stdout.write("waiting\n")
        sys.stdout.flush()
        signal.pause()
    found = {
        "words": words[1:], "said": sys.stdin.read(), "place": os.getcwd(), "owner": os.environ.get("KEEPBOOK_OWNER"),
        "pid": os.getpid(), "parent": os.getppid(), "name": __name__, "loaded": "keepbook.doors.cli" in sys.modules,
    }  # fmt: skip
    sys.stdout.write(json.dumps(found))
    return 7


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
