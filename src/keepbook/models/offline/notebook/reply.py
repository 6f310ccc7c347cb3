"""A reply of the notebook: one short line, and never a promise that is not kept.

Orders were carried out before it is asked; it says so. After that: the person's word on its own question, what is to be
written at once, questions about the book and about trading, and a confirmation of what was noted. For everything
else one
line points to Settings → Model, not twice in a row. What it is, it says once per chat.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import polarity
from keepbook.models.lines.matters import content_words
from keepbook.models.model import Called, Conversation, Event, Replied, TextDelta, Toolbox, Usage
from keepbook.models.offline.notebook import asking, saving, trading, trading_ahead
from keepbook.models.offline.notebook.intents import Intent, traded
from keepbook.models.offline.notebook.phrases import asks
from keepbook.models.offline.notebook.talk import Talk
from keepbook.models.orders import confirmations
from keepbook.models.prompt import MEMORY_OFF

_PIECE = regex(r"(?:\S+\s*){1,3}")
"""A few words, as they would come from a model that thinks word by word."""
MOST_KNOWN = 3
"""So many lines that the book has already are quoted."""
_SMALL = {
    "hello": regex(r"\W*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|hola|hallo|hei|moin|你好|"
                        r"สวัสดี)\b.{0,20}", re.IGNORECASE),
    "welcome": regex(r"\W*(?:(?:ok(?:ay)?|great|cool|no|perfect)\W+)*(?:thanks?|thank you|thx|ty|cheers|"
                          r"danke|gracias|takk)\b.{0,24}", re.IGNORECASE),
    "bye": regex(r"\W*(?:ok(?:ay)?\W+)*(?:bye|goodbye|good night|see you|that's all|cya)\b.{0,20}", re.IGNORECASE),
    "understood": regex(r"\W*(?:ok(?:ay)?|great|cool|nice|perfect|good|got it|alright|lol|haha+|wow|i see|"
                             r"makes sense|yes|yeah|no|nope|sure|fine)\W*", re.IGNORECASE),
    "intro": regex(
        r"\W*(?:so |and |ok |hey )*(?:what (?:can|do) (?:you|u) do|how (?:does this|do you|do u) work|what are you|"
        r"who are you|"
        r"help|what is this)\W*(?:for me|exactly|here)?\W*", re.IGNORECASE
    ),
    "remind": regex(
        r"\W*(?:please |can you |could you )*(?:remind me to|set (?:a|an) (?:reminder|alarm))\b.*", re.IGNORECASE
    ),
    "erase": regex(r"\W*(?:please |can you )*(?:erase|delete|forget|wipe|clear) (?:everything|all(?: of it| "
                        r"my memories| my data)?|my whole book|the whole book)\W*", re.IGNORECASE),
}  # fmt: skip

_DECIDED = regex(
    r"\b(?:decide[ds]?|decisions?|entschieden|entscheidung(?:en)?|decidi\w*|decisi[oó]n(?:es)?|bestemt|beslutning\w*)\b",
    re.IGNORECASE,
)
_SHOWN = regex(r"\W*(?:please |can you )*(?:show|list|tell|zeig|nenn|muestra|vis)\w*\b", re.IGNORECASE)


async def reply(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
    """Answer the last message, calling tools on the way."""
    talk = Talk(conversation, tools)
    # A tool writes to the database and may wait its turn there; other chats go on meanwhile.
    text = await asyncio.to_thread(_answer, talk)
    for call in talk.tools.made:
        yield Called(call)
    for piece in _PIECE.findall(text):
        yield TextDelta(piece)
    yield Replied(text, tuple(talk.tools.made), Usage())


def _answer(talk: Talk) -> str:
    said = _said(talk)
    return f"{said}\n{talk.say('intro')}" if _introduces(talk, said) else said


def _introduces(talk: Talk, said: str) -> bool:
    """Once per chat, with the first reply that is neither an order's nor a figure's nor a tool's: what it looked up in
    vain, beside something that it noted, is none of these."""
    told = any("Settings → Model" in one.text for one in talk.earlier if one.role == "assistant")
    made = talk.tools.made
    in_vain = bool(talk.noted_now) and not any(call.memory_event for call in made)
    plain = not talk.conversation.deeds and (not made or in_vain) and not asks(said, "offer")
    return plain and not told and "Settings → Model" not in said


def _said(talk: Talk) -> str:
    if talk.conversation.deeds:
        return confirmations.told(talk.conversation.deeds) or talk.say("understood")
    if MEMORY_OFF in talk.conversation.system:
        return talk.say("off")
    if not talk.holds_secret:
        return _told(talk) or _beyond(talk)
    rest = _told(talk) if talk.text else _barred(talk)
    return "\n".join(filter(None, [rest, talk.say("secret")]))


def _told(talk: Talk) -> str | None:
    """What there is to say to the message, by the first that has a word on it."""
    for act in (
        saving.resume,
        _small,
        _barred,
        saving.explicit,
        saving.still,
        _of_trading,
        _of_decisions,
        asking.answer,
        _noted,
        _known,
    ):
        told = act(talk)
        if told is not None:
            return _with_noted(talk, told) if act == asking.answer else told
    return None


def _small(talk: Talk) -> str | None:
    key = next((key for key, pattern in _SMALL.items() if pattern.fullmatch(talk.text.strip())), None)
    return None if key is None or (key == "hello" and talk.noted_now) else talk.say(key)


def _barred(talk: Talk) -> str | None:
    """What is never kept is said so, at the moment it is told."""
    topics = talk.conversation.barred
    if topics and not asking.is_question(talk.text):
        return talk.say("never", topic=topics[0])
    return None


def _of_trading(talk: Talk) -> str | None:
    if not talk.tools.trades:
        return None
    if talk.last is not None and asks(talk.last.text, "which_end") and (told := trading.chosen(talk)) is not None:
        return told
    for intent in traded(talk.text, talk.tongue):
        if (told := _TRADING[intent.kind](talk, intent)) is not None:
            return told
    return None


def _of_decisions(talk: Talk) -> str | None:
    """In the chat with an agent: what it decided is looked up, where its settings let it."""
    wanted = asking.is_question(talk.text) or _SHOWN.match(talk.text)
    if not wanted or not _DECIDED.search(talk.text) or not talk.tools.has("get_my_decisions"):
        return None
    return talk.tools.use("get_my_decisions").text


def _noted(talk: Talk) -> str | None:
    fresh = talk.noted_now
    if not fresh:
        return None
    if talk.tools.silent:
        return talk.say("understood")
    return saving.offer(talk, fresh) if talk.tools.asks_first else talk.say("noted", lines=talk.quote(fresh))


def _with_noted(talk: Talk, answer: str) -> str:
    """Who tells something beside a question hears of both."""
    fresh = talk.noted_now
    if not fresh or talk.tools.silent or talk.tools.asks_first or any(one in answer for one in fresh):
        return answer
    return f"{talk.say('noted', lines=talk.quote(fresh))}\n{answer}"


def _known(talk: Talk) -> str | None:
    """Said again: the book has it."""
    said = set(content_words(talk.text))
    held = []
    for one in talk.conversation.known:
        words = set(content_words(one.content))
        alike = polarity(one.content) == polarity(talk.text)
        if words and alike and (words == said or (words < said and len(words) > 1)):
            held.append(one.content)
    if not held or asking.is_question(talk.text):
        return None
    return talk.say("understood") if talk.tools.silent else talk.say("known", lines=talk.quote(held[:MOST_KNOWN]))


def _beyond(talk: Talk) -> str:
    """One line that points to a model; not twice in a row, and not right after the introduction."""
    pointed = talk.last is not None and "Settings → Model" in talk.last.text
    return talk.say("nothing_here" if pointed else "beyond")


_TRADING: dict[str, Callable[[Talk, Intent], str | None]] = {
    "performance": trading.performance,
    "learned": trading.learned,
    "upcoming": trading_ahead.upcoming,
    "skills": trading.skills,
    "held": trading_ahead.held,
    "draft": trading_ahead.draft,
}
