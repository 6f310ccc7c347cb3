"""The tagged parts of a prompt, which hold text as data: nothing in a text can end or begin such a part.

Inside a part, every character that could open a tag is replaced. Outside, where people paste code and markup, only tags
that name one of our parts are made plain. Invisible characters are dropped first, since they could hide between `<` and
`/`.
"""

import re

from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.patterns import regex

PARTS = ("context", "screen", "recorded")
"""The parts of a chat's prompt. The model is told to take their contents for data."""
PLAIN = "‹"
OPENERS = "<＜﹤"
"""Characters that a model may take for the beginning of a tag."""
_PLAIN = dict.fromkeys(map(ord, OPENERS), PLAIN)
_OPENER = regex(f"[{OPENERS}]")
_TAG = regex(rf"(?P<opens>[{OPENERS}]++)(?P<inside>[^{OPENERS}>＞﹥]*+)(?P<closed>[>＞﹥]?)")
_NAME = regex(rf"(?<!\w)(?:{'|'.join(PARTS)})(?!\w)", re.ASCII | re.IGNORECASE)
_NAMED_FIRST = regex(rf"\W*+(?:{'|'.join(PARTS)})(?!\w)", re.ASCII | re.IGNORECASE, anchored=True)


def as_part(name: str, text: str) -> str:
    """A part of a prompt with this text, which cannot end it earlier."""
    return f"<{name}>\n{as_part_text(text)}\n</{name}>"


def as_part_text(text: str) -> str:
    """Text that can stand inside a part."""
    return drop_unseen(text).translate(_PLAIN)


def beside_parts(text: str) -> str:
    """Text that can stand before or after a part: it has no tag that names one."""
    return plain_part_tags(drop_unseen(text))


def plain_part_tags(text: str) -> str:
    """The same, for a text without invisible characters."""
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
