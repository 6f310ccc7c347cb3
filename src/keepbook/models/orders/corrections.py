"""Corrections that are not whole sentences: "no sorry, 65,000", "not four, six", "change that to 55", "it was Bursa".

What comes out is a value and, where it was said, the old value or the matter. Whether it is a correction of
something kept
depends on what was said before, which is not known here.
"""

import re
from dataclasses import replace

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS
from keepbook.models.lines.slots import INSIDE, NUMBER_WORDS, slots, value
from keepbook.models.lines.wording import CLEFT
from keepbook.models.orders.hear import Heard, sentences

_MARK = (
    r"(?:no+|that'?s (?:wrong|not right|incorrect)(?: by now| now)?|nope|nah|sorry|oops|oh|wait|hang on|"
    r"hold on|actually|correction|i mean|i meant|rather|hm+|ugh+|argh|"
    r"well|my bad|"
    r"i misspoke|typo|scratch that|or rather|wrong|ah|erm?|um+|and|but|so|my mistake|sry|whoops|yikes|"
    r"i (?:put|typed|wrote|said|gave) (?:you )?the wrong (?:one|number|thing|name|date))"
)
_V = rf"(?:[^,.;!?]|(?<=\d)[.,:](?=\d)|{INSIDE})"
"""A letter of a value: what parts words ends it, but not inside a figure, nor after "Dr."."""
_ENDS = rf"(?:[;!?].*|,(?!\d).*|(?!{INSIDE})\.(?:\s.*)?)?$"
"""What may follow a value: the end of its sentence, and what comes after."""
_MARKS = regex(rf"^\W*(?:{_MARK}\b[\s,.:;!–—-]*)+", re.IGNORECASE)
_PLAIN_MARK = regex(r"^\W*(?:and|but|so|oh|well|hm+|um+|erm?)\b", re.IGNORECASE)
_NOT_FIRST = regex(
    rf"^(?:it(?:'s| is| was)? |that(?:'s| is)? )?not (?P<old>{_V}{{1,40}}?)\s*(?:,|;|–|—|-| but| it'?s| "
    rf"rather)\s*(?:but |it'?s |it is |rather )?"
    rf"(?P<new>{_V}{{1,40}})[\s.!,]*(?P<rest>.*)$", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_NOT_LAST = regex(
    rf"^(?:(?:it|that)(?:'?s| is) |make (?:it|that) )?(?P<new>{_V}{{1,40}}?)[\s,!.]+(?:and )?not "
    rf"(?P<old>{_V}{{1,40}})(?:[\s.!?,]+(?P<rest>.*))?$",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_SWAP = regex(
    rf"^(?:please |pls )*(?:(?:swap|replace|exchange|change) (?P<old>{_V}{{1,40}}?) (?:for|with|by) "
    rf"(?P<new>{_V}{{1,40}}))[\s.!]*$",
    re.IGNORECASE,
)
_INSTEAD = regex(rf"^(?P<new>{_V}{{1,40}}?) (?:instead of|rather than) (?P<old>{_V}{{1,40}})[\s.!]*$", re.IGNORECASE)
_SAID = regex(
    rf"^(?:i (?:told you|said|wrote|put|typed|gave you)) (?P<old>{_V}{{1,40}}?)(?: earlier| before| above| last "
    rf"time)?(?:,? but|,) (?:it'?s|it is|it was|i meant|"
    rf"it should be|that'?s|actually it'?s) (?P<new>{_V}{{1,40}})", re.IGNORECASE,
)  # fmt: skip
_CHANGE = regex(
    r"^(?:please |pls |can you |could you |just )*(?:(?:change|update|correct|set|fix|edit|amend|switch) "
    r"(?P<what>that|it|this|the last one|"
    r"(?:my|the|our) [^,.;]{2,40}?) (?:to|into|->)|make (?:that|it)|it should (?:be|say|read)|that should (?:be|"
    r"say|read)|"
    rf"make (?P<made>(?:my|the|our) \w+(?: \w+)?)(?= (?:til|till|until|on|at|for|to)\b)|"
    rf"it'?s supposed to be|i meant|should be|call it)\s+(?P<new>{_V}{{1,60}}?){_ENDS}", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_FIGURE = rf"(?:[$€£¥₹]? ?\d[\d.,]*(?: ?(?:k|%|percent)\b)?|{'|'.join(NUMBER_WORDS)})"
_FIGURED = regex(
    rf"^(?:please |pls )*(?:(?:scratch|drop|scrap|ditch|not|forget) )?the (?P<old>{_FIGURE})(?: (?:\w+ ?){{1,3}})?"
    rf"(?:[,;.]+| (?:is|are)) *(?:(?:it'?s|make it|now|is|are|actually|really|rather|only) )*(?P<new>{_FIGURE})"
    r"(?=\W|$)(?! \w+ (?:of|times))(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
""" "The 50 is 75 since this month", "scratch the 5 positions, 8 is fine"."""
_WAS = regex(
    rf"[,;.–—-]+\s*(?:the )?(?P<old>{_FIGURE}) (?:was|is|were) (?:last|before|the old|old|wrong|from|a typo|"
    rf"what|my old)\b",
    re.IGNORECASE,
)
""" "Make that 350 a day, 400 was last year": the old value stands behind."""
_WRONG = regex(
    r"^(?:you (?:have|got|have got|'ve got) |that'?s wrong[,.] )?(?P<what>(?:my|the|our) [\w' -]{2,30}?) (?:is |"
    r"are )?(?:wrong|incorrect|misspelled|misspelt)[,.:;–—-]*\s*"
    rf"(?:it'?s|it is|(?:her|his|their|its|the right|the correct)(?: \w+)? is|should be|not \w+ "
    rf"but)?\s*(?P<new>{_V}{{1,40}})", re.IGNORECASE,
)  # fmt: skip
_IT = regex(
    rf"^(?:it(?:'s|s| is| was)|that(?:'s|s| is)|they(?:'re| are)|(?:she|he)(?:'s| is)) "
    rf"(?P<new>{_V}{{1,60}}?){_ENDS}",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = regex(
    rf"^(?P<what>(?:my|the|our|his|her|its|their) [\w' -]{{2,40}}?) (?:is|are|was|should be) "
    rf"(?P<new>{_V}{{1,40}}?){_ENDS}",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = regex(
    rf"^(?P<new>{_V}{{1,40}}?)(?:\s*[;!?–—]+.*|\s*,(?!\d).*|(?!{INSIDE})\.(?:\s.*)?|"
    rf"\s+(?:actually|sorry|i mean|rather|i always|instead|that is)\b.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_NO_VALUE = regex(
    r"^(?:thanks?|thank you.*|ta|cheers|thx|ty|nvm|mate|dude|bro|man|"
    r"problem|worries|idea|way|need|rush|please|that'?s.*|it'?s (?:ok|fine|good|not).*|"
    r"i'?m .*|more|nothing|not really|yes|no|ok(?:ay)?|"
    r"don'?t.*|do not.*|never ?mind|of course|sure|the same|same|fine|good|great|cool|right|correct|true|wrong|"
    r"later|now|maybe|both|all|none|you|me|"
    r"what|why|how|when|where|who|which|stop|wait|help|go on|continue|keep .*|leave .*|everything|anything|"
    r"something|this|that|it|again|forget.*|for now|"
    r"too .*|very .*|so .*|bad|sad|nice|funny|lol|haha|hmm|any ?more|there|here|today|tomorrow|never|always|"
    r"instead|(?:a bit |much |little )?"
    r"(?:short|long|small|bigg|larg|formal|casual|simpl)\w*|less .*|try .*|show .*|tell .*|write .*|give .*|make "
    r".*|use .*|calculate .*|add .*|"
    r"remove .*|can you.*|could you.*|let'?s.*|do it.*|to .*)$", re.IGNORECASE,
)  # fmt: skip
_WHOLE = regex(r"(?:i|i'm|im|i've|ive|we|my|our|he|she|they|it)\b", re.IGNORECASE)
"""So a whole sentence begins; it says for itself what is so."""
_OF = regex(r"(?P<new>\S+(?: \S+)?) (?:in|on|at|for|of|per|as) (?P<what>(?:the|my|our) [\w ]{2,30})", re.IGNORECASE)
_INSIDE = regex(
    r"^(?P<before>.{8,200}?)[\s,.;–—-]+(?:no wait|wait no|no sorry|sorry no|no actually|i mean|sorry i mean|oops|"
    r"correction|no make that|make that)[\s,:–—-]+"
    rf"(?P<new>{_V}{{1,40}}?)(?P<rest>[,.;!?](?!\d).*)?$", re.IGNORECASE | re.DOTALL,
)  # fmt: skip


_HEADED = regex(
    r"^\W*(?:(?:quick|one|a|just|small|word|note|thing|correction|more|and|oh|sorry)\b\s*)*"
    r"(?:about|on|regarding|re|as for|concerning)\s+(?P<what>[^,:.;?!]{2,40})[,:.;–—-]+\s*(?=\S)",
    re.IGNORECASE,
)
""" "About my meetings: after 11, not after 10": the matter stands before the correction."""
_QUOTED = regex(
    r"^\W*(?:you|u) (?:wrote|have|noted|said|put|saved|think|kept)(?: down)?(?: that)? (?P<what>.{4,120}?)"
    r"(?:[.,;:!–—-]+\s*|\s+)(?:but |actually |no,? )*(?:it(?:'?s| is| was)|they(?:'re| are)|i meant|should be)\s+"
    rf"(?P<new>{_V}{{1,40}})",
    re.IGNORECASE,
)
""" "You wrote that I play the cello. It's the viola." """
_ASIDE = regex(r",\s*(?:by the way|btw|i think|you know)\s*,\s*", re.IGNORECASE)
AFFIRMS = regex(
    r"^\W*(?:(?:no|yes|yeah|nope|ah|oh)\b\W*)*(?:that|it|this)(?:'?s| is| was) (?:right|correct|true|fine|ok(?:ay)?)\b",
    re.IGNORECASE,
)
""" "No, that's right, 49" changes nothing."""
TAKES_BACK = regex(r"\bthat(?:'?s| is) what i (?:said|told you|had|wrote)\b", re.IGNORECASE)
""" "No, five. I beg your pardon, that is what I said." """
TURNED = regex(
    r"\bother way a?round\b|\bwe(?:'ve)? (?:switched|swapped)(?=[,.:]| roles?\b)|\bvice versa\b|\bback to front\b",
    re.IGNORECASE,
)
""" "The other way round": two values of a line change places."""


def correction(text: str) -> Heard | None:
    """The correction that a turn consists of or begins with, as a value; None where it is none. What the person goes on
    to tell of themselves, in a sentence of its own, is no part of it."""
    found = _correction(text)
    if found is None or not found.value:
        return found
    at = text.find(found.value, found.start)
    later = (start for start, end in sentences(text) if start > at >= 0 and _TELLS.match(text[start:end]))
    return replace(found, end=min(found.end, next(later, found.end)))


_TELLS = regex(
    r"\W*(?:(?:and|also|oh|plus|btw|by the way|but)\W+)*(?:i|i'?m|i'?ve|we|we'?re|we'?ve|my|our)\b", re.IGNORECASE
)


def _correction(text: str) -> Heard | None:
    if AFFIRMS.match(text):
        return None
    if one := _QUOTED.match(text.strip()):
        old = next((word for word in reversed(one["what"].split()) if word.lower() not in STOP_WORDS), "")
        made = _heard(text, one)
        return None if made is None else replace(made, matter=one["what"], old=old.strip(" .,"))
    if headed := _HEADED.match(text):
        made = _slip(text[headed.end() :])
        if made is not None:
            return replace(made, end=len(text), matter=made.matter or headed["what"], sentence=text.strip())
    found = _slip(text)
    if found is None:
        for start, end in sentences(text)[1:3]:
            later = _slip(text[start:end])
            if later is not None and later.old:
                return later
    return found


def _slip(text: str) -> Heard | None:
    plain = _ASIDE.sub(", ", text.strip())
    marked = _MARKS.match(plain)
    rest = plain[marked.end() :] if marked else plain
    strong = marked is not None and not _PLAIN_MARK.fullmatch(marked[0].strip(" ,.!"))
    for pattern in (*CLEFT, _SWAP, _INSTEAD, _SAID, _WRONG, _FIGURED, _NOT_FIRST):
        if one := pattern.match(rest.rstrip(" .!")):
            return _heard(text, one)
    if one := _CHANGE.match(rest):
        made, was = _heard(text, one), _WAS.search(rest)
        return replace(made, old=was["old"]) if made is not None and was is not None else made
    if (one := _NOT_LAST.match(rest)) and (made := _instead(text, one)):
        return made
    if not rest or rest.endswith("?"):
        return None
    for pattern in (_NAMED, _IT, _HEAD):
        one = pattern.match(rest)
        if one is None or not _usable(one["new"]):
            continue
        named = pattern is not _HEAD
        if strong or _confesses(plain) or (named and marked is not None):
            return _heard(text, one, sure=strong)
    return None


def _instead(text: str, one: re.Match[str]) -> Heard | None:
    """ "X, not Y": a value for a value, or a whole clause ("the wedding is on the 26th") with the value it denies."""
    clause = _NAMED.match(one["new"])
    made = _heard(text, clause) if clause else _heard(text, one) if _comparable(one["new"], one["old"]) else None
    return made and replace(made, old=_old(one["old"], made.value))


def _comparable(new: str, old: str) -> bool:
    """Whether both are values, or have values of one kind."""
    kinds = [{slot.kind for slot in slots(f"= {_trimmed(words)}")} for words in (new, old)]
    return value(_trimmed(new)) is not None or bool(kinds[0] & kinds[1])


def _confesses(text: str) -> bool:
    """It says that it mends something: "I always mix them up", "2031 actually"."""
    return bool(_CONFESSED.search(text))


_CONFESSED = regex(
    r"\b(?:actually|sorry|i (?:always )?(?:mix|mixed|got|misread|mistyped|misspoke|confused)|my mistake|not \w+|"
    r"i (?:just )?(?:checked|looked)|instead|i meant|to be exact|just read|typo|spelled|spelt)\b",
    re.IGNORECASE,
)


def _usable(new: str) -> bool:
    plain = _trimmed(new)
    placed = _OF.fullmatch(plain)
    return not _NO_VALUE.match(new.strip(" .!")) and value(placed["new"] if placed else plain) is not None


def _heard(text: str, one: re.Match[str], *, sure: bool = True) -> Heard | None:
    told = one.groupdict()
    new = _trimmed(told["new"] or "")
    if not new or _NO_VALUE.match(new) or _WHOLE.match(new):
        return None
    what = (told.get("what") or told.get("made") or "").strip()
    new = _ARTICLE.sub("", new) if told.get("old") else new
    if not what and (placed := _OF.fullmatch(new)):
        new, what = placed["new"], placed["what"]
    matter = "" if _POINTS.fullmatch(what) else what
    return Heard(
        "correct",
        0,
        len(text),
        matter,
        value=new,
        old=_old(told.get("old") or "", new),
        sure=sure,
        sentence=text.strip(),
    )


_ARTICLE = regex(r"^an? (?=\w)", re.IGNORECASE)
_POINTS = regex(r"(?:that|it|this|the last one|(?:his|her|its|their) .*)?", re.IGNORECASE)
"""What points to the one spoken of last."""
_PREPOSITION = regex(
    r"^(?:[^:\d]{0,40}:\s+)?(?:(?:at|on|in|after|before|about|around|for|to|til|till|until|from|it'?s|is|"
    r"spelled|spelt|written|"
    r"called|age|the)\s+)*(?=\S)",
    re.IGNORECASE,
)
_AFTERWARDS = regex(
    r"\s+(?:i mean|i meant|sorry|actually|rather|instead|please|pls|now|lol|haha+|since .*|from (?:now|"
    r"today)(?: on)?|going forward|"
    r"without .*|with an? .*)$",
    re.IGNORECASE,
)


def _trimmed(words: str) -> str:
    """A value without what leads to it and what trails behind it."""
    plain = _AFTERWARDS.sub("", words.strip(" .!\"'“”"))
    return _PREPOSITION.sub("", plain).strip(" .!\"'“”")


def _old(words: str, new: str) -> str:
    """The old value; where both are figures, the figure alone."""
    plain = _trimmed(words)
    right, wrong = value(new), [one for one in slots(f"= {plain}") if one.kind == "number"]
    return (
        wrong[0].text if right is not None and right.kind == "number" and not right.unit and len(wrong) == 1 else plain
    )


def begins(text: str) -> bool:
    """Whether a text begins like a correction."""
    return bool(_MARKS.match(text.strip()))


def inside(text: str) -> tuple[str, str] | None:
    """A sentence that corrects itself as it goes: what stood before, and the value that is right."""
    one = _INSIDE.match(text.strip())
    if one is None:
        return None
    words = one["new"].split()
    for many in range(len(words), 0, -1):  # "3.7 until 2030": the value, and what goes on after it
        new, on = " ".join(words[:many]), " ".join(words[many:])
        if value(new):
            return f"{one['before'].strip()} {on}".strip(), new
    return None
