"""The routes that extensions bring, and the refusal of those that would stand in the way of others.

`Extension.api` and `Extension.pages` name modules with a `router`. A module of `api` may also say what the OpenAPI
document tells of its part (`DOCUMENT`, see `document.py`) and what the gate should know about its paths (`PATHS`, see
`gate.py`). Two routes must not answer one request, and an operation is known by the name of its function.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from keepbook.errors import Invalid
from keepbook.extension import Extension, load_part

RESERVED = ("/mcp", "/static")
"""What the server answers with no route of a router."""
ANYWHERE = ""
"""The place of a path that has something filled in at once."""


def extension_routers(extensions: Sequence[Extension], part: Literal["api", "pages"]) -> Iterator[APIRouter]:
    """The routers of this part, in the order of the extensions."""
    for one in extensions:
        for place in getattr(one, part):
            yield load_part(place).router


def said_by_api(extensions: Sequence[Extension], name: str) -> Iterator[Any]:
    """What modules of `api` say under a name, those that do."""
    for one in extensions:
        for place in one.api:
            module = load_part(place)
            if hasattr(module, name):
                yield getattr(module, name)


def check_routes(core: Sequence[BaseRoute], extensions: Sequence[Extension]) -> None:
    """Refuse a path or the name of an operation that is taken by the core or by another extension."""
    before = _api_routes(core)
    names = {route.name for route in before if route.include_in_schema}
    taken = _Taken(before)
    for one in extensions:
        routers = (*extension_routers([one], "api"), *extension_routers([one], "pages"))
        mine = _api_routes([route for router in routers for route in router.routes])
        for route in mine:
            if route.path.startswith(RESERVED) or any(_collide(route, other) for other in taken.near(route)):
                raise _refusal(one, f"the path {_shown_path(route)}")
            if route.include_in_schema and route.name in names:
                raise _refusal(one, f"the operation {route.name!r}")
        taken.add(mine)
        names |= {route.name for route in mine if route.include_in_schema}


def _api_routes(routes: Sequence[BaseRoute]) -> list[APIRoute]:
    return [route for route in routes if isinstance(route, APIRoute)]


def _collide(one: APIRoute, other: APIRoute) -> bool:
    """Whether some request would fit both. `{id}` in a path fits the pattern of another as any word does."""
    fits = one.path_regex.match(other.path) or other.path_regex.match(one.path)
    return bool(fits and _methods(one) & _methods(other))


class _Taken:
    """Routes by the first two words of their paths, so that each is held against few others."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        self._at: dict[str, list[APIRoute]] = defaultdict(list)
        self.add(routes)

    def add(self, routes: Iterable[APIRoute]) -> None:
        for route in routes:
            self._at[_place(route)].append(route)

    def near(self, route: APIRoute) -> list[APIRoute]:
        """All that could stand in its way."""
        place = _place(route)
        if place == ANYWHERE:
            return [other for found in self._at.values() for other in found]
        return self._at[place] + self._at[ANYWHERE]


def _place(route: APIRoute) -> str:
    words = "/".join(route.path.split("/")[:3])
    if "{" in words:
        return ANYWHERE
    return words


def _methods(route: APIRoute) -> set[str]:
    return route.methods or set()


def _shown_path(route: APIRoute) -> str:
    return f"{'/'.join(sorted(_methods(route)))} {route.path}"


def _refusal(one: Extension, what: str) -> Invalid:
    return Invalid(f"extension {one.name!r} brings {what}, which is there already", field="extensions")
