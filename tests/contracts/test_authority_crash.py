"""Kill -9 during sign-out, revocation and import: afterwards each has happened or has not, and nothing is between.

A child begins the act and is killed at a random moment. Run as a program, this file is that child.
"""

import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepbook import Keepbook

ROUNDS = int(os.environ.get("KEEPBOOK_TEST_ROUNDS", "3"))


def act(url: str, what: str, given: str) -> None:
    with Keepbook(url) as kb:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if what == "sign-out":
            kb.tokens.sign_out(given)
        elif what == "revoke":
            kb.tokens.revoke(given)
        else:
            kb.book("bob").import_(Path(given).read_text().splitlines())


def killed(url: str, what: str, given: str, after: float) -> None:
    """Begin it in a process of its own, and kill that one."""
    child = subprocess.Popen([sys.executable, __file__, url, what, given], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()


def exported(kb: Keepbook, owner: str) -> str:
    out = io.StringIO()
    kb.book(owner).export(out)
    return out.getvalue()


@pytest.mark.parametrize("what", ["sign-out", "revoke", "import"])
def test_a_crash_in_sign_out_revocation_or_import_leaves_no_half_state(
    kb: Keepbook, book_url: str, tmp_path: Path, what: str
) -> None:
    chance = random.Random(what)
    alice = kb.book("alice")
    for number in range(40):
        alice.remember(f"Fact number {number}")
    alice.agents.create("Morning", schedule="30 7 * * *")
    text = exported(kb, "alice")
    file = tmp_path / "book.jsonl"
    file.write_text(text)
    empty = exported(kb, "bob")
    for _ in range(ROUNDS):
        made = kb.tokens.create("alice")
        session = kb.tokens.session_for(made.known.id)
        given = {"sign-out": session, "revoke": made.known.id, "import": str(file)}[what]
        killed(book_url, what, given, chance.random() * (0.3 if what == "import" else 0.02))
        opens, signed_in = kb.tokens.check(made.token) is not None, kb.tokens.of_session(session) is not None
        assert opens or not signed_in, "a session outlived its token"
        assert what == "revoke" or opens
        assert what == "import" or exported(kb, "bob") == empty
        after = exported(kb, "bob")
        assert after in (empty, text), "half a book came in"
        if after == text:
            assert not any(agent.armed for agent in kb.book("bob").agents.list())
            assert kb.book("bob").verify().ok
            kb.book("bob").erase("bob")


if __name__ == "__main__":
    act(*sys.argv[1:])
