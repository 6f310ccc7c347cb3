"""The kinds of questions, and the possible answers to each.

    keep     is this to be kept?                       keep, no
    over     is the old line over, now that a new one  both, over, and change where the old one could say
             stands beside it?                         the new words instead
    change   is the old line to be changed?            change, both, no
    which    several lines could be meant: which?      the id of each, all, none

A choice says what it does to the book, so the code that asks and the code that answers need not know each other.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keepbook.book.ground import stored_json
from keepbook.errors import Invalid

QUESTIONS = ("keep", "over", "change", "which")
ALL, NONE, BOTH = "all", "none", "both"
YES: Mapping[str | None, str] = {None: "yes", "keep": "keep", "over": "over", "change": "change", "which": ALL}
"""The choice that accepting means."""
NO: Mapping[str | None, str] = {None: "no", "keep": "no", "over": BOTH, "change": "no", "which": NONE}
"""The choice that declining means."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its name, its words for a button, and what it does: `op` to `memory_id`, or nothing."""

    choice: str
    label: str
    op: str | None = None
    memory_id: str | None = None


# Rules


def choices_for(
    question: str,
    op: str,
    content: str,
    memory_id: str | None = None,
    lines: Sequence[tuple[str, str]] = (),
    beside: str | None = None,
) -> tuple[Choice, ...]:
    """The answers to a question. `lines` are the ids and words that could be meant; `beside` is the new line that
    stands in the book already."""
    if question == "keep":
        return Choice("keep", "Keep it", "add"), Choice("no", "Do not keep it")
    if question == "which":
        return _which_choices(op, lines)
    if memory_id is None:
        raise Invalid(f"a question of the kind {question!r} names the line it is about", field="memory_id")
    change = Choice("change", f"Change it to “{content}”", "update", memory_id)
    if question == "change":
        return change, Choice(BOTH, "Keep both", "add"), Choice("no", "Change nothing")
    if question != "over":
        raise Invalid(f"question is one of {', '.join(QUESTIONS)}, not {question!r}", field="question")
    over = Choice(BOTH, "Keep both", None, beside), Choice("over", "It is over", "end", memory_id)
    if op == "update":
        return (*over, change)
    return over


def _which_choices(op: str, lines: Sequence[tuple[str, str]]) -> tuple[Choice, ...]:
    if op not in ("forget", "end", "update") or len(lines) < 2:
        raise Invalid("which line is meant is asked of several, to forget, end or update one", field="choices")
    each = [Choice(id, words, op, id) for id, words in lines]
    if op != "update":  # else several lines would get the same words
        each.append(Choice(ALL, "All of them", op))
    return (*each, Choice(NONE, "None of them"))


def plain_choices(op: str, memory_id: str | None) -> tuple[Choice, ...]:
    """The answers to a proposal without a question of its own: yes and no, and for a change, to keep both lines."""
    both = (Choice(BOTH, "Keep both", "add"),) if op == "update" and memory_id is not None else ()
    return (Choice("yes", "Yes", op, memory_id), *both, Choice("no", "No"))


def find_choice(choices: Iterable[Choice], name: str) -> Choice:
    known = {one.choice: one for one in choices}
    if name not in known:
        raise Invalid(f"choice is one of {', '.join(known)}, not {name!r}", field="choice")
    return known[name]


def choices_to_text(choices: Iterable[Choice]) -> str:
    return json.dumps([asdict(one) for one in choices], ensure_ascii=False)


def text_to_choices(text: str | None) -> tuple[Choice, ...]:
    given: list[dict[str, Any]] = []
    if text is not None:
        given = stored_json.load_json(text)
    return tuple(Choice(**one) for one in given)
