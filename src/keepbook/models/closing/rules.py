"""Rules that closing and every reader of a chat share: what asks to forget, and how much two lines have in common."""

import re

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS, stem, tokens


def _rx(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


DECLINE = _rx(
    r"\b(?:(?:don't|do not|dont|never|please don't|not to|no need to|rather you didn't|"
    r"wish you wouldn't|stop|without) (?:you )?(?:to )?"
    r"(?:(?:remember|remembering|save|saving|store|storing|memori[sz]e|retain|record|"
    r"recording)\b(?! to\b| me\b| my\b)|"
    r"(?:hang|hold) on ?to\b|(?:note|keep|keeping|log) (?:\w+ )?(?:that|this|it|any|anything|those|them)\b|"
    r"(?:write|put|file|add|log)(?: \w+){0,2}? (?:down|anywhere|on (?:file|record)|away|(?:in|"
    r"to) (?:your|the|any) (?:notes?|memory|file|records?|book))\b)|"
    r"^(?:please )?(?:don't|do not),? (?:i'd rather|keep|leave|it's)|"
    r"off the record|in confidence|confidential|"
    r"(?:keep|leave) (?:it|that|this|all that|all this|those|my \w+) (?:out|off|away)\b|"
    r"stays? (?:off|out of|between)|(?:out of|off) (?:your|any|the) (?:notes?|records?|memory|book|"
    r"file)|"
    r"forget (?:i|what i|that i|everything i) (?:said|told|mentioned|wrote)|"
    r"forget (?:all )?(?:that|this)\b|strike that from|not for (?:your|the) (?:notes?|records?|"
    r"memory|files?|book|log)|"
    r"(?:it's|that's|this is) (?:private|too personal|confidential)|"
    r"merk dir das nicht|nicht (?:merken|speichern|notieren)|behalt\w* das nicht|"
    r"no (?:lo )?(?:recuerdes|guardes|apuntes)|que quede entre|ikke (?:husk|lagre|noter)\w*|"
    r"mellom oss)\b|别记|不要记|不用记|请勿记|别保存|ไม่ต้องจำ|อย่าจำ|อย่าบันทึก|ไม่ต้องบันทึก"
)
FORGET = _rx(
    r"\b(?:forget|delete|remove|erase|wipe|scrap|purge|drop|clear|strike|stop remembering|"
    r"get rid of|take .{1,30} off|cross .{1,30} off|vergiss|lösch\w*|olvida\w*|borra\w*|elimina\w*|"
    r"glem|slett)\b"
    r"|忘掉|忘了|删掉|删除|ลืม|ลบ"
)
_FAINT = {
    "user", "they", "them", "is", "has", "ha", "want", "use", "also", "still", "year", "month", "day", "week",
    "about", "one", "two", "new", "now", "get", "make",
}  # fmt: skip
"""Words that say too little to tell what a line is about."""


def asks_to_forget(text: str) -> bool:
    return bool(FORGET.search(text) or DECLINE.search(text))


def words(text: str) -> set[str]:
    """Content words, stemmed; numbers left out (they are values, not the matter)."""
    return {stem(t) for t in tokens(text) if t not in STOP_WORDS and not t[0].isdecimal() and len(t) > 1} - _FAINT


def overlap(a: str, b: str) -> float:
    one, other = words(a), words(b)
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
