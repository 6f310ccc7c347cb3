"""Composes a reply of the notebook: what the turn did, what it asked, and where a notebook cannot help.

What was done comes first, then answers of extensions or from the book; small talk gets a small word. For everything
else it says that nothing was kept, and at most once a day that a model can do more. Once per chat it says that it is a
notebook.
"""

import asyncio
import tomllib
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import tokens
from keepbook.extension import load_part
from keepbook.models.model import Conversation, ReplyEvent, ReplyFinished, TextDelta, Toolbox, ToolCalled, Usage
from keepbook.models.notebook.answers.forms import opens_with_answer
from keepbook.models.notebook.quote import TRAILING
from keepbook.models.notebook.reply.lookup import LookupResult, asks_everything, asks_topics, find_answers
from keepbook.models.notebook.reply.phrases import said_to_person, says
from keepbook.models.notebook.reply.say import SETTINGS, describe_answer, describe_deeds
from keepbook.models.notebook.reply.talk import ReplyContext
from keepbook.models.notebook.scene import question_in
from keepbook.patterns import regex

_PIECE = regex(r"\S+\s*(?:\S+\s*)?(?:\S+\s*)?")
"""A few words, as they would come from a model that thinks word by word."""
_LEADS = frozenset({"so", "and", "hey", "hi", "hello", "ok", "okay", "well"})


async def notebook_reply(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
    """Answer the last message, calling tools on the way."""
    talk = ReplyContext(conversation, tools)
    # A tool reads or writes the database and may wait its turn there; other chats go on meanwhile.
    text = await asyncio.to_thread(compose_answer, talk)
    for call in talk.tools.made:
        yield ToolCalled(call)
    for piece in _PIECE.findall(text):
        yield TextDelta(piece)
    yield ReplyFinished(text, tuple(talk.tools.made), Usage())


def compose_answer(talk: ReplyContext) -> str:
    """The whole reply. The first that is not about an order or a figure ends with what the notebook is."""
    text = _answer_parts(talk)
    if not _introduces(talk, text):
        return text
    lines = [text, talk.say("intro")]
    if not (_hinted(talk) or SETTINGS in text):
        lines.append(talk.say("intro_model"))
    return "\n".join(lines)


def _introduces(talk: ReplyContext, text: str) -> bool:
    before = talk.view.introduced or any(says(one.text, "intro") for one in talk.earlier if one.role == "assistant")
    orders = any(deed.act not in ("keep", "offer", "repeat") for deed in talk.view.deeds)
    asked = any(deed.asked for deed in talk.view.deeds)
    felt = _felt(talk) is not None and not talk.view.deeds
    return talk.view.remembers and not (before or orders or asked or felt or talk.tools.made or says(text, "intro"))


def _hinted(talk: ReplyContext) -> bool:
    return talk.view.hinted or any(SETTINGS in one.text for one in talk.earlier if one.role == "assistant")


def _answer_parts(talk: ReplyContext) -> str:
    if not talk.view.remembers:
        return talk.say("off")
    done = describe_deeds(talk.view.deeds, talk.voice)
    barred = _never_kept_notice(talk)
    rest = None
    if not done or talk.view.asks:
        rest = _answer_question(talk)
    found = [part for part in (done, barred, rest) if part]
    if not found:
        found = [_unclear_answer(talk) or _small(talk) or _felt(talk) or _foreign(talk) or _beyond(talk)]
    if talk.view.unread:
        found.append(talk.say("unread"))
    return "\n".join(found)


def _never_kept_notice(talk: ReplyContext) -> str:
    """What is never kept is said so, at the moment it is told."""
    if talk.view.secret:
        return talk.say("secret")
    topics = talk.view.never
    if topics and not (talk.view.asks or talk.view.deeds or talk.view.feeling):
        return talk.say("never", topic=said_to_person(talk.tongue, topics[0]))
    return ""


def _answer_question(talk: ReplyContext) -> str | None:
    text = _extension_answer(talk)
    if text is None:
        return _book_answer(talk)
    return text


def _extension_answer(talk: ReplyContext) -> str | None:
    """The first answer that an extension has. The one added last is asked first: it may know more exactly what a word
    means that another one has too."""
    for one in reversed(talk.conversation.extensions):
        for reference in one.answers:
            text: str | None = load_part(reference)(talk)
            if text is not None:
                return text
    return None


def _book_answer(talk: ReplyContext) -> str | None:
    """The answer to a question about the book; None where the turn asks for something else."""
    view = talk.view
    if not view.asks or _small_key(talk) == "intro":
        return None
    question = question_in(talk.text)
    if asks_topics(question):
        return _topics_answer(talk)
    if asks_everything(question):
        return describe_answer(LookupResult(view.latest, offered=view.offered, everything=True), talk.voice)
    if view.topic is not None:
        offered = tuple(one for one in view.offered if find_topics(one.content, [view.topic], view.sense))
        return describe_answer(LookupResult(view.about, offered=offered), talk.voice)
    hits = view.hits
    if question != talk.text:
        hits = tuple(replace(hit, likeness=0.0) for hit in hits)  # to be held against the question alone
    found = find_answers(question, hits, view.turns, view.offered, sense=view.sense, latest=view.latest, chat=view.chat)
    return describe_answer(found, talk.voice)


def _topics_answer(talk: ReplyContext) -> str:
    topics = talk.view.topics
    if topics:
        return talk.say("never_set", topics=", ".join(said_to_person(talk.tongue, one) for one in topics))
    return talk.say("no_topics")


def _unclear_answer(talk: ReplyContext) -> str | None:
    """A yes to several questions, or with words that no list knows, answers none of them."""
    if not talk.view.questions or not opens_with_answer(talk.text):
        return None
    if talk.view.questions > 1:
        return talk.say("several")
    return talk.say("still_open")


def _small(talk: ReplyContext) -> str | None:
    key = _small_key(talk)
    if key == "intro":
        return "\n".join(talk.say(one) for one in ("intro", "abilities", "intro_model"))
    if key:
        return talk.say(key)
    return None


def _small_key(talk: ReplyContext) -> str | None:
    """What of small talk the whole turn is; words that only lead up to it, or trail it, are passed over."""
    said = tokens(talk.text)
    while said and said[0] in _LEADS:
        said = said[1:]
    if said and said[-1] in TRAILING:  # "what can you do btw"
        said = said[:-1]
    return small_talk().get(" ".join(tokens(talk.text))) or small_talk().get(" ".join(said))


@cache
def small_talk() -> dict[str, str]:
    """The key of the reply to small talk, by the whole turn in small letters and without marks."""
    listed = tomllib.loads((Path(__file__).parent / "small_talk.toml").read_text(encoding="utf-8"))
    return {" ".join(tokens(form)): key for key, forms in listed.items() for form in forms}


def _felt(talk: ReplyContext) -> str | None:
    """One kind sentence; nothing is kept of a feeling, and nothing asked."""
    if talk.view.feeling:
        return talk.say(f"felt_{talk.view.feeling}")
    return None


def _foreign(talk: ReplyContext) -> str | None:
    """Once, that statements in this language are not read."""
    if talk.view.language != "unknown":
        return None
    line = talk.say("foreign")
    if any(line in one.text for one in talk.earlier):
        return None
    return line


def _beyond(talk: ReplyContext) -> str:
    """The reply if the notebook has nothing to say; at most once a day with the hint that a model could."""
    if _hinted(talk):
        return talk.say("nothing_here")
    return talk.say("beyond")
