"""Which token made which, and what goes with one that is revoked."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import make_url, select
from tests.databases import admin

from keepbook import Keepbook
from keepbook.book.owners.tokens import Tokens
from keepbook.errors import NotAllowed
from keepbook.storage.tables.upkeep import page_sessions


@pytest.fixture
def plain_login(postgres_admin_url: str, book_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the same book for a login that is only a member of the application's role."""
    monkeypatch.delenv("KEEPBOOK_ALLOW_BYPASS_LOGIN")
    name = "kb_login_of_tokens"
    admin(postgres_admin_url, f"DROP ROLE IF EXISTS {name}")
    admin(postgres_admin_url, f"CREATE ROLE {name} LOGIN NOSUPERUSER NOBYPASSRLS")
    admin(postgres_admin_url, f"GRANT keepbook_app TO {name}")
    return make_url(book_url).set(username=name).render_as_string(hide_password=False)


def opens(kb: Any, made: Any) -> bool:
    return kb.tokens.check(made.token) is not None


def test_a_token_knows_which_one_made_it_and_goes_with_it(kb: Any) -> None:
    first = kb.tokens.create("alice")
    second = kb.tokens.create("alice", made_with=first.known.id)
    third = kb.tokens.create("alice", made_with=second.known.id)
    other = kb.tokens.create("alice")
    session = kb.tokens.session_for(third.known.id)
    listed = {token.id: token.made_with for token in kb.tokens.list("alice")}
    assert (listed[second.known.id], listed[third.known.id]) == (first.known.id, second.known.id)
    assert (listed[first.known.id], second.known.made_with) == (None, first.known.id)
    assert kb.tokens.revoke(first.known.id).revoked_at
    assert [opens(kb, made) for made in (first, second, third, other)] == [False, False, False, True]
    assert kb.tokens.of_session(session) is None
    assert kb.book("alice").verify().ok


def test_a_services_token_takes_along_what_it_made_for_everybody(kb: Any) -> None:
    service = kb.tokens.create(kind="service")
    made = [kb.tokens.create(owner, made_with=service.known.id) for owner in ("alice", "bob")]
    kb.tokens.revoke(service.known.id)
    assert not any(opens(kb, one) for one in (service, *made))
    assert kb.book("alice").verify().ok
    assert kb.book("bob").verify().ok


def test_what_was_left_is_revoked_when_it_is_revoked_again(kb: Any) -> None:
    """As after a crash between the books of two owners."""
    service = kb.tokens.create(kind="service")
    mine = kb.tokens.create("alice", made_with=service.known.id)
    with kb._database.unscoped(writes=True) as conn:
        conn.exec_driver_sql("UPDATE tokens SET revoked_at = '2026-03-01T09:00:00.000000Z' WHERE kind = 'service'")
    kb.tokens.revoke(service.known.id)
    assert not opens(kb, mine)


MANY = 20_000
"""So many are never made while one is revoked, however slow the machine."""


@pytest.mark.both_engines
def test_what_is_being_made_while_its_maker_is_revoked_does_not_outlive_it(kb: Any) -> None:
    service = kb.tokens.create(kind="service").known.id
    made: list[Any] = []

    def make(owner: str) -> None:
        with suppress(NotAllowed):
            while len(made) < MANY:
                made.append(kb.tokens.create(owner, made_with=service))

    with ThreadPoolExecutor(4) as makers:
        for owner in ("alice", "bob", "carol", "dave"):
            makers.submit(make, owner)
        while len(made) < 12:
            time.sleep(0.005)
        kb.tokens.revoke(service)
    assert len(made) < MANY
    assert not any(opens(kb, one) for one in made)


def test_no_other_kind_of_token_has_a_session_of_the_pages(kb: Any) -> None:
    for made in (kb.tokens.create(kind="service"), kb.tokens.create("alice", kind="agent")):
        assert kb.tokens.of_session(kb.tokens.session_for(made.known.id)) is None


def test_nothing_is_made_with_a_token_that_was_revoked(kb: Any) -> None:
    first = kb.tokens.create("alice")
    kb.tokens.revoke(first.known.id)
    with pytest.raises(NotAllowed, match="revoked or expired"):
        kb.tokens.create("alice", made_with=first.known.id)


@pytest.mark.parametrize("engine_name", ["postgresql"])
@pytest.mark.parametrize(
    "wrong",
    [
        "INSERT INTO tokens (id, hash, kind, scopes, created_at) VALUES ('aaaaaaaa', 'x', 'service', 'read', '2026')",
        "UPDATE tokens SET kind = 'service', owner = NULL WHERE owner = 'alice'",
        "UPDATE tokens SET kind = 'service' WHERE owner = 'alice'",
        "UPDATE tokens SET hash = 'x' WHERE kind = 'service' AND revoked_at IS NULL",
        "UPDATE tokens SET scopes = 'read,write,admin,person' WHERE kind = 'service' AND revoked_at IS NULL",
        "UPDATE tokens SET revoked_at = NULL WHERE kind = 'service' AND revoked_at IS NOT NULL",
    ],
)
def test_the_applications_role_makes_no_service_token(kb: Any, engine_name: str, wrong: str) -> None:
    kb.tokens.create("alice")
    kb.tokens.create(kind="service")
    kb.tokens.revoke(kb.tokens.create(kind="service").known.id)
    before = kb.tokens.list()
    with pytest.raises(NotAllowed, match="administrator"), kb._database.unscoped(writes=True) as conn:
        assert conn.exec_driver_sql(wrong).rowcount
    assert kb.tokens.list() == before


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_a_service_token_is_made_by_the_administrators_login(
    kb: Any, book_url: str, engine_name: str, plain_login: str
) -> None:
    with Keepbook(plain_login) as plain:
        with pytest.raises(NotAllowed, match="KEEPBOOK_ADMIN_DB"):
            plain.tokens.create(kind="service")
        assert plain.tokens.create("alice").token
        made = Tokens(plain._database, book_url).create(kind="service")
        assert plain.tokens.check(made.token) is not None
        assert plain.tokens.revoke(made.known.id).revoked_at


def test_no_session_stays_of_a_token_that_was_revoked(kb: Any) -> None:
    gone, other = (kb.tokens.create("alice", kind="person") for _ in range(2))
    kb.tokens.revoke(gone.known.id)
    kb.tokens.session_for(gone.known.id)  # who signed in at that very moment
    kept = kb.tokens.session_for(other.known.id)
    with kb._database.unscoped() as conn:
        left = conn.execute(select(page_sessions.c.token_id)).scalars().all()
    assert left == [other.known.id]
    assert kb.tokens.of_session(kept) is not None
