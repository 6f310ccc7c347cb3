"""Words that name people by what they are to somebody, and where a text names them: "my sister Clare"."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from keepbook.book.recall.people import RELATIONS
from keepbook.book.text.words import word_set
from keepbook.patterns import regex

_WOMEN = word_set("""
    mother mom mum sister daughter wife girlfriend fiancée grandmother grandma aunt niece landlady
    mutter schwester tochter frau freundin madre hermana hija esposa mor søster datter kone mère sœur fille femme
""")
_MEN = word_set("""
    father dad brother son husband boyfriend fiancé grandfather grandpa uncle nephew
    vater bruder sohn mann freund padre hermano hijo marido far bror sønn père frère fils mari
""")
_SEVERAL = word_set("parents children kids twins grandparents siblings")
_OTHERS = word_set("coach dog cat chef jefe sjef")
PEOPLE = RELATIONS | _WOMEN | _MEN | _SEVERAL | _OTHERS
_OWNERS = word_set("my our")
_BEFORE_NAME = 1
"""Words between "my" and what somebody is: "my little sister"."""
_WORD = regex(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FITS = {
    "she": PEOPLE - _MEN - _SEVERAL, "her": PEOPLE - _MEN - _SEVERAL,
    "he": PEOPLE - _WOMEN - _SEVERAL, "his": PEOPLE - _WOMEN - _SEVERAL,
    "they": _SEVERAL, "their": _SEVERAL,
}  # fmt: skip
"""Whom a pronoun at the head of a clause can mean."""
NEEDS_NAME = ("she", "her", "he", "his")
"""Pronouns that always mean somebody who was named; "they" may be nobody."""


class PersonNamed(NamedTuple):
    """Letters `start` to `end` name somebody; `word` says what they are to the person."""

    start: int
    end: int
    word: str


def people_named(text: str) -> Iterator[PersonNamed]:
    """Where a text names people by what they are to the person, with the name that follows."""
    words = list(_WORD.finditer(text))
    for at, owner in enumerate(words):
        if owner[0].lower() not in _OWNERS:
            continue
        for last in range(at + 1, min(len(words), at + 2 + _BEFORE_NAME)):
            if not _is_blank(text, words[last - 1].end(), words[last].start()):
                break
            if words[last][0].lower() in PEOPLE:
                end = _past_name(text, words, last)
                yield PersonNamed(owner.start(), end, words[last][0].lower())
                break


def _past_name(text: str, words: list[Any], at: int) -> int:
    """Where the name ends that may follow: "my sister Clare"."""
    follows = at + 1 < len(words) and _is_blank(text, words[at].end(), words[at + 1].start())
    if follows and words[at + 1][0][:1].isupper() and not words[at + 1][0].endswith(("'s", "’s")):
        return int(words[at + 1].end())
    return int(words[at].end())


def _is_blank(text: str, start: int, end: int) -> bool:
    return text[start:end].isspace()


def leading_pronoun(text: str) -> str:
    """The pronoun of another person that a text begins with; empty if it begins otherwise."""
    word = _WORD.search(text)
    first = ""
    if word:
        first = word[0].lower().replace("’", "'").partition("'")[0]
    if first in _FITS:
        return first
    return ""


def whom_it_means(pronoun: str, text: str) -> PersonNamed | None:
    """The person whom a pronoun after this text means: the only one who is named in it and fits; None if in doubt."""
    fitting = [one for one in people_named(text) if one.word in _FITS[pronoun]]
    if len({one.word for one in fitting}) == 1:
        return fitting[-1]
    return None


def person_spoken_of(line: str) -> str:
    """What the person is to the owner of the book whom a line is about, where it begins with them: "My sister Clare
    lives in Leeds", "Sister lives in Leeds". Empty if it begins otherwise."""
    words = [word[0].lower() for word in _WORD.finditer(line[:_LEAD])]
    if words and words[0] in _OWNERS:
        head = words[1:]
    else:
        head = words
    return next((word for word in head[: 1 + _BEFORE_NAME] if word in PEOPLE), "")


_LEAD = 80
