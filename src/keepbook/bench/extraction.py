"""Run the offline extractor over a file of chats and write predictions for the scorer.

The file has the shape of the evaluation data (one chat per line). A memory marked `user_tool` or `advisor_tool` there
is a person's own word here, so it is protected. Each prediction has a `status`: what the reader is sure of is `kept`,
what is
likely is `proposed`, whatever a preset does at closing.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keepbook.book.text.block_lines import lines_in_text
from keepbook.models.closing.checks import judge_candidates
from keepbook.models.model import ClosingChat, DialogueTurn, Extraction, KnownMemory
from keepbook.models.notebook.extract import extract

VOCABULARY = {
    "advisor": ("profile", "finance_context", "response_style", "fact"),
    "assistant": ("person", "preference", "context", "project"),
    "coach": ("profile", "finance_context", "response_style", "fact"),
}
_SOURCE = {"user_tool": "profile", "advisor_tool": "chat", "extracted": "extracted"}


def extracted_memories(chat: dict[str, Any]) -> list[dict[str, Any]]:
    """What the extractor would do with one chat, in the scorer's shape."""
    existing = tuple(
        KnownMemory(
            e["id"], e["category"], None, e["content"], _SOURCE[e["source"]], e.get("confidence"),
            e["source"] != "extracted",
        )
        for e in chat.get("existing", [])
    )  # fmt: skip
    turns = tuple(DialogueTurn(t["id"], t["role"], t["text"]) for t in chat["turns"])
    reading = ClosingChat(
        turns,
        existing,
        VOCABULARY[chat["persona"]],
        "UTC",
        datetime.now(UTC),
        block=lines_in_text(chat.get("injected_block") or ""),
    )
    judged = judge_candidates(reading, Extraction(tuple(extract(reading)), "", "offline"))
    return [
        {
            "op": one.op if why is None else "skip",
            "target": one.target,
            "content": one.content,
            "category": one.category or "",
            "status": "kept" if one.sure else "proposed",
        }
        for one, why in judged
    ]


def predict(path_in: str | Path, path_out: str | Path) -> int:
    """Write one line of predictions per chat; returns how many chats were read."""
    lines = [line for line in Path(path_in).read_text(encoding="utf-8").splitlines() if line.strip()]
    chats = [json.loads(line) for line in lines]
    out = [json.dumps({"id": c["id"], "memories": extracted_memories(c)}, ensure_ascii=False) for c in chats]
    Path(path_out).write_text("\n".join(out) + "\n", encoding="utf-8")
    return len(chats)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m keepbook.bench.extraction CHATS PREDICTIONS")
    print(f"{predict(sys.argv[1], sys.argv[2])} chats")
