"""Makes classes for a book on a server: they have the methods and signatures of the local classes and send requests.

Each such class, a face, is made from the local class. A method that the server offers sends a request; any other raises
an error that it works only on the machine with the book. So no method can be forgotten or differ.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NoReturn

from keepbook.client.asks import Asks
from keepbook.client.connection import AsyncConnection, Connection, Steps
from keepbook.errors import Invalid, NotAllowed

LOCAL_ONLY = "local_only"
RequestWay = Asks | Callable[..., Steps[Any]]
"""How a method is carried out: the description of its request, or a generator function that takes the face and the
arguments."""


class RemoteFace:
    """A part of a book on a server, with the connection and the owner that it serves."""

    def __init__(self, connection: Connection | AsyncConnection, owner: str, **known: Any) -> None:
        self._connection = connection
        self.owner: str = owner
        self.__dict__.update(known)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.owner!r} at {self._connection.address}>"

    def _ask(self, steps: Steps[Any]) -> Any:
        return self._connection.run(steps)


NO_TRANSACTION = (
    "a transaction cannot be held open over a server, where each call is one of its own: write together with "
    "book.texts.write or chat.add_all, or open the book where it is"
)


def refuse_elsewhere(name: str) -> NoReturn:
    """Raise the error that a server does not offer a method or an attribute."""
    if name == "Book.transaction":
        raise NotAllowed(NO_TRANSACTION, code=LOCAL_ONLY)
    raise NotAllowed(f"{name} works only where the book is; open it there", code=LOCAL_ONLY)


def ask_server(face: RemoteFace, way: RequestWay, **arguments: Any) -> Any:
    """Send one request in the name of a book or a part of it; the answer is awaited where its methods are."""
    return face._ask(_steps(way, face, arguments))


def remote_face_of(
    local: type,
    ways: Mapping[str, RequestWay],
    rooms: Mapping[str, type] | None = None,
    *,
    base: type[RemoteFace] = RemoteFace,
) -> type:
    """A class with the methods of `local` that sends requests instead: `ways` maps each method to its request. `rooms`
    are the faces among its attributes. What `base` has itself stays as it is there.

    An extension makes the faces in its `remote_faces` with this, from the classes in its `faces`:
    `HABITS = remote_face_of(Habits, {"list": Asks("GET", "/api/habits", list[Habit], "habits")})`.
    """
    made: dict[str, Any] = {"__module__": __name__, "__doc__": local.__doc__, "__slots__": ("__dict__",)}
    for name in dir(local):
        if name.startswith("_") or hasattr(base, name):
            continue
        own = inspect.getattr_static(local, name)
        if rooms and name in rooms:
            made[name] = property(_room(rooms[name]))
        elif name in ways and isinstance(own, property):
            made[name] = property(_read(ways[name]), doc=own.__doc__)
        elif name in ways:
            made[name] = _method(getattr(local, name), ways[name])
        else:
            made[name] = _only_local(f"{local.__name__}.{name}", own)
    made["__slots__"] = ()
    return type(local.__name__, (base, local), made)


def _room(face: type) -> Callable[[RemoteFace], Any]:
    return lambda book: face(book._connection, book.owner)


def _read(way: RequestWay) -> Callable[[RemoteFace], Any]:
    return lambda face: face._ask(_steps(way, face, {}))


def _method(local: Callable[..., Any], way: RequestWay) -> Callable[..., Any]:
    signature = inspect.signature(local)
    spread = next((name for name, one in signature.parameters.items() if one.kind is one.VAR_KEYWORD), None)
    never_none = {
        name: one.default
        for name, one in signature.parameters.items()
        if one.default not in (None, one.empty) and "None" not in str(one.annotation)
    }

    @wraps(local)
    def asked(self: RemoteFace, *args: Any, **given: Any) -> Any:
        try:
            arguments = dict(signature.bind(self, *args, **given).arguments)
        except TypeError as wrong:
            raise TypeError(f"{local.__name__}() {wrong}") from None  # as Python says it of the local method
        arguments.pop("self")
        for name in never_none.keys() & arguments.keys():
            if arguments[name] is None:  # not sent, so that the server would take its own
                raise Invalid(f"{name} is not None; leave it out for {never_none[name]!r}", field=name)
        if spread:
            arguments |= arguments.pop(spread, {})
        return self._ask(_steps(way, self, arguments))

    return asked


def _steps(way: RequestWay, face: RemoteFace, arguments: Mapping[str, Any]) -> Steps[Any]:
    if isinstance(way, Asks):
        return way.steps(arguments)
    return way(face, **arguments)


def _only_local(name: str, own: Any) -> Any:
    def refused(*_: Any, **__: Any) -> Any:
        refuse_elsewhere(name)

    if callable(own) or isinstance(own, classmethod):
        refused = wraps(own.__func__ if isinstance(own, classmethod) else own)(refused)
        refused.only_local = True  # type: ignore[attr-defined]
        return refused
    refused.only_local = True  # type: ignore[attr-defined]
    return property(refused)
