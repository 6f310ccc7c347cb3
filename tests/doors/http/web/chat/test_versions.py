"""Which versions of a turn there are, and the chat as it stands with one of them."""

import pytest

from keepbook.book.chats.threads import Message
from keepbook.book.ground.when import parse_stamp
from keepbook.doors.http.web.chat.versions import messages_with_version, versions_by_turn

AT = parse_stamp("2026-11-12T09:16:00.000000Z")


def chat(*turns: tuple[str, int | None]) -> list[Message]:
    return [
        Message(
            turn=n,
            role={"u": "user", "a": "assistant"}[role],
            speaker=None,
            text="",
            at=AT,
            tokens=0,
            instead_of=instead,
        )
        for n, (role, instead) in enumerate(turns, 1)
    ]


EDITED = chat(("u", None), ("a", None), ("a", 2), ("u", 1), ("a", None), ("u", None), ("a", None))
"""1 asked, 2 answered, 3 answered anew; 4 asked anew, 5 answered; 6 and 7 went on."""


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (0, [4, 5, 6, 7]),
        (6, [4, 5, 6, 7]),
        (99, [4, 5, 6, 7]),
        (1, [1, 3, 6, 7]),
        (3, [1, 3, 6, 7]),
        (2, [1, 2, 6, 7]),
    ],
)
def test_the_chat_is_shown_with_the_version_that_a_turn_belongs_to(at: int, shown: list[int]) -> None:
    assert [one.turn for one in messages_with_version(EDITED, at)] == shown


def test_each_turn_knows_which_version_it_is_and_where_the_others_are() -> None:
    now = versions_by_turn(EDITED, messages_with_version(EDITED, 0))
    assert now == {4: (2, 2, 1, None), 5: (2, 2, 1, None)}
    then = versions_by_turn(EDITED, messages_with_version(EDITED, 1))
    assert then == {1: (1, 2, None, 4), 3: (2, 2, 2, None)}
    assert versions_by_turn(chat(("u", None), ("a", None)), chat(("u", None), ("a", None))) == {}


def test_an_edit_before_any_answer_and_one_without_a_reply() -> None:
    asked = chat(("u", None), ("u", 1), ("a", None))
    assert [one.turn for one in messages_with_version(asked, 1)] == [1]
    assert [one.turn for one in messages_with_version(asked, 2)] == [2, 3]
