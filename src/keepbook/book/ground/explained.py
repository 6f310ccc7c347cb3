"""What the arguments of public methods mean, each told once: `help(book.remember)` shows them line by line.

An argument of one name means one thing in every method, so its words stand here and not in forty docstrings.
"""

from inspect import cleandoc
from types import FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)

ARGUMENTS = {
    "actor": "only entries of this one: person, agent, extractor or job",
    "after": "only what came after the entry of this number",
    "agent": "one of the book's agents: its name or id",
    "anchor": "a file that notes the newest hash of each check: held against the ledger, then extended",
    "asked": "the name of a preset; by default the one in force",
    "at": "when it was: a datetime, or a text in ISO 8601; now, if nothing is said",
    "before": "only what came before the entry of this number",
    "body": "longer background, up to 64 KB: found by recall, never in the block",
    "card": "the slots of the agent's card type, filled",
    "category": "the group it belongs to; the preset says which there are",
    "chosen": "what changes: memory (a bool), never (topics), tier (a word)",
    "confidence": "asserted (somebody said so, the default) or inferred (read between the lines)",
    "confirm": "the owner's name, exactly: a way back there is not",
    "content": "what to keep, in one sentence of 4 to 500 characters",
    "correction": "it was never right: the new words hold from where the old ones began",
    "cursor": "`next` of the page before",
    "dry_run": "only say what would come in; nothing is kept",
    "event": "the number of an entry, as the write that made it answered",
    "expect_version": "refuse if the memory is at another version by now",
    "filters": "kind, status, limit and before, as the list shows them",
    "focus": "what was open on the screen",
    "force": "keep it although something like it is there",
    "forecasts": "those of forecasts, not of trades",
    "forever": "gone at once, text and all; nothing undoes it",
    "from_id": "the memory it starts at: its id or a piece of what it says",
    "given": "what is set, by its name",
    "hidden": "told to the model with it, shown nowhere",
    "id": "its id, eight characters",
    "incoming": "what an importer has read, in the shape of `upkeep/elsewhere/incoming.py`",
    "importance": "0 to 1: what stays when the block is full",
    "incognito": "nothing of it is remembered, and no memory is told in it",
    "key": "what makes it the same one when it is sent again; of a pencil line, the line's own",
    "known": "as the book knew it at this instant: a datetime or a text in ISO 8601",
    "limit": "how many at most",
    "link": "where more of it stands",
    "link_id": "the id of the link",
    "made_at": "when it was made; now, if nothing is said",
    "memories": "with what was learned from it",
    "memory": "only what is about the memory of this id",
    "merge": "add its memories to what is there; without it the book must be empty",
    "metadata": "names and texts that your program notes with it (at most 32); to a filter, those that must be there",
    "mode": "what the chat is for: authoring, coach or ops",
    "name": "how it is called",
    "note": "where that was seen",
    "outcome": "how it came out: true, false, or of a choice what it was",
    "parts": "what a model made the message of, to send it again as it was",
    "preset": "the vocabulary and policy to go by; by default the one in force",
    "price": "at which price",
    "progress": "is called with how many are done",
    "q": "only what says this, in any case",
    "query": "words or a question",
    "reason": "why: user_deleted, user_corrected or agent_forget",
    "ref": "its id, or a piece of what exactly one says; of an agent its name",
    "relation": "relates_to, contradicts, supersedes, because_of, or another short word",
    "role": "who speaks: user, assistant, tool or system",
    "run_id": "the id of the run",
    "scope": "the agent or skill it is for; reading, * means every one",
    "session": "a name of yours for the chat",
    "speaker": "the name of who speaks",
    "state": "active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved",
    "status": "waiting, accepted, declined or expired",
    "stream": "an open text file, or lines of text",
    "subject": "the person, project or thing it is about",
    "summary": "a shorter wording for the block, up to 200 characters",
    "tags": "words to file it under (at most 32); to a filter, those that must all be there",
    "text": "the words themselves",
    "theirs": "of a file that holds several people: which one, by the name it has there",
    "thread": "only what was written in the chat of this id",
    "thread_id": "the chat it comes from, or is about",
    "title": "a title for it",
    "to_id": "the memory it points to: its id or a piece of what it says",
    "told": "made_at, key, transcript and link, as in `record`",
    "transcript": "what was said on the way",
    "trash": "those in the trash instead",
    "turn": "the number of the turn",
    "turn_ids": "the turns of the chat that said it",
    "valid": "about what was true at this instant: a datetime or a text in ISO 8601",
    "valid_from": "true since when: a datetime or a text in ISO 8601; now, if nothing is said",
    "valid_until": "true until when; '' in an update takes an end away",
    "zone": "the owner's time zone by its IANA name, as Europe/Oslo",
}


def explained(public: Class) -> Class:
    """Say in the docstring of every public method what each argument means."""
    for name, method in vars(public).items():
        if not name.startswith("_") and isinstance(method, FunctionType):
            method.__doc__ = _told(method)
    return public


def _told(method: FunctionType) -> str | None:
    code = method.__code__
    spread = sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))  # *args and **kwargs come behind the others
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + spread]
    known = [name for name in taken if name in ARGUMENTS]
    first = cleandoc(method.__doc__ or "")
    if not known:
        return method.__doc__
    lines = "\n".join(f"{name}: {ARGUMENTS[name]}" for name in known)
    return f"{first}\n\n{lines}\n" if first else f"{lines}\n"
