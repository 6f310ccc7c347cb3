"""Which model does what, what happens when one fails, and what is said about it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import pytest

from keepbook.errors import Invalid, ModelFailed
from keepbook.models.choose import OVER_CAP, Models, ModelSettings, choose_models
from keepbook.models.model import ClosingChat, Conversation, DialogueTurn, Extraction, Model, ReplyEvent, Toolbox, Usage
from keepbook.models.providers.remote import RemoteModel

TURNS = (DialogueTurn(1, "user", "I moved to Lisbon"),)
READING = ClosingChat(TURNS, (), (), "UTC", datetime(2026, 3, 1, tzinfo=UTC))


class Stand:
    """A model that does its work, or fails."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.name = name
        self.fails = fails
        self.asked: list[str] = []

    def _did(self, what: str) -> str:
        self.asked.append(what)
        if self.fails:
            raise ModelFailed(f"the model {self.name} is asleep")
        return f"{what} by {self.name}"

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        raise NotImplementedError
        yield

    async def extract(self, reading: ClosingChat) -> Extraction:
        return Extraction((), self._did("reading"), self.name)

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return self._did("summary"), Usage(7, 1)

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return self._did("title"), Usage(5, 1)


def models(chat: Model, cheap: Model) -> Models:
    return Models(chat, cheap, Stand("offline"))


def test_without_settings_everything_is_offline() -> None:
    offline = Stand("offline")
    chosen = choose_models(ModelSettings(), offline)
    assert (chosen.chat, chosen.cheap, chosen.extractor, chosen.offline) == (offline, offline, offline, offline)


def test_each_tier_goes_to_its_own_provider_with_its_own_key() -> None:
    settings = ModelSettings(
        model="anthropic:claude-sonnet", cheap_model="openai:qwen3:4b", openai_base_url="http://127.0.0.1:11434/v1",
        openai_key="sk-o", anthropic_key="sk-a", model_timeout=33, context_tokens=9_000,
    )  # fmt: skip
    chosen = choose_models(settings, Stand("offline"))
    chat, cheap = chosen.chat, chosen.cheap
    assert isinstance(chat, RemoteModel)
    assert isinstance(cheap, RemoteModel)
    assert (chat.name, chat.address.base_url, chat.address.key) == ("anthropic:claude-sonnet", None, "sk-a")
    assert (cheap.name, cheap.address.base_url, cheap.address.key) == (
        "openai:qwen3:4b", "http://127.0.0.1:11434/v1", "sk-o",
    )  # fmt: skip
    assert chat.address.timeout == 33
    assert chat.context_tokens == 9_000
    assert chosen.extractor is chat
    assert "sk-" not in repr(settings)


def test_without_a_cheap_model_the_chat_model_does_its_work() -> None:
    chosen = choose_models(ModelSettings(model="openai:x"), Stand("offline"))
    assert chosen.cheap is chosen.chat


def test_the_cheap_tier_may_be_offline_beside_a_remote_chat_model() -> None:
    offline = Stand("offline")
    assert choose_models(ModelSettings(model="openai:x", cheap_model="offline"), offline).cheap is offline


@pytest.mark.parametrize("name", ["gpt-5", "openai:", "mistral:small", "", ":x"])
def test_a_name_that_is_no_model_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(Invalid, match="openai:NAME") as refused:
        choose_models(ModelSettings(model=name), Stand("offline"))
    assert refused.value.field == "model"


def test_a_base_url_without_its_scheme_is_refused() -> None:
    with pytest.raises(Invalid, match="http://") as refused:
        choose_models(ModelSettings(model="openai:x", openai_base_url="localhost:11434/v1"), Stand("offline"))
    assert refused.value.field == "openai_base_url"


def test_titles_come_from_the_cheap_model() -> None:
    made = asyncio.run(models(Stand("chat"), Stand("cheap")).title(TURNS))
    assert (made.text, made.made_by, made.notice) == ("title by cheap", "cheap", None)
    assert made.usage == Usage(5, 1)


def test_a_title_falls_back_to_the_offline_model_and_says_so() -> None:
    made = asyncio.run(models(Stand("chat"), Stand("cheap", fails=True)).title(TURNS))
    assert (made.text, made.made_by) == ("title by offline", "offline")
    assert "cheap is asleep" in (made.notice or "")


def test_a_summary_falls_back_from_chat_to_cheap_to_offline() -> None:
    made = asyncio.run(models(Stand("chat", fails=True), Stand("cheap")).summarise(None, TURNS))
    assert (made.made_by, "chat is asleep" in (made.notice or "")) == ("cheap", True)
    made = asyncio.run(models(Stand("chat", fails=True), Stand("cheap", fails=True)).summarise(None, TURNS))
    assert (made.made_by, "cheap is asleep" in (made.notice or "")) == ("offline", True)


def test_one_model_in_two_tiers_is_asked_once() -> None:
    both = Stand("both", fails=True)
    asyncio.run(models(both, both).summarise(None, TURNS))
    assert both.asked == ["summary"]


def test_reading_never_falls_back() -> None:
    chat = Stand("chat", fails=True)
    chosen = models(chat, Stand("cheap"))
    model, notice = chosen.for_reading()
    assert (model, notice) == (chat, None)
    with pytest.raises(ModelFailed):
        asyncio.run(model.extract(READING))


def test_over_the_cap_automatic_work_is_done_offline_and_says_so() -> None:
    chat, cheap = Stand("chat"), Stand("cheap")
    chosen = models(chat, cheap)
    for made in (
        asyncio.run(chosen.title(TURNS, over_cap=True)),
        asyncio.run(chosen.summarise(None, TURNS, over_cap=True)),
    ):
        assert (made.made_by, made.notice) == ("offline", OVER_CAP)
    assert chosen.for_reading(over_cap=True) == (chosen.offline, OVER_CAP)
    assert chat.asked == cheap.asked == []


def test_over_the_cap_nothing_is_said_where_all_is_offline_anyway() -> None:
    offline = Stand("offline")
    chosen = Models(offline, offline, offline)
    assert asyncio.run(chosen.title(TURNS, over_cap=True)).notice is None
    assert chosen.for_reading(over_cap=True) == (offline, None)
