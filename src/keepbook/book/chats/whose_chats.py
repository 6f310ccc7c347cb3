"""Whose a chat is: what a program may not do in one of the person's, and which of them it does not see."""

from keepbook.book.chats import threads
from keepbook.book.chats.chat_facts import person_is_heard
from keepbook.book.chats.threads import Thread
from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.owners import switches
from keepbook.errors import NotAllowed
from keepbook.storage.database import Tx

OUR_NAMES = ("telegram:",)
"""The beginnings of the names of sessions that our own doors begin."""


def refuse_persons_chat(book: OpenBook, tx: Tx, thread_id: str) -> None:
    """Refuse an agent that would close, rename, archive, restore or trash a chat in which the person spoke, or which
    their own program recorded."""
    if book.hand.is_person:
        return
    if is_hidden(book, tx, threads.get_thread(tx, thread_id)):
        raise threads.no_chat(thread_id)
    if person_is_heard(tx, thread_id):
        book.ask("chats.end")


def refuse_noting(tx: Tx, thread_id: str, turn: int) -> None:
    """Refuse a program that would keep as a note what was said incognito or while memory was off, or lies in the
    trash."""
    switches.refuse_incognito(tx, thread_id)
    threads.refuse_trash(threads.get_thread(tx, thread_id))
    if turn in threads.unkept_turns(tx, thread_id):
        raise NotAllowed("that was said while memory was off; only the person keeps it", code="memory_off")


def is_hidden(book: OpenBook, tx: Tx, thread: Thread) -> bool:
    """Whether a program asks for what the person says in an incognito chat, or records there."""
    return thread.incognito and book.hand.is_program and person_is_heard(tx, thread.id)


def refuse_our_name(tx: Tx, session: str) -> None:
    """Refuse a program that would begin a session under a name by which a door of ours finds the person's chats."""
    session = clean_line(session, "session", 1, 200)
    if session.startswith(OUR_NAMES) and threads.find_session(tx, session) is None:
        why = f"names that begin with {' or '.join(OUR_NAMES)} are for the person's own chats; choose another session"
        raise NotAllowed(why, code="person_only")
