"""Since when a fact holds, where the person said so and the turn has a time.

Relative words ("since the spring", "from 1 July") are read against the message's own time in the owner's
zone. Without a time nothing is guessed: the words stay in the line.
"""

import re
from datetime import datetime

from keepbook.book.ground.patterns import regex
from keepbook.book.ground.when import in_words
from keepbook.errors import KeepbookError

_SINCE = regex(
    r"\b(?:since|from|as of|starting(?: on)?|effective|beginning)\s+(?P<when>(?:the )?(?:last|next|"
    r"this)? ?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Za-z]+(?: \d{4})?|[A-Z][a-z]+ \d{1,2}(?:st|nd|"
    r"rd|th)?(?:,? \d{4})?"
    r"|(?:19|20)\d\d|[A-Z][a-z]{2,}(?: (?:19|20)\d\d)?|yesterday|today|tomorrow|next (?:week|month|"
    r"year)|last (?:week|month|year|spring|summer|autumn|winter)|spring|summer|autumn|winter|"
    r"\d{1,2}(?:st|nd|rd|th)))\b"
)
_HAPPENED = regex(
    (
        r"\b(?P<when>last (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|"
        r"yesterday|(?:a|two|three|four|\d+) (?:days?|weeks?|months?|years?) ago|in (?:January|"
        r"February|March|April|May|June|July|August|September|October|November|December)(?: \d{4})?)\b"
    ),
    re.IGNORECASE,
)


def said_from(text: str, at: datetime | None, zone: str) -> str | None:
    """The stamp from which the piece holds, or None where nothing (readable) was said."""
    found = _SINCE.search(text)
    if found is None and re.search(
        r"\b(?:moved|switched|started|joined|quit|dropped|went|left|opened|married|relocated)\b", text, re.IGNORECASE
    ):
        found = _HAPPENED.search(text)
    if found is None or at is None:
        return None
    phrase = re.sub(r"^(?:in|the) ", "", found.group("when").strip(), flags=re.IGNORECASE)
    try:
        return in_words(phrase, moment=at, zone=zone)
    except KeepbookError:
        return None
