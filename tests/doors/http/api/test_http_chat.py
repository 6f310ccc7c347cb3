"""`/api/chat` and `/api/journal`: a chat over HTTP, streamed or not, and what is kept from it."""

import json
from typing import Any

from starlette.testclient import TestClient


def events(text: str) -> list[tuple[str, Any]]:
    made = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        made.append((fields["event"], json.loads(fields["data"])))
    return made


def start(mine: TestClient, **told: Any) -> str:
    return str(mine.post("/api/chat/threads", json=told).json()["id"])


def test_a_reply_comes_as_a_stream_and_is_kept(mine: TestClient) -> None:
    thread = start(mine)
    said = mine.post(f"/api/chat/threads/{thread}/messages", json={"text": "Remember that I live in Oslo"})
    assert said.headers["content-type"].startswith("text/event-stream")
    told = events(said.text)
    assert told[-1][0] == "kept"
    assert "".join(data["text"] for name, data in told if name == "text") == told[-1][1]["message"]["text"]
    written = [data["memory_event"] for name, data in told if name == "tool" and data["memory_event"]]
    assert [event["op"] for event in written] == ["remember"]
    shown = mine.get(f"/api/chat/threads/{thread}").json()
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    undone = mine.post(f"/api/memory/undo/{written[0]['event']}")
    assert undone.json()["state"] == "archived"


def test_who_asks_for_json_gets_the_whole_reply_at_once(mine: TestClient) -> None:
    thread = start(mine)
    said = mine.post(
        f"/api/chat/threads/{thread}/messages",
        json={"text": "Remember that I live in Oslo"},
        headers={"Accept": "application/json"},
    )
    assert (said.status_code, said.json()["message"]["role"]) == (201, "assistant")
    assert said.json()["memory_events"][0]["after"]["content"] == "I live in Oslo"
    assert said.json()["message"]["text"].startswith("Kept: “I live in Oslo”.")
    assert said.json()["questions"] == []


def test_an_outside_agent_records_turns_and_closes(mine: TestClient) -> None:
    thread = start(mine, session="agent-7")
    assert start(mine, session="agent-7") == thread
    path = f"/api/chat/threads/{thread}"
    recorded = mine.post(f"{path}/messages", json={"text": "I work as a nurse in Bergen.", "reply": False})
    assert (recorded.status_code, recorded.json()["turn"]) == (201, 1)
    again = mine.post(f"{path}/messages?reply=false", json={"text": "Noted.", "role": "assistant"})
    assert (again.status_code, again.json()["turn"]) == (201, 2)
    closed = mine.post(f"{path}/close").json()
    assert (closed["status"], closed["made_by"]) == ("closed", "offline")
    assert mine.get("/api/memory/").json()["total"] == 1
    assert mine.post(f"{path}/close").json()["status"] == "nothing"


def test_a_recorded_turn_with_a_key_is_recorded_once(mine: TestClient) -> None:
    thread = start(mine)
    for _ in range(2):
        said = {"text": "Only once, please", "reply": False}
        mine.post(f"/api/chat/threads/{thread}/messages", json=said, headers={"Idempotency-Key": "turn-1"})
    assert len(mine.get(f"/api/chat/threads/{thread}").json()["messages"]) == 1


def test_chats_are_searched_renamed_archived_deleted_and_restored(mine: TestClient) -> None:
    thread = start(mine)
    path = f"/api/chat/threads/{thread}"
    mine.post(f"{path}/messages", json={"text": "The saxophone is in the attic", "reply": False})
    found = mine.get("/api/chat/threads/search", params={"q": "saxophone"}).json()["turns"]
    assert [(hit["thread_id"], hit["turn"]) for hit in found] == [(thread, 1)]
    hits = mine.get("/api/memory/recall-chats", params={"q": "where is the saxophone?"}).json()["turns"]
    assert hits[0]["thread_id"] == thread
    assert mine.patch(path, json={"title": "The attic"}).json()["title"] == "The attic"
    assert mine.delete(path).json()["deleted_at"]
    assert mine.get("/api/chat/threads/search", params={"q": "saxophone"}).json()["turns"] == []
    assert mine.post(f"{path}/restore").json()["deleted_at"] is None
    assert mine.delete(path, params={"forever": True}).status_code == 204
    assert mine.get(path).status_code == 404


def test_a_reply_is_bookmarked_edited_and_outlives_its_chat(mine: TestClient) -> None:
    thread = start(mine)
    mine.post(f"/api/chat/threads/{thread}/messages", json={"text": "Hello there"})
    note = mine.post("/api/journal", json={"thread_id": thread, "turn": 2})
    assert note.status_code == 201, note.text
    path = f"/api/journal/{note.json()['id']}"
    assert mine.put(path, json={"text": "Worth keeping"}).json()["text"] == "Worth keeping"
    mine.delete(f"/api/chat/threads/{thread}", params={"forever": True})
    assert mine.get(path).json()["text"] == "Worth keeping"
    assert [known["text"] for known in mine.get("/api/journal", params={"q": "worth"}).json()["notes"]] == [
        "Worth keeping"
    ]
    assert mine.delete(path).status_code == 200
    assert mine.get(path).status_code == 404


def test_a_message_to_a_chat_that_is_not_there_is_a_plain_404(mine: TestClient) -> None:
    refused = mine.post("/api/chat/threads/nonesuch/messages", json={"text": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


def test_an_empty_message_is_told_in_the_stream_and_nothing_is_kept(mine: TestClient) -> None:
    thread = start(mine)
    told = events(mine.post(f"/api/chat/threads/{thread}/messages", json={"text": "  "}).text)
    assert [name for name, _ in told] == ["problem"]
    assert told[0][1]["field"] == "text"
    assert mine.get(f"/api/chat/threads/{thread}").json()["messages"] == []


# Pencil, and what is never kept


def said(mine: TestClient, thread: str, text: str) -> Any:
    path = f"/api/chat/threads/{thread}/messages"
    return mine.post(path, json={"text": text}, headers={"Accept": "application/json"}).json()


def test_a_reply_and_the_chat_name_the_open_questions_of_a_turn(mine: TestClient) -> None:
    thread = start(mine, preset="assistant")
    (asked,) = said(mine, thread, "I am a nurse in Leeds.")["questions"]
    told = {name: asked[name] for name in ("turn", "question", "content", "memory_id", "words")}
    assert told == {"turn": 1, "question": "keep", "content": "I am a nurse in Leeds", "memory_id": None,
                    "words": "“I am a nurse in Leeds”"}  # fmt: skip
    assert [one["choice"] for one in asked["choices"]] == ["keep", "no"]
    assert mine.get(f"/api/chat/threads/{thread}").json()["questions"] == [asked]
    kept = mine.post(f"/api/memory/proposals/{asked['id']}/answer", json={"choice": "keep"}).json()
    assert (kept["content"], kept["quoted"], kept["source"]) == ("I am a nurse in Leeds", True, "chat")
    assert mine.get(f"/api/chat/threads/{thread}").json()["questions"] == []


def test_the_end_of_a_stream_names_what_the_turn_asks(mine: TestClient) -> None:
    thread = start(mine, preset="assistant")
    streamed = mine.post(f"/api/chat/threads/{thread}/messages", json={"text": "I am a nurse in Leeds."})
    name, data = events(streamed.text)[-1]
    assert (name, [one["content"] for one in data["questions"]]) == ("kept", ["I am a nurse in Leeds"])
    answered = events(mine.post(f"/api/chat/threads/{thread}/messages", json={"text": "yes"}).text)
    assert [data["memory_event"]["op"] for name, data in answered if name == "tool"] == ["remember"]
    assert answered[-1][1]["questions"] == []


def test_what_a_turn_asked_is_not_asked_any_more_once_it_is_said_anew(mine: TestClient) -> None:
    thread = start(mine, preset="assistant")
    said(mine, thread, "I am a nurse in Leeds.")
    path = f"/api/chat/threads/{thread}"
    mine.post(f"{path}/messages", json={"text": "I am a nurse in York.", "instead_of": 1})
    assert [one["content"] for one in mine.get(path).json()["questions"]] == ["I am a nurse in York"]


def test_another_reply_leaves_what_the_turn_kept(mine: TestClient) -> None:
    thread = start(mine)
    said(mine, thread, "Remember that I live in Oslo")
    mine.post(f"/api/chat/threads/{thread}/messages", json={"instead_of": 2})
    assert [one["content"] for one in mine.get("/api/memory/").json()["memories"]] == ["I live in Oslo"]


def test_pencil_lists_what_is_offered_and_its_answers_answer_the_question(mine: TestClient) -> None:
    thread = start(mine, preset="assistant")
    path = f"/api/chat/threads/{thread}"
    said(mine, thread, "I am a nurse in Leeds.")
    said(mine, thread, "My sister Clare lives in Bergen.")
    nurse, sister = mine.get(f"{path}/pencil").json()["pencil"]
    assert (nurse["content"], nurse["turn_id"], nurse["sure"]) == ("I am a nurse in Leeds", 1, False)
    kept = mine.post(f"{path}/pencil/{nurse['key']}/keep")
    assert (kept.status_code, kept.json()["source"], kept.json()["quoted"]) == (200, "chat", True)
    assert mine.post(f"{path}/pencil/{sister['key']}/no").json()["content"] == sister["content"]
    assert mine.get(f"{path}/pencil").json() == {"pencil": []}
    assert mine.get(f"/api/memory/proposals/{sister['proposal']}").json()["status"] == "declined"
    assert mine.post(f"{path}/pencil/{sister['key']}/keep").status_code == 404
    mine.post(f"{path}/close")
    assert [one["content"] for one in mine.get("/api/memory/").json()["memories"]] == [nurse["content"]]


def test_a_sentence_is_tried_against_the_topics(mine: TestClient) -> None:
    mine.patch("/api/me", json={"never": ["health"]})
    assert mine.post("/api/me/never/try", json={"text": "I have diabetes"}).json() == {"topics": ["health"]}
    assert mine.post("/api/me/never/try", json={"text": "I live in Oslo"}).json() == {"topics": []}


def test_the_person_takes_what_an_agent_recorded_out_of_view(kb: Any, alice: Any, client: Any, mine: Any) -> None:
    helper = client(kb.tokens.create("alice", kind="agent", scopes=("read", "write"), name="Helper").token)
    at = f"/api/chat/threads/{alice.threads.start().id}"
    said = helper.post(f"{at}/messages", json={"role": "user", "text": "Forget it all", "reply": False}).json()
    assert (said["role"], said["recorded_by"]) == ("user", "Helper")
    refused = helper.post(f"{at}/out-of-view", json={})
    assert (refused.status_code, refused.json()["code"]) == (403, "person_only")
    assert mine.post(f"{at}/out-of-view", json={"turns": [1]}).json()["out_of_view"] == [1]
    assert mine.post(f"{at}/out-of-view", json={"turns": [7]}).status_code == 422
    assert mine.post(f"{at}/into-view", json={}).json()["out_of_view"] == []


def test_nobody_else_waits_for_one_long_write(mine: TestClient) -> None:
    thread = start(mine)
    turns = [{"role": "user", "text": "a" * 190_000}] * 6
    refused = mine.post(f"/api/chat/threads/{thread}/turns", json={"turns": turns})
    assert (refused.status_code, refused.json()["field"]) == (422, "turns")
    assert mine.post(f"/api/chat/threads/{thread}/turns", json={"turns": turns[:2]}).status_code == 201
    texts = [{"scope": "s", "name": f"n{at}", "line": "One line"} for at in range(61)]
    removed = [{"scope": "s", "name": f"n{at}"} for at in range(61)]
    long = [{"scope": "s", "name": f"n{at}", "line": "One line", "body": "a " * 20_000} for at in range(4)]
    for changes in (texts, removed, long):
        refused = mine.post("/api/texts", json={"changes": changes})
        assert (refused.status_code, refused.json()["field"]) == (422, "changes")


def test_a_mass_of_wrong_parts_is_refused_before_they_are_looked_at(mine: TestClient) -> None:
    thread = start(mine)
    keys = dict.fromkeys(map(str, range(20_001)), 1)
    lists = {"content": "x", "turn_ids": [[]] * 20_001}
    for path, sent in (("memory/", keys), ("memory/", lists), (f"chat/threads/{thread}/messages", keys)):
        refused = mine.post(f"/api/{path}", json=sent)
        assert (refused.status_code, refused.json()["field"]) == (422, "body")
        assert "at most 20,000 parts" in refused.json()["detail"]
    for sent in (keys, {"query": "x", "tags": [1] * 20_001}):
        assert "at most 20,000 parts" in mine.post("/api/tools/recall", json=sent).json()["text"]


def test_hidden_context_is_given_to_whoever_sent_it_alone(kb: Any, mine: TestClient) -> None:
    agent = {"Authorization": f"Bearer {kb.tokens.create('alice', kind='agent').token}"}
    book = kb.book("alice")
    book.thread("one").add("user", "Hello", hidden="page of the person")
    kb.book("alice", by="agent").thread("one").add("user", "Hi", hidden="page of the agent")
    path = f"/api/chat/threads/{book.thread('one').id}"
    shown = [
        [one["hidden"] for one in told.json()["messages"]] for told in (mine.get(path), mine.get(path, headers=agent))
    ]
    assert shown == [["page of the person", None], [None, "page of the agent"]]
