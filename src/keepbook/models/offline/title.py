"""A chat's title without a model: the matter of its first sentence in three to five words, never a cut sentence.

What leads to the matter goes ("can you compare", "how do I"), and so do articles; the rest ends where a phrase ends.
"""

import re
from collections.abc import Sequence

from keepbook.book.ground.patterns import regex
from keepbook.book.text.secrets import redact
from keepbook.book.text.words import STOP_WORDS
from keepbook.models.lines.slots import INSIDE
from keepbook.models.lines.wording import bare, line, tongue
from keepbook.models.model import Turn
from keepbook.models.offline.summary import own_words
from keepbook.models.orders.hear import sentences

UNTITLED = "New chat"
_LEAST, _MOST = 3, 5
_LONGEST = 24
_TURNS, _SENTENCES = 12, 4
_UNSPACED = regex(r"[぀-ヿ㐀-鿿฀-๿]")
_LEADS = regex(
    r"(?:(?:please|pls|can|could|would|will|you|u|help|me|us|to|with|let'?s|just|quick|question|i'?m|i'?d|i'?ve|i|we|"
    r"need|want|like|would|have|got|am|are|trying|thinking|looking|wondering|planning|sorting|about|of|for|some|"
    r"write|draft|make|give|find|show|explain|summari[sz]e|translate|check|run|tell|compare|plan|calculate|suggest|"
    r"recommend|list|create|build|fix|review|remember|note|know|look|up|out|into|that|"
    r"what|which|how|when|where|who|why|is|was|were|do|does|did|should|may|there|it'?s|that'?s|it|much|many|the|an?|my|our|your|"
    r"best|good|way|any|tips?|ideas?|what's|whats|how's|where's)\b[\s,]*)+",
    re.IGNORECASE,
)
_TELLS = regex(r"(?:i|i'm|im|i've|ive|we|we're|my|our)\b", re.IGNORECASE)
_CLAUSE = regex(
    rf"[;!?()–—]|,(?!\d)|(?!{INSIDE})[.:](?![\d/])|"
    r"\b(?:because|but|so|which|that(?= (?:i|i'?m|we|he|she|they|you)\b)|since|when|if|"
    r"while|though)\b",
    re.IGNORECASE,
)
_WORD = regex(r"[\w€£$%](?:[\w€£$%'’:/.-]|,(?=\d))*")
_DROPPED = frozenset(
    (
        "a",
        "an",
        "the",
        "my",
        "our",
        "your",
        "their",
        "please",
        "just",
        "really",
        "very",
        "some",
        "is",
        "do",
        "does",
        "did",
    )
)
_LINKS = frozenset(
    (
        "in",
        "on",
        "at",
        "to",
        "for",
        "of",
        "with",
        "from",
        "by",
        "about",
        "and",
        "or",
        "into",
        "before",
        "after",
        "as",
        "like",
        "und",
        "y",
        "og",
    )
)


def title(turns: Sequence[Turn]) -> str:
    """The matter of the first exchange, in sentence case."""
    said = (turn.text for turn in turns[:_TURNS] if turn.role == "user" and not _GREETS.fullmatch(turn.text))
    return _titled(next((text for text in said if re.search(r"\w", text)), ""))


_GREETS = regex(
    r"\W*(?:(?:hey+|hi+|hiya|hello|yo|good|morning|evening|afternoon|day|there|you|again|all|everyone|hola|hallo|hei|"
    r"how are|how's it going|what's up|sup)\b\W*)+",
    re.IGNORECASE,
)
"""A greeting and nothing else: what it is about comes after it."""


def _titled(text: str) -> str:
    own = own_words(text).strip() or text.split("\n", 1)[0]
    if _UNSPACED.search(own):
        return _unspaced(own)
    said = [redact(own[start:end].strip()) for start, end in sentences(own)[:_SENTENCES]]
    phrases = [phrase for sentence in said for clause in _CLAUSE.split(sentence) if (phrase := _phrase(clause))]
    whole = next((phrase for phrase in phrases if len(phrase) >= _LEAST), None)
    words = _plain_question(said) or whole or _question(said) or max(phrases, key=len, default=_few(own))
    title = " ".join(map(_no_longer, words)).strip(" '’-:/.")
    return title[:1].upper() + title[1:] or UNTITLED


def _few(text: str) -> list[str]:
    return _WORD.findall(text) if len(text.split()) <= _MOST else []


def _question(said: Sequence[str]) -> list[str]:
    """A short question names its matter best in its own words: "What am I allergic to"."""
    return next((few for one in said if one.endswith("?") and _LEADS.match(one) and (few := _few(one))), [])


_DOES = regex(
    r"\W*(?:where|when|what|who|how|why|which)(?: \w+)? (?:do|does|did|must|should|can|am|are|is) (?:my|our|i|we)\b"
    r"[^,;?]+?(?=\W*$|[,;?]| and\b)",
    re.IGNORECASE,
)


def _plain_question(said: Sequence[str]) -> list[str]:
    """ "Where does my sister live": without "does" no phrase is left."""
    asked = _DOES.match(said[0]) if said else None
    return _few(asked[0]) if asked else []


def _phrase(clause: str) -> list[str]:
    """The words of one clause that name its matter; what the person tells is worded as a line of the book."""
    plain = bare(clause)
    tells = tongue(plain) == "en" and _TELLS.match(plain) and not _LEADS.fullmatch(plain)
    lead = _LEADS.match(plain)
    rest = plain[lead.end() :] if lead else plain
    words = _WORD.findall(line(plain) if tells and not _asks(plain) else rest)
    return _ended(words) if any(word.lower() not in STOP_WORDS for word in words) else []


_ASKS = regex(
    r"(?:i|we)(?:'m|'d|'ve| am| have| would)?(?: \w+)? (?:need|want|like|trying|thinking|looking|wonder\w*|plan\w*|"
    r"sorting)\b|(?:i'?m|im) \w+ing\b",
    re.IGNORECASE,
)


def _asks(text: str) -> bool:
    """ "I'm thinking about a used bike" speaks of the bike."""
    return bool(_ASKS.match(text))


def _ended(words: Sequence[str]) -> list[str]:
    """At most five words, up to where a phrase ends."""
    if len(words) > _MOST:
        words = [word for word in words if word.lower() not in _DROPPED]
    if len(words) > _MOST:
        ends = [at for at in range(_LEAST, _MOST + 1) if words[at].lower() in _LINKS]
        heavy = [word for word in words if word.lower() not in STOP_WORDS]
        words = words[: ends[-1]] if ends else heavy[:_MOST]
    kept = list(words)
    while kept and kept[-1].lower() in _LINKS | STOP_WORDS:
        kept.pop()
    return kept


def _no_longer(word: str) -> str:
    """A word that no title has room for, such as an address, shows how it begins."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _unspaced(text: str) -> str:
    parts = [p for p in re.split(r"[，。！？,.!?\s]+", text) if len(p) > 2 and not re.match(r"你好|您好|สวัสดี", p)]
    return (parts[0] if parts else text.strip())[:20]
