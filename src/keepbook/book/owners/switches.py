"""The person's switches, which the book obeys for every caller: memory off, and topics never to be kept.

With memory off, programs read and write nothing; the person's own doors still work. About a topic never to be kept
nobody but the person may write; if they type something about one, they are asked once. Topics are found by words, and
by meaning if the transaction has an embedder. The switches are read together with the end of the ledger, so that they
cost no statement of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, or_, select

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import sought
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import LONG_TEXT, find_topics
from keepbook.errors import Conflict, NotAllowed
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import threads
from keepbook.storage.tables.choices import choices

MEMORY_OFF = "the person has switched memory off; nothing is read or kept until they switch it on again"


MOST_READ = 1 << 16
"""What is longer is refused, and need not be read."""


@dataclass(frozen=True, slots=True)
class Told:
    """All words that a write would store: one line, the sentences beside it, and labels such as tags and names."""

    content: str = ""
    beside: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def without(self, before: "Told") -> "Told":
        """The words that were not there before."""
        if self.content == before.content:
            content = ""
        else:
            content = self.content
        return Told(
            content,
            tuple(text for text in self.beside if text not in before.beside),
            tuple(text for text in self.labels if text not in before.labels),
        )


def is_memory_on(tx: Tx) -> bool:
    return _stored(tx)[0] != "false"


def never_topics(tx: Tx) -> tuple[str, ...]:
    """The topics that the person wants never kept."""
    never = _stored(tx)[1]
    if never is None:
        return ()
    return tuple(stored_json.load_json(never))


def refuse_memory_off(tx: Tx) -> None:
    if not is_memory_on(tx):
        raise NotAllowed(MEMORY_OFF, code="memory_off")


def refuse_incognito(tx: Tx, thread: str | None) -> None:
    """Refuse to keep what was said in a chat that remembers nothing; `thread` is its id or its session."""
    if thread is None:
        return
    named = or_(threads.c.id == sought(thread), threads.c.session == sought(thread))
    query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.incognito == 1, named).limit(1)
    if tx.conn.execute(query).first() is not None:
        raise NotAllowed("that chat is incognito; only the person keeps anything of it", code="incognito")


def touched_topics(tx: Tx, told: Told) -> list[str]:
    """The topics never to be kept that these words are about: the line by words and meaning, the rest by words."""
    return topics_told(told, never_topics(tx), tx.sense)


def topics_told(told: Told, never: Sequence[str], sense: Sense | None = None) -> list[str]:
    """Those of the topics `never` that these words are about."""
    if not never:
        return []
    if told.content:
        found = find_topics(told.content, never, sense)
    else:
        found = []
    found += [topic for text in told.beside for topic in find_topics(text, never)]
    return found + [topic for text in told.labels for topic in find_topics(text, never, label=True)]


def refuse_topics(tx: Tx, told: Told) -> None:
    """Refuse anybody but the person to write of a topic that is never to be kept."""
    refuse_found(touched_topics(tx, told))


def refuse_found(topics: Sequence[str]) -> None:
    """Refuse what was found to be about topics that are never to be kept."""
    if topics:
        raise NotAllowed(f"the person asked never to keep anything about {topics[0]}", code="never_topic")


def is_long(words: object) -> bool:
    """Whether these words take so long to look through that nobody should wait meanwhile."""
    return isinstance(words, str) and LONG_TEXT < len(words) <= MOST_READ


def look_through(text: str, never: Sequence[str], sense: Sense | None = None) -> None:
    """Look for topics, and embed what they are looked for by, so that neither need be done where others wait."""
    find_topics(text, never, sense)


def ask_about_topics(tx: Tx, told: Told, *, before: Told | None = None) -> None:
    """Ask a person who types about a topic that they want never to be kept, by raising `Conflict`. If the line `before`
    was about it too, they were asked already."""
    if before is not None:
        told = told.without(before)
    topics = touched_topics(tx, told)
    if topics and before is not None:
        topics = [topic for topic in topics if topic not in touched_topics(tx, before)]
    if topics:
        raise Conflict(
            f"you asked never to keep anything about {topics[0]}; to keep this all the same, repeat it with force",
            code="against_topic",
            topic=topics[0],
        )


def leave_out_topics(text: str, never: Sequence[str], sense: Sense | None = None) -> str:
    """A text without its sentences about topics never to be kept; empty if nothing else is left."""
    if not never or not find_topics(text, never, sense):
        return text
    from keepbook.book.text.sentences import sentences  # imported here, as it is seldom needed

    said = (text[begin:end].strip() for begin, end in sentences(text))
    kept = " ".join(sentence for sentence in said if not find_topics(sentence, never, sense))
    if find_topics(kept, never, sense):
        return ""
    return kept


# Queries


def _stored(tx: Tx) -> tuple[str | None, str | None]:
    if tx.switches is None:  # the end of the ledger was not read yet, or this transaction changed them
        found = dict(_SWITCHES.tuples(tx.conn, {"owner": tx.owner}))
        tx.switches = (found.get("memory"), found.get("never"))
    return tx.switches


_SWITCHES = PreparedStatement(select(choices.c.name, choices.c.value).where(choices.c.owner == bindparam("owner")))


def keepable_summary(tx: Tx, summary: str) -> str:
    """A summary without sentences about topics that the person wants never to be kept."""
    return leave_out_topics(summary, never_topics(tx), tx.sense)
