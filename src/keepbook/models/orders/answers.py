"""The person's word on a question that an order left open: yes, no, which one, or what a memory should say."""

import re
from collections.abc import Sequence

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import stem, tokens
from keepbook.models.lines.matters import content_words, fit
from keepbook.models.lines.slots import exchanged, filled, value
from keepbook.models.lines.wording import line
from keepbook.models.orders.corrections import correction
from keepbook.models.orders.values import Held

YES = regex(
    r"\W*(?:yes|yeah|yep|yup|ye|sure|ok(?:ay)?|correct|right|exactly|please do|do it|do that|go ahead|of course|"
    r"absolutely|"
    r"definitely|fine|sounds good|perfect|that's (?:right|it)|thats (?:right|it)|y|sí|si|ja|jo|oui|对|是的?|好的?|ใช่|"
    r"ครับ|ค่ะ|👍)\b[\s\S]{0,40}|[对是好👍].{0,4}",
    re.IGNORECASE,
)
NO = regex(
    r"\W*(?:no|nope|nah|not (?:really|that|now)|please don'?t|don'?t|rather not|better not|never ?mind|leave it|"
    r"cancel|stop|"
    r"neither|none(?: of (?:them|those|these))?|nothing|forget it|nein|nei|non|ninguno|不|ไม่)\b.{0,40}",
    re.IGNORECASE,
)  # fmt: skip
_ALL = regex(
    r"\W*(?:(?:yes|please|forget|delete|remove|drop|sure|well)\W+)*(?:all|both|everything|every one|alle|beide|"
    r"begge|todos|ambos|两个|都|ทั้ง)\b.{0,30}",
    re.IGNORECASE,
)
_ORDINALS = {
    word: number
    for number, words in enumerate(
        ("first 1st former top", "second 2nd latter other", "third 3rd", "fourth 4th", "fifth 5th"), 1
    )
    for word in words.split()
}
_REFUSES = regex(
    r"\W*(?:(?:oh|ah|no|hm+|well|actually|ok|nah)\W+)*(?:leave (?:it|that|this)|keep (?:it|that|this)|no change|"
    r"nothing|never ?mind|(?:it'?s|that'?s|that one'?s|this one'?s|"
    r"it is|that is|all) (?:fine|ok(?:ay)?|good|right|correct|true|alright|still (?:true|right|correct))|don'?t "
    r"(?:change|touch)|no need|cancel|skip|forget it|"
    r"(?:i have |i've )?no idea|not sure|dunno|i don'?t know|idk|looks? (?:good|fine|right)|still (?:true|right|"
    r"correct|holds)|no thanks?|same)\b.*",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_ASKS = regex(
    r".*\?\s*$|\W*(?:what|why|when|where|who|how|which|can|could|do|does|did|is|are|was|were|would|should|may)\b "
    r"(?:i|you|we|it|this|that|the|is|are|did|do|was)\b.*",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_SENTENCE = regex(
    r"\W*(?:it should (?:say|read|be)\W+|change it to\W+|make it\W+(?=i\b))?(?P<whole>(?:(?:i|we|he|she|they|my|"
    r"our|his|her|the)\b|[A-ZÀ-Þ][\w-]+ (?:is|has|was|works|lives|wants|likes)\b).+)",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_VERB = regex(
    r"\b(?:am|is|are|was|were|be|have|has|had|do|does|did|don'?t|doesn'?t|can|can'?t|will|won'?t|would|should|must|'m|"
    r"'re|'ve|'s|im|ive|"
    r"live|work|train|pay|earn|save|like|love|hate|prefer|want|need|use|take|drink|eat|go|run|swim|play|trade|hold|"
    r"keep|risk|read|speak|teach|"
    r"study|own|drive|ride|rent|plan|buy|sell|start|stop|move|moved|quit|switched|turned|get|got|make|see|meet|call|"
    r"write|sleep|wake|cook|sing|"
    r"\w+(?:ed|s))\b",
    re.IGNORECASE,
)  # fmt: skip
_GOAL = regex(
    r"\W*(?:make (?:it|that)|its|"
    r"(?:lower|raise|bump|cut|up|drop|set|put|swap) (?:it|that|this) to|it(?:'s| is) (?:now )?|now|"
    r"change (?:it|that) to|it should (?:be|say)|should be|to|"
    r"about|rather|please)\s+",
    re.IGNORECASE,
)
_TRAILS = regex(
    r"[,;–—(]\s*(?!\d).*$|\s+(?:please|pls|thanks|now|instead|with an? \w+(?: and .*)?)\s*$", re.IGNORECASE | re.DOTALL
)


def agrees(text: str) -> bool:
    return bool(YES.fullmatch(text.strip())) and not re.search(r"\b(?:not|don'?t|but)\b", text, re.IGNORECASE)


def refuses(text: str) -> bool:
    return bool(NO.fullmatch(text.strip()))


def picked(text: str, options: Sequence[Held]) -> list[Held] | None:
    """The options that a word points to; None where it points to nothing here."""
    if text.rstrip().endswith("?"):
        return None
    if _ALL.fullmatch(text.strip()):
        return list(options)
    if re.search(r"\b(?:not|except|but|keep|leave)\b", text, re.IGNORECASE):
        return None
    by_words = _by_words(text, options)
    if by_words is not None and len(by_words) == 1:
        return by_words
    numbers = _numbers(text, len(options))
    return [options[number - 1] for number in numbers] if numbers else by_words


def _numbers(text: str, count: int) -> list[int]:
    short = len(text.split()) <= 6
    said = [int(one) for one in re.findall(r"(?<![\w.,])\d(?![\w.,:]*\d)(?!\w)", text)] if short else []
    said += [_ORDINALS[word] for word in re.findall(r"\w+", text.lower()) if word in _ORDINALS and short]
    if re.search(r"\blast\b", text, re.IGNORECASE) and short:
        said.append(count)
    return [number for number in dict.fromkeys(said) if 0 < number <= count]


def _by_words(text: str, options: Sequence[Held]) -> list[Held] | None:
    """The option that has words of the answer which the others lack."""
    said = {stem(word) for word in tokens(text)} & {stem(word) for one in options for word in tokens(one.content)}
    scored = []
    for one in options:
        words = {stem(word) for word in tokens(one.content)}
        others = {stem(word) for other in options if other is not one for word in tokens(other.content)}
        scored.append((len(said & (words - others)), one))
    best = max(score for score, _ in scored)
    if best:
        return [one for score, one in scored if score == best]
    fits = [one for one in options if fit(text, one.content) >= 0.5]
    return fits if len(fits) == 1 and content_words(text) else None


def chosen_line(text: str, lines: Sequence[str]) -> str | None:
    """The one of some lines that an answer asks for."""
    if len(lines) == 1 and agrees(text):
        return lines[0]
    plain = text.strip(" .!").lower()
    holding = [one for one in lines if plain in one.lower()]
    if len(holding) == 1:
        return holding[0]
    found = picked(text, [Held(one) for one in lines])
    return found[0].content if found is not None and len(found) == 1 else None


# --- what a memory should say


_SUBJECT = regex(r"(?:i|we|he|she|they)\b", re.IGNORECASE)
"""So a whole sentence begins, whatever its verb."""
_WANTS = regex(
    r"\W*(?:i (?:want|would like|need|have) to|i'd like to|let me|can i|please let me) (?:change|edit|correct|update|"
    r"fix) "
    r"(?:it|that|this|something)\W*",
    re.IGNORECASE,
)
"""A wish to change it says not yet to what."""
_GIVEN = regex(
    r"\W*(?:please |pls |actually |ok )*(?:change (?:it|that|this) to|it should (?:say|read|be)|make it(?: say)?|"
    r"(?:it is|it's) now|"
    r"it should now say|new wording|write)\s*[:–—]\s*(?P<whole>.+)",
    re.IGNORECASE | re.DOTALL,
)
_POINTED = regex(r"\W*(?:actually,? )?it(?:'s| is) (?:now )?(?P<new>[^:]+)", re.IGNORECASE)


def edited(text: str, old: str) -> tuple[str | None, bool, bool]:
    """The new line for an edit, whether it was a whole sentence, and whether the person wants no change at all."""
    plain = text.strip()
    if _ASKS.fullmatch(plain):
        return None, False, True
    if _REFUSES.fullmatch(plain):
        return None, False, True
    if _WANTS.fullmatch(plain):
        return None, False, False
    if (given := _GIVEN.fullmatch(plain)) is not None:
        said = given["whole"].strip(" \"'“”„")
        if (_VERB.search(said) or _SUBJECT.match(said)) and len(said.split()) > 2:
            return said[:1].upper() + said[1:].rstrip(" ."), True, False  # word for word: so it should say
        plain = said
    elif (pointed := _POINTED.fullmatch(plain)) is not None:
        plain = pointed["new"]
    if (heard := correction(plain)) is not None and heard.old:
        return exchanged(old, heard.old, heard.value), False, False
    whole = _SENTENCE.fullmatch(plain)
    if whole and _VERB.search(whole["whole"]) and len(whole["whole"].split()) > 2:
        return line(re.split(r"(?<=[.!])\s", whole["whole"])[0]), True, False
    fragment = _GOAL.sub("", plain, count=1)
    fragment = _TRAILS.sub("", fragment).strip(" .!")
    if (
        re.match(r"(?:more|less|about|around|roughly|twice|half|double|not|no)\b", fragment, re.IGNORECASE)
        or value(fragment) is None
    ):
        return None, False, False
    made = filled(old, fragment)
    return (made[0], False, False) if len(made) == 1 else (None, False, False)
