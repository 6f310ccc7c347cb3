"""What a token bound to an agent gets is asked of the extension that has agents; without one, nothing is bound."""

from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.errors import NotFound
from keepbook.settings import load_settings
from keepbook.tools import bound
from keepbook.tools.catalogue import build_tools


@pytest.fixture
def bare(tmp_path: Path) -> Any:
    """Alice's book in an installation where no extension is on."""
    settings = load_settings(db=str(tmp_path / "book.db")).but(extensions=())
    with Keepbook(settings=settings) as kb:
        yield kb.book("alice")


def test_without_agents_nothing_is_bound(bare: Any) -> None:
    for asked in (bound.agent_id, bound.gives_memory, bound.own_tools, bound.bound_tools):
        with pytest.raises(NotFound, match="there are no agents here"):
            asked(bare, "Desk")
    assert [tool.name for tool in bound.outside_tools(bare)] == ["undo", "restore", "memory_stats"]


def test_a_preset_works_without_its_extension(bare: Any) -> None:
    assert [tool.name for tool in build_tools("coach", bare)] == ["remember", "forget"]
    assert [tool.name for tool in build_tools("coach", bare, mode="authoring")] == ["remember", "forget"]
