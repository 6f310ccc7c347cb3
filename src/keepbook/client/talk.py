"""Talking in a chat on a server: the same events as in a local one, read from the server's stream."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from keepbook.book.chats.threads import Message
from keepbook.client.connection import Request
from keepbook.client.faces import LOCAL_ONLY, RemoteFace
from keepbook.client.refusals import error_from_problem
from keepbook.client.values import value_of
from keepbook.errors import KeepbookError, NotAllowed
from keepbook.models.chat import Notice, ReplyStored
from keepbook.models.model import TextDelta, ToolCall, ToolCalled

TalkEvent = TextDelta | ToolCalled | Notice | ReplyStored


class RemoteTalk:
    """A chat on a server, with the models that answer in it there."""

    def __init__(self, chat: Any) -> None:
        self.chat: RemoteFace = chat

    async def say(self, text: str, *, hidden: str | None = None) -> AsyncIterator[TalkEvent]:
        """Say something; the reply comes in pieces.

        text: what the person says
        hidden: told to the model with it, shown nowhere
        """
        chat: Any = self.chat
        body = {"text": text} | ({"hidden": hidden} if hidden else {})
        request = Request("POST", f"/api/chat/threads/{chat.id}/messages", body=body, again=False)
        name = ""
        async for line in chat._connection.stream(request):
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield _to_event(name, json.loads(line.removeprefix("data: ")))
                if name == "kept":
                    return
        raise KeepbookError("the reply broke off; what was said is in the chat", code="unavailable")


def refuse_models(models: object) -> None:
    """Refuse models that are passed for a chat on a server, which has its own."""
    if models is not None:
        raise NotAllowed("which models answer is the server's to say", code=LOCAL_ONLY)


def _to_event(name: str, data: Any) -> TalkEvent:
    if name == "problem":
        raise error_from_problem(data["status"], data)
    return _EVENTS[name](data)


_EVENTS: dict[str, Callable[[Any], TalkEvent]] = {
    "text": lambda data: TextDelta(data["text"]),
    "tool": lambda data: ToolCalled(
        ToolCall(id="", name=data["name"], arguments={}, answer=data["answer"], memory_event=data["memory_event"])
    ),
    "notice": lambda data: Notice(data["text"]),
    "kept": lambda data: ReplyStored(value_of(Message, data["message"]), data["title"]),
}
