"""Whatever a server does wrong becomes one sentence that names the model and the cause, and nothing else."""

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.models.wire import CUT, DROP, EMPTY, GARBAGE, HANG, STALL, UNFINISHED, Say, Status, Step, Wire, refused

from keepbook.errors import ModelFailed
from keepbook.models.model import ClosingChat, Conversation, DialogueTurn, PromptMessage
from keepbook.models.providers.remote import RemoteModel

SECRET = "my landlord is called Aurelio"
TURNS = (DialogueTurn(1, "user", SECRET),)
READING = ClosingChat(TURNS, (), ("profile",), "UTC", datetime(2026, 3, 1, tzinfo=UTC))

FAULTS: list[tuple[Step, str, str]] = [
    (Status(429, "rate_limit_exceeded", headers={"retry-after": "17"}), "rate_limit", "try again in 17 seconds"),
    (Status(500), "server", "failed on its side (HTTP 500)"),
    (Status(503), "unavailable", "not available just now"),
    (Status(401), "key", "refused the key"),
    (Status(404), "unknown", "is not known at http://127.0.0.1:"),
    (Status(402), "quota", "has no credit left"),
    (Status(400, message=f"cannot read: {SECRET}"), "rejected", "did not accept the request (HTTP 400)"),
    (GARBAGE, "garbage", "cannot be read"),
    (EMPTY, "garbage", ""),
    (CUT, "", ""),
    (DROP, "unreachable", "cannot be reached"),
    (HANG, "timeout", "did not answer within 0.5 seconds"),
]


async def a_reply(model: RemoteModel) -> Any:
    return [event async for event in model.reply(Conversation(SECRET, (PromptMessage("user", SECRET),)), None)]


async def a_reading(model: RemoteModel) -> Any:
    return await model.extract(READING)


async def a_summary(model: RemoteModel) -> Any:
    return await model.summarise(SECRET, TURNS)


async def a_title(model: RemoteModel) -> Any:
    return await model.title(TURNS)


def failure(work: Callable[[RemoteModel], Any], model: RemoteModel) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        asyncio.run(work(model))
    return failed.value


@pytest.mark.parametrize("work", [a_reply, a_title])
@pytest.mark.parametrize(("step", "cause", "words"), FAULTS, ids=lambda each: getattr(each, "kind", None))
def test_a_fault_is_told_in_one_line_without_key_or_content(
    wire: Wire,
    model_at: Callable[..., RemoteModel],
    work: Callable[[RemoteModel], Any],
    step: Step,
    cause: str,
    words: str,
) -> None:
    model = model_at(wire.kind, wire.url, timeout=0.5 if step is HANG else 10)
    wire.script.append(step)
    error = failure(work, model)
    assert error.message.startswith(f"the model {model.address.called} ")
    assert words in error.message
    assert not cause or error.details["cause"] == cause
    assert "\n" not in error.message
    assert str(model.address.key) not in error.message
    assert "Aurelio" not in error.message
    assert len(wire.received) == 1, "nothing is tried again behind our back"


@pytest.mark.parametrize("step", [step for step, _, _ in FAULTS if step is not HANG], ids=str)
@pytest.mark.parametrize("work", [a_reading, a_summary])
def test_reading_and_summarising_fail_the_same_way(
    wire: Wire, model: RemoteModel, work: Callable[[RemoteModel], Any], step: Step
) -> None:
    wire.answer = lambda _: step
    assert failure(work, model).message.startswith(f"the model {model.address.called} ")
    assert len(wire.received) <= 3


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("work", [a_reply, a_reading, a_summary, a_title])
def test_a_port_where_nobody_listens_is_unreachable(
    kind: str, model_at: Callable[..., RemoteModel], work: Callable[[RemoteModel], Any]
) -> None:
    error = failure(work, model_at(kind, refused()))
    assert error.details["cause"] == "unreachable"
    assert "http://127.0.0.1:" in error.message


def test_without_the_extra_it_is_said_what_to_install(
    model_at: Callable[..., RemoteModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keepbook.models.providers.session", None)
    error = failure(a_title, model_at("openai", refused()))
    assert error.details["cause"] == "missing"
    assert "keepbook[models]" in error.message


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_provider_of_its_own_needs_a_key(kind: str, model_at: Callable[..., RemoteModel]) -> None:
    error = failure(a_title, model_at(kind, None, key=None))
    assert error.details["cause"] == "key"
    assert "needs a key" in error.message


def test_keys_of_the_environment_are_not_sent_to_an_endpoint_that_was_given_none(
    wire: Wire, model_at: Callable[..., RemoteModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-somebody-elses")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, refused())
    wire.script.append(Say("Rent and landlords"))
    asyncio.run(a_title(model_at(wire.kind, wire.url, key=None)))
    assert "sk-somebody-elses" not in str(wire.received[0].headers)


def test_the_key_goes_in_a_header_and_nowhere_else(wire: Wire, model: RemoteModel) -> None:
    wire.script.append(Say("Rent and landlords"))
    asyncio.run(a_title(model))
    key = str(model.address.key)
    assert key in str(wire.received[0].headers)
    assert key.encode() not in wire.received[0].body
    assert key not in wire.received[0].path
    assert key not in repr(model) + repr(model.address)


def test_a_password_in_the_base_url_is_not_told(model_at: Callable[..., RemoteModel]) -> None:
    url = refused().replace("http://", "http://me:hunter2@") + "?token=abc"
    message = failure(a_title, model_at("openai", url)).message
    assert "http://127.0.0.1:" in message
    assert "hunter2" not in message
    assert "abc" not in message


@pytest.mark.parametrize(
    ("step", "cause"), [(CUT, "unreachable"), (UNFINISHED, "garbage"), (STALL, "timeout")], ids=str
)
def test_half_a_reply_never_passes_for_a_whole_one(
    wire: Wire, model_at: Callable[..., RemoteModel], step: Step, cause: str
) -> None:
    wire.script.append(step)
    error = failure(a_reply, model_at(wire.kind, wire.url, timeout=0.5 if step is STALL else 10))
    assert error.details["cause"] == cause
