"""Who gets in: tokens of three kinds, scopes, hosts, other sites, sizes, rates. What is refused changes nothing."""

import asyncio
import threading
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.book.owners.tokens import NewToken
from keepbook.doors.auth import is_local
from keepbook.doors.http.app import create_app
from keepbook.doors.http.gate import HEADERS
from keepbook.doors.http.server import host_names_of, refuse_open_door
from keepbook.doors.http.worker_threads import WriteTurns
from keepbook.errors import Invalid, NotAllowed
from keepbook.settings import load_settings

NEW = {"content": "Prefers index funds"}


def total(kb: Any, owner: str = "alice") -> int:
    return int(kb.book(owner).list(state="all").total)


# Without tokens


def test_without_tokens_the_local_owner_is_served_on_loopback_and_nobody_else(kb: Keepbook, client: Any) -> None:
    assert client().post("/api/memory/", json=NEW).status_code == 201
    assert total(kb, kb.settings.owner) == 1
    assert client(host="192.0.2.7").get("/api/memory/").status_code == 401
    assert client(owner="alice").get("/api/memory/").status_code == 403


def test_once_a_token_exists_every_request_needs_one(kb: Keepbook, client: Any) -> None:
    assert client().get("/api/memory/").status_code == 200
    made = kb.tokens.create("alice")
    for path in ("/api/memory/", "/api/memory/recall", "/api/memory/?limit=0", "/api/events", "/api/nothing"):
        assert client().get(path).status_code == 401, f"{path}: who was not let in is told nothing else"
    refused = client().post("/api/memory/", json=NEW)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    kb.tokens.revoke(made.known.id)
    assert client().get("/api/memory/").status_code == 401, "revoking the last token must not open the door"
    kb.book("alice").erase("alice")
    assert client().get("/api/memory/").status_code == 401, "nor must erasing its owner"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "example.org", ""])
def test_another_address_than_loopback_is_refused_without_tokens(kb: Keepbook, host: str) -> None:
    with pytest.raises(NotAllowed, match="keepbook token create"):
        refuse_open_door(kb, host)
    kb.tokens.create("alice")
    refuse_open_door(kb, host)


def test_loopback_is_known_by_every_name() -> None:
    assert all(map(is_local, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_local, ("0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "")))


def test_answers_say_how_many_requests_are_left(kb: Keepbook) -> None:
    kb.settings = kb.settings.but(rate_per_minute=2)
    asking = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    told = [asking.get("/api/me") for _ in range(3)]
    assert [one.status_code for one in told] == [200, 200, 429]
    assert [one.headers["RateLimit"].split(";")[:2] for one in told] == [
        ['"requests"', "r=1"], ['"requests"', "r=0"], ['"requests"', "r=0"],
    ]  # fmt: skip
    assert {one.headers["RateLimit-Policy"] for one in told} == {'"requests";q=2;w=60'}
    assert "RateLimit" not in asking.get("/health").headers, "which is not counted"


def test_tokens_are_counted_with_the_one_of_their_owner_that_made_them(kb: Keepbook) -> None:
    kb.settings = kb.settings.but(rate_per_minute=2)
    host, mine = kb.tokens.create(kind="service"), kb.tokens.create("alice")
    minted = kb.tokens.create("alice", made_with=mine.known.id)
    again = kb.tokens.create("alice", kind="agent", made_with=minted.known.id)
    guests = [kb.tokens.create(name, made_with=host.known.id) for name in ("bob", "cleo")]
    asking = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))

    def asked(*made: NewToken) -> list[int]:
        return [asking.get("/api/me", headers={"Authorization": f"Bearer {one.token}"}).status_code for one in made]

    assert asked(mine, minted, again, minted, mine) == [200, 200, 429, 429, 429]
    assert asked(*guests, *guests) == [200] * 4, "each owner of a host application is counted apart"


def test_the_api_has_a_version_that_programs_may_name(kb: Keepbook, client: Any) -> None:
    made = client().post("/api/v1/memory/", json=NEW, headers={"Idempotency-Key": "one"})
    again = client().post("/api/memory/", json=NEW, headers={"Idempotency-Key": "one"})
    assert (made.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert (
        client().get(f"/api/v1/memory/{made.json()['id']}").json()
        == client().get(f"/api/memory/{made.json()['id']}").json()
    )
    kb.tokens.create("alice")
    assert client().get("/api/v1/memory/").status_code == 401
    assert client().get("/api/v2/memory/").status_code == 401


# Pages of other sites

ELSEWHERE = {"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"}


def test_pages_of_named_sites_may_call_with_a_token_and_never_as_nobody(kb: Keepbook) -> None:
    kb.settings = kb.settings.but(cors_origins=["https://app.example.org"])
    asking = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    assert asking.get("/api/memory/", headers=ELSEWHERE).status_code == 401, "the local owner is not for other sites"
    key = {"Authorization": f"Bearer {kb.tokens.create('alice').token}"}
    first = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    assert asking.options("/api/memory/", headers=ELSEWHERE | first).status_code == 200
    made = asking.post("/api/memory/", json=NEW, headers=ELSEWHERE | key)
    assert (made.status_code, made.headers["access-control-allow-origin"]) == (201, "https://app.example.org")
    assert "access-control-allow-credentials" not in made.headers
    other = {"Origin": "https://other.example.org"}
    assert asking.options("/api/memory/", headers=other | first).status_code == 400
    assert "access-control-allow-origin" not in asking.get("/api/memory/", headers=other | key).headers


@pytest.mark.parametrize("site", ["*", "app.example.org", "https://app.example.org/here"])
def test_a_site_is_named_whole(kb: Keepbook, site: str) -> None:
    kb.settings = kb.settings.but(cors_origins=[site])
    with pytest.raises(Invalid, match="name each with its scheme"):
        create_app(kb)


# Tokens


def test_a_token_opens_its_owners_book_and_no_other(kb: Keepbook, client: Any) -> None:
    alice, bob = (client(kb.tokens.create(owner).token) for owner in ("alice", "bob"))
    made = alice.post("/api/memory/", json=NEW).json()
    assert bob.get("/api/memory/").json()["total"] == 0
    assert bob.get(f"/api/memory/{made['id']}").status_code == 404
    assert bob.delete(f"/api/memory/{made['id']}").status_code == 404
    assert client(kb.tokens.create("bob").token, owner="alice").get("/api/memory/").status_code == 403
    assert total(kb) == 1


@pytest.mark.parametrize("kind", ["wrong", "empty", "revoked", "expired", "basic"])
def test_a_token_that_opens_nothing_is_401_and_changes_nothing(
    kb: Keepbook, client: Any, clock: Any, kind: str
) -> None:
    made = kb.tokens.create("alice", expires="2026-03-02T00:00:00Z")
    header = f"Bearer {made.token}"
    match kind:
        case "wrong":
            header = f"Bearer {made.token}x"
        case "empty":
            header = "Bearer "
        case "revoked":
            kb.tokens.revoke(made.known.id)
        case "expired":
            clock.forward(days=2)
        case _:
            header = "Basic YWxpY2U6c2VjcmV0"
    for method, path in (("POST", "/api/memory/"), ("GET", "/api/export"), ("POST", "/api/erase"), ("GET", "/metrics")):
        refused = client().request(method, path, json={**NEW, "confirm": "alice"}, headers={"Authorization": header})
        assert refused.status_code == 401, (method, path, refused.text)
    assert total(kb) == 0


@pytest.mark.parametrize(
    ("scopes", "method", "path"),
    [
        (("read",), "POST", "/api/memory/"),
        (("read",), "POST", "/api/tools/remember"),
        (("read",), "POST", "/api/chat/threads"),
        (("read",), "POST", "/api/import"),
        (("read", "write"), "POST", "/api/erase"),
        (("read", "write"), "GET", "/api/tokens"),
        (("read", "write"), "POST", "/api/tokens"),
        (("write",), "GET", "/api/memory/"),
        (("write",), "GET", "/api/memory/recall"),
        (("write",), "POST", "/api/memory/inject"),
        (("write",), "GET", "/api/export"),
    ],
)
def test_a_scope_that_is_missing_is_403_and_changes_nothing(
    kb: Keepbook, client: Any, scopes: tuple[str, ...], method: str, path: str
) -> None:
    mine = client(kb.tokens.create("alice", scopes=scopes).token)
    sent = None if method == "GET" else {**NEW, "confirm": "alice", "session": "s"}
    refused = mine.request(method, path, json=sent)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope"), refused.text
    assert total(kb) == 0
    assert kb.book("alice").threads.list() == []
    assert len(kb.tokens.list("alice")) == 1


def test_a_token_is_one_caller_whatever_else_is_sent(
    kb: Keepbook, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders, turn = set(), WriteTurns.turn
    monkeypatch.setattr(WriteTurns, "turn", lambda turns, who: senders.add(who) or turn(turns, who))
    token = kb.tokens.create("alice").token
    for number, kind in enumerate(("Bearer", "bearer", "BEARER ")):
        sent = {"Authorization": f"{kind} {token}", "Cookie": f"a={number}"}
        made = client(token).post("/api/memory/", json={"content": f"{number} dogs"}, headers=sent)
        assert made.status_code == 201
    assert len(senders) == 1


def test_an_agents_token_writes_on_the_agents_word(kb: Keepbook, client: Any) -> None:
    agent = client(kb.tokens.create("alice", kind="agent").token)
    made = agent.post("/api/memory/", json=NEW).json()
    assert kb.book("alice").ledger()[0].actor == "agent"
    assert made["source"] != "profile"
    assert agent.patch("/api/me", json={"memory": False}).status_code == 403


def test_a_service_serves_whom_it_names(kb: Keepbook, client: Any) -> None:
    token = kb.tokens.create(kind="service").token
    for owner in ("ann", "anna", "ann%", "änn", "ann'; --", "アン"):
        assert client(token, owner=owner).post("/api/memory/", json={"content": f"Name is {owner}"}).status_code == 201
    for owner in ("ann", "anna", "ann%", "änn", "ann'; --", "アン"):
        listed = client(token, owner=owner).get("/api/memory/").json()
        assert [memory["content"] for memory in listed["memories"]] == [f"Name is {owner}"]
    nobody = client(token).get("/api/memory/")
    assert (nobody.status_code, nobody.json()["field"]) == (422, "X-Keepbook-Owner")
    assert client(token).get("/metrics").status_code == 200


def test_a_token_is_made_over_http_for_ones_own_book_with_no_more_than_one_has(kb: Keepbook, client: Any) -> None:
    mine = client(kb.tokens.create("alice", scopes=("read", "admin")).token)
    assert mine.post("/api/tokens", json={"scopes": ["write"]}).status_code == 403
    assert mine.post("/api/tokens", json={"kind": "service"}).status_code == 403
    made = mine.post("/api/tokens", json={"scopes": ["read"], "name": "laptop"})
    assert (made.status_code, made.json()["owner"]) == (201, "alice")
    assert client(made.json()["token"]).get("/api/memory/").status_code == 200
    listed = mine.get("/api/tokens")
    assert made.json()["token"] not in listed.text
    foreign = kb.tokens.create("bob")
    assert mine.delete(f"/api/tokens/{foreign.known.id}").status_code == 404
    assert mine.delete(f"/api/tokens/{made.json()['id']}").status_code == 200
    assert client(made.json()["token"]).get("/api/memory/").status_code == 401


def test_the_secret_is_nowhere_in_the_database(kb: Keepbook) -> None:
    made = kb.tokens.create("alice")
    with kb._database.unscoped() as conn:
        rows = conn.exec_driver_sql("SELECT * FROM tokens").all()
    assert made.token not in str(rows)


# Hosts, sites, sizes, rates


def test_a_host_name_that_is_not_ours_is_refused(mine: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        refused = mine.get("/api/memory/", headers={"Host": host})
        assert (refused.status_code, refused.json()["code"]) == (421, "wrong_host")
    for host in ("localhost", "127.0.0.1:8765", "[::1]:8765"):
        assert mine.get("/api/memory/", headers={"Host": host}).status_code == 200


def test_a_server_on_every_address_answers_to_numbers_but_not_to_an_attackers_name(kb: Keepbook) -> None:
    token = kb.tokens.create("alice").token
    served = TestClient(
        create_app(kb, hosts=host_names_of("0.0.0.0"), local=False), headers={"Authorization": f"Bearer {token}"}
    )
    assert served.get("/api/memory/", headers={"Host": "192.0.2.7:8765"}).status_code == 200
    assert served.get("/api/memory/", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:1234"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_write(kb: Keepbook, client: Any, sent: dict[str, str]) -> None:
    for path in ("/api/memory/", "/api/chat/threads"):
        refused = client().post(path, json=NEW, headers=sent)
        assert (refused.status_code, refused.json()["code"]) == (403, "other_site")
    assert total(kb, kb.settings.owner) == 0
    assert client().post("/api/memory/", json=NEW, headers={"Origin": "http://127.0.0.1"}).status_code == 201


def test_a_body_over_the_limit_is_413_with_and_without_a_length(book_url: str) -> None:
    settings = load_settings(db=book_url, max_body_bytes=2000)
    with Keepbook(book_url, settings=settings) as kb:
        mine = TestClient(create_app(kb), base_url="http://localhost", client=("127.0.0.1", 1))
        assert mine.post("/api/memory/", json={"content": "Fine", "body": "x" * 3000}).status_code == 413
        pieces = (b"x" * 500 for _ in range(10))
        refused = mine.post("/api/memory/", content=pieces)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert mine.post("/api/memory/", json={"content": "Fine"}).status_code == 201
        told = mine.post("/notes", content=b"x" * 3000, headers={"Accept": "text/html"})
        assert (told.status_code, "<h1>That is too much at once</h1>" in told.text) == (413, True)


def test_a_file_that_is_brought_in_may_be_larger_but_not_any_size(book_url: str) -> None:
    settings = load_settings(db=book_url, max_body_bytes=2000, max_import_bytes=9000)
    with Keepbook(book_url, settings=settings) as kb:
        app, reads = create_app(kb), {"Accept": "text/html"}
        mine = TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1), headers=reads)
        fits = mine.post("/import", files={"file": ("notes.txt", b"Keeps bees on the roof\n" * 200)})
        assert (fits.status_code, "Recognised: A plain list" in fits.text) == (200, True)
        told = mine.post("/import", files={"file": ("notes.txt", b"x" * 9001)})
        assert told.status_code == 413
        assert "A file that is brought in here may have 0.009 MB; a larger one comes in with keepbook" in told.text
        kb.tokens.create("alice")
        stranger = TestClient(app, base_url="http://localhost", client=("192.0.2.1", 1), headers=reads)
        assert stranger.post("/import", files={"file": ("notes.txt", b"x" * 5000)}).status_code == 413


def test_a_token_that_knocks_too_often_waits_and_others_do_not(book_url: str) -> None:
    settings = load_settings(db=book_url, rate_per_minute=5)
    with Keepbook(book_url, settings=settings) as kb:
        app = create_app(kb)
        tokens = [kb.tokens.create(owner).token for owner in ("alice", "bob")]
        alice, bob = (
            TestClient(app, base_url="http://localhost", headers={"Authorization": f"Bearer {token}"})
            for token in tokens
        )
        statuses = [alice.get("/api/me").status_code for _ in range(8)]
        assert statuses[:5] == [200] * 5
        assert statuses[-1] == 429
        assert int(alice.get("/api/me").headers["retry-after"]) >= 1
        assert bob.get("/api/me").status_code == 200


def test_every_answer_has_the_security_headers(mine: TestClient, client: Any) -> None:
    for answered in (mine.get("/api/memory/"), mine.get("/nope"), client().get("/health"), client("x").get("/api/me")):
        for name, value in HEADERS.items():
            assert answered.headers[name] == value


def test_an_unknown_path_or_method_is_a_problem_document(mine: TestClient) -> None:
    lost = mine.get("/api/nonsense")
    assert (lost.status_code, lost.headers["content-type"]) == (404, "application/problem+json")
    wrong = mine.delete("/api/me")
    assert (wrong.status_code, wrong.headers["content-type"]) == (405, "application/problem+json")


# --- a small body is read before its sender is known, and nothing is done before ---------------------------


@pytest.mark.parametrize(
    ("sent", "kind", "status"),
    [
        (b'{"content": "Keeps bees on the roof"}', "application/json", 201),
        (b'{"content": "Keeps bees', "application/json", 422),
        (b'{"content": 7}', "application/json", 422),
        (b"Keeps bees on the roof", "text/plain", 422),
        (b"", "application/json", 422),
        (b"[" * 5000, "application/json", 400),
    ],
)
def test_a_stranger_is_refused_whatever_the_body_says(
    kb: Any, client: Any, sent: bytes, kind: str, status: int
) -> None:
    token = kb.tokens.create("alice").token
    told = client("kb_nobody").post("/api/memory/", content=sent, headers={"Content-Type": kind})
    assert (told.status_code, told.json()["code"]) == (401, "unauthenticated")
    assert kb.book("alice").list().total == 0
    assert client(token).post("/api/memory/", content=sent, headers={"Content-Type": kind}).status_code == status


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "application/vnd.x+json"])
def test_json_is_json_however_it_is_called(kb: Any, client: Any, kind: str) -> None:
    token = kb.tokens.create("alice").token
    told = client(token).post("/api/memory/", content=b'{"content": "Keeps bees"}', headers={"Content-Type": kind})
    assert (told.status_code, told.json()["content"]) == (201, "Keeps bees")


def test_the_description_of_the_api_can_be_closed(kb: Any) -> None:
    for open_, status in ((True, 200), (False, 404)):
        kb.settings = kb.settings.but(api_docs=open_)
        served = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
        assert [served.get(path).status_code for path in ("/docs", "/openapi.json")] == [status, status]
        assert served.get("/api/me").status_code == 200


@pytest.mark.both_engines
def test_who_sends_many_writes_that_wait_keeps_nobody_from_reading(kb: Any, app: Any, book_url: str) -> None:
    """All wait for Alice's lock, which another program holds; Bob reads meanwhile, and then all are kept."""
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with Keepbook(book_url) as other, other.book("alice").transaction():
            other.book("alice").remember("Something that takes long")
            held.set()
            go_on.wait(60)

    def of(token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    async def ask() -> list[int]:
        alice, bob = (kb.tokens.create(owner).token for owner in ("alice", "bob"))
        sent = {"transport": httpx.ASGITransport(app, client=("127.0.0.1", 50000)), "base_url": "http://127.0.0.1"}
        async with httpx.AsyncClient(**sent, timeout=60) as client:
            await client.get("/api/memory/", headers=of(bob))  # from now on his key is known to be in use
            threading.Thread(target=hold, daemon=True).start()
            await asyncio.to_thread(held.wait, 60)
            writes = [
                asyncio.ensure_future(
                    client.post(
                        "/api/memory/", json={"content": f"Line {nth}"}, headers={"Authorization": f"Bearer {alice}"}
                    )
                )
                for nth in range(50)
            ]
            await asyncio.sleep(0.5)
            read = await client.get("/api/memory/", headers=of(bob))
            assert [(one.result().status_code, one.result().text) for one in writes if one.done()] == []
            go_on.set()
            return [read.status_code, *(one.status_code for one in await asyncio.gather(*writes))]

    assert asyncio.run(ask()) == [200] + 50 * [201]
