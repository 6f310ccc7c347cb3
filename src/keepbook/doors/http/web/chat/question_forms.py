"""The person's answers under a turn: to what it asks, and to lines in pencil. Forms that work without script."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.book import Book
from keepbook.book.chats.view import take_back_pencil_no
from keepbook.doors.http.web.chat.articles import AnsweredQuestion
from keepbook.doors.http.web.chat.exchange_page import exchange_page
from keepbook.doors.http.web.frame.visit import Changing, Visit
from keepbook.doors.http.web.frame.written import entries_written
from keepbook.models.notebook.open_questions import OpenQuestion, open_questions

router: APIRouter = APIRouter(include_in_schema=False)


# Questions


@router.post("/chat/{id}/questions/{question}/{choice}")
def answer_question(
    visit: Changing, id: str, question: str, choice: str, words: Annotated[str, Form(max_length=4000)] = ""
) -> Response:
    """The person's answer to what a turn asked, by button; a change may be made in other words than were offered."""
    book = visit.writing()
    asked = book.proposals.get(question)
    if asked.turn_ids and asked.turn_ids[-1].isdecimal():
        turn = int(asked.turn_ids[-1])
    else:
        turn = 0
    waiting = next((one for one in open_questions(book, id) if one.id == question), None)

    def carry_out() -> None:
        if choice == "change" and waiting is not None and not waiting.is_as_offered(words):
            _change_in_own_words(book, waiting, words)
        else:
            book.proposals.answer(question, choice)

    with book.transaction():
        written = tuple(entry.event for entry in reversed(entries_written(book, carry_out)))
    if written:
        said = "Done."
    else:
        said = "Nothing was changed."
    answered = None
    if waiting and waiting.question != "keep":
        answered = AnsweredQuestion(waiting, choice, written)
    return exchange_page(visit, id, turn, said=said, answered=answered)


def _change_in_own_words(book: Book, waiting: OpenQuestion, words: str) -> None:
    book.proposals.answer(waiting.id, waiting.silence)
    book.update(waiting.memory_id or "", words.strip())


@router.post("/chat/{id}/memory-off")
def switch_off(visit: Changing, id: str) -> Response:
    """The yes to "stop remembering"; Settings switch it on again."""
    visit.writing("choices.change").choose(memory=False)
    return visit.back(f"/chat/{id}")


# Pencil


@router.post("/chat/{id}/pencil/{key}/keep")
def keep(visit: Changing, id: str, key: str, both: bool = False) -> Response:
    """Keep a pencilled line as the person's word; the line under the turn says so, with its way back."""
    visit.writing().threads.get(id).keep(key, both)
    return _answered_pencil(visit, id, key, "In your book.")


@router.post("/chat/{id}/pencil/{key}/no")
def decline(visit: Changing, id: str, key: str) -> Response:
    """Leave a pencilled line out, whatever model closes the chat; it stays on the page, struck, with its way back."""
    visit.writing().threads.get(id).decline(key)
    return _answered_pencil(visit, id, key, "Left out.")


@router.post("/chat/{id}/pencil/{key}/undo")
def take_back(visit: Changing, id: str, key: str) -> Response:
    """Take back that a line was left out: it is pencilled again."""
    take_back_pencil_no(visit.writing(), visit.book.threads.get(id).id, key)
    return _answered_pencil(visit, id, key, "Noted again.")


def _answered_pencil(visit: Visit, id: str, key: str, said: str) -> Response:
    return exchange_page(visit, id, int(key.partition("-")[0]), said=said, key=key)
