"""A real program: an agent of CrewAI with a model that is scripted. `make test-adapters` runs it in an environment of
its own, on a book that is here and on one on a server."""

import os
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Agent, BaseLLM, Crew, Task
from place import PLACES
from pydantic import Field

from keepbook.adapters.crewai import crew_tools, memory_block


class Scripted(BaseLLM):
    """Saves what it is told, once, and then answers; it notes what it was sent."""

    asked: list[Any] = Field(default_factory=list)

    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        self.asked.append(messages)
        if len(self.asked) == 1:
            return 'Thought: keep it\nAction: remember\nAction Input: {"content": "Is allergic to peanuts"}'
        if len(self.asked) == 2:
            return 'Thought: look\nAction: forget\nAction Input: {"memory": "nothing like it"}'
        return "Thought: done\nFinal Answer: I will keep that in mind."

    def supports_function_calling(self) -> bool:
        return False


def main() -> None:
    for place in PLACES:
        with place() as (kb, here):
            here.book("alice").remember("Prefers short answers")
            block = memory_block(kb, owner="alice", session="chat-1")
            assert "Prefers short answers" in block
            tools = crew_tools(kb, "general", owner="alice", session="chat-1")
            names = [tool.name for tool in tools]
            assert names == [tool.name for tool in here.tools("general", owner="alice")], names
            shown = {tool.name: tool.args_schema.model_json_schema() for tool in tools}
            assert shown["remember"] == here.tools("general", owner="alice")["remember"].parameters
            model = Scripted(model="scripted")
            agent = Agent(role="Helper", goal="Help", backstory=block, tools=tools, llm=model, max_iter=5)
            task = Task(description="I am allergic to peanuts.", expected_output="A word", agent=agent)
            told = Crew(agents=[agent], tasks=[task]).kickoff()
            assert "keep that in mind" in str(told), told
            kept = [(one.content, one.source) for one in here.book("alice").list()]
            assert kept[-1] == ("Is allergic to peanuts", "chat"), kept
            assert any("list_memories" in str(asked) for asked in model.asked[-1:]), "the refusal was told in words"
            event = next(tool for tool in tools if tool.name == "remember").last_event
            here.book("alice").undo(event["event"])
            assert here.book("alice").list().total == 1


main()
