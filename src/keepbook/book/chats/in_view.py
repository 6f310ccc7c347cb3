"""The messages of a chat that a model is sent: the person may take turns that others recorded out of view."""

from collections.abc import Container, Sequence
from typing import Any, TypeVar

Turn = TypeVar("Turn", bound=Any)


def in_view(messages: Sequence[Turn], out_of_view: Container[int]) -> list[Turn]:
    """The messages without those that the person took out of view, and without our replies to them."""
    shown, answers_hidden = [], False
    for message in messages:
        hidden = message.turn in out_of_view
        if message.role == "user":
            answers_hidden = hidden
        is_reply = message.role == "assistant" and message.recorded_by is None
        if not hidden and not (is_reply and answers_hidden):
            shown.append(message)
    return shown
