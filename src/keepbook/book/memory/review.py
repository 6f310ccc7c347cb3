"""Review: everything that waits for the person to say yes or no.

Four kinds: what closing found against the person's own word; what a preset proposes instead of saving or asks with
choices; two lines that say opposite things; what software read between the lines and nobody has confirmed. An answer is
an ordinary write (`promote`, `forget`, `unlink`, `proposals.answer_proposal`, `proposals.accept`,
`proposals.decline_proposal`); a declined or accepted proposal can be asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, func, select, update

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.memory.likeness.similar import has_ended
from keepbook.book.memory.links import CONTRADICTS, Link, to_link
from keepbook.book.memory.listing import NEWEST, overview
from keepbook.book.memory.memories import EVERY_SCOPE, IS_ACTIVE, WHOLE, Memory, Written, in_scope, version_rows
from keepbook.book.memory.memory_json import row_to_memory
from keepbook.book.memory.proposals import Proposal
from keepbook.book.text.topics import find_topics
from keepbook.errors import Conflict
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.choices import proposals as rows
from keepbook.storage.tables.memory import memories, versions

LOOKED = 60
"""How many unconfirmed memories, from the newest, are searched for those about health, which come first."""


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """One thing to answer: a proposal (with the memory it is about, if any), two memories that say opposite things
    (with their link), or a memory nobody has confirmed."""

    memory: Memory | None
    proposal: Proposal | None = None
    against: Memory | None = None
    link: Link | None = None

    @property
    def id(self) -> str:
        asked = self.proposal or self.link or self.memory
        if asked:
            return asked.id
        return ""


# Operations


def reopen_answered(book: OpenBook, proposal_id: str, answers: Sequence[str] = ("accepted", "declined")) -> Proposal:
    """Ask an answered question again: it waits as if it had not been answered."""
    book.ask("proposals.answer")
    with book.writing() as (tx, _):
        found = proposals.get_proposal(tx, proposal_id)
        if found.status not in answers:
            raise Conflict(f"proposal {proposal_id} is {found.status}; there is no answer to take back", code="decided")
        return proposals.reopen_proposal(tx, proposal_id, stamp(tx.clock()))


def show_again_if_changed(book: OpenBook, proposal_id: str) -> None:
    """A yes is to the line as it was shown: where its words have changed since a program proposed something, the
    proposal is dated anew, shows them, and is refused this once."""
    with book.writing() as (tx, _):
        proposed = proposals.get_proposal(tx, proposal_id)
        said_now = _changed_words(tx, proposed)
        if said_now is None:
            return
        shown = {"created_at": stamp(tx.clock())}
        if proposed.op != "update":
            shown["content"] = said_now
        tx.conn.execute(update(rows).where(rows.c.owner == tx.owner, rows.c.id == proposal_id).values(shown))
    raise Conflict(
        f"the line has changed since this was proposed, and says now {said_now!r}; answer once more if you mean that",
        content=said_now,
    )


def _changed_words(tx: Tx, proposed: Proposal) -> str | None:
    """What the line of a proposal says now, if it never said so before the proposal was made."""
    if proposed.status != "waiting" or proposed.question is not None:
        return None
    if proposed.memory_id is None or proposed.op == "add":
        return None
    wordings = version_rows(tx, proposed.memory_id)
    shown_at = stamp(proposed.created_at)
    before = {row.content for row in wordings if row.recorded_at <= shown_at}
    if not wordings or wordings[-1].content in before:
        return None
    newest: str | None = wordings[-1].content
    return newest


# Queries

_COUNT_UNCONFIRMED = PreparedStatement(
    select(func.count())
    .select_from(memories.join(versions, NEWEST))
    .where(
        memories.c.owner == bindparam("owner"), IS_ACTIVE, in_scope(EVERY_SCOPE),
        memories.c.confidence == "inferred", memories.c.last_confirmed_at.is_(None), versions.c.quoted == 0,
    )
)  # fmt: skip
"""Memories that somebody else worded. A quotation has the person's own words, so nobody need ask about it."""
_ASKED = PreparedStatement(
    select(func.count())
    .select_from(rows)
    .where(rows.c.owner == bindparam("owner"), rows.c.status == "waiting", proposals.IS_ASKED)
)
_NAMED = PreparedForIds(lambda ids: WHOLE.where(memories.c.id.in_(ids), memories.c.purged_at.is_(None)))


def count_waiting(book: OpenBook, unconfirmed: int | None = None) -> int:
    """How many questions wait. `unconfirmed` is how many memories nobody has confirmed, if that was counted already."""
    with book.reading() as (tx, _, now):
        asked: int = _ASKED.tuples(tx.conn, {"owner": tx.owner})[0][0] + len(_contradictions(tx, now))
        return asked + (
            _COUNT_UNCONFIRMED.tuples(tx.conn, {"owner": tx.owner})[0][0] if unconfirmed is None else unconfirmed
        )


def first(book: OpenBook, most: int) -> Sequence[ReviewQuestion]:
    """The first questions to answer: conflicts with the person's word, then proposals, then opposites, then readings,
    newest first. What is about somebody's health comes first of all, and first within its kind."""
    unconfirmed = overview(book).unconfirmed[: max(most, LOOKED)]
    with book.reading() as (tx, preset, now):
        asked = sorted(proposals.list_proposals(tx), key=lambda one: one.nature != "conflict")
        about = [one.memory_id for one in asked if one.memory_id is not None]
        named = {row.id: row for row in _NAMED.rows(tx.conn, [*about, *unconfirmed], {"owner": tx.owner})}
        shown = {id: row_to_memory(row, now, preset) for id, row in named.items()}
        found = [ReviewQuestion(shown.get(one.memory_id or ""), one) for one in asked]
        for link, old, new in _contradictions(tx, now):
            found.append(
                ReviewQuestion(row_to_memory(old, now, preset), against=row_to_memory(new, now, preset), link=link)
            )
        found += [ReviewQuestion(shown[id]) for id in unconfirmed if id in shown]  # some may have been deleted since
        chosen = sorted(found, key=lambda one: not touches_health(_words(one)))[:most]
        return sorted(chosen, key=_kind)


def _contradictions(tx: Tx, now: str) -> list[tuple[Link, Any, Any]]:
    """The links between lines that both hold and say opposite things, each with the older line and the newer one."""
    joined = [to_link(row) for row in CONTRADICTS.rows(tx.conn, {"owner": tx.owner, "id": None})]
    ends = sorted({id for link in joined for id in (link.from_id, link.to_id)})
    if ends:
        rows = {row.id: row for row in _NAMED.rows(tx.conn, ends, {"owner": tx.owner})}
    else:
        rows = {}
    holding = {id: row for id, row in rows.items() if not has_ended(row, now)}
    pairs = [
        (link, holding[link.to_id], holding[link.from_id])
        for link in joined
        if link.to_id in holding and link.from_id in holding
    ]
    return [(link, *sorted(both, key=lambda row: (row.created_at, row.id))) for link, *both in pairs]


def _words(one: ReviewQuestion) -> str:
    if one.proposal is not None:
        return one.proposal.content
    if one.memory is None:
        return ""
    return one.memory.content


def _kind(one: ReviewQuestion) -> int:
    if one.proposal is not None:
        return 1 if one.proposal.nature == "conflict" else 2
    if one.link is not None:
        return 3
    return 4


def _is_forgotten_matter(one: Proposal) -> bool:
    """Whether it is what `note_forgotten` stored, of which no program need be told."""
    return one.op == "forget" and one.memory_id is None and one.status == "accepted"


@lru_cache(maxsize=4096)
def touches_health(text: str) -> bool:
    """Whether a mistake in a line could hurt somebody."""
    return bool(find_topics(text, ("health",)))


@explain_arguments
class Review:
    """What waits for the person's answer: `book.proposals`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def list(self, status: str = "waiting") -> Sequence[Proposal]:
        with self._book.reading() as (tx, _, _):
            found = proposals.list_proposals(tx, status=status)
        if self._book.hand.is_person:
            return found
        return [one for one in found if not _is_forgotten_matter(one)]

    def get(self, id: str) -> Proposal:
        with self._book.reading() as (tx, _, _):
            return proposals.get_proposal(tx, id)

    def accept(self, id: str, both: bool = False) -> Written:
        """Accept a proposal: from now on it is the person's own word."""
        self._book.ask("proposals.answer")
        show_again_if_changed(self._book, id)
        self._embed_first(id)
        with self._book.writing() as (tx, preset):
            return proposals.accept(tx, self._book.origin, preset, id, stamp(tx.clock()), both=both)

    def _embed_first(self, id: str) -> None:
        """Embed the proposal's content before anything is locked; it will be compared with topics never to be kept."""
        if self._book.meaning is not None:
            self._book._read_first(self.get(id).content)

    def decline(self, id: str) -> Proposal:
        """Decline a proposal: nothing is kept, and it is not proposed again."""
        self._book.ask("proposals.answer")
        with self._book.writing() as (tx, _):
            return proposals.decline_proposal(tx, id, stamp(tx.clock()))

    def answer(self, id: str, choice: str) -> Written | Proposal:
        """Answer a question with one of its choices. Returns what that wrote, or the proposal if there was nothing to
        write."""
        self._book.ask("proposals.answer")
        show_again_if_changed(self._book, id)
        self._embed_first(id)
        with self._book.writing() as (tx, preset):
            return proposals.answer_proposal(tx, self._book.origin, preset, id, choice, stamp(tx.clock()))

    def reopen(self, id: str) -> Proposal:
        """Take back a "no": the proposal waits again. What was accepted is undone like any other write."""
        return reopen_answered(self._book, id, ("declined",))
