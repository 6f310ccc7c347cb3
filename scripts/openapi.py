"""The OpenAPI document as a file, for programs that write clients from it: `openapi.py FILE`."""

import json
import sys
from pathlib import Path

from keepbook import Keepbook
from keepbook.doors.http.app import create_app


def document() -> str:
    with Keepbook(":memory:", embedder="none") as kb:
        return json.dumps(create_app(kb).openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: openapi.py FILE")
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
