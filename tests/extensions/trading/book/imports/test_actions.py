"""What happens to a holding: splits, expiries, assignments; what is left open; accounts and currencies kept apart."""

from decimal import Decimal
from typing import Any

import pytest

from keepbook.errors import Conflict, Invalid
from keepbook.extensions.trading.book.imports import formats, trade_table
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    make_action,
    make_fill,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill, OptionTerms
from keepbook.extensions.trading.book.imports.table import FileRow

COLUMNS = ("when", "what", "way", "size", "at", "acct", "ccy", "mult", "why", "strike")
HEAD = ",".join(COLUMNS) + "\n"


def _row(line: FileRow, reader: CellReader) -> Fill:
    """A broker's reader as they are written: executions, and what happens without one."""
    cells = {name: str(line.cells.get(name) or "") for name in COLUMNS}
    told: dict[str, Any] = {
        "time": reader.moment(line, "when"), "symbol": cells["what"], "side": cells["way"],
        "quantity": Decimal(cells["size"]), "quote": cells["ccy"], "account": cells["acct"],
        "multiplier": float(cells["mult"] or 1), "reason": cells["why"] or None,
    }  # fmt: skip
    if cells["way"] in ("buy", "sell"):
        return make_fill(line, price=reader.number(line, "at"), **told)
    if cells["strike"]:
        right = "call" if cells["what"].endswith("C") else "put"
        told["option"] = OptionTerms(cells["what"][:-1], right, float(cells["strike"]))
    return make_action(line, **told)


@pytest.fixture(autouse=True)
def house_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    made = FileFormat("house", "House Broker, activity", (frozenset(COLUMNS),), frozenset(COLUMNS), row_by_row(_row))
    for module in (formats, trade_table):
        monkeypatch.setattr(module, "KNOWN", (*formats.KNOWN, made))


def bring(book: Any, *rows: str, **told: Any) -> Any:
    return book.trading.bring_in((HEAD + "".join(f"{row}\n" for row in rows)).encode(), **told)


def held(book: Any, **asked: Any) -> list[tuple[str, str, float, float]]:
    found = book.trading.positions(**asked)
    return [(one.symbol, one.side, round(one.quantity, 9), round(one.entry_price, 9)) for one in found]


def earned(book: Any) -> list[tuple[str, str, float, float, float, str | None]]:
    found = sorted(book.trading.trades(limit=100).items, key=lambda one: (one.exit_time, one.symbol))
    return [
        (one.symbol, one.side, round(one.quantity, 9), round(one.entry_price, 9), round(one.pnl, 6), one.exit_reason)
        for one in found
    ]


def test_open_lots_are_positions_that_change_and_come_back(alice: Any) -> None:
    first = bring(alice, "2026-01-05 10:00,AAA,buy,10,100,,USD,,,", "2026-01-06 10:00,AAA,buy,5,110,,USD,,,")
    assert (first.open, held(alice)) == (2, [("AAA", "long", 10, 100), ("AAA", "long", 5, 110)])
    second = bring(alice, "2026-01-07 10:00,AAA,sell,12,120,,USD,,stop,", "2026-01-08,BBB,sell,2,50,,USD,100,,")
    assert held(alice) == [("AAA", "long", 3, 110), ("BBB", "short", 200, 50)], "a contract counts its size"
    assert [one[-1] for one in earned(alice)] == ["stop", "stop"], "why it ended is what the exit says"
    assert alice.trading.performance().open_positions == 2
    assert held(alice, known_at="2026-01-06T12:00:00Z") == [("AAA", "long", 10, 100), ("AAA", "long", 5, 110)]
    alice.trading.take_back(second.load)
    assert held(alice) == [("AAA", "long", 10, 100), ("AAA", "long", 5, 110)]
    alice.trading.take_back(first.load)
    assert (held(alice), alice.trading.deployments(), alice.trading.skills()) == ([], [], [])
    assert bring(alice, "2026-01-05 10:00,AAA,buy,10,100,,USD,,,").added == 1
    assert held(alice) == [("AAA", "long", 10, 100)]
    assert alice.verify().ok


def test_a_split_of_the_file_makes_more_of_what_was_bought_before_it(alice: Any) -> None:
    made = bring(
        alice,
        "2026-01-05,AAA,buy,10,400,,USD,,,", "2026-02-02,AAA,split,3,,,USD,,,", "2026-02-02,AAA,buy,1,130,,USD,,,",
        "2026-02-03,AAA,sell,10,140,,USD,,,", "2026-02-04,CCC,split,2,,,USD,,,",
    )  # fmt: skip
    assert (made.trades, made.wrong, made.rows) == (1, 0, 5)
    assert earned(alice) == [("AAA", "long", 10, round(400 / 3, 9), round((140 - 400 / 3) * 10, 6), None)]
    assert held(alice) == [("AAA", "long", 20, round(400 / 3, 9)), ("AAA", "long", 1, 130)]
    assert bring(alice, "2026-02-02,AAA,split,3,,,USD,,,").unchanged == 1
    again = bring(alice, "2026-02-05,AAA,sell,21,150,,USD,,,")
    assert (again.open, held(alice)) == (0, []), "thirds of a share are not left over"
    alice.trading.take_back(again.load)
    assert held(alice) == [("AAA", "long", 20, round(400 / 3, 9)), ("AAA", "long", 1, 130)]
    reverse = bring(alice, "2026-03-01,AAA,split,0.1,,,USD,,,")
    assert held(alice) == [("AAA", "long", 2, round(4000 / 3, 9)), ("AAA", "long", 0.1, 1300)]
    alice.trading.take_back(reverse.load)
    assert held(alice)[0] == ("AAA", "long", 20, round(400 / 3, 9))


def test_a_split_is_said_once_for_every_account_and_taken_back(alice: Any) -> None:
    trading = alice.trading
    for account in ("U1", "U2"):
        bring(alice, f"2026-01-05,AAA,buy,10,400,{account},USD,,,")
    with pytest.raises(Invalid, match="4"):
        trading.split("AAA", "0", on="2026-02-02")
    load = trading.split("aaa", "4:1", on="2026-02-02")
    assert held(alice) == [("AAA", "long", 40, 100)] * 2
    assert held(alice, known_at="2026-01-20T00:00:00Z") == [("AAA", "long", 10, 400)] * 2
    with pytest.raises(Conflict, match="already"):
        trading.split("AAA", 4, on="2026-02-03")
    sold = bring(alice, "2026-02-05,AAA,sell,40,110,U1,USD,,,")
    assert earned(alice) == [("AAA", "long", 40, 100, 400, None)]
    with pytest.raises(Conflict, match=f"undo load {sold.load} first"):
        trading.take_back(load.nth)
    trading.take_back(sold.load)
    trading.take_back(load.nth)
    assert held(alice) == [("AAA", "long", 10, 400)] * 2
    late = bring(alice, "2026-02-05,AAA,sell,10,110,U1,USD,,,")
    with pytest.raises(Conflict, match=f"undo load {late.load}, say the split, and load the file again"):
        trading.split("AAA", 4, on="2026-02-02")
    assert alice.verify().ok


def test_options_expire_and_are_assigned(alice: Any) -> None:
    made = bring(
        alice,
        "2026-01-05,AAAC,sell,2,1.5,,USD,100,,", "2026-01-05,BBBP,buy,1,2,,USD,100,,",
        "2026-01-05,CCCP,sell,1,3,,USD,100,,", "2026-01-05,AAA,buy,300,90,,USD,,,",
        "2026-01-16,AAAC,assigned,2,,,USD,100,,100", "2026-01-16,BBBP,expiry,1,,,USD,100,,",
        "2026-01-16,CCCP,assigned,1,,,USD,100,,50", "2026-01-16,DDDC,expiry,1,,,USD,100,,",
    )  # fmt: skip
    assert (made.rows, made.wrong, made.refused[0].reason) == (8, 1, "nothing open that could expire")
    assert earned(alice) == [
        ("AAA", "long", 200, 90, 2000, "assigned"),
        ("AAAC", "short", 200, 1.5, 300, "assigned"),
        ("BBBP", "long", 100, 2, -200, "expired"),
        ("CCCP", "short", 100, 3, 300, "assigned"),
    ]
    assert held(alice) == [("AAA", "long", 100, 90), ("CCC", "long", 100, 50)]
    again = bring(alice, "2026-01-16,AAAC,assigned,2,,,USD,100,,100")
    assert (again.unchanged, again.trades) == (1, 0)


def test_accounts_and_currencies_have_deployments_of_their_own(alice: Any) -> None:
    rows = (
        "2026-01-05,AAA,buy,10,100,U1,USD,,,", "2026-01-06,AAA,sell,10,110,U1,USD,,,",
        "2026-01-05,SAP,buy,10,200,U1,EUR,,,", "2026-01-06,SAP,sell,10,190,U1,EUR,,,",
        "2026-01-05,AAA,buy,10,100,U2,USD,,,", "2026-01-06,AAA,sell,10,111,U2,USD,,,",
    )  # fmt: skip
    shown = bring(alice, *rows, dry_run=True)
    made = bring(alice, *rows)
    names = ("House Broker U1 USD", "House Broker U1 EUR", "House Broker U2 USD")
    assert shown.deployments == made.deployments == names
    assert (made.profit, made.profits) == (None, {"USD": 210.0, "EUR": -100.0})
    found = [(one.name, one.account, one.currency) for one in alice.trading.deployments()]
    assert found == [(names[0], "U1", "USD"), (names[1], "U1", "EUR"), (names[2], "U2", "USD")]
    assert bring(alice, *rows).unchanged == 6
    kept = alice.trading.create_deployment("Mine", alice.trading.skills()[0].id, currency="USD")
    into = bring(alice, "2026-02-05,SAP,buy,1,200,,EUR,,,", "2026-02-05,AAA,buy,1,99,,USD,,,", deployment=kept.id)
    assert (into.added, into.wrong) == (1, 1)
    assert into.refused[0].reason.startswith("SAP counts in EUR and Mine in USD, which are not added up")
    alice.trading.take_back(into.load)
    alice.trading.take_back(made.load)
    assert [one.name for one in alice.trading.deployments()] == ["Mine"]
