"""Words of a question about chats and of its results: whom it names, how they would say it, the snippet shown."""

import re
from collections.abc import Collection, Sequence

from keepbook.book.text.words import stem, tokens
from keepbook.patterns import regex, words_regex


def speaker_names(question: str) -> list[str]:
    """The words by which a question may name a speaker; in a book of one user, "I" and "the user" are one."""
    words = tokens(question)
    if _IT_SAID.search(question.lower()):
        words.append("assistant")
    elif _USER.intersection(words):
        words.append("user")
    return list(dict.fromkeys(words))


_USER = frozenset({"i", "my", "me", "mine", "myself", "user", "we", "our"})
# What the assistant said, in a question to it; "could you" and "your" alone only say to whom the question is put.
_IT_SAID = regex(
    r"""\b(?: assistant | (?:did|had|have)[ ]you(?![ ](?:know|remember|recall))
  | you[ ](?:(?:had|have|just|once|already|also|earlier|previously)[ ])?
      (?:said|told|suggest(?:ed)?|recommend(?:ed)?|advised?|gave|given|mention(?:ed)?|wrote|written|explained|listed
      |proposed|described|sent|made|showed|named|drafted|promised|answered|came[ ]up)
  | your[ ](?:\w+[ ])?(?:advice|answers?|suggestions?|recommendations?|drafts?|replies|reply|explanation|words)
    )\b""",
    re.VERBOSE,
)


def in_first_person(question: str, names: Collection[str]) -> str:
    """The question as the named speaker would ask it: what people say of themselves has no name in it."""
    for name in names:
        said = rf"(?:the )?{re.escape(name)}"
        question = words_regex(rf"\b{said}(?:'s|’s)", re.IGNORECASE).sub("my", question)
        question = words_regex(rf"\b{said}\b", re.IGNORECASE).sub("I", question)
    return question


_WORD = regex(r"\w+")


def snippet_of(text: str, wanted: Sequence[str], around: int = 80) -> str:
    """A piece of the text around the first match, with every match marked."""
    spots = [spot.span() for spot in _WORD.finditer(text) if set(map(stem, tokens(spot.group()))) & set(wanted)]
    if not spots:
        return text[: 2 * around]
    start = max(0, spots[0][0] - around)
    end = min(len(text), spots[0][1] + around)
    piece, last = "", start
    for first, after in spots:
        if first >= end:
            break
        piece += f"{text[last:first]}⟦{text[first:after]}⟧"
        last = after
    return ("…" if start else "") + piece + text[last : max(end, last)] + ("…" if end < len(text) else "")
