"""Writes the body of a reply's request with the code that sends requests, and does not send it. Keys, headers and the
address are left out."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx2

from keepbook.errors import ModelFailed
from keepbook.models.model import Conversation
from keepbook.models.providers.address import Address
from keepbook.models.providers.session import NO_KEY, open_session


class _RecordingTransport(httpx2.AsyncBaseTransport):
    """Keeps the body of a request, and raises instead of sending it."""

    body = b""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.body = await request.aread()
        raise httpx2.ConnectError("this request is only written down", request=request)


async def write_request(
    address: Address, conversation: Conversation, tools: Sequence[Mapping[str, Any]], *, may_call: bool
) -> bytes:
    """The body that an address would be sent for this conversation."""
    transport = _RecordingTransport()
    async with open_session(replace(address, key=NO_KEY), transport=transport) as session:
        try:
            async with aclosing(session.exchange(conversation, tools).round(may_call=may_call)) as heard:
                async for _ in heard:
                    pass
        except ModelFailed:
            pass  # raised by the transport
    return transport.body
