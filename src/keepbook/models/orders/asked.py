"""What a person asks to remember in so many words, and whether that was done.

The model that answers does it with its tool, the notebook with its preset's. Where neither did, it is noted all the
same: an order is not lost for who heard it.
"""

import re
from collections.abc import Sequence
from typing import Any

from keepbook.book.chats.threads import Message
from keepbook.book.ground.patterns import regex
from keepbook.models.lines.clauses import LED, clauses, leans
from keepbook.models.lines.context import whole
from keepbook.models.lines.matters import content_words
from keepbook.models.orders.hear import sentences
from keepbook.models.orders.values import was_heard

LONGEST = 4_000
"""A longer turn is pasted; what is in it is no order."""
NOTEBOOK = "notebook"
"""The speaker of what the offline partner says."""
REMEMBER = regex(
    r"^\W*(?:(?:please|pls|can you|could you|would you|also|and|ok(?:ay)?|oh|hey|btw|by the way|yes|so|i want you "
    r"to|i(?:'d| would| should) like you to|i need you to|you should)\b[\s,]*)*"
    r"(?P<verb>remember|note(?: down)?|write (?:this |that |it )?down|jot down|keep in mind|bear in mind|make a note|"
    r"take a note|save|store|don'?t forget|memori[sz]e|"
    r"merk dir|notiere?|recuerda|apunta|husk|noter|记住|记下|จำไว้)(?: (?:that|this|it|bitte|por favor|dass|que|at|of "
    r"this|of that|down))*[\s:,–—-]*(?P<what>.*)$",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
ONCE = regex(r"^\W*(?:to |me to |how |when |the day|when we)\b", re.IGNORECASE)
_PLAIN = regex(r"remember|merk dir|recuerda|husk|记住|จำไว้", re.IGNORECASE)
_MINE = regex(r"\b(?:i|i'm|im|i've|my|me|we|our|us|ich|mein\w*|yo|mi|mis|jeg|min|mitt|meg)\b|我|ฉัน|ผม", re.IGNORECASE)


def asked(text: str) -> list[tuple[int, int]]:
    """Where a turn says what is to be remembered: a sentence that tells something, and, where the verb is one of tasks
    too ("note that the file is large"), something of the person's own."""
    found = []
    for start, end in sentences(text) if len(text) <= LONGEST else ():
        sentence = text[start:end].rstrip()
        one = None if sentence.endswith("?") else REMEMBER.match(sentence)
        if one is None or ONCE.match(one["what"]) or not (content_words(one["what"]) and whole(one["what"])):
            continue
        if _PLAIN.fullmatch(one["verb"]) or _MINE.search(one["what"]):
            first = start + one.start("what")
            found += [(first + begin, first + end) for begin, end in parts(one["what"])]
    return found


def parts(what: str) -> list[tuple[int, int]]:
    """What is to be remembered, thing by thing; one where a later one leans on an earlier."""
    spans = [(end - len(LED.sub("", what[start:end], count=1)), end) for start, end in clauses(what)]
    return spans if not any(leans(what[start:end]) for start, end in spans[1:]) else [(0, len(what))]


def is_written(text: str, line: str, written: Sequence[str]) -> bool:
    """Whether what was written in answer to a turn is the line that it asks for: they share a word, or the turn says
    nothing else."""
    alone = len(sentences(text)) == 1
    return any(alone or set(content_words(line)) & set(content_words(one)) for one in written)


def written(messages: Sequence[Message]) -> dict[int, tuple[str, ...]]:
    """By turn that the person said here, what the reply to it wrote with tools, in the book's words. Of the notebook
    also what it tried to: it tells the person why it did not."""
    found: dict[int, tuple[str, ...]] = {}
    turn = None
    for one in messages:
        if one.role == "user":
            turn = one.turn if was_heard(one.parts) else None
            if turn is not None:
                found[turn] = ()
        elif one.role == "assistant" and turn is not None:
            calls = one.parts if isinstance(one.parts, list) else ()
            found[turn] += tuple(line for call in calls for line in _lines(call, one.speaker == NOTEBOOK))
    return found


def _lines(call: dict[str, Any], tried: bool) -> list[str]:
    after = (call.get("memory_event") or {}).get("after") or {}
    told = [*call["arguments"].values()] if tried else []
    return [one for one in (after.get("content"), *told) if isinstance(one, str)]
