"""Where a remote model is: its name as people write it (`openai:gpt-…`), and what is needed to reach it."""

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from keepbook.errors import Invalid

Kind = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Address:
    """One model at one endpoint; without `base_url` it is the provider's own."""

    kind: Kind
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 120.0

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.model}"

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown: a base URL can carry a password or a key."""
        if self.base_url is None:
            return "its provider"
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def parse(name: str) -> tuple[Kind, str]:
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
