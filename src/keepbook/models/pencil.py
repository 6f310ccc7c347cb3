"""The pencil lines of an open chat: what was offered and waits for an answer, and, with a model, what closing would
keep. What was found is judged as closing judges it, so neither asks what the other would not."""

from dataclasses import replace

from keepbook.book.book import Book
from keepbook.book.chats.learned_memories import memories_taken_back
from keepbook.book.chats.pencil import Pencil, pencil_key
from keepbook.book.chats.threads import Message, Thread, current_messages, unkept_turns
from keepbook.book.ground.open_book import OpenBook, viewing
from keepbook.book.ground.when import parse_stamp
from keepbook.book.memory import proposals
from keepbook.book.memory.proposals import Proposal, alike
from keepbook.book.owners import choices, owners
from keepbook.book.text.quotation import spans_of
from keepbook.models.closing.checks import OFFLINE, judge_candidates
from keepbook.models.closing.known_memories import known_memories
from keepbook.models.model import Candidate, ClosingChat, DialogueTurn, Extraction
from keepbook.models.notebook.extract import extract
from keepbook.models.notebook.values import from_parts, is_kept_at_once, standing_deeds


def pencil_lines(opened: OpenBook, thread_id: str) -> list[Pencil]:
    """The pencil lines of this chat; none if it is closed, incognito, or memory is off."""
    book = Book.of(opened)
    with viewing(book), book.reading() as (tx, _, now):
        thread = book.threads.get(thread_id).thread
        chosen = choices.get_choices(tx)
        if thread.state != "active" or thread.deleted_at is not None or thread.incognito or not chosen.memory:
            return []
        waiting = proposals.list_proposals(tx, thread_id=thread_id)
        declined, gone = proposals.declined_contents(tx), memories_taken_back(tx, thread_id)
        unkept = unkept_turns(tx, thread_id)
        messages = [one for one in current_messages(book.threads.get(thread_id).messages()) if one.turn not in unkept]
        unread = [one for one in messages if one.turn > thread.extracted_through]
        turns = tuple(_turn(one) for one in messages if one.role in ("user", "assistant"))
        reading = ClosingChat(
            turns=turns, known=known_memories(tx, turns),
            categories=book.preset(thread.preset).categories, zone=owners.zone_name(tx),
            now=parse_stamp(now), never=chosen.never, sense=book.meaning, thread_id=thread_id,
            preset=book.preset(thread.preset), extensions=book.extensions, kept=_turns_not_read(messages, thread),
            deeds=dict(standing_deeds({one.turn: from_parts(one.parts) for one in messages}).items()),
        )  # fmt: skip
    offered = [_to_pencil(one) for one in waiting if one.question == "keep" and one.turn_ids]
    if not any(one.role == "user" and not is_kept_at_once(one.parts) for one in unread):
        return offered
    judged = judge_candidates(reading, Extraction(tuple(extract(reading)), "", OFFLINE), declined, gone)
    found = [one for one, why in judged if why is None and one.op in ("add", "update")]
    asked = [replace(line, sure=any(one.sure and _is_offer_of(line, one) for one in found)) for line in offered]
    return [*asked, *(_line(one) for one in found if not any(_is_offer_of(line, one) for line in offered))]


def _is_offer_of(line: Pencil, found: Candidate) -> bool:
    """Whether an offered line asks for this already."""
    return found.op == "add" and alike(line.content, found.content)


def _turns_not_read(messages: list[Message], thread: Thread) -> frozenset[int | str]:
    """The turns from which closing would make no memories."""
    return frozenset(one.turn for one in messages if one.turn <= thread.extracted_through or is_kept_at_once(one.parts))


def _turn(message: Message) -> DialogueTurn:
    return DialogueTurn(message.turn, message.role, message.text, message.at, message.speaker)


def _to_pencil(one: Proposal) -> Pencil:
    if one.turn_ids[-1].isdecimal():
        turn = int(one.turn_ids[-1])
    else:
        turn = 0
    key = pencil_key(turn, one.content)
    spans = tuple((span.turn, span.start, span.end, span.kind) for span in spans_of(one.spans))
    return Pencil(key, turn, one.content, one.category, "add", None, one.score or 0.0, False, spans, one.id)


def _line(one: Candidate) -> Pencil:
    turn = int(one.turn_ids[-1])
    spans = tuple((span.turn, span.start, span.end, span.kind) for span in one.spans)
    return Pencil(
        pencil_key(turn, one.content), turn, one.content, one.category, one.op, one.target, one.score, one.sure, spans
    )
