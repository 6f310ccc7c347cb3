"""Refuses a request whose query string has a parameter that its address does not take. A misspelt `dry_run` or
`categroy` that is ignored would change or show more than was asked for."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from keepbook.errors import Invalid
from keepbook.strict_toml import nearest_name


class QueryNames:
    """The names of parameters that an address takes: `names` whole, and any that begins with one of `beginnings`."""

    def __init__(self, names: Collection[str], described: Mapping[str, Any] | None) -> None:
        """Args:
        names: those of the endpoint's signature
        described: what its route adds to the OpenAPI document: objects of which each key is a parameter
        """
        added = (described or {}).get("parameters", ())
        self._names = frozenset(names)
        self._beginnings = tuple(f"{one['name']}." for one in added if one["in"] == "query")

    def refuse_others(self, app: ASGIApp) -> ASGIApp:
        """The same application, which refuses every other parameter first."""

        async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["query_string"]:
                self._check(scope["query_string"].decode("latin-1"))
            await app(scope, receive, send)

        return refusing

    def _check(self, query: str) -> None:
        for name, _ in parse_qsl(query, keep_blank_values=True):
            if name not in self._names and not name.startswith(self._beginnings):
                raise Invalid(
                    f"there is no parameter {name[:80]!r} at this address{self._advice(name)}", field=name[:80]
                )

    def _advice(self, name: str) -> str:
        meant = nearest_name(name, self._names)
        if meant is not None:
            return f"; did you mean {meant!r}?"
        if not self._names:
            return "; it takes none"
        return f"; it takes {', '.join(sorted(self._names))}"
