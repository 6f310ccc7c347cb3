"""The frame of every page: the sidebar with the chats, what waits for review, and the toast after a write."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jinja2 import Environment

from keepbook.book.chats.threads import Thread
from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.ground.when import in_zone
from keepbook.book.ledger.ledger import Entry
from keepbook.book.upkeep.importers.incoming import program_name, source_of_session
from keepbook.doors.http.web.frame.extension_pages import NavItem, hidden_places, join_places, waiting_places
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.models.choose import YOUR_BOOK

SHOWN = 60
"""How many chats the sidebar lists; another page lists all."""
COUNTED = 100
"""Archived chats, and those in the trash, are counted up to this number."""

PLACES = (
    NavItem("chat", "Chat", "/chat", "chat", "c"),
    NavItem("memory", "Memory", "/profile/facts", "book", "m"),
    NavItem("notes", "Notes", "/journal", "mark", "n"),
    NavItem("time", "Time travel", "/time", "clock", "t"),
    NavItem("settings", "Settings", "/settings", "set", "s"),
)
"""The core's places in the menu; those of extensions are put before the last one."""

DONE = {
    "remember": "Kept.",
    "update": "Changed. What it said before stays in its history.",
    "end": "Not true any more. It is in no new chat.",
    "forget": "Taken out. It is in no new chat.",
    "delete": f"Taken out; gone for good after {TRASH_DAYS} days.",
    "restore": "Put back.",
    "confirm": "Still true, as you say.",
    "promote": "It is your own word now.",
    "demote": "It no longer counts as your own word.",
    "link": "Linked.",
    "unlink": "The link is gone.",
    "configure": "Saved.",
    "set": "Saved.",
    "undo": "Undone.",
}
"""The toast after each kind of write."""


@dataclass(frozen=True, slots=True)
class ChatGroup:
    """The chats of one group, such as Today."""

    name: str
    chats: list[Thread]


@dataclass(frozen=True, slots=True)
class Side:
    groups: list[ChatGroup]
    more: bool
    """Whether there are more chats than these."""
    archived: int
    trashed: int
    due: int
    model: str
    twins: frozenset[str | None]
    """Names that several of these chats have; those are shown with their time."""
    places: tuple[NavItem, ...]
    under_more: tuple[NavItem, ...]
    """Places that are still empty; they are listed under More."""
    waiting: dict[str, int]
    """How many things wait in a place of an extension, by its key."""


def sidebar_view(visit: Visit) -> Side:
    """The content of the sidebar."""
    threads = visit.book.threads
    kept = [chat for state in ("active", "idle") for chat in threads.list(state=state, limit=SHOWN + 1)]
    kept = [chat for chat in kept if chat.turns and (not chat.incognito or chat.id in _current_chat(visit))]
    kept.sort(key=lambda chat: chat.touched_at, reverse=True)
    archived = len(threads.list(state="archived", limit=COUNTED))
    trashed = sum(chat.turns > 0 for chat in threads.list(trash=True, limit=COUNTED))
    groups, model = group_chats(kept[:SHOWN], visit), visit.kb.models.called(None)
    if model == YOUR_BOOK:
        model = "book only"
    twins = frozenset(title for title, times in Counter(chat.title for chat in kept[:SHOWN]).items() if times > 1)
    places, under_more = shown_places(visit)
    waiting = waiting_places(visit)
    return Side(groups, len(kept) > SHOWN, archived, trashed, visit.waiting, model, twins, places, under_more, waiting)


def _current_chat(visit: Visit) -> tuple[str, ...]:
    """The id of the page's chat, from its address or its script. An incognito chat is listed only on its own page."""
    return (visit.request.path_params.get("id", ""), visit.request.query_params.get("current", ""))


def shown_places(visit: Visit) -> tuple[tuple[NavItem, ...], tuple[NavItem, ...]]:
    """The places of the menu, and those under More. A place is under More if it is empty, unless the person has chosen
    to see all, or is there."""
    empty = set[str]() if visit.every_page else hidden_places(visit)
    path, places = visit.request.url.path, join_places(PLACES, visit.kb.extensions)
    under_more = tuple(one for one in places if one.key in empty and not path.startswith(f"/{one.key}"))
    return tuple(one for one in places if one not in under_more), under_more


def later_places(visit: Visit) -> tuple[str, ...]:
    """The names of the places that are under More as long as they are empty."""
    return tuple(place.name for place in join_places(PLACES, visit.kb.extensions) if place.hides_empty)


def group_chats(chats: Sequence[Thread], visit: Visit) -> list[ChatGroup]:
    """The chats in the groups Today, Yesterday, Previous 7 days and Older, by days in the owner's zone; empty groups
    are left out."""
    groups = [ChatGroup(name, []) for name in ("Today", "Yesterday", "Previous 7 days", "Older")]
    for chat in chats:
        groups[_group_of(chat.touched_at, visit)].chats.append(chat)
    return [group for group in groups if group.chats]


def _group_of(then: datetime, visit: Visit) -> int:
    ago = (visit.now.astimezone(visit.zone).date() - in_zone(then, visit.zone).date()).days
    if ago <= 0:
        return 0
    if ago == 1:
        return 1
    if ago <= 7:
        return 2
    return 3


def write_to_undo(visit: Visit) -> Entry | None:
    """The ledger entry in the address (`?undo=311`), for a toast with Undo; None if there is none."""
    asked = visit.request.query_params.get("undo", "")
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 16):
        return None
    event = int(asked)
    found = visit.book.ledger(after=event - 1, before=event + 1, limit=1)
    if found:
        return found[0]
    return None


def address_without_toast(visit: Visit) -> str:
    """The address of this page without the parameters that make a toast; an Undo returns to it."""
    url = visit.request.url
    left = [part for part in url.query.split("&") if part and part.split("=")[0] not in ("undo", "deleted", "events")]
    return url.path + (f"?{'&'.join(left)}" if left else "")


def program_of_chat(chat: Thread) -> str | None:
    """The name of the program that a chat was imported from, if it was."""
    source = source_of_session(chat.session)
    return source and program_name(source)


def stand_around(pages: Environment) -> None:
    """Give every page the context of its frame."""
    pages.globals.update(
        side=sidebar_view,
        later_places=later_places,
        written=write_to_undo,
        here=address_without_toast,
        done=DONE,
        came_from=program_of_chat,
    )
