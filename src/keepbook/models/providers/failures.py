"""Turns any error of a remote model into one sentence that names the model and the cause.

The text that a provider sends with an error is never repeated, because it may quote a key or the chat.
`details["cause"]` is a word that programs may rely on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from keepbook.errors import KeepbookError, ModelFailed
from keepbook.models.providers.address import Address

SERVER_ERRORS = 500
PASSING = ("rate_limit", "unreachable", "unavailable", "server")
"""Causes that may pass by themselves, so that the request is worth repeating."""

# For each type of error the cause and the words. The first type that fits counts, so subclasses come first.
_CAUSES: tuple[tuple[type[Exception], str, str], ...] = (
    (ModelRateLimitError, "rate_limit", "takes no more requests for now"),
    (ModelQuotaExceededError, "quota", "has no credit left"),
    (ModelAuthenticationError, "key", "refused the key; check it"),
    (ModelNotFoundError, "unknown", "is not known at {place}; check its name and the base URL"),
    (ModelContextWindowExceededError, "too_long", "cannot take so much text at once"),
    (ModelRequestRejectedError, "rejected", "did not accept the request"),
    (ModelRequestTimeout, "timeout", "did not answer within {timeout:g} seconds"),
    (ModelTimeoutError, "timeout", "did not answer within {timeout:g} seconds"),
    (ModelConnectionError, "unreachable", "cannot be reached at {place}, or broke off"),
    (ModelUnavailableError, "unavailable", "is not available just now"),
    (ModelServerError, "server", "failed on its side"),
    (OSError, "unreachable", "cannot be reached at {place}, or broke off"),  # a name that nobody knows
)


@contextmanager
def failing(address: Address) -> Iterator[None]:
    """Turn whatever is raised inside into `ModelFailed`."""
    try:
        yield
    except KeepbookError:
        raise
    except Exception as error:  # on a malformed answer the libraries raise errors of any type
        raise _to_model_failed(address, error) from error


def _to_model_failed(address: Address, error: Exception) -> ModelFailed:
    cause, words = "garbage", "gave an answer that cannot be read"
    if 300 <= getattr(error.__cause__, "status_code", 0) < 400:
        cause, words = "redirect", "points to another address, which is not followed; write that one"
    for kind, word, said in _CAUSES:
        if isinstance(error, kind):
            cause, words = word, said.format(place=address.place, timeout=address.timeout)
            break
    status = ""
    if isinstance(error, ModelHTTPError):
        status = f" (HTTP {error.status_code})"
    wait = getattr(error, "retry_after", None)
    again = ""
    if isinstance(wait, int | float) and cause == "rate_limit":
        again = f"; try again in {wait:g} seconds"
    told: dict[str, Any] = {"cause": cause}
    broke_off = type(error) is ModelAPIError  # raised for a stream that ends too early
    if broke_off or cause in PASSING or getattr(error, "status_code", 0) >= SERVER_ERRORS:
        told |= {"again": True, "retry_after": wait}
    return ModelFailed(f"the model {address.called} {words}{status}{again}", **told)
