"""What is told from the book: everything, a matter, an answer, how it changed.

Only what really answers is told, each line with the day it was noted; where nothing does, that is said.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from keepbook.book.text.words import fold, stem, tokens
from keepbook.models.offline.chat import matching
from keepbook.models.offline.chat.intents import Intent, one
from keepbook.models.offline.chat.known_here import Held, left_out
from keepbook.models.offline.chat.turn import Talk

MOST_LISTED, MOST_TOLD, MOST_ANSWERS, MOST_TURNS = 40, 8, 3, 3
QUOTE_CHARS = 200
_PERSONAL = re.compile(
    r"\b(?:i|i'm|my|me|mine|we|our|us|am|mi|mis|yo|mein\w*|ich|wir|min|mitt|mine|jeg|vi)\b", re.IGNORECASE
)
_WHEN = re.compile(r"^\W*(?:since )?(?:when|cuándo|wann|når)\b", re.IGNORECASE)
_TELLING = ("statement", "other", "save", "correct", "confirm", "ended")
"""Intents of a turn that told something."""


# --- the book


def everything(talk: Talk, intent: Intent) -> str:
    """All there is, or one category of it."""
    if not talk.kit.can("list") and not talk.kit.can("recall") and (refused := talk.off()):
        return refused
    category = _category(talk, intent.matter)
    if intent.matter and category is None:
        return about(talk, intent)
    found = talk.all(category)
    if not found:
        return talk.say("listing_empty") if not intent.matter else talk.say("nothing")
    lines = [f"- {held.content} ({_when(talk, held)})" for held in found[-MOST_LISTED:]]
    whole = talk.kit.can("list")
    more = len(found) - len(lines) + (0 if whole else left_out(talk.conversation.system))
    ends = [talk.say("listing_more", count=more)] if more else [] if whole else [talk.say("listing_given")]
    return "\n".join([talk.say("listing"), *lines, *ends])


def _category(talk: Talk, matter: str) -> str | None:
    wanted = {stem(word) for word in tokens(matter)}
    return next((name for name in talk.kit.categories if stem(name) in wanted), None) if wanted else None


def about(talk: Talk, intent: Intent) -> str:
    """What the book has on a matter, and with `said` also what earlier chats have."""
    return _about(talk, intent, talk.search(intent.matter))


def _about(talk: Talk, intent: Intent, found: Sequence[Held]) -> str:
    matches = matching.answers(intent.matter, found, least=matching.NEAR)
    best = [match.held for match in matches if match.score >= matches[0].score - 0.35][:MOST_TOLD]
    turns = _turns(talk, intent.matter, here=not best) if intent.kind == "said" else []
    if not best and not turns:
        return _blind(talk) or talk.say("nothing")
    dated = intent.kind == "said" and _WHEN.match(talk.text) and len(best) == 1 and best[0].day
    told = talk.say("when_one", day=best[0].day, line=best[0].content) if dated else tell(talk, best)
    return "\n".join(filter(None, [told, *turns]))


def answer(talk: Talk, intent: Intent) -> str:
    """A plain question, answered from the book or not at all."""
    question = intent.matter
    found = talk.search(question)
    matches = matching.answers(question, found)
    if matches:
        best = [match.held for match in matches if match.score >= matches[0].score - 0.1]
        return tell(talk, best[:MOST_ANSWERS])
    if turns := _turns(talk, question, here=True):
        return "\n".join(turns)
    near = matching.answers(question, found, least=matching.NEAR, names=False)
    said = [_blind(talk) or talk.say("nothing"), *(talk.say("nearest", line=match.held.content) for match in near[:1])]
    return " ".join(said if _PERSONAL.search(question) else [*said, talk.say("question")])


def history(talk: Talk, intent: Intent) -> str:
    """How a memory came to say what it says."""
    found = talk.search(intent.matter)
    meant = matching.meant(intent.matter, found)
    if len(meant) != 1 or not talk.kit.can("history"):
        return _about(talk, intent, found)
    versions = talk.kit.do("history", memory=meant[0].ref).data["versions"]
    lines = [f"- {version['content']} ({_span(talk, version)})" for version in versions]
    return "\n".join([talk.say("history"), *lines])


def _span(talk: Talk, version: Mapping[str, Any]) -> str:
    day, end = version["valid_from"][:10], (version["valid_until"] or "")[:10]
    return talk.say("until", day=day, end=end) if end else talk.say("since", day=day)


def _blind(talk: Talk) -> str | None:
    """Where there is neither a tool to look with nor a block, nothing found says nothing."""
    seen = talk.kit.can("recall") or talk.kit.can("list") or talk.all()
    return None if seen else talk.off()


def tell(talk: Talk, found: Sequence[Held]) -> str:
    if not found:
        return ""
    if len(found) == 1:
        return talk.say("one", line=found[0].content, when=_when(talk, found[0]))
    return "\n".join([talk.say("many"), *(f"- {held.content} ({_when(talk, held)})" for held in found)])


def _when(talk: Talk, held: Held) -> str:
    if held.day is None:
        return talk.say("fresh" if held.fresh else "undated")
    return talk.say("past" if not held.current else "inferred" if held.inferred else "noted", day=held.day)


def _turns(talk: Talk, matter: str, *, here: bool) -> list[str]:
    """What the person said of it in earlier chats, and with `here` in this one; questions about it are none."""
    spoken = [" ".join(said.text.split()) for said in talk.earlier if said.role == "user"]
    told = [talk.say("earlier", line=text[:QUOTE_CHARS]) for text in spoken if here and _tells_of(talk, text, matter)]
    if not talk.kit.can("recall_chats"):
        return told[:MOST_TURNS]
    data = talk.kit.do("recall_chats", query=matter, limit=10).data
    known = {fold(text) for text in (*spoken, talk.text)}
    for hit in data.get("hits", ()) if isinstance(data, dict) else ():
        text = " ".join(str(hit["text"]).split())
        if hit.get("role") == "user" and fold(text) not in known and _tells_of(talk, text, matter):
            told.append(talk.say("in_chat", day=str(hit["at"])[:10], line=text[:QUOTE_CHARS]))
    return told[:MOST_TURNS]


def _tells_of(talk: Talk, text: str, matter: str) -> bool:
    return one(text, talk.tongue).kind in _TELLING and bool(matching.answers(matter, [Held(text)]))
