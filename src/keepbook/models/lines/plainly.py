"""Plain sentences: who writes one wants it noted, of themself or of somebody of theirs."""

import re

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.people import KIN, LASTING

LONGEST = 120
_OPENING = (
    r"\W*(?:(?:oh|and|so|also|btw|by the way|ok(?:ay)?|well|hi|hey|hello|um+|uh+|er|you forgot(?: that)?|"
    r"(?:i(?:'ve)? )?(?:already )?told you(?: that)?)\b[\s,]*)*"
)
_ENDING = (
    r"(?!.*\b(?:if|maybe|might|would|wish|tired|hungry|today|tonight|tomorrow|yesterday|right now|this morning|"
    r"this week|broken|not working|stuck|slow|crash\w*|fail\w*)\b)[^?\n]{0,90}"
)
_OBJECT = (
    r"(?!\s(?:it|that|this|these|those|you|your|the|them|him|her|me|to|how|what|when|where|a (?:look|break|bit)|care|"
    r"part|place|my time)\b)"
)
_NAME = r"(?-i:[A-ZÀ-Þ][a-zà-ÿ’'-]+)"
_OWN = regex(
    rf"{_OPENING}(?:"
    r"(?:i|we) (?:only |always |never |also |usually )?"
    r"(?:live|have|own|work|teach|speak|drive|am|are|don'?t eat|was born)\b|"
    r"(?:i|we) (?:also |really |just )?"
    rf"(?:can(?:no|')?t (?:eat|have|drink|tolerate)|don'?t (?:drink|smoke)|take)\b{_OBJECT}|"
    r"(?-i:[A-ZÀ-Þ])[\w'-]+ is (?:my|our)\b|i'?m working (?:with|for|at) |i'?m (?:also )?(?:allergic|a|an|from|married|"
    r"divorced|vegan|vegetarian|(?:\w+ )?intolerant|diabetic|coeliac|celiac|scared of|afraid of|retired|pregnant|"
    r"left-handed|colou?r-?blind|on an? [\w-]+(?: [\w-]+)? diet)\b|"
    rf"i'?m {_NAME}(?: {_NAME})?(?=\W*$|\W+(?:it'?s )?(?:nice|good|great|pleased|a pleasure) to meet\b)|"
    r"i'?ve got\b|"
    r"ich bin (?:auch )?(?:allergisch|vegetarier(?:in)?|veganer(?:in)?|diabetiker(?:in)?)\b|ich (?:wohne|lebe) in |"
    r"jeg er (?:også )?(?:allergisk|vegetarianer|veganer|diabetiker)\b|jeg bor i |"
    r"soy (?:también )?(?:alérgic[oa]|vegetarian[oa]|vegan[oa]|diabétic[oa])\b|vivo en |"
    r"je suis (?:aussi )?(?:allergique|végétarien(?:ne)?|végane?|diabétique)\b|j'habite |"
    r"(?:my|our) [\w' -]{2,40}? (?:is|are|has|costs?|starts?|ends?|lives?|works?|weighs?|runs?)\b)"
    rf"{_ENDING}",
    re.IGNORECASE,
)
_TASTE = regex(
    rf"{_OPENING}(?:(?:i|we) (?:also |really |just |absolutely )?"
    rf"(?:can(?:no|')?t stand|don'?t like|hate|love|like|dislike|avoid|collect)\b{_OBJECT}|"
    rf"(?:i|we) (?:also )?play (?:the )?(?!(?:it|that|this|with|around)\b)){_ENDING}",
    re.IGNORECASE,
)
_OF_OTHERS = regex(
    rf"{_OPENING}(?:(?:my|our|the) (?:\w+ )?(?:{KIN})(?:,? (?-i:[A-ZÀ-Þ])[\w-]+)? (?:{LASTING}|is (?:called|named|\d))|"
    r"(?-i:[A-ZÀ-Þ])[\w-]+ (?:is (?:allergic|(?:\w+ )?intolerant|vegan|vegetarian|diabetic|pregnant)|"
    rf"can[’']?t (?:eat|have)))\b{_ENDING}",
    re.IGNORECASE,
)


def tells_plainly(text: str) -> bool:
    """One plain sentence about the person: "I am allergic to peanuts", "my sister lives in Graz"."""
    return len(text) < LONGEST and bool(_OWN.fullmatch(text.strip()))


def tells_taste(text: str) -> bool:
    """What the person likes, hates or plays, and nothing else: worth noting, not sure to last."""
    return len(text) < LONGEST and bool(_TASTE.fullmatch(text.strip()))


def tells_of_own_people(text: str) -> bool:
    """What lasts, of one of the person's own people, and nothing else: "My friend Ola is allergic to eggs"."""
    return len(text) < LONGEST and bool(_OF_OTHERS.fullmatch(text.strip()))
