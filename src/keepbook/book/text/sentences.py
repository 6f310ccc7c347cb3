"""Finds the sentences of a text: one loop over its letters, in any language.

A line break ends a sentence, and so do `.`, `!` and `?` before a blank. A dot inside a name, number, address or version
ends nothing, nor does one behind an abbreviation, unless the abbreviation can end a sentence ("in the U.S.") and a word
that begins one follows ("My editor"). Items of a list are sentences of their own, also those on one line. The time
grows with the length of the text: nothing is read twice but a word on either side of a mark.
"""

from itertools import pairwise
from typing import NamedTuple

Offsets = tuple[int, int]

_STOPS = frozenset(".!?…‽")
_WIDE_STOPS = frozenset("。！？｡")
_CLOSERS = frozenset("\"'”’»)]}*_」』）")
_CLOSING_QUOTES = frozenset("\"'”’»」』")
_BULLETS = frozenset("•◦▪‣")
_LONGEST_WORD = 24
"""How many letters of a word beside a mark are examined."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NEVER_LAST = _words("""
    dr mr mrs ms mx prof rev hon gen col sgt capt lt gov sen rep st mt ft vs cf approx ca e.g i.e viz esp incl
    hr fr frl bzw z.b d.h u.a o.ä evtl ggf inkl zzgl vgl sog geb
    sr sra srta dra ud uds p.ej ej
    f.eks bl.a dvs ev kl
    m mm mme mlle mgr c.-à-d p.ex
""")
"""Abbreviations that never end a sentence, since a name or an example follows."""
_BEFORE_NUMBER = _words(
    "no nr nos art vol p pp s fig sec ch tel ext núm num pág bd kap abs jan feb apr jun jul aug sep sept oct nov dec"
)
"""Abbreviations if a number follows; else they may be words or end a sentence ("no.", "in Dec.")."""
_MAY_BE_LAST = _words("etc inc ltd co corp jr bros dept univ ave blvd rd usw osv mfl plc gmbh")
"""Abbreviations that can end a sentence; so can those of single letters ("U.S.", "p.m.", "Ph.D.")."""
_BEGINNERS = _words("""
    i i'm i've i'd i'll my mine we we're we've our he he's she she's it it's its they they're their his you you're your
    the a an this that these those there here and but or so also then now not no yes please because since when while
    if unless what where who why how which in on at for from to with after before both all some most every do does did
    is are was were can could will would should have has had let let's thanks also anyway however besides
    ich mein meine wir unser er sie es das der die und aber
    yo mi mis nosotros él ella es el la los las y pero
    jeg min mitt mine vi vår han hun det den og men
    je j'ai mon ma mes nous il elle le les et mais c'est
""")
"""Words that begin a sentence where they stand after an abbreviation; a name that goes on has none of them."""
_OWN_BEGINNERS = _words("i i'm im i've ive i'd my we we're our ich mein meine yo mi jeg min je mon")
"""Those that also count in small letters, where a text has no others."""
_MONTHS = _words("""
    januar februar märz april mai juni juli august september oktober november dezember
    mars desember januari klasse klassen stock etage trinn
""")
"""What follows a number with a dot that counts ("am 5. Mai", "i 3. klasse")."""


class _Mark(NamedTuple):
    """A run of stops: where it begins, where it and what closes with it end, and whether a quotation closes there."""

    start: int
    end: int
    in_quotes: bool


def sentences(text: str) -> list[Offsets]:
    """The sentences as (start, end). Each includes the blanks behind it, so that together they are the whole text."""
    edges = [0, *_cuts(text), len(text)]
    if text:
        return list(pairwise(edges))
    return []


def _cuts(text: str) -> list[int]:
    """The places after 0 where a sentence begins."""
    has_capitals = text != text.lower()
    found: list[int] = []
    item = _item_number(text, 0)
    at, begin, length = 0, 0, len(text)
    while at < length:
        letter = text[at]
        if letter == "\n":
            cut = _past_blanks(text, at)
            item = _item_number(text, cut)
        elif letter in _STOPS or letter in _WIDE_STOPS:
            mark = _mark(text, at)
            at = mark.end - 1
            cut = _after_stop(text, mark, begin, has_capitals)
        elif letter in _BULLETS and text[at - 1 : at].isspace():
            cut = at
        elif item and letter.isdecimal() and _begins_item(text, at, item + 1):
            item += 1
            cut = at
        elif _is_emoji(letter):
            after = _past_emoji(text, at)
            if _begins_after_emoji(text, after):
                cut = after
            else:
                cut = 0
            at = after - 1
        else:
            at += 1
            continue
        if begin < cut < length and text[begin:cut].strip():
            found.append(cut)
            begin = cut
        at = max(at + 1, cut)
    return found


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _mark(text: str, at: int) -> _Mark:
    end = at
    while end < len(text) and (text[end] in _STOPS or text[end] in _WIDE_STOPS):
        end += 1
    stops = end
    while end < len(text) and text[end] in _CLOSERS:
        end += 1
    return _Mark(at, end, bool(_CLOSING_QUOTES.intersection(text[stops:end])))


def _after_stop(text: str, mark: _Mark, begin: int, has_capitals: bool) -> int:
    """Where the next sentence begins, if one ends with this mark; else 0."""
    if text[mark.start] in _WIDE_STOPS:
        return _past_emoji(text, mark.end)
    if mark.end < len(text) and not text[mark.end].isspace() and not _is_emoji(text[mark.end]):
        return 0  # inside a name, a number, an address
    next_ = _past_blanks(text, mark.end)
    if "\n" in text[mark.end : next_] or next_ == len(text):
        return next_
    following = _word_from(text, next_)
    stops = text[mark.start : mark.end]
    if mark.in_quotes and following[:1].islower() and has_capitals:
        return 0  # “Really?” she said
    if stops.startswith(("..", "…")) and not stops.rstrip("".join(_CLOSERS)).endswith(("!", "?")):
        goes_on = following[:1].islower() or not following
        if goes_on:
            return 0
        return next_
    if stops[0] == "." and not _dot_ends(text, mark, following, has_capitals, begin):
        return 0
    return _past_emoji(text, next_)


def _dot_ends(text: str, mark: _Mark, following: str, has_capitals: bool, begin: int) -> bool:
    before = _word_before(text, mark.start)
    word = before.lower()
    if _is_marker(text, mark.start, before, begin):
        return False
    if before.isdecimal():
        return following.lower() not in _MONTHS or len(before) > 2
    if word in _NEVER_LAST and not (word in _BEFORE_NUMBER and before.islower()):
        return False
    if word in _BEFORE_NUMBER:
        return not following[:1].isdecimal()
    if text[mark.start - len(before) - 1 : mark.start + 2] == f"({before}.)":
        return False  # "Maj. (ret.) Ferreira"
    initials = _is_initials(word) or _is_clipped(before)
    if initials or word in _MAY_BE_LAST:
        return _begins_sentence(following, has_capitals, strict=initials and word not in ("a.m", "p.m"))
    return True


def is_abbreviation(word: str) -> bool:
    """Whether a dot behind this word belongs to it: "Dr", "Inc", "U.S", a single capital."""
    plain = word.lower()
    return plain in _NEVER_LAST or plain in _MAY_BE_LAST or (_is_initials(plain) and ("." in word or word.isupper()))


def _is_initials(word: str) -> bool:
    """A letter, or several with dots between them: "K", "U.S", "Ph.D"."""
    *parts, last = word.split(".")
    return len(last) == 1 and last.isalpha() and all(1 <= len(part) <= 2 and part.isalpha() for part in parts)


def _is_clipped(word: str) -> bool:
    """Whether a short word has no vowel, so that it is an abbreviation ("Gt", "vgs"). Names in capitals do not count
    ("BMW")."""
    return 1 < len(word) <= 4 and word.isalpha() and word[1:].islower() and _VOWELS.isdisjoint(word.lower())


_VOWELS = frozenset("aeiouyáàâäãåæéèêëíìîïóòôöõøúùûüýœ")


def _begins_sentence(word: str, has_capitals: bool, strict: bool) -> bool:
    """Whether the word behind an abbreviation begins a sentence; `strict`: a name may go on there ("U.S. Army")."""
    plain = word.lower().replace("’", "'")
    if word[:1].isupper():
        return plain in _BEGINNERS or (not strict and plain not in _WEEKDAYS)
    return not has_capitals and plain in _OWN_BEGINNERS


_WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")


def _is_marker(text: str, dot: int, before: str, begin: int) -> bool:
    """Whether a dot belongs to the number (or letter) of an item: "1. Milk"."""
    if not before or len(before) > 3 or not (before.isdecimal() or len(before) == 1):
        return False
    return dot - begin < _LONGEST_WORD and not text[begin : dot - len(before)].strip(" \t\n-*([#>")


def _item_number(text: str, line: int) -> int:
    """The number with which a line begins as an item, 0 where it does not."""
    number = 0
    at = line
    while at < len(text) and at - line < 3 and "0" <= text[at] <= "9":
        number = number * 10 + int(text[at])
        at += 1
    is_item = at > line and text[at : at + 1] in (".", ")") and text[at + 1 : at + 2] in (" ", "\t")
    if is_item:
        return number
    return 0


def _begins_item(text: str, at: int, number: int) -> bool:
    """Whether the next item of a list on one line begins here: "1. milk 2. bread"."""
    return text[at - 1 : at].isspace() and _item_number(text, at) == number


def _begins_after_emoji(text: str, at: int) -> bool:
    """Whether a sentence begins after an emoji without a stop: a word follows that begins a sentence."""
    word = _word_from(text, at)
    return word[:1].isupper() and word.lower() in _BEGINNERS and text[at - 1].isspace()


def _past_emoji(text: str, at: int) -> int:
    """The place after the emoji and blanks that belong to the sentence before."""
    while at < len(text) and text[at] != "\n" and (text[at].isspace() or _is_emoji(text[at])):
        at += 1
    if at < len(text) and text[at] == "\n":
        return _past_blanks(text, at)
    return at


def _is_emoji(letter: str) -> bool:
    code = ord(letter)
    if code < 0x2600:
        return code == 0x200D
    return code <= 0x27BF or code in (0xFE0F, 0x2B50) or 0x1F000 <= code <= 0x1FAFF


def _word_before(text: str, at: int) -> str:
    """The word that a mark ends, dots inside it included."""
    begin = at
    while begin > 0 and at - begin < _LONGEST_WORD and (text[begin - 1].isalnum() or text[begin - 1] in ".-"):
        begin -= 1
    return text[begin:at].lstrip(".-")


def _word_from(text: str, at: int) -> str:
    """The word after a mark, without opening marks before it."""
    while at < len(text) and text[at] in "\"'“‘«([*_¿¡":
        at += 1
    end = at
    while end < len(text) and end - at < _LONGEST_WORD and (text[end].isalnum() or text[end] in "'’"):
        end += 1
    return text[at:end]
