"""The one form into which every importer brings another program's file: memories, chats, whose they are, what is left
out.

A source fills in what it knows; no book is read here. `who` is the person to whom something belongs in the file, and
`portions` decides into whose book it goes: things of several people never go into one book unless somebody says so.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from keepbook.book.ground.limits import KEY_CHARS, MOST_LABELS, TAG_CHARS, VALUE_CHARS
from keepbook.book.ground.when import instant
from keepbook.errors import Conflict, Invalid
from keepbook.patterns import regex

# Values


AGENT = "agent "
"""How the name of somebody begins who is an agent: whose book its things go into is asked, even if nobody else is
named."""


class Enough(Exception):
    """Raised to stop an import: what has come in stays, the rest is left out."""


_WORD = regex(r"\w+")


@dataclass(frozen=True, slots=True)
class Wording:
    """A former wording of a memory, and since when it held."""

    text: str
    since: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMemory:
    """A memory to import. `key` is its name in the source, by which a second import recognises it."""

    text: str
    key: str
    where: str = ""
    """Its place in the file, for a person: a line, an item."""
    who: str | None = None
    since: str | None = None
    until: str | None = None
    category: str | None = None
    subject: str | None = None
    scope: str | None = None
    summary: str | None = None
    body: str | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    earlier: tuple[Wording, ...] = ()
    """What it said before, oldest first."""
    wanted: bool = False
    """Whether the person accepts it although they asked to forget it."""


@dataclass(frozen=True, slots=True)
class IncomingTurn:
    """One turn of a chat to import."""

    role: str
    text: str
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingChat:
    """A chat to import, with its own times."""

    key: str
    turns: tuple[IncomingTurn, ...]
    where: str = ""
    who: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is left out: its place in the file, why, its text, unless the text is the reason, and whose it
    is, where that is known."""

    where: str
    why: str
    text: str | None = None
    who: str | None = None

    def __post_init__(self) -> None:
        if self.text is not None:  # half a letter, which may be the reason, can be told to nobody
            object.__setattr__(self, "text", self.text.encode(errors="replace").decode())


class ChatPart(StrEnum):
    """A part of a chat that is left out, and why."""

    TOOL = "what a tool was asked or answered"
    THOUGHT = "thoughts and code"
    HIDDEN = "what the program hid"
    PICTURE = "pictures and files"
    OTHER_TRY = "turns of other tries"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A whole file of another program, in one form."""

    source: str
    memories: tuple[IncomingMemory, ...] = ()
    chats: tuple[IncomingChat, ...] = ()
    refused: tuple[LeftOut, ...] = ()
    file: str = ""
    """What the file is called, where it has a name."""

    @property
    def people(self) -> tuple[str | None, ...]:
        """The people whose things it holds, by their names in the file. None stands for things that name nobody; if
        only one person is named, these belong to them."""
        found = {*(one.who for one in self.memories), *(one.who for one in self.chats)}
        named = sorted(who for who in found if who is not None)
        if len(named) == 1 or None not in found:
            return tuple(named)
        return (*named, None)

    @property
    def refused_of_nobody(self) -> tuple[LeftOut, ...]:
        """What is left out of the file as a whole, or is somebody's of whom nothing else is there."""
        people = {who for who in self.people if who is not None}
        return tuple(one for one in self.refused if one.who not in people)

    @property
    def asks_whose(self) -> bool:
        """Whether somebody must say whose book its things go into."""
        people = self.people
        return len(people) > 1 or any((who or "").startswith(AGENT) for who in people)

    def only_of(self, people: Sequence[str | None]) -> "Incoming":
        """Only the things of these people, and what is left out that is nobody's."""
        if set(people) == set(self.people):
            return self
        return replace(
            self,
            memories=tuple(one for one in self.memories if one.who in people),
            chats=tuple(one for one in self.chats if one.who in people),
            refused=tuple(one for one in self.refused if one.who in people or one in self.refused_of_nobody),
        )


# Rules

NAMES = {
    "basic-memory": "basic-memory", "chatgpt": "ChatGPT", "claude": "Claude", "graphiti": "Graphiti",
    "langgraph": "LangGraph", "letta": "Letta", "list": "a plain list", "mcp-memory": "an MCP memory server",
    "mem0": "mem0",
}  # fmt: skip
"""The names of the sources, as people know them."""


def program_name(source: str) -> str:
    if source == "keepbook":
        return "Keepbook"
    return NAMES.get(source, source)


def source_of_session(session: str | None) -> str | None:
    """The program that a chat came from, by its session; None for a chat that began here or with an agent."""
    source, mark, _ = (session or "").partition(":")
    if mark and source in NAMES:
        return source
    return None


def portions(incoming: Incoming, owner: str, owner_map: Mapping[str, str]) -> dict[str, Incoming]:
    """Which things go into whose book: all into the owner's if the file has one person at most, else as the map says.
    The key `""` stands for things that name nobody; a person with an empty value is left out."""
    people = incoming.people
    owner_map = {named_in_file(who) or "": ours for who, ours in owner_map.items()}
    strange = sorted(set(owner_map) - {who or "" for who in people})
    if strange:
        known = ", ".join(who_text(who) for who in people) or "nobody"
        raise Invalid(
            f"{strange[0]!r} is nobody in this file; it has: {known}", field="owner_map", code="unknown_person"
        )
    if not owner_map and not incoming.asks_whose:
        return {owner: incoming}
    asked = [who for who in people if (who or "") not in owner_map]
    if asked:
        raise several_people(
            incoming,
            f"say whose book each goes into with --owner-map THEIRS=OURS (missing: {', '.join(map(who_text, asked))})",
        )
    found: dict[str, list[str | None]] = {}
    for who in people:
        if ours := owner_map[who or ""]:
            found.setdefault(ours, []).append(who)
    divided = {ours: incoming.only_of(theirs) for ours, theirs in found.items()}
    first, *others = divided
    return {first: divided[first]} | {ours: _without_nobodys(divided[ours], incoming) for ours in others}


def _without_nobodys(part: Incoming, whole: Incoming) -> Incoming:
    """What is left out of a file as a whole is told once, with the first person."""
    return replace(part, refused=tuple(one for one in part.refused if one not in whole.refused_of_nobody))


def several_people(incoming: Incoming, what_to_say: str) -> Conflict:
    """The error that asks whose the things of a file are."""
    people = incoming.people
    if len(people) > 1:
        held = f"{len(people)} people ({', '.join(map(who_text, people))})"
    else:
        held = f"what {who_text(people[0])} keeps, which is no person"
    return Conflict(
        f"this file holds {held}; {what_to_say}. Nothing was imported",
        code="several_people",
        people=[who or "" for who in people],
    )


def who_text(who: str | None) -> str:
    return who or "(nobody named)"


def named_in_file(who: str) -> str | None:
    """A person of a file as somebody names them, also with the words of `who_text`."""
    return None if who in ("", who_text(None)) else who


def parts_left_out(where: str, parts: Iterable[str]) -> list[LeftOut]:
    """One line for each reason, with how often it occurs, since a long chat may have a thousand answers of tools."""
    return [LeftOut(where, f"{part}: {times}") for part, times in Counter(parts).items()]


def files_left_out(source: str, names: Iterable[str], read: Iterable[str]) -> list[LeftOut]:
    """The files of a folder or archive that the importer of this source does not read."""
    why = f"not read: nothing of {program_name(source)} is looked for in it"
    return [LeftOut(path, why) for path in sorted(set(names) - set(read))]


def names_left_out(value: Any, *read: str) -> list[LeftOut]:
    """What a file holds beside what its importer reads, by the names in it."""
    if not isinstance(value, Mapping):
        return []
    return [LeftOut(str(name), "it is not read here") for name, one in value.items() if one and name not in read]


def kept_tags(one: IncomingMemory) -> list[str] | None:
    """As many tags as a memory may have. None, if there are none, leaves those of an existing memory."""
    kept = dict.fromkeys(" ".join(tag.split())[:TAG_CHARS] for tag in one.tags if tag.strip())
    return list(kept)[:MOST_LABELS] or None


def kept_metadata(one: IncomingMemory) -> dict[str, str] | None:
    """As much metadata as a memory may have."""
    named = {" ".join(name.split()): value for name, value in one.metadata.items()}
    fits = {name: value for name, value in named.items() if 1 <= len(name) <= KEY_CHARS}
    return {name: value[:VALUE_CHARS] for name, value in list(fits.items())[:MOST_LABELS]} or None


def labels_left_out(one: IncomingMemory) -> LeftOut | None:
    """The labels that a memory may not have, since they are too many or too long."""
    tags, told = {" ".join(tag.split()) for tag in one.tags if tag.strip()}, set(one.metadata.values())
    cut_tags = len(tags.difference(kept_tags(one) or ()))
    cut_metadata = len(told.difference((kept_metadata(one) or {}).values()))
    if not cut_tags and not cut_metadata:
        return None
    why = f"of it, {cut_tags} tags and {cut_metadata} entries of metadata: longer or more than a memory holds"
    return LeftOut(one.where or one.text[:60], why, who=one.who)


def content_key(*parts: object) -> str:
    """A key for a thing that has no key in its source: a hash of its content, by which a second import recognises
    it."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode(errors="surrogatepass")).hexdigest()[:16]


def list_in_source(value: Any, name: str) -> Sequence[Any]:
    """A list from the file, or an empty one if it is missing. Anything else is refused, by its name in the file."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Invalid(f"`{name}` should be a list there, and is {type(value).__name__}", field=name)
    return value


def text_or_none(value: Any) -> str | None:
    """The value if it is a text, such as a title; else None."""
    if isinstance(value, str) and value.strip():
        return value
    return None


def parse_source_time(value: Any) -> str | None:
    """The stamp of a date in the file: ISO text, `05.01.2025` (5 January), or seconds since 1970. Empty means None;
    anything else is refused."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return instant(datetime.fromtimestamp(value, UTC), field="date")
        except (ValueError, OverflowError, OSError):
            raise Invalid(f"{value!r} is no date", field="date") from None
    return instant(str(value), field="date")


def parse_texts(values: Any) -> tuple[str, ...]:
    """The texts of a list of texts, or of one text with commas."""
    if isinstance(values, str):
        values = values.split(",")
    if not isinstance(values, list | tuple):
        return ()
    return tuple(dict.fromkeys(word for value in values if isinstance(value, str) and (word := value.strip())))


def plain_values(told: Any, *without: str) -> dict[str, str]:
    """The entries of a map that are texts, numbers, booleans or lists of texts, as texts. What a map inside it holds is
    called after both: `address.city`."""
    if not isinstance(told, Mapping):
        return {}
    found = {}
    for path, value in _values_in({name: one for name, one in told.items() if name not in without}, Mapping):
        if isinstance(value, list):
            text = ", ".join(parse_texts(value))
        else:
            text = _as_text(value)
        if text:
            found[path] = text
    return found


def without_place(where: str, record: Any, made: Sequence[IncomingMemory], *known: str) -> Iterator[LeftOut]:
    """What a record holds and none of the memories `made` of it says, by the names of its values. `known` are the names
    that have been read, and those that are of use only in the program it comes from."""
    if not isinstance(record, Mapping):
        return
    beside = {name: one for name, one in record.items() if name not in known}
    if not beside:
        return
    kept = f" {' '.join(map(_words_of, made))} "
    lost: dict[str, None] = {}
    for path, value in _values_in(beside, (Mapping, list)):
        words = _plain_words(_as_text(value))
        if words and path not in known and f" {words} " not in kept:
            lost[path] = None
    if lost:
        whose = {one.who for one in made}
        who = whose.pop() if len(whose) == 1 else None
        yield LeftOut(where, f"of it, {' and '.join(lost)}: no place for it here", who=who)


def _values_in(told: Mapping[str, Any], opened: Any) -> Iterator[tuple[str, Any]]:
    """Every value in a map, in order, with the names that lead to it; what is of the kinds `opened` is looked into."""
    waiting: list[tuple[str, Any]] = [("", told)]
    while waiting:
        path, value = waiting.pop()
        if not isinstance(value, opened):
            yield path, value
        elif isinstance(value, Mapping):
            waiting += [(f"{path}.{name}".removeprefix("."), one) for name, one in [*value.items()][::-1]]
        else:
            waiting += [(path, one) for one in value[::-1]]


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value).strip()
    return ""


def _words_of(one: IncomingMemory) -> str:
    fields = (one.text, one.body, one.summary, one.subject, one.category, one.scope, one.who, one.key, one.importance)
    return _plain_words(" ".join(map(str, (*fields, *one.tags, *one.metadata.values()))))


def _plain_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
