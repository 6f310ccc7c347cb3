"""What the person put away stays away: an agent that saves the same words again leaves a proposal.

A memory that is forgotten or deleted keeps one key in the index (`word_index.put_away_key`), so that the same words are
known again by look-up, in whatever field of a line, note, name or title they stand: as all of it, as a sentence of it
or between other marks. Only agents are asked; the person may say anything again. What was erased left no key.
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
"""So many parts in a row are looked at together; shorter than this no line is."""
_BETWEEN_PARTS = regex(r"[,;:!?]\s|[()\[\]\"“”„«»|•—–\n]|\s-\s")


# Rules


@lru_cache(maxsize=8)
def put_away_keys(text: str) -> tuple[str, ...]:
    """The keys of a text, of its sentences and of what stands between marks: of a few of these in a row, too."""
    if text.replace(" ", "").isalnum():  # one sentence, and most lines are
        return tuple(dict.fromkeys(map(put_away_key, (text, *undisguised(as_latin(text))))))
    from keepbook.book.text.sentences import sentences  # of one that is plain it is not asked

    cuts = [end for _, end in sentences(text)] + [found.end() for found in _BETWEEN_PARTS.finditer(text)]
    edges = sorted({0, *cuts, len(text)})
    runs = ((edges[at], end) for at in range(len(edges) - 1) for end in edges[at + 1 : at + 1 + PARTS])
    said = dict.fromkeys([text, *(text[begin:end] for begin, end in runs)])
    kept = [one for one in said if len(one.strip()) >= SHORTEST]
    told = [each for one in kept for each in (one, *undisguised(as_latin(one)))]
    return tuple(dict.fromkeys(map(put_away_key, told)))


# Operations


def refuse_words(tx: Tx, origin: Origin, told: Told, wanted: dict[str, Any] | None = None) -> None:
    """Refuse words that are not this writer's to bring into the book: of a topic that the person wants never kept, for
    anybody but them; what they put away, for an agent. Of the latter `wanted` is left as a proposal."""
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
