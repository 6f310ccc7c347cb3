"""Finding a piece of text in memories by words and beginnings of words, through the word index.

A piece is found if it begins a word and continues letter for letter: "oslo in m" in "Oslo in May". The index has stems,
so a beginning is looked up together with all terms that begin with it, and with the stems that a longer word may have.
That finds too many memories rather than too few; their texts are compared then. Only the rarest word of the piece is
looked up. If all its words are common, and for scripts without spaces, every memory is read.
"""

from sqlalchemy import and_, bindparam, select

from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.memory import terms

FEW = 2000
"""If more memories than this have a word, looking it up does not help."""
SHORTEST = 2
"""The shortest stem of a word that is longer itself."""
LEFT_OVER = ("", "e", "i", "l")
"""What stemming may leave in place of an ending: hoping, hope; flies, fli; ability, abl."""
APOSTROPHES, POINTS = "'’", ",."
LAST = "\uffff"


# Rules


def begins_a_word(text: str, piece: str) -> bool:
    """Whether a folded text has a folded piece at the beginning of a word; anywhere if the piece begins with no letter
    or number, or with one of a script without spaces."""
    at = text.find(piece)
    if not is_spaced(piece[0]):
        return at >= 0
    while at > 0 and is_inside_a_word(text, at):
        at = text.find(piece, at + 1)
    return at >= 0


def is_inside_a_word(text: str, at: int) -> bool:
    """Whether a word or figure goes on here: O'Neil, 12,300."""
    before = text[at - 1]
    is_figure = before in POINTS and text[at].isdigit() and text[: at - 1][-1:].isdigit()
    return before.isalnum() or before in APOSTROPHES or is_figure


def is_spaced(sign: str) -> bool:
    """Whether it is a letter or number of a script that puts spaces between words."""
    return sign.isalnum() and len(tokens(sign * 3)) == 1


def is_looked_up(word: str) -> bool:
    """Whether the index has all words that begin like this: stop words it has not, and figures in a form of its own."""
    if not word.isascii() or any(stop.startswith(word) for stop in STOP_WORDS):
        return False
    return word.isalpha() or (word.isdigit() and word[0] != "0")


def possible_stems(word: str) -> list[str]:
    """The stems that a word with this beginning may have in the index, besides those that begin with it too."""
    shorter = [word[:end] + left for end in range(SHORTEST, len(word)) for left in LEFT_OVER]
    return list(dict.fromkeys([stem(word), *shorter]))


# Queries


def ids_with_beginnings(tx: Tx, piece: str) -> set[str] | None:
    """The ids of active memories that may say a folded piece, and of all that do; None where the index is no help."""
    if not is_spaced(piece[0]):
        return None
    several = (_ids_of_word(tx, word) for word in dict.fromkeys(piece.split()) if is_looked_up(word))
    return min((ids for ids in several if ids is not None), key=len, default=None)


def _ids_of_word(tx: Tx, word: str) -> set[str] | None:
    """The ids of memories that have the word; None if they are too many."""
    asked = {"owner": tx.owner, "most": FEW + 1}
    found = _GOING_ON.tuples(tx.conn, {**asked, "first": word, "after": word + LAST})
    if len(found) <= FEW and word.isalpha():
        found += _OF_TERMS.tuples(tx.conn, possible_stems(word), asked)
    if len(found) <= FEW:
        return {id for (id,) in found}
    return None


_ids = select(terms.c.memory_id).where(terms.c.owner == bindparam("owner")).limit(bindparam("most"))
_GOING_ON = PreparedStatement(_ids.where(and_(terms.c.term >= bindparam("first"), terms.c.term < bindparam("after"))))
_OF_TERMS = PreparedForIds(lambda names: _ids.where(terms.c.term.in_(names)))
