"""Describes the request of one method as data: verb and path, where each argument goes, what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any
from urllib.parse import quote

from keepbook.book.ground.ids import ID_LENGTH
from keepbook.client.connection import Request, Steps
from keepbook.client.values import to_json_argument, value_of
from keepbook.errors import Invalid

FIND = "/api/memory/find"


@dataclass(frozen=True, slots=True)
class Asks:
    """The request of one method. `kind` is the type of the value and `take` the field of the answer that holds it. An
    argument named in the path goes there, others into the query or the body under their own name or the one in `named`.
    Those in `refs` may be a piece of text, which is looked up first."""

    verb: str
    path: str
    kind: Any = None
    take: str | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    refs: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    query: tuple[str, ...] = ()
    """Arguments that go into the query even if the request has a body."""
    again: bool = True

    def steps(self, arguments: Mapping[str, Any]) -> Steps[Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        for name in self.refs:
            if name in given and not _is_id(given[name]):
                found = yield Request("GET", FIND, _pairs({"ref": str(given[name])}))
                given[name] = found["id"]
        answer = yield self.request(given)
        if self.take is None or answer is None:
            return value_of(self.kind, answer)
        return value_of(self.kind, answer[self.take])

    def request(self, given: Mapping[str, Any]) -> Request:
        inside = [name for _, name, _, _ in Formatter().parse(self.path) if name]
        for name in inside:
            if name not in given:
                raise Invalid(f"say which {name} is meant", field=name)
        path = self.path.format(**{name: quote(str(given[name]), safe="") for name in inside})
        told = {
            self.named.get(name, name): to_json_argument(value) for name, value in given.items() if name not in inside
        }
        told |= self.fixed
        if self.verb in ("GET", "DELETE"):
            return Request(self.verb, path, _pairs(told), again=self.again)
        asked = {name: told.pop(name) for name in self.query if name in told}
        return Request(self.verb, path, _pairs(asked), body=told, again=self.again)


def _is_id(ref: object) -> bool:
    return isinstance(ref, str) and len(ref) == ID_LENGTH and ref.isalnum()


def _pairs(told: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs of a query for one argument: a list becomes several pairs, a map one pair `name.KEY` for each key."""
    found: list[tuple[str, str]] = []
    for name, value in told.items():
        if isinstance(value, Mapping):
            found += [(f"{name}.{key}", str(item)) for key, item in value.items()]
        elif isinstance(value, list):
            found += [(name, str(item)) for item in value]
        else:
            found.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(found)
