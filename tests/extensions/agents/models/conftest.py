"""A house for each adapter; the databases in turn, so that three runs meet both engines and both adapters."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.models.house import House
from tests.models.conftest import model, model_at, plain_reader, wire

__all__ = ["build", "model", "model_at", "plain_reader", "wire"]


@pytest.fixture
def build(book_url: str, clock: Any, tmp_path: Path) -> Iterator[Callable[..., House]]:
    built: list[House] = []

    def make(adapter: str, **told: Any) -> House:
        folder = tmp_path / f"house-{len(built)}"
        folder.mkdir()
        built.append(House(adapter, book_url, clock, folder, **told))
        return built[-1]

    yield make
    for house in built:
        house.close()
