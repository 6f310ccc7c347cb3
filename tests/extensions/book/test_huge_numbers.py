"""Numbers that no column holds, given to every public number argument of a book and its parts: a clear refusal before
any statement, which spoils no transaction."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from keepbook.book.ground.limits import clean_share
from keepbook.errors import Invalid, KeepbookError

NO_PLAIN_VALUES = ("acting", "bring_in", "compress", "of", "reading", "renew", "transaction", "under", "writing")
"""They take objects of ours, or are no operations."""
HUGE = (2**70, -(2**70), 10**400, 10**5000)


def number_arguments(part: Any, name: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The method, the argument, and the others that it needs."""
    for called, method in inspect.getmembers(part, inspect.ismethod):
        if called.startswith("_") or called in NO_PLAIN_VALUES:
            continue
        asked = inspect.signature(method).parameters
        needed = {one.name: "x" for one in asked.values() if one.default is one.empty and one.kind in (1, 3)}
        for one in asked.values():
            if any(kind in str(one.annotation).replace("print", "") for kind in ("int", "float")):
                yield f"{name}.{called}", one.name, needed


def test_a_number_that_no_column_holds_is_refused_and_spoils_nothing(kb: Any, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    with alice.transaction():
        for call in (
            lambda huge: alice.ledger(limit=huge),
            lambda huge: alice.ledger(before=huge),
            lambda huge: alice.remember("Has a dog", importance=huge),
            lambda huge: alice.update(mine.id, "Lives in Bergen", importance=huge),
            lambda huge: alice.update(mine.id, "Lives in Bergen", expect_version=huge),
            lambda huge: alice.list(limit=huge),
            lambda huge: alice.loads(limit=huge),
            alice.undo,
            alice.take_back,
        ):
            for huge in HUGE:
                with pytest.raises(KeepbookError):
                    call(huge)
        alice.remember("Has a cat")
    assert {one.content for one in alice.list()} == {"Lives in Oslo", "Has a cat"}


def test_every_number_argument_of_every_part_takes_a_huge_one_as_a_refusal(kb: Any, alice: Any) -> None:
    parts = {name: getattr(alice, name) for name in ("threads", "notes", "proposals", "agents", "trading", "decisions")
             if hasattr(alice, name)} | {"book": alice}  # fmt: skip
    wrong, tried = [], 0
    for part, found in parts.items():
        for called, argument, needed in number_arguments(found, part):
            method = getattr(found, called.partition(".")[2])
            for huge in HUGE:
                tried += 1
                try:
                    method(**{**needed, argument: huge})
                except KeepbookError:
                    continue
                except Exception as error:  # noqa: BLE001  whatever else it is, it is wrong
                    wrong.append(f"{called}({argument}={str(huge)[:6] if huge < 10**400 else 'huge'}): {error!r:.90}")
    assert tried > 40
    assert not wrong, "\n".join(sorted(set(wrong)))


@pytest.mark.parametrize(
    "share", [float("nan"), float("inf"), 10**5000, -1, True], ids=["nan", "inf", "huge", "-1", "bool"]
)
def test_a_share_is_between_nought_and_one(share: Any) -> None:
    with pytest.raises(Invalid):
        clean_share(share, "importance")
