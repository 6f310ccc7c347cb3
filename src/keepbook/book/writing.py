"""Writes to a book: everything that changes a memory, and the owner's own choices.

Each method names who acts and calls the one operation that does the work; `Book` inherits them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.open_book import OpenBook, beside_memory
from keepbook.book.ground.when import Moment, read_moment, stamp
from keepbook.book.ledger.owner_settings import Configured, change_settings
from keepbook.book.memory import changes, links
from keepbook.book.memory import proposals as waiting
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.labels import Metadata, Tags, label_texts
from keepbook.book.memory.likeness.put_away import compute_first
from keepbook.book.memory.links import Link
from keepbook.book.memory.memories import Written, resolve
from keepbook.book.memory.write_path import FORGOTTEN_WORD, PERSONS_WORD
from keepbook.book.owners import owners
from keepbook.book.upkeep.erase import purge, purge_due
from keepbook.errors import Invalid, NotAllowed
from keepbook.storage.database import Tx

if TYPE_CHECKING:
    from keepbook.book.ledger.thing_entries import ThingSet

LEFT_NOW = "what you want is left for them to decide"
LEFT_BEFORE = "the same was proposed to them before"
WHY_PROPOSED = {
    PERSONS_WORD: "an agent wanted this; it is your own word, so you decide",
    FORGOTTEN_WORD: "an agent wanted to save this; you had put it away, so you decide",
}


def _with_period(tx: Tx, said: Statement, since: Moment, until: Moment) -> Statement:
    """What is said, with `since` and `until` read where the owner lives. An empty `until` takes an end away."""
    if since is None and until is None:
        return said
    if (since is not None and said.valid_from is not None) or (until is not None and said.valid_until is not None):
        raise Invalid("since is valid_from, and until is valid_until: say one of the two", field="since")
    zone, moment = owners.zone_name(tx), tx.clock()
    begins = read_moment(since, field="since", moment=moment, zone=zone)
    ends = read_moment(until, field="until", moment=moment, zone=zone)
    if ends is None and until is not None:
        ends = ""
    if since is None:
        valid_from = said.valid_from
    else:
        valid_from = begins
    if until is None:
        valid_until = said.valid_until
    else:
        valid_until = ends
    return replace(
        said,
        valid_from=valid_from,
        valid_until=valid_until,
    )


@explain_arguments
class Writing(OpenBook):
    """The write operations of a book."""

    def _after_refusal(self, refused: NotAllowed, *, ended: bool) -> None:
        """What an agent may not do to the person's word is left for them to decide, as from whoever wanted it."""
        if refused.code not in WHY_PROPOSED or "wanted" not in refused.details:
            return
        wanted = refused.details["wanted"]
        wanted.setdefault("asked_by", self._agent_name)
        wanted.setdefault("thread_id", self.origin.thread_id)
        if ended:
            left = self._leave(refused.details.pop("wanted"), WHY_PROPOSED[refused.code])
            refused.details["proposal"] = left
            if left:
                refused.add(LEFT_NOW)
            else:
                refused.add(LEFT_BEFORE)

    def _leave(self, wanted: dict[str, Any], reason: str) -> str | None:
        with beside_memory(self).writing() as (tx, _):
            left = waiting.propose(tx, stamp(tx.clock()), nature="conflict", turn_ids=(), reason=reason, **wanted)
            if left is None:
                return None
            return left.id

    def _read_first(self, words: object, *beside: object) -> None:
        super()._read_first(words, *beside)
        if self.origin.is_agent and not self._is_writing:
            compute_first((words, *beside))

    def remember(
        self,
        content: str,
        *,
        category: str | None = None,
        subject: str | None = None,
        summary: str | None = None,
        body: str | None = None,
        metadata: Metadata | None = None,
        tags: Tags | None = None,
        confidence: str | None = None,
        importance: float | None = None,
        since: Moment = None,
        until: Moment = None,
        valid_from: Moment = None,
        valid_until: Moment = None,
        scope: str | None = None,
        thread_id: str | None = None,
        turn_ids: Sequence[Any] = (),
        force: bool = False,
    ) -> Written:
        """Keep a new memory. If it was said before, that memory is confirmed (`unchanged`) and gets what is new;
        `similar` lists what is close."""
        said = Statement(
            content, category=category, subject=subject, summary=summary, body=body, metadata=metadata, tags=tags,
            confidence=confidence, importance=importance, valid_from=valid_from, valid_until=valid_until, scope=scope,
            thread_id=thread_id, turn_ids=turn_ids, force=force,
        )  # fmt: skip
        if self.hand.agent is not None and scope not in (None, self.hand.agent):
            raise NotAllowed("this token speaks for one agent: it writes for nobody else's scope", code="bound")
        self._read_first(content, body, *label_texts(metadata, tags))
        with self.writing() as (tx, preset):
            return changes.remember(tx, self.origin, preset, _with_period(tx, said, since, until))

    def update(
        self,
        ref: str,
        content: str,
        *,
        summary: str | None = None,
        body: str | None = None,
        category: str | None = None,
        subject: str | None = None,
        metadata: Metadata | None = None,
        tags: Tags | None = None,
        confidence: str | None = None,
        importance: float | None = None,
        since: Moment = None,
        until: Moment = None,
        valid_from: Moment = None,
        valid_until: Moment = None,
        correction: bool = False,
        expect_version: int | None = None,
        thread_id: str | None = None,
        turn_ids: Sequence[Any] = (),
        force: bool = False,
    ) -> Written:
        """Give a memory new words: a change from now on, or with `correction` as it should have been from the start."""
        said = Statement(
            content, category=category, subject=subject, summary=summary, body=body, metadata=metadata, tags=tags,
            confidence=confidence, importance=importance, valid_from=valid_from, valid_until=valid_until,
            thread_id=thread_id, turn_ids=turn_ids, force=force,
        )  # fmt: skip
        self._read_first(content, body, *label_texts(metadata, tags))
        with self.writing() as (tx, preset):
            dated = _with_period(tx, said, since, until)
            return changes.update(
                tx, self.origin, preset, ref, dated, correction=correction, expect_version=expect_version
            )

    def forget(self, ref: str, reason: str = "user_deleted", expect_version: int | None = None) -> Written:
        """Archive a memory: out of every chat and recall, listed apart, restorable."""
        with self.writing() as (tx, preset):
            return changes.forget(tx, self.origin, preset, ref, reason, expect_version=expect_version)

    def delete(self, ref: str, forever: bool = False) -> Written | None:
        """Move a memory to the trash for 30 days; with `forever` it is gone at once, which nothing undoes."""
        if forever:
            self.ask("memories.purge")
        with self.writing() as (tx, preset):
            if not forever:
                return changes.delete(tx, self.origin, preset, ref)
            purge(tx, self.origin, resolve(tx, ref))
            return None

    def purge(self) -> int:
        """Delete for good what has been in the trash for 30 days; returns how many."""
        with self._database.write(self.owner) as tx:
            return purge_due(tx, replace(self.origin, actor="job"))

    def restore(self, ref: str, expect_version: int | None = None) -> Written:
        """Bring a memory back from the trash to where it was, or from the archive; a piece of what it says will do."""
        with self.writing() as (tx, preset):
            return changes.restore_memory(tx, self.origin, preset, ref, expect_version=expect_version)

    def confirm(self, ref: str) -> Written:
        """Say that a memory is still true: its fading starts anew."""
        with self.writing() as (tx, preset):
            return changes.confirm(tx, self.origin, preset, ref)

    def promote(self, ref: str) -> Written:
        """Make a reading the person's own word."""
        self.ask("memories.promote")
        with self.writing() as (tx, preset):
            return changes.set_confidence(tx, self.origin, preset, ref, "asserted")

    def demote(self, ref: str) -> Written:
        """Make the person's word a reading."""
        self.ask("memories.promote")
        with self.writing() as (tx, preset):
            return changes.set_confidence(tx, self.origin, preset, ref, "inferred")

    def link(self, from_id: str, to_id: str, relation: str) -> Link:
        """Join two memories: relates_to, contradicts, supersedes, because_of, or another short word."""
        with self.writing() as (tx, _):
            return links.link(tx, self.origin, from_id, to_id, relation)

    def unlink(self, link_id: str) -> Link:
        """Remove a link; the memories stay."""
        with self.writing() as (tx, _):
            return links.unlink(tx, self.origin, link_id)

    def undo(self, event: int | None) -> "Written | Link | Configured | ThingSet":
        """Undo exactly the write that answered with `event`; what changed nothing has none, and is refused. Undo of
        an undo is redo."""
        # Most programs only write: what can be undone is loaded with the first undo.
        from keepbook.book.ledger import undo as undoing

        with self.writing() as (tx, preset):
            undone = undoing.undo(tx, self.origin, preset, event)
            if isinstance(undone, Configured) and undone.preset is not None:
                self.preset(undone.preset)  # one whose file is gone is not brought back
            return undone

    def configure(self, *, preset: str | None = None, zone: str | None = None) -> Configured:
        """Set the owner's own choices: preset and time zone. It is an entry of the ledger, and undone like any
        other."""
        self.ask("choices.change")
        with self._database.write(self.owner) as tx:
            if preset is not None:
                self.preset(preset)
            if zone is not None:
                owners.clean_zone(zone)
            owners.make_known(tx, stamp(self._database.clock()))
            given = {"preset": preset, "zone": zone}
            wanted = {name: value for name, value in given.items() if value is not None}
            return change_settings(tx, self.origin, wanted)
