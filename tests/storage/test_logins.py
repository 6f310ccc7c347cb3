"""The login behind the application's role: one that could put the role aside and see everybody is refused."""

import pytest
from sqlalchemy import make_url
from tests.databases import admin

from keepbook import Keepbook
from keepbook.errors import NotAllowed
from keepbook.settings import load_settings

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)


def login(postgres_admin_url: str, book_url: str, name: str, rights: str) -> str:
    """The address of the same book for another login."""
    admin(postgres_admin_url, f"DROP ROLE IF EXISTS {name}")
    admin(postgres_admin_url, f"CREATE ROLE {name} LOGIN {rights}")
    admin(postgres_admin_url, f"GRANT keepbook_app TO {name}")
    return make_url(book_url).set(username=name).render_as_string(hide_password=False)


@pytest.mark.parametrize("rights", ["SUPERUSER", "BYPASSRLS"])
def test_a_login_that_could_see_everybody_is_refused(
    postgres_admin_url: str, book_url: str, monkeypatch: pytest.MonkeyPatch, rights: str
) -> None:
    url = login(postgres_admin_url, book_url, f"kb_login_{rights.lower()}", rights)
    monkeypatch.delenv("KEEPBOOK_ALLOW_BYPASS_LOGIN")
    with pytest.raises(NotAllowed) as refused:
        Keepbook(url)
    assert refused.value.code == "login_bypasses"
    with Keepbook(url, settings=load_settings(allow_bypass_login=True)) as kb:
        assert kb.facts()


def test_a_plain_login_is_served(postgres_admin_url: str, book_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = login(postgres_admin_url, book_url, "kb_login_plain", "NOSUPERUSER NOBYPASSRLS")
    monkeypatch.delenv("KEEPBOOK_ALLOW_BYPASS_LOGIN")
    with Keepbook(url) as kb:
        alice = kb.book("alice")
        alice.remember("Lives in Oslo")
        assert alice.verify().ok
