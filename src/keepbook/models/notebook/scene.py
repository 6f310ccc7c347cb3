"""Loads what a turn is read against, in one transaction.

The lines that a clause may point at are those that recall finds for the turn, those that this chat wrote or offered,
and what was said last and nobody kept: the same few, however large the book.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.chats.chat_facts import being_closed, said_since
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.ground.open_book import viewing
from keepbook.book.ground.when import later, parse_stamp
from keepbook.book.memory import listing, proposals
from keepbook.book.memory.memories import Memory, is_protected
from keepbook.book.memory.proposals import Proposal
from keepbook.book.owners import choices, owners
from keepbook.book.owners.choices import Choices
from keepbook.book.recall.chats import ChatsWanted, recall_chats
from keepbook.book.recall.memories import Hit, recall
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.text.quotation import Span, spans_of
from keepbook.book.text.sentences import sentences
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import describe_topic, find_topics, group_named
from keepbook.book.text.words import content_words, fold_text, tokens, word_set
from keepbook.models.notebook.apply import BAN, OFF
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.lists.orders import orders_of_turn, topic_asked
from keepbook.models.notebook.lists.topics import topic_groups_of, topics_of
from keepbook.models.notebook.order_steps import MOST_OF_TOPIC
from keepbook.models.notebook.reply.phrases import says
from keepbook.models.notebook.reply.say import SETTINGS
from keepbook.models.notebook.values import (
    NOTEBOOK,
    ChatTurn,
    Deed,
    Scene,
    Target,
    from_parts,
    standing_deeds,
    withdrawn_spans,
)
from keepbook.patterns import regex
from keepbook.presets import Preset
from keepbook.storage.database import Tx

RECALLED = 8
ANSWERING = 3
LATEST = 40
ASKED_LETTERS = 400
"""So much of a turn is what recall is asked."""
WRITTEN_HERE = 3
OFFERED = 3
SAID_BEFORE = 3
FIRST_WORDS = 3
MOST_NEAR_TOPIC, MOST_LOOKED_AT, MOST_EMBEDDED = 60, 300, 100
"""So many lines at most are found for a topic, are looked at for it, and are looked at by meaning."""
_ASKING = word_set("""
    what what's whats who who's whose where when which how why tell remind show list know do did does is are am was
    were can could wer wo wann welche welcher wie warum qué quién dónde cuándo cuál cómo hva hvem hvor når hvilken
    hvordan
    quoi que quel quelle qui où quand comment
""")
"""Words with which questions begin, in the languages of the closed lists."""
EDITING = regex(r"^The (?:person|user) wants to change the memory (?P<id>[A-Za-z0-9]{8})\b", re.MULTILINE)
"""How a page says, in hidden context of its question, which memory a chat was opened to edit."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """A chat and everything of the book that its newest turn is read against, all from one transaction."""

    thread: Thread
    messages: tuple[Message, ...]
    preset: Preset
    chosen: Choices
    scene: Scene
    hits: tuple[Hit, ...] = ()
    """What answers the turn, ended lines among it."""
    topic: str | None = None
    """The shipped topic that the turn asks about."""
    about: tuple[Memory, ...] = ()
    """The lines about it."""
    chat_hits: tuple[ChatHit, ...] = ()
    latest: tuple[Memory, ...] = ()
    busy: bool = False
    """Another chat is being closed at this moment, and this one has not begun."""
    offered: tuple[Proposal, ...] = field(default=())
    hinted: bool = False
    """Whether the notebook has pointed to a model within a day."""

    @property
    def remembers(self) -> bool:
        return not self.thread.incognito and self.chosen.memory


def load_context(book: Book, thread_id: str, text: str, *, before: int | None = None) -> TurnContext:
    """Everything that a new turn is read against; with `before` as if the chat had ended before that turn."""
    wanted = _wanted(text)
    if book.meaning is not None and wanted.words:
        book.meaning.direction(wanted.words)  # embedded before a transaction is open
    with viewing(book), book.reading() as (tx, _, now):
        thread = threads.get_thread(tx, thread_id)
        preset = book.preset(thread.preset)
        chosen = choices.get_choices(tx)
        every = threads.current_messages(threads.messages_of(tx, thread_id))
        messages = tuple(one for one in every if before is None or one.turn < before)
        busy = thread.turns == 0 and being_closed(tx, now) > 0
        loaded = TurnContext(thread, messages, preset, chosen, _bare_scene(book, tx, thread, preset, now), busy=busy)
        if not loaded.remembers or not wanted.words:
            return loaded
        loaded = _with_lines(book, tx, loaded, wanted, text, now)
        topics = _topics_ordered(text) or list(loaded.scene.forbidding)
        near = _lines_near_topics(book, tx, preset, now, topics)
    if wanted.topic is not None:
        known = {one.id for one in loaded.hits}
        newest = (one for one in loaded.latest if one.id not in known)
        return replace(loaded, about=_lines_about([*loaded.hits, *newest], [wanted.topic], book.meaning))
    return _with_topic_lines(book, loaded, near, topics)


def with_lines_of_bans(book: Book, loaded: TurnContext, topics: Sequence[str]) -> TurnContext:
    """The context with what the book has of topics that a turn bans in words that no list knows."""
    with viewing(book), book.reading() as (tx, _, now):
        near = _lines_near_topics(book, tx, loaded.preset, now, topics)
    return _with_topic_lines(book, loaded, near, topics)


def _with_topic_lines(book: Book, loaded: TurnContext, near: Sequence[Memory], topics: Sequence[str]) -> TurnContext:
    lines = tuple(map(target_of, _lines_about(near, topics, book.meaning)))
    return replace(loaded, scene=replace(loaded.scene, topic_lines=lines, topics=tuple(topics)))


class _Wanted(NamedTuple):
    """What recall is asked for a turn. `topic`: the turn asks what there is about a shipped topic."""

    words: str
    limit: int
    asks: bool
    topic: str | None = None


def _wanted(text: str) -> _Wanted:
    query = " ".join(text.split())[:ASKED_LETTERS]
    asks = may_ask(query) and not orders_of_turn(text)
    if asks and (topic := topic_asked(question_in(query))) is not None:
        return _Wanted(_what_it_covers(topic), MOST_NEAR_TOPIC, asks, topic)
    return _Wanted(query, RECALLED, asks)


def _bare_scene(book: Book, tx: Tx, thread: Thread, preset: Preset, now: str) -> Scene:
    return Scene((), thread.id, owners.zone_name(tx), parse_stamp(now), preset, extensions=book.extensions)


def _with_lines(book: Book, tx: Tx, loaded: TurnContext, wanted: _Wanted, text: str, now: str) -> TurnContext:
    query = wanted.words
    hits = recall(tx, loaded.preset, now, query, limit=wanted.limit, meaning=book.meaning)
    best = ChatsWanted(ANSWERING + 1, order="relevance")
    if wanted.asks:
        found = recall_chats(tx, query, wanted=best, meaning=book.meaning)
    else:
        found = []
    waiting = proposals.list_proposals(tx)
    deeds = standing_deeds({one.turn: from_parts(one.parts) for one in loaded.messages if one.role == "user"})
    done_last = _done_last(loaded.messages, deeds)
    asked_last = [deed for deed in done_last if deed.asked]
    here = listing.memories_by_id(
        tx, loaded.preset, now, _lines_of_chat(deeds, [hit.id for hit in hits], loaded.messages)
    )
    latest = listing.latest(tx, loaded.preset, now, LATEST if wanted.asks else RECALLED)
    found_lines = [one for one in (*hits[:RECALLED], *here) if one.current]
    lines = [target_of(one) for one in (*found_lines, *_filling(latest, found_lines))]
    editing = _memory_being_edited(loaded, tx, now, lines)
    if editing is not None and editing not in lines:
        lines.append(editing)
    offered = _offers_for(waiting, loaded.thread.id, text)
    scene = replace(
        loaded.scene,
        turns=tuple(_chat_turn(one) for one in loaded.messages if one.role in ("user", "assistant")),
        targets=(*lines, *map(_offered_target, offered), *_said_before(loaded.messages, deeds)),
        questions=_open_questions(waiting, loaded.messages, deeds),
        wholes=frozenset(deed.proposal for some in deeds.values() for deed in some if deed.whole and deed.proposal),
        asked=_questions_put(loaded.preset, deeds, waiting),
        declined=frozenset(fold_text(line) for line in proposals.declined_contents(tx)),
        never=loaded.chosen.never,
        sense=book.meaning,
        touched=frozenset(deed.memory for deed in done_last if deed.memory),
        withdrawn=withdrawn_spans(deeds),
        hushed=tuple(deed.hushed for some in deeds.values() for deed in some if deed.hushed),
        switching_off=any(deed.question == OFF for deed in asked_last),
        forbidding=tuple(topic for deed in asked_last if deed.question == BAN for topic in deed.options),
        editing=editing,
    )
    hinted = said_since(tx, NOTEBOOK, SETTINGS, later(now, days=-1))
    return replace(
        loaded, scene=scene, topic=wanted.topic, hits=tuple(hits), chat_hits=tuple(found),
        latest=tuple(latest) if wanted.asks else (),
        offered=tuple(offered), hinted=hinted,
    )  # fmt: skip


def _filling(latest: Sequence[Memory], found: Sequence[Memory]) -> list[Memory]:
    """Of a book in which recall finds few lines the newest others: what a turn changes need not share its words."""
    known = {one.id for one in found}
    return [one for one in latest if one.id not in known][: max(0, RECALLED - len(found))]


def may_ask(text: str) -> bool:
    """Whether a turn may be a question: only then recall is asked for answers."""
    return "?" in text or "？" in text or bool(_ASKING & set(tokens(text)[:FIRST_WORDS]))


def question_in(text: str) -> str:
    """The sentences of a turn that ask, without what is said beside them: "Thanks! Where do I live?". The whole turn if
    they speak of what stands there ("My mother is Bev. How old is she?"), or the turn is long."""
    if len(text) > MOST_PARTED:
        return text
    said = [text[start:end].strip() for start, end in sentences(text)]
    asking = [one for one in said if "?" in one or "？" in one] or [one for one in said if may_ask(one)]
    question = " ".join(asking)
    names_a_matter = set(content_words(question)) - QUESTION_WORDS
    if not names_a_matter or not _ELSEWHERE.isdisjoint(tokens(question)):
        return text
    return question


MOST_PARTED = 2000
"""A turn of more letters is looked up whole: nobody puts a question beside so much."""
_ELSEWHERE = word_set("he him his she her hers it its they them their that this these those there")
"""Words for what another sentence names."""


def with_turn(loaded: TurnContext, number: int, text: str, at: datetime) -> Scene:
    """The scene with the turn itself at its end."""
    return replace(loaded.scene, turns=(*loaded.scene.turns, ChatTurn(number, "user", text, None, at)))


def _chat_turn(message: Message) -> ChatTurn:
    return ChatTurn(message.turn, message.role, message.text, message.speaker, message.at)


def target_of(memory: Memory) -> Target:
    """A memory as a target that a clause may point at."""
    spans = spans_of(memory.spans)
    return Target(
        memory.id, memory.content, "memory", memory.version, is_protected(memory.source, memory), memory.quoted, spans,
        memory.thread_id, memory.subject,
    )  # fmt: skip


def _lines_of_chat(deeds: Mapping[int, Sequence[Deed]], found: Iterable[str], messages: Sequence[Message]) -> list[str]:
    """The last lines that this chat wrote, beside those that recall has found."""
    known = set(found)
    every = [deed for turn in sorted(deeds, reverse=True) for deed in deeds[turn]]
    ids = [deed.memory for deed in every if deed.memory]
    ids += [id for message in reversed(messages) for id in _tool_ids(message)]
    return [id for id in dict.fromkeys(ids) if id not in known][:WRITTEN_HERE]


def _tool_ids(message: Message) -> list[str]:
    events: list[dict[str, Any]] = [call.get("memory_event") or {} for call in message.calls]
    return [str(event["id"]) for event in events if event.get("id")]


def _offers_for(waiting: Sequence[Proposal], thread_id: str, text: str) -> list[Proposal]:
    """What this chat has offered, the newest first; of other chats what shares a word with the turn."""
    said = set(content_words(text))
    adds = [one for one in reversed(waiting) if one.op == "add"]
    here = [one for one in adds if one.thread_id == thread_id]
    others = [one for one in adds if one.thread_id != thread_id and said & set(content_words(one.content))]
    return [*here, *others][:OFFERED]


def _offered_target(one: Proposal) -> Target:
    return Target(one.id, one.content, "offered", spans=spans_of(one.spans), thread_id=one.thread_id)


def _said_before(messages: Sequence[Message], deeds: Mapping[int, Sequence[Deed]]) -> list[Target]:
    """What the person said last and nobody kept, sentence by sentence; an order that was asked about is no such
    words."""
    last = next((one for one in reversed(messages) if one.role == "user"), None)
    if last is None or any(deed.memory or deed.act == "which" for deed in deeds.get(last.turn, ())):
        return []
    spans = [(start, end) for start, end in sentences(last.text[:ASKED_LETTERS]) if last.text[start:end].strip()]
    return [_said_target(last, start, end) for start, end in spans[-SAID_BEFORE:]]


def _said_target(message: Message, start: int, end: int) -> Target:
    words = message.text[start:end]
    start += len(words) - len(words.lstrip())
    end = start + len(words.strip())
    while end > start and not message.text[end - 1].isalnum():
        end -= 1
    span = Span(message.turn, start, end, "said")
    return Target(f"said:{message.turn}:{start}", message.text[start:end], "said", spans=(span,))


def _open_questions(
    waiting: Sequence[Proposal], messages: Sequence[Message], deeds: Mapping[int, Sequence[Deed]]
) -> tuple[Proposal, ...]:
    """What the last reply asked and still waits; where it said that a question is open, what was asked before it."""
    by_id = {one.id: one for one in waiting}
    goes_on = False
    for one in reversed(messages):
        if one.role == "assistant":
            goes_on = one.recorded_by is None and any(says(one.text, key) for key in ("still_open", "several"))
        elif one.role == "user" and not goes_on:
            asked = [deed.proposal for deed in deeds.get(one.turn, ()) if deed.asked and deed.proposal]
            return tuple(by_id[id] for id in asked if id in by_id)
    return ()


def _questions_put(preset: Preset, deeds: Mapping[int, Sequence[Deed]], waiting: Sequence[Proposal]) -> int:
    """How many questions this chat has put by itself; where everything is asked, only those that nobody has answered:
    whoever answers wants to be asked."""
    every = [deed for some in deeds.values() for deed in some]
    put = [deed for deed in every if deed.is_own_question]
    open_ids = {one.id for one in waiting}
    return sum(preset.consent != "ask" or deed.proposal in open_ids for deed in put)


def _done_last(messages: Sequence[Message], deeds: Mapping[int, Sequence[Deed]]) -> Sequence[Deed]:
    """What the person's last turn did, its questions among it."""
    last = next((one for one in reversed(messages) if one.role == "user"), None)
    if last is None:
        return ()
    return deeds.get(last.turn, ())


def _topics_ordered(text: str) -> list[str]:
    """The shipped topics that a turn asks to forget, and any that it bans."""
    named = {"withdraw": topic_groups_of, "never": topics_of}
    topics: list[str] = []
    for one in orders_of_turn(text):
        if one.act in named:
            topics += named[one.act](text[one.rest_start : one.rest_end])
    return topics


def _lines_near_topics(book: Book, tx: Tx, preset: Preset, now: str, topics: Sequence[str]) -> list[Memory]:
    """The lines that may be about some topics: those that recall finds for what each covers, then the newest. As many
    are looked at in a book of any size."""
    if not topics:
        return []
    found: dict[str, Memory] = {}
    for topic in topics:
        hits = recall(tx, preset, now, _what_it_covers(topic), limit=MOST_NEAR_TOPIC, meaning=book.meaning)
        found |= {hit.id: hit for hit in hits if hit.current}
    newest = listing.latest(tx, preset, now, MOST_LOOKED_AT)
    return [*found.values(), *(one for one in newest if one.id not in found)][:MOST_LOOKED_AT]


def _what_it_covers(topic: str) -> str:
    if group_named(topic):
        return f"{topic} {describe_topic(topic)}"
    return topic


def _lines_about(near: Sequence[Memory], topics: Sequence[str], sense: Sense | None) -> tuple[Memory, ...]:
    """Of these lines the ones about a topic that hold, the newest at the end: nobody reads a longer list before
    saying yes. The meaning of the first ones is looked at too."""
    near = [one for one in near if one.current]
    close, others = near[:MOST_EMBEDDED], near[MOST_EMBEDDED:]
    meant = [one for one in close if find_topics(one.content, topics, sense)]
    meant += [one for one in others if find_topics(one.content, topics)]
    meant.sort(key=lambda one: one.recorded_at)
    return tuple(meant[-MOST_OF_TOPIC:])


def _memory_being_edited(loaded: TurnContext, tx: Tx, now: str, lines: Sequence[Target]) -> Target | None:
    """The memory that the chat was opened to change, while the page's question is the last word."""
    last = None
    if loaded.messages:
        last = loaded.messages[-1]
    if last is None or last.hidden is None or last.recorded_by is not None:
        return None
    found = EDITING.search(last.hidden)
    if found is None:
        return None
    here = next((one for one in lines if one.id == found["id"]), None)
    return here or next(map(target_of, listing.memories_by_id(tx, loaded.preset, now, [found["id"]])), None)
