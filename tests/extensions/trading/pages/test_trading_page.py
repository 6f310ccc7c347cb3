"""Trading: figures with their reasons, equity and drawdown, events with exposure, lessons, files with wrong rows."""

import html
import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page, expect
from tests.extensions.trading.traded import (
    BEGUN,
    CHOP,
    HEADER,
    TREND,
    deployed,
    exposed,
    flat_lines,
    row,
    trade_lines,
    traded,
)

from keepbook.extensions.trading.pages import view
from keepbook.extensions.trading.pages.charts import SHALLOW, TALL, equity_chart

NOW = datetime(2026, 11, 12, 9, 16, tzinfo=UTC)
LOST = "The last 8 BTC/USDT longs in chop all lost"
BAD = "BTC/USDT,sideways,1,2026-11-01T00:00:00Z,100,2026-11-02T00:00:00Z,101,0,,"


@pytest.fixture
def desk(alice: Any, clock: Any) -> Any:
    now = clock.now
    clock.set("2026-08-01T09:00:00Z")  # before everything: it is an entry, and none comes before another
    alice.configure(zone="Europe/Vienna")
    made = traded(alice)
    clock.set(now)
    return made


@pytest.fixture
def enough(alice: Any, desk: Any) -> None:
    """Trades for a first look beside those of the desk."""
    assert not alice.trading.load("trades", flat_lines(), deployment=desk.id).wrong


def seen(answer: Any) -> str:
    """What a page says, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def lesson(alice: Any, piece: str, state: str = "all") -> Any:
    return next(one for one in alice.trading.lessons(state=state) if piece in one.text)


def send(client: Any, path: str, *lines: str, kind: str = "trades", name: str = "mine.csv") -> Any:
    return client.post(path, data={"kind": kind}, files={"file": (name, "\n".join(lines).encode())})


# --- the list


def test_with_nothing_traded_the_page_says_how_to_begin(client: Any) -> None:
    text = client.get("/trading").text
    assert "Nothing trades here yet" in text
    assert "keepbook trading import trades trades.csv" in text
    assert 'href="/trading/new"' in text
    assert 'class="btn primary" href="/trading/import"' in text
    assert 'href="/trading/load"' in client.get("/trading/import").text


def test_the_list_shows_what_each_deployment_came_to(client: Any, alice: Any, desk: Any) -> None:
    deployed(alice, "First try", capital=None, ended_at="2026-09-01T00:00:00Z")
    answer = client.get("/trading")
    text = seen(answer)
    assert "Range breakout" in text
    assert "Goes with what breaks out." in text
    assert re.search(r"Kraken, paper In use .*Kraken · 10,000 USDT · since 14 Aug \+117\.00 — .*−0\.2 % 22 0", text)
    assert re.search(r"First try Ended .*ended 1 Sep — no closed trades yet", text)
    assert answer.text.count('class="spark"') == 1


def test_a_skill_without_a_deployment_offers_one(client: Any, alice: Any) -> None:
    alice.trading.create_skill("Carry")
    answer = client.get("/trading")
    assert "It runs nowhere yet" in answer.text
    assert 'href="/trading/new?skill=Carry"' in answer.text


# --- one deployment


def test_the_figures_stand_with_their_names(client: Any, desk: Any) -> None:
    text = seen(client.get(f"/trading/{desk.id}"))
    assert "In use deployed 14 Aug Kraken 22 closed trades 0 open positions" in text
    assert "Profit +117 USDT, +1.2 %" in text
    assert re.search(r"Sharpe — 22 trades in \d+ days; from 30 of both on", text)
    assert "Average win" in text
    assert re.search(r"Longest drawdown \d+ days?", text)
    assert "Deepest drawdown −0.2 % from the peak" in text
    assert "Win rate 59 % 13 of 22" in text
    assert "Profit factor 2.23 after fees" in text


def test_what_has_no_figure_is_a_dash_with_its_reason_and_never_a_zero(client: Any, alice: Any) -> None:
    empty = deployed(alice, "Empty")
    assert seen(client.get(f"/trading/{empty.id}")).count("— no closed trades yet") == 5
    bare = traded(alice, name="Bare", capital=None)
    text = seen(client.get(f"/trading/{bare.id}"))
    assert "Sharpe — needs the capital" in text
    assert "Deepest drawdown — −23.00; needs the capital" in text
    assert "Profit +117 USDT " in text
    lucky = deployed(alice, "Lucky")
    alice.trading.load("trades", [HEADER, row("ETH/USDT", BEGUN, 1, 3000, 2.0, "", "")], deployment=lucky.id)
    text = seen(client.get(f"/trading/{lucky.id}"))
    assert re.search(r"Sharpe — \d+ trades in \d+ days; from 30 of both on", text)
    assert "Profit factor — no losing trade yet" in text
    assert "Deepest drawdown 0 % never under its peak" in text


def test_the_curve_says_its_figures_in_words(client: Any, desk: Any) -> None:
    text = client.get(f"/trading/{desk.id}").text
    assert 'aria-label="Equity from 10,000 USDT on 14 August to 10,117 USDT on 12 November"' in text
    assert 'aria-label="Drawdown, deepest 0.2\N{NO-BREAK SPACE}% under the peak"' in text
    assert "style=" not in text


def test_a_deployment_that_has_ended_ends_its_curve_there(client: Any, alice: Any) -> None:
    over = traded(alice, name="Over", ended_at="2026-11-02T00:00:00Z")
    text = client.get(f"/trading/{over.id}").text
    assert "Ended" in text
    assert "to 10,117 USDT on 1 November" in text
    assert "Coming events" not in text


def test_events_show_what_they_may_do_to_what_is_open(client: Any, kb: Any, alice: Any, desk: Any) -> None:
    exposed(kb, alice, desk, NOW)
    text = seen(client.get(f"/trading/{desk.id}"))
    assert "Next 72 hours, what may move prices" in text
    assert "today 15:00 , in 4 h 43 m US consumer prices importance .92" in text  # in Vienna
    assert "BTC/USDT short $1,838 3 1.2 % −2.9 %" in text
    assert "ETH/USDT long $2,310 3 1.8 % −4.1 %" in text
    assert "ETH/USDT long, $2,310. Only 2 like it on record; 3 are needed for a figure." in text
    assert re.search(r"Saturday 21:00 Solana network upgrade importance \.48 You hold nothing it touches\.", text)
    assert "Minutes of nobody" not in text


def test_open_positions_stand_at_the_last_price(client: Any, kb: Any, alice: Any, desk: Any) -> None:
    exposed(kb, alice, desk, NOW)
    held = "symbol,side,quantity,entry_time,entry_price", "XRP/USDT,long,100,2026-11-12T08:00:00Z,0.5"
    text = seen(client.get(f"/trading/{desk.id}"))
    assert "ETH/USDT long 0.7 3,250 3,300 +35.00 +1.5 %" in text
    assert "BTC/USDT short 0.02 92,500 91,900 +12.00 +0.6 %" in text
    alice.trading.load("positions", held, deployment=desk.id)
    text = seen(client.get(f"/trading/{desk.id}"))
    assert "XRP/USDT long 100 0.5 — no price on record" in text
    assert "Where no price is known, what it would come to now cannot be said." in text


def test_the_last_trades_stand_here_and_all_of_them_on_their_page(client: Any, alice: Any, desk: Any) -> None:
    text = seen(client.get(f"/trading/{desk.id}"))
    assert "All 22" in text
    assert "1 Nov ETH/USDT long 0.294118 3,400 3,488.4 Trailing stop trend +26.00 +2.6 %" in text
    assert "These six" in text
    many = [HEADER, *(row("SOL/USDT", BEGUN + timedelta(hours=n), 1, 150, 1, "", "") for n in range(60))]
    alice.trading.load("trades", many, deployment=desk.id)
    first = client.get(f"/trading/{desk.id}/trades")
    assert "82 trades of Range breakout on Kraken, paper" in seen(first)
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older
    second = client.get(older[1].replace("&amp;", "&"))
    assert second.text.count("<tr") - 1 == 32
    assert 'rel="next"' not in second.text
    assert 'rel="prev"' in second.text


def test_an_unknown_deployment_is_a_friendly_page(client: Any) -> None:
    for path in ("/trading/nothing", "/trading/skills/nothing", "/trading/nothing/trades", "/trading/nothing/load"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "There is nothing here" in answer.text


def test_names_are_never_markup(client: Any, alice: Any) -> None:
    alice.trading.create_skill("<b>bold</b>", strategy="<i>x</i>")
    made = alice.trading.create_deployment("<script>1</script>", "<b>bold</b>")
    for path in ("/trading", f"/trading/{made.id}", f"/trading/skills/{made.skill_id}", f"/trading/{made.id}/load"):
        text = client.get(path).text
        assert "<script>1" not in text
        assert "<b>bold" not in text
        assert "<i>x" not in text


# --- a skill


def test_a_skill_shows_what_it_says_with_its_versions(client: Any, alice: Any, desk: Any) -> None:
    alice.trading.set_field("Range breakout", "strategy", "Buy strength, but not in chop.")
    text = seen(client.get(f"/trading/skills/{desk.skill_id}"))
    assert "Strategy version 2 Buy strength, but not in chop." in text
    assert "1 earlier version Buy strength. version 1" in text
    assert "Chat Not said yet." in text
    assert "1 account 22 closed trades" in text


def test_a_skill_is_reflected_on_as_a_whole_and_shows_where_lessons_are_from(
    client: Any, alice: Any, desk: Any, enough: None
) -> None:
    alice.trading.reflect(deployment=desk.id)
    answer = client.post(f"/trading/skills/{desk.skill_id}/reflect")
    text = seen(answer)
    assert re.search(r"38 closed trades, the first 30 judged, \d+ groups of at least 6 tried: 2 new\.", text)
    assert text.count(LOST) == 2
    assert "from Range breakout on Kraken, paper" in text


# --- lessons


def test_reflecting_says_how_many_groups_were_tried_and_what_came_of_it(
    client: Any, alice: Any, desk: Any, enough: None
) -> None:
    answer = client.post(f"/trading/{desk.id}/reflect")
    text = seen(answer)
    assert answer.url.path == f"/trading/{desk.id}"
    assert re.search(r"Reflected\. 38 closed trades, the first 30 judged, \d+ groups .* tried: 2 new\.", text)
    assert f"−1.1 % median {LOST}, median −1.1 %. BTC/USDT long · chop 8 trades, 14 Aug – 12 Nov" in text
    assert "+1.5 % mean ETH/USDT longs in trend paid +1.5 % on average" in text
    again = seen(client.post(f"/trading/{desk.id}/reflect"))
    assert "tried: 2 as before." in again


def test_reflecting_on_too_little_says_so(client: Any, alice: Any) -> None:
    small = deployed(alice)
    alice.trading.load("trades", trade_lines(chop=3, trend=2), deployment=small.id)
    text = seen(client.post(f"/trading/{small.id}/reflect"))
    assert "5 closed trades: there is something to learn from 30 trades on, closed on 12 days or more" in text
    assert "None. Reflecting looks for groups" in text


def test_a_reflection_is_taken_back_as_a_whole(client: Any, alice: Any, desk: Any, enough: None) -> None:
    made = client.post(f"/trading/{desk.id}/reflect")
    events = re.search(r'name="events" value="(\d+-\d+)"', made.text)
    assert events
    back = {"events": events[1], "back": f"/trading/{desk.id}"}
    undone = client.post("/trading/undo", data=back)
    assert "Undone. The lessons are as they were." in undone.text
    assert not alice.trading.lessons()
    events = re.search(r'name="events" value="(\d+-\d+)"', undone.text)
    assert events
    client.post("/trading/undo", data={"events": events[1], "back": f"/trading/{desk.id}"})
    assert len(alice.trading.lessons()) == 2


@pytest.mark.parametrize("left", ["", "x", "67", "67.x", "67.14.won3", "67.14.new", "67.14.new9999", "-1.2", "1.2.3"])
def test_an_address_that_somebody_made_up_says_nothing(client: Any, desk: Any, left: str) -> None:
    answer = client.get(f"/trading/{desk.id}", params={"reflected": left, "events": "9-2", "event": "nine"})
    assert answer.status_code == 200
    assert ("Reflected." in answer.text) == (left == "67.14")


def test_a_lesson_that_changed_shows_what_it_was(client: Any, alice: Any, desk: Any, enough: None, clock: Any) -> None:
    clock.set("2026-10-04T10:00:00Z")
    alice.trading.reflect(deployment=desk.id)
    clock.set("2026-11-12T09:16:00Z")
    text = seen(client.post(f"/trading/{desk.id}/reflect"))
    assert "2 changed" in text
    assert re.search(r"mean, was \+1\.\d % ETH/USDT longs in trend", text)
    assert "replaced the lesson of 4 Oct (9 trades)" in text


def test_pinning_and_unpinning_with_plain_forms(client: Any, alice: Any, desk: Any, enough: None) -> None:
    alice.trading.reflect(deployment=desk.id)
    one, back = lesson(alice, LOST), {"back": f"/trading/{desk.id}"}
    text = client.post(f"/trading/lessons/{one.id}/pin", data=back).text
    assert "Pinned. It stays as it is" in text
    assert 'aria-pressed="true"' in text
    assert lesson(alice, LOST).pinned
    text = client.post(f"/trading/lessons/{one.id}/unpin", data=back).text
    assert "Unpinned." in text
    assert 'aria-pressed="true"' not in text
    assert not lesson(alice, LOST).pinned


def test_a_retired_lesson_is_put_away_stays_away_and_comes_back(
    client: Any, alice: Any, desk: Any, enough: None
) -> None:
    alice.trading.reflect(deployment=desk.id)
    one, back = lesson(alice, LOST), {"back": f"/trading/{desk.id}"}
    answer = client.post(f"/trading/lessons/{one.id}/retire", data=back)
    assert "Retired. A later reflection does not bring it back." in answer.text
    assert "1 lesson put away" in answer.text
    event = re.search(r'name="event" value="(\d+)"', answer.text)
    assert event
    assert "found again but left retired" in seen(client.post(f"/trading/{desk.id}/reflect"))
    text = client.post(f"/trading/lessons/{one.id}/restore", data=back).text
    assert "Put back." in text
    assert lesson(alice, LOST).state == "active"


def test_a_form_comes_back_to_our_own_pages_only(client: Any, alice: Any, desk: Any, enough: None) -> None:
    alice.trading.reflect(deployment=desk.id)
    one = lesson(alice, LOST)
    answer = client.post(
        f"/trading/lessons/{one.id}/pin", data={"back": "//elsewhere.example/x"}, follow_redirects=False
    )
    assert answer.headers["location"].startswith("/?event=")


def test_what_is_no_lesson_is_not_pinned(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Oslo")
    assert client.post(f"/trading/lessons/{memory.id}/pin").status_code == 404


# --- a new deployment


def test_a_deployment_is_added_with_its_skill_and_goes_on_to_its_file(client: Any, alice: Any) -> None:
    told = {"skill": "Carry", "name": "Carry on paper", "account": "Kraken", "capital": "5,000", "currency": "usdc"}
    answer = client.post("/trading/new", data=told)
    made = alice.trading.deployment("Carry on paper")
    assert answer.url.path == f"/trading/{made.id}/load"
    assert (made.skill, made.capital, made.currency) == ("Carry", 5000.0, "USDC")
    client.post("/trading/new", data=told | {"name": "Carry, second"})
    assert len(alice.trading.skills()) == 1


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"capital": "a lot"}, "capital"),
        ({"capital": "-3"}, "capital"),
        ({"name": " "}, "name"),
        ({"skill": ""}, "skill"),
    ],
)
def test_what_does_not_fit_is_said_at_its_field_and_nothing_is_made(
    client: Any, alice: Any, told: dict[str, str], field: str
) -> None:
    answer = client.post("/trading/new", data={"skill": "Carry", "name": "Paper", "account": "My account"} | told)
    assert answer.status_code == 422
    assert f'id="bad-{field}"' in answer.text
    assert 'value="My account"' in answer.text
    assert not alice.trading.skills()


# --- files


def test_a_file_with_a_wrong_row_loses_no_good_one(client: Any, alice: Any) -> None:
    made = deployed(alice)
    lines = trade_lines()
    answer = send(client, f"/trading/{made.id}/load", *lines[:4], BAD, *lines[4:])
    text = seen(answer)
    assert answer.status_code == 200
    assert "mine.csv: 22 new rows, 0 changed, 0 as before." in text
    assert "1 row was not taken." in text
    assert "Row What is wrong 5 Side is long or short, not 'sideways'" in text
    assert alice.trading.trades(deployment=made.id).total == len(CHOP) + len(TREND)
    assert "0 new rows, 0 changed, 22 as before" in seen(send(client, f"/trading/{made.id}/load", *lines))


def test_positions_are_a_snapshot_unless_a_row_is_wrong(client: Any, kb: Any, alice: Any, desk: Any) -> None:
    exposed(kb, alice, desk, NOW)
    header, good = "symbol,side,quantity,entry_time,entry_price", "ETH/USDT,long,0.7,2026-11-12T00:00:00Z,3250"
    path = f"/trading/{desk.id}/load"
    text = seen(send(client, path, header, good, "BTC/USDT,short,none,2026-11-11T00:00:00Z,92500", kind="positions"))
    assert "Nothing was closed" in text
    assert len(alice.trading.positions(desk.id)) == 2
    send(client, path, header, good, kind="positions")
    assert [one.symbol for one in alice.trading.positions(desk.id)] == ["ETH/USDT"]


def test_json_lines_and_parquet_are_read_too(client: Any, alice: Any, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = deployed(alice)
    names = HEADER.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in trade_lines()[1:]]
    text = seen(send(client, f"/trading/{made.id}/load", *(json.dumps(one) for one in rows), name="mine.jsonl"))
    assert "22 new rows" in text
    whole = tmp_path / "mine.parquet"
    parquet.write_table(arrow.Table.from_pylist(rows), whole)
    answer = client.post(
        f"/trading/{made.id}/load", data={"kind": "trades"}, files={"file": ("mine.parquet", whole.read_bytes())}
    )
    assert "22 as before" in seen(answer)


def test_skills_deployments_and_trades_come_from_files_alone(client: Any, alice: Any) -> None:
    send(client, "/trading/load", "name,strategy", "Carry,Collect the difference.", kind="skills")
    send(client, "/trading/load", "name,skill,capital", "Carry main,Carry,2000", kind="deployments")
    lines = [f"Carry main,{line}" for line in trade_lines()[1:]]
    text = seen(send(client, "/trading/load", f"deployment,{HEADER}", *lines, f"Nobody,{trade_lines()[1]}"))
    assert "22 new rows" in text
    assert "There is no deployment 'Nobody' in this book" in text
    assert "Carry main In use" in seen(client.get("/trading"))


def test_what_is_no_such_file_is_said_at_the_file(client: Any, alice: Any, desk: Any) -> None:
    path = f"/trading/{desk.id}/load"
    answer = client.post(path, data={"kind": "trades"})
    assert answer.status_code == 422
    assert "Choose a file first." in answer.text
    answer = send(client, path, "a,b", "1,2")
    assert answer.status_code == 422
    assert "The file has no column" in answer.text.replace("&#39;", "'")
    assert send(client, path, *trade_lines(), kind="bars").status_code == 422
    assert send(client, path, "name", "x", kind="skills").status_code == 422


# --- in the browser


def test_a_person_sees_equity_and_drawdown(person: Page, desk: Any) -> None:
    person.goto("/trading")
    person.get_by_role("link", name="Range breakout on Kraken, paper").click()
    upper = person.get_by_role("img", name=re.compile("Equity from 10,000 USDT"))
    lower = person.get_by_role("img", name=re.compile("Drawdown, deepest"))
    expect(upper).to_be_visible()
    expect(lower).to_be_visible()
    above, below = upper.bounding_box(), lower.bounding_box()
    assert above
    assert below
    assert above["width"] == pytest.approx(below["width"])
    assert above["y"] + above["height"] <= below["y"]
    drawn = upper.locator("path.line").evaluate("line => line.getBBox().height")
    assert 20 < drawn <= TALL
    expect(person.get_by_role("navigation", name="Pages").get_by_role("link", name="Trading")).to_have_attribute(
        "aria-current", "page"
    )


def test_a_person_pins_a_lesson_and_retires_another_with_undo(
    person: Page, alice: Any, desk: Any, enough: None
) -> None:
    alice.trading.reflect(deployment=desk.id)
    person.goto(f"/trading/{desk.id}")
    person.evaluate("window.untouched = true")
    mine = person.locator(".entry", has_text=LOST)
    mine.get_by_role("button", name=re.compile("Pin")).click()
    expect(mine.get_by_role("button", name=re.compile("Pinned"))).to_have_attribute("aria-pressed", "true")
    other = person.locator("#lessons > .ledger .entry", has_text="ETH/USDT longs")
    other.get_by_role("button", name=re.compile("Retire")).click()
    expect(other).to_have_count(0)
    expect(person.get_by_text("1 lesson put away")).to_be_visible()
    toast = person.locator(".toast", has_text="Retired.")
    toast.get_by_role("button", name="Undo").click()
    expect(other).to_have_count(1)
    expect(person.get_by_text("1 lesson put away")).to_have_count(0)
    assert person.evaluate("window.untouched")  # all of it in place
    assert lesson(alice, "ETH/USDT longs").state == "active"


def test_a_person_restores_what_was_retired(person: Page, alice: Any, desk: Any, enough: None) -> None:
    alice.trading.reflect(deployment=desk.id)
    alice.trading.retire(lesson(alice, LOST).id)
    person.goto(f"/trading/{desk.id}")
    person.get_by_text("1 lesson put away").click()
    person.get_by_role("button", name=re.compile("Restore")).click()
    expect(person.locator("#lessons > .ledger .entry", has_text=LOST)).to_be_visible()


def test_a_person_reflects_and_reads_what_came_of_it(person: Page, desk: Any, enough: None) -> None:
    person.goto(f"/trading/{desk.id}")
    person.get_by_role("button", name="Reflect now").click()
    said = person.locator("#lessons").get_by_role("status")
    expect(said).to_contain_text("19 groups of at least 6 tried: 2 new.")
    said.get_by_role("button", name="Undo").click()
    expect(person.locator("#lessons > .ledger .entry")).to_have_count(0)
    expect(person.locator(".toast")).to_contain_text("Undone.")


def test_a_person_loads_a_file_with_a_wrong_row(person: Page, alice: Any, tmp_path: Path) -> None:
    made = deployed(alice)
    file = tmp_path / "kraken.csv"
    file.write_text("\n".join([*trade_lines(), BAD]))
    person.goto(f"/trading/{made.id}")
    person.get_by_role("link", name="Load trades").first.click()
    person.get_by_label("File, at most").set_input_files(file)
    person.get_by_role("button", name="Load it").click()
    expect(person.get_by_role("status")).to_contain_text("kraken.csv: 22 new rows")
    expect(person.get_by_role("row", name=re.compile("24 Side is long or short"))).to_be_visible()
    person.get_by_role("link", name="See Range breakout").click()
    expect(person.get_by_text("22 closed trades")).to_be_visible()


def test_a_person_sees_what_is_coming_on_a_phone(opens: Any, kb: Any, alice: Any, desk: Any) -> None:
    exposed(kb, alice, desk, NOW)
    person = opens(width=390, height=844).new_page()
    person.goto(f"/trading/{desk.id}")
    event = person.locator(".entry", has_text="US consumer prices")
    expect(event.get_by_role("row").filter(has_text="ETH/USDT long")).to_contain_text("−4.1\N{NO-BREAK SPACE}%")
    expect(person.get_by_text("Only 2 like it on record; 3 are needed for a figure.")).to_be_visible()
    expect(person.get_by_text("You hold nothing it touches.")).to_be_visible()
    assert person.evaluate("document.documentElement.scrollWidth <= 390")


def test_everything_works_without_script(opens: Any, alice: Any, desk: Any, enough: None) -> None:
    person = opens(java_script_enabled=False).new_page()
    person.goto(f"/trading/{desk.id}")
    person.get_by_role("button", name="Reflect now").click()
    mine = person.locator(".entry", has_text=LOST)
    mine.get_by_role("button", name=re.compile("Retire")).click()
    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(person.locator("#lessons > .ledger .entry", has_text=LOST)).to_be_visible()
    assert lesson(alice, LOST).state == "active"


# --- words and geometry


def test_figures_keep_their_sign_and_never_look_like_none() -> None:
    assert view.signed_percent(0.018) == "+1.8\N{NO-BREAK SPACE}%"
    assert view.signed_percent(-0.0004) == "−0.04\N{NO-BREAK SPACE}%"
    assert view.signed_percent(0.0) == "0.0\N{NO-BREAK SPACE}%"
    assert view.plain_percent(-0.041) == "4.1\N{NO-BREAK SPACE}%"
    assert view.signed_money(-1204.4) == "−1,204"
    assert view.signed_money(0.0) == "0.00"
    assert view.price(90_880.04) == "90,880"
    assert view.price(0.00001234) == "1.23e-05"
    assert view.worth("ETH/EUR", 2307.2) == "2,307 EUR"
    assert view.worth("ETH/USDT:USDT", 2307.2) == "$2,307"
    assert view.worth("ETH/USDT", None) == "no price on record"


AMOUNTS = st.floats(-1e7, 1e7).map(lambda value: round(value, 2))


@given(st.lists(st.tuples(AMOUNTS, st.floats(0, 0.99)), min_size=1, max_size=60), AMOUNTS)
def test_no_curve_leaves_its_drawing(days: list[tuple[float, float]], start: float) -> None:
    told = [(date(2026, 8, 14) + timedelta(days=n), value, under) for n, (value, under) in enumerate(days)]
    plot = equity_chart(told, start, ZoneInfo("Europe/Vienna"), last="today")
    numbers = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", plot.line)]
    assert all(0 <= x <= 1000 for x in numbers[::2])
    assert all(0 <= y <= TALL for y in numbers[1::2])
    under = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", plot.under)]
    assert all(0 <= y <= SHALLOW for y in under[1::2])
    assert 0 <= plot.start <= TALL
    assert plot.levels[0] >= max(start, *(value for value, _ in days))
    assert plot.levels[-1] <= min(start, *(value for value, _ in days))
    assert 2 <= len(plot.levels) <= 6
    assert [tick.x for tick in plot.ticks] == sorted(tick.x for tick in plot.ticks)
