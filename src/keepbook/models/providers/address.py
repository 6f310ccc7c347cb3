"""The address of a remote model: its name in the settings (`openai:gpt-…`), its name for people, and its endpoint."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from keepbook.errors import Invalid
from keepbook.models.outward import OutwardDoor
from keepbook.settings import ollama_host

ProviderKind = Literal["openai", "anthropic"]
PROVIDERS = {"openai": "OpenAI", "anthropic": "Anthropic"}
PORTS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
"""The model servers of one's own machine, each known by where it listens."""
HERE = "this machine"
OLLAMA, OLLAMA_PORT = PORTS[0]
EVERYWHERE = ("0.0.0.0", "::", "")  # where a server listens, said as where to reach it  # noqa: S104


@dataclass(frozen=True, slots=True)
class Address:
    """One model at one endpoint; without `base_url` it is the provider's own."""

    kind: ProviderKind
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    outward: OutwardDoor = field(default_factory=OutwardDoor, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.model}"

    @property
    def called(self) -> str:
        """Its name for a person, with its server: `llama3.2:3b (Ollama)`."""
        return f"{self.model} ({self.server})"

    @property
    def server(self) -> str:
        """Who serves it: a provider, a program of this machine by its port, else the machine's name."""
        if self.base_url is None:
            return PROVIDERS[self.kind]
        there, said = urlsplit(self.base_url), ollama_host()
        at = there.netloc.rpartition("@")[2]
        if at.endswith(f":{OLLAMA_PORT}") or (said and urlsplit(ollama_address(said)).netloc == at):
            return OLLAMA
        if not self.here:
            return there.hostname or at
        return next((name for name, port in PORTS if at.endswith(f":{port}")), HERE)

    @property
    def here(self) -> bool:
        """Whether it runs on this machine."""
        host = urlsplit(self.base_url or "").hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def place(self) -> str:
        """Its place in words that may be shown: a base URL can hold a password or a key."""
        if self.base_url is None:
            return "its provider"
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def parse_model_name(name: str) -> tuple[ProviderKind, str]:
    """`openai:gpt-…` → (openai, gpt-…). A model's own name may hold colons and slashes."""
    kind, _, model = name.strip().partition(":")
    if kind == "openai" and model:
        return "openai", model
    if kind == "anthropic" and model:
        return "anthropic", model
    raise Invalid(
        f"there is no model {name!r}; write offline, openai:NAME (any OpenAI-compatible endpoint) or anthropic:NAME",
        field="model",
    )


def own_name(name: str) -> str:
    """A model's name for a person, without its place: it was used once, and may be elsewhere by now."""
    kind, _, own = name.partition(":")
    return (own if kind in PROVIDERS else own.capitalize()) or name


def ollama_address(host: str) -> str:
    """`127.0.0.1`, `:11434`, `box:1234` and whole addresses, as Ollama reads its variable."""
    scheme, _, rest = host.rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if name in EVERYWHERE:
        name = "127.0.0.1"
    elif ":" in name:
        name = f"[{name}]"
    usual = {"http": 80, "https": 443}.get(scheme, OLLAMA_PORT)
    return f"{scheme or 'http'}://{name}:{port or usual}"
