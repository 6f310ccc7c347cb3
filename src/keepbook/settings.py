"""What can be set, where it comes from, and nothing else reads the environment.

An explicit argument wins, then `KEEPBOOK_…` in the environment, then the config file (TOML, by default
`~/.keepbook/config.toml`), then the default. Unknown keys in the file are refused by name.
"""

import getpass
import json
import os
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from keepbook.errors import Invalid
from keepbook.strict_toml import NotToml, nearest, parse

HOME = Path("~/.keepbook")


class Allowance(NamedTuple):
    """How much one owner may keep here; None is as much as they like."""

    memories: int | None = None
    chats: int | None = None
    bytes: int | None = None


UNLIMITED = Allowance()


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a user database
        return "me"


def _whose_chats(given: Any) -> Any:
    """Chat ids and their owners: `12345=alice,678=bob`, or in the config file also a table."""
    pairs = list(given.items()) if isinstance(given, dict) else [pair.split("=", 1) for pair in str(given).split(",")]
    pairs = [] if given == "" else pairs
    try:
        chats = {int(chat): str(owner).strip() for chat, owner in pairs}
    except ValueError:
        chats = {}
    if len(chats) != len(pairs) or not all(chats.values()):
        raise PydanticCustomError(
            "chats", "write each chat id once, with its owner, as in 12345=alice,678=bob; ids are whole numbers"
        )
    return chats


def _several(given: Any) -> Any:
    """A list, and in the environment also its JSON or `one,another`."""
    if not isinstance(given, str):
        return given
    if not given.lstrip().startswith("["):
        return tuple(filter(None, map(str.strip, given.split(","))))
    try:
        return json.loads(given)
    except ValueError:
        raise PydanticCustomError("several", 'write a list as ["one", "another"], or as one,another') from None


Several = Annotated[tuple[str, ...], BeforeValidator(_several)]


class Settings(BaseModel):
    """Every setting of Keepbook."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    db: str = Field(
        default_factory=lambda: str(HOME.expanduser() / "keepbook.db"),
        description="Path of a SQLite file, or postgresql://…",
    )
    owner: str = Field(default_factory=_system_user, description="Whose book the command line opens.")
    preset: str | None = Field(None, description="The preset, where neither the call nor the owner names one: general.")
    presets: Path = Field(
        default_factory=lambda: HOME.expanduser() / "presets", description="Folder with presets of your own."
    )
    cards: Path = Field(
        default_factory=lambda: HOME.expanduser() / "cards", description="Folder with card types of your own."
    )
    model: str = Field("offline", description="The chat model: offline, openai:NAME or anthropic:NAME.")
    cheap_model: str | None = Field(None, description="For titles; the chat model where none is named.")
    openai_base_url: str | None = Field(
        None, description="Any OpenAI-compatible endpoint: OpenRouter, Ollama, vLLM, llama.cpp."
    )
    openai_key: SecretStr | None = Field(
        None,
        description="Its key; at OpenAI itself also OPENAI_API_KEY.",
    )
    anthropic_base_url: str | None = Field(None, description="Another endpoint that speaks Anthropic's format.")
    anthropic_key: SecretStr | None = Field(
        None,
        description="Its key; at Anthropic itself also ANTHROPIC_API_KEY.",
    )
    model_timeout: float = Field(120.0, gt=0, le=3600, description="How long a model may take to answer, in seconds.")
    context_tokens: int = Field(32_000, ge=1000, description="The context budget of a chat, at characters / 4.")
    compress_at: float = Field(0.8, gt=0, le=1, description="Past which share of it older turns are summarised.")
    monthly_tokens: int | None = Field(
        None, ge=0, description="Each owner's monthly cap; over it automatic work is done offline."
    )
    max_memories: int | None = Field(None, ge=0, description="How many memories one owner may have, archive included.")
    max_chats: int | None = Field(None, ge=0, description="How many chats one owner may have.")
    max_bytes: int | None = Field(
        None, ge=0, description="How many characters one owner's memories and chats may have."
    )
    rate_per_minute: int = Field(1200, ge=0, description="Requests a token may send in a minute to a worker; 0: any.")
    max_body_bytes: int = Field(5_000_000, ge=1000, description="The largest request the server reads.")
    allowed_hosts: Several = Field((), description="Host names the server answers to, beside the one bound.")
    host: str = Field("127.0.0.1", description="The address the server listens on.")
    port: int = Field(8765, ge=0, le=65535, description="Its port; 0 takes a free one.")
    jobs_every: float = Field(60.0, ge=0, description="Seconds between sweeps of a running server; 0: none.")
    close_after_hours: float = Field(6.0, gt=0, description="A chat silent for so long is closed by the sweep.")
    impact_minutes: int = Field(
        60, ge=1, le=1440, description="How long after a market event the price is taken to move because of it."
    )
    agent_programs: Several = Field(
        (), description="Programs that agents may start here, such as claude; none, if nothing is named."
    )
    agent_env: Several = Field((), description="What of the server's environment such a program gets to see.")
    agent_command: str = Field("claude", description="What an agent with the adapter claude-cli starts.")
    agent_folder: Path = Field(
        default_factory=lambda: HOME.expanduser() / "agents", description="Where that command works, a folder each."
    )
    agent_timeout: float = Field(1800.0, gt=0, le=86_400, description="How long it may take for a run, in seconds.")
    agent_output_bytes: int = Field(4_000_000, ge=1000, description="The longest answer that is read from it.")
    embedder: str = Field(
        "auto", description="auto (the best installed, else words alone), none, onnx:DIR or openai:MODEL."
    )
    admin_db: str | None = Field(
        None,
        description="Where `db`, `backup` and `restore --check` go, if the administrator has another login.",
    )
    backup_folder: Path | None = Field(
        None, description="Where the sweep puts copies of the whole database; none: no copies."
    )
    backup_every_hours: float = Field(24.0, gt=0, description="How long after the last copy it makes the next.")
    backup_keep: int = Field(7, ge=1, description="How many copies stay; older ones are removed.")
    allow_bypass_login: bool = Field(
        False, description="Whether a PostgreSQL login may be used that could see all owners."
    )
    streams_per_token: int = Field(10, ge=1, description="Streams that one token may hold open to a worker.")
    streams: int = Field(200, ge=1, description="Streams that a worker holds open in all.")
    busy_seconds: float = Field(30.0, gt=0, le=600, description="How long a writer waits for its turn.")
    telegram_token: SecretStr | None = Field(None, description="The token of your bot, from @BotFather.")
    telegram_chats: Annotated[dict[int, str], BeforeValidator(_whose_chats)] = Field(
        default_factory=dict, description="Which chats are served, and as whom: 12345=alice,678=bob."
    )
    telegram_base_url: str | None = Field(None, description="A Bot API server of your own.")

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: dict[str, Any]) -> dict[str, Any]:
        return _from_environment() | given

    @property
    def allowance(self) -> Allowance:
        return Allowance(self.max_memories, self.max_chats, self.max_bytes)


def _from_environment() -> dict[str, str]:
    named = {name: os.environ.get(f"KEEPBOOK_{name.upper()}") for name in Settings.model_fields}
    return {name: value for name, value in named.items() if value is not None}


def load_settings(**given: Any) -> Settings:
    """The settings in force; `given` are explicit ones, None meaning not given."""
    explicit = {name: value for name, value in given.items() if value is not None}
    path = Path(os.environ.get("KEEPBOOK_CONFIG", str(HOME / "config.toml"))).expanduser()
    from_file = _read(path)
    from_environment = _from_environment()
    try:
        return _with_usual_keys(Settings(**(from_file | from_environment | explicit)))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        of_file = name in from_file and name not in from_environment and name not in explicit
        where = f" in {path}" if of_file or name not in Settings.model_fields else ""
        raise Invalid(f"setting {name!r}{where}: {first['msg'].lower()}{_meant(name)}", field=name) from None


def _meant(name: str) -> str:
    close = None if name in Settings.model_fields else nearest(name, Settings.model_fields)
    return f"; did you mean {close!r}?" if close else ""


def nobodys_settings(**given: Any) -> Settings:
    """Settings for what must know nothing of this machine: no environment, no file, no key."""
    return Settings.model_construct(**given)


def private_folder(path: Path) -> Path:
    """A folder that only this user may look into, made with all that is missing above it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    return path


def _with_usual_keys(settings: Settings) -> Settings:
    """The providers' own variables count for the providers themselves: a key never goes to another address."""
    usual = {}
    for provider in ("openai", "anthropic"):
        key = os.environ.get(f"{provider.upper()}_API_KEY")
        alone = getattr(settings, f"{provider}_key") is None and getattr(settings, f"{provider}_base_url") is None
        if key and alone:
            usual[f"{provider}_key"] = SecretStr(key)
    return settings.model_copy(update=usual)


def _read(path: Path) -> dict[str, Any]:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, NotToml) as error:
        raise Invalid(
            f"cannot read {path}: {error}; mend it, or name another place in KEEPBOOK_CONFIG", field="config"
        ) from None
