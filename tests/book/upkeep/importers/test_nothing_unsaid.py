"""A word put anywhere into a file of any program comes in, or its place is told: a walk through every sample.

What a program keeps for itself alone (ids, scores, vectors) stays out by its name; the walk tries no such name."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from keepbook.book.upkeep.importers.incoming import Incoming
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.book.upkeep.importers.sources import detect_source

SAMPLES = Path(__file__).parent / "samples"
WORD = "zanzibar"
CHATS = ("mapping", "chat_messages", "messages", "message_ids", "episodes")
"""What is said in chats is told by its kind; `test_left_out.py` looks at that."""


def read(value: Any, name: str) -> Incoming:
    return detect_source(SourceFile(name, raw=json.dumps(value).encode()))


def maps_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every map of records: not those of chats."""
    if isinstance(value, list):
        for one in value:
            yield from maps_in(one)
    elif isinstance(value, dict):
        yield value
        for name, one in value.items():
            if name not in CHATS:
                yield from maps_in(one)


def is_told(found: Incoming, before: Incoming) -> bool:
    return WORD in repr((found.memories, found.chats)) or set(found.refused) != set(before.refused)


@pytest.mark.parametrize(
    "name", ["graphiti.json", "langgraph-items.json", "memories-claude.json", "mem0-get-all.json", "letta.af"]
)
@pytest.mark.parametrize("put", [WORD, [f"{WORD} too"], {"deep": {"er": WORD}}, [{"in": WORD}]], ids=range(4))
def test_what_is_put_into_a_record_comes_in_or_is_told(name: str, put: Any) -> None:
    whole = json.loads((SAMPLES / name).read_text())
    if name == "langgraph-items.json":  # what stays out as a whole is told already
        whole = [one for one in whole if read([one], name).memories]
    if name == "letta.af":
        whole["blocks"] = [one for one in whole["blocks"] if one["label"] != "persona"]
    before = read(whole, name)
    unsaid = []
    for number, place in enumerate(maps_in(whole)):
        tried = deepcopy(whole)
        next(one for nth, one in enumerate(maps_in(tried)) if nth == number)["tried"] = put
        if not is_told(read(tried, name), before):
            unsaid.append(sorted(place))
    assert unsaid == []
