"""What can be set, where it comes from, and nothing else reads the environment.

An explicit argument wins, then `KEEPBOOK_…` in the environment, then the config file (TOML, by default
`~/.keepbook/config.toml`), then the default. Unknown keys in the file are refused by name.
"""

import getpass
import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepbook.errors import Invalid

HOME = Path("~/.keepbook")


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a user database
        return "me"


class Settings(BaseSettings):
    """Every setting of Keepbook."""

    model_config = SettingsConfigDict(env_prefix="KEEPBOOK_", frozen=True, extra="forbid")

    db: str = Field(
        default_factory=lambda: str(HOME.expanduser() / "keepbook.db"),
        description="Path of a SQLite file, or postgresql://…",
    )
    owner: str = Field(default_factory=_system_user, description="Whose book the command line opens.")
    preset: str | None = Field(None, description="The preset, where neither the call nor the owner names one: general.")
    presets: Path = Field(
        default_factory=lambda: HOME.expanduser() / "presets", description="Folder with presets of your own."
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
    close_after_hours: float = Field(6.0, gt=0, description="A chat silent for so long is closed by the sweep.")
    embedder: str = Field("none", description="none (words alone), auto, onnx:DIR or openai:MODEL.")
    busy_seconds: float = Field(30.0, gt=0, le=600, description="How long a writer waits for its turn.")


def load_settings(**given: Any) -> Settings:
    """The settings in force; `given` are explicit ones, None meaning not given."""
    explicit = {name: value for name, value in given.items() if value is not None}
    path = Path(os.environ.get("KEEPBOOK_CONFIG", str(HOME / "config.toml"))).expanduser()
    from_file = _read(path)
    # The file ranks below the environment, which pydantic would put below arguments.
    in_environment = {name for name in Settings.model_fields if f"KEEPBOOK_{name.upper()}" in os.environ}
    below = {name: value for name, value in from_file.items() if name not in in_environment}
    try:
        return _with_usual_keys(Settings(**(below | explicit)))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        where = f" in {path}" if name in from_file or name not in Settings.model_fields else ""
        raise Invalid(f"setting {name!r}{where}: {first['msg'].lower()}", field=name) from None


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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(
            f"cannot read {path}: {error}; mend it, or name another place in KEEPBOOK_CONFIG", field="config"
        ) from None
