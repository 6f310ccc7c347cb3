"""What was forecast elsewhere comes in with its own dates: once, told line by line, and out again as a whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from keepbook import Conflict, Invalid, NotAllowed
from keepbook.extensions.agents.tables import brought_forecasts

RAIN = {
    "question": "Does it rain?", "probability": 0.7, "made_at": "2025-03-01T08:00:00Z",
    "resolves_by": "2025-03-02T00:00:00Z",
}  # fmt: skip
CAME = RAIN | {"outcome": True, "resolved_at": "2025-03-01T20:00:00Z"}


@pytest.fixture
def bot(alice: Any) -> Any:
    return alice.agents.create("My bot", adapter="external", card_type="forecast")


def figures(told: Any) -> tuple[int, int, int, int]:
    return told.added, told.answered, told.unchanged, told.wrong


def test_it_comes_in_once_with_its_own_dates(alice: Any, bot: Any, tmp_path: Path) -> None:
    more = {"model": "m-1", "prompt_version": "v2", "link": "https://example.org/1", "tags": ["weather"], "key": "r-1"}
    would = alice.decisions.bring_in("My bot", [CAME | more], dry_run=True)
    assert (figures(would), would.load, would.dry_run) == ((1, 0, 0, 0), None, True)
    assert not alice.decisions.brought_in()
    told = alice.decisions.bring_in("My bot", [CAME | more, RAIN | {"question": "And tomorrow?"}])
    assert (figures(told), told.load) == ((2, 0, 0, 0), 1)
    [one] = [one for one in alice.decisions.brought_in("My bot") if one.key == "r-1"]
    assert (one.made_at.year, one.closed_at.hour, one.outcome, one.probability) == (2025, 20, "true", 0.7)
    assert (one.model, one.prompt_version, one.card["tags"], one.load) == ("m-1", "v2", ["weather"], 1)
    file = tmp_path / "forecasts.jsonl"
    file.write_text("\ufeff" + "\n\n".join(map(json.dumps, [CAME | more, RAIN | {"question": "And tomorrow?"}])))
    again = alice.decisions.bring_in("My bot", str(file))
    assert (figures(again), again.load) == ((0, 0, 2, 0), None)
    file.write_text(json.dumps([CAME | more, CAME | {"question": "And tomorrow?", "outcome": "no"}], indent=1))
    answers = alice.decisions.bring_in("My bot", file)
    assert (figures(answers), answers.load) == ((0, 1, 1, 0), 2)
    assert sorted(one.outcome for one in alice.decisions.brought_in()) == ["false", "true"]
    assert not alice.decisions.list(), "it is no decision that was witnessed"
    assert [(one.what, one.title) for one in alice.loads()] == [("forecasts", "forecasts.jsonl"), ("forecasts",) * 2]


WRONG: tuple[tuple[Any, str], ...] = (
    ("{", "no JSON object"),
    ('"text"', "no JSON object"),
    ({name: RAIN[name] for name in RAIN if name != "made_at"}, "made_at is missing"),
    (RAIN | {"made_at": "2099-01-01"}, "future"),
    (RAIN | {"made_at": 1700000000}, "not a date"),
    (RAIN | {"probability": 70}, "from 0 to 1"),
    (RAIN | {"probabilty": 0.7}, "no such slot"),
    (RAIN | {"resolves_by": "2025-02-01"}, "resolves_by"),
    (CAME | {"resolved_at": "2025-02-01"}, "after made_at"),
    (CAME | {"resolved_at": "2099-02-01"}, "not in the future"),
    (RAIN | {"resolves_by": "2099-01-01", "outcome": True}, "its date lies ahead"),
    (CAME | {"outcome": "perhaps"}, "true, false"),
    (CAME | {"outcome": 2}, "true, false"),
    (CAME | {"link": "ftp://x"}, "https"),
    (CAME | {"key": "x" * 201}, "key"),
    (CAME | {"model": ["m"]}, "model"),
    (CAME | {"question": "nul\0"}, "NUL"),
)


def test_a_wrong_line_is_told_and_costs_no_good_one(alice: Any, bot: Any) -> None:
    lines = [line if isinstance(line, str) else json.dumps(line) for line, _ in WRONG]
    told = alice.decisions.bring_in(bot.id, [json.dumps(CAME), *lines, json.dumps(RAIN | {"question": "Last?"})])
    assert figures(told) == (2, 0, 0, len(WRONG))
    for nth, (one, (line, words)) in enumerate(zip(told.refused, WRONG, strict=True), 2):
        assert (one.line, words in one.reason) == (nth, True), (line, one)


def test_a_key_stands_for_one_forecast_and_that_for_one_outcome(alice: Any, bot: Any) -> None:
    alice.decisions.bring_in(bot.id, [CAME | {"key": "a"}])
    for other, words in (({"probability": 0.6}, "another forecast"), ({"outcome": False}, "another outcome")):
        told = alice.decisions.bring_in(bot.id, [CAME | {"key": "a"} | other, CAME | {"key": words}])
        assert (figures(told), words in told.refused[0].reason) == ((1, 0, 0, 1), True)
    with pytest.raises(Invalid, match="makes no forecasts"):
        alice.decisions.bring_in(alice.agents.create("Desk", card_type="trade-decision").id, [CAME])
    with pytest.raises(Invalid, match="neither JSON lines"):
        alice.decisions.bring_in(bot.id, ["[1, 2"])
    with pytest.raises(Invalid, match="cannot read"):
        alice.decisions.bring_in(bot.id, "no-such-file.jsonl")


def test_a_load_goes_as_it_came_and_may_come_again(alice: Any, bot: Any, kb: Any) -> None:
    first = alice.decisions.bring_in(bot.id, [CAME, RAIN | {"question": "Open?"}]).load
    second = alice.decisions.bring_in(bot.id, [CAME | {"question": "Open?"}]).load
    assert [one.outcome for one in alice.decisions.brought_in()] == ["true", "true"]
    with pytest.raises(NotAllowed, match="the book refuses"), alice.writing() as (tx, _):
        tx.conn.execute(brought_forecasts.delete())
    with pytest.raises(NotAllowed, match="the book refuses"), alice.writing() as (tx, _):
        tx.conn.execute(brought_forecasts.update().values(outcome="false"))
    alice.take_back(second)
    assert sorted(one.outcome or "open" for one in alice.decisions.brought_in()) == ["open", "true"]
    alice.take_back(first)
    assert not alice.decisions.brought_in()
    with pytest.raises(Conflict):
        alice.take_back(first)
    assert figures(alice.decisions.bring_in(bot.id, [CAME, CAME])) == (1, 0, 1, 0)
    assert alice.verify().ok


def test_several_classes_and_numbers_come_in_too(alice: Any) -> None:
    dates = {"made_at": "2025-03-01", "resolved_at": "2025-03-02"}
    for name in ("classes", "number"):
        alice.agents.create(name, adapter="external", card_type=f"forecast-{name}")
    told = {"question": "Who wins?", "probabilities": {"home": 0.5, "draw": 0.3, "away": 0.2}, "outcome": "Draw"}
    assert alice.decisions.bring_in("classes", [told | dates, told | dates | {"outcome": "Hmoe"}]).wrong == 1
    [one] = alice.decisions.brought_in("classes")
    assert (one.probability, one.claim, one.outcome, one.came_to) == (0.5, "home", "false", "draw")
    told = {"question": "How warm?", "quantiles": {"0.1": 3, "0.5": 5.5, "0.9": 8}, "outcome": "7.25"}
    assert alice.decisions.bring_in("number", [told | dates, told | dates | {"outcome": "warm"}]).wrong == 1
    [one] = alice.decisions.brought_in("number")
    assert (one.probability, one.claim, one.outcome, one.came_to) == (0.8, "3 to 8", "true", "7.25")
