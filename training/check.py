"""Check training chats: `python -m training.check FILE...`. Says what is wrong, and counts the labels.

The rules are those of `labels.md`: known labels, what a `keep`, an `old` and an `order` need, and references that lead
somewhere.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS

SOURCES = ("user_tool", "advisor_tool", "extracted")


def main(paths: list[str]) -> int:
    wrong = 0
    for path in paths:
        found, labels, chats = list(problems(Path(path))), Counter[str](), 0
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            chats += 1
            labels.update(part["l"] for turn in json.loads(line)["turns"] for part in turn.get("parts", ()))
        for one in found:
            print(one)
        print(f"{path}: {chats} chats, {len(found)} errors; {dict(labels.most_common())}")
        wrong += len(found)
    return int(wrong > 0)


def problems(path: Path) -> Iterator[str]:
    seen = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        name = chat.get("id")
        if name in seen:
            yield f"{name}: id twice"
        seen.add(name)
        if chat.get("persona") not in ("assistant", "advisor", "coach"):
            yield f"{name}: persona"
        known = {one["id"]: one for one in chat.get("existing", [])}
        for one in known.values():
            if one.get("source") not in SOURCES or not one.get("content"):
                yield f"{name}: existing {one['id']}"
        for at, turn in enumerate(chat.get("turns", [])):
            yield from (f"{name}: turn {at}: {one}" for one in _turn(turn, chat["turns"], known))


def _turn(turn: dict[str, Any], turns: list[dict[str, Any]], known: dict[str, Any]) -> Iterator[str]:
    if turn.get("role") == "user":
        if not turn.get("parts"):
            yield "no parts"
        for at, part in enumerate(turn.get("parts", ())):
            yield from (f"part {at}: {one}" for one in _part(part, turns, known))
    elif turn.get("role") not in ("assistant", "tool"):
        yield "role"
    elif not turn.get("text"):
        yield "no text"


def _part(part: dict[str, Any], turns: list[dict[str, Any]], known: dict[str, Any]) -> Iterator[str]:
    label = part.get("l")
    if label not in LABELS or not part.get("t"):
        yield "label or text"
    if label == "keep":
        yield from _keep(part, known)
    if label == "old" and not _leads(part.get("by"), turns):
        yield f"by {part.get('by')}"
    if label == "order":
        if part.get("act") not in ACTS:
            yield "act"
        for one in part.get("of", []):
            if not (one in known if isinstance(one, str) else _leads(one, turns)):
                yield f"of {one}"


def _keep(part: dict[str, Any], known: dict[str, Any]) -> Iterator[str]:
    op, target = part.get("op"), part.get("target")
    if not part.get("fact") or op not in ("add", "update", "skip"):
        yield "keep needs fact and op"
    if part.get("cat") not in CATEGORIES["advisor"] or part.get("acat") not in CATEGORIES["assistant"]:
        yield "keep needs cat and acat"
    if op == "add" and target:
        yield "add with a target"
    if op in ("update", "skip") and target not in known:
        yield f"target {target}"
    elif op == "update" and known[target]["source"] != "extracted":
        yield "update of the person's own word: use skip"


def _leads(place: Any, turns: list[dict[str, Any]]) -> bool:
    """Whether [turn, part] is a part of a user turn."""
    if not (isinstance(place, list) and len(place) == 2 and place[0] < len(turns)):
        return False
    turn = turns[place[0]]
    return turn.get("role") == "user" and place[1] < len(turn["parts"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
