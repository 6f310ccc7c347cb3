"""Stores the answers to requests that may come twice.

A client that sends a key with a write may send it again after a lost connection: the write happens once, and both
requests get the same answer. The answer is stored for a day, in the transaction of the write, so neither exists without
the other.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import delete, insert, select

from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.errors import Conflict, NotAllowed
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import answers

Made = TypeVar("Made")
KEPT = timedelta(hours=24)
"""How long an answer is stored."""


BESIDE = " beside memory"
"""What is stored behind the digest of a request whose answer was made without asking for memory."""


class StoredAnswer(NamedTuple):
    """The status and the body of an HTTP answer."""

    status: int
    body: str
    beside_memory: bool = False
    """Whether it was made without asking for memory, so that it may be given again while memory is switched off."""


def find_answer(tx: Tx, key: str, request: bytes) -> StoredAnswer | None:
    """The stored answer to this request, if there is one. If the key was used for another request: `Conflict`."""
    key = clean_line(key, "Idempotency-Key", 1, 200)
    known = select(answers).where(answers.c.owner == tx.owner, answers.c.key == key, answers.c.at > _oldest(tx))
    row = tx.conn.execute(known).first()
    if row is None:
        return None
    if row.request.removesuffix(BESIDE) != _digest(request):
        raise Conflict(f"the key {key!r} was used for another request; choose a new one", code="key_reused")
    return StoredAnswer(row.status, row.body, row.request.endswith(BESIDE))


class AnsweredMeanwhile(Exception):
    """Raised if the same request has been answered by another process in the meantime."""

    def __init__(self, answer: StoredAnswer) -> None:
        super().__init__()
        self.answer = answer


class Keyed:
    """A request with a key that is carried out in several transactions, such as an import.

    Each of them calls `look` first, and the last one `end` with the result, of which `tell` makes the answer.
    """

    def __init__(self, key: str, request: bytes, tell: Callable[[Any], StoredAnswer]) -> None:
        self._key, self._request, self._tell = key, request, tell

    def look(self, tx: Tx) -> None:
        """Raise `AnsweredMeanwhile` if the request has been answered."""
        found = find_answer(tx, self._key, self._request)
        if found is not None:
            raise AnsweredMeanwhile(found)

    def end(self, tx: Tx, done: object) -> None:
        """Store the answer."""
        store_answer(tx, self._key, self._request, self._tell(done))


def heed_answer(tx: Tx, keyed: Keyed | None) -> None:
    """Look whether a request that may have a key was answered meanwhile."""
    if keyed is not None:
        keyed.look(tx)


def answered(tx: Tx, done: Made, keyed: Keyed | None) -> Made:
    """Store the answer to a request that may have a key."""
    if keyed is not None:
        keyed.end(tx, done)
    return done


def answer_once(book: OpenBook, key: str, request: bytes, answer: Callable[[], StoredAnswer]) -> StoredAnswer | None:
    """Call `answer`, and store what it returns in the same transaction as everything that it writes.

    The transaction begins with its first write. If the request has been answered by another process until then, nothing
    is written, and that answer is returned; else None.
    """
    meanwhile: list[AnsweredMeanwhile] = []

    def look_again(tx: Tx) -> None:
        found = find_answer(tx, key, request)
        if found is not None:
            meanwhile.append(AnsweredMeanwhile(found))
            raise meanwhile[0]

    try:
        with book._database.write_once_asked(book.owner, look_again) as begin:
            made = answer()
            tx = begin()
            if meanwhile:  # `answer` has caught the error of `look_again`
                raise meanwhile[0]
            store_answer(tx, key, request, made)
    except AnsweredMeanwhile as answered:
        return answered.answer
    except NotAllowed as refused:
        book._after_refusal(refused, ended=not book._is_writing)
        raise
    return None


def store_answer(tx: Tx, key: str, request: bytes, answer: StoredAnswer) -> None:
    """Store an answer, and delete the owner's old ones."""
    tx.conn.execute(delete(answers).where(answers.c.owner == tx.owner, answers.c.at <= _oldest(tx)))
    tx.conn.execute(
        insert(answers),
        {
            "owner": tx.owner,
            "key": clean_line(key, "Idempotency-Key", 1, 200),
            "request": _digest(request) + (BESIDE if answer.beside_memory else ""),
            "status": answer.status,
            "body": answer.body,
            "at": stamp(tx.clock()),
        },
    )


def forget_answers(tx: Tx) -> None:
    """Remove all that are stored, when something is deleted for good: an answer quotes what was written."""
    tx.conn.execute(delete(answers).where(answers.c.owner == tx.owner))


def _digest(request: bytes) -> str:
    return hashlib.sha256(request).hexdigest()


def _oldest(tx: Tx) -> str:
    """The instant up to which stored answers count no more."""
    return stamp(tx.clock() - KEPT)
