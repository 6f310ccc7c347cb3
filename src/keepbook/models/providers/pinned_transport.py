"""An HTTP transport that connects to addresses which were resolved and checked before (`models/outward.py`).

The URL of a request gets an address in place of its host. The `Host` header stays, and with `sni_hostname` TLS still
checks the name of the host.
"""

import ssl
from collections.abc import Sequence

import httpx2


class PinnedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, addresses: Sequence[str], verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify)
        self._addresses = addresses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first address that accepts a connection."""
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
