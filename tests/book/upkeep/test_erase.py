"""What a deletion for good takes along, beside the memory itself."""

import io
from typing import Any

import pytest

from keepbook.errors import NotAllowed


@pytest.mark.parametrize("decided", ["waiting", "accepted", "declined"])
def test_no_proposal_keeps_what_was_deleted_for_good(kb: Any, alice: Any, decided: str) -> None:
    """An agent tries to bring back what the person forgot, which leaves its words as a proposal."""
    mine = alice.remember("Collects rare stamps")
    other = alice.remember("Is afraid of spiders")
    for one in (mine, other):
        alice.forget(one.id)
        with pytest.raises(NotAllowed):
            kb.book("alice", by="agent").remember(f"{one.content}.")
    waits = next(one for one in alice.proposals.list() if "stamps" in one.content)
    gone = mine.id
    if decided == "accepted":
        gone = alice.proposals.accept(waits.id).id
        alice.update(gone, "Has sold the rare stamps")
    if decided == "declined":
        alice.proposals.decline(waits.id)
    for id in {mine.id, gone}:
        alice.delete(id, forever=True)
    there = io.StringIO()
    alice.export(there)
    assert "stamps" not in there.getvalue()
    assert "spiders" in there.getvalue()
    assert alice.verify().ok
