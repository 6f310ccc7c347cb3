"""A file that takes long to read holds up nobody."""

import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from keepbook.book.upkeep.reading_apart import SMALL

OTHERS = 3


def test_other_requests_are_answered_while_a_file_is_read(mine: TestClient) -> None:
    """The file is large enough for a process of its own, and the others come while that process is there."""
    answers: list[int] = []

    def send() -> None:
        answers.append(client.post("/api/import", content=b"\n" * (2 * SMALL)).status_code)

    with mine as client:  # one loop for all requests, as a server has
        sending = threading.Thread(target=send)
        sending.start()
        began = time.monotonic()
        while sending.is_alive() and not any(one.name == "keepbook-reading" for one in threading.enumerate()):
            assert time.monotonic() - began < 60
            time.sleep(0.001)
        meanwhile = 0
        while sending.is_alive() and meanwhile < OTHERS:
            assert client.get("/health").status_code == 200
            meanwhile += 1
        sending.join()
    assert answers == [422]
    assert meanwhile == OTHERS


def test_half_a_letter_is_refused_with_its_item_and_the_rest_comes_in(
    kb: Any, alice: Any, client: Callable[..., Any]
) -> None:
    person = client(kb.tokens.create("alice", kind="person", scopes=("read", "write", "admin")).token)
    file = b'{"results": [{"memory": "x \\ud800 y"}, {"memory": "Likes tea"}]}'
    told = person.post("/api/import", content=file, headers={"Content-Type": "application/json"})
    assert told.status_code == 200, told.text
    (refused,) = told.json()["refused"]
    assert (refused["where"], refused["text"]) == ("item 1", "x ? y")
    assert [one.content for one in alice.list()] == ["Likes tea"]
