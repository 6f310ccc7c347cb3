"""Which orders to the memory a turn holds. Pure; what they mean is decided elsewhere.

An order speaks to whoever keeps the notes: it is an imperative, or says what must happen to something said. "I
could never forget her birthday", "don't forget the milk" and "forget it, I'll take the tram" are none.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.slots import INSIDE

Kind = Literal["withdraw", "never", "correct", "undo"]


@dataclass(frozen=True, slots=True)
class Heard:
    """An order: its words are `text[start:end]` of the turn.

    `matter` is what it names (empty: nothing), `value` what is right instead, `old` what was wrong. `ahead`: it speaks
    of what follows in the same breath. `sure`: it can only be meant for the memory.
    """

    kind: Kind
    start: int
    end: int
    matter: str = ""
    value: str = ""
    old: str = ""
    ahead: bool = False
    sure: bool = True
    sentence: str = ""


_SENTENCE = regex(rf"(?:[^.!?\n。！？]|(?<=\d)[.](?=\d)|(?<=\b[A-Z])\.|(?<=\bno)\.|{INSIDE})+[.!?…。！？]*\s*")
_POLITE = (
    r"(?:(?:please|pls|plz|can you|could you|would you|will you|can u|could u|u can|you can|you may|you should|"
    r"you could|"
    r"i'd like you to|i would like you to|i want you to|i need you to|i'd rather you|first of all|hm+|oh|"
    r"ok(?:ay)?|hey|hi|"
    r"so|and|also|well|right|now|just|actually|sorry|wait|no|thanks?|thank you|kindly|let's|lets|btw|by the way|"
    r"um+|uh+|yeah|"
    r"go ahead and|"
    r"maybe|better|for now|lol|haha+|eh+h*|actualy|actully|yo|on second thou?ghts?)\b[\s,:.!-]*)*"
)
_BOOK = (
    r"(?:what (?:you|u) (?:know|have|remember|keep)|(?:your|ur|the|my|any) "
    r"(?:notes?|memory|memories|book|records?|files?|list|log|database|brain|head|journal))"
)
_FORGET = r"(?:forget|unlearn|un-?remember|un-?save|un-?note|erase|wipe)"
_DROP = (
    r"(?:delete|remove|scrap|drop|strike|get rid of|cross out|clear|purge|discard|throw (?:out|away)|take out|"
    r"lose|ditch|"
    r"scratch|cancel|leave out|bin)"
)
TAKES_OUT = regex(
    r"\b(?:forget|delete|remove|erase|wipe|drop|take out|get rid of|vergiss|lösch\w*|streich\w*|olvida\w*|borra|"
    r"elimina|glem|slett|fjern|oublie|efface|supprime)\b|忘|删|ลืม|ลบ",
    re.IGNORECASE,
)
"""Words that take something out, other than those that only keep it from being noted."""
_ABOUT = (
    r"(?:(?:(?:that|this|the) (?:bit|part|thing|stuff|line|note)? ?about |about |that i (?:said|told|mentioned|"
    r"wrote)(?: you)? |what i (?:said|told you|mentioned|wrote) |the "
    r"fact that |"
    r"everything |anything |all |whatever )*(?:(?:what )?you (?:know|have|wrote|noted)(?: down)? )?(?:about |on |of |"
    r"regarding )?)"
)
_THAT = (
    r"(?:that|this|it|all (?:of )?(?:that|this|it)|any of (?:that|this|it)|everything|them|those|these|that one|"
    r"this one|"
    r"that last (?:bit|part|thing|one|message)|the last (?:bit|part|thing|one|message)|what i (?:just )?said|"
    r"(?:everything |all )?(?:that )?i (?:just )?(?:said|told you|wrote|mentioned)|my last message)"
)
_KEEP = (
    r"(?:keep|note|save|store|remember|record|log|retain|write|put|jot|memori[sz]e|file|hang on to|hold on to|add|"
    r"keep track of)"
)
_NOT = r"(?:don'?t|do not|dont|no need to|rather you didn'?t|never|not to|please not|without)"
_EVER = regex(
    r"\b(?:never|ever|always|permanently|forever|for (?:ever|good|all time)|off[- ]limits|taboo|not (?:now|in "
    r"this chat)|"
    r"any other|from (?:now|today) on|in future|at any time|no matter what|under no circumstances|nothing|not to "
    r"keep anything|"
    r"excluded|out of bounds|nunca|jamás|nie|niemals|aldri|永远|从不|不要再?记|ห้าม|อย่า)\b|永远|不要记|别记|ห้าม|อย่า",
    re.IGNORECASE,
)
_STOP = regex(
    rf"\s*(?:[,;:–—(]|(?!{INSIDE})\.(?:\s|$)|[!?]|\b(?:that'?s|because|since|as i|cause|cos|"
    r"i (?:don'?t|dont|'?ve|was|am|will|changed|need|want|just|think)|"
    r"i'?m|it'?s|but|please|pls|thanks|for now|ok(?:ay)?|anymore|any more|everywhere|"
    r"(?<!where )(?<!what )(?<!how )(?<!who )(?:she|he|they)|if you (?:can|could|would)|"
    r"would you|will you|can you|again|btw|and (?:btw|also|by the way|i|im|i'm))\b).*$",
    re.IGNORECASE | re.DOTALL,
)
_FROM = regex(rf",?\s*\b(?:from|out of|in|off|into) {_BOOK}\b.*$", re.IGNORECASE)

_IDIOMS = regex(
    r"\b(?:(?:i|we|he|she|they|you|people|never|not|to|i'll|ill|who|could|can't|cannot|don'?t|dont|didn'?t|won'?t|"
    r"almost|let me)"
    r"(?: \w+)? forget|forget(?:ting|s)? (?:to|whether|if|how|why|when|where|what time|who)\b|unforgett\w+)",
    re.IGNORECASE,
)
_LET_GO = regex(r"(?:^|[,.]\s*)(?:oh |ah |just |ok |well )?forget (?:it|about it)\b[,.;!]*\s+(?=\S)", re.IGNORECASE)
_NAMED = regex(rf"{_POLITE}(?P<verb>{_FORGET}|{_DROP})\s+(?P<what>{_ABOUT})(?P<matter>.+)", re.IGNORECASE | re.DOTALL)
_TAKE = regex(
    rf"{_POLITE}(?:take|keep|leave|get) (?P<matter>.+?) (?:out of|off|from) {_BOOK}", re.IGNORECASE | re.DOTALL
)
_UNNAMED = regex(
    rf"{_POLITE}(?:(?:{_FORGET}|{_DROP}|ignore|disregard|skip|un-?note) {_THAT}|(?:scratch|strike|scrap|drop) "
    rf"(?:that|it|this)|"
    rf"{_NOT} (?:you )?(?:to )?{_KEEP}\b(?: {_THAT}| a word of (?:that|this|it))?(?: (?:down|anywhere|on file|"
    rf"{_BOOK}))*|"
    rf"{_NOT} {_KEEP} {_THAT} (?:down|in {_BOOK}|to {_BOOK}|anywhere)|"
    rf"(?:that|this|it) (?:was|is|stays|should stay|must stay|'s|s) (?:private|confidential|off the record|"
    rf"between us|"
    rf"not for (?:the|your) (?:record|notes|book)|personal|secret)|(?:keep|leave) {_THAT} (?:out|off|between us)\b.*|"
    rf"(?:this|that) (?:one )?(?:isn'?t|is not|wasn'?t|was not) for (?:the|your) (?:record|notes|book)|"
    rf"(?:that|this|it) (?:doesn'?t|does not|need not|needn'?t|shouldn'?t|mustn'?t) (?:belong|go|be) (?:in|into|"
    rf"kept|noted|stored|"
    rf"saved|written).*|not for (?:the|your) (?:record|notes?|book|memory|files?)|off the record|between (?:you "
    rf"and me|us)|"
    rf"i (?:don'?t|do not|never) want (?:that|this|it|any of (?:that|this|it)) (?:on (?:the )?(?:record|file)|"
    rf"kept|noted|"
    rf"saved|stored|remembered|recorded|written down|in {_BOOK})|(?:(?:no|nope|nah)(?: need| thanks?| thank "
    rf"you)?\b[\s,.]*)(?:it'?s |that'?s |that "
    rf"was |this is |it was )?(?:just|only) (?:for )?"
    rf"(?:this|that|today|now|the) ?(?:\w+ ?){{0,2}}|(?:strictly )?confidential)\W*(?:please|pls|"
    rf"thanks|ok|actually)?\W*",
    re.IGNORECASE,
)
_DECLINE = regex(
    rf"{_POLITE}{_NOT} (?:you )?(?:to )?{_KEEP}\s+(?:down )?(?P<what>{_ABOUT})(?P<matter>(?:my|the|that|our|his|"
    rf"her|where|what|how)"
    rf"\b.+)", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_AHEAD = regex(
    rf"\W*{_POLITE}(?:(?:this (?:is|isn'?t|one is) )?(?:not for (?:the|your) (?:record|notes?|book|memory|files?)|"
    rf"off the record|"
    rf"between (?:you and me|us)|in confidence|confidentially|don'?t (?:note|write|keep|save) this(?: "
    rf"down)?)(?:,? (?:but|though))?)"
    rf"\s*[,:;–—-]\s*(?=\w)", re.IGNORECASE,
)  # fmt: skip
_TAIL = regex(
    rf"(?<=[\s,.;–—-])(?:actually |no |oh |but |and |wait |please |pls )*(?:{_NOT} {_KEEP} (?:any of )?(?:that|"
    rf"this|it)\b.*|"
    rf"(?:(?:you can|can you|could you|please|pls|so) )*(?:{_FORGET}|{_DROP}) (?:that|it|this)(?: one)?(?: (?:from|"
    rf"out of) {_BOOK})?"
    r"(?:,? (?:please|pls|thanks|now))*\W*|"
    r"(?:scratch|scrap|strike) that\b.*|not for (?:the|your) (?:record|notes|book)\W*|off the record\W*)$",
    re.IGNORECASE,
)  # fmt: skip
_UNDO = regex(
    rf"{_POLITE}(?:undo (?:that|this|it|the last (?:one|change|thing))|undo|take that back|put (?:it|that) back|"
    r"revert (?:that|it)|change it back|undo the last)\W*(?:please|pls)?\W*", re.IGNORECASE,
)  # fmt: skip
_PUT_BACK = regex(
    rf"{_POLITE}(?:put (?:it|that|this|them|the [\w ]{{2,30}}) back|bring (?:it|that) back|restore (?:it|that)|"
    r"(?:i (?:meant|mean|said)[,:]? )?(?:don'?t|do not|dont) (?:forget|delete|remove|drop)\b(?!.*\bto\b)|"
    r"(?:i (?:meant|mean)[,:]? )?keep (?:it|that|this|the|my)\b)",
    re.IGNORECASE,
)
_FOREIGN = regex(
    r"(?:vergiss|lösch\w*|streich\w*)\s+(?:bitte\s+)?(?P<de>.+?)(?:\s+bitte)?$|"
    r"(?:olvida|borra|elimina|olvídate de)\s+(?:por favor\s+)?(?P<es>.+?)$|(?:glem|slett|fjern)\s+(?P<nb>.+?)$|"
    r"(?:oublie|efface|supprime)\s+(?P<fr>.+?)$|(?:请|把)?(?:忘掉|忘记|删掉|删除)(?P<zh>.+?)(?:吧)?$|"
    r"(?:ลืม|ลบ)(?:เรื่อง)?(?P<th>.+?)(?:ด้วย|ที|นะ|ครับ|ค่ะ)*$", re.IGNORECASE,
)  # fmt: skip
_FOREIGN_THAT = regex(
    r"(?:merk dir das nicht|(?:das )?(?:bitte )?nicht (?:merken|speichern|notieren)|vergiss das|behalt\w* das nicht|"
    r"no (?:lo )?(?:recuerdes|guardes|apuntes)(?: eso)?|olvídalo|olvida eso|que quede entre nosotros|"
    r"ikke (?:husk|lagre|noter)\w*(?: det)?|glem det|n'enregistre pas ça|oublie ça|"
    r"别记|不要记|不用记|请勿记|别保存|ไม่ต้องจำ|อย่าจำ|อย่าบันทึก|ไม่ต้องบันทึก)[\W\w]{0,3}", re.IGNORECASE,
)  # fmt: skip


_SAID_ANEW = regex(
    r"(?:\w+ )?the (?:\d[\d.,]*|[a-z]+)(?: \w+){0,3}[,;.]+ *(?:it'?s |make it |now )*\d[\d.,]*k? "
    r"(?:is|would be|will do|are) ",
    re.IGNORECASE,
)
""" "Scratch the 5 positions, 8 is fine now": another value, no withdrawal."""
_FRONTED = regex(
    rf"(?:that|the|this) (?:bit|part|thing|stuff)?\s?(?:i (?:said|told you|mentioned)\s?(?:before|"
    rf"earlier)?\s?)?(?:about )?"
    rf"(?P<matter>.+?)[,;–—-]+\s*{_POLITE}(?:take|leave|keep|get) (?:it|that|this) (?:out of|off) {_BOOK}.*",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=128)
def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a turn lie."""
    return tuple((one.start(), one.end()) for one in _SENTENCE.finditer(text) if one[0].strip())


def matter_of(words: str) -> str:
    """The named thing, without where it is to be taken from and without what is said about the order."""
    out = _FROM.sub("", words)
    out = (
        _STOP.sub("", out)
        if not re.match(r"(?:that )?(?:i|i'm|im|i've|we|my \w+ (?:is|has))\b", out, re.IGNORECASE)
        else _FROM.sub("", re.sub(rf"(?:[!?]|(?!{INSIDE})\.).*$", "", out, flags=re.DOTALL))
    )
    return out.strip(" \t\n.,!?;:\"'“”")


def withdrawals(text: str) -> list[Heard]:
    """The orders of a turn to keep something out, or to take it out."""
    found: list[Heard] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        one = _withdrawal(sentence, start)
        if one is not None:
            found.append(one)
    return found


def _withdrawal(sentence: str, start: int) -> Heard | None:
    plain = sentence.strip()
    end = start + len(sentence.rstrip())
    if (ahead := _AHEAD.match(sentence)) and ahead.end() < len(sentence.rstrip()):
        return Heard("withdraw", start, end, ahead=True, sentence=plain)
    if _LET_GO.match(sentence) or (_IDIOMS.search(sentence) and not _NAMED.match(plain)):
        return None
    if _UNNAMED.fullmatch(plain) or _FOREIGN_THAT.fullmatch(plain.strip(" .!")):
        return Heard("withdraw", start, end, sentence=plain)
    if _SAID_ANEW.match(plain):
        return None
    for pattern in (_FRONTED, _TAKE, _DECLINE, _NAMED):
        if one := pattern.match(plain):
            return _named(one, plain, start, end)
    if tail := _TAIL.search(sentence):
        return Heard("withdraw", start + tail.start(), end, sentence=plain)
    if one := _FOREIGN.fullmatch(plain.strip(" .!。！")):
        return Heard("withdraw", start, end, next(filter(None, one.groups())), sentence=plain)
    return None


_GOES_ON = regex(r"[\s,.;]+(?:and |oh |but )*(?:btw|by the way|also|and (?:i|im|i'm|my))\b", re.IGNORECASE)
"""From here on the person tells something else."""


def _named(one: re.Match[str], plain: str, start: int, end: int) -> Heard | None:
    told = one.groupdict()
    on = _GOES_ON.search(plain, one.start("matter"))
    end = start + on.start() if on and not re.match(r"\s+and my", on[0]) else end
    verb = (told.get("verb") or "").lower()
    if plain.endswith("?") and not re.match(
        rf"{_POLITE}$", plain[: one.start("matter")].rsplit(verb, 1)[0], re.IGNORECASE
    ):
        return None
    matter = matter_of(told["matter"])
    whole = re.search(r"\b(?:everything|anything|all|whatever)\b", told.get("what") or "", re.IGNORECASE)
    if not re.search(r"\w", matter) or re.fullmatch(rf"(?:{_THAT})\W*", matter, re.IGNORECASE):
        return Heard("withdraw", start, end, sentence=plain)
    sure = (
        bool(re.fullmatch(_FORGET, verb, re.IGNORECASE))
        or not verb
        or bool(_FROM.search(plain) or "about" in (told.get("what") or ""))
    )
    return Heard("withdraw", start, end, f"everything about {matter}" if whole else matter, sure=sure, sentence=plain)


def undo(text: str) -> Heard | None:
    plain = text.strip()
    return Heard("undo", 0, len(text), sentence=plain) if _UNDO.fullmatch(plain) else None


def put_back(text: str) -> Heard | None:
    """ "No wait, keep the app", "put it back": the last order is to hold no longer."""
    plain = text.strip()
    return Heard("undo", 0, len(text), sentence=plain) if _PUT_BACK.match(plain) else None
