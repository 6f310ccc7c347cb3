"""Reconstructs the last request of a reply: what its model was sent.

A chat only grows at its end, its block is stored, and each reply stores its tool calls with their answers; so the same
code that wrote the request can write it again, to the byte. `gaps` says what is not known any more. Instructions and
tools are those of today: if the preset was edited since, its new words are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.chats.face import Chat
from keepbook.book.chats.in_view import in_view
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import given_block
from keepbook.errors import NotFound
from keepbook.models.compress import Budget, SendPlan, fixed_tokens_of, plan_messages, to_said
from keepbook.models.model import Conversation, PromptMessage
from keepbook.models.prompt import compose
from keepbook.models.unfinished_replies import going_on, whole_words
from keepbook.tools.catalogue import build_tools

ERASED = "The lines it was given were erased together with a memory that stood in them."
SUMMED_UP = "Older turns went along as a summary that a later one has replaced; they stand here in full."
OUT_OF_VIEW = "Turns that were taken out of the model’s view are left out, also if that was done later."
WENT_ON = "It went on with a reply that had broken off; the tools it called after that are not shown here."


@dataclass(frozen=True, slots=True)
class SentReply:
    """The last request of a reply: its conversation and its tools. `gaps` are sentences on what is not known any
    more."""

    conversation: Conversation
    tools: Sequence[Mapping[str, Any]]
    block: str
    rounds: int
    """How often the model had asked for tools before this request."""
    gaps: Sequence[str]


def sent_reply(book: Book, chat: Chat, reply: Message, budget: Budget) -> SentReply:
    """The last request that was sent for a reply of a chat."""
    thread, preset = chat.thread, book.preset(chat.thread.preset)
    given = None
    if not thread.incognito:
        given = given_block(book, thread)
    remembered = given is not None
    erased = given is not None and (given.block is None or given.at > reply.at)
    block = ""
    if given is not None and not erased:
        block = given.block or ""
    system = compose(
        preset, block=block, tier=thread.tier, mode=thread.mode, focus=thread.focus, memory=remembered,
        extensions=book.extensions,
    )  # fmt: skip
    tools: Sequence[Mapping[str, Any]] = ()
    if remembered:
        tools = build_tools(preset, book, thread_id=thread.id, mode=thread.mode).schemas("openai")
    then = threads.current_messages([one for one in chat.messages() if one.turn < reply.turn])
    spoken = next((one for one in reversed(then) if one.role == "user"), None)
    if spoken is None:
        raise NotFound("nothing was said before this reply", field="turn")
    stands = [one for one in in_view(then, thread.out_of_view) if one.turn <= spoken.turn]
    plan, summed_up = _plan_then(thread, stands, fixed_tokens_of(system, tools), budget)
    gaps = []
    if erased:
        gaps.append(ERASED)
    if summed_up:
        gaps.append(SUMMED_UP)
    if thread.out_of_view:
        gaps.append(OUT_OF_VIEW)
    conversation, rounds = Conversation(system, plan.said, preset=preset), 0
    broken = next((one for one in chat.messages() if one.turn == reply.instead_of and one.broke_off), None)
    if broken is not None and reply.text.startswith(whole_words(broken).text):
        conversation = going_on(conversation, whole_words(broken))
        gaps.append(WENT_ON)
    else:
        asked = _rounds_of(reply)
        if asked is not None:
            conversation = replace(conversation, said=(*conversation.said, asked))
            rounds = asked.calls[-1].round + 1
    return SentReply(conversation, tools, block, rounds, gaps)


def _rounds_of(reply: Message) -> PromptMessage | None:
    """The part of a reply that was sent back to its model with the answers of its tools; None if it called no tool."""
    whole = to_said(reply)
    if whole is None or not whole.calls:
        return None
    return replace(whole, text=whole.text[: whole.calls[-1].at])


def _plan_then(thread: Thread, stands: Sequence[Message], fixed: int, budget: Budget) -> tuple[SendPlan, bool]:
    """The plan of the messages that were sent, computed again turn by turn; and whether they began with a summary that
    is not stored any more."""
    if thread.compressed is None:
        through, summary = 0, None
    else:
        through, summary = thread.compressed_through, thread.compressed
    reached = 0
    for at, one in enumerate(stands):
        if one.role == "user":
            known = None
            if reached == through:
                known = summary
            plan = plan_messages(
                stands[: at + 1], compressed_through=reached, summary=known, fixed_tokens=fixed, budget=budget
            )
            reached = plan.through or reached
    if reached == through:
        return plan_messages(stands, compressed_through=through, summary=summary, budget=budget), False
    return plan_messages(stands, budget=budget), reached > 0
