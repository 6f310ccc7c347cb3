"""What happens when something is said again: a line that holds is confirmed and gets what is new, a line that has ended
begins anew. Neither adds a memory.

The person who says it again confirms it. What the reader of a chat finds again is recorded again, so that its fading
starts anew; it is not confirmed, since only the person's own act makes it their word.
"""

from dataclasses import replace
from typing import Any

from keepbook.book.memory.labels import clean_metadata, clean_tags, told_metadata, told_tags
from keepbook.book.memory.memories import State, Written
from keepbook.book.memory.write_path import TEXT_FIELDS, Change, VersionText, quoting, refuse_guarded
from keepbook.errors import NotAllowed
from keepbook.storage.tables.memory import WORDS

_RANK = {"extracted": 0, "inferred": 0, "chat": 1, "imported": 1, "profile": 2}
"""The ranks of sources: what the person types is theirs, even if somebody else had noted it before."""
BESIDE_THE_LINE = tuple(name for name in WORDS if name not in ("content", "spans"))
MERGED = (*BESIDE_THE_LINE, "valid_from", "valid_until")


# Rules


def adopts(change: Change, text: VersionText) -> bool:
    """Whether a repetition makes the memory the speaker's own word. A person takes over what an agent had saved; an
    agent never takes over what was read from the person's chats."""
    row, source = change.row, text.source
    if change.origin.is_agent and row.source == "extracted":
        return False
    if row.source == source == "chat":
        return row.written_by is not None and text.written_by is None
    return source in ("profile", "chat") and _RANK[source] > _RANK[row.source]


def merge_bodies(old: str | None, new: str | None) -> str | None:
    """Both bodies, without saying anything twice."""
    if old is None or new is None or new in old:
        return old if new is None or old is not None else new
    if old in new:
        return new
    return f"{old}\n{new}"


def merge_tags(old: str | None, new: str | None) -> str | None:
    if new is None:
        return old
    return clean_tags(list(dict.fromkeys((*told_tags(old), *told_tags(new)))))


def merge_metadata(old: str | None, new: str | None) -> str | None:
    if new is None:
        return old
    return clean_metadata({**told_metadata(old), **told_metadata(new)})


def merge_words(row: Any, text: VersionText) -> dict[str, Any]:
    """The fields beside the line itself. Bodies and labels of both are merged; of the other fields the new value is
    taken, if there is one."""
    merge = {"body": merge_bodies, "metadata": merge_metadata, "tags": merge_tags}
    return {name: merge.get(name, _newer)(getattr(row, name), getattr(text, name)) for name in BESIDE_THE_LINE}


def _newer(old: str | None, new: str | None) -> str | None:
    return new or old


def merge_beginnings(valid_from: str, recorded_at: str, given: str | None) -> str:
    """When a line that was said twice begins. A beginning that was stated comes before a default one, and the earlier
    of two that were stated is taken."""
    if given is None:
        return valid_from
    if valid_from == recorded_at:
        return given
    return min(valid_from, given)


def merged_text(change: Change, text: VersionText, given_from: str | None) -> VersionText:
    """The line, and what is new in the repetition. Its wording stays, unless the speaker takes it over."""
    row = change.row
    base = VersionText(**{name: getattr(row, name) for name in TEXT_FIELDS})
    if adopts(change, text):
        base = text
        if row.quoted and not text.quoted:  # repeating what was quoted leaves the quotation as it was
            base = quoting(replace(text, content=row.content), row)
    elif row.source == text.source == "extracted":
        base = replace(base, score=max(row.score, text.score), made_by=text.made_by)
    return replace(
        base,
        **merge_words(row, text),
        valid_from=merge_beginnings(row.valid_from, row.recorded_at, given_from),
        valid_until=text.valid_until or row.valid_until,
        restored_from=None,
        correction=1,  # so that for the world's clock this replaces the version before
    )


def is_same_saying(change: Change, text: VersionText) -> bool:
    """Whether the text comes from the same turns as the line, so that nobody has repeated anything."""
    if text.thread_id is None or text.turn_ids == "[]":
        return False
    return bool(text.thread_id == change.row.thread_id and text.turn_ids == change.row.turn_ids)


def may_reword(change: Change, source: str) -> bool:
    """Whether the writer who repeats a line may also change it."""
    try:
        change.refuse_overruling(source)
        change.refuse_over_person()
        refuse_guarded(change.tx, change.origin, change.id)
    except NotAllowed:
        return False
    return True


# Operations


def confirm_repeat(
    change: Change, text: VersionText, *, given_from: str | None = None, importance: float | None = None,
    subject: str | None = None,
) -> Written:  # fmt: skip
    """Confirm a memory that was said again. The result is `unchanged` if nothing else was new; `event` then undoes the
    confirmation. Agents and imports do not confirm, so for them `event` is empty."""
    row, before = change.row, change.before
    if before is None or text.source == "imported" or not may_reword(change, text.source):
        return change.unchanged()
    merged = merged_text(change, text, given_from)
    if adopts(change, text):
        confidence = "asserted"
    else:
        confidence = before.confidence
    after = replace(
        before,
        importance=before.importance if importance is None else importance,
        subject=before.subject or subject,
        confidence=confidence,
    )
    is_new = adopts(change, text) or any(getattr(row, name) != getattr(merged, name) for name in MERGED)
    needs_version = is_new or text.source == row.source == "extracted"
    is_new = is_new or after != before
    if not is_new and is_same_saying(change, text):
        return change.unchanged()
    if by_person(change):
        after = replace(after, last_confirmed_at=change.at)
    if not is_new:
        change = replace(change, action="confirm")
    if needs_version:
        if is_new:
            edited_at = change.at
        else:
            edited_at = before.edited_at
        written = change.to(replace(after, version=row.version + 1, edited_at=edited_at), merged)
    elif after != before:
        written = change.to(after)
    else:
        return change.unchanged()
    return replace(written, unchanged=not is_new)


def by_person(change: Change) -> bool:
    """Whether the person says it, themselves or by a tool that carries out what they said."""
    says = change.origin.actor == "person" and change.origin.source != "imported"
    return says or change.origin.for_person


def begin_anew(change: Change, text: VersionText, after: State) -> Written | None:
    """Let a memory that has ended begin again. Returns None if the writer may not change it, since it is the person's
    own; and leaves it unchanged if it is imported from a file that is older than its end."""
    row = change.row
    if not may_reword(change, text.source):
        return None
    if text.source == "imported" and text.valid_from < row.valid_until:
        return change.unchanged()
    return change.to(after, replace(text, **merge_words(row, text)))
