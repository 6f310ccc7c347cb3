"""Server-sent events: how one is written."""

import json
from typing import Any

from keepbook.book.ground.to_json import to_json

MEDIA_TYPE = "text/event-stream"


def event(name: str, data: Any, id: int | None = None) -> bytes:
    """One event; its data are one line of JSON."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(to_json(data), ensure_ascii=False)}\n\n".encode()


DESCRIBED = {
    MEDIA_TYPE: {
        "schema": {
            "type": "object",
            "properties": {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}},
        }
    }
}
"""A stream in the OpenAPI document, event by event."""

REST = b": still here\n\n"
"""Sent while nothing happens, so that nobody in between hangs up."""
