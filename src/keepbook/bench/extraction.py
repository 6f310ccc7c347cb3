"""Run the offline extractor over a file of chats and write predictions for the scorer.

The file has the shape of the evaluation data (one chat per line). A memory marked `user_tool` or
`advisor_tool` there is a person's own word here, so it is protected.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from keepbook.models.model import Known, Turn
from keepbook.models.offline.extract.extract import extract

VOCABULARY = {
    "advisor": ("profile", "finance_context", "response_style", "fact"),
    "assistant": ("person", "preference", "context", "project"),
    "coach": ("profile", "finance_context", "response_style", "fact"),
}
_SOURCE = {"user_tool": "profile", "advisor_tool": "chat", "extracted": "extracted"}


def memories(chat: dict[str, Any]) -> list[dict[str, Any]]:
    """What the extractor would do with one chat, in the scorer's shape."""
    existing = [
        Known(
            e["id"],
            e["category"],
            None,
            e["content"],
            _SOURCE[e["source"]],
            e.get("confidence"),
            e["source"] != "extracted",
        )
        for e in chat.get("existing", [])
    ]
    turns = [Turn(t["id"], t["role"], t["text"]) for t in chat["turns"]]
    found = extract(
        turns, existing, block=chat.get("injected_block"), vocabulary=VOCABULARY[chat["persona"]], zone="UTC"
    )
    return [{"op": c.op, "target": c.target, "content": c.content, "category": c.category or ""} for c in found]


def predict(path_in: str | Path, path_out: str | Path) -> int:
    """Write one line of predictions per chat; returns how many chats were read."""
    lines = [line for line in Path(path_in).read_text(encoding="utf-8").splitlines() if line.strip()]
    chats = [json.loads(line) for line in lines]
    out = [json.dumps({"id": c["id"], "memories": memories(c)}, ensure_ascii=False) for c in chats]
    Path(path_out).write_text("\n".join(out) + "\n", encoding="utf-8")
    return len(chats)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m keepbook.bench.extraction CHATS PREDICTIONS")
    print(f"{predict(sys.argv[1], sys.argv[2])} chats")
