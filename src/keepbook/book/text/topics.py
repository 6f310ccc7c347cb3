"""Topics that a person wants never remembered: shipped groups, and topics of the person's own.

A group (health, money, …) is matched by its words in six languages (`topic_words.py`) and, if there is an embedder, by
meaning (`topic_meaning.py`). A person's own topic is matched by its words in any of their forms, and by meaning. The
shipped groups are data: `topics.toml` and, learned from `topics.jsonl`, `topics.json`.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from keepbook.book.text import topic_meaning, topic_words
from keepbook.book.text.for_models.lookalikes import HiddenWord, as_latin, disguised_words, hidden_words
from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.book.text.sentences import sentences
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import STOP_WORDS, fold_text, query_terms, stem, tokens
from keepbook.patterns import regex

OWN, ELSE = 0.26, 0.2
"""Cosines of a text and a topic of the person's own. From the first on, the text counts as being about the topic even
without its words; below the second it does not, even with its words ("I bet it rains", if betting is the topic)."""


@dataclass(frozen=True, slots=True)
class TopicGroup:
    name: str
    covers: str
    names: frozenset[str]


@cache
def groups() -> dict[str, TopicGroup]:
    return {
        name: TopicGroup(name, row["covers"], frozenset(map(fold_text, (name, *row["names"]))))
        for name, row in topic_words.topic_lists()["group"].items()
    }


def group_named(phrase: str) -> str | None:
    """The group that a phrase names, if it names one as a whole."""
    plain = fold_text(phrase).strip(" .,!")
    return next((group.name for group in groups().values() if plain in group.names), None)


_ASKS = regex(r"(?:what|how|who|where|whether)\b", re.IGNORECASE)
_WORD = regex(r"\w+")


def topics_named_in(phrase: str) -> list[str]:
    """The groups that a phrase names ("my political views and how I vote"), or, in a phrase such as "what I earn",
    those that its words belong to."""
    plain = " ".join(["", *_WORD.findall(fold_text(phrase)), ""])
    found = [group.name for group in groups().values() if any(f" {name} " in plain for name in group.names)]
    if not found and _ASKS.match(phrase):
        found = _topics_by_words(phrase)
    return found


def _topics_by_words(phrase: str) -> list[str]:
    return [name for name in groups() if not topic_words.signals(phrase, name)["bare"]]


def describe_topic(topic: str) -> str:
    """What a topic covers, in words for a settings page."""
    name = group_named(topic)
    if name:
        return groups()[name].covers
    return f"whatever speaks of “{topic}”, in any form of the words"


def find_topics(text: str, topics: Sequence[str], sense: Sense | None = None, *, label: bool = False) -> list[str]:
    """The topics that a text is about as a reader sees it, in the order of the list. A `label` is a tag, a name or the
    like; a text of so few words is looked at as one too, and so is every word that was disguised."""
    if not topics:
        return []
    if len(text) <= LONG_TEXT:
        return _find(text, topics, sense, label)
    kept = hashlib.sha256(repr((text, tuple(topics), label)).encode(errors="surrogatepass")).digest(), id(sense)
    known = _FOUND.get(kept)
    if known is None or known[0] is not sense:
        for oldest in list(_FOUND)[: max(0, len(_FOUND) + 1 - MOST_FOUND)]:
            _FOUND.pop(oldest, None)
        known = _FOUND[kept] = sense, tuple(_find(text, topics, sense, label))
    return list(known[1])


LONG_TEXT, MOST_FOUND = 1000, 1000
_FOUND: dict[tuple[bytes, int], tuple[Sense | None, tuple[str, ...]]] = {}
"""What was found in long texts, by their digests. They are looked through before anything is locked, and are known when
they are written. The `sense` is kept, so that its id is given to no other."""


def _find(text: str, topics: Sequence[str], sense: Sense | None, label: bool) -> list[str]:
    text = drop_unseen(text)
    passes_for = as_latin(text)
    labels = list(disguised_words(passes_for))
    if label or _is_bare(text):
        labels += _as_labels(passes_for)
    for one in _sentences(passes_for):
        if _is_bare(one):
            labels += _as_labels(one)
    hidden = list(hidden_words(passes_for))
    return [
        topic
        for topic in topics
        if _touches(text, topic, sense)
        or (passes_for != text and _touches(passes_for, topic, None))
        or any(_is_label_of(one, topic) for one in labels)
        or _hides(hidden, topic)
    ]


def _hides(words: Sequence[HiddenWord], topic: str) -> bool:
    """Whether words as they stand say nothing of a topic, and what a reader sees in them is a word of it."""
    name = group_named(topic)
    if name is None:
        wanted = _own_words(topic)
        if len(wanted) != 1:
            return False
        tells = partial(_letters_of_own, wanted[0])
    else:
        tells = partial(topic_words.letters_of_sure, name)
    for hidden in words:
        told = tells(hidden.reading)
        if told >= hidden.least and not any(tells(word) or word in STOP_WORDS for word in hidden.stands):
            return True
    return False


def _own_words(topic: str) -> list[str]:
    return [word for word in query_terms(topic) if word not in STOP_WORDS]


def _letters_of_own(wanted: str, word: str) -> int:
    if word[:3] == wanted[:3] and _has(wanted, {stem(word)}):
        return len(word)
    return 0


def _as_labels(text: str) -> list[str]:
    """A label as separate words ("home_address", "homeAddress"), and without marks inside them ("addr.ess")."""
    words = _WORD_OF_LABEL.findall(text)[:MOST_WORDS]
    return [" ".join(words), " ".join("".join(_LETTERS.findall(part)) for part in text.split()[:MOST_WORDS])]


_LETTERS = regex(r"[^\W_]+")
_WORD_OF_LABEL = regex(r"[A-ZÀ-Þ]?[^\W\dA-ZÀ-Þ_]+|[A-ZÀ-Þ]+|\d+")
BARE, MOST_WORDS, LONG_LABEL = 3, 60, 200
"""A text of at most 3 words counts as a label; of a label 60 words are examined, and a label has at most 200
letters."""


def _is_bare(text: str) -> bool:
    if topic_words.UNSPACED.search(text):
        return len(text) <= BARE
    return len(text) <= LONG_LABEL and len(_WORD.findall(text)) <= BARE


def _is_label_of(label: str, topic: str) -> bool:
    name = group_named(topic)
    if name is None:
        return _own(label, topic, None, of_label=True)
    return group_named(label) == name or topic_words.is_labelled(label, name)


def _touches(text: str, topic: str, sense: Sense | None) -> bool:
    """Whether a text is about a topic, as a whole or in one of its sentences: others beside it make it no less so."""
    name = group_named(topic)
    if name is not None:
        return _of_group(text, name, sense)
    if _own(text, topic, sense):
        return True
    # By its words alone, a topic of the person's own is found in the whole text already.
    return sense is not None and any(_own(one, topic, sense) for one in _sentences(text)[:MOST_BY_MEANING])


def _of_group(text: str, group: str, sense: Sense | None) -> bool:
    """Whether a text is about a group. A long text is examined stretch by stretch, the first one by meaning too."""
    first, *more = cut_at_blanks(text, topic_words.LONGEST)
    return _is_any_of(first, group, sense) or any(_is_any_of(one, group, None) for one in more)


def _is_any_of(text: str, group: str, sense: Sense | None) -> bool:
    """Whether a stretch of text, a sentence of it or a part of one is about a group."""
    if _is_stretch_of(text, group, sense):
        return True
    if sense is not None and any(_is_stretch_of(one, group, sense) for one in _sentences(text)[:MOST_BY_MEANING]):
        return True
    return topic_words.is_topic_named(text, group) and any(_is_stretch_of(one, group, None) for one in _parts(text))


MOST_BY_MEANING = 12
"""How many sentences of a text are examined by meaning, each by itself."""
PART_WORDS = 3
"""A part of a sentence that is examined by itself has so many words at least."""
_BETWEEN = regex(r"[,;:()|/–—]| - ")


@lru_cache(maxsize=8)
def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text; none if it is one."""
    found = tuple(text[start:end].strip() for start, end in sentences(text))
    if len(found) < 2:
        return ()
    return found


@lru_cache(maxsize=8)
def _parts(text: str) -> tuple[str, ...]:
    """The sentences of a text, and what stands between the marks of each."""
    pieces = (piece for one in _sentences(text) or (text,) for piece in _BETWEEN.split(one))
    return (*_sentences(text), *(piece for piece in pieces if len(piece.split()) >= PART_WORDS and piece != text))


def cut_at_blanks(text: str, most: int) -> list[str]:
    """A text in pieces of at most `most` letters, cut at blanks if there are any."""
    found, start = [], 0
    while len(text) - start > most:
        blank = text.rfind(" ", start + 1, start + most)
        if blank > 0:
            end = blank
        else:
            end = start + most
        found.append(text[start:end])
        start = end
    return [*found, text[start:]]


def _is_stretch_of(text: str, group: str, sense: Sense | None) -> bool:
    learned = topic_words.weights()
    worded = topic_words.word_score(text, group)
    meant = None
    if not (sense is None or topic_words.UNSPACED.search(text)):
        meant = topic_meaning.meaning_score(text, group, sense)
    if meant is None:
        return worded >= float(learned["words"]["least"]) and topic_words.is_topic_named(text, group)
    both: dict[str, float] = learned["both"]
    if topic_words.is_english(text):
        kind = ""
    else:
        kind = " foreign"
    return both[f"words{kind}"] * worded + both[f"meaning{kind}"] * meant >= both[f"least{kind}"]


_OF_ONE = regex(
    r"(?:(?:what|where|how much|who|when) )?(?:my |our )?(?P<who>[\w-]+)(?:['’]s?)? (?P<what>[\w' -]{3,})",
    re.IGNORECASE,
    anchored=True,
)
_HE, _SHE = regex(r"\b(?:he|his|him)\b", re.IGNORECASE), regex(r"\b(?:she|her|hers)\b", re.IGNORECASE)
_MEN = frozenset(
    ["husband", "boyfriend", "father", "dad", "son", "brother", "uncle", "grandfather", "grandad", "nephew"]
)
_WOMEN = frozenset(["wife", "girlfriend", "mother", "mum", "mom", "daughter", "sister", "aunt", "grandmother", "niece"])


def _touches_persons_topic(text: str, topic: str, sense: Sense | None, of_label: bool) -> bool | None:
    """For a topic such as "my husband's debts": whether the text is about debts and about him. None if the topic is not
    of this kind."""
    whose = None
    if "'" in topic or "’" in topic or topic.startswith("wh"):
        whose = _OF_ONE.fullmatch(topic)
    meant = whose and (topics_named_in(whose["what"]) or _topics_by_words(whose["what"]))
    if not whose or not meant:
        return None
    who = whose["who"].lower()
    spoken = (who not in _WOMEN and _HE.search(text)) or (who not in _MEN and _SHE.search(text))
    if not spoken and stem(who) not in map(stem, tokens(text)):
        return False
    if of_label:
        return any(topic_words.is_labelled(text, group) for group in meant)
    return any(_of_group(text, group, sense) for group in meant)


_NAME = regex(r"\b[A-ZÀ-Þ][\w-]+")


def _own(text: str, topic: str, sense: Sense | None, *, of_label: bool = False) -> bool:
    found = _touches_persons_topic(text, topic, sense, of_label)
    if found is not None:
        return found
    wanted = _own_words(topic)
    said = _stems_of(text)
    like = _likeness(text, topic, sense)
    if wanted and all(_has(word, said.get(word[:_BEGINNING], ())) for word in wanted):
        return like is None or like >= ELSE or topic != topic.lower()
    names = [stem(word.lower()) for word in _NAME.findall(topic)]
    proper = [name for name in names if name not in _common()]
    if len(names) == len(wanted) and any(
        name in said.get(name[:_BEGINNING], ()) and (of_label or _capital(name, text)) for name in proper
    ):
        return True  # "Project Nightjar" is also called Nightjar; "the Tesla position" is not any Tesla
    return like is not None and like >= OWN


@lru_cache(maxsize=8)
def _stems_of(text: str) -> dict[str, set[str]]:
    """The stems of a text by their first letters, kept for the next topic."""
    found: dict[str, set[str]] = {}
    for one in set(map(stem, tokens(text))):
        found.setdefault(one[:_BEGINNING], set()).add(one)
    return found


_BEGINNING = 4
"""By so many letters the stems of a text are kept apart."""


def _likeness(text: str, topic: str, sense: Sense | None) -> float | None:
    if sense is None:
        return None
    one = sense.direction(text)
    if one is None:
        return None
    other = sense.direction(f"This is about {topic}.")
    if other is None:
        return None
    return float(one @ other)


@cache
def _common() -> frozenset[str]:
    return frozenset(map(stem, ["project", "team", "plan", "operation", "mission", "the", "position", "company"]))


_NAME_WITH_ENDING = regex(r"\b[A-ZÀ-Þ][\w'’-]+")


def _capital(name: str, text: str) -> bool:
    return any(stem(word.lower().removesuffix("'s")) == name for word in _NAME_WITH_ENDING.findall(text))


def _has(word: str, said: Collection[str]) -> bool:
    """Whether a word was said in any of its forms (divorce, divorced, divorcing). Another word that begins like it does
    not count (Tom, tomatoes)."""
    if word in said:
        return True
    return len(word) >= 5 and any(one.startswith(word[:-1]) and abs(len(one) - len(word)) <= 3 for one in said)
