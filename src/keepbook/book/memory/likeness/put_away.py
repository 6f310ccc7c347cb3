"""What the person put away stays away: an agent that saves the same words again leaves a proposal.

A memory that is forgotten or deleted keeps one key in the index (`word_index.put_away_key`). By it the same words are
recognised in any field of a line, note, name or title: as the whole text, as one sentence of it, or as a part between
punctuation marks. This applies to agents alone; the person may say anything again. Erased memories leave no key.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.memories import IS_ACTIVE
from keepbook.book.owners.switches import MOST_READ, Told, refuse_topics
from keepbook.book.text.for_models.lookalikes import as_latin, undisguised
from keepbook.book.text.indexes.word_index import put_away_key
from keepbook.book.text.topics import LONG_TEXT
from keepbook.errors import NotAllowed
from keepbook.patterns import regex
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.memory import likeness, memories

PARTS, SHORTEST = 4, 4
"""How many parts in a row are tried together, and how many letters a line has at least."""
KEY_BYTES = 8
MANY = 2000
"""With more keys than this, or lines put away, they are not looked up one by one."""
_BETWEEN_PARTS = regex(r"[,;:!?]\s|[()\[\]\"“”„«»|•—–\n]|\s-\s")


# Rules


def put_away_keys(text: str) -> list[str]:
    """The keys of a text, and of its parts: sentences and what stands between punctuation marks, one part by itself or
    several in a row."""
    digits = _keys_in_a_row(text).hex()
    return [digits[begin : begin + 2 * KEY_BYTES] for begin in range(0, len(digits), 2 * KEY_BYTES)]


@lru_cache(maxsize=128)
def _keys_in_a_row(text: str) -> bytes:
    return b"".join(map(bytes.fromhex, _keys_of_parts(text)))


def _keys_of_parts(text: str) -> dict[str, None]:
    if text.replace(" ", "").isalnum():  # one part, as most lines are
        return dict.fromkeys(map(put_away_key, (text, *undisguised(as_latin(text)))))
    from keepbook.book.text.sentences import sentences  # imported here, as most lines do not need it

    cuts = [end for _, end in sentences(text)] + [found.end() for found in _BETWEEN_PARTS.finditer(text)]
    edges = sorted({0, *cuts, len(text)})
    runs = ((edges[at], end) for at in range(len(edges) - 1) for end in edges[at + 1 : at + 1 + PARTS])
    said = dict.fromkeys([text, *(text[begin:end] for begin, end in runs)])
    kept = [one for one in said if len(one.strip()) >= SHORTEST]
    told = [each for one in kept for each in (one, *undisguised(as_latin(one)))]
    return dict.fromkeys(map(put_away_key, told))


def compute_first(texts: Iterable[object]) -> None:
    """Compute the keys of texts that are long, or many, before anything is locked, for the look-up inside."""
    readable = [text for text in texts if isinstance(text, str) and len(text) <= MOST_READ]
    if sum(map(len, readable)) > LONG_TEXT:
        for text in readable:
            _keys_in_a_row(text)


# Operations


def refuse_words(tx: Tx, origin: Origin, told: Told, wanted: dict[str, Any] | None = None) -> None:
    """Refuse words that this writer may not bring into the book. Nobody but the person may write about a topic that
    they want never to be kept, and no agent may write what they put away; in that case `wanted` is left as a
    proposal."""
    if origin.actor != "person":
        refuse_topics(tx, told)
    refuse_forgotten(tx, origin, told, wanted)


def refuse_forgotten(tx: Tx, origin: Origin, told: Told, wanted: dict[str, Any] | None = None) -> None:
    """Refuse an agent that says anywhere what the person put away."""
    if not origin.is_agent:
        return
    texts = [text for text in (told.content, *told.beside, *told.labels) if text]
    if sum(map(len, texts)) > LONG_TEXT and not _has_put_away(tx):
        return
    keys = dict.fromkeys(key for text in texts for key in put_away_keys(text))
    for memory_id in _with_keys(tx, keys):
        if ledger.is_put_away_by_person(tx, memory_id):
            left: dict[str, Any] = {}
            if wanted is not None:
                left = {"wanted": wanted}
            raise NotAllowed("the person put this away", code="forgotten", **left)


# Queries


def is_put_away(tx: Tx, content: str) -> bool:
    """Whether the person put away what says this."""
    return any(ledger.is_put_away_by_person(tx, id) for id in _with_keys(tx, {put_away_key(content): None}))


def _has_put_away(tx: Tx) -> bool:
    """Whether the person has put anything away; so it seems also where a great deal is, whoever did that."""
    found = _ALL_PUT_AWAY.tuples(tx.conn, {"owner": tx.owner})
    return len(found) > MANY or any(ledger.is_put_away_by_person(tx, id) for _, id in found)


def _with_keys(tx: Tx, keys: Mapping[str, None]) -> Sequence[str]:
    """The memories with these keys that were put away. Of a text of many parts, whose keys are many more than what
    anybody puts away, all that was put away is looked at instead."""
    if len(keys) > MANY:
        return [id for key, id in _ALL_PUT_AWAY.tuples(tx.conn, {"owner": tx.owner}) if key in keys]
    return [id for (id,) in _PUT_AWAY.tuples(tx.conn, list(keys), {"owner": tx.owner})]


_ALL_PUT_AWAY = PreparedStatement(
    select(likeness.c.key, likeness.c.memory_id)
    .join_from(memories, likeness, (likeness.c.owner == memories.c.owner) & (likeness.c.memory_id == memories.c.id))
    .where(memories.c.owner == bindparam("owner"), ~IS_ACTIVE)
)
_PUT_AWAY = PreparedForIds(
    lambda keys: select(likeness.c.memory_id).where(likeness.c.owner == bindparam("owner"), likeness.c.key.in_(keys))
)
