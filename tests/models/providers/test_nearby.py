"""Model servers on this machine, and what a trial of one says."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.models.providers.test_reading_a_chat import candidate
from tests.models.wire import Call, Received, Say, Status, Step, Wire, answer, refused

from keepbook.models.model import Usage
from keepbook.models.outward import OutwardDoor
from keepbook.models.providers import nearby
from keepbook.models.providers.address import Address, ollama_address, own_name
from keepbook.models.providers.nearby import Server, answers_at, find_servers
from keepbook.models.providers.remote import RemoteModel
from keepbook.models.providers.trial import TOOL, Trial, price_of, try_out


def capable(request: Received) -> Step:
    """A model that calls the tool it is given, and finds one line in a chat."""
    if request.schema is not None:
        return answer({"candidates": [candidate(content="Is allergic to peanuts", turns=[1])], "summary": "s"})
    return Say("Teal.") if request.answers or not request.tools else Say(calls=[Call(TOOL, {})])


def tried(wire: Wire, prompt_tokens: int = 1000) -> Trial:
    model = RemoteModel(Address("openai", "local", wire.url, None, 5))
    return asyncio.run(try_out(model, prompt_tokens, datetime(2026, 11, 12, tzinfo=UTC)))


def test_a_server_that_lists_its_models_is_found_and_one_for_vectors_comes_last() -> None:
    with Wire("openai") as wire:
        wire.models = ["nomic-embed-text", "llama3.1:8b"]
        host = wire.url.removesuffix("/v1")
        assert find_servers(host, OutwardDoor()) == [Server("Ollama", wire.url, ("llama3.1:8b", "nomic-embed-text"))]
        assert find_servers(host.removeprefix("http://"), OutwardDoor()) == find_servers(host, OutwardDoor())


def test_nobody_there_and_somebody_else_there_are_nobody() -> None:
    assert find_servers(refused().removesuffix("/v1"), OutwardDoor()) == []
    with Wire("openai") as wire:
        assert find_servers(wire.url.removesuffix("/v1"), OutwardDoor()) == []


def test_a_server_that_tells_its_models_only_with_a_key_answers_all_the_same() -> None:
    with Wire("openai") as wire:
        wire.models, wire.wants_key = ["llama3.1:8b"], True
        assert answers_at(wire.url, OutwardDoor())
        assert find_servers(wire.url.removesuffix("/v1"), OutwardDoor()) == []
    assert not answers_at(refused(), OutwardDoor())


def test_a_chosen_server_that_is_slow_is_not_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "WAIT_SECONDS", 0.01)
    with Wire("openai") as wire:
        wire.models, wire.thinks = ["llama3.1:8b"], 0.2
        assert find_servers(wire.url.removesuffix("/v1"), OutwardDoor()) == []
        assert answers_at(wire.url, OutwardDoor())


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":1234", "http://127.0.0.1:1234"),
        ("box:80", "http://box:80"),
        ("https://box", "https://box:443"),
        ("[::1]:5", "http://[::1]:5"),
        ("box:notaport", ""),
    ],
)
def test_where_ollama_is_said_to_listen(said: str, place: str) -> None:
    assert ollama_address(said) == place


def test_a_trial_says_what_works_and_what_a_month_takes() -> None:
    with Wire("openai", capable) as wire:
        trial = tried(wire)
    assert [check.good for check in trial.checks] == [True, True, True]
    assert "kept 1 line" in trial.checks[2].words
    # Six replies of 1,000 tokens each with what was said so far, and one reading; 600 times a month.
    assert trial.month == Usage((6 * 1000 + 150 * 36 + 100 + 1800) * 600, (900 + 10) * 600)


def test_a_model_without_tools_or_reading_is_told_apart() -> None:
    def plain(request: Received) -> Step:
        return Say("no idea")

    with Wire("openai", plain) as wire:
        trial = tried(wire)
    assert [check.good for check in trial.checks] == [True, False, False]
    assert trial.answers


def test_a_refused_key_is_one_sentence_and_nothing_else_is_tried() -> None:
    with Wire("openai", lambda _: Status(401)) as wire:
        trial = tried(wire)
        assert len(wire.received) == 1
    assert [check.words for check in trial.checks] == [
        "No answer: the model local (this machine) refused the key; check it (HTTP 401)"
    ]
    assert not trial.answers


def test_a_price_is_told_only_where_it_is_known() -> None:
    month = Usage(1_000_000, 1_000_000)
    known = price_of(Address("openai", "gpt-4o-mini"), month)
    assert known is not None
    assert known > Decimal("0.1")
    assert price_of(Address("openai", "gpt-4o-mini", "http://models.example/v1"), month) is None
    assert price_of(Address("openai", "a-name-that-nobody-sells"), month) is None


@pytest.mark.parametrize(
    ("base_url", "called", "here"),
    [
        (None, "m:3b (OpenAI)", False),
        ("http://127.0.0.1:11434/v1", "m:3b (Ollama)", True),
        ("http://localhost:1234/v1", "m:3b (LM Studio)", True),
        ("http://[::1]:8080/v1", "m:3b (llama.cpp)", True),
        ("http://127.0.0.1:9/v1", "m:3b (this machine)", True),
        ("http://box:11434/v1", "m:3b (Ollama)", False),
        ("https://name:secret@models.example/v1", "m:3b (models.example)", False),
        ("http://127.0.0.1:7777/v1", "m:3b (Ollama)", True),
    ],
)
def test_a_model_is_called_by_its_own_name_and_whose_it_is(
    monkeypatch: pytest.MonkeyPatch, base_url: str | None, called: str, here: bool
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ":7777")
    address = Address("openai", "m:3b", base_url)
    assert (address.called, address.here) == (called, here)


def test_a_model_that_was_asked_once_is_called_by_its_own_name_alone() -> None:
    assert [own_name(name) for name in ("openai:m:3b", "demo:advisor", "claude-cli")] == [
        "m:3b",
        "Advisor",
        "claude-cli",
    ]
    for file in ("/srv/models/Small-1B.gguf", "C:\\models\\Small-1B.gguf", "Small-1B.gguf"):
        assert Address("openai", file, "http://localhost:8080/v1").called == "Small-1B (llama.cpp)"
        assert own_name(f"openai:{file}") == "Small-1B"
