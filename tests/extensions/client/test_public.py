"""What a program sees: types without holes, every argument explained, and a stub that says the same for `await`."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

import keepbook
from keepbook.client.off_loop import OPENS_FACE

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
import stubs


@pytest.mark.parametrize("place", stubs.STUBS, ids=lambda place: place.name)
def test_a_stub_is_as_its_script_writes_it(place: Path) -> None:
    assert stubs.STUBS[place]() == place.read_text(encoding="utf-8"), "run scripts/stubs.py write"


INTERNAL = stubs.LEFT_OUT


def methods(face: type) -> list[tuple[str, Any]]:
    return [
        (name, own)
        for name in dir(face)
        if not name.startswith("_")
        and name not in INTERNAL
        and inspect.isfunction(own := inspect.getattr_static(face, name))
    ]


@pytest.mark.parametrize("face", stubs.STANDS_IN)
def test_nobody_receives_just_anything(face: type) -> None:
    for name, own in methods(face):
        received = stubs.hints_of(own)["return"]
        assert received is not Any, f"{face.__name__}.{name}"
        assert Any not in get_args(received), f"{face.__name__}.{name}"


HOUSE = SimpleNamespace(**stubs.METHODS)
"""What extensions add to an installation; as a method of it each is given the installation first."""
PUBLIC = [
    *(f"{face.__name__}.{name}" for face in stubs.STANDS_IN for name, _ in methods(face)),
    *(f"Keepbook.{name}" for name, _ in methods(keepbook.Keepbook)),
    *(f"AsyncKeepbook.{name}" for name, _ in methods(keepbook.AsyncKeepbook)),
    *(f"house.{name}" for name in stubs.METHODS),
]
CLASSES: dict[str, Any] = {
    each.__name__: each for each in (*stubs.STANDS_IN, keepbook.Keepbook, keepbook.AsyncKeepbook)
} | {"house": HOUSE}


@pytest.mark.parametrize("where", PUBLIC)
def test_help_explains_every_argument(where: str) -> None:
    face, _, name = where.partition(".")
    own = getattr(CLASSES[face], name)
    told = inspect.getdoc(own) or ""
    assert told.strip(), where
    for argument in list(inspect.signature(own).parameters)[1:]:
        assert f"\n{argument}: " in f"\n{told}" or f"`{argument}`" in told, f"{where}({argument})"


@pytest.mark.parametrize("face", [keepbook.Keepbook, keepbook.AsyncKeepbook])
def test_help_explains_what_opens_a_book(face: type) -> None:
    told = inspect.getdoc(face) or ""
    for argument in list(inspect.signature(keepbook.Keepbook.__init__).parameters)[1:]:
        assert f"{argument}: " in told, argument


def test_the_names_of_a_book_are_the_same_when_awaited() -> None:
    stub = (stubs.PACKAGE / "asynchronous.pyi").read_text(encoding="utf-8")
    body = stub[stub.index("class AsyncBook:") : stub.index("class AsyncKeepbook:")]
    for name, _ in methods(keepbook.Book):
        assert f"async def {name}(" in body or name == OPENS_FACE, name
    assert f"    def {OPENS_FACE}(" in body, "a face is there at once"
