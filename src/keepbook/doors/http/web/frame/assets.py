"""Serves the static files of the pages: one stylesheet, small modules, an icon; compressed if the browser allows.

`asset("keepbook.css")` is an address that changes with the file, so a browser may cache it for ever. A module imports
other modules by plain names; these are requested again each time, and mostly answered with 304.
"""

import gzip
import hashlib
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from keepbook.doors.http.web.frame.compression import takes_gzip

FOLDER = Path(__file__).parents[1] / "static"


@lru_cache
def _digest(name: str, _changed: int) -> str:
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:10]


def _version(name: str) -> str:
    return _digest(name, (FOLDER / name).stat().st_mtime_ns)


def asset(name: str) -> str:
    return f"/static/{name}?v={_version(name)}"


class Assets(StaticFiles):
    """Static files with headers that say how long they may be cached."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("v")
        lasting = response.status_code < 400 and asked == [_version(path)]
        if response.status_code == 200 and takes_gzip(Headers(scope=scope).get("accept-encoding", "")):
            response = _compressed(path, response)
        response.headers["Vary"] = "Accept-Encoding"
        if lasting:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        else:
            response.headers["Cache-Control"] = "no-cache"
        return response


def _compressed(path: str, whole: Response) -> Response:
    """The file, compressed. It has the same ETag, so that a cached copy is found unchanged in either form."""
    body = _packed(path, (FOLDER / path).stat().st_mtime_ns)
    kept = {name: whole.headers[name] for name in ("etag", "last-modified") if name in whole.headers}
    headers = {**kept, "Content-Encoding": "gzip"}
    return Response(body, 200, headers, media_type=whole.media_type)


@lru_cache
def _packed(name: str, _changed: int) -> bytes:
    return gzip.compress((FOLDER / name).read_bytes(), mtime=0)
