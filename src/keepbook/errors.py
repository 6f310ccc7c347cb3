"""Every error Keepbook raises on purpose.

    KeepbookError
    ├── Invalid        the input breaks a rule; `field` names which
    ├── NotFound       no such thing in this owner's book
    ├── Ambiguous      a piece of text fits several memories; `candidates` lists them
    ├── Conflict       the book has moved on, is busy, or holds something like it (`similar`)
    ├── NotAllowed     a guard forbids it
    ├── LimitReached   a limit of this owner or installation
    └── ModelFailed    a language model did not answer as it must

Each carries a stable `code` that programs may rely on and a message for people: what is wrong, what to do.
Doors translate them once: to HTTP, to an exit code, to words for a model.
"""

from collections.abc import Sequence
from typing import Any


class KeepbookError(Exception):
    """Anything Keepbook refuses, with a stable `code` and a sentence for a person."""

    code: str = "error"
    args: tuple[Any, ...]

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message: str = message
        self.code: str = code or type(self).code
        self.field: str | None = field
        self.details: dict[str, Any] = details

    def add(self, words: str) -> None:
        """Add words to the message, for who catches it and knows more."""
        self.message = f"{self.message}; {words}"
        self.args = (self.message,)


class Invalid(KeepbookError):
    code = "invalid"


class NotFound(KeepbookError):
    code = "not_found"


class Ambiguous(KeepbookError):
    """Several memories fit; `candidates` are (id, content) pairs to choose from."""

    code = "ambiguous"

    def __init__(self, message: str, candidates: Sequence[tuple[str, str]]) -> None:
        super().__init__(message, candidates=[{"id": id_, "content": content} for id_, content in candidates])
        self.candidates: list[tuple[str, str]] = list(candidates)


class Conflict(KeepbookError):
    """The write does not fit the present state; `similar` lists the memories that stand against it, if any do."""

    code = "conflict"

    def __init__(self, message: str, *, code: str | None = None, similar: Sequence[Any] = (), **details: Any) -> None:
        super().__init__(message, code=code, **details)
        self.similar: list[Any] = list(similar)


class NotAllowed(KeepbookError):
    code = "not_allowed"


class LimitReached(KeepbookError):
    code = "limit_reached"


class ModelFailed(KeepbookError):
    code = "model_failed"


def keepbook_closed() -> Conflict:
    return Conflict("this Keepbook was closed; open it again", code="book_closed")
