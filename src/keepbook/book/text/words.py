"""Splits a text into words: the analyser behind recall, near-duplicate hints and search in lists.

It is our own, so that a text gives the same words on every machine and engine. Case, accents, short forms and the
spelling of numbers are folded (Anna's = anna, don't = do not, 48,000 = 48 000 = 48k = 48000, 5th = 5). Scripts without
spaces between words are cut into overlapping pairs of characters. `tokens` are all words of a text; `terms` are those
that the index stores, stemmed and without stop words.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from keepbook.book.text import contrast
from keepbook.patterns import regex

NEAR = 0.8
"""The share of common words from which two texts are near-duplicates."""
COMPOUND, LONGEST, HEAD = 8, 40, 4
"""A word of 8 to 40 letters may be a compound; its last part has at least 4."""
ENDINGS = 24
"""How many words of a question are looked for in compounds."""
ENGLISH = 0.25
"""A text with a greater share of English stop words than this is in English."""
FEW = 3
"""A text with fewer content words than this keeps its stop words, so that it stays findable."""


def fold_text(text: str) -> str:
    """The form in which contents are compared for being identical: case and spaces do not count."""
    return " ".join(_canonical(text).split())


def tokens(text: str) -> list[str]:
    """Every word and number, folded, in order."""
    return list(_tokens(text))


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    """`tokens`, cached: they are needed several times for each write (terms, numbers, polarity)."""
    text = _normalise_text(text)
    if text.isascii() and not _DIGIT.search(text):
        return tuple(_WORD.findall(text))  # quicker, and enough for most texts
    found: list[str] = []
    for match in (_TOKEN_IN_ASCII if text.isascii() else _TOKEN).finditer(text):
        if match.lastgroup == "word":
            found.append(match[0])
        elif match.lastgroup == "plan":
            found.append("401k")
        elif match.lastgroup == "unspaced":
            if len(match[0]) > 1:
                found += map("".join, pairwise(match[0]))
            else:
                found += match[0]
        else:
            found += _number(match["number"], match["scale"] or match["money_scale"])
    return tuple(found)


def terms(text: str) -> list[str]:
    """The terms that the index stores: all occurrences of content words, stemmed; or of all words, if those are few."""
    words = tokens(text)
    content = _content(words)
    return [stem(word) for word in (content if len(content) >= FEW else words)]


def query_terms(text: str) -> list[str]:
    """The terms that a question is about, each once. Phrases that only ask are left out, unless nothing else is
    left."""
    words = tokens(text)
    asked = tokens(_ASKING.sub(" ", _normalise_text(text)))
    content = _content(asked) or _content(words) or words
    return list(dict.fromkeys(map(stem, content)))


def compounds(text: str) -> list[str]:
    """The words of a text, stemmed, that may be the end of other words: in most languages but English a word is made of
    several (Krankenversicherung), and asked for by the last of them."""
    words = tokens(text)
    if _in_english(words):
        return []
    # In a script without spaces, the last pair of each run: all other characters begin a pair and are found by that.
    lasts = [pair for pair, then in pairwise([*words, ""]) if _PAIR.fullmatch(pair) and pair[-1:] != then[:1]]
    return [stem(word) for word in dict.fromkeys(words) if len(word) >= COMPOUND and word.isalpha()] + lasts


def endings(question: str) -> list[str]:
    """The words of a question, stemmed, that may be a compound or the end of one; none if it is in English."""
    words = tokens(question)
    if _in_english(words):
        return []
    found = [
        term
        for term in query_terms(question)
        if (HEAD <= len(term) <= LONGEST and term.isalpha()) or (not term.isascii() and _CHARACTER.fullmatch(term))
    ]
    return found[:ENDINGS]


def compound_heads(word: str) -> list[str]:
    """The possible last parts of a compound, the longest first."""
    may_be_compound = COMPOUND <= len(word) <= LONGEST and word.isalpha()
    if may_be_compound:
        return [word[at:] for at in range(3, len(word) - HEAD + 1)]
    return []


def _in_english(words: list[str]) -> bool:
    return sum(word in STOP_WORDS for word in words) > ENGLISH * len(words)


def _content(words: list[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The English stem of a word. Numbers and words with other letters than a to z are returned as they are."""
    if not (word.isascii() and word.isalpha()):
        return word
    # Imported late: a command that only lists memories needs no stems.
    from keepbook.book.text.indexes.stemmers.english_stemmer import EnglishStemmer

    # Not snowballstemmer.stemmer(), which uses PyStemmer, with other rules, if that is installed. A stemmer holds the
    # word that it works on, so that it is not thread-safe: hence a new one each time.
    stemmed: str = EnglishStemmer().stemWord(word)
    return stemmed


@lru_cache(maxsize=131_072)  # statements are compared with every line of a book
def content_words(text: str) -> tuple[str, ...]:
    """The words that say what a text is about, stemmed, in order."""
    found = [word for word in tokens(text.replace("-", " ")) if word not in STOP_WORDS and word not in _FAINT]
    return tuple(dict.fromkeys(stem(word) for word in found if len(word) > 1 or word.isdecimal()))


def sharing(text: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines with at least half of a text's content words: only these can be nearly the same."""
    words = set(content_words(text))
    return (line for line in lines if 2 * len(words.intersection(content_words(line))) >= len(words))


def numbers(text: str) -> frozenset[str]:
    """The numbers a text names, in digits or in words."""
    found = (NUMBER_WORDS.get(word, word) for word in tokens(text))
    return frozenset(word for word in found if word[0].isdecimal())


@lru_cache(maxsize=4096)  # in an open chat all lines are compared with each other at each turn
def polarity(text: str) -> bool:
    """Whether the text denies. Two denials of each other cancel out: "does not avoid", "no longer hates"."""
    words = tokens(text)
    if _MAY_DENY.isdisjoint(words):  # most texts
        return False
    open_at: list[int] = []
    for at, word in enumerate(words):
        if tuple(words[at : at + 2]) in _NO_DENIAL:
            continue
        if word in _AVERSIONS and open_at and at - open_at[-1] <= 2:
            open_at.pop()
        elif word in _AVERSIONS or word in DENIALS or _says_used_to(words, at):
            open_at.append(at)
    return bool(open_at)


def _says_used_to(words: list[str], at: int) -> bool:
    """Whether "used to" at this place denies: it does in "he used to smoke", not in "he is used to smoke"."""
    return words[at : at + 2] == ["used", "to"] and not (at and words[at - 1] in _BEING)


def jaccard(a: Iterable[str], b: Iterable[str]) -> float:
    """The share of their different words that two texts have in common; 0 where there are no words."""
    one, other = set(a), set(b)
    if one and other:
        return len(one & other) / len(one | other)
    return 0.0


def near_duplicate(a: str, b: str) -> bool:
    """Whether two texts have nearly the same words about the same person, the same numbers, and are not opposites."""
    if jaccard(tokens(a), tokens(b)) < NEAR or numbers(a) != numbers(b) or polarity(a) != polarity(b):
        return False
    if _is_turned_round(tokens(a), tokens(b)):
        return False
    return not (_is_of_another(tokens(a), tokens(b)) or _is_of_another(tokens(b), tokens(a)))


def _is_turned_round(one: list[str], other: list[str]) -> bool:
    """Whether one text says less where the other says more, or compares the same things the other way round."""
    degree, other_degree = contrast.degrees(one), contrast.degrees(other)
    if degree and other_degree and degree != other_degree:
        return True
    return any(
        contrast.are_sides_swapped(sides(one), sides(other)) for sides in (contrast.compared_sides, contrast.route)
    )


_SUBJECT_WORDS = 2
"""How many words the name of somebody else has at most."""


def _is_of_another(longer: list[str], shorter: list[str]) -> bool:
    """Whether the longer text says of somebody else what the shorter one says of the person: "Anna is allergic to nuts"
    and "is allergic to nuts"."""
    added = len(longer) - len(shorter)
    if not 0 < added <= _SUBJECT_WORDS or longer[added:] != shorter:
        return False
    return not _OF_THE_SAME.issuperset(longer[:added])


def close_terms(term: str, vocabulary: Iterable[str]) -> list[str]:
    """Words of the vocabulary that this word may be a typo of, the closest first.

    An error is a letter wrong, missing or too many, or two swapped. One is forgiven from four letters on, two from
    eight on; numbers are never guessed.
    """
    if not may_be_typo(term):
        return []
    most = 1 if len(term) < 8 else 2
    shortest, longest, letters = len(term) - most, len(term) + most, frozenset(term)
    # An error removes at most one letter and adds at most one. These two cheap tests rule out most words before their
    # distance is computed.
    likely = [
        word
        for word in vocabulary
        if shortest <= len(word) <= longest
        and len(letters.difference(word)) <= most
        and len(set(word).difference(letters)) <= most
    ]
    ranked = sorted((_distance(term, word, most), word) for word in set(likely))
    return [word for away, word in ranked if 0 < away <= most]


def may_be_typo(term: str) -> bool:
    """Whether this word may be a typo of another at all."""
    return len(term) >= 4 and not any(map(str.isdecimal, term))


def _distance(a: str, b: str, most: int) -> int:
    """The edit distance with swaps (optimal string alignment), computed near the diagonal only. If it is more than
    `most`, `most + 1` is returned."""
    above: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        older, above, row = above, row, [i] + [most + 1] * len(b)
        for j in range(max(1, i - most), min(len(b), i + most) + 1):
            row[j] = min(above[j - 1] + (letter != b[j - 1]), above[j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == b[j - 1]:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > most:
            break
    if min(row) <= most:
        return row[-1]
    return most + 1


def _canonical(text: str) -> str:
    if text.isascii():
        return text.lower()
    # Folding case can undo the normal form, and normalising can undo the folding; after two rounds both hold.
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return text


def _normalise_text(text: str) -> str:
    """Lower case, no accents, ASCII digits, short forms written out: ready to be cut into words."""
    if not text.isascii():
        text = _canonical(text.translate(_APOSTROPHES))
        text = unicodedata.normalize("NFD", text).translate(_LETTERS)
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
        text = _OTHER_DIGITS.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = text.lower()
    if "nt" in text or "n't" in text:
        text = _NOT.sub(lambda found: _IRREGULAR.get(found[1], found[1]) + " not", text)
    if "'" in text:
        text = _SHORT_FORM.sub(lambda found: _LONG_FORMS[found[1]], text)
        text = _ELISION.sub(" ", text).replace("'", "")
    return text


_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ´＇", "'"))
# Marks that are optional in writing: on Latin, Greek and Cyrillic letters, Hebrew points, Arabic short vowels.
_ACCENTS = regex("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]+")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ʼ": "'"}
    | dict.fromkeys("\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff")  # invisible: they would cut words in two
)
_OTHER_DIGITS = regex(r"(?![0-9])\d")
# Also as typed in haste: dont, cant, wont.
_NOT = regex(r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must|need|ca|wo|ai)n'?t\b")
_IRREGULAR = {"ca": "can", "wo": "will", "ai": "is"}
_SHORT_FORM = regex(r"'(s|d|m|re|ve|ll)\b")
_LONG_FORMS = {"s": "", "d": "", "m": " am", "re": " are", "ve": " have", "ll": " will"}
_ELISION = regex(r"\b(?:[djlmnst]|qu)'(?=\w)")  # l'eau

_SCALES = {
    "k": 3, "thousand": 3, "tusen": 3, "tausend": 3, "million": 6, "millions": 6, "millionen": 6,
    "millioner": 6, "millones": 6, "mio": 6, "mn": 6, "m": 6, "billion": 9, "billions": 9, "bn": 9, "mrd": 9,
}  # fmt: skip
# Letters of scripts written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han; and Hangul, whose
# words carry their particles along. Signs: marks that belong to a word, mostly Indic vowels, but no letters to `re`.
_UNSPACED = (
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e81-\u0edf\u0f00-\u0fbc\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIGNS = "\u0653-\u065f\u0900-\u0963\u0971-\u0df3"
_FIGURES = r"""
    (?P<plan> 401[ ]?\(?k\b\)? )
  | (?P<money> [$€£¥][ ]? )?
    (?P<number> [0-9]{1,3} (?:[ ][0-9]{3})+ (?![0-9]) (?:[.,][0-9]{1,2} (?![0-9]))? | [0-9]+ (?:[.,][0-9]+)* )
    (?: [ ]? (?P<scale> SCALES )\b | (?(money)[ ]?(?P<money_scale> m )\b | (?!) ) | (?:st|nd|rd|th)\b )?
""".replace(
    "SCALES",
    "|".join(sorted(_SCALES.keys() - {"m"}, key=len, reverse=True)),  # 5m is metres, unless it is money
)
_TOKEN = regex(
    f"{_FIGURES} | (?P<unspaced> [{_UNSPACED}]+ ) | (?P<word> (?: (?![{_UNSPACED}])[^\\W_] | [{_SIGNS}] )+ )",
    re.VERBOSE,
)
_TOKEN_IN_ASCII = regex(f"(?P<word> [a-z][a-z0-9]* ) | {_FIGURES}", re.VERBOSE)  # most begin with a letter
_CHARACTER, _PAIR = regex(f"[{_UNSPACED}]"), regex(f"[{_UNSPACED}]{{2}}")
_WORD = regex("[a-z]+")
_DIGIT = regex("[0-9]")


_NUMBER_MARK = regex("[., ]")
"""What may stand between the digits of a number."""


def _number(written: str, scale: str | None) -> list[str]:
    """The plain form of a written number; several numbers if its marks do not make it one (a date, an address)."""
    if not scale and written.isdecimal():  # most of them
        return [_short(written)]
    groups, marks = _NUMBER_MARK.split(written), _NUMBER_MARK.findall(written)
    fraction = ""
    # A single point divides a fraction (3.125), a single comma only if no three digits follow (3,5 but 48,000).
    if len(set(marks)) != 1 or marks == ["."] or not _are_thousands(groups):
        if marks and (marks[-1] in marks[:-1] or len(set(marks)) > 2 or not _are_thousands(groups[:-1])):
            return [_short(group) for group in groups]
        if marks:
            fraction = groups.pop().rstrip("0")
    whole = "".join(groups)
    if scale:
        zeros = _SCALES[scale]
        whole, fraction = whole + fraction[:zeros].ljust(zeros, "0"), fraction[zeros:]
        whole = whole.lstrip("0") or "0"
    return [f"{_short(whole)}.{fraction}" if fraction else _short(whole)]


def _are_thousands(groups: list[str]) -> bool:
    first, *others = groups
    return not others or (len(first) <= 3 and first[0] != "0" and all(len(group) == 3 for group in others))


def _short(digits: str) -> str:
    """The digits without leading zeros, up to two: 09 is 9, as in a date or an hour, but 007 stays."""
    if len(digits) <= 2:
        return digits.lstrip("0") or "0"
    return digits


def word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


STOP_WORDS = word_set("""
    a about after again all also am an and any are as at be because been before being but by can could did do
    does doing down during each for from had has have having he her here hers herself him himself his how i if
    in into is it its itself just let me more most my myself no nor not now of off on once only or other our ours
    ourselves out over own please same she should so some such than that the their theirs them themselves then
    there these they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your yours yourself yourselves
""")
_FAINT = word_set("""
    thing things stuff bit part fact facts info information detail details matter business topic rule rules entry note
    memory said told mentioned everything anything both your mine it's thats one ones bloody damn old new current figure
    amount pls user whole story name called got get im ive regarding concerning notes book file record still always yes
    ok ich bin gegen auch jeg mot ogsa yo soy tambien je suis aux aussi
""")
"""Words that are said of any matter, so that they name none."""
_OF_THE_SAME = STOP_WORDS | {"user", "person", "now", "also", "currently", "still", "really"}
_ASKING = regex(
    r"""\b(?:
    (?:can|could|would|will)[ ]you[ ](?:please[ ])?(?:tell|remind|show|give)[ ]me
  | (?:tell|remind|show)[ ](?:me|us)
  | do[ ]you[ ](?:still[ ]|even[ ]|happen[ ]to[ ])?(?:know|remember|recall)
  | (?:what|when|where|did|do|have|had)(?:[ ](?:did|do|have|had))?[ ]i[ ](?:ever[ ]|already[ ])?
      (?:say|said|tell|told|mention|mentioned)(?:[ ](?:you|to[ ]you))?
  | what[ ](?:do|did)[ ](?:you|we)[ ](?:know|remember|recall|say|have[ ]on)
  | i[ ](?:want|need|would[ ]like|like)[ ]to[ ]know
  | is[ ]there[ ](?:anything|something)
    )\b""",
    re.VERBOSE,
)

NUMBER_WORDS = {
    word: digits
    for digits, said in {
        "2": "two zwei dos", "3": "three drei tres tre", "4": "four vier cuatro", "5": "five funf cinco fem",
        "6": "six sechs seis seks", "7": "seven sieben siete", "8": "eight acht ocho", "9": "nine neun nueve",
        "10": "ten zehn diez", "11": "eleven elf", "12": "twelve dozen zwolf doce", "13": "thirteen",
        "14": "fourteen", "15": "fifteen", "16": "sixteen", "17": "seventeen", "18": "eighteen",
        "19": "nineteen", "20": "twenty zwanzig veinte", "30": "thirty", "40": "forty", "50": "fifty",
        "60": "sixty", "70": "seventy", "80": "eighty", "90": "ninety", "100": "hundred hundert cien hundre",
    }.items()
    for word in said.split()
}  # fmt: skip
DENIALS = word_set("""
    no not never nor neither none nobody nothing nowhere cannot
    nunca jamas tampoco nada nadie ningun ninguna ninguno
    nicht kein keine keinen keinem keiner keines nie niemals nichts niemand
    ikke ikkje aldri ingen inga ingenting
    pas jamais rien aucun aucune
""")
_AVERSIONS = word_set("""
    without stop stops stopped stopping quit quits quitting avoid avoids avoided avoiding dislike dislikes
    disliked hate hates hated hating loathe loathes detest detests refuse refuses refused refusing lack lacks
    sin odia odio odian evita evito evitan dejo dejado
    ohne hasst hasse hassen vermeidet vermeide vermeiden meidet meide aufgehort
    uten hater hatet unngar unnga sluttet slutta
""")
_NO_DENIAL = {
    ("not", "only"), ("not", "just"), ("no", "doubt"), ("no", "matter"), ("no", "problem"), ("no", "wonder"),
    ("nothing", "but"), ("never", "mind"),
}  # fmt: skip
_MAY_DENY = DENIALS | _AVERSIONS | {"used"}
_BEING = word_set("am is are was were be been being get gets got getting")
