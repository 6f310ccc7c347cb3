"""The person's answers under a turn: to what it asks, and to lines in pencil. Forms that work without script."""

from fastapi import APIRouter
from fastapi.responses import Response

from keepbook.book.chats.view import take_back_pencil_no
from keepbook.doors.http.web.chat.chat_view import chat_view as whole
from keepbook.doors.http.web.frame.visit import Changing, Visit

router = APIRouter(include_in_schema=False)


# Questions


@router.post("/chat/{id}/questions/{question}/{choice}")
def answer_question(visit: Changing, id: str, question: str, choice: str) -> Response:
    """The person's answer to what a turn asked, by button; what it wrote stands under that turn, with its way back."""
    book = visit.writing()
    asked = book.proposals.get(question)
    answered = book.proposals.answer(question, choice)
    turn = int(asked.turn_ids[-1]) if asked.turn_ids and asked.turn_ids[-1].isdecimal() else 0
    said = "Done." if getattr(answered, "event", None) else "Nothing was changed."
    return _turn_again(visit, id, turn, said)


@router.post("/chat/{id}/memory-off")
def switch_off(visit: Changing, id: str) -> Response:
    """The yes to "stop remembering"; Settings switch it on again."""
    visit.writing("choices.change").choose(memory=False)
    return visit.back(f"/chat/{id}")


# Pencil


@router.post("/chat/{id}/pencil/{key}/keep")
def keep(visit: Changing, id: str, key: str, both: bool = False) -> Response:
    """In ink now, as the person; the line under the turn says so, with its way back."""
    kept = visit.writing().threads.get(id).keep(key, both)
    return _answered_pencil(visit, id, key, f"Memory saved, number {kept.event}.")


@router.post("/chat/{id}/pencil/{key}/no")
def decline(visit: Changing, id: str, key: str) -> Response:
    """Left out, whatever model closes the chat; the line stays, struck, with its way back."""
    visit.writing().threads.get(id).decline(key)
    return _answered_pencil(visit, id, key, "Left out.")


@router.post("/chat/{id}/pencil/{key}/undo")
def take_back(visit: Changing, id: str, key: str) -> Response:
    """In pencil again."""
    take_back_pencil_no(visit.writing(), visit.book.threads.get(id).id, key)
    return _answered_pencil(visit, id, key, "Noted again.")


def _answered_pencil(visit: Visit, id: str, key: str, said: str) -> Response:
    return _turn_again(visit, id, int(key.partition("-")[0]), said, key)


def _turn_again(visit: Visit, id: str, turn: int, said: str, key: str = "") -> Response:
    """What came of a turn, as it stands once one of its lines or questions has its answer."""
    if not visit.partial:
        return visit.back(f"/chat/{id}#turn-{turn}", pencil=1)
    talked = whole(visit, id, pencil=True)
    shown = next((one for one in talked.turns if one.number == turn), None)
    waiting = [line.key for line in shown.lines if line.out is None] if shown else []
    others = talked.same_lines(shown.slips) - {turn} if shown else set()
    return visit.page("chat_pencil.html", talked=talked, turn=shown, said=said, at=(waiting or [key])[0], older=others)
