"""The two parts of the tests: each test is in one, and the core's really has no extension."""

import os
import subprocess
import sys

import pytest
from tests import parts

LOOK = """
from importlib import import_module
from keepbook import Keepbook
for name in ("agents", "trading"):
    try:
        import_module("keepbook.extensions." + name)
    except ModuleNotFoundError as error:
        print(error.name)
with Keepbook(":memory:", embedder="none") as kb:
    kb.book("alice").remember("Likes tea")
    print(kb.extensions, len(kb.book("alice").list()))
"""
MISSING = ["keepbook.extensions.agents", "keepbook.extensions.trading"]


def test_neither_extension_can_be_imported_here() -> None:
    assert parts.PART == "core"
    for name in MISSING:
        with pytest.raises(ModuleNotFoundError):
            __import__(name)
        assert name not in sys.modules


@pytest.mark.process
def test_nor_in_a_program_that_a_test_starts() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [*MISSING, "() 1", ""]
    whole = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", LOOK], env=whole, capture_output=True, text=True, check=True)
    assert "keepbook.extensions" not in done.stdout.split("(")[0], "it is the path that hides them, nothing else"


def test_every_file_of_tests_is_in_one_part() -> None:
    files = sorted(parts.TESTS.rglob("test_*.py"))
    assert len(files) > 200
    for path in files:
        assert [part for part in parts.PARTS if parts.may_have(path, part)] == [
            parts.PARTS[parts.needs_extensions(path)]
        ]
    for name in parts.WITH_EXTENSIONS:
        assert (parts.TESTS / name).exists(), f"{name} is gone: take it out of the list"


def test_a_file_of_the_core_imports_no_extension() -> None:
    """Not while it is loaded, or its collection would fail; and not later, in a function that few call."""
    for path in sorted(parts.TESTS.rglob("*.py")):
        if not parts.needs_extensions(path) and path.parent != parts.WITHOUT and path.name != "test_parts.py":
            text = path.read_text(encoding="utf-8")
            assert not any(f"{verb} {name}" in text for verb in ("from", "import") for name in MISSING), path
