"""Behind a proxy: who a named proxy says the client is counts, and nobody else's word; over TLS cookies stay there."""

import subprocess
import time
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.warm_python import program

from keepbook import Keepbook
from keepbook.demo.visitors import Turnstile, Visitors
from keepbook.doors.http import gate, rate_limit, server
from keepbook.doors.http.app import create_app
from keepbook.doors.http.rate_limit import SharedBuckets, shared_file
from keepbook.errors import Invalid, NotAllowed
from keepbook.settings import Settings, Several

PROXY = "10.0.0.2"
WRONG = {"Authorization": "Bearer kb_wrong"}


def behind(app: Any, *proxies: str) -> Any:
    """The application as the server runs it."""
    config = server._config(app, proxies=proxies)
    config.load()
    return config.loaded_app


def asks(app: Any, address: str = PROXY, **headers: str) -> TestClient:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return TestClient(app, base_url="http://127.0.0.1", headers=sent, client=(address, 50000))


def knock(app: Any, address: str, forwarded: str) -> int:
    return int(asks(app, address, X_Forwarded_For=forwarded, **WRONG).get("/api/memory/").status_code)


def test_cookies_are_secure_and_https_is_kept_to(kb: Keepbook) -> None:
    token = kb.tokens.create("alice").token
    app = behind(create_app(kb, local=False), PROXY)
    for told, address, secure in (("https", PROXY, True), ("http", PROXY, False), ("https", "10.0.0.3", False)):
        browser = asks(app, address, X_Forwarded_Proto=told)
        answered = browser.post("/sign-in", data={"token": token}, follow_redirects=False)
        assert answered.status_code == 303
        session = answered.headers["set-cookie"].partition(";")[0]
        sent = {"data": {"theme": "dark"}, "headers": {"Cookie": session}}
        look = browser.post("/settings/look", **sent, follow_redirects=False)
        for each in (answered, look):
            for cookie in each.headers.get_list("set-cookie"):
                assert ("; secure" in cookie.lower()) is secure, (told, address)
            assert ("strict-transport-security" in each.headers) is secure, (told, address)


def test_wrong_keys_are_counted_for_the_last_address_that_no_named_proxy_added(kb: Keepbook) -> None:
    kb.tokens.create("alice")
    app = behind(create_app(kb, local=False), PROXY, "10.1.0.0/16")
    spoofed = [knock(app, PROXY, f"198.51.100.{n}, 192.0.2.7, 10.1.2.3") for n in range(gate.WRONG_A_MINUTE + 3)]
    assert spoofed == [401] * gate.WRONG_A_MINUTE + [429] * 3
    assert knock(app, PROXY, "192.0.2.8") == 401, "another client behind the same proxy"
    alone = [knock(app, "10.0.0.3", f"198.51.100.{n}") for n in range(gate.WRONG_A_MINUTE + 3)]
    assert alone == [401] * gate.WRONG_A_MINUTE + [429] * 3, "who is not named says nothing about the client"


def test_whoever_has_a_whole_network_is_counted_as_one(kb: Keepbook) -> None:
    kb.tokens.create("alice")
    app = behind(create_app(kb, local=False), PROXY)
    roaming = [knock(app, PROXY, f"2001:db8::{n:x}:1") for n in range(gate.WRONG_A_MINUTE + 1)]
    assert roaming == [401] * gate.WRONG_A_MINUTE + [429]
    assert knock(app, PROXY, "2001:db8:0:1::1") == 401, "the network beside it"
    mapped = [knock(app, PROXY, f"{'::ffff:' * (n % 2)}192.0.2.9") for n in range(gate.WRONG_A_MINUTE + 1)]
    assert mapped[-1] == 429


def test_without_the_setting_no_header_counts(kb: Keepbook) -> None:
    kb.tokens.create("alice")
    app = behind(create_app(kb))
    answers = [knock(app, "127.0.0.1", f"198.51.100.{n}") for n in range(gate.WRONG_A_MINUTE + 1)]
    assert answers[-1] == 429
    secure = asks(app, "127.0.0.1", X_Forwarded_Proto="https").get("/health")
    assert "strict-transport-security" not in secure.headers


def test_who_has_no_token_is_counted_by_address(kb: Keepbook) -> None:
    kb.tokens.create("alice")
    kb.settings = kb.settings.but(rate_per_minute=5)
    app = behind(create_app(kb, local=False), PROXY)
    asked = [asks(app, X_Forwarded_For="192.0.2.7").get("/api/memory/").status_code for _ in range(7)]
    assert asked == [401] * 5 + [429] * 2
    assert asks(app, X_Forwarded_For="192.0.2.8").get("/api/memory/").status_code == 401


def test_visitors_of_a_demo_are_counted_by_the_client() -> None:
    visitors = Visitors(
        opens_story=lambda: Keepbook(":memory:", settings=Settings.of_nobody(rate_per_minute=5), demo=True)
    )
    try:
        app = create_app(visitors.story, opens=visitors.opens)
        app.add_middleware(Turnstile, visitors=visitors)
        served = behind(app, PROXY)
        asked = [asks(served, X_Forwarded_For="192.0.2.7").get("/api/memory/").status_code for _ in range(6)]
        assert asked == [200] * 5 + [429], "without a cookie each is a new visitor, and still one client"
        assert asks(served, X_Forwarded_For="192.0.2.8").get("/api/memory/").status_code == 200
        assert sorted({one.address for one in visitors._visitors.values()}) == ["192.0.2.7", "192.0.2.8"]
    finally:
        visitors.close()


def test_proxies_are_named_by_address() -> None:
    def proxies(*named: str) -> list[str]:
        return server.named_proxies(Settings.of_nobody(proxy_headers=True, forwarded_allow_ips=Several(named)))

    assert proxies("127.0.0.1", "172.28.0.0/24", "::1") == ["127.0.0.1", "172.28.0.0/24", "::1"]
    assert server.named_proxies(Settings.of_nobody()) == []
    for wrong in ("*", "proxy", "10.0.0.1/8"):
        with pytest.raises(Invalid, match="name the proxies"):
            proxies(wrong)
    with pytest.raises(Invalid, match="name the proxy"):
        proxies()


def test_behind_a_proxy_nobody_is_local_and_a_token_is_needed(kb: Keepbook) -> None:
    assert server.only_this_machine(Settings.of_nobody())
    assert not server.only_this_machine(Settings.of_nobody(proxy_headers=True))
    with pytest.raises(NotAllowed, match="keepbook token create"):
        server.refuse_open_door(kb, "127.0.0.1", proxied=True)
    kb.tokens.create("alice")
    server.refuse_open_door(kb, "127.0.0.1", proxied=True)


# Several workers count together

TAKES = """
import pathlib, sys
from keepbook.doors.http.rate_limit import SharedBuckets
buckets = SharedBuckets(pathlib.Path(sys.argv[1]))
print(sum(buckets.take("somebody", 600) >= 0 for _ in range(1000)))
"""


@pytest.mark.process
def test_workers_count_together() -> None:
    path, began = shared_file(), time.monotonic()
    try:
        command = program(TAKES, str(path))
        workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        through = sum(int(one.communicate()[0]) for one in workers)
        assert 600 <= through <= 600 + 10 * (time.monotonic() - began)
    finally:
        path.unlink()


def test_who_was_longest_away_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "SLOTS", rate_limit.WAYS)
    path = shared_file()
    try:
        one, other = SharedBuckets(path), SharedBuckets(path)
        for number in range(rate_limit.WAYS):
            assert one.take(f"stranger {number}", 1) >= 0
            assert other.take(f"stranger {number}", 1) < 0, "both look at the same bucket"
        assert one.take("one more", 1) >= 0
        assert one.take("stranger 1", 1) < 0
        assert one.take("stranger 0", 1) >= 0, "its place was taken"
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        path.unlink()
