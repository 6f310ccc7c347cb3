"""Questions about the book: everything, a matter, how it changed; answered from the book and from what this chat has
noted.

Newest first, and which is which is said. Only what really answers is told; where nothing does, that is said.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS, fold, stem, tokens
from keepbook.models.lines.matters import content_words, fit, states
from keepbook.models.lines.people import KIN, is_past, of_those
from keepbook.models.lines.slots import TITLE
from keepbook.models.offline.notebook.phrases import day
from keepbook.models.offline.notebook.talk import Talk
from keepbook.models.orders.hear import sentences

MOST = 40
MOST_ANSWERS = 4
MOST_TURNS = 3
QUOTE_CHARS = 200
_ALL = regex(
    r".*\b(?:what|all|everything|anything)\b.{0,30}\b(?:you|u|ya)\b.{0,12}\b(?:know|knw|have|got|remember|noted|"
    r"written|wrote|saved|stored|keep|hold)\b.{0,20}"
    r"\b(?:about|abt|on|of|from) (?:me|myself|us)\b.*|.*\bwhat (?:have|did|do) (?:you|u) (?:remember|noted?|"
    r"written?|write|wrote|saved?|kept|keep|got)\b(?: down)?(?: so far| here| today| now| from (?:this|our) chat| in "
    r"this chat|,? all of it)*\W*|"
    r".*\bwho am i\b.*|.*\b(?:show|list|tell) (?:me )?(?:everything|all|what) (?:you|u) (?:know|have|remember|"
    r"noted)\b.*|"
    r".*\bwhat(?:'?s| is) (?:in|on) (?:my|the|your) (?:book|memory|notes|file|list)(?: (?:about|on|of) me)?\W*|"
    r".*\bwas weißt du (?:alles )?(?:über|"
    r"von) mi(?:ch|r)\b.*|.*\bqué sabes (?:de|sobre) mí\b.*|"
    r".*\bhva vet du om meg\b.*|.*(?:你(?:都)?知道我(?:什么|些什么)|关于我你知道).*|.*รู้อะไรเกี่ยวกับ(?:ฉัน|ผม).*",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_ASKS = regex(
    r"\?\s*$|\b(?:what'?s|where'?s|when'?s) (?:my|our)\b|\b(?:what|where|when|which) (?:do|did|am|was) i\b|"
    r"^\W*(?:(?:and|so|ok(?:ay)?|hey|oh|but|btw)\b[\s,]*)*(?:do|did|have|am) i\b|^\W*(?:(?:and|so|ok(?:ay)?|"
    r"hey)\b[\s,]*)*"
    r"(?:is|are|was) (?:my|it)\b|"
    r"^\W*(?:(?:and|so|ok(?:ay)?|hey|oh|but|btw|hm+|wait|again|also|sorry|quick question|just checking|thanks|"
    r"cool|k)\b[\s,.:-]*)*"
    r"(?:what(?:'?s)?|who(?:se|'?s)?|where'?s|when'?s|which|how (?:much|many|old|often|long|big|tall)|"
    r"(?:where|when|how) (?:is|are|am|was|were|do|does|did|will|can|should|have|has))\b|"
    r"^\W*(?:\w+[,.]? ){1,12}?(?:what(?: is| was| are| did| do|'?s)?|who(?: is| was|'?s)|how (?:much|many|old|"
    r"often|long)(?: is| was| are| did| do)?) (?:i|i'?m|my|our|we|in (?:ur|your) notes)\b|"
    r"^\W*(?:\w+[,.]? ){0,12}?(?:remind me|"
    r"tell me (?:what|where|when|who|which|how|about)|(?:do|did|can|could) (?:you|u) (?:know|remember|have|note|"
    r"tell|say)|wo|wann|wie|wer|welche|dónde|cuándo|cuál|quién|hvor|når|hvem|hvilke)\b",
    re.IGNORECASE,
)  # fmt: skip
_MINE = regex(
    r"\b(?:i|i'm|im|my|me|mine|we|our|us|told you|you have|u have|mein\w*|ich|mi|mis|yo|min|mitt|jeg)\b|我|ฉัน|ผม",
    re.IGNORECASE,
)
_ABOUT = regex(
    r".*\b(?:know|have|got|remember|say|said|told|wrote|noted|mention\w*|book|notes|talk\w*)\b.{0,24}\b(?:about|"
    r"on|of|regarding|concerning)\b (?P<matter>.+?)\W*$", re.IGNORECASE | re.DOTALL
)  # fmt: skip
_SAID = regex(
    r"\b(?:what|when|did|have) .{0,12}\b(?:i|we)\b.{0,14}\b(?:say|said|tell|told|mention\w*|wrote|write|talk\w*)\b",
    re.IGNORECASE,
)
_HISTORY = regex(
    r".*\b(?:how (?:has|have|did) (?P<one>.+?) changed?\b|what(?:'s| has) changed (?:about|with|in) (?P<two>.+?)|"
    r"history of (?P<three>.+?))\W*$",
    re.IGNORECASE,
)
_LIGHT = frozenset(
    stem(word)
    for words in (
        "what where when who which how much many again know remember tell say said told book have has had get got",
        "long old name called just mind remind is was were ever written down noted still exactly test testing figure",
        "number u ur rn altogether day days n forgot whats abt mine one the do does did i my must should can need",
        "two three four five six seven eight nine ten",
    )
    for word in words.split()
)


_WHICH = regex(
    r"\b(?:which|what) .{2,40}\b(?:do|have) (?:you|u)\b.{0,12}\b(?:have|know|got|keep)\b|\bof mine\b", re.IGNORECASE
)


_TELL_ME = regex(r"\b(?:tell|show|give|remind|help|explain to|teach) me\b", re.IGNORECASE)
_OF_YOU = regex(r"\b(?:what|how|where|which|who) (?:would|could|should|can|will) (?:you|u)\b", re.IGNORECASE)
""" "If you had a million, what would you do?" asks for an opinion, not for what is known."""
_RULES = regex(
    r"\b(?:rules?|limits?|principles?)\b(?=.*\b(?:of mine|mine|do you have|you have|i have|did i)\b)|\bmy rules\b",
    re.IGNORECASE,
)
_RULE = regex(
    r"\b(?:never|always|only|max(?:imum)?|at most|no more than|don'?t|doesn'?t|must|from now on|every time)\b|"
    r"^(?:if|when|no|stop)\b",
    re.IGNORECASE,
)
_AT_HOME = regex(r"\bwhere (?:do|am) (?:i|we) (?:live|from|based|located)\b|\bwhere i live\b", re.IGNORECASE)
_AT_WORK = regex(r"\bwhere (?:do|did|am) (?:i|we) work", re.IGNORECASE)
_CALLED = rf"(?:{TITLE} )?(?-i:[A-ZÀ-Þ])[\w’-]+(?: (?-i:[A-ZÀ-Þ])[\w’-]+)?"
_SOMEBODY = regex(
    rf"\b(?:who(?:'?s| is| was)|wer ist|quién es|hvem er|how old is) ({_CALLED})\W*$|"
    rf"\b(?:what|when|where|who|which|how old)\b.{{0,20}}\b({_CALLED})['’]s? \w|"
    rf"\bwh(?:at|ere|en|o|ich \w+) (?:does|did|can|will|should|must) ({_CALLED}) "
    r"(?:do|like|love|hate|live|work|eat|drink|avoid|take|want|need|say|come|play|study|speak|drive|owe|earn|prefer|"
    r"have)\b|"
    rf"\bwh(?:at|ere|en|o) (?:is|was) ({_CALLED}) (?:allergic|intolerant|afraid|scared|fond|married|engaged|born|from|"
    r"into|good at|living|working|studying|doing|based)\b",
    re.IGNORECASE,
)
"""Who asks of somebody by name asks for what the book says of them."""
_MOVED = regex(r"(?:Has )?(?:just |recently )?(?:moved|relocated)\b.*\bto (?-i:[A-ZÀ-Þ])", re.IGNORECASE)
_LIVES = regex(r"(?:Now |Currently )?(?:Lives|Resides|Is (?:living|based)|Based)\b", re.IGNORECASE)
_FROM = regex(r"(?:Is|From|Based|Comes|Grew)\b.*\b(?:in|from|near) (?-i:[A-ZÀ-Þ])", re.IGNORECASE)


class Found(NamedTuple):
    content: str
    here: bool
    """Noted in this chat, not yet in the book."""
    id: str | None = None


def is_question(text: str) -> bool:
    return bool(_ASKS.search(text.strip())) or bool(_ALL.fullmatch(text.strip()))


def lines(talk: Talk) -> list[Found]:
    """Everything there is, newest first: what this chat has noted, then the book."""
    told = talk.conversation
    here = [Found(one, True) for one in reversed(told.noted)]
    return [*here, *(Found(one.content, False, one.id) for one in reversed(told.known))]


def answer(talk: Talk) -> str | None:
    """The answer to a question about the person; None where it asks for something else."""
    text = _CALLS.sub(r"my \g<0>", talk.text.strip())
    if _ALL.fullmatch(text):
        return everything(talk)
    if changed := _HISTORY.fullmatch(text):
        return history(talk, next(filter(None, changed.groups())))
    if not is_question(text):
        return None
    about = _ABOUT.fullmatch(text)
    if _OF_YOU.search(text) and not about:
        return None
    if _RULES.search(text) and (rules := [one for one in lines(talk) if _RULE.search(one.content)]):
        return tell(talk, rules[:MOST])
    somebody = _somebody(text)
    nobody = somebody is not None and not any(_names(somebody, one.content) for one in lines(talk))
    held = [] if nobody else found(talk, about["matter"]) if about else found(talk, text)
    turns = _turns(talk, about["matter"] if about else text) if _SAID.search(text) or not held else []
    if held or turns:
        return "\n".join(filter(None, [tell(talk, held) if held else "", *turns]))
    if _WHICH.search(text) and len(lines(talk)) <= MOST_TURNS * 2:
        return everything(talk)
    if somebody is not None:
        return talk.say("nothing_about", matter=somebody)
    mine = any(_MINE.search(_TELL_ME.sub(" ", part)) for part in _asked(text))
    return talk.say("nothing") if mine or about else None


def _somebody(text: str) -> str | None:
    """Whom a question names; a relation is no name, however it is spelt."""
    asked = _SOMEBODY.search(text)
    name = None if asked is None else next(filter(None, asked.groups()))
    return None if name is None or _RELATION.fullmatch(name) else name


def _names(somebody: str, line: str) -> bool:
    return bool(set(map(stem, tokens(somebody))) & {stem(word.removesuffix("'s")) for word in tokens(line)})


_RELATION = regex(KIN, re.IGNORECASE)
_CALLS = regex(
    r"(?<!\bmy )(?<!\bour )(?<!\byour )\b(?:Mum|Mummy|Mom|Mommy|Mama|Mother|Dad|Daddy|Papa|Father|Grandma|Granny|"
    r"Grandmother|Grandpa|Grandad|Grandfather)\b(?! (?-i:[A-ZÀ-Þ]))"
)
"""Whom one calls by what they are: "Where does Mum live?" asks of one's own."""


def found(talk: Talk, question: str) -> list[Found]:
    """The lines that answer, newest first: those that state most of what is asked, rare words counting more."""
    clauses = _asked(question)
    theirs = set(of_those(" ".join(clauses), (one.content for one in lines(talk))))
    every = [one for one in lines(talk) if one.content in theirs]
    every = [one for one in every if all(_has_head(clause, one.content) for clause in clauses)]
    if _AT_HOME.search(question):
        home = [one for one in every if _MOVED.match(one.content) or _LIVES.match(one.content)]
        if home and _MOVED.match(home[0].content):  # said last: whatever else is told of a home was so before
            return home[:1]
        every = [one for one in every if not (home and is_past(one.content))]
    if _AT_WORK.search(question):
        every = [one for one in every if not re.search(r"\bat work\b", one.content, re.IGNORECASE)]
    if any(_OWN_NAME.search(clause) for clause in clauses):
        return [one for one in every if _NAMED.match(one.content)][:1]
    wanted = list(dict.fromkeys(word for clause in clauses for word in content_words(clause) if word not in _LIGHT))
    stated = {word: [states(word, one.content) for one in every] for word in wanted}
    weights = {word: 1 / sum(hits) for word, hits in stated.items() if any(hits)}
    scored = [sum(weights[word] for word in weights if stated[word][at]) for at in range(len(every))]
    best = max(scored, default=0.0)
    core = {word for clause in clauses for word in content_words(clause.split(",")[0]) if word not in _LIGHT}
    if not best or len(core & weights.keys()) * 2 < len(core):
        return [one for one in every if _FROM.match(one.content)][:1] if _AT_HOME.search(question) else []
    return [one for one, score in zip(every, scored, strict=True) if score >= best * 0.5][:MOST_ANSWERS]


def _asked(text: str) -> list[str]:
    """The sentences of a message that ask; the whole of it where none seems to."""
    parts = [text[start:end] for start, end in sentences(text)]
    asking = [part for part in parts if part.strip().endswith("?")] or parts
    clauses = [_CLAUSE.search(part) for part in asking]
    return [part if clause is None else clause[0] for part, clause in zip(asking, clauses, strict=True)]


_CLAUSE = regex(
    r"\b(?:what(?:'?s)?|where(?:'?s)?|when(?:'?s)?|who(?:se|'?s)?|which|how (?:much|many|old|often|long|big|tall))\b"
    r"(?=.*\b(?:i|i'?m|i'?ve|my|our|we|me|mine)\b)(?:(?!\b(?:haha+|lol|thx|thanks|pls|please)\b).)*",
    re.IGNORECASE | re.DOTALL,
)
"""From the word that asks on: what stands before it is not asked for."""
_OWN_NAME = regex(r"\bmy (?:own |full |first )?name\b|\bwhat (?:am i|i am) called\b", re.IGNORECASE)
_NAMED = regex(r"(?:is|goes|name|full name|first name)\b.{0,12}\b(?:called|named|by|is)\b", re.IGNORECASE)
_THING = regex(
    r"\b(?:what|when|where|who|how)(?:'?s| is| are| was) (?:(?:my|our|the) )?(?P<thing>[\w' -]+?)"
    r"(?=\W*$|[,;:.?!]| (?:in|on|at|for|of|after|before|with|from|when|again|now|called|these|like)\b)",
    re.IGNORECASE,
)
_ANY_HEAD = frozenset(map(stem, ["appointment", "meeting", "visit", "date", "time", "plan", "situation", "details"]))


def _has_head(clause: str, line: str) -> bool:
    """Of "my blood type" the type is asked for: a line about blood alone does not answer."""
    thing = _THING.search(clause)
    words = content_words(thing["thing"]) if thing else ()
    return len(words) < 2 or words[-1] in _LIGHT | _ANY_HEAD or fit(words[-1], line) > 0


def everything(talk: Talk) -> str:
    every = lines(talk)
    return tell(talk, every[:MOST]) if every else talk.say("empty")


def tell(talk: Talk, held: Sequence[Found]) -> str:
    """What was found, newest first, and where it stands."""
    here, book = [one for one in held if one.here], [one for one in held if not one.here]
    parts = []
    for key, some in (("chat", here), ("book", book)):
        if some:
            parts.append("\n".join([talk.say(key), *(f"- {one.content}" for one in some)]))
    return "\n".join(parts)


def history(talk: Talk, matter: str) -> str:
    """How a memory came to say what it says."""
    held = [one for one in found(talk, matter) if one.id]
    if not held or not talk.tools.can("history"):
        return tell(talk, held) if held else talk.say("nothing")
    versions = talk.tools.do("history", memory=held[0].id).data["versions"]
    return "\n".join(
        [talk.say("history"), *(f"- {one['content']} ({day(talk.tongue, one['valid_from'])})" for one in versions)]
    )


def _turns(talk: Talk, matter: str) -> list[str]:
    """What the person said of it in earlier chats, where the preset can look there."""
    wanted = [word for word in content_words(matter) if word not in _LIGHT and word not in STOP_WORDS]
    if not talk.tools.can("recall_chats") or not wanted:
        return []
    data = talk.tools.do("recall_chats", query=matter, limit=10).data
    here = {fold(one.text) for one in talk.conversation.said}
    told = []
    for hit in data.get("hits", ()) if isinstance(data, dict) else ():
        text = " ".join(str(hit["text"]).split())
        stated = set(map(stem, tokens(text)))
        if hit.get("role") == "user" and fold(text) not in here and not is_question(text) and set(wanted) <= stated:
            told.append(talk.say("earlier", day=day(talk.tongue, hit["at"]), line=text[:QUOTE_CHARS]))
    return told[:MOST_TURNS]
