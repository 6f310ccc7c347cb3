"""Every change of a memory: remember, update, end, forget, restore, delete, confirm, promote, demote.

Each reads the memory's present state, checks the request by the rules, and writes one ledger entry.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_body, clean_category, clean_line, clean_optional, clean_share
from keepbook.book.ground.when import Moment, instant, later
from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import links
from keepbook.book.memory.labels import Metadata, Tags, clean_metadata, clean_tags
from keepbook.book.memory.likeness import repeats
from keepbook.book.memory.likeness.similar import SimilarRows, find_alike, has_ended, refuse_similar
from keepbook.book.memory.memories import AUTOMATIC, REASONS, State, Written, is_protected, to_state
from keepbook.book.memory.memory_json import row_to_memory
from keepbook.book.memory.write_path import (
    TEXT_FIELDS,
    Change,
    QuotedSpans,
    VersionText,
    change_of,
    chosen_confidence,
    chosen_importance,
    is_persons_word,
    keeping_writer,
    quoting,
    refuse_stale,
    with_cap,
    words_of_line,
)
from keepbook.book.owners.allowance import room_for_memory, room_for_text
from keepbook.book.owners.owners import make_known
from keepbook.book.owners.switches import ask_about_topics
from keepbook.book.text.words import fold_text
from keepbook.errors import Conflict, Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import WORDS, versions

# Values


@dataclass(frozen=True, slots=True)
class Statement:
    """What a new memory, or the next version of one, is to say, before the rules have checked it.

    The fields are the keywords of `Book.remember`. `scope` is for a new memory only. With `force` it is kept even if a
    similar memory exists, or its topic is one never to be kept. `score` and `made_by` are set when software read it out
    of a chat: how sure it was, and its name.
    """

    content: str
    _: KW_ONLY
    category: str | None = None
    subject: str | None = None
    summary: str | None = None
    body: str | None = None
    metadata: Metadata | None = None
    tags: Tags | None = None
    confidence: str | None = None
    importance: float | None = None
    valid_from: Moment = None
    valid_until: Moment = None
    scope: str | None = None
    thread_id: str | None = None
    turn_ids: Sequence[Any] = ()
    force: bool = False
    score: float | None = None
    made_by: str | None = None


# Rules


def clean_turns(turn_ids: Sequence[Any]) -> str:
    if not isinstance(turn_ids, list | tuple) or not all(isinstance(turn, str | int) for turn in turn_ids):
        raise Invalid("turn_ids is a list of turn ids", field="turn_ids")
    return ledger.canonical_json([clean_line(str(turn), "turn_ids", 1, 200) for turn in turn_ids])


def check_period(valid_from: str, valid_until: str | None) -> None:
    if valid_until is not None and valid_until <= valid_from:
        why = f"it would end ({valid_until}) before it begins ({valid_from}); swap or correct the two"
        raise Invalid(why, field="valid_until")


def kept_end(row: Any, valid_from: str, *, correction: bool) -> str | None:
    """The end of the next version: that of the current one, unless it lies before the next version begins."""
    is_over = row.valid_until is not None and row.valid_until <= valid_from
    if is_over and not correction:
        return None
    return row.valid_until  # type: ignore[no-any-return]  # a column of the row


def keeps_its_period(row: Any, said: Statement, now: str) -> bool:
    """Whether the next version keeps the period of a memory that has ended: if its words stay the same, only its
    filing changes, and it does not begin anew."""
    undated = said.valid_from is None and said.valid_until is None
    return undated and has_ended(row, now) and fold_text(said.content) == fold_text(row.content)


def _is_typed(origin: Origin, said: Statement) -> bool:
    """Whether the person types it at a form or a prompt, so that nobody else has asked them about its topic."""
    return origin.actor == "person" and origin.source is None and origin.thread_id is None and not said.force


def version_text(text: VersionText) -> str:
    """All texts of a version that count towards the owner's allowance, joined."""
    counted = (name for name in WORDS if name not in ("summary", "spans"))
    return "".join(getattr(text, name) or "" for name in counted)


def says_the_same(row: Any, text: VersionText) -> bool:
    """Whether a text adds nothing to the current version. A person who repeats what software wrote adds their word."""
    adopted = row.source in AUTOMATIC and text.source not in AUTOMATIC
    compared = (name for name in (*WORDS, "valid_until") if name != "spans")
    return not adopted and all(getattr(row, name) == getattr(text, name) for name in compared)


def next_version_text(
    origin: Origin,
    preset: Preset,
    said: Statement,
    source: str,
    *,
    began: str,
    row: Any = None,
    correction: bool = False,
) -> VersionText:
    """Check a statement by all rules and return the text of the next version. `row` is the current version, or None for
    a new memory."""
    content = clean_line(said.content, "content", preset.content_min, preset.content_max)
    summary = clean_optional(said.summary, "summary", 200)
    body = (clean_body(said.body) or None) if said.body is not None else row.body if row is not None else None
    metadata = clean_metadata(said.metadata) if said.metadata is not None else getattr(row, "metadata", None)
    tags = clean_tags(said.tags) if said.tags is not None else getattr(row, "tags", None)
    score = clean_share(said.score, "score") if source == "extracted" else None
    thread_id = clean_optional(said.thread_id, "thread_id", 200) or origin.thread_id
    turn_ids = clean_turns(said.turn_ids)
    valid_from = instant(said.valid_from, field="valid_from") or began
    if row is not None and said.valid_until is None:
        valid_until = kept_end(row, valid_from, correction=correction)
    else:  # an empty text removes the end
        valid_until = instant(said.valid_until or None, field="valid_until")
    check_period(valid_from, valid_until)
    return VersionText(
        content=content, summary=summary, body=body, metadata=metadata, tags=tags, source=source, score=score,
        made_by=said.made_by, thread_id=thread_id, turn_ids=turn_ids, valid_from=valid_from, valid_until=valid_until,
        correction=int(correction), written_by=origin.writer(said.made_by),
    )  # fmt: skip


# Operations


def remember(tx: Tx, origin: Origin, preset: Preset, said: Statement, quotation: QuotedSpans | None = None) -> Written:
    """Keep a new memory, unless the book says it already. Only `quotes.py` gives a quotation."""
    confidence = chosen_confidence(origin, said.confidence)
    at = ledger.begin_entry(tx)
    text = quoting(
        next_version_text(origin, preset, said, origin.source_for(confidence), began=at), quotation=quotation
    )
    state = State(
        category=clean_category(said.category, preset),
        subject=clean_optional(said.subject, "subject", 200),
        scope=clean_optional(said.scope, "scope", 200),
        confidence=confidence,
        importance=chosen_importance(origin, said.importance),
        version=1,
        created_at=at,
        edited_at=at,
    )
    if _is_typed(origin, said):
        ask_about_topics(tx, words_of_line(text, state, preset))
    known = find_alike(tx, text.content, state.category, state.subject, state.scope, at)
    found = _said_before(Change(tx, origin, preset, "remember", at, ""), known, said, text, state)
    if found is not None:
        return with_cap(origin, said.importance, found)
    similar = tuple(row_to_memory(row, at, preset) for row in known.similar)
    if preset.consent == "ask" and not said.force:
        refuse_similar(similar)
    room_for_memory(tx, version_text(text))
    written = _write_first(Change(tx, origin, preset, "remember", at, new_id()), state, text)
    if not tx.looks:
        for row in known.opposites:  # both memories stay, and the person sees them side by side
            links.link(tx, origin, written.id, row.id, "contradicts")
    if similar:
        written = replace(written, similar=similar)
    return with_cap(origin, said.importance, written)


def _said_before(blank: Change, known: SimilarRows, said: Statement, text: VersionText, state: State) -> Written | None:
    """If a memory says this already, confirm it, add what is new, and return it; else None. One that has ended and is
    said again begins anew. `blank` is a change that does not name a memory yet."""
    is_over = text.valid_until is not None and text.valid_until <= blank.at
    if known.same is not None and not is_over:
        return _repeat_of(blank, known.same, said, text)
    if known.ended is None:
        return None
    row = known.ended
    change = replace(blank, id=row.id, row=row, before=to_state(row))
    if is_over:
        same_period = (row.valid_from, row.valid_until) == (text.valid_from, text.valid_until)
        if same_period:
            return change.unchanged()
        return None
    room_for_text(change.tx, version_text(text))
    after = replace(
        to_state(row),
        confidence=state.confidence,
        importance=row.importance if said.importance is None else state.importance,
        version=row.version + 1,
        edited_at=change.at,
    )
    return repeats.begin_anew(change, text, after)


def _repeat_of(blank: Change, row: Any, said: Statement, text: VersionText) -> Written:
    return repeats.confirm_repeat(
        replace(blank, id=row.id, row=row, before=to_state(row)),
        text,
        given_from=None if said.valid_from is None else text.valid_from,
        importance=chosen_importance(blank.origin, said.importance, row.importance),
        subject=clean_optional(said.subject, "subject", 200),
    )


def repeat_memory(tx: Tx, origin: Origin, preset: Preset, ref: str, said: Statement) -> Written:
    """Record that a statement repeats the memory `ref`, in other words. The memory keeps its wording and takes over
    what else is new."""
    change = change_of(tx, origin, preset, "remember", ref)
    change.refuse_dropped("repeated")
    text = next_version_text(
        origin, preset, said, origin.source_for(chosen_confidence(origin, said.confidence)), began=change.at
    )
    return _repeat_of(change, change.row, said, text)


def update(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    ref: str,
    said: Statement,
    *,
    correction: bool = False,
    expect_version: int | None = None,
    quotation: QuotedSpans | None = None,
) -> Written:
    """End the current version and begin the next: a change from now on, or a correction of what was said."""
    change = change_of(tx, origin, preset, "update", ref)
    row, state = change.row, to_state(change.row)
    change.refuse_dropped("updated")
    refuse_stale(row, expect_version)
    wanted = clean_line(said.content, "content", preset.content_min, preset.content_max)
    change.refuse_over_person(op="update", content=wanted)
    confidence = chosen_confidence(origin, said.confidence)
    source = origin.source_for(confidence)
    change.refuse_overruling(source)
    began = row.valid_from if correction or keeps_its_period(row, said, change.at) else change.at
    text = next_version_text(origin, preset, said, source, began=began, row=row, correction=correction)
    text = quoting(text, row, quotation)
    if origin.is_agent and row.source == "extracted" and fold_text(wanted) == fold_text(row.content):
        text, confidence = keeping_writer(text, row), state.confidence
    after = replace(
        state,
        category=state.category if said.category is None else clean_category(said.category, preset),
        subject=state.subject if said.subject is None else clean_optional(said.subject, "subject", 200),
        importance=chosen_importance(origin, said.importance, state.importance),
        confidence=confidence,
    )
    if after == state and said.valid_from is None and says_the_same(row, text):
        return change.unchanged()
    if _is_typed(origin, said):
        ask_about_topics(tx, words_of_line(text, after, preset), before=words_of_line(row, state, preset))
    room_for_text(tx, version_text(text))
    written = change.to(replace(after, version=row.version + 1, edited_at=change.at), text)
    return with_cap(origin, said.importance, written)


def end(
    tx: Tx, origin: Origin, preset: Preset, ref: str, valid_until: Moment, *, expect_version: int | None = None
) -> Written:
    """Give a memory an end; its words stay. An end before the beginning is set to one instant after the beginning."""
    change = change_of(tx, origin, preset, "end", ref)
    row, state = change.row, to_state(change.row)
    change.refuse_dropped("ended")
    refuse_stale(row, expect_version)
    until = instant(valid_until, field="valid_until")
    if until is None:
        raise Invalid("say when it ends", field="valid_until")
    until = max(until, later(row.valid_from, microseconds=1))
    if until == row.valid_until:
        return change.unchanged()
    change.refuse_over_person(op="end", valid_until=until)
    change.refuse_overruling(origin.source_for("asserted"))
    text = VersionText(**{name: getattr(row, name) for name in TEXT_FIELDS} | {"restored_from": None, "correction": 1})
    text = replace(text, valid_until=until)
    if row.source in AUTOMATIC and is_protected(row.source, state):  # what they confirmed, they also end
        text = replace(text, source=origin.source_for("asserted"), score=None)
        state = replace(state, confidence="asserted")
    return change.to(replace(state, version=row.version + 1, edited_at=change.at), text)


def forget(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    ref: str,
    reason: str = "user_deleted",
    *,
    expect_version: int | None = None,
) -> Written:
    if reason not in REASONS[:-1]:
        raise Invalid(f"reason is one of {', '.join(REASONS[:-1])}, not {reason!r}", field="reason")
    change = change_of(tx, origin, preset, "forget", ref)
    state = to_state(change.row)
    refuse_stale(change.row, expect_version)
    if state.name == "trash":
        raise Conflict(f"memory {change.id} is in the trash; restore it first", code="trash")
    if state.name == "archived" and not change.is_persons_first_word:
        return change.unchanged()
    change.refuse_over_person(op="forget")
    return change.to(replace(state, archived_at=change.at, archived_reason=reason))


def delete(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Written:
    """Move a memory to the trash, from where it can come back for 30 days."""
    change = change_of(tx, origin, preset, "delete", ref)
    state = to_state(change.row)
    if state.name == "trash" and not change.is_persons_first_word:
        return change.unchanged()
    change.refuse_over_person(op="forget")
    return change.to(replace(state, trashed_at=change.at))


def restore_memory(tx: Tx, origin: Origin, preset: Preset, ref: str, *, expect_version: int | None = None) -> Written:
    """Bring a memory back from the trash to where it was before, or from the archive."""
    change = change_of(tx, origin, preset, "restore", ref, put_away=True)
    state = to_state(change.row)
    refuse_stale(change.row, expect_version)
    if state.name == "active":
        return change.unchanged()
    change.refuse_bringing_back()
    if state.name == "trash":
        restored = replace(state, trashed_at=None)
    else:
        restored = replace(state, archived_at=None, archived_reason=None)
    if restored.name == "active":
        twin = _twin(change, restored, change.row.content)
        if twin is not None:
            return twin
    return change.to(replace(restored, edited_at=change.at))


def _twin(change: Change, state: State, content: str) -> Written | None:
    """The active memory that says the same words already, unchanged. If there is one, none comes back beside it."""
    place = (state.category, state.subject, state.scope)
    same = find_alike(change.tx, content, *place, change.at, apart_from=change.id).same
    return None if same is None else replace(change, row=same).unchanged()


def confirm(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Written:
    """Record that a memory still holds, by the person's word: its fading starts anew. An agent may confirm only what
    agents wrote; the ledger notes that, and the memory stays as it was."""
    change = change_of(tx, origin, preset, "confirm", ref)
    change.refuse_dropped("confirmed")
    state = to_state(change.row)
    if not origin.is_agent:
        return change.to(replace(state, last_confirmed_at=change.at))
    change.refuse_over_person(op="confirm", extracted=change.row.source == "extracted")
    return change.to(state)


def set_confidence(tx: Tx, origin: Origin, preset: Preset, ref: str, confidence: str) -> Written:
    """Promote a memory to the person's own word, or demote it to a reading. What an agent asserted is confirmed."""
    action = "promote" if confidence == "asserted" else "demote"
    change = change_of(tx, origin, preset, action, ref)
    state = to_state(change.row)
    change.refuse_dropped(f"{action}d")
    if state.confidence == confidence:
        if action == "demote" or is_persons_word(tx, change.row, state):
            return change.unchanged()
        return change.to(replace(state, last_confirmed_at=change.at))
    edited_at = change.at if action == "promote" else state.edited_at
    return change.to(replace(state, confidence=confidence, edited_at=edited_at))


def revert(tx: Tx, origin: Origin, preset: Preset, id: str, before: State | None, undoes: int) -> Written:
    """Put a memory back to an earlier state, with a copy of that state's version if the text differs."""
    change = change_of(tx, origin, preset, "undo", id)
    state = to_state(change.row)
    if before is None:
        gone = replace(state, archived_at=change.at, archived_reason="undone", trashed_at=None)
        return change.to(gone, undoes=undoes)
    copied = before.version != state.version
    revived = before.name == "active" and state.name != "active"
    if copied:
        version = state.version + 1
    else:
        version = state.version
    target = replace(
        before,
        version=version,
        edited_at=change.at if copied or revived else before.edited_at,
    )
    original = change.row
    if copied:
        original = tx.conn.execute(_VERSION, {"owner": tx.owner, "memory_id": id, "version": before.version}).one()
    comes_back = target.name == "active" and (copied or revived)
    if comes_back:
        twin = _twin(change, target, original.content)
        if twin is not None:
            return twin
    if not copied:
        return change.to(target, undoes=undoes)
    text = {name: getattr(original, name) for name in TEXT_FIELDS if name not in ("restored_from", "correction")}
    return change.to(target, VersionText(**text, restored_from=before.version), undoes=undoes)


# Queries

_VERSION = select(versions).where(
    versions.c.owner == bindparam("owner"),
    versions.c.memory_id == bindparam("memory_id"),
    versions.c.version == bindparam("version"),
)


def _write_first(change: Change, state: State, text: VersionText) -> Written:
    """Write the first version of a memory. With the first entry of their ledger an owner gets a row in `owners`."""
    if ledger.chain_head(change.tx).seq == 0 and not change.tx.looks:
        make_known(change.tx, change.at)
    return change.to(state, text)
