"""What the person put away stays away: an agent that saves the same words again leaves a proposal.

A memory that is forgotten or deleted keeps one key in the index (`word_index.put_away_key`). By it the same words are
recognised in any field of a line, note, name or title: as the whole text, as one sentence of it, or as a part between
punctuation marks. This applies to agents alone; the person may say anything again. Erased memories leave no key.
"""

from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.owners.switches import Told, refuse_topics
from keepbook.book.text.for_models.lookalikes import as_latin, undisguised
from keepbook.book.text.indexes.word_index import put_away_key
from keepbook.errors import NotAllowed
from keepbook.patterns import regex
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds
from keepbook.storage.tables.memory import likeness

PARTS, SHORTEST = 4, 4
"""How many parts in a row are tried together, and how many letters a line has at least."""
_BETWEEN_PARTS = regex(r"[,;:!?]\s|[()\[\]\"“”„«»|•—–\n]|\s-\s")


# Rules


@lru_cache(maxsize=8)
def put_away_keys(text: str) -> tuple[str, ...]:
    """The keys of a text, and of its parts: sentences and what stands between punctuation marks, one part by itself or
    several in a row."""
    if text.replace(" ", "").isalnum():  # one part, as most lines are
        return tuple(dict.fromkeys(map(put_away_key, (text, *undisguised(as_latin(text))))))
    from keepbook.book.text.sentences import sentences  # imported here, as most lines do not need it

    cuts = [end for _, end in sentences(text)] + [found.end() for found in _BETWEEN_PARTS.finditer(text)]
    edges = sorted({0, *cuts, len(text)})
    runs = ((edges[at], end) for at in range(len(edges) - 1) for end in edges[at + 1 : at + 1 + PARTS])
    said = dict.fromkeys([text, *(text[begin:end] for begin, end in runs)])
    kept = [one for one in said if len(one.strip()) >= SHORTEST]
    told = [each for one in kept for each in (one, *undisguised(as_latin(one)))]
    return tuple(dict.fromkeys(map(put_away_key, told)))


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
    keys = list(dict.fromkeys(key for text in texts for key in put_away_keys(text)))
    for row in _PUT_AWAY.rows(tx.conn, keys, {"owner": tx.owner}) if keys else ():
        if ledger.is_put_away_by_person(tx, row.memory_id):
            left: dict[str, Any] = {}
            if wanted is not None:
                left = {"wanted": wanted}
            raise NotAllowed("the person put this away", code="forgotten", **left)


# Queries


def is_put_away(tx: Tx, content: str) -> bool:
    """Whether the person put away what says this."""
    found = _PUT_AWAY.rows(tx.conn, [put_away_key(content)], {"owner": tx.owner})
    return any(ledger.is_put_away_by_person(tx, row.memory_id) for row in found)


_PUT_AWAY = PreparedForIds(
    lambda keys: select(likeness.c.memory_id).where(likeness.c.owner == bindparam("owner"), likeness.c.key.in_(keys))
)
