"""Visitors of the demo: each has a book of their own, and it goes when they go."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.demo.stage import ENDS, demo_settings
from keepbook.demo.visitors import COOKIE, Turnstile, Visitors
from keepbook.doors.http.app import create_app
from keepbook.errors import LimitReached


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def short_story() -> Keepbook:
    kb = Keepbook(":memory:", settings=demo_settings(), clock=lambda: ENDS, demo=True)
    kb.book(kb.settings.owner).remember("Lives in Vienna")
    return kb


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def visitors(seconds: Seconds) -> Iterator[Visitors]:
    made = Visitors(most=3, idle_seconds=60, clock=seconds, opens_story=short_story)
    yield made
    made.close()


@pytest.fixture
def app(visitors: Visitors) -> Any:
    app = create_app(visitors.story, opens=visitors.opens)
    app.state.demo = True
    app.add_middleware(Turnstile, visitors=visitors)
    return app


def browser(app: Any, **more: Any) -> TestClient:
    headers = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin", **more}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers)


def held(client: TestClient) -> list[str]:
    return [memory["content"] for memory in client.get("/api/memory/").json()["memories"]]


def test_two_visitors_never_see_each_other(app: Any) -> None:
    one, other = browser(app), browser(app)
    assert one.post("/api/memory/", json={"content": "Likes bonds"}).status_code == 201
    assert held(one) == ["Lives in Vienna", "Likes bonds"]
    assert held(other) == ["Lives in Vienna"]
    assert other.post("/api/erase", json={"confirm": demo_settings().owner}).status_code == 200
    assert held(other) == []
    assert held(one) == ["Lives in Vienna", "Likes bonds"]


def test_the_story_itself_is_never_written_to(app: Any, visitors: Visitors) -> None:
    browser(app).post("/api/memory/", json={"content": "Likes bonds"})
    assert visitors.story.book(demo_settings().owner).list().total == 1


def test_a_visitor_is_known_by_a_cookie_no_script_can_read(app: Any) -> None:
    first = browser(app).get("/api/me")
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Max-Age" not in cookie


def test_the_cookie_is_set_once(app: Any, visitors: Visitors) -> None:
    client = browser(app)
    assert "set-cookie" in client.get("/api/me").headers
    assert "set-cookie" not in client.get("/api/me").headers
    assert len(visitors) == 1


def test_a_key_of_ones_own_making_opens_nothing(app: Any, visitors: Visitors) -> None:
    client = browser(app)
    client.cookies.set(COOKIE, "of-my-own")
    assert f"{COOKIE}=of-my-own" not in client.get("/api/me").headers["set-cookie"]


def test_the_turnstiles_own_header_cannot_be_sent(app: Any, visitors: Visitors) -> None:
    victim = visitors.enter(None)
    victim.kb.book(demo_settings().owner).remember("Secret of the victim")
    assert held(browser(app, **{"X-Keepbook-Visit": victim.key})) == ["Lives in Vienna"]


def test_a_book_vanishes_with_the_visit(app: Any, visitors: Visitors, seconds: Seconds) -> None:
    client = browser(app)
    client.post("/api/memory/", json={"content": "Likes bonds"})
    seconds.now += 59
    assert "Likes bonds" in held(client)
    seconds.now += 61
    assert held(client) == ["Lives in Vienna"]
    assert len(visitors) == 1


def test_when_it_is_full_the_one_longest_away_goes(visitors: Visitors, seconds: Seconds) -> None:
    came = []
    for _ in range(4):
        seconds.now += 1
        visitor = visitors.enter(None)
        visitors.leave(visitor)
        came.append(visitor.key)
    assert len(visitors) == 3
    assert visitors.enter(came[0]).key != came[0]


def test_a_crowd_without_cookies_throws_out_itself(app: Any, visitors: Visitors, seconds: Seconds) -> None:
    reader = browser(app)
    reader.post("/api/memory/", json={"content": "Likes bonds"})
    assert "Likes bonds" in held(reader)
    newcomer = TestClient(app, base_url="http://127.0.0.1", client=("203.0.113.7", 5000))
    newcomer.get("/api/me")
    for _ in range(12):
        seconds.now += 1
        stranger = TestClient(app, base_url="http://127.0.0.1", client=("192.0.2.9", 5000))
        assert stranger.get("/api/me").status_code == 200
    assert len(visitors) == 3
    assert "Likes bonds" in held(reader), "who came back stays"
    assert "set-cookie" not in newcomer.get("/api/me").headers, "and so does who has just come from elsewhere"


def test_a_crowd_that_comes_back_takes_no_place_of_another_address(visitors: Visitors, seconds: Seconds) -> None:
    reader = visitors.enter(None, "203.0.113.7")
    visitors.leave(reader)
    visitors.leave(visitors.enter(reader.key, "203.0.113.7"))
    for _ in range(12):
        seconds.now += 1
        one = visitors.enter(None, "192.0.2.9")
        visitors.leave(one)
        visitors.leave(visitors.enter(one.key, "192.0.2.9"))
    assert visitors.enter(reader.key, "203.0.113.7") is reader


def test_nobody_is_thrown_out_of_a_request(app: Any, visitors: Visitors, seconds: Seconds) -> None:
    inside = [visitors.enter(None) for _ in range(3)]
    seconds.now += 1000
    with pytest.raises(LimitReached):
        visitors.enter(None)
    turned_away = browser(app).get("/chat")
    assert turned_away.status_code == 503
    assert "Retry-After" in turned_away.headers
    assert visitors.enter(inside[0].key) is inside[0]


def test_files_and_health_make_nobody_a_visitor(app: Any, visitors: Visitors) -> None:
    client = browser(app)
    assert client.get("/health").status_code == 200
    assert client.get("/static/keepbook.css").status_code == 200
    assert len(visitors) == 0


def test_who_comes_from_another_machine_is_served_too(app: Any) -> None:
    client = TestClient(app, base_url="http://127.0.0.1", client=("203.0.113.7", 5000))
    assert held(client) == ["Lives in Vienna"]


def test_for_everybody_the_present_begins_where_the_story_ends(visitors: Visitors) -> None:
    for _ in range(2):
        book = visitors.enter(None).kb.book(demo_settings().owner)
        (told,) = book.list()
        said = book.remember("Has a cat.")
        assert ENDS == told.created_at <= book.get(said.id).created_at < ENDS + timedelta(hours=1)


def test_the_first_address_opens_with_a_tour_and_no_other_does(app: Any) -> None:
    client = browser(app, Accept="text/html")
    assert "Three things to look at" in client.get("/").text
    assert "Three things to look at" not in client.get("/chat").text


def test_leaving_a_chat_of_the_story_keeps_nothing_and_leaving_ones_own_does(app: Any, visitors: Visitors) -> None:
    """The story ends in an open chat. Who only looks at it must not find memories made of it."""
    book = visitors.story.book(demo_settings().owner)
    book.threads.start().add("user", "I moved to Oslo last week and I am allergic to hazelnuts.", at="2026-01-01")
    client = browser(app, Accept="text/html")
    client.get("/chat")
    (mine,) = [one.kb.book(demo_settings().owner) for one in visitors._visitors.values()]
    (chat,) = mine.threads.list()
    assert client.post(f"/chat/{chat.id}/leave").status_code == 204
    assert mine.threads.get(chat.id).thread.state == "active"
    assert mine.list().total == 1
    assert not mine.proposals.list()
    mine.threads.get(chat.id).add("user", "My bicycle is a red Brompton, I bought it in June.")
    client.post(f"/chat/{chat.id}/leave")
    assert mine.threads.get(chat.id).thread.state == "idle"


def test_every_page_says_that_it_is_a_demo(app: Any) -> None:
    client = browser(app, Accept="text/html")
    for path in ("/chat", "/profile/facts", "/journal", "/time", "/settings"):
        page = client.get(path)
        assert page.status_code == 200, path
        assert "Demo: Ines is made up" in page.text, path
        assert "12 Nov 2026</time>. Look around" in page.text, path
