"""Results → Trade decisions: open and closed, second looks, exits, and calibration with few and with many."""

import random
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, SHORT, WAIT, ran

HOME = "/results/trade-decisions"


@pytest.fixture
def desk(alice: Any) -> Any:
    alice.configure(zone="Europe/Vienna")
    return alice.agents.create("Swing desk", card_type="trade-decision")


def look(alice: Any, desk: Any, parent: Any, score: float, advice: str = "HOLD") -> Any:
    slots = SECOND_LOOK | {"conviction_score": score, "suggested_action": advice}
    return ran(alice, desk, slots, "re-examination", parent_run=parent.id)


def bars(kb: Any, *days: tuple[str, float, float, float, float], symbol: str = "ETH/USDT") -> None:
    lines = [f"{symbol},1d,{day}T00:00:00Z,{','.join(map(str, prices))}" for day, *prices in days]
    assert not kb.market.load(["symbol,timeframe,time,open,high,low,close", *lines]).wrong


def resolved(alice: Any, desk: Any, clock: Any, count: int) -> list[Any]:
    """So many decisions that the person got out of; at higher convictions more of them came right."""
    dice, made = random.Random(3), []
    for number in range(count):
        conviction = 45 + number * 7 % 45
        run = ran(alice, desk, LONG | {"conviction": conviction, "symbol": ("ETH/USDT", "BTC/USDT")[number % 2]})
        clock.forward(hours=5)
        alice.decisions.exit(run.id, 112.0 if dice.random() * 100 < conviction else 92.0)
        made.append(run)
    return made


def test_with_nothing_decided_the_page_says_what_will_be_here(client: Any, alice: Any) -> None:
    text = client.get("/results").text
    assert "No decisions yet" in text
    assert 'href="/agents"' in text


def test_an_open_decision_shows_its_prices_and_where_it_stands(
    client: Any, kb: Any, alice: Any, desk: Any, clock: Any
) -> None:
    clock.set("2026-11-08T10:00:00Z")
    run = ran(alice, desk, SHORT)
    bars(kb, ("2026-11-09", 103, 104, 99, 101), ("2026-11-10", 101, 102, 91, 92.5))
    clock.set("2026-11-12T10:00:00Z")
    alice.decisions.follow()
    text = client.get(HOME).text
    assert f'href="/runs/{run.id}"' in text
    assert "SHORT ETH/USDT" in text
    assert "92.5" in text
    assert "+0.75 R" in text
    assert "not looked at again" in text
    assert "not filled yet" not in text


def test_the_latest_conviction_stands_inline_with_its_line(client: Any, alice: Any, desk: Any, clock: Any) -> None:
    run = ran(alice, desk, LONG | {"conviction": 78})
    for score, advice in ((61, "HOLD"), (44, "HOLD"), (22, "CLOSE")):
        clock.forward(hours=20)
        look(alice, desk, run, score, advice)
    text = client.get(HOME).text
    assert "How sure: 78, 61, 44, 22; now" in re.sub(r"\s+", " ", text)
    assert '<span class="mark">CLOSE</span>' in text
    assert 'class="spark"' in text


def test_a_wait_offers_no_exit_and_ends_as_waited(client: Any, alice: Any, desk: Any, clock: Any) -> None:
    ran(alice, desk, WAIT | {"expires": "2026-11-13T00:00:00Z"})
    text = client.get(HOME).text
    assert "WAIT ETH/USDT" in text
    assert "Mark exited" not in text
    clock.set("2026-11-14T00:00:00Z")
    alice.decisions.follow()
    text = client.get(HOME).text
    assert "Waited until it expired" in text
    assert "Look again" not in text


def test_bars_that_touched_both_are_counted_as_stop_and_said_so(
    client: Any, kb: Any, alice: Any, desk: Any, clock: Any
) -> None:
    ran(alice, desk, LONG)
    bars(kb, ("2026-11-13", 100, 100, 99, 100), ("2026-11-14", 100, 125, 85, 101))
    clock.set("2026-11-16T00:00:00Z")
    alice.decisions.follow()
    text = client.get(HOME).text
    assert "Stopped" in text
    assert "−1.00 R" in text
    assert "one bar" in text


def test_an_exit_is_marked_with_a_plain_form_and_says_what_it_came_to(client: Any, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    form = client.get(f"{HOME}?exit={run.id}").text
    assert "You got out of LONG ETH/USDT at" in form
    assert "closes the decision for good" in form
    text = client.post(f"{HOME}/{run.id}/exit", data={"price": "108"}).text
    assert "Exited at 108: +0.80 R, +8.0 %." in text
    assert "You marked it exited at 108" in text
    assert "Look again" not in text
    assert alice.decisions.get(run.id).result_r == pytest.approx(0.8)


@pytest.mark.parametrize("price", ["", "a lot", "-3", "0", "nan", "1,5", "inf"])
def test_a_price_that_is_none_is_asked_for_again(client: Any, alice: Any, desk: Any, price: str) -> None:
    run = ran(alice, desk, LONG)
    answer = client.post(f"{HOME}/{run.id}/exit", data={"price": price})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert "Say at which price" in answer.text
    assert alice.decisions.get(run.id).state == "open"


def test_what_is_closed_is_not_exited_again(client: Any, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    alice.decisions.exit(run.id, 108.0)
    answer = client.post(f"{HOME}/{run.id}/exit", data={"price": "120"})
    assert answer.status_code == 409
    assert "The book has moved on" in answer.text
    assert alice.decisions.get(run.id).exit_price == 108.0
    assert client.post(f"/runs/{run.id}/re-examine", data={"back": HOME}).status_code == 409


def test_nine_resolved_decisions_are_too_few_to_plot(client: Any, alice: Any, desk: Any, clock: Any) -> None:
    resolved(alice, desk, clock, 9)
    text = client.get(HOME).text
    assert "Too few to say" in text
    assert "9 resolved decisions; from 10 on" in text
    for absent in ("Brier", "as stated", "Expectancy", "Where it works"):
        assert absent not in text
    resolved(alice, desk, clock, 1)
    text = client.get(HOME).text
    assert "Too few to say" not in text
    assert "as stated" in text
    assert "Brier score" in text


def test_the_figures_on_the_page_are_those_of_the_book(client: Any, alice: Any, desk: Any, clock: Any) -> None:
    resolved(alice, desk, clock, 40)
    found = alice.decisions.calibration()
    text = client.get(HOME).text.replace("\N{NO-BREAK SPACE}", " ")
    assert f"{found.right} of 40" in text
    assert f"{found.brier:.3f}" in text
    assert f"always the usual share: {found.base_brier:.3f}" in text
    assert f"{found.expectancy:+.2f} R".replace("-", "−") in text
    told = [band for band in found.bands if band.interval is not None]
    assert 0 < len(told) < len(found.bands), "bands of fewer than six say no share"
    for band in told:
        low, high = (f"{100 * end:.0f}" for end in band.interval)
        row = f'<td class="n">{band.count}</td><td class="n">{100 * band.share:.0f} %</td>'
        assert f"<td>{band.low}–{band.high - 1}</td>{row}" in text
        assert f"{low}–{high}" in text
    assert text.count('class="whisker"') == text.count('class="pt last"') == len(told)
    for group in (*found.by_agent, *found.by_symbol):
        assert f'<td>{group.name}</td><td class="n">{group.count}</td>' in text


def test_many_closed_decisions_come_in_pages_and_by_agent(client: Any, alice: Any, desk: Any, clock: Any) -> None:
    other = alice.agents.create("Night desk", card_type="trade-decision")
    alone = resolved(alice, other, clock, 1)[0]
    first = resolved(alice, desk, clock, 30)[0]
    text = client.get(HOME).text
    assert "31 closed decisions" in text
    assert "Page 1 of 2" in text
    assert f"/runs/{alone.id}" not in text
    assert f"/runs/{alone.id}" in client.get(f"{HOME}?page=2").text
    assert f"/runs/{alone.id}" in client.get(f"{HOME}?page=99999").text
    mine = client.get(f"{HOME}?agent={other.id}").text
    assert "1 resolved decision;" in mine
    assert f"/runs/{first.id}" not in mine


def test_a_removed_agent_keeps_its_name_here(client: Any, alice: Any, desk: Any) -> None:
    ran(alice, desk, LONG)
    alice.agents.delete(desk.id)
    assert "Swing desk" in client.get(HOME).text


def test_what_an_agent_wrote_is_printed_not_run(client: Any, alice: Any, desk: Any) -> None:
    ran(alice, desk, LONG | {"symbol": "<b>ETH</b>"})
    assert "<b>ETH</b>" not in client.get(HOME).text


# In the browser


def test_a_person_looks_again_and_the_line_grows(
    person: Page, kb: Any, alice: Any, desk: Any, clock: Any, until: Any
) -> None:
    clock.set("2026-11-08T10:00:00Z")
    alice.agents.update(desk.id, card_type="drift-trade")  # a rule answers
    run = ran(alice, desk, LONG)
    bars(kb, ("2026-11-09", 100, 101, 99, 100), ("2026-11-10", 100, 100, 94, 95))
    clock.set("2026-11-12T10:00:00Z")
    person.goto(HOME)
    row = person.locator(f"#d-{run.id}")
    expect(row.locator(".conv strong")).to_have_text("60")
    expect(row.locator(".spark")).to_have_count(0)
    row.get_by_role("button", name="Look again").click()
    until(lambda: [one for one in alice.runs.re_examinations(run.id) if one.status == "succeeded"])
    person.goto(HOME)
    expect(row.locator(".conv strong")).to_have_text("30")  # halfway to the stop: half of what was stated
    expect(row.locator(".spark")).to_be_visible()
    expect(row.locator(".mark")).to_have_text("CLOSE")
    assert alice.runs.get(run.id).card.slots["conviction"] == 60


def test_a_person_marks_an_exit(person: Page, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    person.goto(HOME)
    person.get_by_role("link", name="Mark LONG ETH/USDT exited").click()
    price = person.get_by_label("You got out of LONG ETH/USDT at")
    expect(price).to_be_focused()
    expect(price).to_have_value("100")
    price.fill("96.5")
    person.get_by_role("button", name="Mark exited").click()
    expect(person.locator(".toast")).to_contain_text("Exited at 96.5: −0.35 R")
    expect(person.locator("#closed")).to_contain_text("You marked it exited at 96.5")
    expect(person.get_by_role("button", name="Look again")).to_have_count(0)
    assert alice.decisions.get(run.id).closed_by == "person"


def test_the_plot_is_square_and_fits_every_page(opens: Any, alice: Any, desk: Any, clock: Any) -> None:
    resolved(alice, desk, clock, 30)
    look(alice, desk, ran(alice, desk, LONG), 71)
    person = opens().new_page()
    for width in (1440, 820, 390):
        person.set_viewport_size({"width": width, "height": 900})
        person.goto(HOME)
        plot = person.locator("svg.square")
        expect(plot).to_be_visible()
        diagonal, whole = plot.locator(".ref").bounding_box(), plot.bounding_box()
        assert diagonal is not None
        assert whole is not None
        assert diagonal["width"] == pytest.approx(diagonal["height"], abs=2)
        assert person.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for dot in plot.locator("circle").all():
            box = dot.bounding_box()
            assert box is not None
            assert whole["x"] <= box["x"]
            assert box["x"] + box["width"] <= whole["x"] + whole["width"]


def test_it_all_works_without_script(opens: Any, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    person = opens(java_script_enabled=False).new_page()
    person.goto(HOME)
    person.get_by_role("link", name="Mark LONG ETH/USDT exited").click()
    person.get_by_label("You got out of").fill("120")
    person.get_by_role("button", name="Mark exited").click()
    expect(person.locator("#closed")).to_contain_text("+2.00 R")
    assert alice.decisions.get(run.id).outcome == "exited"
