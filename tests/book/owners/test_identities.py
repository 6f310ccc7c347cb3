"""Who signs in at a provider: invited to a book or with a new one, for twelve hours, until it is ended."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keepbook.errors import KeepbookError, NotAllowed

ISSUER = "https://id.example.org"


def invited(kb: Any, owner: str = "alice") -> str:
    return str(kb.identities.invite(owner).invitation)


def test_a_session_ends_after_twelve_hours_by_signing_out_and_by_the_operator(kb: Any, clock: Any) -> None:
    known = kb.identities.sign_in(ISSUER, "s-1", invitation=invited(kb))[1]

    def session() -> str:
        return kb.identities.sign_in(ISSUER, "s-1")[0]

    first = session()
    clock.forward(hours=11, minutes=59)
    assert kb.tokens.of_session(first)
    clock.forward(minutes=1)
    assert kb.tokens.of_session(first) is None
    second, third = session(), session()
    kb.tokens.sign_out(second)
    assert (kb.tokens.of_session(second), kb.tokens.of_session(third) is None) == (None, False)
    kb.identities.end(known.id)
    assert kb.tokens.of_session(third) is None
    with pytest.raises(NotAllowed, match="invited"):
        kb.identities.sign_in(ISSUER, "s-1", new_book=True)  # who was ended begins no book of their own
    assert kb.identities.sign_in(ISSUER, "s-1", invitation=invited(kb))[1].owner == "alice"
    assert kb.book("alice").verify().ok


def test_an_invitation_waits_a_week_and_its_erased_book_lets_nobody_in(kb: Any, clock: Any) -> None:
    late = invited(kb)
    clock.forward(days=7)
    assert kb.identities.invited_to(late) is None
    session, known = kb.identities.sign_in(ISSUER, "s", invitation=invited(kb))
    kb.book("alice").erase(confirm="alice")
    assert kb.tokens.of_session(session) is None
    assert known.id not in {one.id for one in kb.identities.list()}


def test_an_invitation_opens_for_one_of_two_who_come_at_once(kb: Any) -> None:
    once = invited(kb)

    def come(subject: str) -> bool:
        try:
            return kb.identities.sign_in(ISSUER, subject, invitation=once)[1].subject == subject
        except NotAllowed:
            return False

    with ThreadPoolExecutor(2) as two:
        assert sorted(two.map(come, ("first", "second"))) == [False, True]


def test_who_comes_twice_at_once_begins_one_book(kb: Any) -> None:
    def come(_: int) -> str | None:
        try:
            return str(kb.identities.sign_in(ISSUER, "s-1", new_book=True)[1].owner)
        except KeepbookError:
            return None

    with ThreadPoolExecutor(2) as two:
        began = set(two.map(come, range(2))) - {None}
    assert began == {one.owner for one in kb.identities.list()}
    assert len(began) == 1
