"""A reply of the notebook: what the turn did, what it asked, and where it ends for a notebook.

What was done comes first, then answers about trading, decisions and the book; small talk gets a small word. For
everything else one line points to Settings → Model, not twice in a row. What it is, it says once per chat.
"""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import tokens, word_set
from keepbook.models.model import Called, Conversation, Event, Replied, TextDelta, Toolbox, Usage
from keepbook.models.notebook.lists.answers import whole_answer
from keepbook.models.notebook.reply import trading, trading_ahead
from keepbook.models.notebook.reply.intents import Intent, traded
from keepbook.models.notebook.reply.lookup import Answered, asks_everything, find
from keepbook.models.notebook.reply.phrases import asks
from keepbook.models.notebook.reply.say import SETTINGS, describe, describe_answer
from keepbook.models.notebook.reply.talk import Talk

_PIECE = regex(r"\S+\s*(?:\S+\s*)?(?:\S+\s*)?")
"""A few words, as they would come from a model that thinks word by word."""
_DECISIONS = word_set("""
    decide decided decides decision decisions entschieden entscheidung entscheidungen decidido decidiste decisión
    decisiones bestemt beslutning beslutninger décidé décision décisions
""")


async def reply(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
    """Answer the last message, calling tools on the way."""
    talk = Talk(conversation, tools)
    # A tool reads or writes the database and may wait its turn there; other chats go on meanwhile.
    text = await asyncio.to_thread(answer, talk)
    for call in talk.tools.made:
        yield Called(call)
    for piece in _PIECE.findall(text):
        yield TextDelta(piece)
    yield Replied(text, tuple(talk.tools.made), Usage())


def answer(talk: Talk) -> str:
    """The whole reply; what the notebook is stands at the end of the first that is no order's and no figure's."""
    text = _answered(talk)
    return f"{text}\n{talk.say('intro')}" if _introduces(talk, text) else text


def _introduces(talk: Talk, text: str) -> bool:
    before = talk.view.introduced or any(SETTINGS in one.text for one in talk.earlier if one.role == "assistant")
    orders = any(deed.act not in ("keep", "offer", "repeat") for deed in talk.view.deeds)
    asked = any(deed.asked for deed in talk.view.deeds)
    return not (before or orders or asked or talk.tools.made) and SETTINGS not in text


def _answered(talk: Talk) -> str:
    if not talk.view.remembers:
        return talk.say("off")
    done = describe(talk.view.deeds, talk.voice)
    barred = _barred(talk)
    rest = _first(talk, _of_trading, _of_decisions, _asked) if not done or talk.view.asks else None
    found = [part for part in (done, barred, rest) if part]
    if not found:
        found = [_unclear_answer(talk) or _small(talk) or _foreign(talk) or _beyond(talk)]
    if talk.view.unread:
        found.append(talk.say("unread"))
    return "\n".join(found)


def _first(talk: Talk, *ways: Callable[[Talk], str | None]) -> str | None:
    for way in ways:
        if (text := way(talk)) is not None:
            return text
    return None


def _barred(talk: Talk) -> str:
    """What is never kept is said so, at the moment it is told."""
    if talk.view.secret:
        return talk.say("secret")
    topics = talk.view.never
    return talk.say("never", topic=topics[0]) if topics and not talk.view.asks and not talk.view.deeds else ""


def _of_trading(talk: Talk) -> str | None:
    if not talk.tools.trades:
        return None
    chosen = talk.last is not None and asks(talk.last.text, "which_end")
    if chosen and (text := trading.chosen(talk)) is not None:
        return text
    for intent in traded(talk.text, talk.tongue):
        if (text := _TRADING[intent.kind](talk, intent)) is not None:
            return text
    return None


def _of_decisions(talk: Talk) -> str | None:
    """In the chat with an agent: what it decided is looked up, where its settings let it."""
    if not _DECISIONS & set(tokens(talk.text)) or not talk.tools.has("get_my_decisions"):
        return None
    return talk.tools.use("get_my_decisions").text


def _asked(talk: Talk) -> str | None:
    """The answer to a question about the book; None where the turn asks for something else."""
    view = talk.view
    if not view.asks:
        return None
    if asks_everything(talk.text):
        return describe_answer(Answered(view.latest, offered=view.offered, everything=True), talk.voice)
    found = find(talk.text, view.hits, view.turns, view.offered, meaning=view.meaning)
    return describe_answer(found, talk.voice)


def _unclear_answer(talk: Talk) -> str | None:
    """A yes or no to several questions at once answers none of them."""
    return talk.say("several") if talk.view.questions > 1 and whole_answer(talk.text) is not None else None


def _small(talk: Talk) -> str | None:
    key = small_talk().get(" ".join(tokens(talk.text)))
    return talk.say(key) if key else None


@cache
def small_talk() -> dict[str, str]:
    """By whole turn, in small letters and without marks, the key of what is said to it."""
    listed = tomllib.loads((Path(__file__).parent / "small_talk.toml").read_text(encoding="utf-8"))
    return {" ".join(tokens(form)): key for key, forms in listed.items() for form in forms}


def _foreign(talk: Talk) -> str | None:
    """Once, that statements in this language are not read."""
    if talk.view.language != "unknown":
        return None
    line = talk.say("foreign")
    return None if any(line in one.text for one in talk.earlier) else line


def _beyond(talk: Talk) -> str:
    """One line that points to a model; not twice in a row, and not right after the introduction."""
    pointed = talk.last is not None and SETTINGS in talk.last.text
    return talk.say("nothing_here" if pointed else "beyond")


_TRADING: dict[str, Callable[[Talk, Intent], str | None]] = {
    "performance": trading.performance,
    "learned": trading.learned,
    "upcoming": trading_ahead.upcoming,
    "skills": trading.skills,
    "held": trading_ahead.held,
    "draft": trading_ahead.draft,
}
