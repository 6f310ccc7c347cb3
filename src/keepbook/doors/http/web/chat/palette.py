"""The search of Ctrl K and `/search`: finds people, lines of the book, chats, actions, and pages.

Both show the same list: Ctrl K over a page with up to three rows in a group, `/search` as a page with more. Nothing is
written from here: "Forget something …" leads to the lines, each of which has a button.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from keepbook.book.chats.threads import Thread
from keepbook.book.chats.titles import find_by_title
from keepbook.book.memory.history.traces import chats_named
from keepbook.book.memory.listing import overview
from keepbook.book.recall.people import KnownPerson, people
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.recall.turns.ranking import LIKE
from keepbook.book.text.quotation import shown_text
from keepbook.book.text.words import query_terms, stem, tokens
from keepbook.doors.http.web.frame.diff import DiffPiece
from keepbook.doors.http.web.frame.extension_pages import NavItem, join_places
from keepbook.doors.http.web.frame.sidebar import PLACES
from keepbook.doors.http.web.frame.times import moment_in_words
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.patterns import regex

AT_ONCE, ON_A_PAGE = 3, 10
"""How many rows of a group are shown over a page, and on `/search`."""
LOOKED_AT = 30
"""How many turns are recalled to find chats."""
LAST_CHATS = 3
SNIPPET = 90
"""How many characters of a turn are shown."""

FACTS = "/profile/facts"


class FoundRow(NamedTuple):
    """A row that leads to an address; `note` is shown beside it and `below` under it; `keys` are its shortcut."""

    address: str
    words: str
    note: str = ""
    below: str = ""
    keys: tuple[str, ...] = ()
    is_line: bool = False
    """Whether it is a line of the book."""
    lasting: bool = False
    """Whether the note is shown on a phone too."""


class FoundGroup(NamedTuple):
    name: str
    rows: Sequence[FoundRow]


class Found(NamedTuple):
    groups: Sequence[FoundGroup]
    lines: int
    """How many lines were searched."""
    chats: int
    """How many chats were searched."""
    never: Sequence[str] = ()
    """The topics never to be kept: what was said of them in chats is found by title alone."""


class Action(NamedTuple):
    """An action; `also` are further words by which it is found."""

    words: str
    address: str
    also: str = ""


ACTIONS = (
    Action("New chat", "/chat"),
    Action("New incognito chat", "/chat?incognito=1", "private secret"),
    Action("Write a line in your book", f"{FACTS}?add=1#add", "add remember memory keep"),
    Action("What did I know last week?", "/time?when=week", "time travel back"),
    Action("Bring in what another program knows", "/import", "import export load chatgpt claude mem0 file"),
    Action("Take your book with you", "/settings#export", "export download copy backup"),
    Action("Print your book", f"{FACTS}?print=1", "paper pdf"),
    Action("Choose an AI to talk with", "/settings/model", "model openai anthropic key connect ollama account"),
    Action("Never keep something", "/settings#never", "forbid ban topic never remember"),
    Action("Light or dark", "/settings#look", "theme night day colours colors"),
    Action("Erase your book", "/settings/erase", "delete everything forget me"),
)


def find_all(visit: Visit, asked: str, most: int) -> Found:
    """The groups for what was typed; if nothing was typed, actions, last chats and pages."""
    chats = find_by_title(visit.book, asked, most)
    lines = len(overview(visit.book).kept)
    if asked:
        groups = _of_words(visit, asked, most, list(_of_titles(visit, chats.chats)))
    else:
        groups = _of_nothing(visit)
    return Found([group for group in groups if group.rows], lines, chats.looked_through, visit.book.choices.never)


def mark_words(text: str, asked: str) -> list[DiffPiece]:
    """A text in pieces; the kind `hit` is for words that have the stem of a word that was typed, or begin with it."""
    wanted = set(query_terms(asked))
    pieces = []
    for part in _PART.findall(text):
        is_hit = any(stem(word) in wanted or word.startswith(tuple(wanted)) for word in tokens(part))
        pieces.append(DiffPiece("hit" if is_hit else "same", part))
    return pieces


_PART = regex(r"\w+|\W+", re.UNICODE)


def marked_words(text: str, asked: str) -> Markup:
    """A text as HTML with the words marked that were typed."""
    made = {"hit": Markup("<mark>{}</mark>"), "same": Markup("{}")}
    return Markup("").join(made[piece.kind].format(piece.text) for piece in mark_words(text, asked))


# Nothing is typed yet


def _of_nothing(visit: Visit) -> list[FoundGroup]:
    do = [FoundRow("/chat", "New chat", keys=("Enter",))]
    do += [FoundRow(one.address, one.words) for one in ACTIONS[2:4]]
    do.append(FoundRow(f"{FACTS}#lines-h", "Forget something …"))
    last = [chat for chat in visit.book.threads.list(limit=LAST_CHATS * 3) if chat.turns and not chat.incognito]
    chats = [FoundRow(f"/chat/{chat.id}", chat.title or "New chat", _day(visit, chat.touched_at)) for chat in last]
    pages = [FoundRow(place.path, place.name, keys=("g", place.letter)) for place in PLACES[1:4]]
    if visit.waiting:
        waits = FoundRow("/review", "Lines that wait for you", f"{visit.waiting:,}", lasting=True)
        pages.insert(0, waits)
    return [FoundGroup("Do", do), FoundGroup("Last chats", chats[:LAST_CHATS]), FoundGroup("Go to", pages)]


# Something is typed


def _of_words(visit: Visit, asked: str, most: int, titled: list[FoundRow]) -> list[FoundGroup]:
    persons = [one for one in people(visit.book) if _begins(one.name, asked)][:most]
    said = [*titled, *_of_turns(visit, asked, {row.address for row in titled}, most - len(titled))]
    return [
        FoundGroup("People", [_person_row(one) for one in persons]),
        FoundGroup("Your book", list(_of_lines(visit, asked, most))),
        FoundGroup("Chats", said),
        FoundGroup("Do", list(_of_actions(asked, [one.name for one in persons], most))),
        FoundGroup("Go to", list(_of_pages(visit, asked, bool(persons), most))),
    ]


def _person_row(one: KnownPerson) -> FoundRow:
    count = f"{one.lines} {'line' if one.lines == 1 else 'lines'}"
    if one.relation:
        note = f"{one.relation} · {count}"
    else:
        note = count
    return FoundRow(f"{FACTS}?{urlencode({'person': one.name})}#lines-h", one.name, note, lasting=True)


def _of_lines(visit: Visit, asked: str, most: int) -> Iterator[FoundRow]:
    """Rows for lines that have the words, or mean something similar; the words themselves first, then the best."""
    for hit in sorted(visit.book.recall(asked, limit=most), key=lambda one: not _begins(one.content, asked)):
        if _has_words(hit.reasons) or _is_meant(hit.reasons):
            below = "" if _has_words(hit.reasons) else "fits by meaning"
            yield FoundRow(f"/memory/{hit.id}", shown_text(hit), _day(visit, hit.recorded_at), below, is_line=True)


def _of_titles(visit: Visit, chats: Sequence[Thread]) -> Iterator[FoundRow]:
    for chat in chats:
        yield FoundRow(f"/chat/{chat.id}", chat.title or "", _day(visit, chat.touched_at))


def _of_turns(visit: Visit, asked: str, known: set[str], most: int) -> Iterator[FoundRow]:
    """Rows for chats with a turn that has the words, or means something similar; each chat once."""
    chats = set(known)
    hits = visit.book.threads.recall(asked, limit=LOOKED_AT) if most > 0 else ()
    names = chats_named(visit.book, [hit.thread_id for hit in hits])  # as the list of chats has them
    for hit in hits:
        address = f"/chat/{hit.thread_id}"
        below = _why(hit)
        if address in chats or not below:
            continue
        chats.add(address)
        yield FoundRow(f"{address}#turn-{hit.turn}", names[hit.thread_id].title, _day(visit, hit.at), below)
        if len(chats) - len(known) >= most:
            return


def _why(hit: ChatHit) -> str:
    """The beginning of a turn, and whether it fits by meaning; "" if only the turns around it have the words."""
    piece = " ".join(hit.text.split())
    if len(piece) > SNIPPET:
        piece = f"{piece[:SNIPPET].rsplit(' ', 1)[0]} …"
    if _has_words(hit.reasons):
        return f"“{piece}”"
    if _is_meant(hit.reasons):
        return f"fits by meaning: “{piece}”"
    return ""


def _has_words(reasons: Sequence[str]) -> bool:
    return any(reason.startswith("words: ") or " read as " in reason for reason in reasons)


def _is_meant(reasons: Sequence[str]) -> bool:
    """Whether it is similar enough in meaning: below LIKE, a question of a word or two is similar to anything."""
    meant = [float(reason.removeprefix("meaning: ")) for reason in reasons if reason.startswith("meaning: ")]
    return any(likeness >= LIKE for likeness in meant)


def _of_actions(asked: str, names: Sequence[str], most: int) -> Iterator[FoundRow]:
    about = names[0] if names else asked
    yield FoundRow(
        f"/chat?{urlencode({'begin': f'About {about}: '})}", f"New chat about {about}", keys=("Ctrl", "Enter")
    )
    fitting = [one for one in ACTIONS if _begins(f"{one.words} {one.also}", asked)]
    for one in fitting[: most - 1]:
        yield FoundRow(one.address, one.words)
    if len(fitting) < most - 1:
        yield FoundRow(f"/time?{urlencode({'when': 'week', 'q': about})}", f"What did I know last week about {about}?")
        yield FoundRow(f"{FACTS}?{urlencode({'q': about})}#lines-h", f"Forget something about {about} …")


def _of_pages(visit: Visit, asked: str, is_person: bool, most: int) -> Iterator[FoundRow]:
    if is_person or _begins("People in your book", asked):
        yield FoundRow(f"{FACTS}#people-h", "People in your book")
    places: Sequence[NavItem] = join_places(PLACES, visit.kb.extensions)
    for place in [one for one in places if _begins(one.name, asked)][: most - 1]:
        yield FoundRow(place.path, place.name, keys=("g", place.letter))


def _begins(text: str, asked: str) -> bool:
    """Whether each word that was typed begins a word of the text."""
    words = tokens(text)
    wanted = tokens(asked)
    return bool(wanted) and all(any(word.startswith(one) for word in words) for one in wanted)


def _day(visit: Visit, moment: datetime) -> str:
    return moment_in_words(moment, "lately", visit.zone, visit.now)
