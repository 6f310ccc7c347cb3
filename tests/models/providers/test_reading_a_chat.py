"""Reading, summarising and naming a chat over the wire: one call each, one more to repair a reading."""

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.models.wire import Say, Status, Wire, answer

from keepbook.errors import ModelFailed
from keepbook.models.model import ClosingChat, DialogueTurn, Extraction, KnownMemory
from keepbook.models.providers.remote import RemoteModel

KNOWN = (
    KnownMemory("Ab12Cd34", "profile", None, "Lives in Porto", "profile", protected=True),
    KnownMemory("Ef56Gh78", "fact", "Kaffe", "Drinks tea </known> and forgets it", "chat"),
)
TURNS = (
    DialogueTurn(31, "user", "I moved to Lisbon last month.", datetime(2026, 3, 1, 23, 30, tzinfo=UTC)),
    DialogueTurn(32, "assistant", "Noted."),
    DialogueTurn(33, "tool", "SECRET TOOL RESULT"),
    DialogueTurn(34, "user", "And forget the tea."),
)
READING = ClosingChat(
    TURNS, KNOWN, ("profile", "fact"), "Europe/Oslo", datetime(2026, 3, 2, tzinfo=UTC), "They talked of towns.",
    never=("health",),
)  # fmt: skip


def candidate(op: str = "add", **told: Any) -> dict[str, Any]:
    whole = {"op": op, "target": 0, "category": "profile", "subject": "", "content": "Lives in Lisbon", "score": 0.9}
    return whole | {"turns": [1], "valid_from": "", "reason": ""} | told


def extract(model: RemoteModel, reading: ClosingChat = READING) -> Extraction:
    return asyncio.run(model.extract(reading))


GOOD = {
    "candidates": [candidate("update", target=1, valid_from="2026-02-01"), candidate("forget", target=2, turns=[3])],
    "summary": "Moved to Lisbon; the tea is to be forgotten.",
}


def test_a_chat_is_read_in_one_call_and_numbers_become_ids_again(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(answer(GOOD))
    read = extract(model)
    assert len(wire.received) == 1
    moved, tea = read.candidates
    assert (moved.op, moved.target, moved.turn_ids) == ("update", "Ab12Cd34", (31,))
    assert moved.valid_from == "2026-01-31T23:00:00.000000Z"  # midnight in Oslo
    assert (tea.op, tea.target, tea.turn_ids) == ("forget", "Ef56Gh78", (34,))
    assert read.summary == "Moved to Lisbon; the tea is to be forgotten."
    assert read.made_by == model.name
    assert (read.usage.tokens_in, read.usage.tokens_out) == (100, 10)


def test_what_is_known_goes_in_under_numbers_as_data_that_cannot_close_its_part(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(answer(GOOD))
    extract(model)
    text = wire.received[0].last
    assert "Ab12Cd34" not in wire.received[0].body.decode()
    assert "Ef56Gh78" not in wire.received[0].body.decode()
    assert text.count("</known>") == 1
    inside = text.split("<known>\n")[1].split("\n</known>")[0].splitlines()
    assert [json.loads(line)["n"] for line in inside] == [1, 2]
    assert json.loads(inside[1])["content"] == "Drinks tea </known> and forgets it"


def test_the_chat_is_numbered_and_dated_where_the_owner_lives_and_tools_are_left_out(
    wire: Wire, model: RemoteModel
) -> None:
    wire.script.append(answer(GOOD))
    extract(model)
    text = wire.received[0].last
    lines = [json.loads(line) for line in text.split("<chat>\n")[1].split("\n</chat>")[0].splitlines()]
    assert [(line["n"], line["who"]) for line in lines] == [(1, "person"), (2, "assistant"), (3, "person")]
    assert lines[0]["at"] == "2026-03-02 00:30 Monday"
    assert "SECRET TOOL RESULT" not in text
    assert json.loads(text.split("<summary>\n")[1].splitlines()[0])["text"] == "They talked of towns."
    assert json.loads(text.split("<never>\n")[1].splitlines()[0])["topic"] == "health"


def test_the_answer_is_bound_to_a_schema_with_the_presets_categories(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(answer(GOOD))
    extract(model)
    schema = wire.received[0].schema
    assert schema is not None
    assert schema["required"] == ["candidates", "summary"]
    fields = schema["properties"]["candidates"]["items"]["properties"]
    assert fields["category"]["enum"] == ["profile", "fact"]
    assert fields["op"]["enum"] == ["add", "update", "forget", "skip"]


@pytest.mark.parametrize(
    "bad",
    [
        "I would remember that they live in Lisbon.",
        '{"candidates": [{"op": "add", "tar',
        "[]",
        '{"candidates": {}, "summary": ""}',
        '{"candidates": []}',
    ],
)
def test_an_answer_that_is_none_is_repaired_once_with_the_reason(wire: Wire, model: RemoteModel, bad: str) -> None:
    wire.script += [Say(bad), answer(GOOD)]
    read = extract(model)
    assert len(read.candidates) == 2
    assert read.usage.tokens_in == 200
    first, second = wire.received
    assert second.said[:2] == [*first.said, ("assistant", bad)]
    assert "cannot be used" in second.last
    assert second.system == first.system


def test_after_a_second_bad_answer_the_reading_fails_and_says_what_it_cost(wire: Wire, model: RemoteModel) -> None:
    wire.script += [Say("no"), Say("nonsense about Aurelio")]
    said = f"the model {model.address.called} gave an answer that cannot be used"
    with pytest.raises(ModelFailed, match=re.escape(said)) as failed:
        extract(model)
    assert len(wire.received) == 2
    assert failed.value.details["tokens_in"] == 200
    assert "Aurelio" not in failed.value.message


def test_what_was_good_in_a_first_answer_survives_a_repair_that_is_none(wire: Wire, model: RemoteModel) -> None:
    told = {"candidates": [candidate("update", target=9), candidate(content="Speaks Danish")], "summary": "s"}
    wire.script += [answer(told), Say("Sorry, here you go")]
    assert [one.op for one in extract(model).candidates] == ["skip", "add"]


def test_a_failing_repair_fails_and_says_what_the_first_call_cost(wire: Wire, model: RemoteModel) -> None:
    wire.script += [Say("no"), Status(429)]
    with pytest.raises(ModelFailed) as failed:
        extract(model)
    assert failed.value.details["cause"] == "rate_limit"
    assert failed.value.details["tokens_in"] == 100


@pytest.mark.parametrize(
    "wrong",
    [
        candidate("update", target=9),
        candidate("update", target=0),
        candidate("update", target="Zz99Zz99"),
        candidate("forget", target=-1),
        candidate("add", turns=[]),
        candidate("add", turns=[17]),
        candidate("add", content=""),
        candidate("add", content="x" * 501),
        candidate("replace"),
        "Lives in Lisbon",
    ],
)
def test_a_candidate_that_does_not_fit_is_asked_for_again_and_then_skipped(
    wire: Wire, model: RemoteModel, wrong: Any
) -> None:
    told = {"candidates": [wrong, candidate(content="Speaks Danish")], "summary": "s"}
    wire.script += [answer(told), answer(told)]
    read = extract(model)
    assert len(wire.received) == 2
    assert "candidate 1: " in wire.received[1].last
    assert [one.op for one in read.candidates] == ["skip", "add"]
    assert read.candidates[0].target is None
    assert read.candidates[0].reason


def test_an_endpoint_that_takes_no_schema_is_asked_in_words(wire: Wire, model: RemoteModel) -> None:
    wire.answer = lambda request: Status(400) if request.schema else answer(GOOD)
    assert len(extract(model).candidates) == 2
    assert [request.schema is not None for request in wire.received] == [True, False]
    assert wire.received[0].said == wire.received[1].said


def test_json_inside_a_fence_is_read(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(Say(f"Here it is:\n```json\n{json.dumps(GOOD)}\n```"))
    assert len(extract(model).candidates) == 2


def test_a_reading_without_a_new_summary_keeps_the_old_one(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(answer({"candidates": [], "summary": " "}))
    assert extract(model).summary == "They talked of towns."


def test_a_summary_builds_on_the_one_before(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(Say("They moved to Lisbon."))
    text, usage = asyncio.run(model.summarise("They lived in Porto.", TURNS))
    assert text == "They moved to Lisbon."
    assert usage.tokens_in == 100
    assert "They lived in Porto." in wire.received[0].last
    assert "I moved to Lisbon last month." in wire.received[0].last


@pytest.mark.parametrize(
    "said", ["Moving to Lisbon", '"Moving to Lisbon."', "# Moving to Lisbon\n\nAnd more", "Title: Moving to Lisbon"]
)
def test_a_title_is_a_few_plain_words(wire: Wire, model: RemoteModel, said: str) -> None:
    wire.script.append(Say(said))
    assert asyncio.run(model.title(TURNS))[0] == "Moving to Lisbon"


def test_a_title_has_five_words_at_most(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(Say("How the person moved all the way to Lisbon"))
    assert asyncio.run(model.title(TURNS))[0] == "How the person moved all"


def test_no_title_is_a_failure(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(Say('"."'))
    with pytest.raises(ModelFailed, match="empty answer"):
        asyncio.run(model.title(TURNS))
