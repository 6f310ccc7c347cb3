"""Signing in at a provider: what the browser carries, what of the provider's word is believed, and whose book opens."""

import base64
import json
import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.doors.http.web.account.scripted_provider import (
    CLIENT,
    SECRET,
    ScriptedProvider,
    signed_with_the_shown_key,
    unsigned,
)

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.errors import Invalid
from keepbook.settings import Settings

PAGE = {"Accept": "text/html"}


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as made:
        yield made


@pytest.fixture
def house(kb: Keepbook, provider: ScriptedProvider) -> Keepbook:
    told = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
    kb.settings = kb.settings.but(**told)
    return kb


@pytest.fixture
def browser(house: Keepbook) -> TestClient:
    return TestClient(create_app(house), base_url="http://127.0.0.1", follow_redirects=False, headers=PAGE)


def leave(browser: TestClient, **asked: str) -> str:
    answer = browser.get("/sign-in/provider", params=asked)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def come_back(browser: TestClient, brought: dict[str, str]) -> Any:
    """By the provider's redirect, and then as the page of ours leads on."""
    page = browser.get("/sign-in/provider/back", params=brought)
    assert "set-cookie" not in page.headers
    led = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', page.text)
    assert led, page.text
    return browser.get(unescape(led[1]))


def sign_in(browser: TestClient, provider: ScriptedProvider, subject: str = "s-1", **asked: str) -> Any:
    return come_back(browser, provider.let_in(leave(browser, **asked), subject))


def invited(house: Keepbook, owner: str = "alice") -> str:
    return house.identities.invite(owner).invitation


def cookies(answer: Any) -> dict[str, str]:
    return {line.split("=", 1)[0]: line for line in answer.headers.get_list("set-cookie")}


def test_who_is_invited_signs_in_and_opens_that_book(
    house: Keepbook, browser: TestClient, provider: ScriptedProvider
) -> None:
    house.book("alice").remember("Likes boats that are blue")
    assert provider.issuer.removeprefix("http://") in browser.get("/sign-in").text
    invitation = invited(house)
    assert "alice" in browser.get("/sign-in", params={"invitation": invitation}).text
    away = browser.get("/sign-in/provider", params={"to": "/profile/facts", "invitation": invitation})
    kept = cookies(away)["keepbook_away"]
    assert all(word in kept for word in ("HttpOnly", "SameSite=lax", "Max-Age=600", "Path=/sign-in/provider"))
    answer = come_back(browser, provider.let_in(away.headers["location"], "s-1"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/profile/facts")
    kept = cookies(answer)["keepbook_session"]
    assert all(word in kept for word in ("HttpOnly", "SameSite=strict", f"Max-Age={12 * 3600}"))
    assert "Likes boats" in browser.get("/profile/facts").text
    assert [(one.issuer, one.subject, one.owner) for one in house.identities.list()] == [
        (provider.issuer, "s-1", "alice")
    ]
    assert house.tokens.list() == []
    assert house.book("alice").verify().ok
    browser.cookies.clear()
    assert sign_in(browser, provider).status_code == 303  # known from now on
    assert "Likes boats" in browser.get("/profile/facts").text


def test_it_gives_no_token_and_nothing_of_an_administrator(
    house: Keepbook, browser: TestClient, provider: ScriptedProvider
) -> None:
    sign_in(browser, provider, invitation=invited(house))
    secret = browser.cookies["keepbook_session"]
    assert browser.get("/api/me").json()["scopes"] == ["read", "write"]
    assert browser.post("/api/tokens", json={"kind": "person"}).status_code == 403
    assert browser.post("/settings/erase", data={"confirm": "alice"}).status_code == 403
    alone = TestClient(browser.app, base_url="http://127.0.0.1")
    assert alone.get("/api/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert alone.get("/api/me").status_code == 401  # nobody is served unknown, also where there is no token


def test_a_first_sign_in_opens_nobodys_book(house: Keepbook, browser: TestClient, provider: ScriptedProvider) -> None:
    house.book("s-1").remember("Is somebody else with that name")
    refused = sign_in(browser, provider)
    assert (refused.status_code, "keepbook_session" in cookies(refused)) == (403, False)
    assert "invited you" in refused.text
    once = invited(house)
    assert sign_in(browser, provider, invitation=once).status_code == 303
    assert sign_in(browser, provider, "s-2", invitation=once).status_code == 403
    house.settings = house.settings.but(oidc_new_books=True)
    browser.cookies.clear()
    assert sign_in(browser, provider, "s-2").status_code == 303
    made = next(one for one in house.identities.list() if one.subject == "s-2")
    assert made.owner.startswith("person-")
    assert len(house.book(made.owner).list()) == 0
    assert {one.owner for one in house.identities.list()} == {"alice", made.owner}


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another issuer": ({"claims": {"iss": "https://other.example"}}, "iss"),
    "no issuer": ({"claims": {"iss": None}}, "iss"),
    "another audience": ({"claims": {"aud": "another"}}, "aud"),
    "several audiences, for another": ({"claims": {"aud": [CLIENT, "another"], "azp": "another"}}, "another program"),
    "several audiences, for none of them": ({"claims": {"aud": [CLIENT, "another"]}}, "another program"),
    "expired": ({"claims": {"exp": 1_700_000_000}}, "expired"),
    "without an end": ({"claims": {"exp": None}}, "exp"),
    "made in the future": ({"claims": {"iat": 4_000_000_000}}, "future"),
    "another nonce": ({"claims": {"nonce": "replayed"}}, "nonce"),
    "without a nonce": ({"claims": {"nonce": None}}, "nonce"),
    "of nobody": ({"claims": {"sub": ""}}, "sub"),
    "unsigned": ({"sign": unsigned}, "not signed as it says"),
    "unsigned, and said so before": (
        {"sign": unsigned, "discovery": {"id_token_signing_alg_values_supported": ["none", "RS256"]}},
        "not signed as it says",
    ),
    "signed with what everybody knows": (
        {
            "sign": signed_with_the_shown_key,
            "discovery": {"id_token_signing_alg_values_supported": ["HS256", "RS256"]},
        },
        "not signed as it says",
    ),
    "another algorithm than it names": (
        {"discovery": {"id_token_signing_alg_values_supported": ["ES256"]}},
        "not signed as it says",
    ),
    "an unknown key": ({"signs_with": "second"}, "No key for kid"),
    "another key of the same name": ({"shows": ["second"], "header": {"kid": "second"}}, "not signed as"),
    "a token endpoint that leads elsewhere": ({"refuses": 302}, "302"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_provider_that_lies_lets_nobody_in(
    house: Keepbook, browser: TestClient, provider: ScriptedProvider, lie: str
) -> None:
    told, why = LIES[lie]
    for name, value in told.items():
        setattr(provider, name, value)
    answer = sign_in(browser, provider, invitation=invited(house))
    assert (answer.status_code, why in unescape(answer.text)) == (403, True), unescape(answer.text)
    assert "keepbook_session" not in cookies(answer)
    assert [one.joined_at for one in house.identities.list()] == [None]


@pytest.mark.parametrize(
    ("discovery", "why"),
    [
        ({"issuer": "https://other.example"}, "calls itself"),
        ({"authorization_endpoint": "http://id.example.org/authorize"}, "authorization_endpoint"),
        ({"token_endpoint": "http://id.example.org/token"}, "token_endpoint"),
        ({"jwks_uri": None}, "jwks_uri"),
    ],
)
def test_a_provider_that_is_not_what_it_says_is_sent_nobody(
    browser: TestClient, provider: ScriptedProvider, discovery: dict[str, Any], why: str
) -> None:
    provider.discovery = discovery
    answer = browser.get("/sign-in/provider")
    assert (answer.status_code, why in unescape(answer.text)) == (403, True)


def test_an_answer_fits_the_question_of_this_browser_alone(
    house: Keepbook, browser: TestClient, provider: ScriptedProvider
) -> None:
    invitation = invited(house)
    other = TestClient(browser.app, base_url="http://127.0.0.1", follow_redirects=False, headers=PAGE)
    theirs = provider.let_in(leave(other, invitation=invitation), "mallory")
    assert "did not begin" in come_back(browser, theirs).text  # an answer that somebody else was given
    leave(browser, invitation=invitation)
    assert "another question" in unescape(come_back(browser, theirs).text)
    brought = provider.let_in(leave(browser), "s-1") | {"iss": "https://other.example"}
    assert "another provider" in come_back(browser, brought).text
    provider.discovery = {"authorization_response_iss_parameter_supported": True}
    with TestClient(create_app(house), base_url="http://127.0.0.1", follow_redirects=False, headers=PAGE) as anew:
        assert "another provider" in sign_in(anew, provider).text
        refused = {"state": "", "error": "access_denied", "iss": provider.issuer}
        refused["state"] = provider.let_in(leave(anew), "s-1")["state"]
        assert "access_denied" in come_back(anew, refused).text
    assert browser.get("/sign-in/provider", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_who_is_away_for_more_than_ten_minutes_begins_again(browser: TestClient, provider: ScriptedProvider) -> None:
    brought = provider.let_in(leave(browser), "s-1")
    held = json.loads(base64.urlsafe_b64decode(browser.cookies["keepbook_away"]))
    held["begun"] = time.time() - 601
    browser.cookies.clear()
    browser.cookies.set("keepbook_away", base64.urlsafe_b64encode(json.dumps(held).encode()).decode())
    assert "ten minutes" in come_back(browser, brought).text


def test_new_keys_are_fetched_once_and_known_ones_are_kept(
    house: Keepbook, browser: TestClient, provider: ScriptedProvider
) -> None:
    sign_in(browser, provider, invitation=invited(house))
    sign_in(browser, provider)
    assert provider.asked.count("/keys") == 1
    provider.signs_with = "second"
    provider.shows = ["first", "second"]
    assert sign_in(browser, provider).status_code == 303
    assert provider.asked.count("/keys") == 2
    provider.signs_with = "third"
    assert sign_in(browser, provider).status_code == 403
    assert provider.asked.count("/keys") == 3
    assert provider.asked.count("/.well-known/openid-configuration") == 1


def test_the_operators_provider_may_lie_inside_and_no_other_host(house: Keepbook, provider: ScriptedProvider) -> None:
    app = create_app(house, local=False)  # others reach it, so that this machine is not named by itself
    away = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False, headers=PAGE)
    assert away.get("/sign-in/provider").status_code == 303
    elsewhere = provider.issuer.replace("127.0.0.1", "127.0.0.2")
    provider.discovery = {"token_endpoint": f"{elsewhere}/token"}
    anew = TestClient(create_app(house, local=False), base_url="http://127.0.0.1", headers=PAGE, follow_redirects=False)
    answer = sign_in(anew, provider)
    assert "inside a network" in answer.text


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"oidc_issuer": "http://id.example.org", "oidc_client_id": "k"}, "oidc_issuer"),
        ({"oidc_issuer": "https://id.example.org/?a=b", "oidc_client_id": "k"}, "oidc_issuer"),
        ({"oidc_issuer": "https://id.example.org"}, "oidc_client_id"),
    ],
)
def test_settings_that_would_not_do_are_named_at_the_start(told: dict[str, str], field: str) -> None:
    with Keepbook(settings=Settings.of_nobody(db=":memory:", **told)) as kb, pytest.raises(Invalid) as refused:
        create_app(kb)
    assert refused.value.field == field


def test_without_a_provider_there_is_no_such_page(kb: Keepbook) -> None:
    browser = TestClient(create_app(kb), base_url="http://127.0.0.1")
    assert browser.get("/sign-in/provider").status_code == 404
