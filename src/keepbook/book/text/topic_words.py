"""Scores how much the words of a text are about a group of topics: a small linear model over a few signals, without a
dependency.

A group has words of three strengths: `words` are nearly always about it, `loose` ones often about something else, and
several `hint` ones together are about it. Other signals are who is spoken of, whether the text tells a story or names a
thing, and the words of its frame ("my favourite", "told me"). `training/topics_fit.py` learned their weights.
"""

import json
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from keepbook.book.text.words import fold_text
from keepbook.patterns import regex

UNSPACED = regex(r"[぀-ヿ㐀-鿿฀-๿]")
"""Matches letters of scripts without spaces, in which a word is searched anywhere."""
_MARKS = regex("[\u0300-\u036f']+")
_WILL = regex(r"\bi'll\b")
_TOKEN = regex(r"[^\W_]+")
_PART = regex(r"[^\W_]+\*?|[*^]")
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "ß": "ss", "’": "'", "‘": "'"})
BEGINNING = "^"
"""A token before the first word, since lines of the book begin with a verb ("Lives in Bergen")."""
LONGEST = 2000
"""How many characters of a text are examined; callers pass a sentence."""


@cache
def topic_lists() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "topics.toml").read_text(encoding="utf-8"))


@cache
def weights() -> dict[str, Any]:
    """The weights that `training/topics_fit.py` has learned."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "topics.json").read_text(encoding="utf-8"))
    return found


class Lexicon:
    """A list of words, beginnings of words (with *) and phrases. Words of scripts without spaces are found anywhere."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words: set[str] = set()
        self._beginnings: set[str] = set()
        self._phrases: defaultdict[str, list[list[str]]] = defaultdict(list)
        self._anywhere: list[str] = []
        for word in words:
            if UNSPACED.search(word):
                self._anywhere.append(fold_text(word))
            else:
                self._add_spaced(_PART.findall(_without_accents(word)))
        self._shortest = min(map(len, self._beginnings), default=0)
        self._longest = max(map(len, self._beginnings), default=0)
        self._heads = {beginning[: self._shortest] for beginning in self._beginnings}

    def _add_spaced(self, parts: list[str]) -> None:
        if len(parts) > 1:
            self._phrases[parts[0]].append(parts)
        elif parts[0].endswith("*"):
            self._beginnings.add(parts[0][:-1])
        else:
            self._words.add(parts[0])

    def letters_known(self, word: str) -> int:
        """How many letters of a word of small letters are a word here, or the beginning of one."""
        if word in self._words or (word.endswith("s") and word[:-1] in self._words):
            return len(word)
        if word[: self._shortest] not in self._heads:
            return 0
        longest = min(len(word), self._longest)
        known = (end for end in range(longest, self._shortest - 1, -1) if word[:end] in self._beginnings)
        return next(known, 0)

    def words_in(self, said: "TokenizedText") -> set[str]:
        """The words of the list that a text has, each once."""
        found = {word for word in self._anywhere if word in said.folded}
        found |= self._words & said.places.keys()
        if self._beginnings:
            found |= self._beginnings & said.starts
        for form in self._phrases.keys() & said.places.keys():
            for phrase in self._phrases[form]:
                if any(_stands(phrase, said.tokens[at : at + len(phrase)]) for at in said.places[form]):
                    found.add(" ".join(phrase))
        return found


def _stands(phrase: Sequence[str], tokens: Sequence[str]) -> bool:
    if len(tokens) < len(phrase):
        return False
    inner = all(
        part == "*" or token == part or (part.endswith("*") and token.startswith(part[:-1]))
        for part, token in zip(phrase[1:-1], tokens[1:-1], strict=True)
    )
    last, token = phrase[-1], tokens[-1]
    return inner and (token in (last, last + "s") or (last.endswith("*") and token.startswith(last[:-1])))


class TokenizedText:
    """A text and its tokens, made ready to be held against many lists."""

    def __init__(self, folded: str, tokens: tuple[str, ...]) -> None:
        self.folded: str = folded
        self.tokens: tuple[str, ...] = tokens

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(fold_text(text), (BEGINNING, *_TOKEN.findall(_without_accents(text))))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each token stands. One that ends in s counts without it too."""
        found: dict[str, list[int]] = {}
        for at, token in enumerate(self.tokens):
            found.setdefault(token, []).append(at)
            if token.endswith("s"):
                found.setdefault(token[:-1], []).append(at)
        return found

    @cached_property
    def starts(self) -> set[str]:
        """All beginnings of tokens, and the tokens."""
        return {token[:end] for token in set(self.tokens) for end in range(1, len(token) + 1)}


def _without_accents(text: str) -> str:
    """A text without accents and apostrophes, as people type in haste."""
    said = _WILL.sub("i will", fold_text(text).translate(_LETTERS))  # or "I'll" would become "ill"
    return _MARKS.sub("", unicodedata.normalize("NFD", said))


class _Words(NamedTuple):
    sure: Lexicon
    loose: Lexicon
    hint: Lexicon
    beside: Lexicon


@cache
def _lexicon() -> dict[str, _Words]:
    rows = topic_lists()["group"].items()
    return {
        name: _Words(Lexicon(row["words"]), Lexicon(row["loose"]), Lexicon(row["hint"]), Lexicon(row["not"]))
        for name, row in rows
    }


@cache
def _context() -> dict[str, Lexicon]:
    return {name: Lexicon(words) for name, words in topic_lists()["context"].items()}


@lru_cache(maxsize=64)
def _read_text(text: str) -> tuple[TokenizedText, TokenizedText, dict[str, bool], dict[str, int]]:
    """A text as tokens, the same without names, the signals of its frame, and how many sure words of each group it
    has."""
    said, nameless = TokenizedText.of(text), TokenizedText.of(_nameless(text))
    around = {name: bool(words.words_in(said)) for name, words in _context().items()}
    around["asks"] = bool(_ASKS.search(text))
    around["thing"] = bool(_THING.match(text)) and not around["mine"]
    around["dense"] = bool(UNSPACED.search(text))
    around["foreign"] = not around["dense"] and _is_foreign(said.tokens)
    return said, nameless, around, {name: len(words.sure.words_in(nameless)) for name, words in _lexicon().items()}


def signals(text: str, group: str) -> dict[str, float]:
    """The signals of a text for a group by name, each 0 or a small number."""
    said, nameless, around, sure_of = _read_text(text[:LONGEST])
    words = _lexicon()[group]
    sures, looses, hints = sure_of[group], len(words.loose.words_in(nameless)), min(3, len(words.hint.words_in(said)))
    sure, loose, beside = sures > 0, looses > 0, bool(words.beside.words_in(said))
    elsewhere = min(2, max(count for name, count in sure_of.items() if name != group))
    given = {
        "sure": sure, "sure twice": sures > 1, "sure thrice": sures > 2,
        "loose": loose, "loose twice": looses > 1, "loose alone": loose and not sure,
        "hint": hints, "hint at all": hints > 0, "hint alone": 0 if sure else hints, "bare": not sure and not loose,
        "sure in a name": not sure and bool(words.sure.words_in(said)),
        "loose in a name": not loose and bool(words.loose.words_in(said)),
        "beside": beside, "sure beside": sure and beside,
        "elsewhere": elsewhere, "only elsewhere": 0 if sure else elsewhere,
        **around,
        **{f"sure {name}": sure and around[name] for name in ("told", "things", "thing", "named", "asks", "mine")},
        **{f"loose {name}": loose and around[name] for name in ("told", "things", "thing", "mine")},
        **{f"{name} {kind}": around[kind] and hit for kind in ("dense", "foreign")
           for name, hit in (("sure", sure), ("loose", loose))},
    }  # fmt: skip
    return {name: float(value) for name, value in given.items()}


def word_score(text: str, group: str) -> float:
    """How much the words of a text suggest a group; less than 0 if they speak against it."""
    learned = weights()["words"]
    frame = learned["frame"]
    by_signals = sum(learned["signals"].get(name, 0.0) * value for name, value in signals(text, group).items())
    by_frame = sum(frame.get(token, 0.0) for token in frame_words(text))
    return float(by_signals + learned["groups"][group] + learned["bias"] + by_frame)


def is_topic_named(text: str, group: str) -> bool:
    """Whether a text has any word of the group. Without one, its frame alone ("every morning") says nothing."""
    said, words = _read_text(text[:LONGEST])[0], _lexicon()[group]
    return any(kind.words_in(said) for kind in (words.sure, words.loose, words.hint))


def is_labelled(text: str, group: str) -> bool:
    """Whether a label, such as a tag, is about a group. Since there is no sentence that could mean something else, one
    word of the group is enough, or a label of nothing but hints."""
    said, words = _read_text(text[:LONGEST])[0], _lexicon()[group]
    if words.sure.words_in(said) or _names(group).words_in(said):
        return True
    if words.beside.words_in(said):
        return False
    told = [token for token in said.tokens[1:] if token not in _small_words()]
    hinted = sum(bool(words.hint.words_in(TokenizedText(token, (token,)))) for token in told)
    return bool(words.loose.words_in(said)) or 0 < len(told) <= hinted


def letters_of_sure(group: str, word: str) -> int:
    """How many letters of a word, alone and in lower case, nearly always mean that a text is about a group."""
    return max(_lexicon()[group].sure.letters_known(word), _names(group).letters_known(word))


@cache
def _names(group: str) -> Lexicon:
    spaced = (name for name in topic_lists()["group"][group]["names"] if not UNSPACED.search(name))
    return Lexicon((group, *spaced))


@cache
def _small_words() -> frozenset[str]:
    return frozenset(_without_accents(word) for words in topic_lists()["small"].values() for word in words)


def frame_words(text: str) -> frozenset[str]:
    return frozenset(_read_text(text[:LONGEST])[0].tokens) - {BEGINNING}


def is_english(text: str) -> bool:
    around = _read_text(text[:LONGEST])[2]
    return not around["dense"] and not around["foreign"]


_ASKS = regex(
    r"\?\s*$|^\W*(?:what|which|how|who|when|why|does|is there|could you|can you|wo|wie|was|donde|cual|hvor|hva)\b",
    re.IGNORECASE,
)
_THING = regex(
    r"^\W*(?:the|an?|this|that|these|those|its?|der|die|das|eine?|el|la|los|las|una?|det|den|en|et)\b", re.IGNORECASE
)


def _is_foreign(tokens: Sequence[str]) -> bool:
    small = topic_lists()["small"]
    english, others = frozenset(small["english"]), frozenset(small["others"])
    return sum(token in others for token in tokens) > sum(token in english for token in tokens)


_NAME = regex(
    r"(?<![.!?…:])(?<=[\w,&'’]\s)(?:The |La |El )?[A-ZÀ-Þ][a-zà-ÿ][\w'’-]*|^\W*[A-ZÀ-Þ][a-zà-ÿ]+(?= [A-ZÀ-Þ][a-zà-ÿ])"
)
_CAPITALS = regex(r"\b(?:ich|mein\w*|und|wir|ist|hat|habe|der|die|das|nicht)\b", re.IGNORECASE)
"""German writes every noun with a capital."""


@cache
def _proper() -> frozenset[str]:
    """Words that are written with a capital and are no names."""
    return frozenset(topic_lists()["capital"])


def _nameless(text: str) -> str:
    """A text without names: somebody called Faith, or a Brother printer, has nothing to do with faith or family."""
    if _CAPITALS.search(text) or text.istitle():
        return text
    return _NAME.sub(lambda one: one[0] if one[0].lower().split("'")[0] in _proper() else " ", text)
