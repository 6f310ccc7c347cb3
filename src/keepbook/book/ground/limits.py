"""The limits of each field, and the error messages when a limit is broken."""

import json
import unicodedata
from difflib import get_close_matches
from typing import Any

from keepbook.errors import Invalid
from keepbook.presets import Preset

TIMELINE_TOKENS = 2000
"""How many tokens a timeline has by default."""
TRASH_DAYS = 30
"""How many days deleted memories and chats stay in the trash."""

MOST_QUESTION = 2000
"""How many letters a question may have, at every door, so that its answer does not take long."""

MODES = ("authoring", "coach", "ops")
"""What a chat may be for; a model is told about it."""

MOST_LABELS = 32
"""How many tags, and how many pairs of metadata, a memory may have."""
KEY_CHARS, VALUE_CHARS, TAG_CHARS = 64, 500, 64

LARGEST = 2_000_000_000
"""The largest number that may be stored: integer columns of both engines hold it."""
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1
"""The range of whole numbers in JSON: other programs cannot read those outside."""
MOST_DEEP = 100
"""How deep lists and objects may be nested in what is stored; an answer that contains them is nested deeper."""
_BREAKS = {ord(mark): " " for mark in "\n\r\t\x85\u2028\u2029"}


def clean_line(text: object, field: str, low: int, high: int) -> str:
    """One line of text: breaks and tabs become spaces, other control characters are refused."""
    plain = isinstance(text, str) and text.isprintable()  # then spaces are all in it that is not seen
    if plain:
        line = str(text).strip()
    else:
        line = _one_line(text, field)
    if not low <= len(line) <= high:
        raise Invalid(f"{field} must have {low} to {high} characters; this has {len(line)}", field=field)
    if not plain and line and all(unicodedata.category(mark)[0] in "CZ" for mark in line):
        raise Invalid(f"{field} has no visible character", field=field)
    return line


def check_question(query: object) -> None:
    """Refuse a question that is no text, is empty, or is too long."""
    if not isinstance(query, str) or not query.strip():
        raise Invalid("ask something: the query is empty", field="query")
    if len(query) > MOST_QUESTION:
        raise Invalid(
            f"a question has at most {MOST_QUESTION:,} letters; this has {len(query):,}: ask for what matters in it",
            field="query",
        )


def clean_body(text: object) -> str:
    body = _readable(text, "body")
    _refuse_controls(body, "body", "\n\r\t")
    if len(body.encode()) > 64 * 1024:
        raise Invalid(f"body must stay under 64 KB; this has {len(body.encode()) // 1024} KB", field="body")
    return body


def clean_count(number: object, field: str, most: int) -> int:
    return clean_whole(number, field, 1, most)


def clean_whole(number: object, field: str, least: int, most: int = LARGEST) -> int:
    """A whole number, checked to fit into a column."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise Invalid(f"{field} is a whole number from {least} to {most}, not {shown_number(number)}", field=field)
    return number


def shown_number(number: object) -> str:
    """A number as an error message shows it: of a huge one, only the beginning."""
    if isinstance(number, int) and not -LARGEST <= number <= LARGEST:
        return "one as large as that"
    return repr(number)[:80]


def sought(text: str) -> str:
    """A text to search for. One that no database can hold is replaced by a text that occurs nowhere."""
    try:
        text.encode()
    except (UnicodeEncodeError, AttributeError):
        return "\uffff"
    if "\x00" in text:
        return "\uffff"
    return text


def clean_text(text: object, field: str, most: int) -> str:
    """Running text, unchanged. Only characters that no database can hold are refused."""
    said = _readable(text, field)
    if "\x00" in said:
        raise Invalid(f"{field} holds a NUL character; remove it", field=field)
    if len(said) > most:
        raise Invalid(f"{field} must stay under {most:,} characters; this has {len(said):,}", field=field)
    return said


def clean_optional(text: object, field: str, high: int) -> str | None:
    """An optional line: None and the empty string both mean no line."""
    if text is None or text == "":
        return None
    return clean_line(text, field, 1, high)


def clean_category(text: object, preset: Preset) -> str | None:
    if text is None or text == "":
        return preset.default_category
    category = clean_line(text, "category", 1, 40)
    if preset.categories and category not in preset.categories:
        close = get_close_matches(category.lower(), preset.categories, 1)
        hint = ""
        if close:
            hint = f"did you mean {close[0]!r}? "
        raise Invalid(
            f"unknown category {category!r}; {hint}{preset.name} has: {', '.join(preset.categories)}",
            field="category",
        )
    return category


def clean_confidence(text: object) -> str:
    if text not in ("asserted", "inferred"):
        raise Invalid(f"confidence is 'asserted' or 'inferred', not {text!r}", field="confidence")
    return str(text)


def clean_chat_mode(mode: object) -> str | None:
    """What a chat is for, checked. `models/prompt.py` has what a model is told about each mode."""
    if mode is not None and mode not in MODES:
        raise Invalid(f"mode is one of {', '.join(MODES)}, not {mode!r}"[:200], field="mode")
    if mode is None:
        return None
    return str(mode)


def clean_share(number: object, field: str) -> float:
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not 0 <= number <= 1  # which is not true of NaN
    ):
        raise Invalid(f"{field} is a number from 0 to 1, not {shown_number(number)}", field=field)
    return float(number)


def clean_json(value: object, field: str, deepest: int = MOST_DEEP) -> str:
    """A program's own value as JSON that every door can return."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise Invalid(f"{field} is no JSON: texts, numbers, lists and objects are", field=field) from None
    _readable(text, field)
    _refuse_unwritable(value, field, deepest)
    return text


def _refuse_unwritable(value: object, field: str, deepest: int) -> None:
    """Refuse values that Python writes as JSON and other programs cannot read."""
    layer, deep = [value], 0
    while layer:
        if deep > deepest:
            raise Invalid(f"{field} is nested more than {deepest} deep", field=field)
        inside: list[object] = []
        for one in layer:
            if isinstance(one, dict):
                if not all(isinstance(key, str) for key in one):
                    raise Invalid(f"{field} has a key that is no text", field=field)
                inside += one.values()
            elif isinstance(one, list | tuple):
                inside += one
            elif isinstance(one, int) and not LEAST_WHOLE <= one <= MOST_WHOLE:
                raise Invalid(f"{field} holds a whole number of more than 64 bits; write it as text", field=field)
        layer, deep = inside, deep + 1


def _one_line(text: object, field: str) -> str:
    line = _readable(text, field).replace("\r\n", "\n").translate(_BREAKS).strip()
    _refuse_controls(line, field, "")
    return line


def _readable(text: object, field: str) -> str:
    if not isinstance(text, str):
        raise Invalid(f"{field} must be text, not {type(text).__name__}", field=field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{field} holds a broken character (half of a surrogate pair)", field=field) from None
    return text


def _refuse_controls(text: str, field: str, allowed: str) -> None:
    for mark in text:
        if mark < " " or "\x7f" <= mark <= "\x9f":
            if mark in allowed:
                continue
            raise Invalid(f"{field} holds a control character (U+{ord(mark):04X}); remove it", field=field)


MOST_PARTS = 20_000
"""How many keys and items a request may have, nested ones included."""


def is_mass(sent: Any) -> bool:
    """Whether a request has more than `MOST_PARTS` parts; tested before they are checked one by one."""
    left, inside = MOST_PARTS, [sent]
    while inside and left >= 0:
        one = inside.pop()
        if isinstance(one, dict | list):
            left -= len(one)
            if left >= 0:
                if isinstance(one, dict):
                    inside += one.values()
                else:
                    inside += one
    return left < 0
