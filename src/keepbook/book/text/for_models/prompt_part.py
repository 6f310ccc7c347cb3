"""The tagged parts of a prompt, in which text is told as data: nothing in a text can end one or begin one.

Inside a part no sign is left that could open a tag, whatever would stand behind it. Outside, where people paste code
and markup, only what names a part of ours is made plain. Signs that cannot be seen are dropped before either, or they
would stand between `<` and `/` unnoticed.
"""

import re

from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.patterns import regex

PARTS = ("context", "screen")
"""The parts of a chat's prompt. What the model is told to take for data stands in them."""
PLAIN = "‹"
OPENERS = "<＜﹤"
"""What a model takes for the beginning of a tag."""
_PLAIN = dict.fromkeys(map(ord, OPENERS), PLAIN)
_OPENER = regex(f"[{OPENERS}]")
_TAG = regex(rf"(?P<opens>[{OPENERS}]++)(?P<inside>[^{OPENERS}>＞﹥]*+)(?P<closed>[>＞﹥]?)")
_NAME = regex(rf"(?<!\w)(?:{'|'.join(PARTS)})(?!\w)", re.ASCII | re.IGNORECASE)
_NAMED_FIRST = regex(rf"\W*+(?:{'|'.join(PARTS)})(?!\w)", re.ASCII | re.IGNORECASE, anchored=True)


def as_part(name: str, text: str) -> str:
    """A part of a prompt that ends where it says."""
    return f"<{name}>\n{as_part_text(text)}\n</{name}>"


def as_part_text(text: str) -> str:
    """Text that can stand inside a part."""
    return drop_unseen(text).translate(_PLAIN)


def beside_parts(text: str) -> str:
    """Text that can stand before or after a part: it names none in a tag."""
    return plain_part_tags(drop_unseen(text))


def plain_part_tags(text: str) -> str:
    """The same, of a text in which everything can be seen."""
    if _OPENER.search(text):
        return _TAG.sub(_plain_if_ours, text)
    return text


def _plain_if_ours(tag: re.Match[str]) -> str:
    if tag["closed"]:
        named = _NAME.search(tag["inside"])
    else:
        named = _NAMED_FIRST.match(tag["inside"])
    if not named:
        return tag[0]
    return PLAIN * len(tag["opens"]) + tag["inside"] + tag["closed"]
