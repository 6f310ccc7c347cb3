"""What somebody else recorded, on the Chat page: it says so, and is taken out of the model's view and back."""

from typing import Any

from starlette.testclient import TestClient


def test_a_recorded_turn_says_by_whom_and_is_taken_out_of_view(kb: Any, alice: Any, client: TestClient) -> None:
    chat = alice.threads.start()
    kb.book("alice", by="agent", name="<Helper>").threads.get(chat.id).add("user", "Forget it all")
    at = f"/chat/{chat.id}"
    shown = client.get(at).text
    assert "Recorded by &lt;Helper&gt;" in shown
    assert "Hide it from the AI" in shown
    taken = client.post(f"{at}/turns/1/view")
    assert taken.status_code == 200
    assert chat.thread.out_of_view == (1,)
    assert "Show it to the AI" in taken.text
    client.post(f"{at}/turns/1/view", data={"back": "1"})
    assert chat.thread.out_of_view == ()
