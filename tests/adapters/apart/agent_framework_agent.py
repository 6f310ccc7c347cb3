"""A real program: an agent of Microsoft's Agent Framework with a model that is scripted. `make test-adapters` runs it
in an environment of its own, on a book that is here and on one on a server."""

import asyncio
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)
from place import PLACES

from keepbook.adapters.agent_framework import KeepbookProvider


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Calls a tool first, then answers; it notes what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[list[Message], Any]] = []

    def _inner_get_response(self, *, messages: Any, options: Any, stream: bool = False, **_: Any) -> Any:
        self.asked.append((list(messages), options))
        said = [one for one in messages if any(each.type == "function_result" for each in one.contents)]
        call = Content.from_function_call(
            call_id="c1", name="remember", arguments='{"content": "Is allergic to peanuts"}'
        )

        async def answer() -> ChatResponse:
            reply = ["I will keep that in mind."] if said else [call]
            return ChatResponse(messages=[Message("assistant", reply)])

        return answer()


async def main() -> None:
    for place in PLACES:
        with place() as (kb, here):
            alice = here.book("alice")
            alice.remember("Prefers short answers")
            model = Scripted()
            memory = KeepbookProvider(kb, "general", owner="alice")
            agent = Agent(client=model, context_providers=[memory])
            session = agent.create_session(session_id="chat-1")
            told = await agent.run("I live in Oslo, and I am allergic to peanuts.", session=session)
            assert "keep that in mind" in told.text, told.text

            messages, options = model.asked[0]
            sent = "\n".join(one.text for one in messages) + str(options.get("instructions"))
            assert "Prefers short answers" in sent, sent
            names = [tool.name for tool in options["tools"]]
            assert names == [tool.name for tool in here.tools("general", owner="alice")], names
            kept = [(one.content, one.source, one.thread_id) for one in alice.list()]
            assert ("Is allergic to peanuts", "chat", "chat-1") in kept, kept
            said = [(turn.role, turn.text) for turn in alice.thread("chat-1").messages()]
            assert said == [
                ("user", "I live in Oslo, and I am allergic to peanuts."),
                ("assistant", "I will keep that in mind."),
            ], said
            closed = await memory.close(session)
            assert closed.status == "closed", closed
            assert [one.content for one in here.book("bob").list()] == []


asyncio.run(main())
