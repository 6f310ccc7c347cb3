"""What a program notes with a turn: only what every door can write again."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook import Invalid
from keepbook.book.chats import adding
from keepbook.book.chats.face import NewTurn
from keepbook.doors.http.app import create_app

NESTED: list[Any] = []
for _ in range(200):
    NESTED = [NESTED]

UNWRITABLE = [
    {"n": 2**64},
    {"n": [-(2**63) - 1]},
    {"n": float("nan")},
    {"n": float("inf")},
    {"n": "\ud800"},
    {"\ud800": 1},
    {"n": {1: "one"}},
    {"n": object()},
    NESTED,
]


@pytest.mark.parametrize("parts", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_what_no_door_could_write_is_refused(alice: Any, parts: Any) -> None:
    chat = alice.thread("one")
    with pytest.raises(Invalid) as refused:
        chat.add("tool", "zz", parts=parts)
    assert refused.value.field == "parts"
    with pytest.raises(Invalid):
        chat.add_all([NewTurn("user", "hello"), NewTurn("tool", "zz", parts=parts)])
    assert chat.messages() == []


def test_the_largest_numbers_are_kept(alice: Any) -> None:
    parts = {"n": [2**64 - 1, -(2**63), 1.5, True, None], "said": "å"}
    assert alice.thread("one").add("tool", "zz", parts=parts).parts == parts


def test_a_chat_that_has_such_a_number_already_stays_readable(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = alice.thread("one")
    kept = '{"n": 99999999999999999999, "s": "\\ud800", "d": 7, "deep": %s}' % ("[" * 300 + "]" * 300)
    with monkeypatch.context() as older:
        older.setattr(adding, "clean_json", lambda *_: kept)
        chat.add("tool", "zz", parts={"n": 1})
    token = kb.tokens.create("alice", scopes=("read",)).token
    client = TestClient(create_app(kb), base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {token}"})
    shown = client.get(f"/api/chat/threads/{chat.id}")
    assert shown.status_code == 200
    assert shown.json()["messages"][0]["parts"] | {"deep": []} == {
        "n": "99999999999999999999",
        "s": "?",
        "d": 7,
        "deep": [],
    }
