"""`/trading/import`: a file is looked at first, its columns are mapped, and only then is it loaded."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from starlette.testclient import TestClient
from tests.extensions.trading.book.imports.brokers import binance_spot, bybit

from keepbook.doors.http.web.frame.loading import LoadUnderWay
from keepbook.extensions.trading.pages import trade_import_form

TABLE = (
    "Opened At,Closed At,What,Way,Lots,In,Out,Costs\n2026-01-05 10:00,2026-01-06 10:00,EURUSD,Buy,2,1.10,1.12,0.01\n"
)
MEANS = {
    "means-Opened At": "entry_time", "means-Closed At": "exit_time", "means-What": "symbol", "means-Way": "side",
    "means-Lots": "quantity", "means-In": "entry_price", "means-Out": "exit_price", "means-Costs": "fee",
}  # fmt: skip


def kept(page: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', page)
    assert found
    return found[1]


def test_a_known_export_is_shown_and_then_loaded(client: TestClient, alice: Any) -> None:
    assert "Bring in trades" in client.get("/trading/import").text
    looked = client.post("/trading/import", files={"file": ("log.csv", bybit().text.encode())}).text
    assert "Bybit, transaction log" in looked
    assert "The file’s profit against ours" in looked
    assert "no trade" in looked
    assert alice.trading.trades().items == []
    done = client.post("/trading/import", data={"key": kept(looked), "name": "log.csv", "act": "load"}).text
    assert len(alice.trading.trades().items) == 5
    to = re.search(r'content="0; url=(/import/\d+)"', done)
    assert to
    assert "Loading 0 of" in done
    shown = client.get(to[1]).text
    assert "5 trades came in." in shown
    assert "made up closed trades" in shown
    assert "Not taken" in shown
    assert f'href="{to[1]}">5 trades</a>' in client.get("/trading/import").text
    undone = client.post(f"{to[1]}/undo").text
    assert "Undone: 5 trades taken out again" in undone
    assert alice.trading.trades().items == []
    twice = client.post(f"{to[1]}/undo")
    assert (twice.status_code, "was taken back already" in twice.text) == (422, True)
    elsewhere = LoadUnderWay("alice", 1, lambda _: None)  # of another worker: only its mark is seen here
    elsewhere._mark.touch()
    assert "It is being stopped" in client.post("/trading/import/stop", data={"key": elsewhere.key}).text
    assert not elsewhere._mark.exists()
    gone = client.post("/trading/import/stop", data={"key": "nobody"})
    assert (gone.status_code, "not under way here any more" in gone.text) == (404, True)


def test_the_page_of_a_load_says_what_was_held_before(client: TestClient, alice: Any) -> None:
    made = alice.trading.bring_in(binance_spot().text.encode())
    assert "Sold 1.5 SOL/USDT held before this file began" in client.get(f"/import/{made.load}").text


def test_an_unknown_table_is_mapped_and_the_mapping_kept(client: TestClient, alice: Any) -> None:
    asked = client.post("/trading/import", files={"file": ("t.csv", TABLE.encode())})
    assert asked.status_code == 422
    assert "What each column means" in asked.text
    assert "Say which columns are time, symbol, quantity and price." in asked.text
    assert 'name="means-Opened At"' in asked.text
    form = {"key": kept(asked.text), "name": "t.csv", **MEANS, "format": "my broker"}
    looked = client.post("/trading/import", data=form).text
    assert "As the book reads it" in looked
    client.post("/trading/import", data=form | {"act": "load"})
    assert len(alice.trading.trades().items) == 1
    assert alice.trading.mappings()["my broker"]["entry_time"] == "Opened At"
    days = b"Date,Symbol,Side,Quantity,Price\n2/6/2026,A,buy,1,$100\n3/6/2026,A,sell,1,$110\n"
    asked = client.post("/trading/import", files={"file": ("d.csv", days)})
    assert (asked.status_code, "is the day or the month first?" in asked.text) == (422, True)
    told = client.post("/trading/import", data={"key": kept(asked.text), "name": "d.csv", "dates": "day"})
    assert "2026-06-03" in told.text


def test_two_strategies_of_one_file_and_the_currency_it_does_not_name(client: TestClient, alice: Any) -> None:
    rows = "".join(
        f"2026-01-0{day} 10:00,2026-01-0{day} 12:00,ACME,buy,1,10,{out},{whose}\n"
        for day, out, whose in ((5, 12, "Momentum"), (6, 9, "Carry"), (7, 11, "Momentum"))
    )
    table = f"Entry Time,Exit Time,Symbol,Side,Quantity,Entry Price,Exit Price,Whose\n{rows}"
    asked = client.post("/trading/import", files={"file": ("t.csv", table.encode())}).text
    assert "the file does not say in which currency its prices are" in asked.lower()
    form = {"key": kept(asked), "name": "t.csv", "means-Whose": "account", "currency": "eur"} | {
        f"means-{name}": name.lower().replace(" ", "_")
        for name in ("Entry Time", "Exit Time", "Symbol", "Side", "Quantity", "Entry Price", "Exit Price")
    }
    looked = client.post("/trading/import", data=form).text
    assert "It goes into 2 strategies: Momentum EUR, Carry EUR" in looked
    client.post("/trading/import", data=form | {"act": "load"})
    made = {one.name: (one.account, one.currency) for one in alice.trading.deployments()}
    assert made == {"Momentum EUR": ("Momentum", "EUR"), "Carry EUR": ("Carry", "EUR")}
    assert sorted(one.pnl for one in alice.trading.trades().items) == [-1, 1, 2]
    named = client.post("/trading/import", data=form | {"currency": "x" * 30})
    assert (named.status_code, 'id="bad-currency"' in named.text) == (422, True)


def test_a_table_of_whole_trades_names_its_currency_in_a_column(alice: Any) -> None:
    table = (
        "Entry Time,Exit Time,Symbol,Side,Quantity,Entry Price,Exit Price,Currency\n"
        "2026-01-05 10:00,2026-01-05 12:00,ACME,buy,1,10,12,GBP\n"
    )
    alice.trading.bring_in(table.encode())
    assert [(one.name, one.currency) for one in alice.trading.deployments()] == [("Trades GBP", "GBP")]


def test_nothing_chosen_and_nothing_readable_are_said_at_the_file(client: TestClient) -> None:
    assert "Choose a file first" in client.post("/trading/import", data={}).text
    assert "no table" in client.post("/trading/import", files={"file": ("x", b"hello")}).text
    gone = client.post("/trading/import", data={"key": "made-up", "name": "t.csv"})
    assert (gone.status_code, "This file is not here any more; choose it again" in gone.text) == (422, True)


def test_a_load_is_stopped_with_nothing_left_or_taken_back_afterwards(
    person: Page, alice: Any, tmp_path: Path, held_at: Any
) -> None:
    file = tmp_path / "log.csv"
    file.write_text(bybit().text)

    def load() -> None:
        person.goto("/trading/import")
        person.get_by_label("A file to bring in").set_input_files(file)
        person.get_by_role("button", name=re.compile(r"^Bring in \d+")).click(no_wait_after=True)

    held_at(trade_import_form, 0)
    load()
    expect(person.get_by_text("Loading log.csv")).to_be_visible()
    person.get_by_role("button", name="Stop", exact=True).click()
    expect(person.get_by_text("Stopped: nothing came in.")).to_be_visible()
    assert alice.trading.trades().total == 0
    held_at(trade_import_form, -1)
    load()
    expect(person.get_by_text("5 trades came in.")).to_be_visible()
    person.get_by_role("button", name="Undo all of it").click()
    expect(person.get_by_text("Undone: 5 trades taken out again.")).to_be_visible()
    assert alice.trading.trades().total == 0
    _map_by_hand(person, tmp_path / "lots.csv")
    (trade,) = alice.trading.trades().items
    assert (trade.symbol, trade.quantity, trade.entry_price, trade.exit_price) == ("EUR/USD", 2, 1.10, 1.12)
    assert alice.verify().ok


def _map_by_hand(person: Page, file: Path) -> None:
    """A table that nobody knows: two of its columns are taken for each other at first, seen, and put right."""
    file.write_text(TABLE)
    person.goto("/trading/import")
    person.get_by_label("A file to bring in").set_input_files(file)
    expect(person.get_by_role("heading", name="What each column means")).to_be_visible()

    def means(column: str, ours: str) -> None:
        person.get_by_label(f"{column} means", exact=True).select_option(ours)

    for name, ours in MEANS.items():
        means(name.removeprefix("means-"), ours)
    means("In", "exit_price")
    means("Out", "entry_price")
    person.get_by_role("button", name="Show it with these choices").click()
    read = person.locator("section").filter(has=person.get_by_role("heading", name="As the book reads it"))
    expect(read.locator("[data-th=Profit]")).to_have_class(re.compile("loss"))
    means("In", "entry_price")
    means("Out", "exit_price")
    person.get_by_role("button", name="Show it with these choices").click()
    expect(read.locator("[data-th=Profit]")).to_have_class(re.compile("gain"))
    expect(person.get_by_label("In means", exact=True)).to_have_value("entry_price")
    person.get_by_role("button", name="Bring in 1 row", exact=True).click()
    expect(person.get_by_text("1 trade came in.")).to_be_visible()
