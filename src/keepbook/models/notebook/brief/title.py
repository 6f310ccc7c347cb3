"""A chat's title without a model: at most six words in a row of the person's first statement or question.

The words stand letter for letter as they were said. Greetings and what only leads to the matter ("can you", "help me")
are skipped, and a cut lies neither inside a name or a number nor behind a word that leads on.
"""

from collections.abc import Sequence

from keepbook.book.text.words import STOP_WORDS
from keepbook.models.model import DialogueTurn
from keepbook.models.notebook.answers.forms import whole_answer
from keepbook.models.notebook.brief.own_clauses import Withdrawn, own_clauses
from keepbook.patterns import regex

UNTITLED = "New chat"
MOST_WORDS = 6
MOST_TURNS = 12
"""Turns that are looked at."""
_LEAST = 3
"""Words that a title keeps where it is cut back to the end of a phrase."""
_LONGEST_WORD = 40
_UNSPACED_LETTERS, _UNSPACED_CUT = 20, 12
_EDGES = " \t\n.,;:!?…–—-\"'“”‘’«»()[]*_¿¡，。！？、；："
_CLOSES = tuple(",;:!?…)，。！？；")
_UNSPACED = regex(r"[぀-ヿ㐀-鿿฀-๿]")
_UNSPACED_STOP = regex(r"[，。！？、；：,.!?;\s]")
_GREETINGS = frozenset(
    [
        "hi", "hey", "hello", "hiya", "yo", "good", "morning", "evening", "afternoon", "day", "there", "you", "again",
        "all", "everyone", "how", "are", "is", "it", "going", "what's", "up", "sup", "thanks", "thank", "please", "ok",
        "okay", "hola", "buenas", "buenos", "días", "tardes", "hallo", "guten", "tag", "morgen", "abend", "moin", "hei",
        "god", "dag", "kveld", "bonjour", "salut", "bonsoir", "lol", "haha", "oh", "um", "so", "well", "test",
    ]
)  # fmt: skip
_LEADS = frozenset([
    "hi", "hey", "hello", "ok", "okay", "so", "well", "um", "uh", "oh", "please", "pls", "and", "but", "also", "btw",
    "can you", "could you", "would you", "will you", "can i", "could i", "help me", "tell me", "show me", "give me",
    "do you know", "let's", "i want to", "i'd like to", "i would like to", "i need to", "i need", "i'm trying to",
    "i'm thinking about", "i'm thinking of", "i am thinking about", "i'm looking for", "by the way", "quick question",
])  # fmt: skip
_LEADS_LONGEST = 4
_IN_NAMES = frozenset(["von", "van", "der", "den", "de", "da", "di", "del", "la", "le", "bin", "al", "of", "zu", "af"])
"""Small words that stand inside names."""
_LEADS_ON = STOP_WORDS | {"like", "und", "der", "die", "das", "y", "el", "la", "de", "og", "i", "på", "et", "le", "les"}


def chat_title(turns: Sequence[DialogueTurn], withdrawn: Withdrawn | None = None) -> str:
    """The title of a chat; `withdrawn` are the stretches of its turns, by their ids, that may not be in it."""
    for clause in own_clauses(turns[:MOST_TURNS], withdrawn):
        words = clause.text
        if _is_greeting(words) or whole_answer(words) is not None:
            continue
        if _UNSPACED.search(words):
            found = _unspaced_title(words)
        else:
            found = _spaced_title(words)
        if found:
            return found
    return UNTITLED


def _is_greeting(text: str) -> bool:
    words = [word.strip(_EDGES).lower() for word in text.split()]
    return all(word in _GREETINGS or not word for word in words)


def _spaced_title(text: str) -> str:
    words = _without_leads(text.split())
    kept = _fitting(words)
    return " ".join(kept).strip(_EDGES)


def _without_leads(words: list[str]) -> list[str]:
    """The words behind what only leads to the matter; all of them where nothing else is left."""
    rest = words
    while size := _lead_size(rest):
        rest = rest[size:]
    return rest or words


def _lead_size(words: list[str]) -> int:
    plain = [word.strip(_EDGES).lower().replace("’", "'") for word in words[:_LEADS_LONGEST]]
    sizes = range(len(plain), 0, -1)
    return next((size for size in sizes if " ".join(plain[:size]) in _LEADS), 0)


def _fitting(words: list[str]) -> list[str]:
    """The first words, as many as a title may have, cut at the end of a phrase."""
    most = min(MOST_WORDS, next((at for at, word in enumerate(words) if len(word) > _LONGEST_WORD), len(words)))
    if len(words) <= most:
        return words
    size = _outside_names(words, most)
    if not words[size - 1].endswith(_CLOSES) and not _leads_on(words[size]):
        size = _phrase_end(words, size)
    while size > 1 and _leads_on(words[size - 1]):
        size -= 1
    return words[: _outside_names(words, size)]


def _outside_names(words: list[str], size: int) -> int:
    """The cut, moved back to where it parts no name and no number from what belongs to it."""
    while 0 < size < len(words) and _belong_together(words[size - 1], words[size]):
        size -= 1
    return size


def _belong_together(one: str, other: str) -> bool:
    if one.endswith(_CLOSES):
        return False
    starts = one.lstrip("(\"'“‘«")[:1], other.lstrip("(\"'“‘«")[:1]
    if any(start.isdecimal() for start in starts):
        return True
    if one in ("I", "I'm", "I’m"):
        return False
    capitals = [start.isupper() for start in starts]
    return all(capitals) or (any(capitals) and not _IN_NAMES.isdisjoint((one, other)))


def _phrase_end(words: list[str], size: int) -> int:
    """The end of the last phrase that is whole: before the word that leads into the one that is cut."""
    ends = [at for at in range(_LEAST, size) if _leads_on(words[at]) or words[at - 1].endswith(_CLOSES)]
    if ends:
        return ends[-1]
    return size


def _leads_on(word: str) -> bool:
    return word.strip(_EDGES).lower() in _LEADS_ON


def _unspaced_title(text: str) -> str:
    """The title of a text in a script without blanks: the text up to its first mark, or its first letters."""
    parts = [part for part in _UNSPACED_STOP.split(text) if len(part) > 2]
    if parts:
        first = parts[0]
    else:
        first = text.strip(_EDGES)
    if len(first) <= _UNSPACED_LETTERS:
        return first
    return first[:_UNSPACED_CUT]
