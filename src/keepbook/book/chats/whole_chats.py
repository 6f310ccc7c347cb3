"""Deletes chats and brings them back, with the memories that were learned from them: in short pieces, between which
others write. The answer to a `keyed` request is stored in the last transaction."""

from collections.abc import Callable
from dataclasses import replace

from keepbook.book.chats import going, learned_memories, threads
from keepbook.book.chats.threads import Thread
from keepbook.book.chats.whose_chats import refuse_persons_chat
from keepbook.book.ground.idempotency import Keyed, answered, heed_answer
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.memory import changes


def delete_chat(book: OpenBook, thread_id: str, keyed: Keyed | None, *, memories: bool, forever: bool) -> Thread | None:
    """Move a chat to the trash, or remove it at once."""
    if forever:
        book.ask("chats.purge")
    along = _along(book, changes.delete, thread_id)
    with book.writing() as (tx, preset):
        heed_answer(tx, keyed)
        refuse_persons_chat(book, tx, thread_id)
        thread = threads.trash(tx, thread_id, stamp(tx.clock()), by_person=book.hand.is_person)
        along.begin(tx, preset, learned_memories.learned_from(tx, thread_id) if memories else ())
        if not forever and along.is_done:
            return answered(tx, thread, keyed)
    along.end()
    with book.writing() as (tx, _):
        heed_answer(tx, keyed)
        if not forever:
            return answered(tx, thread, keyed)
        going.let_go(tx, thread_id)
        going.remove_behind(tx, thread_id)
        return answered(tx, None, keyed)


def restore_chat(book: OpenBook, thread_id: str, keyed: Keyed | None) -> Thread:
    """Bring a chat back from the trash or the archive."""
    along = _along(book, changes.restore_memory, thread_id)
    by_person, hours = book.hand.is_person, book.close_after_hours
    with book.writing() as (tx, preset):
        heed_answer(tx, keyed)
        refuse_persons_chat(book, tx, thread_id)
        threads.refuse_restoring(tx, thread_id, by_person=by_person)
        along.begin(tx, preset, learned_memories.trashed_with_chat(tx, threads.get_thread(tx, thread_id)))
    along.end()
    with book.writing() as (tx, _):
        heed_answer(tx, keyed)
        back = threads.restore_thread(tx, thread_id, close_after_hours=hours, by_person=by_person)
        return answered(tx, back, keyed)


def _along(book: OpenBook, change: Callable[..., object], thread_id: str) -> learned_memories.WithTheirChat:
    """What the person does to a chat's memories together with the chat names it in the ledger."""
    origin = book.origin
    if origin.actor == "person":
        origin = replace(origin, thread_id=thread_id)
    return learned_memories.WithTheirChat(book, lambda tx, preset, id: change(tx, origin, preset, id))
