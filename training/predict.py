"""What a reader alone would keep of unseen chats, as the scorer of extraction wants it: no rules, no wording.

    python -m training.predict CHATS.jsonl OUT.jsonl [--reader linear] [--proposed]

Every piece that is kept (or proposed too) becomes a memory in the person's own words.
"""

import argparse
import json
from pathlib import Path

from keepbook.models.reader.choice import linear_reader, open_reader
from keepbook.models.reader.values import ReaderTurn

SHORTEST = 4


def main() -> None:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("chats", type=Path)
    known.add_argument("out", type=Path)
    known.add_argument("--reader", choices=("best", "linear"), default="best")
    known.add_argument("--proposed", action="store_true", help="what is proposed counts too")
    given = known.parse_args()
    reader = linear_reader() if given.reader == "linear" else open_reader()
    wanted = ("keep", "propose") if given.proposed else ("keep",)
    lines = []
    for line in given.chats.read_text(encoding="utf-8").splitlines():
        chat = json.loads(line)
        pieces = reader.read([ReaderTurn(turn["role"], turn["text"]) for turn in chat["turns"]])
        memories = [
            {"op": "add", "target": None, "content": piece.text.strip(), "category": piece.categories["advisor"]}
            for piece in pieces
            if piece.verdict in wanted and len(piece.text.strip()) >= SHORTEST
        ]
        lines.append(json.dumps({"id": chat["id"], "memories": memories}, ensure_ascii=False))
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
