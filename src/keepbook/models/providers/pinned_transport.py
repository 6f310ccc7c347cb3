"""The provider library's transport, to addresses that were found before (`models/outward.py`).

The request names an address instead of the host; the `Host` header stays, and TLS checks the host's name, as the
library lets a request say with `sni_hostname`.
"""

import ssl
from collections.abc import Sequence

import httpx2


class PinnedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, addresses: Sequence[str], verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify)
        self._addresses = addresses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The first address that takes a connection is the one. Nothing was sent to those before it."""
        for address in self._addresses[:-1]:
            try:
                return await super().handle_async_request(_sent_to(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await super().handle_async_request(_sent_to(request, self._addresses[-1]))


def _sent_to(request: httpx2.Request, address: str) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
