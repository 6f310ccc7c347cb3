"""The sentences of the notebook as data, by language; `says.toml` has them."""

import tomllib
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "es", "de", "nb", "fr")


@cache
def _sayings() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "says.toml").read_text(encoding="utf-8"))


def phrase(tongue: str, key: str, **told: object) -> str:
    """A sentence of the notebook; in English where the language has none."""
    said = _sayings().get(tongue, {}).get(key) or _sayings()["en"][key]
    return said.format(**told)


def day(tongue: str, at: object) -> str:
    """The day of a stamp, as people write it."""
    year, month, nth = (int(part) for part in str(at)[:10].split("-"))
    return phrase(tongue, "date", day=nth, month=phrase(tongue, "months").split()[month - 1], year=year)


def asks(text: str, key: str) -> bool:
    """Whether a reply ended with this question of ours, in whatever language."""
    ends = (_sayings()[tongue].get(key, "").rpartition("}")[2].strip() for tongue in LANGUAGES)
    return any(end and text.rstrip().endswith(end) for end in ends)


def says(text: str, key: str) -> bool:
    """Whether a reply holds this sentence of ours, in whatever language."""
    return any(phrase(tongue, key) in text for tongue in LANGUAGES)


def is_felt(text: str) -> bool:
    """Whether a reply holds the kind sentence to a feeling."""
    return says(text, "felt_low") or says(text, "felt_glad")
