"""Marks turns that another program recorded, in what a model is sent.

A turn that an agent or a program recorded is marked, whatever role it was given. While such a turn, a summary of one,
or a passage of one that recall found is part of a request, the model's tools act as an agent's and not as the person's.
"""

from collections.abc import Sequence

from keepbook.book.chats.in_view import in_view
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.text.for_models.prompt_part import as_part_text

SPEAKING = ("user", "assistant")


def recorders_in_view(messages: Sequence[Message], thread: Thread) -> tuple[str, ...]:
    """The names of all programs that recorded something of what a model is sent: turns, summarised turns, passages."""
    through = 0
    if thread.compressed is not None:
        through = thread.compressed_through
    told = [one for one in in_view(messages, thread.out_of_view) if one.role in SPEAKING]
    summed_up = (one.recorded_by for one in told if one.turn <= through)  # a summary has no passages of other turns
    kept = [one for one in told if one.turn > through]
    sent = (name for one in kept for name in one.recorders)
    return tuple(dict.fromkeys(name for name in (*summed_up, *sent) if name is not None))


def marked(message: Message) -> str:
    """The text of a message as it is sent. A recorded turn is put into a part of its own, with its hidden context."""
    if message.recorded_by is None:
        return message.text
    name = as_part_text(" ".join(message.recorded_by.split())).translate(_UNSAFE)
    told = "\n\n".join(filter(None, (message.hidden, message.text)))
    return f'<recorded by="{name}">\n{as_part_text(told)}\n</recorded>'


def hidden_beside(message: Message) -> str | None:
    """The hidden context that is sent with a message; None for a recorded turn, whose text has it inside."""
    if message.recorded_by is None:
        return message.hidden
    return None


_UNSAFE = str.maketrans({'"': "'", ">": "›"})
