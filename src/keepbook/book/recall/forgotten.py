"""What the person asked to forget although chats still say it: recall no longer quotes those turns.

A chat stays as it was said, readable and found by search; to remove its words, the person deletes it. The turns are
stored as an accepted proposal to forget, without a memory (`memory/proposals.py`), so that this can be taken back and
is exported with the book.

These proposals, and the lines that the person forgot or deleted, tell what is forgotten in the whole book: an import
leaves out what was said before then, until the person accepts it again.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, or_, select

from keepbook.book.ground import stored_json
from keepbook.book.memory.proposals import alike
from keepbook.book.text.words import query_terms, stem, tokens
from keepbook.patterns import regex, words_regex
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import read_once
from keepbook.storage.tables.chats import messages, threads, turn_terms
from keepbook.storage.tables.choices import proposals
from keepbook.storage.tables.memory import memories, versions

MOST = 2000
"""How many turns are read for one word of a matter."""
DROPPED = "user_deleted"
"""The `archived_reason` of a memory that its person forgot."""


@dataclass(frozen=True, slots=True)
class ForgottenMatters:
    """What the person wanted to be forgotten, and when."""

    matters: tuple[tuple[str, str], ...] = ()
    """Matters such as a name or a topic, each with the time it was forgotten at."""
    lines: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Contents of forgotten memories with their times, by each of their words."""

    def is_forgotten(self, text: str, at: str) -> bool:
        """Whether a text that was said at an instant was forgotten later."""
        words = [stem(word) for word in tokens(text)]
        if any(since > at and _speaks_of(matter, text, set(words)) for matter, since in self.matters):
            return True
        near = {one for word in words for one in self.lines.get(word, ())}
        return any(since > at and alike(line, text) for line, since in near)

    def put_away(self, state: Any, text: str) -> bool:
        """Whether the person put away an inactive memory: they forgot or deleted it, or forgot its matter after its
        last edit."""
        return (
            state.archived_reason == DROPPED or state.trashed_at is not None or self.is_forgotten(text, state.edited_at)
        )


# Rules


def _speaks_of(matter: str, text: str, words: set[str]) -> bool:
    wanted = query_terms(matter)
    return bool(wanted) and words.issuperset(wanted) and _names(matter, text)


# Queries


def saying(tx: Tx, matter: str) -> list[Any]:
    """The turns that have all words of a matter, the newest first: rows of `messages` with the title of the chat."""
    words = query_terms(matter)
    held: set[tuple[str, int]] | None = None
    for word in words:
        where = (turn_terms.c.owner == tx.owner, turn_terms.c.term == word)
        query = select(turn_terms.c.thread_id, turn_terms.c.turn).where(*where).limit(MOST)
        having = {(row.thread_id, row.turn) for row in tx.conn.execute(query)}
        if held is None:
            held = having
        else:
            held = held & having
    turns = defaultdict(list)
    for thread_id, turn in sorted(held or ()):
        turns[thread_id].append(turn)
    every = [row for id in turns for row in _messages(tx, id, turns[id])]
    found = [row for row in every if _names(matter, row.text)]
    return sorted(found, key=lambda row: (row.at, row.thread_id, row.turn), reverse=True)


def _messages(tx: Tx, thread_id: str, turns: list[int]) -> list[Any]:
    query = (
        select(messages, threads.c.title)
        .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
        .where(messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn.in_(turns))
        .where(threads.c.deleted_at.is_(None))
    )
    return list(tx.conn.execute(query))


def _names(matter: str, text: str) -> bool:
    """Whether a text has the names of a matter with their capitals: "Mark" is a person, "to mark" is not. In a text
    that is all lower case, capitals do not matter."""
    return text == text.lower() or all(words_regex(rf"\b{name}").search(text) for name in _NAME.findall(matter))


_NAME = regex(r"\b[A-ZÀ-Þ][\w-]+")


def forgotten(tx: Tx) -> ForgottenMatters:
    """What the person wanted forgotten in the whole book, except what was taken back."""
    mine = (proposals.c.owner == tx.owner, proposals.c.status == "accepted", proposals.c.op == "forget")
    matter = (proposals.c.memory_id.is_(None), proposals.c.question.is_(None))
    query = select(proposals.c.content, proposals.c.decided_at).where(*mine, *matter)
    matters = {(row.content, row.decided_at) for row in tx.conn.execute(query)}
    joined = and_(memories.c.owner == versions.c.owner, memories.c.id == versions.c.memory_id)
    gone = or_(memories.c.archived_reason == DROPPED, memories.c.trashed_at.isnot(None))
    query = (
        select(versions.c.content, memories.c.archived_at, memories.c.trashed_at)
        .join(memories, and_(joined, memories.c.version == versions.c.version))
        .where(versions.c.owner == tx.owner, versions.c.content.isnot(None), gone)
    )
    lines: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in tx.conn.execute(query):
        for word in {stem(word) for word in tokens(row.content)}:
            lines[word].append((row.content, row.trashed_at or row.archived_at))
    return ForgottenMatters(tuple(sorted(matters)), lines)


def turns_not_recalled(tx: Tx) -> dict[str, dict[int, str]]:
    """The turns that recall leaves out, by chat, each with the matter that was to be forgotten."""
    return read_once(tx, "turns_not_recalled", lambda: _turns_not_recalled(tx))


def _turns_not_recalled(tx: Tx) -> dict[str, dict[int, str]]:
    mine = (proposals.c.owner == tx.owner, proposals.c.status == "accepted", proposals.c.op == "forget")
    query = select(proposals.c.thread_id, proposals.c.turn_ids, proposals.c.content)
    found: dict[str, dict[int, str]] = {}
    for row in tx.conn.execute(query.where(*mine, proposals.c.memory_id.is_(None), proposals.c.question.is_(None))):
        turn_ids = stored_json.load_json(row.turn_ids)  # in a book of another program they may be no numbers
        turns = (int(turn) for turn in turn_ids if turn.isdecimal())
        found.setdefault(row.thread_id, {}).update(dict.fromkeys(turns, row.content))
    return found
