"""One description for every argument name of the public methods, added to their docstrings (`help(book.remember)`).

An argument name means the same in every method, so its description stands here once and not in forty docstrings.
"""

from collections.abc import Callable
from inspect import cleandoc
from types import FunctionType
from typing import Any, TypeVar

Public = TypeVar("Public", bound=Callable[..., Any])

ARGUMENTS = {
    "actor": "only entries of this one: person, agent, extractor or job",
    "adapter": "how the run is carried out: native or claude-cli",
    "after": "only what came after the entry of this number",
    "agent": "one of the book's agents: its name or id",
    "agent_id": "the id of the agent",
    "anchor": "a file that notes the newest hash of each check: held against the ledger, then extended",
    "apart": "inside another transaction: a savepoint, rolled back alone",
    "args": "what that function is given; a book stands for the book itself",
    "around": "so many turns before and after each hit",
    "asked": "the name of a preset; by default the one in force",
    "at": "when it was: a datetime, or a text in ISO 8601; now, if nothing is said",
    "before": "only what came before the entry of this number",
    "body": "longer background, up to 64 KB: found by recall, never in the block",
    "book": "whose agents, as `Keepbook.book` gave it",
    "both": "keep it beside the line that it would change",
    "by": "who: person or agent; of a chat's title person or model",
    "card": "the slots of the agent's card type, filled",
    "category": "the group it belongs to; the preset says which there are",
    "changed": "what is different: actor, door, thread_id and other fields of `Origin`",
    "chat": "a chat of a book, as `book.thread` gave it",
    "chosen": "what changes: memory (a bool), never (topics), tier (a word)",
    "choice": "one of the `choices` of its question; of a plain proposal yes, no or both",
    "columns": "our columns, each with what the file calls it",
    "confidence": "asserted (somebody said so, the default) or inferred (read between the lines)",
    "confirm": "the owner's name, exactly: a way back there is not",
    "content": "what to keep, in one sentence of 4 to 500 characters",
    "correction": "it was never right: the new words hold from where the old ones began",
    "cursor": "`next` of the page before; where an answer has none, the id of the last one that you have",
    "dates": "`day` or `month`: what comes first in dates like 2/6/2026, where none of the file shows it",
    "deployment": "one of the deployments: its name or id",
    "description": "what it is, in a sentence",
    "door": "the way in, as the ledger tells it",
    "dry_run": "only say what would come in; nothing is kept",
    "error": "what went wrong",
    "event": "the number of an entry, as the write that made it answered",
    "expect_version": "refuse if the memory is at another version by now",
    "expires": "until when it opens something; for ever, if nothing is said",
    "field": "strategy, schedule or chat",
    "filters": "kind, status, limit and before, as the list shows them",
    "focus": "what was open on the screen",
    "force": "keep it although something like it is there, or its topic is one never to be kept",
    "forecasts": "those of forecasts, not of trades",
    "forever": "gone at once, text and all; nothing undoes it",
    "format": "whose file it is, where that is not recognised, or the name of a mapping that was kept",
    "from_id": "the memory it starts at: its id or a piece of what it says",
    "given": "what is set, by its name",
    "hand": "what the key that was shown may do; for doors",
    "held": "the lease that `claim` gave",
    "hidden": "told to the model with it, shown nowhere",
    "holder": "a name for this worker",
    "id": "its id, eight characters",
    "importance": "0 to 1: what stays when the block is full",
    "incognito": "nothing of it is remembered, and no memory is told in it",
    "incoming": "what an importer has read, in the shape of `upkeep/importers/incoming.py`",
    "key": "what makes it the same one when it is sent again; of a pencil line, the line's own",
    "kind": "which: of a token person, agent or service; of a file what it holds; of a run what began it",
    "known": "as the book knew it at this instant: a datetime, ISO 8601 or plain words",
    "known_at": "as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said",
    "lease_seconds": "for how long",
    "lesson": "the id of the lesson",
    "limit": "how many at most",
    "link": "where more of it stands",
    "link_id": "the id of the link",
    "load": "the number of an import, as it was answered",
    "lookahead_hours": "how far ahead, in hours",
    "made_at": "when it was made; now, if nothing is said",
    "made_with": "the id of the token it is made with: it ends no later than that one",
    "memories": "with what was learned from it",
    "memory": "only what is about the memory of this id",
    "merge": "add its memories to what is there; without it the book must be empty",
    "metadata": "names and texts that your program notes with it (at most 32); to a filter, those that must be there",
    "min_importance": "0 to 1: what matters less is left out",
    "mode": "what the chat is for: authoring, coach or ops",
    "model": "which model it is",
    "models": "other models than those of the settings",
    "most": "count no further than this",
    "multipliers": "how much one contract of a symbol stands for",
    "name": "how it is called",
    "note": "where that was seen",
    "offline": "read with the bundled reader, whatever model is set",
    "offset": "so many of the first are left out",
    "operation": "what the model was asked for",
    "operations": "what tools do, by the names that presets use: remember, recall, and so on",
    "order": "relevance, best first, or time, the oldest first; left out, as the question asks",
    "other": "the agent it is held against: its name or id",
    "outcome": "how it came out: true, false, or of a choice what it was",
    "owner": "whose: a name of your choice for a person",
    "owner_map": "whose book here each person of the file goes into",
    "parts": "what a model made the message of, to send it again as it was",
    "place": "the path of a file or folder",
    "preset": "the vocabulary and policy to go by; by default the one in force",
    "price": "at which price",
    "progress": "is called with how many are done",
    "prompt": "what it is asked",
    "prompt_version": "your own name for the words it was asked with",
    "q": "only what says this, in any case",
    "query": "words or a question",
    "reason": "why: user_deleted, user_corrected or agent_forget",
    "ref": "its id, or a piece of what exactly one says; of an agent its name",
    "relation": "relates_to, contradicts, supersedes, because_of, or another short word",
    "role": "who speaks: user, assistant, tool or system",
    "run_id": "the id of the run",
    "run_ids": "the ids of the runs",
    "said": "strategy, schedule and chat: what the skill says",
    "scope": "the agent or skill it is for; reading, * means every one",
    "scopes": "what it may do: read, write, admin; of a service token also person",
    "seconds": "for how long this worker keeps that in hand",
    "secret": "what was shown at the door",
    "series": "witnessed, or what counts apart: recorded_later, self_graded, brought_in",
    "session": "a name of yours for the chat",
    "since": "from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone",
    "skill": "one of the skills: its name or id",
    "slots": "what the card says, by the names of its slots",
    "source": "the path of a file, or its lines",
    "speaker": "the name of who speaks",
    "spread": "whether something of each chat that answers is brought",
    "state": "active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved",
    "status": "waiting, accepted, declined or expired",
    "stream": "the path of a file or folder, an open text file, or lines of text",
    "subject": "the person, project or thing it is about",
    "summary": "a shorter wording for the block, up to 200 characters",
    "symbol": "what is traded, as BTC/USDT",
    "symbols": "only what touches these",
    "tag": "only forecasts with this tag",
    "tags": "words to file it under (at most 32); to a filter, those that must all be there",
    "text": "the words themselves",
    "theirs": "of a file that holds several people: which one, by the name it has there",
    "thread": "only what was written in the chat of this id",
    "thread_id": "the chat it comes from, or is about",
    "through": "the number of the last step that it stands for",
    "timeframe": "how long a bar is, as 1h",
    "title": "a title for it",
    "to_id": "the memory it points to: its id or a piece of what it says",
    "token_id": "the id of the token",
    "tokens": "how much is brought, in tokens",
    "topic": "the matter in a few words, such as the kitchen renovation",
    "tokens_in": "how many tokens it read",
    "tokens_out": "how many tokens it wrote",
    "told": "made_at, key, transcript, link, model and prompt_version, as in `record`",
    "transcript": "what was said on the way",
    "trash": "those in the trash instead",
    "turn": "the number of the turn",
    "turn_ids": "the turns of the chat that said it",
    "turns": "the numbers of turns; by default all that are meant",
    "types": "only these kinds of events",
    "until": "up to this instant, said in the same ways; '' in an update takes an end away",
    "valid": "about what was true at this instant: a datetime, ISO 8601 or plain words",
    "valid_from": "the older name of `since`: a datetime or a text in ISO 8601, in UTC where it names no offset",
    "valid_until": "the older name of `until`, as `valid_from` is of `since`",
    "value": "what it says from now on",
    "window": "only the trades of so many last days",
    "words": "says a finding in other words; see `findings.check_wording` for which words are taken",
    "work": "a function; it is called beside the event loop",
    "zone": "the owner's time zone by its IANA name, as Europe/Oslo",
}


def explain_arguments(public: Public) -> Public:
    """Say in the docstring of a function, or of every public method of a class, what each argument means."""
    if isinstance(public, FunctionType):
        public.__doc__ = _docstring_with_arguments(public)
        return public
    for name, method in vars(public).items():
        if not name.startswith("_") and isinstance(method, FunctionType):
            method.__doc__ = _docstring_with_arguments(method)
    return public


def _docstring_with_arguments(method: FunctionType) -> str | None:
    code = method.__code__
    spread = sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))  # *args and **kwargs come behind the others
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + spread]
    known = [name for name in taken if name in ARGUMENTS]
    first = cleandoc(method.__doc__ or "")
    if not known:
        return method.__doc__
    lines = "\n".join(f"{name}: {ARGUMENTS[name]}" for name in known)
    if first:
        return f"{first}\n\n{lines}\n"
    return f"{lines}\n"
