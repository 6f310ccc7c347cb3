"""Recognises explicit orders to the memory, by the closed forms of `orders.toml`.

An order addresses whoever keeps the notes, so it stands at the head of a sentence, behind politeness at most, or is its
tail ("…, off the record"). "I forget things" and "don't forget the milk" are none; "forget it, I'll take the tram" may
be one and is read as talk. What is found here is a hint for the trained reader, and all that the reader without an
embedder has.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from keepbook.book.text.own_words import own_words
from keepbook.book.text.sentences import sentences
from keepbook.models.notebook.lists.topics import topic_groups_of, topics_of
from keepbook.patterns import regex

OrderAct = Literal["keep", "withdraw", "never", "change", "undo", "off", "talk"]
FormWords = tuple[str, ...]
_TOKEN = regex(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_LONGEST_FORM = 6
_MOST_REST = 60
"""Words behind a form that are looked at."""
_MOST_POLITENESS = 6
_FIRST_WORDS = 12
"""Words of a statement among which its verb stands."""
_JOINTS = frozenset(
    [",", ";", "–", "—", "-", ".", "but", "and", "so", "aber", "und", "pero", "y", "men", "og", "mais", "et"]
)
_ACTS: dict[str, OrderAct] = {
    "keep": "keep",
    "keep_stated": "keep",
    "withdraw": "withdraw",
    "withdraw_of_memory": "withdraw",
    "hush": "withdraw",
    "never": "never",
    "change": "change",
    "undo": "undo",
    "off": "off",
}
_OF_MEMORY = frozenset(["withdraw_of_memory", "never", "off"])
_ASKING = frozenset(["what", "which", "where", "that", "this", "it"])
_NAMES = frozenset(["my", "our", "the", "his", "her", "their", "your"])
VERBS = frozenset([
    "is", "are", "was", "were", "am", "has", "have", "had", "lives", "live", "works", "work", "likes", "like",
    "needs", "need", "starts", "start", "ends", "end", "costs", "cost", "moved", "died", "comes", "come", "goes",
    "go", "got", "can", "can't", "cannot", "will", "won't", "doesn't", "don't", "isn't", "aren't", "wasn't",
    "hates", "loves", "wants", "prefers", "owns", "plays", "runs", "takes", "uses", "expires", "closes", "opens",
    "turns", "means", "said", "says", "wrote", "called", "changed", "left",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """An order in `text[start:end]`. What it names or tells is `text[rest_start:rest_end]`, empty if it points at what
    was said before. `ahead`: it keeps out what follows in the same sentence."""

    act: OrderAct
    start: int
    end: int
    rest_start: int
    rest_end: int
    ahead: bool = False


class _Token(NamedTuple):
    word: str
    start: int
    end: int


class _FormList(NamedTuple):
    """Forms as tuples of words, and the words with which they begin: most words of a text begin none."""

    kinds: dict[FormWords, str]
    first: frozenset[str]


class _Lists(NamedTuple):
    """The forms of one language, and what may stand around them."""

    forms: _FormList
    before: _FormList
    asking: _FormList
    linking: _FormList
    pointing: _FormList
    idiom: _FormList
    statement: _FormList
    no_order: _FormList
    of_memory: _FormList
    about: _FormList
    anything: _FormList
    standing: _FormList
    unsaid: _FormList


class _Place(NamedTuple):
    """A form that stands at `at` of a sentence's tokens, `size` words long."""

    tokens: Sequence[_Token]
    at: int
    size: int
    kind: str
    at_head: bool
    followed: bool
    """Whether another sentence follows."""

    @property
    def rest(self) -> Sequence[_Token]:
        return self.tokens[self.at + self.size :][:_MOST_REST]


def explicit_orders(text: str, spans: Sequence[tuple[int, int]]) -> list[Order]:
    """The orders of a text, sentence by sentence; a sentence has at most one."""
    found: list[Order] = []
    for number, (start, end) in enumerate(spans, 1):
        order = _order(_tokens(text, start, end), followed=number < len(spans))
        if order is not None:
            found.append(order)
    return found


@lru_cache(maxsize=8)  # of one turn it is asked more than once
def orders_of_turn(text: str) -> tuple[Order, ...]:
    """The orders in a person's own words, as far as a turn is read: pasted text orders nothing."""
    found = []
    for start, end in own_words(text):
        words = text[start:end]
        found += [_shift_order(order, start) for order in explicit_orders(words, sentences(words))]
    return tuple(found)


def is_standing(text: str) -> bool:
    """Whether a clause begins as a wish that holds from now on: "from now on", "always"."""
    tokens = _tokens(text, 0, len(text))
    return any(
        _longest(tokens, _past_politeness(tokens, lists, 0)[0], lists.standing) > 0 for lists in _languages().values()
    )


def topic_asked(text: str) -> str | None:
    """The shipped topic that a question asks about as a whole: "what do you know about my health?" """
    tokens = _tokens(text, 0, len(text))
    for lists in _languages().values():
        for at in range(1, len(tokens)):
            size = _longest(tokens, at, lists.about)
            if size and (groups := topic_groups_of(" ".join(token.word for token in tokens[at + size :]))):
                return groups[0]
    return None


def _shift_order(order: Order, by: int) -> Order:
    places = {name: getattr(order, name) + by for name in ("start", "end", "rest_start", "rest_end")}
    return replace(order, **places)


def order_forms(language: str) -> list[str]:
    """The forms of a language."""
    data = _data()[language]
    return [form for kind in _ACTS for form in data[kind]]


def _tokens(text: str, start: int, end: int) -> list[_Token]:
    return [_Token(_fold(one[0]), *one.span()) for one in _TOKEN.finditer(text, start, end)]


def _fold(word: str) -> str:
    """A word in small letters and without its apostrophe, which many leave out: "dont forget"."""
    return word.lower().replace("’", "").replace("'", "") or word


def _order(tokens: Sequence[_Token], followed: bool) -> Order | None:
    for lists in _languages().values():
        if (size := _unsaying(tokens, lists)) > 0:
            end = tokens[size - 1].end
            return Order("withdraw", tokens[0].start, end, end, end)
        for place in _places(tokens, lists, followed):
            if place.at_head and _starts(place.rest, lists.no_order):
                return None  # "note to self" is no order of another language either
            if (order := _read(place, lists)) is not None:
                return order
    return None


def _unsaying(tokens: Sequence[_Token], lists: _Lists) -> int:
    """How many tokens of a sentence say that the one before it was no fact, 0 for none: "Just kidding" of "Just
    kidding, it's a kayak"."""
    start, _ = _past_politeness(tokens, lists, 0)
    end = start + _longest(tokens, start, lists.unsaid)
    if start < end and (end == len(tokens) or (_is_mark(tokens[end]) and tokens[-1].word != "?")):
        return end
    return 0


def _places(tokens: Sequence[_Token], lists: _Lists, followed: bool) -> Iterator[_Place]:
    """The places at which the form of an order may stand: at the head, after politeness, and after a joint."""
    joints = (at for at in range(1, len(tokens)) if tokens[at - 1].word in _JOINTS and tokens[at].word not in _JOINTS)
    is_question = bool(tokens) and tokens[-1].word == "?"
    for begin in chain([0], joints):
        at, asks = _past_politeness(tokens, lists, begin)
        size = _longest(tokens, at, lists.forms)
        if size and (asks or not is_question):
            yield _Place(tokens, at, size, lists.forms.kinds[_words(tokens, at, size)], begin == 0, followed)


def _past_politeness(tokens: Sequence[_Token], lists: _Lists, at: int) -> tuple[int, bool]:
    """Behind what may stand before a form, and whether the order is put as a question."""
    asks = False
    for _ in range(_MOST_POLITENESS):
        if at >= len(tokens) or _longest(tokens, at, lists.forms):
            break
        size = _longest(tokens, at, lists.asking)
        asks = asks or size > 0
        size = size or _longest(tokens, at, lists.before)
        if not size and not _is_mark(tokens[at]):
            break
        at += size or 1
    return at, asks


def _read(place: _Place, lists: _Lists) -> Order | None:
    act = _ACTS[place.kind]
    rest = place.rest
    if _is_pointing(rest, lists):
        return _pointing_order(place, act, lists) if place.at_head or act != "undo" else None
    if _starts(rest, lists.no_order) or (place.kind in _OF_MEMORY and not _starts(rest, lists.of_memory)):
        return None
    forbids = act == "off" or (place.kind == "hush" and _starts(rest, lists.anything))
    topic = None
    if forbids:
        topic = _topic_start(place, lists)
    if topic is not None:
        return _make_order(place, "never", topic) if place.at_head else None
    if act == "undo":
        return _make_order(place, act, len(place.tokens)) if place.at_head and _points_first(rest, lists) else None
    if act == "change":
        return _make_order(place, act, place.at + place.size) if _has_value(rest) else None
    if act == "keep":
        return _keeping_order(place, lists)
    if _is_idiom(rest, lists) and act == "withdraw":
        return _make_order(place, "talk", len(place.tokens))
    if not place.at_head:
        return None
    return _make_order(place, act, _past_linking(place, lists), ahead=place.kind == "hush" and _tells(rest, lists))


def _topic_start(place: _Place, lists: _Lists) -> int | None:
    """The start of the topic for which alone memory is to stop: "stop remembering stuff about work" is a ban on work.
    None if the order names none."""
    first = place.at + place.size
    words = [token.word for token in place.tokens]
    for at in range(first, min(len(words), first + _LONGEST_FORM)):
        size = _longest(place.tokens, at, lists.about)
        if size:
            return at + size if topics_of(" ".join(words[at + size :])) else None
    if topic_groups_of(" ".join(words[first:])):
        return first
    return None


def _pointing_order(place: _Place, act: OrderAct, lists: _Lists) -> Order | None:
    """An order that names nothing: it means what was said last."""
    if place.kind in ("keep_stated", "change"):
        return None
    if _is_idiom(place.rest, lists) and act == "withdraw" and place.followed:
        return _make_order(place, "talk", len(place.tokens))
    return _make_order(place, act, len(place.tokens))


def _keeping_order(place: _Place, lists: _Lists) -> Order | None:
    """ "Remember that …": an order before what is told, not before a thing to do."""
    begin = _past_linking(place, lists)
    rest = place.tokens[begin:][:_MOST_REST]
    named = begin > place.at + place.size and place.kind == "keep" and _letters(rest) >= 1
    valued = place.kind == "keep" and _has_value(rest) and (_letters(rest) > 2 or rest[0].word in _NAMES)
    if not (_states(rest, lists) or named or valued) or _letters(rest) < 2:
        return None
    return _make_order(place, "keep", begin)


def _tells(rest: Sequence[_Token], lists: _Lists) -> bool:
    """Whether words behind "off the record" are what is not to be kept, rather than its name."""
    marked = bool(rest) and _is_mark(rest[0])
    pointed = _longest(rest, 0, lists.pointing)
    marked = marked or (pointed > 0 and pointed < len(rest) and _is_mark(rest[pointed]))
    words = [token for token in rest if not _is_mark(token)]
    return marked or _states(words[_longest(words, 0, lists.before) :], lists)


def _states(rest: Sequence[_Token], lists: _Lists) -> bool:
    """Whether words tell something: they begin as a statement does, or have a subject and a verb."""
    if _starts(rest, lists.statement):
        return True
    first = [token.word for token in rest[:_FIRST_WORDS]]
    return bool(first) and first[0] not in _ASKING and not _verbs().isdisjoint(first[1:])


def _has_value(rest: Sequence[_Token]) -> bool:
    return any(token.word == ":" or token.word[0].isdecimal() for token in rest)


def _make_order(place: _Place, act: OrderAct, rest: int, ahead: bool = False) -> Order:
    tokens = place.tokens
    if place.at_head:
        start = tokens[0].start
    else:
        start = tokens[place.at].start
    last = next((token.end for token in reversed(tokens) if not _is_mark(token) or token.word in ")”\"'%€$"), start)
    if rest >= len(tokens) or last <= tokens[rest].start:
        return Order(act, start, tokens[-1].end, tokens[-1].end, tokens[-1].end)
    return Order(act, start, tokens[rest - 1].end, tokens[rest].start, last, ahead)


def _past_linking(place: _Place, lists: _Lists) -> int:
    """The start of what an order names: after "that", "this:" or "about", or directly after the order."""
    first = at = place.at + place.size
    tokens = place.tokens
    while at < len(tokens):
        size = _longest(tokens, at, lists.linking)
        if not size and place.kind == "hush":
            size = _longest(tokens, at, lists.before)
        if not size and not _is_mark(tokens[at]):
            return at
        at += size or 1
    return first


def _is_pointing(rest: Sequence[_Token], lists: _Lists) -> bool:
    """Whether nothing follows, or nothing but a word that points back, and politeness."""
    at = 0
    while at < len(rest):
        size = _longest(rest, at, lists.pointing) or _longest(rest, at, lists.before)
        if not size and not _is_mark(rest[at]):
            return False
        at += size or 1
    return True


def _points_first(rest: Sequence[_Token], lists: _Lists) -> bool:
    """Whether a word that points back stands alone before a mark: "undo that, I need it"."""
    size = _longest(rest, 0, lists.pointing)
    return 0 < size < len(rest) and _is_mark(rest[size])


def _is_idiom(rest: Sequence[_Token], lists: _Lists) -> bool:
    """ "Forget it, …": what points is followed by something else, or by nothing."""
    size = _longest(rest, 0, lists.idiom)
    return size > 0 and (size == len(rest) or _is_mark(rest[size]))


def _starts(tokens: Sequence[_Token], listed: _FormList) -> bool:
    return _longest(tokens, 0, listed) > 0


def _longest(tokens: Sequence[_Token], at: int, listed: _FormList) -> int:
    """How many words from here on make the longest form of a list; 0 if none does."""
    if at >= len(tokens) or tokens[at].word not in listed.first:
        return 0
    most = min(_LONGEST_FORM, len(tokens) - at)
    return next((size for size in range(most, 0, -1) if _words(tokens, at, size) in listed.kinds), 0)


def _words(tokens: Sequence[_Token], at: int, size: int) -> FormWords:
    return tuple(token.word for token in tokens[at : at + size])


def _letters(tokens: Sequence[_Token]) -> int:
    return sum(not _is_mark(token) for token in tokens)


def _is_mark(token: _Token) -> bool:
    return not token.word[0].isalnum()


@cache
def _verbs() -> frozenset[str]:
    return frozenset(map(_fold, VERBS))


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((Path(__file__).parent / "orders.toml").read_text(encoding="utf-8"))


@cache
def _languages() -> dict[str, _Lists]:
    return {name: _lists(data) for name, data in _data().items()}


def _lists(data: dict[str, list[str]]) -> _Lists:
    known = {form: kind for kind in _ACTS for form in data[kind]}
    around = (dict.fromkeys(data[field], field) for field in _Lists._fields[1:])
    return _Lists(_to_form_list(known), *map(_to_form_list, around))


def _to_form_list(kinds: dict[str, str]) -> _FormList:
    split = {tuple(map(_fold, _TOKEN.findall(form))): kind for form, kind in kinds.items()}
    return _FormList(split, frozenset(words[0] for words in split))
