"""Turns a server's refusal into the error that the same call raises locally."""

from typing import Any

from keepbook import errors
from keepbook.book.memory.memories import Memory
from keepbook.client.values import value_of
from keepbook.errors import Ambiguous, Conflict, Invalid, KeepbookError, LimitReached, NotAllowed, NotFound

_DOCUMENT = ("type", "title", "status", "detail", "code", "field", "kind")
FROM_PROXIES = (502, 504)
"""What a proxy answers for a server that it cannot reach, or that does not answer."""
_BY_STATUS: dict[int, type[KeepbookError]] = {
    401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 412: Conflict, 422: Invalid, 429: LimitReached,
}  # fmt: skip


def error_from_problem(status: int, told: Any) -> KeepbookError:
    """The error that a problem document describes. If a proxy sent a page of its own, only the status is known."""
    if not isinstance(told, dict) or "code" not in told:
        if status in FROM_PROXIES:
            why = "what stands before the server answered {status}: the server is away"
        else:
            why = "the server answered {status} and no reason; its log may say why"
        return KeepbookError(why.format(status=status), code="unavailable")
    details = {name: value for name, value in told.items() if name not in _DOCUMENT}
    message, code, field = told.get("detail", ""), told["code"], told.get("field")
    kind = getattr(errors, str(told.get("kind")), None) or _BY_STATUS.get(status, KeepbookError)
    if kind is Ambiguous:
        return Ambiguous(message, [(one["id"], one["content"]) for one in details.get("candidates", ())])
    if kind is Conflict:
        similar = [value_of(Memory, one) for one in details.pop("similar", ())]
        return Conflict(message, code=code, similar=similar, field=field, **details)
    made: KeepbookError = kind(message, code=code, field=field, **details)
    return made
