"""Turns that somebody else recorded in a chat, as a model sees them.

A turn that an agent or a program recorded, whatever role it gave it, is marked in what a model is sent. While one
stands there, or in a summary of what stood there, or a passage of one that recall brought, the model's tools act as an
agent's and not as the person's.
"""

from collections.abc import Sequence

from keepbook.book.chats.in_view import in_view
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.text.for_models.prompt_part import as_part_text

SPEAKING = ("user", "assistant")


def recorders_in_view(messages: Sequence[Message], thread: Thread) -> tuple[str, ...]:
    """Who recorded what a model is sent, each by name once: turns, those that a summary stands for, and passages."""
    if thread.compressed is not None:
        through = thread.compressed_through
    else:
        through = 0
    told = [one for one in in_view(messages, thread.out_of_view) if one.role in SPEAKING]
    summed_up = (one.recorded_by for one in told if one.turn <= through)  # it has their words, and none of a passage
    kept = [one for one in told if one.turn > through]
    sent = (name for one in kept for name in one.recorders)
    return tuple(dict.fromkeys(name for name in (*summed_up, *sent) if name is not None))


def marked(message: Message) -> str:
    """The text of a message as a model is sent it: what somebody else recorded, its hidden words with it, in a part of
    its own."""
    if message.recorded_by is None:
        return message.text
    name = as_part_text(" ".join(message.recorded_by.split())).translate(_UNSAFE)
    told = "\n\n".join(filter(None, (message.hidden, message.text)))
    return f'<recorded by="{name}">\n{as_part_text(told)}\n</recorded>'


def hidden_beside(message: Message) -> str | None:
    """What is sent beside a message as hidden context; of what somebody else recorded it stands inside."""
    if message.recorded_by is None:
        return message.hidden
    return None


_UNSAFE = str.maketrans({'"': "'", ">": "›"})
