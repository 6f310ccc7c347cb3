"""Readers that do what a file might make a reader do, for `test_reading_apart.py`: run in a process of their own."""

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keepbook.errors import NotFound


def tried(path: Path, told: Mapping[str, Any]) -> Iterator[Any]:
    doing = told["does"]
    if doing == "tell":
        yield {"environment": sorted(os.environ), "folder": os.getcwd(), "temporary": tempfile.gettempdir()}
    elif doing == "connect":
        socket.create_connection(("127.0.0.1", told["port"]), 1)
    elif doing == "start":
        os.system("true")
    elif doing == "take":
        held = [b"x" * 1_000_000 for _ in range(told["mb"])]
        yield len(held)
    elif doing == "spin":
        while True:
            pass
    elif doing == "write":
        Path("left").write_bytes(b"x" * 4_000_000)
    elif doing == "die":
        os._exit(3)
    elif doing == "tell all":
        while True:
            yield "x" * 1_000_000
    elif doing == "refuse":
        raise NotFound("there is no such thing", field="file", code="gone", line=7)
