"""Works on the words of a question about chats: whom it names, the question in that speaker's words, the snippet that
is shown of a result."""

import re
from collections.abc import Collection, Sequence

from keepbook.book.text.words import STOP_WORDS, stem, tokens, word_set
from keepbook.patterns import regex, words_regex


def speaker_names(question: str) -> list[str]:
    """The words of a question that may name a speaker. If it says "I" or "my", that is the user."""
    words = tokens(question)
    if _IT_SAID.search(question.lower()):
        words.append("assistant")
    elif _USER.intersection(words):
        words.append("user")
    return list(dict.fromkeys(words))


_USER = frozenset({"i", "my", "me", "mine", "myself", "user", "we", "our"})
# Matches a question about what the assistant said. "Could you" and "your" alone only address it.
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
    """The question with the speaker's name replaced by "I" or "my", as people speak of themselves."""
    for name in names:
        said = rf"(?:the )?{re.escape(name)}"
        question = words_regex(rf"\b{said}(?:'s|’s)", re.IGNORECASE).sub("my", question)
        question = words_regex(rf"\b{said}\b", re.IGNORECASE).sub("I", question)
    return question


_THANKS = word_set("""
    absolutely agree agreed ah aha alright amazing appreciate awesome bet bye cheers congrats congratulations cool
    course curious definitely detailed enjoy exactly excellent excited exciting fantastic fine fun glad good goodbye
    gotcha great haha hahaha happy helpful helps hey hi hello hmm hope indeed inspiring interesting kind know lol
    looking lot lots love lovely luck makes morning much nice night no noted ok okay oh perfect please pleasure problem
    proud really right see sense share sharing sorry sound sounds start super sure talk tell thank thanks thx totally
    true try ty understood useful very welcome well wonderful works worries wow wowza yay yeah yep yes yup
    danke gracias merci takk
""")
"""A turn of nothing but these words and stop words only takes note of what was said."""
NOTING = 14
"""A turn of more words than this does more than take note."""


def is_acknowledgement(text: str) -> bool:
    """Whether a turn only takes note: all of its words greet, thank or agree."""
    if len(text) > 12 * NOTING or "?" in text:
        return False
    words = tokens(text)
    return len(words) <= NOTING and all(word in STOP_WORDS or word in _THANKS for word in words)


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
