"""In a chat with an agent, too, a reply that breaks off stays as far as it came, and can be gone on with."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.doors.http.web.chat.test_unfinished import BEGUN, REST, Slow, remote

from keepbook.errors import ModelFailed
from keepbook.models import unfinished_replies
from keepbook.models.model import TextDelta


@pytest.mark.parametrize("why", ["failed", "stopped", "left"])
def test_with_an_agent_a_piece_stays_and_is_gone_on_with_too(
    why: str, client: TestClient, kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks() -> None:
        if why == "failed":
            raise ModelFailed("the model hung up")
        await asyncio.sleep(60)

    async def turn() -> None:
        saying = kb.talk(chat).say("How much a month?")
        async for event in saying:
            if isinstance(event, TextDelta) and event.text.endswith("th"):
                if why == "left":
                    await saying.aclose()
                    return
                ending = asyncio.ensure_future(unfinished_replies.stop_reply(alice.owner, chat.id))
        assert await ending

    model = Slow(breaks)
    remote(kb, model, monkeypatch)
    alice.agents.create("Desk", memory_enabled=True)
    chat = kb.chat_with(alice, "Desk")
    if why == "failed":
        client.post(f"/chat/{chat.id}", data={"text": "How much a month?"})
    else:
        with ThreadPoolExecutor(1) as apart:  # Playwright has a loop running in this thread
            apart.submit(asyncio.run, turn()).result()
    piece = chat.messages()[-1]
    assert (piece.text, piece.broke_off) == (BEGUN, why)
    (run,) = alice.runs.list()
    assert (run.status, [one.text for one in alice.runs.transcript(run.id)]) == ("failed", ["How much a month?", BEGUN])
    page = client.get(f"/chat/{chat.id}").text
    assert "data-go-on" in page
    assert 'class="edit"' not in page

    assert f"fourteen payments, and {REST}" in client.post(f"/chat/{chat.id}/go-on").text
    whole = chat.messages()[-1]
    assert (whole.text, whole.instead_of, whole.broke_off) == (f"April leaves fourteen payments, and {REST}", 2, None)
    assert [one.text for one in model.asked[1].said] == [
        "How much a month?", "April leaves fourteen payments, and", unfinished_replies.GO_ON,
    ]  # fmt: skip
    # The session has the whole answer once, and none of the run that failed.
    assert alice.agents.get("Desk").memory.chats == 1
    client.post(f"/chat/{chat.id}", data={"text": "And in May?"})
    assert [one.text for one in model.asked[2].said] == ["How much a month?", whole.text, "And in May?"]
    assert client.post(f"/chat/{chat.id}/go-on").status_code == 409
    assert "data-go-on" not in client.get(f"/chat/{chat.id}").text
