"""An installation with one agent, whichever adapter runs it: what it answers is scripted, what was sent is looked at.

The native adapter has a model in this process, claude-cli a stand-in program. Both are asked in the same words here:
`house.answers(...)` puts answers on the script, `house.sent` is what each request held, in order.
"""

import asyncio
import json
import re
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepbook import Keepbook
from keepbook.errors import ModelFailed
from keepbook.extensions.agents.book.runs import Run
from keepbook.models.choose import Models
from keepbook.models.model import (
    Conversation,
    PromptMessage,
    ReplyEvent,
    ReplyFinished,
    TextDelta,
    Toolbox,
    Usage,
    with_hidden,
)
from keepbook.models.offline.model import OfflineModel
from keepbook.settings import Settings

STAND_IN = Path(__file__).with_name("stand_in.py")
CONTEXT = re.compile(r"<context>\n.*?\n</context>\n\n", re.DOTALL)
LONGEST_WAIT = 30.0


@dataclass(frozen=True)
class Breaks:
    """Instead of an answer: the model fails."""

    why: str = "the model is away"


@dataclass(frozen=True)
class Waits:
    """An answer that comes only once `house.release(gate)` is called."""

    text: str
    gate: str


Step = str | Breaks | Waits


@dataclass(frozen=True)
class Sent:
    """One request. `said` is everything before the answer, as (role, text), with no context around the texts."""

    system: str
    whole: tuple[tuple[str, str], ...]
    tools: tuple[str, ...] = ()
    told: dict[str, Any] = field(default_factory=dict)
    conversation: Conversation | None = None

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(role, CONTEXT.sub("", text)) for role, text in self.whole if text]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.said]

    @property
    def everything(self) -> str:
        return "\n".join([self.system, *(text for _, text in self.whole)])


class Scripted:
    """A model that says what it is told to, and remembers what it was sent."""

    name = "scripted"

    def __init__(self) -> None:
        self.script: list[Step] = []
        self.sent: list[Sent] = []
        self.summarised: list[str] = []
        self.gates: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def gate(self, name: str) -> threading.Event:
        return self.gates.setdefault(name, threading.Event())

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        names = tuple(each["function"]["name"] for each in tools.schemas("openai")) if tools else ()
        whole = tuple((one.role, with_hidden(one)) for one in conversation.said)
        with self._lock:
            self.sent.append(Sent(conversation.system, whole, names, conversation=conversation))
            step = self.script.pop(0)
        if isinstance(step, Waits):
            await asyncio.to_thread(self.gate(step.gate).wait, LONGEST_WAIT)
        if isinstance(step, Breaks):
            raise ModelFailed(step.why, tokens_in=7, tokens_out=0)
        text = step.text if isinstance(step, Waits) else step
        yield TextDelta(text)
        yield ReplyFinished(text, (), Usage(120, 10))

    async def extract(self, reading: Any) -> Any:
        raise NotImplementedError

    async def summarise(self, previous: str | None, turns: Sequence[Any]) -> tuple[str, Usage]:
        self.summarised.append("\n".join(turn.text for turn in turns))
        return f"Summary {len(self.summarised)} of {len(turns)} turns.", Usage(50, 5)

    async def title(self, turns: Sequence[Any]) -> tuple[str, Usage]:
        return "A title", Usage()


class House:
    """One installation, one owner, one adapter."""

    def __init__(self, adapter: str, book_url: str, clock: Any, folder: Path, **told: Any) -> None:
        self.adapter = adapter
        self.folder = folder
        self.model = Scripted()
        (folder / "script.jsonl").write_text("")
        (folder / "sent.jsonl").write_text("")
        settings = Settings(
            agent_command=f"{sys.executable} {STAND_IN} {folder}",
            agent_programs=(sys.executable,),
            agent_folder=folder / "agents",
            embedder="none",
            **told,
        )
        self.kb = Keepbook(book_url, clock=clock, settings=settings)
        self.kb.__dict__["models"] = Models(self.model, self.model, OfflineModel())
        self.book = self.kb.book("alice")

    def agent(self, name: str = "Desk", **told: Any) -> Any:
        return self.book.agents.create(name, adapter=self.adapter, **told)

    def answers(self, *steps: Step) -> None:
        self.model.script += steps
        with (self.folder / "script.jsonl").open("a") as script:
            for step in steps:
                script.write(json.dumps(_as_line(step)) + "\n")

    def release(self, gate: str) -> None:
        self.model.gate(gate).set()
        (self.folder / gate).touch()

    @property
    def sent(self) -> list[Sent]:
        if self.adapter == "native":
            return self.model.sent
        lines = [json.loads(line) for line in (self.folder / "sent.jsonl").read_text().splitlines()]
        return [Sent(one["system"], tuple((role, text) for role, text in one["said"]), told=one) for one in lines]

    def run(self, prompt: str | None = None, *, kind: str = "manual", agent: str = "Desk") -> Run:
        return asyncio.run(self.kb.runner(self.book).run(agent, prompt, kind=kind))

    def re_examine(self, run_id: str) -> Run:
        return asyncio.run(self.kb.runner(self.book).re_examine(run_id))

    def say(self, text: str, *, agent: str = "Desk") -> list[Any]:
        async def turn() -> list[Any]:
            chat = self.kb.chat_with(self.book, agent)
            return [event async for event in self.kb.talk(chat).say(text)]

        return asyncio.run(turn())

    @property
    def memory(self) -> Any:
        return self.book.agents.get("Desk").memory

    def close(self) -> None:
        self.kb.close()


def _as_line(step: Step) -> dict[str, str]:
    if isinstance(step, Breaks):
        return {"exit": step.why}
    return {"text": step.text, "until": step.gate} if isinstance(step, Waits) else {"text": step}


def spoken(said: PromptMessage) -> tuple[str, str]:
    return said.role, with_hidden(said)
