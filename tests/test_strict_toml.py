"""The one reader of TOML files: what does not fit is refused, named by its key, never skipped or converted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import pytest

from keepbook.strict_toml import TomlTable, Wrong, dotted_key, fit_to_shape, parse_toml


@dataclass(frozen=True, slots=True)
class Room:
    of_: str
    doors: int = 1
    lit: bool = False


@dataclass(frozen=True, slots=True)
class House:
    street: str
    kind: Literal["flat", "villa"] = "flat"
    height: float = 2.5
    names: tuple[str, ...] = ()
    rooms: TomlTable[Room] = field(default_factory=lambda: MappingProxyType({}))
    sheds: tuple[Room, ...] = ()
    best: Room | None = None


GOOD = """
street = "Elm"
height = 3
names = ["Ida", "Bo"]
[rooms.attic]
of = "Ida"
doors = 2
[[sheds]]
of = "Bo"
[best]
of = "Ida"
lit = true
"""


def test_a_file_comes_in_its_shape() -> None:
    house = fit_to_shape(House, parse_toml(GOOD))
    assert house == House(
        "Elm", "flat", 3.0, ("Ida", "Bo"), {"attic": Room("Ida", 2)}, (Room("Bo"),), Room("Ida", lit=True)
    )
    assert isinstance(house.height, float)
    rooms: Any = house.rooms
    with pytest.raises(TypeError):
        rooms["cellar"] = Room("Bo")


WRONG: Mapping[str, tuple[str, str, str, str, str | None]] = {
    "an unknown key": ("height = 3", "heigth = 3", "heigth", "unknown", "height"),
    "an unknown key far from any": ("height = 3", "zzz = 3", "zzz", "unknown", None),
    "one inside a table": ("doors = 2", "dors = 2", "rooms.attic.dors", "unknown", "doors"),
    "one inside a list": ('of = "Bo"', 'off = "Bo"', "sheds[0].off", "unknown", "of"),
    "one inside an optional table": ("lit = true", "list = true", "best.list", "unknown", "lit"),
    "the name Python has for it": ('of = "Bo"', 'of_ = "Bo"', "sheds[0].of_", "unknown", "of"),
    "a missing key": ('street = "Elm"', "", "street", "missing", None),
    "a number in quotes": ("doors = 2", 'doors = "2"', "rooms.attic.doors", "a whole number", None),
    "a fraction": ("doors = 2", "doors = 2.0", "rooms.attic.doors", "a whole number", None),
    "true for a number": ("height = 3", "height = true", "height", "a number", None),
    "one for true": ("lit = true", "lit = 1", "best.lit", "true or false", None),
    "a day for a text": ('street = "Elm"', "street = 2026-01-02", "street", "text", None),
    "a text for a list": ('names = ["Ida", "Bo"]', 'names = "Ida"', "names", "a list", None),
    "a number in a list": ('["Ida", "Bo"]', '["Ida", 2]', "names[1]", "text", None),
    "a text for a table": ("height = 3", 'rooms = "x"', "rooms", "a table", None),
    "a word that is none": ("height = 3", 'kind = "tent"', "kind", '"flat" or "villa"', None),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_named(name: str) -> None:
    old, new, key, belongs, meant = WRONG[name]
    text = GOOD.partition("[rooms")[0] if new.startswith("rooms") else GOOD
    assert old in text
    with pytest.raises(Wrong) as refused:
        fit_to_shape(House, parse_toml(text.replace(old, new, 1)))
    assert dotted_key(refused.value.key) == key
    assert belongs in (refused.value.kind, refused.value.belongs)
    assert refused.value.nearest == meant


def test_of_several_the_misspelt_key_is_told() -> None:
    with pytest.raises(Wrong) as refused:
        fit_to_shape(House, {"stret": "Elm", "height": "3"})
    assert (refused.value.kind, refused.value.nearest) == ("unknown", "street")
