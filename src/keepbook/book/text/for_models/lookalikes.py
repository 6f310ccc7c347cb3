"""A text as a reader takes it who does not look at code points: a Cyrillic letter inside a Latin word passes for Latin.

The table has the letters that Unicode's list of confusables (UTS 39) takes for one Latin letter, of the scripts that
keyboards of our languages stand beside: Cyrillic, Greek, Armenian and rare Latin ones. That list takes a capital I for
an l; here it is an i. Wide, styled and joined letters are folded by Unicode's compatibility forms. A digit or sign
inside a word passes for a letter too, single letters with a gap between each two for a word, and so does a word with
doubled letters or one gap.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from keepbook.patterns import regex

LOOKALIKES = {
    "a": "\u0251\u0391\u03b1\u0410\u0430",
    "b": "\u0184\u0392\u0412\u042c\ua7b4",
    "c": "\u03f2\u03f9\u0421\u0441\u1d04",
    "d": "\u0501",
    "e": "\u0395\u0415\u0435\u04bd\uab32",
    "f": "\u03dc\u0584\u1e9d\ua798\ua799\uab35",
    "g": "\u018d\u0261\u050c\u0581\u1d83",
    "h": "\u0397\u041d\u04bb\u0570",
    "i": "\u0131\u0196\u0269\u026a\u0399\u03b9\u0406\u0456\u04c0\u04cf\u1fbe\ua647",
    "j": "\u037f\u03f3\u0408\u0458\ua7b2",
    "k": "\u039a\u041a",
    "l": "\u01c0",
    "m": "\u039c\u03fa\u041c",
    "n": "\u039d\u0578\u057c",
    "o": "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u1d0f\u1d11\uab3d",
    "p": "\u03a1\u03c1\u03f1\u0420\u0440",
    "q": "\u051b\u0563\u0566",
    "r": "\u01a6\u0433\u1d26\uab47\uab48",
    "s": "\u01bd\u0405\u0455\u054f\ua731",
    "t": "\u03a4\u0422",
    "u": "\u028b\u03c5\u054d\u057d\u1d1c\ua79f\uab4e\uab52",
    "v": "\u03bd\u0474\u0475\u1d20",
    "w": "\u026f\u0461\u051c\u051d\u0561\u1d21",
    "x": "\u03a7\u0425\u0445\ua7b3",
    "y": "\u0263\u028f\u03a5\u03b3\u03d2\u0423\u0443\u04ae\u04af\u1d8c\u1eff\uab5a",
    "z": "\u0396\u1d22",
}

_NAMED = regex(r"(?:SMALL CAPITAL|(?:SQUARED|CIRCLED) LATIN CAPITAL LETTER|INDICATOR SYMBOL LETTER) ([A-Z])$")
"""How Unicode names a letter that is a small capital, or stands in a box."""
_AS_LATIN = str.maketrans({sign: latin for latin, signs in LOOKALIKES.items() for sign in signs})
_WORD = regex(r"[^\W\d_]+")
_ANOTHER_SCRIPT = regex(r"[\u0370-\u058f]")


def as_latin(text: str) -> str:
    """The text with every word of look-alikes as the Latin word that it passes for. Words that have a letter of their
    own script beside stay as they are."""
    if text.isascii():
        return text
    plain = "".join(map(_plain_letter, unicodedata.normalize("NFKC", text)))
    return _WORD.sub(lambda word: _word_as_latin(word[0]), plain)


@lru_cache(maxsize=4096)
def _plain_letter(sign: str) -> str:
    """A small capital, or a letter in a box, as the letter that it is."""
    named = _NAMED.search(unicodedata.name(sign, ""))
    if named is None:
        return sign
    return named[1].lower()


def _word_as_latin(word: str) -> str:
    latin = word.translate(_AS_LATIN)
    if _ANOTHER_SCRIPT.search(latin):
        return word
    return latin


_SIGNS = "@$€!|"
_AS_LETTERS = str.maketrans("034578@$€", "oeastbase")
_STROKE = str.maketrans("1!|", "lll"), str.maketrans("1!|", "iii")
_WITH_SIGNS = regex(rf"(?:[^\W_]|[{_SIGNS}])+")
_WORD_OR_SIGN = regex(rf"[^\W_]+|[{_SIGNS}]")
_MAY_HIDE = regex(
    rf"[^\W\d_][\d{_SIGNS}]|[\d{_SIGNS}][^\W\d_]"
    r"|(?<![^\W_])[^\W_][\W_]{1,3}[^\W_][\W_]{1,3}[^\W_](?![^\W_])"
)
_DOUBLED = regex(r"([^\W\d_])\1")
_RUN = regex(r"([^\W\d_])\1*")
_HIDDEN, _SIDE, _MOST_DOUBLED = 6, 2, 8
"""A shorter reading, or one that shares fewer letters with what stands behind the gap, is too often another word."""
_LEAST, _WIDEST = 4, 3
"""A disguised word has at least 4 letters, since shorter ones with a digit are sizes or models ("5k", "mp3"); a gap
between its letters has at most 3 characters, since a wider one separates words."""


def disguised_words(text: str) -> list[str]:
    """The words that a text spells with gaps, or with signs and digits for letters, as they are read: "s a l a r y" and
    "5alary" are salary. `text` has its look-alikes read already."""
    if not _MAY_HIDE.search(text):
        return []
    spelled = [word for _, _, word in _spelled_words(text)]
    signed = [word for word in [*spelled, *_WITH_SIGNS.findall(text)] if _is_disguised(word)]
    read = [one for word in signed for one in (word.strip(f"{_SIGNS}0123456789"), *_readings(word))]
    return list(dict.fromkeys([*spelled, *read]))


class HiddenWord(NamedTuple):
    """What a reader may see in words, in small letters as they stand; a word that is known counts from so many letters
    of it."""

    reading: str
    stands: tuple[str, ...]
    least: int


def hidden_words(text: str) -> Iterator[HiddenWord]:
    """What a reader may see in words with letters doubled, or with one gap. Most such readings are no words:
    "diabbetes" and "diab etes" have one, "all over" has none."""
    words = _WORD.findall(text.lower())
    for word in dict.fromkeys(words):
        if _DOUBLED.search(word):
            found = (reading for reading in _undoubled(word) if len(reading) >= _HIDDEN)
            yield from (HiddenWord(reading, (word,), 1) for reading in found)
    for one, other in dict.fromkeys(pairwise(words)):
        if len(one) > _SIDE and len(other) >= _SIDE and len(one) + len(other) >= _HIDDEN:
            yield HiddenWord(one + other, (one, other), len(one) + _SIDE)


def _undoubled(word: str) -> set[str]:
    """The word without its doubled letters; and with any one of them, as it may be written so."""
    runs = [run[0] for run in _RUN.finditer(word)]
    doubled = [nth for nth, run in enumerate(runs) if len(run) > 1]
    bare = [run[0] for run in runs]
    kept = ("".join([*bare[:nth], bare[nth] * 2, *bare[nth + 1 :]]) for nth in doubled[:_MOST_DOUBLED])
    return {"".join(bare), *kept} - {word}


def undisguised(text: str) -> list[str]:
    """The text with such words as they are read, in each way there is; none where it has no such word."""
    if not _MAY_HIDE.search(text):
        return []
    joined, end = "", 0
    for begin, stop, word in _spelled_words(text):
        joined, end = f"{joined}{text[end:begin]}{word}", stop
    joined += text[end:]
    read = (_WITH_SIGNS.sub(partial(_read_word, nth), joined) for nth in range(len(_STROKE)))
    return [one for one in dict.fromkeys([joined, *read]) if one != text]


def _read_word(nth: int, word: re.Match[str]) -> str:
    if _is_disguised(word[0]):
        return _readings(word[0])[nth]
    return word[0]


def _spelled_words(text: str) -> list[tuple[int, int, str]]:
    """Three or more single letters with the same gap between each two: from, to, and joined."""
    found: list[tuple[int, int, str]] = []
    begin, run, gap, end = 0, "", "", 0
    for piece in _WORD_OR_SIGN.finditer(text):
        between = text[end : piece.start()]
        goes_on = len(run) == 1 or between == gap
        if len(piece[0]) > 1 or not run or not goes_on or not 0 < len(between) <= _WIDEST:
            found.append((begin, end, run))
            begin, run = piece.start(), ""
        if len(piece[0]) == 1:
            run, gap = run + piece[0], between
        end = piece.end()
    return [one for one in [*found, (begin, end, run)] if len(one[2]) > 2]


def _is_disguised(word: str) -> bool:
    """Whether signs or digits stand for some of a word's letters. Numbers and words of few letters do not count."""
    letters = sum(sign.isalpha() for sign in word)
    return len(word) >= _LEAST and len(word) <= 2 * letters < 2 * len(word)


def _readings(word: str) -> list[str]:
    """The words that a word with signs or digits may be read as: a stroke may be an l or an i."""
    bare = word.strip("!|")
    return [bare.translate(stroke).translate(_AS_LETTERS) for stroke in _STROKE]
