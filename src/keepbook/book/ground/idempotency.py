"""Stores the answers to requests that may come twice.

A client that sends a key with a write may send it again after a lost connection: the write happens once, and both
requests get the same answer. The answer is stored for a day, in the transaction of the write, so neither exists without
the other.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, insert, select

from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.errors import Conflict, NotAllowed
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import answers

KEPT = timedelta(hours=24)


class StoredAnswer(NamedTuple):
    status: int
    body: str


def find_answer(tx: Tx, key: str, request: bytes) -> StoredAnswer | None:
    """The stored answer to this request. Another request under the same key is a conflict."""
    key = clean_line(key, "Idempotency-Key", 1, 200)
    known = select(answers).where(answers.c.owner == tx.owner, answers.c.key == key, answers.c.at > _oldest(tx))
    row = tx.conn.execute(known).first()
    if row is None:
        return None
    if row.request != _digest(request):
        raise Conflict(f"the key {key!r} was used for another request; choose a new one", code="key_reused")
    return StoredAnswer(row.status, row.body)


class _AnsweredMeanwhile(Exception):
    """Raised if the same request was answered while this one was prepared."""


def answer_once(book: OpenBook, key: str, request: bytes, answer: Callable[[], StoredAnswer]) -> StoredAnswer | None:
    """Carry out a request that has no stored answer, and store its answer in the same transaction, which begins with
    the first write. If another process has answered it meanwhile, nothing of this is kept, and that answer is
    returned."""
    meanwhile: list[StoredAnswer] = []

    def look_again(tx: Tx) -> None:
        found = find_answer(tx, key, request)
        if found is not None:
            meanwhile.append(found)
            raise _AnsweredMeanwhile

    try:
        with book._database.write_once_asked(book.owner, look_again) as begin:
            made = answer()
            tx = begin()
            if meanwhile:  # and somebody caught the error
                raise _AnsweredMeanwhile
            store_answer(tx, key, request, made)
    except _AnsweredMeanwhile:
        return meanwhile[0]
    except NotAllowed as refused:
        book._after_refusal(refused, ended=not book._is_writing)
        raise
    return None


def store_answer(tx: Tx, key: str, request: bytes, answer: StoredAnswer) -> None:
    tx.conn.execute(delete(answers).where(answers.c.owner == tx.owner, answers.c.at <= _oldest(tx)))
    tx.conn.execute(
        insert(answers),
        {
            "owner": tx.owner,
            "key": clean_line(key, "Idempotency-Key", 1, 200),
            "request": _digest(request),
            "status": answer.status,
            "body": answer.body,
            "at": stamp(tx.clock()),
        },
    )


def _digest(request: bytes) -> str:
    return hashlib.sha256(request).hexdigest()


def _oldest(tx: Tx) -> str:
    return stamp(tx.clock() - KEPT)
