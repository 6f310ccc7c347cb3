"""Makes one safe line of a block: what somebody wrote cannot open or end a part of the prompt, or imitate our marks.

Contents are treated as hostile: invisible characters are dropped, line breaks are folded, and markup that opens
something or looks like a prefix or mark of ours becomes plain text. Ordinary sentences stay unchanged.
"""

import re
from functools import lru_cache

from keepbook.book.text.for_models.prompt_part import plain_part_tags
from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.patterns import regex

WRITER_CHARS = 60
"""How many letters of a writer's name are shown."""
NO_NAME = "an agent"
"""Shown for a writer whose name has no visible character."""

# Most contents are plain ASCII sentences and pass with one look; what is not surely harmless goes the long way.
HARMLESS = regex(r"[A-Za-z$\"'(][ -;=-Z\\-_a-~]*")

# The patterns are ASCII, because Unicode tables differ between Python versions and the bytes of a block must not.
_CONTROL = regex("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TAG = regex(r"<([^\s\d=<>-][^<>]*)>", re.ASCII)
_TAG_OPENING = regex(r"(?<!<)<++(?=[^\s\d=<>-])", re.ASCII)
_FENCE = regex(r"`{3,}")
_ID = regex(r"\[(id:[^\[\]]*|[a-z0-9]{8})\]", re.ASCII | re.IGNORECASE)
_ID_OPENING = regex(r"\[(?=id:)", re.ASCII | re.IGNORECASE)
_OPENING = regex(r"[#>|]|[-+*](?= |$)|~~~|=+$|([-*_])(?: ?\1){2,}$", anchored=True)
_NUMBERED = regex(r"(\d{1,9})[.)](?= |$)", re.ASCII)
INFERRED_MARK = "(inferred)"
_BY = "(by"
_PARENTHESES = str.maketrans("", "", "()[]")
_WRITER_MARK = regex(rf" \(by [^()\[\]]{{1,{WRITER_CHARS}}}\)$", re.IGNORECASE)


def _harmless(text: str) -> bool:
    return bool(HARMLESS.fullmatch(text)) and "  " not in text and text[-1] not in " )"


def single_line(text: str) -> str:
    """One visible line without tags or fences."""
    if _harmless(text):
        return text
    text = _CONTROL.sub(" ", drop_unseen(text))
    text = " ".join(text.split())
    if "<" in text:
        text = _TAG_OPENING.sub(lambda run: "\u2039" * len(run[0]), _TAG.sub("\u2039\\1\u203a", text))
    if "```" in text:
        text = _FENCE.sub(lambda run: "'" * len(run[0]), text)
    return plain_part_tags(text)


def safe_statement(text: str) -> str:
    """The text of a line: opens nothing at its start, and passes for no id, no topic and no mark of ours."""
    if _harmless(text):
        return text
    text = _unlike_quotation(single_line(text))
    if "[" in text:
        text = without_ids(text)
        if text[0] == "[":
            text = "(" + text[1:].replace("]", ")", 1)
    if _OPENING.match(text):
        text = "\\" + text
    elif number := _NUMBERED.match(text):
        text = f"{number[1]}\\{text[number.end(1) :]}"
    if text[-len(INFERRED_MARK) :].lower() == INFERRED_MARK or _passes_for_writer(text):
        text = text[:-1] + "\\)"
    return text or "…"


def _passes_for_writer(text: str) -> bool:
    """Whether a text ends like the mark that names a line's writer."""
    return text[-1:] == ")" and _BY in text.lower().replace(" ", "")


@lru_cache(maxsize=256)
def writer_mark(name: str) -> str:
    words = single_line(name).translate(_PARENTHESES).strip()[:WRITER_CHARS]
    return f" {_BY} {words or NO_NAME})"


def without_writer_mark(text: str) -> str:
    """A line as its writer chose it, without the mark of ours that says who that was."""
    return _WRITER_MARK.sub("", text)


def marked_writer(text: str) -> str:
    """The name in the mark at the end of a line; "" if the line has none."""
    found = _WRITER_MARK.search(text)
    return found[0].removesuffix(")").partition(_BY)[2].strip() if found else ""


def without_ids(text: str) -> str:
    return _ID_OPENING.sub("(", _ID.sub(r"(\1)", text))


def _unlike_quotation(text: str) -> str:
    """A note that looks like a quotation, with other marks around the same words."""
    if text.startswith("“") or (text.startswith("(") and ") “" in text):
        return text.replace("“", '"').replace("”", '"')
    return text


def in_brackets(text: str | None) -> str:
    """`[text] ` that closes where it should, or nothing."""
    text = single_line(text or "").replace("[", "(").replace("]", ")")
    if text[:3].lower() == "id:":
        text = f"id {text[3:]}"
    if text:
        return f"[{text}] "
    return ""
