"""What an extension says about its pages, in the module that `Extension.menu` names. All of it may be left out.

PLACES: its items of the navigation, each a `NavItem`; they stand before Settings
hidden(visit): the keys of those that stand under More for now; of these `hides_empty` is true
waiting(visit): how many things wait for the person in a place, by its key; the menu shows the number
chat_partner(chat): who answers in a chat that is the extension's own, a `ChatPartner`, or None
LOADS: for each kind of load that it takes in (`book/upkeep/hooks.py`), how the pages show what came, a `LoadPage`
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from keepbook.book.chats.face import Chat
from keepbook.errors import Invalid
from keepbook.extension import Extension, load_part

if TYPE_CHECKING:
    from keepbook.doors.http.web.frame.visit import Visit


class NavItem(NamedTuple):
    """An item of the navigation; `key` is what a page sets as `nav`, `letter` goes there after `g`."""

    key: str
    name: str
    path: str
    icon: str
    """A drawing of `parts/icons.html`."""
    letter: str
    hides_empty: bool = False
    """Whether it may stand under More while nothing is in it."""


@dataclass(frozen=True, slots=True)
class ChatPartner:
    """Describes who answers in a chat of an extension."""

    name: str
    path: str
    """The page about them."""
    model: str | None
    """Their model; None if it is the installation's."""
    knows: str
    """What they are given, in words for the head of the chat."""
    greeting: str
    """What an empty chat says under its question."""


class LoadPage(NamedTuple):
    """How pages show files of one kind; the kind is `what` of a load."""

    form: str
    """The address of the form for such a file."""
    link: str
    """The words of the link to it on the page for imports of memories."""
    template: str
    """The page of what came in; it extends `load.html`."""


def menu_modules(extensions: Sequence[Extension]) -> Iterator[Any]:
    """The modules in which extensions say something about their pages."""
    return (load_part(one.menu) for one in extensions if one.menu is not None)


def join_places(core: Sequence[NavItem], extensions: Sequence[Extension]) -> tuple[NavItem, ...]:
    """The core's places with those of the extensions before the last one, which is Settings."""
    added = [place for module in menu_modules(extensions) for place in getattr(module, "PLACES", ())]
    return (*core[:-1], *added, core[-1])


def check_places(places: Sequence[NavItem]) -> None:
    """Refuse two places with one key, one address or one letter: only one of them could be reached."""
    for field in ("key", "path", "letter"):
        seen: dict[str, str] = {}
        for place in places:
            value = getattr(place, field)
            if value in seen:
                words = f"{place.name} has the {field} {value!r} in the menu, and so has {seen[value]}"
                raise Invalid(words, field="extensions")
            seen[value] = place.name


def hidden_places(visit: "Visit") -> set[str]:
    """The keys of the places that stand under More for now."""
    keys: set[str] = set()
    for module in menu_modules(visit.kb.extensions):
        if hasattr(module, "hidden"):
            keys |= module.hidden(visit)
    return keys


def waiting_places(visit: "Visit") -> dict[str, int]:
    """How many things wait for the person in each place of an extension."""
    found: dict[str, int] = {}
    for module in menu_modules(visit.kb.extensions):
        if hasattr(module, "waiting"):
            found |= module.waiting(visit)
    return found


def chat_partner(visit: "Visit", chat: Chat) -> ChatPartner | None:
    """Who answers in this chat, if it is one of an extension; else None."""
    for module in menu_modules(visit.kb.extensions):
        if hasattr(module, "chat_partner"):
            found: ChatPartner | None = module.chat_partner(chat)
            if found is not None:
                return found
    return None


def load_pages(visit: "Visit") -> dict[str, LoadPage]:
    """How loads of extensions are shown, by kind of file."""
    pages: dict[str, LoadPage] = {}
    for module in menu_modules(visit.kb.extensions):
        pages |= getattr(module, "LOADS", {})
    return pages
