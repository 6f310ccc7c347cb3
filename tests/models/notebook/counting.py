"""How often a turn asks the database: transactions, and statements that only read, on either engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, event

from keepbook import Keepbook
from keepbook.storage import prepared_statement


@dataclass
class Counted:
    transactions: int = 0
    reads: int = 0

    def statement(self, sql: str) -> None:
        self.reads += sql.lstrip().upper().startswith(("SELECT", "WITH"))


@contextmanager
def counting(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Counts what the body does in the book; what is read inside a transaction that writes counts as writing."""
    counted = Counted()
    backend: Any = kb._database.backend
    state = {"writing": False}

    def noted(sql: str) -> None:
        if not state["writing"]:
            counted.statement(sql)

    def through(name: str, writes: bool) -> Any:
        original = getattr(backend, name)

        @contextmanager
        def opened(owner: str) -> Iterator[Any]:
            counted.transactions += 1
            with original(owner) as conn:
                state["writing"] = writes
                try:
                    yield conn
                finally:
                    state["writing"] = False

        return opened

    def executed(_conn: Any, _cursor: Any, sql: str, *_: Any) -> None:
        noted(sql)

    tuples = prepared_statement.PreparedStatement.tuples

    def prepared_tuples(self: Any, conn: Any, values: Any) -> Any:
        noted("SELECT")
        return tuples(self, conn, values)

    with monkeypatch.context() as patch:
        patch.setattr(backend, "reading", through("reading", False), raising=False)
        patch.setattr(backend, "writing", through("writing", True), raising=False)
        patch.setattr(prepared_statement.PreparedStatement, "tuples", prepared_tuples)
        event.listen(Engine, "before_cursor_execute", executed)
        try:
            yield counted
        finally:
            event.remove(Engine, "before_cursor_execute", executed)
