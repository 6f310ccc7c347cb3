"""Text for a model, without what a person cannot see.

A sign that nobody sees can carry an order to a model past the person who reads the same text. So every character that
Unicode calls ignorable or a format is dropped, and three that are drawn as nothing; the table is written by
`scripts/unseen.py`. What writing needs stays: one variation selector after a sign that is a picture only by it, and a
joiner between letters of a script that joins, or between pictures. What is stored stays as it was said.
"""

from keepbook.book.text.for_models.unseen_table import JOINING, MONGOLIAN, PICTURES, TAKES_SELECTOR, UNSEEN
from keepbook.patterns import regex

_UNSEEN = regex(f"[{UNSEEN}]")
# Each sign first and then what stands before it: a pattern that began by looking back would do so at every letter.
_NEEDED = (
    rf"[\ufe0e\ufe0f](?<=[{TAKES_SELECTOR}].)"
    rf"|[\u180b-\u180d\u180f](?<=[{MONGOLIAN}].)"
    rf"|\u200d(?:(?<=[{PICTURES}].)|(?<=[{TAKES_SELECTOR}]\ufe0f.))(?=[{PICTURES}])"
    rf"|[\u200c\u200d](?<=[{JOINING}].)(?=[{JOINING}])"
)
_NEEDED_OR_UNSEEN = regex(f"({_NEEDED})|[{UNSEEN}]")


def drop_unseen(text: str) -> str:
    """The text without signs that cannot be seen and are not needed to write it."""
    if text.isascii() or not _UNSEEN.search(text):
        return text
    return _NEEDED_OR_UNSEEN.sub(r"\1", text)
