"""Choosing the model: the offer, the form, the trial of a model, and taking it into use.

Keys and addresses are accepted only from the person whose machine this is (`Visit.keeps_house`), and are written to the
config file, which nobody else may read. No page ever shows a key again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from keepbook.app import adopt
from keepbook.book.chats.threads import estimate
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.errors import Invalid, NotAllowed
from keepbook.models.choose import OFFLINE
from keepbook.models.from_settings import models_under
from keepbook.models.outward import OutwardDoor
from keepbook.models.prompt import compose
from keepbook.models.providers.address import Address, ProviderKind
from keepbook.models.providers.listing import list_models
from keepbook.models.providers.nearby import Server, find_servers
from keepbook.models.providers.remote import RemoteModel
from keepbook.models.providers.trial import Trial, price_of, try_out
from keepbook.patterns import regex
from keepbook.settings import Settings, in_environment, ollama_host, write_config

OURS = frozenset({"model", "openai_base_url", "openai_key", "anthropic_base_url", "anthropic_key"})
"""The settings that this page may write."""
PROVIDERS = {
    "OpenAI": "https://api.openai.com/v1",
    "Google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "OpenRouter": "https://openrouter.ai/api/v1",
}
"""Addresses of providers with OpenAI's API, as they publish them; not tested by us."""
KEEP = "keep"
TRIAL_SECONDS = 60.0
"""The time limit of a trial; long, because a local server may have to load the model first."""


_FOUND: dict[str, str] = {}
"""The result of the last trial of each model in this process: `TrialResult.works` by `_mark`."""


class Wishes(BaseModel):
    """The fields of the form. Each server that was found has its own list of models, all under one name."""

    name: str = ""
    zone: str = ""
    model: str = KEEP
    found: list[str] = []
    openai_address: str = ""
    openai_key: SecretStr = SecretStr("")
    openai_model: str = ""
    anthropic_key: SecretStr = SecretStr("")
    anthropic_model: str = ""
    tested: list[str] = []
    """The trials that were made on this page, each with its result and model."""
    back: str = ""
    """The page to return to, if this is not one of the first steps."""
    do: str = "open"


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be chosen on this machine."""

    servers: Sequence[Server]
    by_environment: Sequence[str]
    """The environment variables that set the model; if there are any, nothing can be chosen here."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    trial: Trial
    model: str
    """The model and its address, as in `_mark`."""
    here: bool
    """Whether it runs on this machine, and so costs nothing."""
    price: Decimal | None
    own_price: bool = False
    """Whether the price is the one in the settings, in whatever money that is."""

    @property
    def works(self) -> str:
        """A digit for each check: it answers, calls tools, reads chats."""
        return "".join("1" if check.good else "0" for check in self.trial.checks)

    @property
    def mark(self) -> str:
        return f"{self.works} {self.model}"


def offer(outward: OutwardDoor) -> Offer:
    return Offer(find_servers(ollama_host(), outward), in_environment(OURS))


def changes(wishes: Wishes, known: Settings, outward: OutwardDoor) -> Mapping[str, str | None]:
    """The changes to the config file for a choice; none if everything stays."""
    match wishes.model:
        case "" | "keep":
            return {}
        case "none":
            return {"model": OFFLINE}
        case "openai":
            address = _full_address(wishes.openai_address)
            _check_address(address)
            key = wishes.openai_key.get_secret_value().strip() or _existing_key(known, address)
            name = _check_model_name(wishes.openai_model, "openai_model")
            return {"model": f"openai:{name}", "openai_base_url": address or None, "openai_key": key}
        case "anthropic":
            key = wishes.anthropic_key.get_secret_value().strip()
            if not key and known.anthropic_key is None:
                raise Invalid("Anthropic wants a key; paste yours", field="anthropic_key")
            name = _check_model_name(wishes.anthropic_model, "anthropic_model")
            return {"model": f"anthropic:{name}"} | ({"anthropic_key": key} if key else {})
    return _find_server(wishes, known, outward)


def _find_server(wishes: Wishes, known: Settings, outward: OutwardDoor) -> Mapping[str, str | None]:
    """A server on this machine, which is looked for again: only one that is there can be chosen."""
    for server in offer(outward).servers:
        if server.name == wishes.model:
            asked = (one.partition("|")[2] for one in wishes.found if one.startswith(f"{server.name}|"))
            name = next((one for one in asked if one in server.models), server.models[0])
            if serves(server, known) and known.model == f"openai:{name}":
                return {}
            return {"model": f"openai:{name}", "openai_base_url": server.base_url, "openai_key": None}
    raise Invalid(f"{wishes.model[:40]} does not answer on this machine; start it and look again", field="model")


def serves(server: Server, known: Settings) -> bool:
    """Whether the current model is one of this server's."""
    name = known.model.removeprefix("openai:")
    return known.openai_base_url == server.base_url and known.model != name and name in server.models


def _existing_key(known: Settings, address: str) -> str | None:
    """The key there is, as long as it goes to the same address."""
    same = (known.openai_base_url or "").rstrip("/") == address
    if same and known.openai_key:
        return known.openai_key.reveal()
    return None


def _check_model_name(name: str, field: str) -> str:
    if not (name := name.strip()) or not name.isprintable() or len(name) > 200:
        raise Invalid("write the model's name, as its server calls it", field=field)
    return name


def _full_address(typed: str) -> str:
    """An address as it was typed, with the scheme that programs leave out when they show it: "localhost:1234"."""
    address = typed.strip().rstrip("/")
    if not _HOST_AND_PORT.match(address):
        return address
    return f"http://{address}"


_HOST_AND_PORT = regex(r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?:/|$)", re.IGNORECASE)
"""A machine near by, without a scheme."""


def _check_address(address: str) -> None:
    parts = None
    if address.isprintable():
        parts = urlsplit(address)
    if address and (parts is None or parts.scheme not in ("http", "https") or not parts.hostname):
        raise Invalid(
            "an address begins with http:// or https://, as in http://127.0.0.1:1234/v1", field="openai_address"
        )


def _allow(visit: Visit) -> None:
    if not visit.keeps_house:
        raise NotAllowed("the model is chosen by whoever runs this server, on its own machine", code="local_only")
    if named := in_environment(OURS):
        raise Invalid(f"{', '.join(named)} decides this where Keepbook runs; change it there", field="model")


def take_on(visit: Visit, wishes: Wishes, works: str) -> None:
    """Use the chosen model from now on. `works` is the result of its trial: if it cannot read chats, the notebook
    does."""
    known = visit.kb.settings
    changed = dict(changes(wishes, known, visit.kb.outward))
    if (changed or works) and known.reader_model in (None, OFFLINE):
        if works[2:3] == "0":
            changed["reader_model"] = OFFLINE
        else:
            changed["reader_model"] = None
    if any(getattr(known, name) != value for name, value in changed.items()):
        _allow(visit)
        write_config(changed)
        adopt(visit.kb, visit.kb.settings.but(**changed))


async def test(visit: Visit, wishes: Wishes) -> TrialResult | None:
    """Try the chosen model; None for the notebook, which needs no trial."""
    _allow(visit)
    settings = visit.kb.settings.but(**changes(wishes, visit.kb.settings, visit.kb.outward))
    limited = settings.but(model_timeout=min(TRIAL_SECONDS, settings.model_timeout))
    model = models_under(limited, visit.kb.outward).chat
    if not isinstance(model, RemoteModel):
        return None
    trial = await try_out(model, _prompt_tokens(visit), visit.now)
    named = _mark(settings)
    tested = TrialResult(trial, named, model.address.here, price_of(model.address, trial.month))
    _FOUND[named] = tested.works
    if settings.price_in or settings.price_out:
        month = trial.month
        own = Decimal(str(settings.price_in)) * month.tokens_in + Decimal(str(settings.price_out)) * month.tokens_out
        return replace(tested, here=False, price=own / 1_000_000, own_price=True)
    return tested


@dataclass(frozen=True, slots=True)
class Listed:
    """The models that a provider lists for the key of the form."""

    kind: str
    names: Sequence[str]


def models_listed(visit: Visit, wishes: Wishes, kind: ProviderKind) -> Listed:
    """The models of the provider at which the person has an account, by the form."""
    _allow(visit)
    known = visit.kb.settings
    if kind == "openai":
        place = _full_address(wishes.openai_address)
        if not place:
            raise Invalid("say its address first, or press one of the names", field="openai_address")
        _check_address(place)
        key = wishes.openai_key.get_secret_value().strip() or _existing_key(known, place)
    else:
        place = known.anthropic_base_url or ""
        kept = known.anthropic_key.reveal() if known.anthropic_key else None
        key = wishes.anthropic_key.get_secret_value().strip() or kept
    return Listed(kind, list_models(Address(kind, "", place or None, key, outward=visit.kb.outward)))


def _mark(settings: Settings) -> str:
    return f"{settings.model} {settings.openai_base_url or ''}".strip()


def last_trial_of(settings: Settings) -> str:
    """The result of the last trial of the model of these settings in this process, if any."""
    return _FOUND.get(_mark(settings), "")


def found_before(visit: Visit, wishes: Wishes) -> str | None:
    """The result of a trial of the chosen model on this page; "" if there is nothing to try, None if it was not
    tried."""
    changed = changes(wishes, visit.kb.settings, visit.kb.outward)
    if changed.get("model") == OFFLINE or not visit.keeps_house or in_environment(OURS):
        return ""
    mark = _mark(visit.kb.settings.but(**changed))
    known = (one.partition(" ") for one in wishes.tested)
    found = next((works for works, _, model in known if model == mark and works.isdecimal()), None)
    if changed:
        return found
    return found or ""


def _prompt_tokens(visit: Visit) -> int:
    """The tokens that are sent with every reply: the system prompt with the block, and the tools."""
    book = visit.book
    tools = visit.kb.tools(owner=book.owner).schemas("openai")
    prompt = compose(book.preset(), block=book.rendered().text, extensions=book.extensions)
    return estimate(prompt) + estimate(json.dumps(tools))
