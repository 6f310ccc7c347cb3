"""The page of a run: its card, its conviction since, and what is refused."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, SHORT, WAIT, busy_desk, ran

from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.extensions.agents.pages import cards

HEADER = "symbol,timeframe,time,open,high,low,close,volume"


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


@pytest.fixture
def desk(alice: Any) -> Any:
    return alice.agents.create("Desk", card_type="trade-decision", default_prompt="ETH/USDT: a trade, or wait?")


def bars(kb: Any, clock: Any, closes: list[float]) -> None:
    """Daily bars of ETH/USDT up to now."""
    first = clock.now.replace(hour=0, minute=0) - timedelta(days=len(closes))
    rows = [HEADER]
    for number, close in enumerate(closes):
        at = first + timedelta(days=number)
        rows.append(f"ETH/USDT,1d,{at:%Y-%m-%dT00:00:00Z},{close},{close + 5},{close - 5},{close},100")
    assert kb.market.load(rows).refused == ()


def test_a_decision_is_shown_with_its_prices_slots_and_transcript(client: TestClient, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    page = client.get(f"/runs/{run.id}").text
    assert ">Long ETH/USDT, 12 Nov</h1>" in page
    assert "<b>LONG ETH/USDT</b>" in page
    assert 'aria-label="Stop 90, entry 100, target 120"' in page
    told = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page)
    for cell in (("Entry", "100"), ("Stop", "90"), ("Target", "120"), ("Size", "1.5"), ("Reward", "2.0 R")):
        assert cell in told
    assert "A week above the range." in page
    assert "<li>funding</li>" in page
    assert "get_bars(symbol=&#34;ETH/USDT&#34;, limit=60)" in page
    assert f'action="/runs/{run.id}/re-examine"' in page


def test_a_note_a_thesis_and_a_failed_run_have_their_pages(client: TestClient, alice: Any) -> None:
    keeper = alice.agents.create("Keeper", card_type="research-thesis")
    thesis = {"subject": "ACME", "stance": "NEGATIVE", "claim": "Debt grows faster than sales",
              "evidence": ["Two bonds"], "would_change": [], "conviction": 55}  # fmt: skip
    page = client.get(f"/runs/{ran(alice, keeper, thesis).id}").text
    assert "<b>NEGATIVE ACME</b>" in page
    assert "Debt grows faster than sales" in page
    assert "<li>Two bonds</li>" in page
    assert "/re-examine" in page
    brief = alice.agents.create("Brief")
    page = client.get(f"/runs/{ran(alice, brief, {'title': 'Quiet', 'text': 'One. Two.'}).id}").text
    assert "<b>Quiet</b>" in page
    assert "/re-examine" not in page
    busy = busy_desk(alice)
    lost = next(one for one in alice.runs.list(busy.id) if one.status == "failed")
    queued = alice.runs.queue(brief.id, "manual", prompt="What now?")
    alice.runs.start(queued.id, adapter="native", model="demo:agents", lease_seconds=600)
    assert "<dt>Model</dt><dd>none: written for this demo</dd>" in client.get(f"/runs/{queued.id}").text
    page = client.get(f"/runs/{lost.id}").text
    assert "The answer holds no JSON object." in page
    assert "I am lost" in page
    assert f'action="/agents/{busy.id}/run"' in page
    assert "Change the agent" in page


def test_session_before_and_after_stand_beside_a_run(client: TestClient, alice: Any, desk: Any) -> None:
    desk = alice.agents.update(desk.id, memory_enabled=True)
    first, second = ran(alice, desk, WAIT), ran(alice, desk, WAIT)
    page = client.get(f"/runs/{first.id}").text
    assert '<dt>Before</dt><dd class="mono">fresh</dd>' in page
    page = client.get(f"/runs/{second.id}").text
    assert f'<dt>Before</dt><dd class="mono">{first.session_after}</dd>' in page
    assert f'<dt>After</dt><dd class="mono">{second.session_after}</dd>' in page


def test_a_resolved_decision_shows_no_button_and_the_server_refuses(client: TestClient, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    page = client.post(f"/results/trade-decisions/{run.id}/exit", data={"price": " 110 ", "back": f"/runs/{run.id}"})
    assert page.status_code == 200
    assert alice.decisions.get(run.id).state == "resolved"
    assert "/re-examine" not in page.text
    assert "/exit" not in page.text
    page = client.post(f"/runs/{run.id}/re-examine")
    assert page.status_code == 409
    assert "nothing left to re-examine" in page.text
    assert alice.runs.re_examinations(run.id) == []


@pytest.mark.parametrize("price", ["a lot", "1,10", "nan", "-3"])
def test_a_price_that_is_none_is_refused(price: str, client: TestClient, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    page = client.post(f"/results/trade-decisions/{run.id}/exit", data={"price": price, "back": f"/runs/{run.id}"})
    assert page.status_code == 422
    assert alice.decisions.get(run.id).state == "open"


def test_a_form_comes_back_only_to_an_address_of_ours(client: TestClient, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    asked = {"price": "110", "back": "//elsewhere.example/"}
    answer = client.post(f"/results/trade-decisions/{run.id}/exit", data=asked, follow_redirects=False)
    assert answer.headers["location"] == f"/?exited={run.id}"


def test_the_ladder_has_the_lowest_price_at_the_left(alice: Any, desk: Any) -> None:
    for slots in (LONG, SHORT):
        run = ran(alice, desk, slots)
        ladder = cards.ladder(run, alice.decisions.find(run.id))
        assert ladder
        left = ladder.stop if slots is LONG else ladder.target
        right = ladder.target if slots is LONG else ladder.stop
        assert left.x < ladder.entry.x < right.x
        assert ladder.now is None, "no bar has told a price yet"


def test_conviction_is_followed_from_what_was_stated(alice: Any, desk: Any, clock: Any) -> None:
    run = ran(alice, desk, LONG)
    assert cards.conviction(run, []) is None
    for score in (40, 72):
        clock.forward(hours=1)
        ran(alice, desk, SECOND_LOOK | {"conviction_score": score}, "re-examination", parent_run=run.id)
    found = cards.conviction(run, alice.runs.re_examinations(run.id))
    assert found
    assert [point.value for point in found.points] == [60, 40, 72]
    assert (found.levels[0], found.levels[-1], found.last) == (80, 30, "72")
    assert [x for x, _ in found.curve.dots] == [0.0, 50.0, 100.0]


@pytest.mark.parametrize(("value", "text"), [(3412.0, "3,412"), (0.66, "0.66"), (-1.5, "−1.5"), (0, "0")])
def test_a_figure_is_its_digits(value: float, text: str) -> None:
    assert plain_number(value) == text


# In a browser


def test_re_examined_from_its_page_the_conviction_line_grows(
    person: Page, kb: Any, alice: Any, desk: Any, clock: Any
) -> None:
    bars(kb, clock, [3000.0 + number % 3 for number in range(30)] + [3100.0])
    alice.agents.update(desk.id, card_type="drift-trade")
    person.goto(f"/agents/{desk.id}")
    person.get_by_role("button", name="Run now").click()
    expect(person.locator(".call b")).to_have_text("LONG ETH/USDT")
    expect(person.locator(".card")).to_contain_text("Computed by the rule “drift”; no model was asked.")
    expect(person.locator("#conviction")).to_contain_text("Nobody looked at it again yet.")
    for looks in (1, 2):
        clock.forward(hours=1)
        person.get_by_role("button", name="Look at it again").click()
        expect(person.locator("#conviction .pt")).to_have_count(looks + 1)
        expect(person.locator("ol.ledger .entry")).to_have_count(looks)
    expect(person.locator(".call")).to_contain_text("when made")

    person.locator("summary", has_text="Mark exited").click()
    person.get_by_label("Price you got out at").fill("3150")
    person.get_by_role("button", name="Mark exited").click()
    expect(person.locator(".meta .mark").first).to_have_text("Exited")
    expect(person.get_by_role("button", name="Look at it again")).to_have_count(0)
    expect(person.locator("#conviction .pt")).to_have_count(3)


def test_a_run_at_work_is_shown_so_until_it_is_done(person: Page, opens: Any, alice: Any, desk: Any) -> None:
    run = alice.runs.queue(desk.id, "manual", prompt="What now?")
    plain = opens(java_script_enabled=False).new_page()
    for page in (person, plain):
        page.goto(f"/runs/{run.id}")
        expect(page.locator("[data-at-work]")).to_contain_text("This run waits for its turn.")
        expect(page.locator(".transcript")).to_contain_text("What now?")
    alice.runs.start(run.id, adapter="native", model="offline", lease_seconds=600)
    expect(person.locator("[data-at-work]")).to_contain_text("This run is at work.")
    threading.Thread(target=alice.runs.succeed, args=(run.id,), kwargs={"slots": LONG}).start()
    expect(person.locator(".call b")).to_have_text("LONG ETH/USDT")
    expect(person.locator("[data-at-work]")).to_have_count(0)
    expect(plain.locator("[data-at-work]")).to_have_count(1)
    plain.get_by_role("link", name="Look again").click()
    expect(plain.locator(".call b")).to_have_text("LONG ETH/USDT")
