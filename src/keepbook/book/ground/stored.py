"""What the book itself wrote as JSON, read back. Where it is none any more, the file under the book is damaged."""

import json
from typing import Any

from keepbook.errors import Invalid


def loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Invalid(
            "the database is damaged: a text that the book wrote cannot be read; restore it from a backup",
            code="not_a_book",
            field="db",
        ) from None
