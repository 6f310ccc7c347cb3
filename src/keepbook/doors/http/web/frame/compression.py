"""Pages and static files, compressed where the browser takes it.

Not what shows a secret: of a compressed page the size tells what stands in it beside words that somebody else chose.
"""

import gzip

from starlette.requests import Request

LEAST = 1_000
"""Smaller ones gain nothing."""
FAST = 5
"""How hard a page is pressed: twice as hard saves some percent and takes twice as long."""


def takes_gzip(accepted: str) -> bool:
    """Whether a browser that sends this Accept-Encoding takes gzip."""
    for one in accepted.split(","):
        name, _, quality = one.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def compressed_page(request: Request, text: str) -> tuple[bytes, dict[str, str]]:
    """A page as it is sent, with the headers that say so."""
    body, headers = text.encode(), {"Vary": "Accept-Encoding"}
    if len(body) >= LEAST and takes_gzip(request.headers.get("accept-encoding", "")):
        return gzip.compress(body, FAST, mtime=0), {**headers, "Content-Encoding": "gzip"}
    return body, headers
