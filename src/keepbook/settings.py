"""Every setting and where it comes from. No other module reads the environment.

An explicit argument wins, then `KEEPBOOK_…` in the environment, then the config file (TOML, by default
`~/.keepbook/config.toml`), then the default. Unknown keys in the file are refused by name. A value written as text is
converted to the setting's type, wherever it comes from. Keepbook itself changes the config file only with
`write_config`, when the local person chooses something on the pages.
"""

import getpass
import json
import math
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from operator import ge, gt, le
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, Self, get_args, get_origin, get_type_hints

from keepbook.database_address import are_one_database
from keepbook.errors import Invalid
from keepbook.extensions import SHIPPED
from keepbook.strict_toml import NotToml, nearest_name, parse_toml

HOME = Path("~/.keepbook")


class Allowance(NamedTuple):
    """How much one owner may keep here; None means no limit."""

    memories: int | None = None
    chats: int | None = None
    bytes: int | None = None


UNLIMITED = Allowance()


class SecretSetting:
    """A key. Its `repr` hides it; `reveal` returns it."""

    __slots__ = ("_held",)

    def __init__(self, held: str) -> None:
        self._held = held

    def reveal(self) -> str:
        return self._held

    def __repr__(self) -> str:
        return "'**********'"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretSetting) and other._held == self._held

    def __hash__(self) -> int:
        return hash(self._held)


class Several(tuple[str, ...]):
    """A list. In the environment it is JSON or `one,another`."""

    __slots__ = ()


class ChatOwners(dict[int, str]):
    """Chat ids and their owners: `12345=alice,678=bob`, or in the config file also a table."""


class _Unfit(Exception):
    """A value that a setting cannot have. The message says what it expects."""


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a user database
        return "me"


def _in_home(name: str) -> Callable[[], Path]:
    return lambda: HOME.expanduser() / name


def _setting(about: str, default: Any = MISSING, *, make: Any = MISSING, **bounds: float) -> Any:
    """Declare a setting: what it is for, its default (or a function that makes it), and the bounds of a number:
    `above` (exclusive), `least` and `most` (inclusive)."""
    return field(default=default, default_factory=make, metadata={"about": about, "bounds": bounds})


@dataclass(frozen=True, init=False)
class Settings:
    """Every setting of Keepbook: those given, those of the environment, and for the rest the defaults."""

    db: str = _setting("Path of a SQLite file, or postgresql://…", make=lambda: str(HOME.expanduser() / "keepbook.db"))
    owner: str = _setting("Whose book the command line opens.", make=_system_user)
    preset: str | None = _setting("The preset, where neither the call nor the owner names one: general.", None)
    presets: Path = _setting("Folder with presets of your own.", make=_in_home("presets"))
    cards: Path = _setting("Folder with card types of your own.", make=_in_home("cards"))
    extensions: Several = _setting(
        "Which extensions are on: those of this package by name, others by theirs or as package.module:NAME.",
        make=lambda: Several(SHIPPED),
    )
    model: str = _setting("The chat model: offline, openai:NAME or anthropic:NAME.", "offline")
    cheap_model: str | None = _setting("For titles; the chat model where none is named.", None)
    reader_model: str | None = _setting("Reads chats that close; the chat model where none is named.", None)
    openai_base_url: str | None = _setting("Any OpenAI-compatible endpoint: OpenRouter, Ollama, vLLM, llama.cpp.", None)
    openai_key: SecretSetting | None = _setting("Its key; at OpenAI itself also OPENAI_API_KEY.", None)
    anthropic_base_url: str | None = _setting("Another endpoint that speaks Anthropic's format.", None)
    anthropic_key: SecretSetting | None = _setting("Its key; at Anthropic itself also ANTHROPIC_API_KEY.", None)
    model_hosts: Several = _setting("Hosts inside your networks where a server may ask for models.", Several())
    model_timeout: float = _setting("How long a model may take to answer, in seconds.", 120.0, above=0, most=3600)
    context_tokens: int = _setting("The context budget of a chat, at characters / 4.", 32_000, least=1000)
    compress_at: float = _setting("Past which share of it older turns are summarised.", 0.8, above=0, most=1)
    monthly_tokens: int | None = _setting("Each owner's monthly cap; over it only people ask models.", None, least=0)
    max_memories: int | None = _setting("How many memories one owner may have, archive included.", None, least=0)
    max_chats: int | None = _setting("How many chats one owner may have.", None, least=0)
    max_bytes: int | None = _setting("How many characters one owner's memories and chats may have.", None, least=0)
    server_seconds: float = _setting(
        "How long a call to a server is tried again while it restarts or is busy, in seconds.", 30.0, least=0
    )
    rate_per_minute: int = _setting(
        "Requests a token, or an address without one, may send in a minute; 0: any.", 1200, least=0
    )
    max_body_bytes: int = _setting("The largest request the server reads.", 2_000_000, least=1000)
    max_import_bytes: int = _setting("The largest file that may be brought in by page or API.", 50_000_000, least=1000)
    import_memory_mb: int = _setting("Memory that reading a large or packed file may take, in MB.", 512, least=64)
    import_cpu_seconds: int = _setting("Processor time that it may take, in seconds.", 60, least=1, most=86_400)
    allowed_hosts: Several = _setting("Host names the server answers to, beside the one bound.", Several())
    oidc_issuer: str | None = _setting("Where people sign in, by its issuer: https://id.example.org.", None)
    oidc_client_id: str | None = _setting("What this server is called there.", None)
    oidc_client_secret: SecretSetting | None = _setting("Its secret there, if it was given one.", None)
    oidc_new_books: bool = _setting("Whether who signs in there uninvited gets an empty book.", False)
    cors_origins: Several = _setting("Sites whose pages may call the API with a token: https://app.example.", Several())
    host: str = _setting("The address the server listens on.", "127.0.0.1")
    proxy_headers: bool = _setting("Whether a proxy in front says who the client is, and that it came over TLS.", False)
    forwarded_allow_ips: Several = _setting("The addresses or networks of such proxies.", Several(("127.0.0.1",)))
    port: int = _setting("Its port; 0 takes a free one.", 8765, least=0, most=65535)
    workers: int = _setting("How many processes serve: one for each core on PostgreSQL.", 1, least=1, most=64)
    log_format: Literal["plain", "json"] = _setting(
        "How the server logs: warnings in words, or every request as a line of JSON.", "plain"
    )
    price_in: float = _setting("What a million tokens read by a model cost, for `/metrics`.", 0.0, least=0)
    price_out: float = _setting("The same for a million tokens written.", 0.0, least=0)
    jobs_every: float = _setting("Seconds between sweeps of a running server; 0: none.", 60.0, least=0)
    close_after_hours: float = _setting("A chat silent for so long is closed by the sweep.", 6.0, above=0)
    impact_minutes: int = _setting(
        "How long after a market event the price is taken to move because of it.", 60, least=1, most=1440
    )
    agent_programs: Several = _setting(
        "Programs that agents may start here, such as claude; none, if nothing is named.", Several()
    )
    agent_env: Several = _setting("What of the server's environment such a program gets to see.", Several())
    agent_command: str = _setting("What an agent with the adapter claude-cli starts.", "claude")
    agent_folder: Path = _setting("Where that command works, a folder each.", make=_in_home("agents"))
    agent_timeout: float = _setting("How long it may take for a run, in seconds.", 1800.0, above=0, most=86_400)
    agent_output_bytes: int = _setting("The longest answer that is read from it.", 4_000_000, least=1000)
    embedder: str = _setting("auto (the best installed, else words alone), none, onnx:DIR or openai:MODEL.", "auto")
    admin_db: str | None = _setting(
        "Where `db`, `backup`, `restore --check` and service tokens go, if the administrator has another login.", None
    )
    backup_folder: Path | None = _setting("Where the sweep puts copies of the whole database; none: no copies.", None)
    backup_every_hours: float = _setting("How long after the last copy it makes the next.", 24.0, above=0)
    backup_keep: int = _setting("How many copies stay; older ones are removed.", 7, least=1)
    allow_bypass_login: bool = _setting("Whether a PostgreSQL login may be used that could see all owners.", False)
    api_docs: bool = _setting("Whether `/docs` and `/openapi.json` are served.", True)
    streams_per_token: int = _setting("Streams that one token may hold open to a worker.", 10, least=1)
    streams: int = _setting("Streams that a worker holds open in all.", 200, least=1)
    busy_seconds: float = _setting("How long a writer waits for its turn.", 30.0, above=0, most=600)
    telegram_token: SecretSetting | None = _setting("The token of your bot, from @BotFather.", None)
    telegram_chats: ChatOwners = _setting("Which chats are served, and as whom: 12345=alice,678=bob.", make=ChatOwners)
    telegram_base_url: str | None = _setting("A Bot API server of your own.", None)

    def __init__(self, **given: Any) -> None:
        self._set(from_environment() | given)

    @classmethod
    def of_nobody(cls, **given: Any) -> Self:
        """Settings from these values and the defaults alone: no environment, no file, no key of this machine."""
        made = cls.__new__(cls)
        made._set(given)
        return made

    def but(self, **changed: Any) -> Self:
        """The same settings with these changed."""
        return self.of_nobody(**{name: getattr(self, name) for name in known_settings()} | changed)

    def _set(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in known_settings():
                raise Invalid(f"setting {name!r}: there is none of that name{_suggestion(name)}", field=name)
        for name, (one, kind) in known_settings().items():
            try:
                if name in given:
                    value = _read_as(kind, given[name], one)
                else:
                    value = default_of(name)
            except _Unfit as error:
                raise Invalid(f"setting {name!r}: expected {error}", field=name) from None
            object.__setattr__(self, name, value)

    @property
    def allowance(self) -> Allowance:
        return Allowance(self.max_memories, self.max_chats, self.max_bytes)


@cache
def known_settings() -> Mapping[str, tuple["Field[Any]", Any]]:
    """Every setting by name, with its type."""
    kinds = get_type_hints(Settings)
    return {one.name: (one, kinds[one.name]) for one in fields(Settings)}


def from_environment() -> dict[str, Any]:
    """The settings that the environment sets, as text."""
    named = {name: os.environ.get(f"KEEPBOOK_{name.upper()}") for name in known_settings()}
    return {name: value for name, value in named.items() if value is not None}


def load_settings(**given: Any) -> Settings:
    """The settings in force. `given` are explicit ones; None means not given."""
    explicit = {name: value for name, value in given.items() if value is not None}
    path = config_path()
    from_file = _read(path)
    over_file = from_environment() | explicit
    told = from_file | over_file
    if "db" in explicit and "admin_db" in told and not are_one_database(explicit["db"], told["admin_db"]):
        del told["admin_db"]  # it is of the database that the settings name, and another is meant
    try:
        return _with_usual_keys(Settings.of_nobody(**told))
    except Invalid as error:
        if error.field in over_file:
            raise
        raise Invalid(f"{error.message} (in {path})", field=error.field) from None


def config_path() -> Path:
    return Path(os.environ.get("KEEPBOOK_CONFIG", str(HOME / "config.toml"))).expanduser()


def misspelt_variables() -> dict[str, str | None]:
    """The `KEEPBOOK_…` variables of the environment that are no setting, each with the variable that was probably
    meant, or None. Variables of our tests are left out."""
    known = {f"KEEPBOOK_{name.upper()}" for name in known_settings()} | {"KEEPBOOK_CONFIG"}
    strange = {name for name in os.environ if name.startswith("KEEPBOOK_")} - known
    return {name: nearest_name(name, known) for name in sorted(strange) if not name.startswith("KEEPBOOK_TEST")}


def in_environment(names: "frozenset[str]") -> list[str]:
    """The variables of these settings that are set in the environment, and so win over the config file."""
    return [f"KEEPBOOK_{name.upper()}" for name in sorted(names & from_environment().keys())]


def ollama_host() -> str | None:
    """The address in Ollama's own environment variable."""
    return os.environ.get("OLLAMA_HOST") or None


def write_config(changes: Mapping[str, str | None]) -> None:
    """Set these in the config file, which only its user may read; None removes a setting. Everything else in the file
    stays. The new text is parsed before it is written: if it does not say what was wanted, the file is left alone."""
    path = config_path().resolve()
    before = _read(path)
    wanted = {name: value for name, value in (before | dict(changes)).items() if value is not None}
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
    else:
        lines = []
    # Settings stand above the first table of the file.
    head = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    kept = [line for line in lines[:head] if not _sets_one_of(changes, line)]
    # JSON writes a string as TOML does.
    new = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in changes.items() if value is not None]
    text = "\n".join([*kept, *new, *lines[head:]]) + "\n"
    try:
        is_as_wanted = parse_toml(text) == wanted
    except NotToml:
        is_as_wanted = False
    if not is_as_wanted:
        raise Invalid(
            f"{path} cannot be changed from here; write it there yourself: {', '.join(changes)}", field="config"
        )
    try:
        _write_private(path, text)
    except OSError as error:
        raise Invalid(f"cannot write {path}: {error.strerror or error}", field="config") from None


def _sets_one_of(names: Mapping[str, object], line: str) -> bool:
    key, equals, _ = line.partition("=")
    return bool(equals) and key.strip() in names


def _write_private(path: Path, text: str) -> None:
    """Write a file completely or not at all; nobody else can read it at any moment."""
    private_folder(path.parent)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _suggestion(name: str) -> str:
    close = nearest_name(name, known_settings())
    if close:
        return f"; did you mean {close!r}?"
    return ""


def default_of(name: str) -> Any:
    one, _ = known_settings()[name]
    if one.default_factory is MISSING:
        return one.default
    return one.default_factory()


def _read_as(kind: Any, given: Any, one: "Field[Any]") -> Any:
    """Convert a value to the setting's type. Raises `_Unfit` if that is not possible."""
    if NoneType in get_args(kind):
        if given is None:
            return None
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Literal:
        if given not in get_args(kind):
            raise _Unfit(" or ".join(map(repr, get_args(kind))))
        return given
    if kind in (int, float):
        return _number(kind, given, one.metadata["bounds"])
    if isinstance(given, kind):
        return given
    return _READ[kind](given)


_BOUNDS = {"above": (gt, "above"), "least": (ge, "at least"), "most": (le, "at most")}
"""How a bound is checked, and the words for it."""


def _number(kind: Any, given: Any, bounds: Mapping[str, float]) -> Any:
    with suppress(TypeError, ValueError, OverflowError):
        value = kind(given)
        is_same = isinstance(given, str) or value == given  # 2.5 is no whole number
        is_number = is_same and math.isfinite(value) and not isinstance(given, bool)
        if is_number and all(_BOUNDS[side][0](value, bound) for side, bound in bounds.items()):
            return value
    kind_of_number = "a whole number" if kind is int else "a number"
    limits = [f"{_BOUNDS[side][1]} {bound:g}" for side, bound in bounds.items()]
    raise _Unfit(", ".join([kind_of_number, *limits]))


def _from_text(make: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A reader of settings that are made of a text."""

    def read(given: Any) -> Any:
        if not isinstance(given, str):
            raise _Unfit("text")
        return make(given)

    return read


def _switch(given: Any) -> bool:
    word = str(given).strip().lower()
    if word not in _ON + _OFF:
        raise _Unfit("true or false")
    return word in _ON


_ON, _OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def _several(given: Any) -> Several:
    if isinstance(given, str) and not given.lstrip().startswith("["):
        return Several(filter(None, map(str.strip, given.split(","))))
    try:
        if isinstance(given, str):
            values = json.loads(given)
        else:
            values = given
    except ValueError:
        values = None
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise _Unfit('a list, as in ["one", "another"] or one,another')
    return Several(values)


def _chats(given: Any) -> ChatOwners:
    pairs: list[Any] = []
    if isinstance(given, dict):
        pairs = list(given.items())
    elif given != "":
        pairs = [pair.split("=", 1) for pair in str(given).split(",")]
    try:
        chats = ChatOwners({int(chat): str(owner).strip() for chat, owner in pairs})
    except ValueError:
        chats = ChatOwners()
    if len(chats) != len(pairs) or not all(chats.values()):
        raise _Unfit("each chat id once, with its owner, as in 12345=alice,678=bob; ids are whole numbers")
    return chats


# What reads a value that does not have the setting's type yet.
_READ: Mapping[Any, Callable[[Any], Any]] = {
    str: _from_text(str),
    Path: _from_text(Path),
    SecretSetting: _from_text(SecretSetting),
    bool: _switch,
    Several: _several,
    ChatOwners: _chats,
}


def private_folder(path: Path) -> Path:
    """Make a folder that only this user may look into, with all missing folders above it. Returns the path."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    return path


def _with_usual_keys(settings: Settings) -> Settings:
    """Take the keys in OPENAI_API_KEY and ANTHROPIC_API_KEY, but not for another address than the provider's."""
    usual = {}
    for provider in ("openai", "anthropic"):
        key = os.environ.get(f"{provider.upper()}_API_KEY")
        has_key = getattr(settings, f"{provider}_key") is not None
        has_address = getattr(settings, f"{provider}_base_url") is not None
        if key and not has_key and not has_address:
            usual[f"{provider}_key"] = SecretSetting(key)
    return settings.but(**usual) if usual else settings


def _read(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, NotToml) as error:
        raise Invalid(
            f"cannot read {path}: {error}; mend it, or name another place in KEEPBOOK_CONFIG", field="config"
        ) from None
