"""The client's side of agents: the requests behind `book.agents`, `.runs` and `.decisions`, and a runner that lets the
server carry out the runs."""

import asyncio
import inspect
import json
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from keepbook.book.chats.threads import Thread
from keepbook.client.asks import Asks
from keepbook.client.books import chat_request
from keepbook.client.connection import Request, Steps
from keepbook.client.faces import RemoteFace, ask_server, remote_face_of
from keepbook.client.talk import refuse_models
from keepbook.client.values import to_json_argument, value_of
from keepbook.errors import Invalid
from keepbook.extension import at_once
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.book.calibration import Calibration
from keepbook.extensions.agents.book.cards.types import Broken, CardType, CardTypes
from keepbook.extensions.agents.book.decisions import Decision, PastCard
from keepbook.extensions.agents.book.face import Agents, Decisions, Runs
from keepbook.extensions.agents.book.forecasts import DueForecast
from keepbook.extensions.agents.book.recording import RecordedDecision
from keepbook.extensions.agents.book.results import Former
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.book.runs import TranscriptTurn as Said
from keepbook.extensions.agents.book.scoring.brought_in import BroughtForecast, BroughtIn
from keepbook.extensions.agents.book.scoring.comparison import AgentComparison
from keepbook.extensions.agents.book.second_looks import SecondLook

RUN, AGENT = "/api/runs/{run_id}", "/api/agents/{ref}"
WAIT = 300
"""Seconds that the server is asked to wait for the end of a run; the client polls for one that takes longer."""
OVER = ("succeeded", "failed")
"""The states of a run that is over."""


def _list_runs(_: RemoteFace, agent: str | None = None, **filters: Any) -> Steps[list[Run]]:
    if agent is None:
        path = "/api/runs"
    else:
        path = "/api/agents/{agent}/runs"
    return (yield from Asks("GET", path, list[Run], "runs").steps({"agent": agent, **filters}))  # type: ignore[no-any-return]


def _bring_in(_: RemoteFace, agent: str, source: Any, dry_run: bool = False) -> Steps[BroughtIn]:
    path = Asks("POST", "/api/agents/{agent}/forecasts").request({"agent": agent}).path
    headers = {"Content-Type": "text/plain"}
    query = (("dry_run", str(dry_run).lower()),)
    return value_of(BroughtIn, (yield Request("POST", path, query, text=_json_lines(source), headers=headers)))  # type: ignore[no-any-return]


def _json_lines(source: Any) -> bytes:
    """The body to send for `source`: the path of a file on this machine, or an iterable of lines or of forecasts."""
    if isinstance(source, str | PathLike):
        try:
            return Path(source).expanduser().read_bytes()
        except OSError as error:
            raise Invalid(f"cannot read {source}: {error.strerror}", field="file") from None
    lines = (line if isinstance(line, str) else json.dumps(to_json_argument(line)) for line in source)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _cards(_: RemoteFace) -> Steps[CardTypes]:
    told = yield Request("GET", "/api/agents/card-types")
    types = value_of(list[CardType], told["types"])
    return CardTypes({one.name: one for one in types}, value_of(tuple[Broken, ...], told["files"]))


AGENTS = remote_face_of(
    Agents,
    {
        "cards": _cards,
        "create": Asks("POST", "/api/agents", Agent),
        "get": Asks("GET", AGENT, Agent),
        "list": Asks("GET", "/api/agents", list[Agent], "agents"),
        "update": Asks("PATCH", AGENT, Agent),
        "delete": Asks("DELETE", AGENT, Agent),
        "restore": Asks("POST", "/api/agents/{id}/restore", Agent),
        "reset": Asks("POST", f"{AGENT}/memory/reset", Agent),
        "arm": Asks("POST", f"{AGENT}/arm", Agent),
        "disarm": Asks("POST", f"{AGENT}/disarm", Agent),
        "decisions": Asks("GET", f"{AGENT}/decisions", list[PastCard], "decisions"),
    },
)
RUNS = remote_face_of(
    Runs,
    {
        "get": Asks("GET", RUN, Run),
        "list": _list_runs,
        "transcript": Asks("GET", RUN, list[Said], "transcript"),
        "specialists": Asks("GET", RUN, list[Run], "specialists"),
        "may_re_examine": Asks("GET", RUN, bool, "re_examinable"),
        "re_examinations": Asks("GET", f"{RUN}/re-examinations", list[Run]),
    },
)
DECISIONS = remote_face_of(
    Decisions,
    {
        "list": Asks("GET", "/api/decisions", list[Decision], "decisions"),
        "find": Asks("GET", RUN, Decision | None, "decision"),
        "get": Asks("GET", "/api/decisions/{run_id}", Decision),
        "history": Asks("GET", "/api/decisions/{run_id}/history", list[Former], "history"),
        "count": Asks("GET", "/api/decisions/count", dict[str, int], "counts"),
        "due": Asks("GET", "/api/decisions/due", list[DueForecast], "forecasts"),
        "first_resolved": Asks("GET", "/api/decisions/count", datetime | None, "first_resolved"),
        "calibration": Asks("GET", "/api/decisions/calibration", Calibration),
        "record": Asks("POST", "/api/agents/{agent}/decisions", RecordedDecision),
        "bring_in": _bring_in,
        "compare": Asks("GET", "/api/forecasts/comparison", AgentComparison),
        "brought_in": Asks("GET", "/api/forecasts/brought-in", list[BroughtForecast], "forecasts"),
        "record_second_look": Asks("POST", f"{RUN}/re-examinations", RecordedDecision),
        "second_look": Asks("GET", f"{RUN}/re-examine", SecondLook),
        "exit": Asks("POST", f"{RUN}/resolve", Decision),
        "answer": Asks("POST", f"{RUN}/resolve", Decision),
    },
)


def remote_chat_with(_: Any, book: RemoteFace, agent: str) -> Any:
    """The one chat with an agent, for `talk`; it is started if there is none."""
    way = chat_request(Asks("POST", "/api/agents/{agent}/chat", Thread))
    return ask_server(book, way, agent=agent)


@at_once
def remote_runner(_: Any, book: RemoteFace, *, models: object = None) -> "RemoteRunner":
    """A runner that lets the server carry out the runs of a book's agents."""
    refuse_models(models)
    return RemoteRunner(book)


class RemoteRunner:
    """Runs the agents of a book on its server."""

    def __init__(self, book: RemoteFace) -> None:
        self.book: Any = book

    async def run(self, ref: str, prompt: str | None = None) -> Run:
        """Run an agent now, until its card or its failure.

        ref: its id, or its name
        prompt: what it is asked instead of its default prompt
        """
        way = Asks("POST", "/api/agents/{ref}/runs", Run, fixed={"wait": WAIT}, query=("wait",))
        return await self._wait_until_over(way, {"ref": ref, "prompt": prompt})

    async def re_examine(self, run_id: str) -> Run:
        """Look again at what a run concluded.

        run_id: the id of the run
        """
        way = Asks("POST", "/api/runs/{run_id}/re-examine", Run, fixed={"wait": WAIT}, query=("wait",))
        return await self._wait_until_over(way, {"run_id": run_id})

    async def _wait_until_over(self, way: Asks, given: dict[str, Any]) -> Run:
        run = await self._ask(way, given)
        while run.status not in OVER:
            await asyncio.sleep(1)
            run = await self._ask(Asks("GET", "/api/runs/{run_id}", Run), {"run_id": run.id})
        return run

    async def _ask(self, way: Asks, given: dict[str, Any]) -> Run:
        """Send one request. A synchronous connection is called in a thread, so that the event loop goes on."""
        carry = self.book._connection.run
        if inspect.iscoroutinefunction(carry):
            found: Run = await carry(way.steps(given))
            return found
        return await asyncio.to_thread(carry, way.steps(given))
