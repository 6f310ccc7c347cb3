"""Reads JSON that the book itself wrote. If it does not parse, the database is damaged."""

import json
from typing import Any

from keepbook.errors import Invalid


def load_json(text: str) -> Any:
    if text == "[]":  # most of what there is
        return []
    try:
        return json.loads(text)
    except ValueError:
        raise damaged_error("a text that the book wrote cannot be read") from None


def damaged_error(what: str) -> Invalid:
    return Invalid(f"the database is damaged: {what}; restore it from a backup", code="not_a_book", field="db")
