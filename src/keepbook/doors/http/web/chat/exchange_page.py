"""The answer to a form inside a conversation: the exchange as it stands now, and what else shows the same lines."""

from fastapi.responses import Response

from keepbook.doors.http.web.chat.articles import AnsweredQuestion
from keepbook.doors.http.web.chat.chat_view import chat_view
from keepbook.doors.http.web.frame.visit import Visit


def exchange_page(
    visit: Visit,
    id: str,
    turn: int,
    *,
    said: str = "",
    key: str = "",
    refused: int = 0,
    answered: AnsweredQuestion | None = None,
) -> Response:
    """Without script, back to the message in its page. `key` is the line that was answered: the next that waits gets
    the focus."""
    if not visit.partial:
        return visit.back(f"/chat/{id}#exchange-{turn}", refused=refused or None, pencil=1 if said else None)
    talked = chat_view(visit, id, pencil=True)
    exchange = talked.exchange_of(turn)
    if exchange:
        waiting = [line.key for line in exchange.lines if line.out is None]
    else:
        waiting = []
    return visit.page(
        "chat_saved.html", talked=talked, exchange=exchange, said=said, refused=refused, answered=answered,
        at=(waiting or [key])[0], older=talked.same_lines([exchange] if exchange else []),
    )  # fmt: skip
