"""Notifies clients that wait for the block to change.

A book is written to by other processes too, so the block is polled while somebody waits, and only then. Clients of the
older protocol subscribe and unsubscribe; newer ones listen on a request of their own that lasts until they leave.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

Context = ServerRequestContext[Any, Any]
BLOCK = "keepbook://block"
LOOK_SECONDS = 1.0
"""Between two looks at the block."""


class Watch:
    """The waiting clients. `block_of` reads the block as the sender of a request would see it."""

    def __init__(self, block_of: Callable[[Any], Awaitable[str]]) -> None:
        self._block_of = block_of
        self._waiting: dict[str, asyncio.Task[None]] = {}

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        uri = str(params.uri)
        if uri == BLOCK and uri not in self._waiting:
            changes = self._changes(context.request, await self._block_of(context.request))
            self._waiting[uri] = asyncio.create_task(self._tell(context, uri, changes))
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        task = self._waiting.pop(str(params.uri), None)
        if task is not None:
            task.cancel()
        return EmptyResult()

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        changes = self._changes(context.request, await self._block_of(context.request))

        async def publish() -> None:
            async for _ in changes:
                await bus.publish(ResourceUpdated(uri=BLOCK))

        async with anyio.create_task_group() as group:
            group.start_soon(publish)
            result = await ListenHandler(bus)(context, params)
            group.cancel_scope.cancel()
        return result

    async def _tell(self, context: Context, uri: str, changes: AsyncIterator[None]) -> None:
        async for _ in changes:
            await context.session.send_resource_updated(uri)

    async def _changes(self, request: Any, seen: str) -> AsyncIterator[None]:
        while True:
            await anyio.sleep(LOOK_SECONDS)
            now = await self._block_of(request)
            if now != seen:
                seen = now
                yield
