"""Compresses pages and static files if the browser accepts it.

A page that shows a secret must not be compressed: if an attacker can put words into it, its size reveals whether the
secret has the same (the BREACH attack).
"""

import gzip

from starlette.requests import Request

LEAST = 1_000
"""Bytes; a smaller page is not compressed."""
FAST = 5
"""The level of compression; the highest saves a few percent more and takes twice as long."""


def takes_gzip(accepted: str) -> bool:
    """Whether a browser that sends this Accept-Encoding takes gzip."""
    for one in accepted.split(","):
        name, _, quality = one.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def compressed_page(request: Request, text: str) -> tuple[bytes, dict[str, str]]:
    """The body of a page as it is sent, and its headers."""
    body, headers = text.encode(), {"Vary": "Accept-Encoding"}
    if len(body) >= LEAST and takes_gzip(request.headers.get("accept-encoding", "")):
        return gzip.compress(body, FAST, mtime=0), {**headers, "Content-Encoding": "gzip"}
    return body, headers
