"""The offline model as a chat partner: deterministic, no key, no network, and honest about what it is.

It understands the plain things people say to a memory and calls the real tools, in the words of whichever preset they
belong to. It pretends nothing: what it finds it quotes with its date, what it does not find or cannot do it says.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

from keepbook.book.text.secrets import find_secrets
from keepbook.models.model import Called, Conversation, Event, Replied, TextDelta, Toolbox, Usage
from keepbook.models.offline.chat import answering, keeping, offers, trading, trading_ahead
from keepbook.models.offline.chat.intents import Intent, one, read
from keepbook.models.offline.chat.turn import Talk

_PIECE = re.compile(r"(?:\S+\s*){1,3}")
"""A few words, as they would come from a model that thinks word by word."""


async def reply(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
    """Answer the last message, calling tools on the way."""
    talk = Talk(conversation, tools)
    # A tool writes to the database and may wait its turn there; other chats go on meanwhile.
    text = await asyncio.to_thread(_answer, talk)
    for call in talk.kit.made:
        yield Called(call)
    for piece in _PIECE.findall(text):
        yield TextDelta(piece)
    yield Replied(text, tuple(talk.kit.made), Usage())


def _answer(talk: Talk) -> str:
    told = offers.resume(talk)
    if told is not None:
        return told
    said = []
    for intent in read(talk.text, talk.tongue, trading=talk.kit.trades):
        talk.tongue = intent.tongue
        said.append(_act(talk, intent))
    return keeping.say_all(said)


def _act(talk: Talk, intent: Intent) -> str:
    act = _ACTS.get(intent.kind)
    told = act(talk, intent) if act else None
    if told is None and intent.sentence:  # it only sounded like trading
        again = one(intent.sentence, intent.tongue)
        return _act(talk, again if again.kind not in _TRADING else again._replace(kind="ask", matter=intent.matter))
    return told if told is not None else _talk(talk, intent)


def _talk(talk: Talk, intent: Intent) -> str:
    """What changes nothing: greetings, thanks, statements, and whatever is beyond plain rules."""
    if find_secrets(talk.text):
        return keeping.secret(talk)
    plain = {"greet", "thanks", "bye", "help", "remind", "erase"}
    kind = intent.kind if intent.kind in plain else "other"
    if intent.kind in ("ack", "yes", "right"):
        kind = "ack"
    elif intent.kind in ("cancel", "no"):
        kind = "cancelled"
    elif intent.kind in ("statement", "correct", "contrast", "ended", "confirm", "stale"):
        if offered := offers.offer(talk):
            return offered
        kind = "other" if intent.kind == "correct" else "understood" if talk.kit.quiet else "statement"
    return talk.say(kind, keeps=talk.keeps, **{"try": talk.say("try")}).strip()


def _declined(talk: Talk, _: Intent) -> str:
    return talk.say("declined")


_ACTS: dict[str, Callable[[Talk, Intent], str | None]] = {
    "save": keeping.keep,
    "save_it": keeping.keep_before,
    "correct": keeping.mend,
    "contrast": keeping.mend,
    "wrong": keeping.wrong,
    "stale": keeping.stale,
    "forget": keeping.forget,
    "ended": keeping.ended,
    "decline": keeping.take_back,
    "drop": keeping.drop,
    "undo": keeping.take_back,
    "aside": _declined,
    "confirm": keeping.confirm,
    "right": keeping.confirm,
    "list": answering.everything,
    "about": answering.about,
    "said": answering.about,
    "ask": answering.answer,
    "history": answering.history,
    "performance": trading.performance,
    "learned": trading.learned,
    "upcoming": trading_ahead.upcoming,
    "skills": trading.skills,
    "held": trading_ahead.held,
    "draft": trading_ahead.draft,
}
"""What is done about each kind of intent; the others are talk."""
_TRADING = ("performance", "learned", "upcoming", "skills", "held", "draft")
