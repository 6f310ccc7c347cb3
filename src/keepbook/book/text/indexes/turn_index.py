"""The word index of chats: which turn has which term. Hidden context and incognito chats are not indexed.

Beside its words each turn has marks, in the same table: how much it says, whether it asks, whether it says how things
are always to be, who speaks, and the day. A mark begins with a character with which no term can begin, so the two never
clash. For a speaker without a name the role is the mark: `~user`, `~assistant`.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from sqlalchemy import delete, insert

from keepbook.book.text.indexes.word_index import IndexedText, take_vectors, term_weights
from keepbook.book.text.time_hints import day_terms
from keepbook.book.text.words import STOP_WORDS, tokens
from keepbook.patterns import regex
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import turn_terms

SAYS, ASKS, STANDS, SPEAKER = "#", "?", "!", "~"
"""The marks: how many words that say something, a question, what stands for good, `~name` for each word of the name of
who speaks."""
USER, ASSISTANT = SPEAKER + "user", SPEAKER + "assistant"
INDEXED = ("user", "assistant")
"""The roles whose turns are indexed."""
AT_ONCE = 500
"""How many turns are indexed with one statement."""

# Rules


def speaker_marks(speaker: str | None, role: str) -> list[str]:
    if speaker:
        names = tokens(speaker)
    else:
        names = []
    return sorted({SPEAKER + name for name in names or [role]})


def _marks_of_text(text: str, role: str) -> dict[str, float]:
    """The marks of a turn that follow from its text."""
    known = {SAYS: float(sum(word not in STOP_WORDS for word in tokens(text)))}
    if "?" in text:
        known[ASKS] = 1.0
    if role == "user" and _FOR_GOOD.search(text.lower()):
        known[STANDS] = 1.0
    return known


_FOR_GOOD = regex(
    r"""\b(?: always | never | from[ ](?:now|here)[ ]on | in[ ](?:the[ ])?future | (?:every|each|any)[ ]?time | whenever
  | as[ ]a[ ]rule | by[ ]default | going[ ]forward | do(?:[ ]not|n['’]?t)[ ]ever | prefer | call[ ]me
  | no[ ]more[ ]than | at[ ]most
  | immer | niemals | nie | ab[ ]jetzt | k[uü]nftig | grunds[aä]tzlich | alltid | aldri | heretter | fra[ ]n[aå][ ]av
  | siempre | nunca | a[ ]partir[ ]de[ ]ahora | toujours | jamais | d[eé]sormais | dor[eé]navant
  | sempre | d['’]ora[ ]in[ ]poi
    )\b | 总是 | 一律 | 从不 | 以后都? | 每次 | いつも | 必ず | ทุกครั้ง | เสมอ""",
    re.VERBOSE,
)


TurnWords = Mapping[str, float]
NONE_KNOWN: Mapping[int, TurnWords] = MappingProxyType({})


def turn_words(text: str, role: str) -> TurnWords:
    """The words of a turn with their weights, and its marks but for who speaks and when."""
    return {**term_weights(IndexedText(None, None, text, None, None)), **_marks_of_text(text, role)}


def turn_weights(
    text: str, role: str, speaker: str | None, at: str, words: TurnWords | None = None
) -> dict[str, float]:
    """All words and marks of a turn with their weights; `words` are its `turn_words`, if they are known."""
    beside = dict.fromkeys([*speaker_marks(speaker, role), *day_terms(at)], 1.0)
    return {**(words or turn_words(text, role)), **beside}


# Operations


def put_turns(tx: Tx, rows: Iterable[Mapping[str, Any]], words: Mapping[int, TurnWords] = NONE_KNOWN) -> None:
    """Index turns that have just been written, by their rows. Of turns of one chat `words` are those that are known, by
    turn."""
    coming = iter(rows)
    while some := list(islice(coming, AT_ONCE)):
        found = (
            (row, turn_weights(row["text"], row["role"], row["speaker"], row["at"], words.get(row["turn"])))
            for row in some
        )
        told = [
            {"owner": tx.owner, "thread_id": row["thread_id"], "turn": row["turn"], "term": term, "weight": weight}
            for row, weights in found
            for term, weight in weights.items()
        ]
        told.sort(key=_IN_ORDER)  # as they lie in the index
        _PUT.run_many(tx.conn, told)


def take_turns(tx: Tx, thread_id: str) -> None:
    tx.conn.execute(delete(turn_terms).where(turn_terms.c.owner == tx.owner, turn_terms.c.thread_id == thread_id))
    take_vectors(tx, "turn", thread_id)


# Queries

_IN_ORDER = itemgetter("term", "thread_id", "turn")
_PUT = PreparedStatement(insert(turn_terms), turn_terms.c.keys())
