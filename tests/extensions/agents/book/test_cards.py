"""Card types are data: a file adds one, a broken file is named with line and reason, an answer fits or is refused."""

from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, SHORT, WAIT, ran

from keepbook import Conflict, Invalid, Keepbook
from keepbook.extensions.agents.book.cards import (
    RE_EXAMINATION,
    CardType,
    card_types,
    instructions,
    line_of,
    read_card,
    validate,
)
from keepbook.settings import load_settings

NOW = "2026-03-01T09:00:00.000000Z"
TYPES = card_types()
TRADE = TYPES.get("trade-decision")

VIEW = """\
name = "house-view"
title = "House view"
line = "{age} · {verdict} · {street}"
re_examinable = true
re_examine_actions = ["BUY", "WALK_AWAY"]

[slots.street]
type = "text"
max = 40

[slots.verdict]
type = "choice"
choices = ["YES", "NO"]

[slots.rooms]
type = "number"
min = 1
max = 20
required = false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "cards"
    place.mkdir()
    return place


def types_with(folder: Path, **files: str) -> Any:
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.toml").write_text(text, encoding="utf-8")
    return card_types((folder,))


# --- shipped ----------------------------------------------------------------------------------------------


def test_eight_types_are_shipped_and_none_is_broken() -> None:
    assert sorted(TYPES.types) == [
        "drift-trade", "forecast", "forecast-classes", "forecast-number", "note", RE_EXAMINATION, "research-thesis",
        "trade-decision",
    ]  # fmt: skip
    assert TYPES.broken == ()
    assert {name: card.re_examinable for name, card in TYPES.types.items()} == {
        "note": "opt_in", RE_EXAMINATION: "false", "research-thesis": "true", "trade-decision": "until_resolved",
        "forecast": "until_resolved", "drift-trade": "until_resolved",
        "forecast-classes": "until_resolved", "forecast-number": "until_resolved",
    }  # fmt: skip
    assert TRADE.re_examine_actions == ("HOLD", "CLOSE", "SCALE")


@pytest.mark.parametrize("slots", [LONG, SHORT, WAIT], ids=["LONG", "SHORT", "WAIT"])
def test_a_trade_decision_that_fits_is_kept_with_every_slot(slots: dict[str, Any]) -> None:
    kept = validate(TRADE, slots, NOW)
    assert list(kept) == [slot.name for slot in TRADE.slots]
    assert kept["expires"] == "2031-01-01T00:00:00.000000Z"
    assert {name: kept[name] for name in slots if name != "expires"} == {
        name: value for name, value in slots.items() if name != "expires"
    }


WRONG = {
    "another action": ({"action": "HOLD"}, "action"),
    "no symbol": ({"symbol": ""}, "symbol"),
    "a stop above the entry of a LONG": ({"stop": 105.0}, "LONG"),
    "a target below the entry of a LONG": ({"target": 95.0}, "LONG"),
    "a stop at the entry": ({"stop": 100.0}, "LONG"),
    "no entry": ({"entry": None}, "entry"),
    "a price of nothing": ({"stop": 0}, "stop"),
    "conviction above 100": ({"conviction": 101}, "conviction"),
    "conviction below 0": ({"conviction": -1}, "conviction"),
    "conviction in words": ({"conviction": "high"}, "conviction"),
    "conviction true": ({"conviction": True}, "conviction"),
    "an endless number": ({"conviction": float("inf")}, "conviction"),
    "no number": ({"entry": float("nan")}, "entry"),
    "a number with 400 digits": ({"entry": 10**400}, "entry"),
    "a reason of 61 characters": ({"reason": "x" * 61}, "reason"),
    "no thesis": ({"thesis": "  "}, "thesis"),
    "watch_for as a text": ({"watch_for": "funding"}, "watch_for"),
    "watch_for with a number": ({"watch_for": [1]}, "watch_for"),
    "no expiry": ({"expires": None}, "expires"),
    "an expiry in the past": ({"expires": "2025-01-01"}, "expires"),
    "an expiry in words": ({"expires": "soon"}, "expires"),
    "a slot that is none": ({"leverage": 5}, "leverage"),
    "a broken character": ({"reason": "\ud800"}, "reason"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_card_that_does_not_fit_is_refused_by_slot(name: str) -> None:
    changed, word = WRONG[name]
    with pytest.raises(Invalid, match=word) as refused:
        validate(TRADE, LONG | changed, NOW)
    assert refused.value.code == "invalid_card"


@pytest.mark.parametrize("slot", ["entry", "stop", "target", "size"])
def test_to_wait_has_no_prices(slot: str) -> None:
    with pytest.raises(Invalid, match=f"{slot}: must be empty"):
        validate(TRADE, WAIT | {slot: 1.0}, NOW)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        validate(TRADE, {"action": "LONG", "conviction": 500}, NOW)
    for slot in ("symbol", "entry", "stop", "target", "size", "conviction", "reason", "thesis", "expires"):
        assert f"{slot}: " in refused.value.message


# --- reading an answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        '{"text": "Rain.", "title": "Weather"}',
        'I looked at it.\n\n```json\n{"text": "Rain.", "title": "Weather"}\n```\nThat is all.',
        'First {"text": "Sun."} I thought, but: {"text": "Rain.", "title": "Weather"}',
        '{ not this } then {"text": "Rain.", "title": "Weather"} {nor this',
        '```\n{"text": "An aside."}\n```\n{"text": "Rain.", "title": "Weather"}',
    ],
)
def test_the_card_is_found_in_an_answer(answer: str) -> None:
    assert read_card(TYPES.get("note"), answer, NOW) == {"title": "Weather", "text": "Rain."}


def test_an_answer_in_plain_words_is_a_note_and_nothing_else() -> None:
    said = "## Rain all week\n\nTake an umbrella."
    assert read_card(TYPES.get("note"), said, NOW) == {"title": "Rain all week", "text": said}
    with pytest.raises(Invalid, match="no JSON object"):
        read_card(TRADE, said, NOW)


def test_a_long_first_line_is_cut_at_a_word() -> None:
    kept = read_card(TYPES.get("note"), "word " * 60, NOW)
    assert len(kept["title"]) <= 120
    assert kept["title"].endswith("word…")


@pytest.mark.parametrize("answer", ["", "   ", "{", '{"text": ', "[1, 2]", "{" * 100_000, '{"a":' * 100_000])
def test_an_answer_without_a_card_is_refused(answer: str) -> None:
    with pytest.raises(Invalid):
        read_card(TRADE, answer, NOW)


def test_the_model_is_told_every_slot_and_rule() -> None:
    told = instructions(TRADE)
    assert all(f"- {slot.name}: " in told for slot in TRADE.slots)
    assert all(rule.say in told for rule in TRADE.rules)
    assert "null when action is WAIT" in told


@pytest.mark.parametrize(
    ("then", "age"),
    [
        ("2026-02-27T08:00:00.000000Z", "2d ago"),
        ("2026-03-01T05:59:00.000000Z", "3h ago"),
        ("2026-03-01T08:48:00.000000Z", "12m ago"),
        ("2026-03-01T08:59:30.000000Z", "just now"),
        ("2026-03-01T09:00:30.000000Z", "just now"),
    ],
)
def test_a_card_is_one_line(then: str, age: str) -> None:
    assert line_of(TRADE, WAIT, then, NOW) == f"{age} · WAIT · range unresolved"


# --- files of one's own -----------------------------------------------------------------------------------


def test_a_file_adds_a_type(folder: Path) -> None:
    types = types_with(folder, house_view=VIEW)
    assert types.broken == ()
    view: CardType = types.get("house-view")
    assert validate(view, {"street": "Elm", "verdict": "yes"}, NOW) == {
        "street": "Elm",
        "verdict": "YES",
        "rooms": None,
    }


BROKEN = {
    "no TOML": (VIEW.replace('max = 40', "max = = 40"), 9, "not valid TOML"),
    "no end": (VIEW + '\n[slots.end', 21, "not valid TOML"),
    "another name": (VIEW.replace('name = "house-view"', 'name = "house"'), 1, "house-view"),
    "a key that is none": (VIEW.replace("max = 40", "maximum = 40"), 9, "no such key"),
    "a type that is none": (VIEW.replace('type = "number"', 'type = "money"'), 16, "expected one of"),
    "a choice without choices": (VIEW.replace('choices = ["YES", "NO"]', ""), 11, "choices"),
    "choices without a choice": (VIEW.replace('type = "choice"', 'type = "text"'), 13, "choices"),
    "a text for a number": (VIEW.replace("min = 1", 'min = "one"'), 17, "a number"),
    "a line with a slot that is none": (VIEW.replace("{street}", "{town}"), 3, "slots in braces"),
    "a line that does not close": (VIEW.replace("{street}", "{street"), 3, "braces"),
    "actions in small letters": (VIEW.replace('"BUY"', '"buy"'), 5, "uppercase"),
    "re-examinable sometimes": (VIEW.replace("= true", '= "sometimes"'), 4, "until_resolved"),
    "no slots": (VIEW[: VIEW.index("[slots")], 1, "missing"),
    "an unknown condition": (VIEW + 'empty_when = { verdict = ["MAYBE"] }\n', 20, "choices of a slot"),
    "a rule about a text": (
        VIEW + '\n[[rules]]\nrising = ["rooms", "street"]\nsay = "no"\n', 22, "expected of rooms",
    ),
    "followed but no trade": (
        VIEW.replace("re_examinable = true", 're_examinable = "until_resolved"\nfollow = "trade"'), 5, "a trade has",
    ),
    "no regular expression": (VIEW.replace("max = 40", 'pattern = "["'), 9, "regular expression"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_line_and_reason_and_stops_no_other(folder: Path, name: str) -> None:
    text, line, reason = BROKEN[name]
    good = VIEW.replace("house-view", "good-view")
    types = types_with(folder, house_view=text, good_view=good)
    (broken,) = types.broken
    assert (Path(broken.path).name, broken.line) == ("house-view.toml", line)
    assert reason in broken.reason
    assert "good-view" in types.types
    assert sorted(TYPES.types) == sorted(types.types.keys() - {"good-view"})
    with pytest.raises(Invalid, match=f"line {line}"):
        types.get("house-view")


def test_a_file_that_is_no_text_is_named(folder: Path) -> None:
    (folder / "odd.toml").write_bytes(b'name = "odd"\ntitle = "\xff"\n')
    (broken,) = card_types((folder,)).broken
    assert (broken.line, broken.reason) == (2, "not text in UTF-8")


def test_a_shipped_type_is_never_replaced(folder: Path) -> None:
    types = types_with(folder, note=VIEW.replace("house-view", "note"))
    assert types.get("note") == TYPES.get("note")
    assert "is taken" in types.broken[0].reason


def test_a_file_that_changes_is_read_again(folder: Path) -> None:
    before = types_with(folder, house_view=VIEW)
    assert before.get("house-view").title == "House view"
    (folder / "house-view.toml").write_text(VIEW.replace("House view", "Home"), encoding="utf-8")
    assert card_types((folder,)).get("house-view").title == "Home"


def test_an_unknown_type_says_what_there_is() -> None:
    with pytest.raises(Invalid, match="did you mean 'trade-decision'"):
        TYPES.get("trade-decisions")


# --- re-examination ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"conviction_score": 101},
        {"conviction_score": -1},
        {"conviction_score": None},
        {"suggested_action": "PANIC"},
        {"suggested_action": None},
        {"notes": ""},
    ],
)
def test_a_second_look_out_of_range_or_vocabulary_is_refused(changed: dict[str, Any]) -> None:
    card = TYPES.re_examination_of(TRADE)
    assert validate(card, SECOND_LOOK, NOW) == SECOND_LOOK
    with pytest.raises(Invalid):
        validate(card, SECOND_LOOK | changed, NOW)


def test_without_actions_of_its_own_any_short_uppercase_word_will_do(folder: Path) -> None:
    plain = VIEW.replace('re_examine_actions = ["BUY", "WALK_AWAY"]\n', "")
    types = types_with(folder, house_view=plain)
    card = types.re_examination_of(types.get("house-view"))
    for word in ("SELL", "WALK_AWAY"):
        assert validate(card, SECOND_LOOK | {"suggested_action": word}, NOW)["suggested_action"] == word
    for word in ("Sell", "sell it", "S", "X" * 21, "SELL!"):
        with pytest.raises(Invalid):
            validate(card, SECOND_LOOK | {"suggested_action": word}, NOW)


def test_a_type_of_ones_own_is_re_examined_with_its_own_actions(book_url: str, clock: Any, folder: Path) -> None:
    """A file, and no code: an agent answers with it, a second look has its vocabulary."""
    types_with(folder, house_view=VIEW)
    with Keepbook(book_url, clock=clock, settings=load_settings(db=book_url, cards=folder)) as kb:
        book = kb.book("alice")
        agent = book.agents.create("Scout", card_type="house-view")
        first = ran(book, agent, {"street": "Elm", "verdict": "YES"})
        assert first.card.slots == {"street": "Elm", "verdict": "YES", "rooms": None}
        assert book.runs.may_re_examine(first.id)
        with pytest.raises(Invalid, match="BUY, WALK_AWAY"):
            ran(book, agent, SECOND_LOOK, "re-examination", parent_run=first.id)
        again = ran(book, agent, SECOND_LOOK | {"suggested_action": "BUY"}, "re-examination", parent_run=first.id)
        assert [run.id for run in book.runs.re_examinations(first.id) if run.card] == [again.id]
        assert book.agents.decisions(agent.id)[0].line.endswith("· YES · Elm")
        (folder / "house-view.toml").unlink()
        assert book.agents.decisions(agent.id)[0].line.endswith("house-view")  # shown, and no more
        with pytest.raises(Conflict):
            book.runs.queue(agent.id, "re-examination", prompt="again", parent_run=first.id)
