"""`/api/memory` and what stands around it: every operation of the book over HTTP."""

import json
import re
from typing import Any

import pytest
from sqlalchemy import create_engine
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.book.ground.to_json import to_json
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.storage.engines import postgres


def remember(mine: TestClient, content: str, **more: Any) -> dict[str, Any]:
    answered = mine.post("/api/memory/", json={"content": content, **more})
    assert answered.status_code == 201, answered.text
    made: dict[str, Any] = answered.json()
    return made


def test_what_is_remembered_has_the_one_shape_of_every_door(mine: TestClient, alice: Any) -> None:
    made = remember(mine, "Prefers index funds", category="preference")
    shape = to_json(alice.get(made["id"]))
    assert {name: made[name] for name in shape if name not in ("versions", "links")} == {
        name: value for name, value in shape.items() if name not in ("versions", "links")
    }
    assert made["event"] == 1
    assert (made["unchanged"], made["similar"]) == (False, [])
    assert mine.get(f"/api/memory/{made['id']}").json() == shape


def test_a_list_is_paged_to_its_end(mine: TestClient, alice: Any) -> None:
    for number in range(5):
        alice.remember(f"Fact number {number}")
    seen, cursor = [], None
    while True:
        page = mine.get("/api/memory/", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        assert page["total"] == 5
        seen += [memory["content"] for memory in page["memories"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"Fact number {number}" for number in range(5)]


def test_a_list_is_filtered_by_what_it_says_in_any_case_and_script(mine: TestClient, alice: Any) -> None:
    for said in ("Lives in ÅLESUND", "Works in Bergen", "Born in Ålesund, 1990"):
        alice.remember(said)
    first = mine.get("/api/memory/", params={"q": "ålesund", "limit": 1}).json()
    assert (first["total"], [memory["content"] for memory in first["memories"]]) == (2, ["Lives in ÅLESUND"])
    rest = mine.get("/api/memory/", params={"q": "ålesund", "limit": 1, "cursor": first["next"]}).json()
    assert ([memory["content"] for memory in rest["memories"]], rest["next"]) == (["Born in Ålesund, 1990"], None)


def test_labels_are_written_kept_and_asked_for(mine: TestClient) -> None:
    labels = {"tags": ["work", "travel"], "metadata": {"project": "atlas", "a.b": "c & d"}}
    made = remember(mine, "Flies to Oslo on Monday", **labels)
    remember(mine, "Flies to Bergen on Friday", tags=["work"])
    assert (made["tags"], made["metadata"]) == (["travel", "work"], labels["metadata"])
    changed = mine.put(f"/api/memory/{made['id']}", json={"content": "Flies to Oslo on Tuesday"}).json()
    assert (changed["tags"], changed["metadata"]) == (made["tags"], made["metadata"])

    for path, more in (("/api/memory/", {}), ("/api/memory/recall", {"q": "flies"})):
        for asked, found in (
            ({"tag": "work"}, 2),
            ({"tag": ["work", "travel"]}, 1),
            ({"metadata.project": "atlas", "metadata.a.b": "c & d"}, 1),
            ({"metadata.project": "atlas", "tag": "home"}, 0),
        ):
            answered = mine.get(path, params={**more, **asked})
            assert len(answered.json()["memories"]) == found, (path, asked)
        refused = mine.get(path, params={**more, "metadata.": "x"})
        assert refused.status_code == 422
    assert mine.put(f"/api/memory/{made['id']}", json={"content": "Flies to Oslo", "tags": []}).json()["tags"] == []


def test_something_alike_in_a_preset_that_asks_is_a_conflict_with_it(mine: TestClient, alice: Any) -> None:
    alice.configure(preset="assistant")
    known = remember(mine, "Prefers strong black tea to any coffee in the early morning", category="preference")
    near = {"content": "Prefers strong black tea to any coffee in the early mornings", "category": "preference"}
    again = mine.post("/api/memory/", json=near)
    assert again.status_code == 409
    assert again.headers["content-type"] == "application/problem+json"
    assert [memory["id"] for memory in again.json()["similar"]] == [known["id"]]
    assert mine.post("/api/memory/", json={**near, "force": True}).status_code == 201


def test_a_change_names_the_state_it_is_based_on(mine: TestClient) -> None:
    made = remember(mine, "Lives in Oslo")
    path = f"/api/memory/{made['id']}"
    tag = mine.get(path).headers["etag"]
    assert mine.get(path, headers={"If-None-Match": tag}).status_code == 304
    changed = mine.put(path, json={"content": "Lives in Bergen"}, headers={"If-Match": tag})
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    late = mine.put(path, json={"content": "Lives in Tromsø"}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "precondition", 2)
    assert mine.get(path).json()["content"] == "Lives in Bergen"
    again = mine.put(path, json={"content": "Lives in Tromsø"}, headers={"If-Match": changed.headers["etag"]})
    assert again.status_code == 200


def test_delete_goes_to_the_trash_and_forever_is_for_good(mine: TestClient) -> None:
    made = remember(mine, "A plan of yesterday")
    path = f"/api/memory/{made['id']}"
    gone = mine.delete(path)
    assert (gone.status_code, gone.json()["state"]) == (200, "trash")
    assert mine.post(f"{path}/restore").json()["state"] == "active"
    forever = mine.delete(path, params={"forever": True})
    assert (forever.status_code, forever.content) == (204, b"")
    assert mine.get(path).status_code == 404


def test_every_verb_of_a_memory_answers_with_what_it_made_of_it(mine: TestClient) -> None:
    made = remember(mine, "Likes long walks", confidence="inferred")
    path = f"/api/memory/{made['id']}"
    assert mine.post(f"{path}/promote").json()["confidence"] == "asserted"
    assert mine.post(f"{path}/demote").json()["confidence"] == "inferred"
    assert mine.post(f"{path}/confirm").json()["last_confirmed_at"]
    forgotten = mine.post(f"{path}/forget", json={"reason": "user_corrected"})
    assert forgotten.json()["state"] == "archived", forgotten.text
    back = mine.post(f"/api/memory/undo/{forgotten.json()['event']}")
    assert back.json()["state"] == "active"


@pytest.mark.parametrize("verb", ["forget", "restore"])
def test_to_forget_and_to_restore_name_the_state_they_are_based_on_too(mine: TestClient, verb: str) -> None:
    made = remember(mine, "Prefers tea")
    path = f"/api/memory/{made['id']}"
    mine.put(path, json={"content": "Prefers coffee"})
    old = mine.get(path).headers["ETag"]
    if verb == "restore":
        mine.post(f"{path}/forget")
    stale = mine.post(f"{path}/{verb}", json={"expect_version": 1})
    assert (stale.status_code, stale.json()["code"], stale.json()["current"]) == (409, "version", 2)
    missed = mine.post(f"{path}/{verb}", headers={"If-Match": '"9-never"'})
    assert (missed.status_code, missed.json()["code"]) == (412, "precondition")
    newest = old if verb == "forget" else mine.get(path).headers["ETag"]
    done = mine.post(f"{path}/{verb}", json={"expect_version": 2}, headers={"If-Match": newest})
    assert (done.status_code, done.json()["state"]) == (200, "archived" if verb == "forget" else "active")


def test_a_question_is_answered_with_one_of_its_choices_by_the_person_alone(kb: Any, client: Any, alice: Any) -> None:
    old = alice.remember("I work at Equinor")
    with alice.writing() as (tx, _):
        asked = proposals.ask_question(
            tx, stamp(tx.clock()), question="over", op="update", content="I work at a bakery", memory_id=old.id
        )
    path = f"/api/memory/proposals/{asked.id}"
    agent = client(kb.tokens.create("alice", kind="agent").token)
    assert agent.post(f"{path}/answer", json={"choice": "over"}).status_code == 403
    person = client(kb.tokens.create("alice").token)
    shown = person.get(path).json()
    assert (shown["question"], [one["choice"] for one in shown["choices"]]) == ("over", ["both", "over", "change"])
    assert shown["choices"][1] == {"choice": "over", "label": "It is over", "op": "end", "memory_id": old.id}
    unknown = person.post(f"{path}/answer", json={"choice": "maybe"})
    assert (unknown.status_code, unknown.json()["code"], unknown.json()["field"]) == (422, "invalid", "choice")
    ended = person.post(f"{path}/answer", json={"choice": "over"}).json()
    assert (ended["id"], ended["current"]) == (old.id, False)
    again = person.post(f"{path}/answer", json={"choice": "both"})
    assert (again.status_code, again.json()["code"]) == (409, "decided")


def test_links_are_made_and_removed(mine: TestClient) -> None:
    first, second = remember(mine, "Runs a marathon in May"), remember(mine, "Sleeps eight hours")
    link = mine.post(
        "/api/memory/links", json={"from_id": second["id"], "to_id": first["id"], "relation": "because_of"}
    )
    assert link.status_code == 201
    assert [known["id"] for known in mine.get(f"/api/memory/{first['id']}").json()["links"]] == [link.json()["id"]]
    assert mine.delete(f"/api/memory/links/{link.json()['id']}").status_code == 200
    assert mine.get(f"/api/memory/{first['id']}").json()["links"] == []


def test_the_block_of_a_session_stays_the_same_bytes(mine: TestClient, alice: Any) -> None:
    remember(mine, "Prefers index funds", category="preference")
    first = mine.post("/api/memory/inject", json={"session": "chat-42"}).json()["block"]
    remember(mine, "Has two cats", category="profile")
    assert mine.post("/api/memory/inject", json={"session": "chat-42"}).json()["block"] == first
    preview = mine.get("/api/memory/block").json()
    assert preview["preset"] == "general"
    assert "two cats" in preview["block"]
    assert preview["block"] == alice.block()


def test_the_past_is_asked_for_by_two_clocks(mine: TestClient, clock: Any) -> None:
    made = remember(mine, "Lives in Oslo")
    before = clock.now.isoformat()
    clock.forward(days=30)
    mine.put(f"/api/memory/{made['id']}", json={"content": "Lives in Bergen"})
    then = mine.get("/api/memory/as-of", params={"known": before}).json()["memories"]
    assert [memory["content"] for memory in then] == ["Lives in Oslo"]
    assert "Oslo" in mine.get("/api/memory/block", params={"known": before}).json()["block"]
    assert "Bergen" in mine.get("/api/memory/block").json()["block"]


def test_recall_verify_audit_and_the_ledger_are_reads(mine: TestClient) -> None:
    remember(mine, "Allergic to peanuts", category="profile")
    hits = mine.get("/api/memory/recall", params={"q": "what allergies are there?"}).json()["memories"]
    assert hits[0]["content"] == "Allergic to peanuts"
    assert hits[0]["reasons"]
    assert mine.get("/api/memory/verify").json()["ok"] is True
    assert mine.get("/api/memory/audit").json()["memories"] == 1
    entries = mine.get("/api/memory/ledger").json()["entries"]
    assert [entry["action"] for entry in entries] == ["remember"]
    assert (entries[0]["door"], entries[0]["actor"]) == ("http", "person")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": "no"}, "content"),
        ({"content": "Fine by length", "category": "nonsense"}, "category"),
        ({"content": "Fine by length", "importance": 7}, "importance"),
        ({"content": "Fine by length", "valid_from": "one day"}, "valid_from"),
        ({"content": "Fine by length", "colour": "red"}, "colour"),
        ({}, "content"),
    ],
)
def test_bad_input_names_the_field_and_writes_nothing(mine: TestClient, body: dict[str, Any], field: str) -> None:
    refused = mine.post("/api/memory/", json=body)
    assert (refused.status_code, refused.json()["field"]) == (422, field), refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert mine.get("/api/memory/", params={"state": "all"}).json()["total"] == 0


def test_a_body_that_is_no_json_is_a_problem_document(mine: TestClient) -> None:
    refused = mine.post("/api/memory/", content=b"{half", headers={"Content-Type": "application/json"})
    told = refused.json()
    assert (refused.status_code, told["field"]) == (422, "body")
    assert told["detail"].startswith("the body is not JSON: reading ends at letter")


def test_a_write_with_a_key_happens_once_however_often_it_is_sent(mine: TestClient) -> None:
    key = {"Idempotency-Key": "order-1"}
    body = {"content": "Bought a bicycle", "force": True}
    first = mine.post("/api/memory/", json=body, headers=key)
    again = mine.post("/api/memory/", json=body, headers=key)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert len(mine.get("/api/memory/ledger").json()["entries"]) == 1
    other = mine.post("/api/memory/", json={"content": "Bought a tandem"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_a_refused_write_keeps_no_answer(mine: TestClient) -> None:
    key = {"Idempotency-Key": "order-2"}
    assert mine.post("/api/memory/nonesuch/confirm", headers=key).status_code == 404
    made = mine.post("/api/memory/", json={"content": "Bought a bicycle"}, headers=key)
    assert made.status_code == 201


def test_an_answer_is_forgotten_with_what_it_quotes(mine: TestClient, kb: Any) -> None:
    key = {"Idempotency-Key": "secret"}
    made = mine.post("/api/memory/", json={"content": "The xylophone secret"}, headers=key).json()
    mine.delete(f"/api/memory/{made['id']}", params={"forever": True})
    again = mine.post("/api/memory/", json={"content": "The xylophone secret"}, headers=key)
    assert again.json()["id"] != made["id"], "the purged answer was given again"


def test_the_event_feed_tells_what_changed_and_no_contents(mine: TestClient) -> None:
    first, second = remember(mine, "The zebra fact"), remember(mine, "Another fact")
    feed = mine.get("/api/events", params={"limit": 1}).json()
    assert [change["memory_id"] for change in feed["events"]] == [first["id"]]
    rest = mine.get("/api/events", params={"after": feed["next"]}).json()
    assert [change["memory_id"] for change in rest["events"]] == [second["id"]]
    assert mine.get("/api/events", params={"after": rest["next"]}).json() == {"events": [], "next": rest["next"]}
    assert "zebra" not in mine.get("/api/events").text


def test_tools_are_listed_in_every_format_and_called(mine: TestClient, alice: Any) -> None:
    for format in ("openai", "anthropic", "mcp"):
        assert isinstance(mine.get("/api/tools", params={"format": format}).json(), list)
    said = mine.post("/api/tools/remember", json={"content": "Has a dog called Bo", "category": "profile"}).json()
    assert said["memory_event"]["op"] == "remember"
    assert alice.get(said["memory_event"]["id"]).source == "chat"
    wrong = mine.post("/api/tools/forget", json={"memory": "no such thing"})
    assert (wrong.status_code, wrong.json()["error"]) == (200, "not_found")
    assert mine.post("/api/tools/launch", json={}).status_code == 404


def test_a_book_is_exported_and_restored_over_http(mine: TestClient, kb: Keepbook, client: Any) -> None:
    remember(mine, "Prefers index funds")
    lines = mine.get("/api/export").content
    other = client(kb.tokens.create("bob", scopes=("read", "write", "admin")).token)
    restored = other.post("/api/import", content=lines)
    assert restored.status_code == 200, restored.text
    # The token that bob came in with is under his own ledger: one link more, and nothing else.
    whole, more = lines.splitlines()[:-1], other.get("/api/export").content.splitlines()[:-1]
    assert set(whole) <= set(more)
    added = [json.loads(line) for line in more if line not in whole]
    assert [(one["kind"], one.get("what")) for one in added] == [("cover", None), ("seal", "tokens")]
    broken = other.post("/api/import", content=lines[:-20] + b"\n")
    assert broken.status_code == 422


def test_erase_takes_everything_and_the_token(mine: TestClient) -> None:
    remember(mine, "Prefers index funds")
    assert mine.post("/api/erase", json={"confirm": "bob"}).status_code == 422
    receipt = mine.post("/api/erase", json={"confirm": "alice"})
    assert receipt.json()["counts"]["memories"] == 1
    assert mine.get("/api/memory/").status_code == 401


def test_me_shows_and_changes_what_the_owner_chose(mine: TestClient) -> None:
    assert mine.get("/api/me").json()["owner"] == "alice"
    changed = mine.patch("/api/me", json={"zone": "Europe/Oslo", "tier": "beginner", "never": ["health"]}).json()
    assert (changed["zone"], changed["tier"], changed["never"]) == ("Europe/Oslo", "beginner", ["health"])
    assert mine.patch("/api/me", json={"zone": "Mars/Base"}).json()["field"] == "zone"
    assert mine.patch("/api/me", json={"preset": "nonsense", "zone": "UTC"}).status_code in (404, 422)
    assert mine.get("/api/me").json()["zone"] == "Europe/Oslo", "half of a refused change was kept"


def test_limits_of_an_owner_are_told_clearly(book_url: str, clock: Any) -> None:
    from keepbook.settings import load_settings

    settings = load_settings(db=book_url, max_memories=1, max_chats=1, max_bytes=400)
    with Keepbook(book_url, settings=settings, clock=clock) as kb:
        from keepbook.doors.http.app import create_app

        mine = TestClient(create_app(kb), base_url="http://localhost", client=("127.0.0.1", 1))
        remember(mine, "The only memory")
        over = mine.post("/api/memory/", json={"content": "One too many"})
        assert (over.status_code, over.json()["code"]) == (429, "limit_memories")
        thread = mine.post("/api/chat/threads", json={}).json()
        assert mine.post("/api/chat/threads", json={}).json()["code"] == "limit_chats"
        said = {"text": "x" * 500, "reply": False}
        refused = mine.post(f"/api/chat/threads/{thread['id']}/messages", json=said)
        assert refused.json()["code"] == "limit_bytes"


def test_health_has_the_databases_word_and_tells_nobody_what_runs_here(client: Any) -> None:
    assert json.loads(client().get("/health").content) == {"status": "ok"}


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_database_that_is_away_is_named_in_the_log_alone(
    kb: Any, client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    token = kb.tokens.create("alice").token
    nowhere = create_engine("postgresql+psycopg://keeper:swordfish@127.0.0.1:1/book")
    monkeypatch.setattr(postgres, "connect", lambda _: nowhere.connect())
    for path, secret in (("/health", None), ("/api/memory/", "kb_wrong"), ("/api/memory/", token), ("/memory", None)):
        caplog.clear()
        refused = client(secret).get(path)
        assert refused.status_code == 503, path
        assert "the database is away" in refused.text
        assert not re.search(r"127\.0\.0\.1|keeper|postgresql|swordfish", refused.text)
        (told,) = [line for line in caplog.records if "cannot reach" in line.getMessage()]
        assert told.getMessage().count("\n") == 0
        assert told.exc_info is None


def test_what_cannot_be_read_is_said_in_words(mine: TestClient) -> None:
    def told(answered: Any) -> tuple[int, str]:
        return answered.status_code, answered.json()["detail"]

    asked = "the body is a JSON object, sent with the header Content-Type: application/json"
    assert told(mine.post("/api/memory/", content='{"content": "Likes tea"}')) == (422, asked)
    assert told(mine.post("/api/memory/")) == (422, asked)
    assert told(mine.post("/api/memory/", json=[])) == (422, asked)
    assert told(mine.post("/api/memory/", json={})) == (422, "content is missing")
    assert told(mine.post("/api/memory/", json={"content": "x", "colour": 1})) == (422, "there is no field colour")
    misspelt = mine.post("/api/memory/", json={"contnt": "x"})
    assert told(misspelt) == (422, "there is no field contnt; did you mean 'content'?")
    assert misspelt.json()["field"] == "contnt"
    chat = mine.post("/api/chat/threads", json={}).json()["id"]
    turn = mine.post(f"/api/chat/threads/{chat}/turns", json={"turns": [{"role": "user", "txet": "x"}]})
    assert told(turn) == (422, "there is no field turns.0.txet; did you mean 'text'?")
    assert told(mine.get("/api/memory/recall")) == (422, "q is missing")


def test_a_path_without_its_slash_and_an_update_that_says_old_and_new(mine: TestClient) -> None:
    made = mine.post("/api/memory", json={"content": "Likes tea"})
    assert (made.status_code, mine.get("/api/memory").json()["total"]) == (201, 1)
    changed = mine.put(f"/api/memory/{made.json()['id']}", json={"content": "Likes cake"})
    told = changed.json()
    assert (told["old"], told["new"], told["content"], told["version"]) == ("Likes tea", "Likes cake", "Likes cake", 2)
    assert changed.headers["ETag"] == mine.get(f"/api/memory/{told['id']}").headers["ETag"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/memory/?categroy=profile", "there is no parameter 'categroy' at this address; did you mean 'category'?"),
        ("/api/me?deep=1", "there is no parameter 'deep' at this address; it takes none"),
        ("/api/memory/recall?q=dog&zzz=", "there is no parameter 'zzz' at this address; it takes category, cursor,"),
    ],
)
def test_a_misspelt_parameter_is_refused_and_the_right_one_named(mine: TestClient, path: str, said: str) -> None:
    answered = mine.get(path)
    assert answered.status_code == 422, answered.text
    assert answered.json()["detail"].startswith(said)


def test_a_misspelt_parameter_changes_nothing(mine: TestClient, alice: Any) -> None:
    kept = alice.remember("Lives in Oslo")
    assert mine.delete(f"/api/memory/{kept.id}?dryrun=true").status_code == 422
    assert [memory.id for memory in alice.list()] == [kept.id]


def test_pairs_of_metadata_are_parameters(mine: TestClient) -> None:
    assert mine.get("/api/memory/?metadata.project=atlas").status_code == 200
