"""The reader on chats written for it to be wrong about: other people, domains, languages and phrasings.

Figures, not sentences: a rule may lose one chat and win another, but quality must not slide.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from keepbook.bench.extraction import memories, predict

HELDOUT = Path(__file__).with_name("heldout.jsonl")


@pytest.fixture(scope="module")
def read() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    chats = [json.loads(line) for line in HELDOUT.read_text(encoding="utf-8").splitlines() if line]
    return [(chat, memories(chat)) for chat in chats]


def _kept(found: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in found if m["op"] in ("add", "update")]


def _hits(pattern: str, text: str) -> bool:
    return bool(re.search(pattern, text, re.IGNORECASE | re.DOTALL))


def _matched(chat: dict[str, Any], kept: list[str]) -> int:
    left = list(kept)
    hits = 0
    for gold in chat["gold"]:
        if gold["op"] not in ("add", "update"):
            continue
        match = next((line for line in left if all(_hits(p, line) for p in gold["must"])), None)
        if match is not None:
            left.remove(match)
            hits += 1
    return hits


def test_most_facts_are_found_and_most_lines_are_facts(read):
    wanted = sum(1 for chat, _ in read for g in chat["gold"] if g["op"] in ("add", "update"))
    hits = sum(_matched(chat, _kept(found)) for chat, found in read)
    lines = sum(
        1
        for chat, found in read
        for line in _kept(found)
        if not any(_hits(a["pattern"], line) for a in chat["acceptable"])
    )
    assert hits / wanted >= 0.8
    assert hits / max(lines, 1) >= 0.75


def test_almost_no_chat_stores_what_it_must_not(read):
    bad = [
        chat["id"]
        for chat, found in read
        if any(_hits(f["pattern"], line) for f in chat["forbidden"] for line in _kept(found))
    ]
    assert len(bad) <= 0.04 * len(read), bad


def test_chats_with_nothing_to_keep_stay_empty(read):
    empty = [(chat, found) for chat, found in read if not any(g["op"] in ("add", "update") for g in chat["gold"])]
    dirty = [chat["id"] for chat, found in empty if _kept(found)]
    assert len(dirty) <= 0.15 * len(empty), dirty


def test_no_persons_word_is_changed(read):
    for chat, found in read:
        guarded = {e["id"] for e in chat["existing"] if e["source"] != "extracted"}
        assert not [m for m in found if m["op"] in ("update", "forget") and m["target"] in guarded], chat["id"]


def test_every_target_is_a_memory_of_the_chat(read):
    for chat, found in read:
        ids = {e["id"] for e in chat["existing"]}
        assert {m["target"] for m in found if m["target"]} <= ids


def test_predictions_are_one_line_per_chat(tmp_path):
    out = tmp_path / "predictions.jsonl"
    count = predict(HELDOUT, out)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == count
    assert {"id", "memories"} == set(lines[0])
