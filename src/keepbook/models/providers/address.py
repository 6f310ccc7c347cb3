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
"""Programs that serve models on the person's own machine, recognised by their usual port."""
HERE = "this machine"
WEIGHTS = ".gguf"
"""How files of weights end."""
OLLAMA, OLLAMA_PORT = PORTS[0]
EVERYWHERE = ("0.0.0.0", "::", "")  # addresses to listen on; a client uses 127.0.0.1 instead  # noqa: S104


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
        return f"{weights_name(self.model)} ({self.server})"

    @property
    def server(self) -> str:
        """The name of its server: a provider, a program of this machine (recognised by its port), else the host."""
        if self.base_url is None:
            return PROVIDERS[self.kind]
        parts, ollama = urlsplit(self.base_url), ollama_host()
        host_and_port = parts.netloc.rpartition("@")[2]
        is_configured_ollama = bool(ollama) and urlsplit(ollama_address(ollama or "")).netloc == host_and_port
        if is_configured_ollama or host_and_port.endswith(f":{OLLAMA_PORT}"):
            return OLLAMA
        if not self.here:
            return parts.hostname or host_and_port
        return next((name for name, port in PORTS if host_and_port.endswith(f":{port}")), HERE)

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
        """Its address in a form that may be shown: without the password or key that a base URL can hold."""
        if self.base_url is None:
            return "its provider"
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def parse_model_name(name: str) -> tuple[ProviderKind, str]:
    """Split `openai:gpt-…` into (openai, gpt-…). A model's own name may contain colons and slashes."""
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
    """A model's name for a person, without its server. For a model that was used in the past: its server may be another
    today."""
    kind, _, own = name.partition(":")
    return (weights_name(own) if kind in PROVIDERS else own.capitalize()) or name


def weights_name(model: str) -> str:
    """A model that its server calls by the file of its weights, as llama.cpp does, by that file's name alone."""
    if not model.endswith(WEIGHTS):
        return model
    return model.removesuffix(WEIGHTS).replace("\\", "/").rpartition("/")[2] or model


def ollama_address(host: str) -> str:
    """The address that a value of OLLAMA_HOST means: `127.0.0.1`, `:11434`, `box:1234` or a whole address; "" if it is
    none."""
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
