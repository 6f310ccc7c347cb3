"""Topics that a person names never to be remembered: which sentence says so, and which topic it names."""

import re

from keepbook.book.text.topics import group_named
from keepbook.models.orders.hear import Heard, sentences

_KEPT = (
    r"(?:remember|keep|store|save|record|write|note|log|put|memori[sz]e|retain|file)(?:ed|d|en|s)?|kept|written|stored|recorded|"
    r"remembered|saved|noted|excluded"
)
_SPOKEN = (
    rf"(?:(?:remember|store|record|memori[sz]e|retain|note|log)\b|(?:{_KEPT})\b(?=.*\b(?:anything|something|a (?:single )?word|"
    r"word|notes?|memory|about|down|records?|book|any of|file on|things?|stuff)\b))"
)
"""Words that can only be meant for whoever keeps notes: "never put calls on Wednesdays" is no order to the memory."""
_TO_US = re.compile(
    rf"(?:^|[,:;.]\s*|\band )(?:please |pls |and |so |you (?:must|should|will|may|can|are to|are not to|shall) |i "
    rf"(?:don'?t|dont) want you to |"
    rf"from (?:today|now) on,? |make sure (?:that )?you |see to it that |i'd (?:like|prefer) |i want )*(?:never|"
    rf"don'?t ever|dont ever|"
    rf"do not ever|not ever|don'?t (?=.*\b(?:ever|any chat|any time)\b))\s*(?:again )?{_SPOKEN}", re.IGNORECASE,
)  # fmt: skip
_ABOUT_US = re.compile(
    rf"\byou(?:'re| are)? (?:must |should |will |shall |may |can )?(?:never|not ever|not to|are not "
    rf"to)\b.{{0,20}}\b(?:{_KEPT})\b|"
    rf"\b(?:must|should|may|can|will|is|are|does|do|gets?|get)\b.{{0,16}}\b(?:never|not)\b.{{0,14}}\b(?:{_KEPT}|"
    rf"get recorded)\b.*|"
    r"\b(?:off[- ]limits|taboo|out of bounds)\b|\bstays? out of (?:your|the|any) (?:memory|notes|book|records?)\b|"
    rf"\bexcluded from what you (?:keep|remember|store)\b|\bnothing (?:about|on|of) .+ (?:is|be|gets?) (?:{_KEPT})\b|"
    rf"\bnever (?:belongs?|goes?|put|be put|enters?) (?:in|into)\b|\b(?:topic|subject) (?:that )?you (?:should |"
    rf"must |will )?never\b|"
    r"\b(?:is|are|gets?|be) never (?:be )?(?:kept|stored|saved|recorded|remembered|noted)\b|"
    r"\bnever (?:be|get) (?:put|kept|stored|saved|recorded|remembered|written|noted)\b", re.IGNORECASE,
)  # fmt: skip
_LASTS = re.compile(
    r"\b(?:never|ever|always|permanently|forever|for (?:ever|good|all time)|off[- ]limits|taboo|out of bounds|any "
    r"other|"
    r"from (?:now|today) on|not now and not later|nothing about|at any time|not to \w+ anything)\b", re.IGNORECASE,
)  # fmt: skip
_OBJECT = re.compile(
    rf"\b(?:{_KEPT})\b(?: down)?\s+(?:(?:anything|something|a (?:single )?word|things?|stuff|any of)\s*(?:that "
    rf"has )?(?:to do with |about |on |"
    rf"related to |of |regarding )?|about )(?P<topic>.+)|\b(?:remember|store|record|note|log|write down|"
    rf"save)\b\s+(?P<own>(?:my|where|who|what|the)\b.+)|"
    rf"\b(?:{_KEPT})\b(?: down)?\s*[:–—]\s*(?P<listed>.+)|"
    rf"\b(?:anything|nothing) (?:to do with|about|on|related to) (?P<about>.+?)(?:\s+(?:is|be|gets?|stays?|should|"
    rf"must|goes)\b|[,.;]|$)",
    re.IGNORECASE,
)  # fmt: skip
_SUBJECT = re.compile(
    r"^(?:actually|and|so|oh|please|one condition\W+|from (?:today|now) on)?[,\s]*(?:i'd like |i want |make |for "
    r")?(?P<topic>(?:my |the |our )?"
    r"[^,;:]{2,60}?)(?: things?)?[,:]?\s+(?:is|are|was|must|should|may|does|do|will|never|stays?|excluded|you "
    r"must|a (?:topic|subject))\b",
    re.IGNORECASE,
)  # fmt: skip
_ENDS = re.compile(
    r"\s*(?:[,.;:!?]|\b(?:ever|again|please|pls|for (?:good|ever|all time)|permanently|always|at all|in (?:this|"
    r"any)|not (?:now|in)|about me|"
    r"because|so|ok(?:ay)?|on advice)\b).*$", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_LOCATED = re.compile(
    r"\bwhere (?:i|we) (?:am|'m|live|are|stay|go|sleep|work from)\b|\bmy (?:location|whereabouts|address)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"^\W*(?:i|i'll|ill|we|he|she|they|people)\b(?!'d like| want| would like| don'?t want you)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:(?:my|our|the|any|all|that|this|these|those|a|an|bloody|whole)\s+)+", re.IGNORECASE)
_SPLIT = re.compile(r"\s*(?:,|\band\b|\bor\b|\bnor\b)\s*", re.IGNORECASE)


def topics_named(text: str) -> list[tuple[Heard, tuple[str, ...]]]:
    """The orders of a turn never to remember something, each with its topics: a group's name, or the person's words."""
    found = []
    for start, end in sentences(text):
        sentence = text[start:end].strip()
        named = _topics(sentence)
        if named:
            found.append((Heard("never", start, end, sentence=sentence), tuple(named)))
    return found


def _topics(sentence: str) -> list[str]:
    said = bool(_TO_US.search(sentence)) or bool(_ABOUT_US.search(sentence))
    if not said or not _LASTS.search(sentence) or sentence.endswith("?"):
        return []
    if (
        _PERSONAL.match(sentence)
        and not _ABOUT_US.search(sentence)
        and not re.search(r"[.;,]\s*(?:so |and )?(?:please )?(?:never|don)", sentence, re.IGNORECASE)
    ):
        return []
    if _LOCATED.search(sentence):
        return ["whereabouts"]
    groups = list(dict.fromkeys(filter(None, map(group_named, _names(sentence)))))
    return groups or _own(sentence)


def _names(sentence: str) -> list[str]:
    """The noun phrases that may name a group."""
    phrases = [phrase for phrase in _phrases(sentence) if phrase]
    parts = [part for phrase in phrases for part in _SPLIT.split(phrase)]
    return [_ARTICLE.sub("", part).strip() for part in (*phrases, *parts)]


def _phrases(sentence: str) -> list[str]:
    found = []
    for pattern in (_OBJECT, _SUBJECT):
        for one in pattern.finditer(sentence):
            told = next((value for value in one.groupdict().values() if value), "")
            found.append(_ENDS.sub("", told).strip())
    return found


def _own(sentence: str) -> list[str]:
    """The person's own topic, in their words."""
    for phrase in _phrases(sentence):
        plain = _ARTICLE.sub("", phrase).strip(" \"'“”.")
        plain = re.sub(r"\s+(?:against|with|from|between|for|that|which|who|in)\b.*$", "", plain)
        plain = re.sub(
            r"^(?:what i believe in|things about|stuff about|subject of|topic of)\s+", "", plain, flags=re.IGNORECASE
        )
        if 1 < len(plain) <= 80 and not re.fullmatch(
            r"(?:that|this|it|them|you|any|things?|of|i|i'?ve|me|we|he|she|they|there|everything|anything|(?:from )?(?:now|today) on)",
            plain, re.IGNORECASE
        ):
            return [plain]
    return []
