"""Runs of agents that a server carries out."""

import asyncio
import inspect
from typing import Any

from keepbook.book.agents.runs import Run
from keepbook.client.asks import Asks
from keepbook.client.faces import RemoteFace

WAIT = 300
"""Seconds that the server is asked to wait for the end; a run that takes longer is asked for again."""
OVER = ("succeeded", "failed")


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
        """A connection that waits does so beside the event loop."""
        carry = self.book._connection.run
        if inspect.iscoroutinefunction(carry):
            found: Run = await carry(way.steps(given))
            return found
        return await asyncio.to_thread(carry, way.steps(given))
