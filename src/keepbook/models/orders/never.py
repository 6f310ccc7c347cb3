"""Topics that a person names never to be remembered: which sentence says so, and which topic it names.

Such a sentence speaks to whoever keeps the notes, for good: as an order ("never save …"), of "you" ("you must never
keep …"), in the passive ("… must never be stored"), or of a place ("… is off limits", "leave … out of your memory").
"I never keep receipts" and "never put calls on Wednesdays" are none. Where the topic names a group, the group is meant.
"""

import re

from keepbook.book.ground.patterns import regex
from keepbook.book.text.topics import group_named, named_in
from keepbook.models.lines.people import KIN
from keepbook.models.orders.hear import Heard, sentences

_NOTES = (
    r"(?:(?:your|the|any|ur|a|this|that) )?(?:\w+ )?(?:memory|memories|notes?|book|records?|files?|journal|brain|"
    r"log|record)"
)
_DONE = (
    r"(?:remembered|kept|stored|saved|recorded|written(?: down)?|noted(?: down)?|logged|memori[sz]ed|retained|on "
    r"record)"
)
_ALONE = r"(?:remember|store|save|record|keep|memori[sz]e|retain|note|log|write|jot)(?:s|ed|d)?|kept"
_OBJECT = (
    r"(?=.*\b(?:anything|nothing|something|a (?:single )?word|about|any of|regarding|to do with|related|things?|stuff|"
    r"info)\b|"
    r"[^.]*?\b(?:down|it|that|them|this)\W*$|\W*[:–—=]|\W*$|\s+(?:down )?(?:my|our|where|what|who|how|whether)\b)"
)
_MEMORISE = (
    rf"(?:(?:{_ALONE})\b{_OBJECT}|remember\b(?= the )|make (?:any )?notes?\b|keep track\b|"
    rf"(?:put|file|enter|add|bring|take|note|write|keep)\b.* (?:in|into|on|to|down in) {_NOTES}\b|put (?:it|them|"
    rf"that) on record)"
)
_NEVER = (
    r"(?:never(?: ever)?|not ever|do not ever|don'?t (?:you )?ever|dont (?:u )?ever|"
    r"(?:do not|don'?t|dont|no need to)(?=.*\b(?:ever|any (?:chat|time|point)|permanently|for good|from now on|"
    r"forever|always)\b))"
)
_START = (
    r"(?:^|[,:;=–—]\s*|\b(?:so|and|but|please|pls|plz) )(?:(?:please|pls|and|so|ok(?:ay)?|hey|oh|just|also|actually|"
    r"from (?:today|now) on|in future|make sure(?: that)?(?: you)?|see to it that(?: you)?|for \w+ things)[,:]? )*"
)
_MODAL = r"(?:must|should|will|shall|may|can|could|are|ought to|would|'?ll|'?d)"
_ORDER = regex(rf"{_START}{_NEVER} (?:again )?{_MEMORISE}", re.IGNORECASE)
_OF_YOU = regex(
    rf"\b(?:you|u) {_MODAL}(?:n'?t)? ?(?:please )?(?:never|not|ever|not ever|not to)?\b.{{0,12}}\b{_MEMORISE}|"
    rf"\b(?:want|like|need|prefer|rather) (?:you |u )(?:to )?(?:never|not|ever)? ?(?:to )?{_MEMORISE}|"
    rf"\b(?:topic|subject|something|thing|matter)s? (?:that )?(?:you|u) (?:{_MODAL} )?never\b",
    re.IGNORECASE,
)
_PASSIVE = regex(
    rf"\b(?:is|are|must|should|may|can|will|shall|does|do|gets?|be|to be|get)(?:n'?t)?\b.{{0,16}}\b(?:never|not|ever|"
    rf"nothing)\b"
    rf".{{0,16}}\b(?:{_DONE}|(?:mentioned|put|end up|land|appear|go|belong) (?:in|into|on) {_NOTES})\b|"
    rf"\bnothing\b.{{0,60}}\b(?:is|be|gets?|should ever be|must be)\b.{{0,12}}\b{_DONE}\b|"
    rf"\b(?:is|are) not for {_NOTES}\b|\bnever (?:belongs?|goes?|enters?|lands?|be put|ends? up) (?:in|into)\b|"
    rf"\bnothing\b.{{0,60}}\b(?:goes|gets|lands|ends up|enters|is put) (?:in|into|to|on) {_NOTES}\b|"
    rf"\bnever\b.{{0,20}}\b(?:in|into|on) (?:{_NOTES}|there)\b|\bmust never be \w+ (?:in|into) {_NOTES}\b",
    re.IGNORECASE,
)
_PLACE = regex(
    rf"\b(?:off[- ]limits|taboo|out of bounds|a no-?go|off the table)\b|\bstays? out of {_NOTES}\b|"
    rf"(?:^|\b(?:please|pls|on|and|so),? )(?:leave|keep) .+ (?:out of|off|away from) {_NOTES}\b|^\W*no .+ (?:in|on|"
    rf"for) {_NOTES}(?=\W*$|[,.;!]|\s+(?:ever|always|please|pls|for good|ok(?:ay)?)\b)|"
    rf"\bexcluded from (?:what you|{_NOTES})",
    re.IGNORECASE,
)
_LASTS = regex(
    r"\b(?:never|ever|always|permanently|forever|for (?:ever|good|all time)|off[- ]limits|taboo|out of bounds|a "
    r"no-?go|any other|"
    r"from (?:now|today) on|not now and not later|nothing about|at any (?:time|point)|not to \w+ anything|in future)\b",
    re.IGNORECASE,
)
_NOTHING = regex(
    rf"{_START}(?:do not|don'?t|dont) (?:you )?(?:{_ALONE}|write down|put down|keep track of) "
    r"(?:anything|a (?:single )?word|nothing)(?: at all)? (?:about|on|regarding|of|to do with)\b"
    r"(?!.*\b(?:today|now|yet|tonight|this (?:chat|time|meeting|call|conversation|week)|until|unless)\b)",
    re.IGNORECASE,
)
""" "Don't save anything about Mr Hoffmann": nothing of it, so for good."""
_COMPLAINS = regex(r"\b(?:you|u) (?:never|always) ", re.IGNORECASE)
_SELF = regex(
    r"^\W*(?:i|i'll|ill|i'?ve|we|he|she|they|people)\b(?!'d like| want| would like| need| insist)", re.IGNORECASE
)
_END = (
    r"(?=\s*(?:[,.;:!?=]|$|\b(?:is|are|be|was|gets?|stays?|should|must|may|shall|will|can|does|do|ever|never|again|"
    r"please|pls|"
    r"for (?:good|ever|all time)|forever|permanently|always|at all|at any|in (?:this|any|your|the|future|here)|not "
    r"(?:now|in)|"
    r"about me|because|so|ok(?:ay)?|on advice|from (?:now|today)|out of|off|down|against|with|between|which|who|and "
    r"never)\b))"
)
_TOPICS = (
    rf"\b(?:about|on|regarding|concerning|to do with|related to)\s+(?P<topic>(?!me\b|record\b|it\b|advice\b).+?){_END}",
    rf"\b(?:leave|keep)\s+(?P<topic>.+?)\s+(?:out of|off|away from) {_NOTES}",
    rf"\b(?:{_ALONE})\b(?: down)?\s*(?:[:–—]\s*)?(?P<topic>(?:(?:my|our|the|his|her|where|what|who|how|"
    rf"whether)\b)?.+?){_END}",
    rf"\bnever\b[^:]*:\s*(?P<topic>.+?){_END}",
    rf"(?:^|[:;–—]\s*)(?:(?:actually|and|so|oh|please|ok(?:ay)?|from (?:today|now) on)\b[,\s]*)*"
    rf"(?:no |make |for |anything |i'd like |i want )?"
    rf"(?P<topic>(?:my |the |our |his |her )?[^,;:=]{{2,60}}?)(?: things?| stuff| info| matters?| talk)?\s*[,:=]?\s*"
    rf"(?:\b(?:is|are|was|must|should|may|does|do|don'?t|will|never|stays?|excluded|shall|a (?:topic|subject)|"
    rf"in {_NOTES})\b|=|:(?=\s*(?:never|no|nothing|don'?t|off|you|u)\b))",
)
_TOPIC = tuple(regex(pattern, re.IGNORECASE) for pattern in _TOPICS)
_LOCATED = regex(
    r"\bwhere (?:i|we) (?:am|'m|live|are|stay|go|sleep|work from)\b|\bmy (?:location|whereabouts|address)\b",
    re.IGNORECASE,
)
_ARTICLE = regex(
    r"^(?:(?:my|our|the|any|all|that|this|these|those|a|an|bloody|whole|anything|things?|stuff|of|single|word|"
    r"about)\s+)+",
    re.IGNORECASE,
)
_OF_ONE = regex(
    rf"(?:(?:my|our) )?(?:{KIN}|(?-i:[A-ZÀ-Þ])[\w-]+)'s? [\w-]{{3,}}|"
    rf"(?:what|where|how much|who|when) (?:(?:my|our) (?:{KIN})|(?-i:[A-ZÀ-Þ])[\w-]+) [\w-]{{3,}}",
    re.IGNORECASE,
)
_NO_TOPIC = regex(
    r"(?:that|this|it|them|you|u|any|things?|stuff|of|i|i'?ve|me|we|he|she|they|there|everything|anything|nothing|one|"
    r"a word|notes?|(?:on|about|of|in|to|down)\b.*|"
    r"what|track|(?:from )?(?:now|today) on|(?:if|when|whatever|and|or|but|so)\b.*|.*\b(?:i|you) (?:say|tell|told|"
    r"said|talk)\b.*)",
    re.IGNORECASE,
)
_SPLIT = regex(r"\s*(?:,|\band\b|\bor\b|\bnor\b)\s*", re.IGNORECASE)


def topics_named(text: str) -> list[tuple[Heard, tuple[str, ...]]]:
    """The orders of a turn never to remember something, each with its topics: a group's name, or the person's words."""
    found = []
    for start, end in _breaths(text):
        sentence = _PARTED.sub(" ", text[start:end].strip())
        named = _topics(sentence.replace("’", "'"))
        if named:
            found.append((Heard("never", start, end, sentence=sentence), tuple(named)))
    return found


_PARTED = regex(r"[.!]+\s+(?=\S)")
_FOR_GOOD = regex(r"\W*(?:not )?(?:never|ever|always|for good|for ever|forever|permanently)\W*", re.IGNORECASE)
_FRONTED = regex(r"\W*(?:my|our|the|his|her) (?:\w+ ?){1,3}\.\s*", re.IGNORECASE)


def _breaths(text: str) -> list[tuple[int, int]]:
    """The sentences; one that is only "ever." goes with the one before, "my drinking." with the one behind."""
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        joins = spans and (
            _FOR_GOOD.fullmatch(text[start:end])
            or (_FRONTED.fullmatch(text[slice(*spans[-1])]) and re.match(r"\W*never\b", text[start:end], re.IGNORECASE))
        )
        spans = [*spans[:-1], (spans[-1][0], end)] if joins else [*spans, (start, end)]
    return spans


def _topics(sentence: str) -> list[str]:
    if not _is_order(sentence):
        return []
    if _LOCATED.search(sentence):
        return ["whereabouts"]
    phrases = _phrases(sentence)
    names = [part for phrase in phrases for part in (phrase, *_SPLIT.split(phrase))]
    groups = dict.fromkeys(filter(None, (group_named(_ARTICLE.sub("", name).strip()) for name in names)))
    groups |= dict.fromkeys(group for phrase in phrases for group in named_in(phrase))
    if groups and (whose := next((one for one in phrases if _OF_ONE.match(one)), None)) is not None:
        return [whose.strip(" \"'“”.")]  # one person's, not the group: "my husband's debts"
    return list(groups) or [one for one in map(_own, phrases) if one][:1]


def _is_order(sentence: str) -> bool:
    """Whether a sentence says to whoever keeps the notes that something is never kept."""
    if sentence.endswith("?") and not re.match(r"\W*(?:can|could|will|would) (?:you|u)\b", sentence, re.IGNORECASE):
        return False
    if _NOTHING.search(sentence):
        return True
    if not _LASTS.search(sentence):
        return False
    if _ORDER.search(sentence) or _OF_YOU.search(sentence):
        return True
    if _SELF.match(sentence) or _COMPLAINS.search(sentence):
        return False
    return bool(_PASSIVE.search(sentence) or _PLACE.search(sentence))


def _phrases(sentence: str) -> list[str]:
    """The stretches that may name the topic, the likeliest first."""
    found = (one["topic"].strip() for pattern in _TOPIC for one in pattern.finditer(sentence))
    return list(dict.fromkeys(one for one in found if one))


def _own(phrase: str) -> str | None:
    """The person's own topic, in their words."""
    plain = _ARTICLE.sub("", phrase).strip(" \"'“”.")
    plain = re.sub(rf"^(?:{KIN})'?s\s+(?=\w)", "", plain, flags=re.IGNORECASE)
    plain = re.sub(r"\s+(?:against|with|from|between|for|that|which|who|in)\b.*$", "", plain)
    return plain if 1 < len(plain) <= 80 and not _NO_TOPIC.fullmatch(plain) else None
