"""The documented set-up of PostgreSQL: two commands, as a superuser or as the plain owner of a database, with nothing
set that lets a mighty login pass. What serves people goes on refusing such a login."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import make_url
from tests.databases import admin, database, drop, make, url_of

from keepbook import Keepbook
from keepbook.errors import NotAllowed

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("postgres_template")  # which has made the role


@pytest.fixture(autouse=True)
def nothing_lets_it_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEEPBOOK_ALLOW_BYPASS_LOGIN")


@pytest.fixture
def empty(postgres_admin_url: str) -> Iterator[str]:
    with database(postgres_admin_url, "template1") as url:
        yield url


@pytest.fixture
def plain_owner(postgres_admin_url: str) -> Iterator[str]:
    """The address of an empty database for the login that owns it, and may nothing else."""
    name = f"kb_owner_{uuid.uuid4().hex[:12]}"
    admin(postgres_admin_url, f"CREATE ROLE {name} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE")
    make(postgres_admin_url, name)
    admin(postgres_admin_url, f"ALTER DATABASE {name} OWNER TO {name}")
    yield make_url(url_of(postgres_admin_url, name)).set(username=name).render_as_string(hide_password=False)
    drop(postgres_admin_url, name)
    admin(postgres_admin_url, f"DROP ROLE {name}")


def set_up(run: Run, url: str) -> None:
    for named in ("upgrade", "check"):
        done = run("db", named, "--db", url)
        assert (done.code, done.err) == (0, ""), named
    for serving in (("list",), ("serve", "--no-open"), ("mcp",), ("jobs", "--once")):
        refused = run(*serving, "--db", url)
        assert refused.code == 1, serving
        assert "could see all owners" in refused.err
    with pytest.raises(NotAllowed) as library:
        Keepbook(url)
    assert library.value.code == "login_bypasses"


def test_a_superuser_sets_up_with_the_documented_commands(run: Run, empty: str) -> None:
    set_up(run, empty)


def test_as_compose_names_it_in_the_environment(run: Run, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", empty)
    assert run("db", "upgrade").code == 0
    assert run("db", "upgrade").code == 0, "a second start finds it done"


def test_a_plain_owner_is_told_what_to_grant_and_then_sets_up(
    run: Run, plain_owner: str, postgres_admin_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("db", "upgrade", "--db", plain_owner)
    grant = f"GRANT keepbook_app TO {make_url(plain_owner).username}"
    assert refused.code == 1
    assert f"{grant};" in refused.err
    admin(postgres_admin_url, grant)
    set_up(run, plain_owner)
    monkeypatch.setenv("KEEPBOOK_DB", plain_owner)
    assert run("db", "upgrade").code == 0, "as compose names it"


def test_the_servers_own_login_cannot_check_and_is_told_who_can(
    run: Run, empty: str, postgres_admin_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("db", "upgrade", "--db", empty)
    name = f"kb_web_{uuid.uuid4().hex[:12]}"
    admin(postgres_admin_url, f"CREATE ROLE {name} LOGIN NOSUPERUSER NOBYPASSRLS IN ROLE keepbook_app")
    web = make_url(empty).set(username=name).render_as_string(hide_password=False)
    refused = run("db", "check", "--db", web)
    assert (refused.code, refused.out) == (1, "")
    assert "KEEPBOOK_ADMIN_DB" in refused.err
    monkeypatch.setenv("KEEPBOOK_ADMIN_DB", empty)
    assert run("db", "check", "--db", web).code == 0
    admin(postgres_admin_url, f"DROP ROLE {name}")
