"""Recognises a turn that is nothing but an answer to a question of the notebook, by closed lists.

Case, missing accents, marks, pictures and politeness around a form change nothing; any other word makes the turn
something said, not an answer. The caller knows which questions it answers.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from keepbook.patterns import regex

AnswerKind = Literal["yes", "no", "all_yes", "all_no", "both", "first", "second", "third", "last", "number"]
MOST_LETTERS = 60
"""A longer turn is no mere answer."""
_TOKEN = regex(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d{1,3}|[^\w\s]")
_TELLING = frozenset("?$€£%+=/@")
"""Signs that make of an answer something else: a question, an amount."""
_NUMBER = "N"
_LONGEST_FORM = 4

FormWords = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """The answer that a turn is; `number` is set only if it is the number of a choice."""

    kind: AnswerKind
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """A yes or no at the beginning of a turn, and what follows."""

    kind: AnswerKind
    rest: str


class _Lists(NamedTuple):
    """The forms of one language, as tuples of words."""

    forms: dict[FormWords, AnswerKind]
    around: frozenset[FormWords]
    openers: frozenset[FormWords]


def whole_answer(text: str) -> TurnAnswer | None:
    """The answer that a turn is, in any of the languages; None for anything else, and if two disagree."""
    if len(text) > MOST_LETTERS:
        return None
    words = tuple(_words(text))
    found = set()
    for lists in _languages().values():
        answer = _answer(words, lists)
        if answer is not None:
            found.add(answer)
    if len(found) == 1:
        return found.pop()
    return None


def opens_with_answer(text: str) -> bool:
    """Whether a text begins as a yes or a no does, whatever follows; "ok" may begin anything."""
    words = tuple(_words(text))
    return bool(words) and any(_begins_as_answer(words, lists) for lists in _languages().values())


def plain_opening(text: str) -> Opening | None:
    """The yes or no that a turn opens with: a word that can mean nothing else, or one with a mark behind it."""
    opening: Opening | None = None
    for token in _TOKEN.finditer(text.lower().replace("’", "'")):
        word = token[0]
        rest = text[token.end() :].lstrip()
        marked = not rest or not rest[0].isalnum()
        kind = _opening_kind(word, marked)
        if kind is not None and (opening is None or kind == opening.kind):
            opening = Opening(kind, rest)
        elif word[0].isalnum() and (opening is not None or not _only_opens(word)):
            break
    return opening


def _opening_kind(word: str, marked: bool) -> AnswerKind | None:
    """What a word answers at the head of a turn, in any of the languages; None where two disagree."""
    data = _data()["en"]
    if word in data["plain_yes"]:
        return "yes"
    if word in data["plain_no"]:
        return "no"
    found = {lists.forms[(word,)] for lists in _languages().values() if (word,) in lists.forms}
    if marked and not _only_opens(word) and found in ({"yes"}, {"no"}):
        return found.pop()
    return None


def _only_opens(word: str) -> bool:
    return any((word,) in lists.openers for lists in _languages().values())


def _begins_as_answer(words: FormWords, lists: _Lists) -> bool:
    size, answer = _step(words, lists)
    return answer is not None and answer.kind in ("yes", "no") and words[:size] not in lists.openers


def answer_forms(language: str) -> list[tuple[str, AnswerKind]]:
    """The forms of a language."""
    data = _data()[language]
    return [(form, kind) for kind in get_args(AnswerKind) for form in data[kind]]


def _words(text: str) -> Iterator[str]:
    """The words, numbers and telling signs of a turn; marks and pictures that tell nothing are passed over."""
    pictures = {sign: kind for kind, listed in _data()["signs"].items() for sign in listed}
    for token in _TOKEN.findall(text.lower().replace("’", "'")):
        if token in pictures:
            yield pictures[token]
        elif token[0].isalnum() or token in _TELLING:
            yield token


def _answer(words: FormWords, lists: _Lists) -> TurnAnswer | None:
    """The one answer that all of the words make; what only opens ("ok no") counts where nothing else answers."""
    opening: list[TurnAnswer] = []
    found: list[TurnAnswer] = []
    while words:
        size, answer = _step(words, lists)
        if not size:
            return None
        if answer is not None:
            only_opens = not found and words[:size] in lists.openers
            (opening if only_opens else found).append(answer)
        words = words[size:]
    answers = found or opening
    has_number = any(answer.number is not None for answer in answers)
    if not answers or len(set(answers)) > 1 or (has_number and len(answers) > 1):
        return None
    return answers[0]


def _step(words: FormWords, lists: _Lists) -> tuple[int, TurnAnswer | None]:
    """How many of the first words belong together, and what they answer; 0 where they are none of ours."""
    for size in range(min(len(words), _LONGEST_FORM), 0, -1):
        head = words[:size]
        if head in lists.forms:
            return size, TurnAnswer(lists.forms[head])
        if head in lists.around or head in lists.openers:
            return size, None
    if words[0].isdecimal() and int(words[0]) > 0:
        return 1, TurnAnswer("number", int(words[0]))
    return 0, None


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((Path(__file__).parent / "forms.toml").read_text(encoding="utf-8"))


@cache
def _languages() -> dict[str, _Lists]:
    return {name: _lists(name) for name in _data() if name != "signs"}


def _lists(name: str) -> _Lists:
    data = _data()[name]
    known = {_split(form): kind for form, kind in answer_forms(name) if form != _NUMBER}
    return _Lists(known, frozenset(map(_split, data["around"])), frozenset(map(_split, data["openers"])))


def _split(form: str) -> FormWords:
    return tuple(_TOKEN.findall(form))
