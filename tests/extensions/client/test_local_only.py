"""What works only where the book is: each of these says so, and nothing else does."""

import inspect
from typing import Any

import pytest

from keepbook import Keepbook, NotAllowed
from keepbook.client.books import BOOK, CHAT, CHATS, JOURNAL
from keepbook.client.connection import Connection
from keepbook.client.remote import HERE_ONLY, RemoteKeepbook
from keepbook.client.tokens import TOKENS
from keepbook.extension import load_part, shipped
from keepbook.extensions.agents.client import DECISIONS, RUNS
from keepbook.extensions.trading.client import MARKET

ADDRESS = "http://127.0.0.1:9"
"""Nobody listens there, and nobody is asked."""

LOCAL_ONLY = {
    # For the layers above a book, and what holds its database open.
    "Book": (
        "acting ask bring_in close_thread of pencil_of preset purge reading reindex transaction under without_code "
        "writing"
    ),
    "Chat": "",
    "Chats": "learned",
    "Journal": "put_back",
    "Review": "",
    "Spending": "count",
    "Index": "catch_up left rebuild",
    "Agents": "claim compress give_back keep_thread renew",
    "Runs": "carried fail looks_at queue renew say several start succeed",
    "Decisions": "follow refuse_ambiguous",
    "Trading": "",
    "Market": "remove verify",
    "Tokens": "asked_for check first_maker of_session session_for sign_in sign_out stands",
}
INSTALLATION = (
    "accept_clock become clock_trouble copied counted demo extensions facts follow_counts identities image import_from "
    "meaning models outward owners perform perform_errand queue_errands_in_turn settings stop_when sweep sweep_in_turn"
)


def faces() -> dict[str, Any]:
    connection = Connection(ADDRESS)
    book = BOOK(connection, "alice")
    rooms = ("proposals", "spending", "index", "agents", "trading")
    known = [book, CHAT(connection, "alice", id="a", session=None), *(getattr(book, room) for room in rooms)]
    known += [face(connection, "alice") for face in (CHATS, JOURNAL, RUNS, DECISIONS, TOKENS, MARKET)]
    return {type(face).__name__: face for face in known}


@pytest.mark.parametrize("name", sorted(LOCAL_ONLY))
def test_the_list_of_what_works_only_here_is_whole(name: str) -> None:
    face = faces()[name]
    refused = []
    for method in dir(face):
        if method.startswith("_"):
            continue
        own = inspect.getattr_static(type(face), method, None)
        told = getattr(own, "fget", own)
        if getattr(told, "only_local", False):
            refused.append(method)
            with pytest.raises(NotAllowed) as no:
                getattr(face, method)()
            assert no.value.code == "local_only"
    assert " ".join(refused) == LOCAL_ONLY[name]


def test_an_installation_elsewhere_says_what_it_is_not() -> None:
    kb: Any
    with Keepbook(ADDRESS, token="kb_x") as kb:
        assert type(kb) is RemoteKeepbook
        public = {name for name in dir(Keepbook) if not name.startswith("_")} | {"settings", "demo", "extensions"}
        added = {name for one in shipped().values() for name in one.house}
        there = {*dir(RemoteKeepbook), *(name for one in shipped().values() for name in one.remote_house)}
        assert " ".join(sorted((public | added) - there)) == INSTALLATION
        assert set(INSTALLATION.split()) - added == HERE_ONLY
        for name in INSTALLATION.split():
            with pytest.raises(NotAllowed) as no:
                getattr(kb, name)
            assert no.value.code == "local_only"
        with pytest.raises(AttributeError):
            _ = kb.nothing_of_that_name
        with pytest.raises(NotAllowed):
            kb.book("alice", name="Desk")
    with pytest.raises(NotAllowed):
        Keepbook(ADDRESS, preset="coach")


def test_what_has_the_name_of_a_local_method_takes_the_same_arguments() -> None:
    pairs = [
        (getattr(Keepbook, name), getattr(RemoteKeepbook, name))
        for name in set(dir(Keepbook)) & set(dir(RemoteKeepbook))
        if not name.startswith("_")
    ]
    for one in shipped().values():
        pairs += [(load_part(one.house[name]), load_part(there)) for name, there in one.remote_house.items()]
    for here, there in pairs:
        if callable(here):
            assert arguments(here) == arguments(there), here


def arguments(method: Any) -> list[str]:
    """Behind the installation itself."""
    return list(inspect.signature(method).parameters)[1:]
