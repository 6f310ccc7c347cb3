"""Finds what the person asked to forget and chats still say: recall no longer quotes those turns.

The chat itself stays as it was said, readable and found by search; to remove its words, the person deletes it. The
turns are stored as an accepted proposal to forget that has no memory (`memory/proposals.py`), so that it can be taken
back and is exported with the book.

Such proposals, and memories that the person forgot or deleted, also concern imports: what was said before the person
forgot it is left out, until the person accepts it again.
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
"""How many turns are looked up for one word of a matter, at most."""
DROPPED = "user_deleted"
"""The `archived_reason` of a memory that the person forgot."""


@dataclass(frozen=True, slots=True)
class ForgottenMatters:
    """What the person asked to forget, and when."""

    matters: tuple[tuple[str, str], ...] = ()
    """Matters such as a name or a topic, each with the time at which it was forgotten."""
    lines: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By each stemmed word: the contents of forgotten memories with that word, and when they were forgotten."""

    def is_forgotten(self, text: str, at: str) -> bool:
        """Whether a text that was said at an instant was forgotten later."""
        words = {stem(word) for word in tokens(text)}
        if any(since > at and _speaks_of(matter, text, words) for matter, since in self.matters):
            return True
        sharing_a_word: set[tuple[str, str]] = set()
        for word in words:
            sharing_a_word.update(self.lines.get(word, ()))
        return any(since > at and alike(line, text) for line, since in sharing_a_word)

    def put_away(self, state: Any, text: str) -> bool:
        """Whether it was the person who put away an inactive memory: they forgot or deleted it, or forgot its matter
        after its last edit."""
        if state.archived_reason == DROPPED or state.trashed_at is not None:
            return True
        return self.is_forgotten(text, state.edited_at)


# Rules


def _speaks_of(matter: str, text: str, words: set[str]) -> bool:
    """Whether a text, whose stemmed words are given, has all words and names of a matter."""
    wanted = query_terms(matter)
    return bool(wanted) and words.issuperset(wanted) and _has_names(matter, text)


# Queries


def saying(tx: Tx, matter: str) -> list[Any]:
    """The turns that have all words of a matter, the newest first: rows of `messages` with the title of the chat."""
    with_word: list[set[tuple[str, int]]] = []
    for word in query_terms(matter):
        where = (turn_terms.c.owner == tx.owner, turn_terms.c.term == word)
        query = select(turn_terms.c.thread_id, turn_terms.c.turn).where(*where).limit(MOST)
        with_word.append({(row.thread_id, row.turn) for row in tx.conn.execute(query)})
    turns = defaultdict(list)
    if with_word:
        for thread_id, turn in sorted(set.intersection(*with_word)):
            turns[thread_id].append(turn)
    every = [row for id in turns for row in _messages(tx, id, turns[id])]
    found = [row for row in every if _has_names(matter, row.text)]
    return sorted(found, key=lambda row: (row.at, row.thread_id, row.turn), reverse=True)


def _messages(tx: Tx, thread_id: str, turns: list[int]) -> list[Any]:
    query = (
        select(messages, threads.c.title)
        .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
        .where(messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn.in_(turns))
        .where(threads.c.deleted_at.is_(None))
    )
    return list(tx.conn.execute(query))


def _has_names(matter: str, text: str) -> bool:
    """Whether a text has the names of a matter with their capitals: "Mark" is a person, "to mark" is not. In a text
    that is all lower case, capitals do not matter."""
    if text == text.lower():
        return True
    return all(words_regex(rf"\b{name}").search(text) for name in _NAME.findall(matter))


_NAME = regex(r"\b[A-ZÀ-Þ][\w-]+")


def forgotten(tx: Tx) -> ForgottenMatters:
    """What the person asked to forget in the whole book, without what was taken back."""
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
    """The turns that recall leaves out, by chat, each with the matter that was to be forgotten. In a transaction that
    only reads, the query runs once."""
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
