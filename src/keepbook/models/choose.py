"""Chooses the model for each kind of work, from the settings.

The chat model answers and reads closing chats; the cheap one writes titles; the offline one is always there. If a model
fails, titles and summaries are made by the next of chat → cheap → offline, with a notice. Reading a chat for memories
is not passed on: it fails and is tried again. Only if the owner has used up the month's tokens, the offline model reads
it, with a notice too.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from keepbook.errors import Invalid, ModelFailed
from keepbook.models.model import DialogueTurn, Model, Usage
from keepbook.models.outward import OutwardDoor
from keepbook.models.providers.address import Address, own_name, parse_model_name
from keepbook.models.providers.remote import RemoteModel

OFFLINE = "offline"
YOUR_BOOK = "Your book"
"""The name of the offline model, as people read it."""
OVER_CAP = "this month's model tokens are used up, so the notebook did this"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings that decide on the models. Without a base URL the provider's own endpoint is used."""

    model: str = OFFLINE
    cheap_model: str | None = None
    reader_model: str | None = None
    openai_base_url: str | None = None
    openai_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = None
    anthropic_key: str | None = field(default=None, repr=False)
    model_timeout: float = 120.0
    context_tokens: int = 32_000
    outward: OutwardDoor = field(default_factory=OutwardDoor, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class MadeText:
    """A title or summary, the model that made it, and a notice for the person, if any."""

    text: str
    made_by: str
    usage: Usage
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """The models of an installation."""

    chat: Model
    cheap: Model
    offline: Model
    find: Callable[[str], Model] | None = field(default=None, repr=False, compare=False)
    reader: Model | None = None
    """The model that reads closing chats; None if it is the chat model."""

    def named(self, name: str | None) -> Model:
        """The model of this name, in the spelling of the settings; the chat model if no name is given."""
        if name is None or name == self.chat.name:
            return self.chat
        if name == self.offline.name:
            return self.offline
        if self.find is None:
            raise Invalid(f"there is no model {name!r} here", field="model")
        return self.find(name)

    def called(self, name: str | None) -> str:
        """The name of a model for a person; for a model in use also where it runs."""
        if name in (None, self.chat.name) and isinstance(self.chat, RemoteModel):
            return self.chat.address.called
        if name == self.cheap.name and isinstance(self.cheap, RemoteModel):
            return self.cheap.address.called
        name = name or self.chat.name
        if name == self.offline.name:
            return YOUR_BOOK
        return own_name(name)

    @property
    def extractor(self) -> Model:
        """The model that reads closing chats for memories."""
        return self.reader or self.chat

    def for_reading(self, *, over_cap: bool = False) -> tuple[Model, str | None]:
        """The model that reads a closing chat, and a notice about the choice, if any."""
        if over_cap and self.extractor is not self.offline:
            return self.offline, OVER_CAP
        return self.extractor, None

    async def title(self, turns: Sequence[DialogueTurn], *, over_cap: bool = False) -> MadeText:
        return await self._first([self.cheap], lambda model: model.title(turns), over_cap)

    async def summarise(
        self, previous: str | None, turns: Sequence[DialogueTurn], *, over_cap: bool = False
    ) -> MadeText:
        return await self._first([self.chat, self.cheap], lambda model: model.summarise(previous, turns), over_cap)

    async def _first(
        self, models: Sequence[Model], ask: Callable[[Model], Awaitable[tuple[str, Usage]]], over_cap: bool
    ) -> MadeText:
        """Ask these models in order until one does not fail; the offline model is the last. Over the cap it is the
        only one."""
        remote = [model for at, model in enumerate(models) if model is not self.offline and model not in models[:at]]
        notice = None
        if remote and over_cap:
            notice = OVER_CAP
        for model in () if over_cap else remote:
            try:
                text, usage = await ask(model)
            except ModelFailed as error:
                notice = f"{error.message}, so another model did this"
            else:
                return MadeText(text, model.name, usage, notice)
        text, usage = await ask(self.offline)
        return MadeText(text, self.offline.name, usage, notice)


def choose_models(settings: ModelSettings, offline: Model) -> Models:
    """The models that the settings name; `Invalid` for a name that is none. Nothing is loaded or called yet."""
    chat = _model(settings.model, settings, offline)
    cheap = _other_model(settings.cheap_model, settings, offline)
    reader = _other_model(settings.reader_model, settings, offline)
    return Models(chat, cheap or chat, offline, lambda name: _model(name, settings, offline), reader)


def _other_model(name: str | None, settings: ModelSettings, offline: Model) -> Model | None:
    """The model of this name, or None if it is not set or is the chat model."""
    if name is None or name == settings.model:
        return None
    return _model(name or OFFLINE, settings, offline)


def _model(name: str, settings: ModelSettings, offline: Model) -> Model:
    if name == OFFLINE:
        return offline
    kind, model = parse_model_name(name)
    if kind == "openai":
        base_url, key = settings.openai_base_url, settings.openai_key
    else:
        base_url, key = settings.anthropic_base_url, settings.anthropic_key
    if base_url and not base_url.startswith(("http://", "https://")):
        field = f"{kind}_base_url"
        raise Invalid(f"{field} starts with http:// or https://, not like {base_url[:30]!r}", field=field)
    address = Address(kind, model, base_url or None, key or None, settings.model_timeout, settings.outward)
    return RemoteModel(address, context_tokens=settings.context_tokens)
