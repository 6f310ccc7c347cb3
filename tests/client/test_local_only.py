"""What works only where the book is: each of these says so, and nothing else does."""

import inspect
from typing import Any

import pytest

from keepbook import Keepbook, NotAllowed
from keepbook.app import OFFERED, Elsewhere
from keepbook.client.books import BOOK, CHAT, CHATS, DECISIONS, JOURNAL, RUNS
from keepbook.client.line import Line
from keepbook.client.tokens import TOKENS

ADDRESS = "http://127.0.0.1:9"
"""Nobody listens there, and nobody is asked."""

LOCAL_ONLY = {
    # For the layers above a book, and what holds its database open.
    "Book": "acting ask bring_in close_thread now of pencil_of preset purge reading reindex transaction under writing",
    "Chat": "",
    "Chats": "learned",
    "Journal": "put_back",
    "Review": "",
    "Spending": "count",
    "Index": "catch_up left rebuild",
    "Agents": "cards claim compress give_back keep_thread renew restore",
    "Runs": "carried fail looks_at queue renew say several start succeed",
    "Decisions": "count first_resolved follow get history refuse_ambiguous",
    "Trading": "breakdown bring_in change_deployment create_deployment create_skill deployment deployments equity "
    "events field_history lessons load mappings performance pin positions reflect restore_lesson retire set_field "
    "skill skills trades unpin",
    "Tokens": "asked_for check of_session session_for sign_in sign_out stands",
}
INSTALLATION = (
    "chat_with copied counted facts import_from market meaning models owners perform queue_runs_in_turn runner sweep "
    "sweep_in_turn tools"
)


def faces() -> dict[str, Any]:
    line = Line(ADDRESS)
    book = BOOK(line, "alice")
    rooms = ("proposals", "spending", "index", "agents", "trading")
    known = [book, CHAT(line, "alice", id="a", session=None), *(getattr(book, room) for room in rooms)]
    known += [face(line, "alice") for face in (CHATS, JOURNAL, RUNS, DECISIONS, TOKENS)]
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
    with Keepbook(ADDRESS, token="kb_x") as kb:
        assert isinstance(kb, Elsewhere)
        public = {name for name in vars(Keepbook) if not name.startswith("_")}
        assert " ".join(sorted(public - OFFERED)) == INSTALLATION
        for name in (*INSTALLATION.split(), "settings", "demo"):
            with pytest.raises(NotAllowed) as no:
                getattr(kb, name)
            assert no.value.code == "local_only"
        with pytest.raises(NotAllowed):
            kb.book("alice", door="mcp")
    with pytest.raises(NotAllowed):
        Keepbook(ADDRESS, preset="coach")
