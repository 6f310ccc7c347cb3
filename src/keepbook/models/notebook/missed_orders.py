"""Asks about orders that a model has not carried out. The model acts first; for a sure order that it left, a question
is put under the turn."""

from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.book import Book
from keepbook.book.text.words import content_words
from keepbook.models.model import ToolCall
from keepbook.models.notebook.apply import Writer, apply
from keepbook.models.notebook.turn import TurnTaken
from keepbook.models.notebook.values import Deed, TurnStep


def ask_what_was_missed(book: Book, taken: TurnTaken, calls: Sequence[ToolCall]) -> list[Deed]:
    """Leave a question for each sure order of the turn that no entry of it touches. Joins the caller's transaction."""
    touched = set()
    for call in calls:
        event = call.memory_event
        if event:
            touched.add(str(event["id"]))
    written = []
    for call in calls:
        event = call.memory_event
        if event:
            written.append(str((event.get("after") or {}).get("content") or ""))
    missed = [step for step in taken.left if step.is_order and not _is_carried_out(step, touched, written)]
    if not missed:
        return []
    with book.writing(taken.loaded.thread.preset) as (tx, preset):
        message = taken.message
        writer = Writer(
            tx, preset, taken.loaded.thread.id, message.turn, message.text, book.origin.door, taken.loaded.scene.asked
        )
        return apply(writer, [_as_question(step) for step in missed])


def _is_carried_out(step: TurnStep, touched: set[str], written: Sequence[str]) -> bool:
    if step.target is not None:
        return step.target.id in touched
    if step.targets:
        return any(one.id in touched for one in step.targets)
    if step.quotation:
        words = set(content_words(step.quotation.content))
    else:
        words = set()
    return any(words & set(content_words(line)) for line in written)


def _as_question(step: TurnStep) -> TurnStep:
    if step.act == "keep":
        return replace(step, act="offer", question="keep")
    if step.question == "which":
        return step
    if step.act == "end":
        return replace(step, act="which", question="over")
    return replace(step, act="which", question="change")
