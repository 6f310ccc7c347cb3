"""The words of each answer in Telegram.

Pure: values of the engine in, a letter out. A command that stands bare in a text can be tapped, so `/undo_12` is
written with an underline; an id is set in code, so that a tap copies it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.text.quotation import is_guess, shown_text
from keepbook.doors.telegram.letter import BOLD, CODE, Button, Letter
from keepbook.errors import KeepbookError, ModelFailed
from keepbook.presets import Preset
from keepbook.presets.group_names import group_name

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult
    from keepbook.book.ledger.owner_settings import Configured
    from keepbook.book.ledger.thing_entries import ThingSet
    from keepbook.book.memory.links import Link
    from keepbook.book.memory.memories import Memory, Written
    from keepbook.book.memory.proposals import Proposal
    from keepbook.models.notebook.open_questions import OpenQuestion

COMMANDS = {
    "memory": "What I know about you",
    "review": "What waits for your yes or no",
    "never": "What I never keep",
    "new": "End this chat, keep what matters, begin another",
    "undo": "Take back the last change",
    "again": "Ask again for a reply that failed",
    "help": "What I understand",
}
"""Telegram shows these as a menu."""

STRANGER = "Sorry, this is a private bot. If it is yours, it now shows this chat's id where it runs."
TEXT_ONLY = "I can read text only. Please write it."
FAULT = "Sorry, something went wrong on my side. What you wrote may not have been heard; please try again."
NOT_KNOWN = "I do not know that command. /help lists what I understand."
HOW_TO_DELETE = "Say which one: /memory delete <id>. The ids are in /memory."
WHAT_OF_MEMORY = "I understand /memory, /memory list and /memory delete <id>."
EMPTY = "Your book is empty: nothing is remembered yet. Try: Remember that I like tea."
NOTHING_TO_UNDO = "Nothing to undo: nothing was written in this chat yet."
NOTHING_SAID = "Nothing was said yet, so there is nothing to answer."
NO_WORDS = "(The model answered without a word.)"
NEXT = "Your next message begins a new chat."
ANSWERED_ALREADY = "That was answered already."
NOTHING_WAITS = "Nothing waits for you."
NO_TOPICS = "There is nothing that I never keep. To name a topic, write: Never remember anything about my health."
NO_LONGER_BANNED = "That is not on your list any more."
LONGEST_LABEL = 60
"""How many characters fit on a button."""
SHOWN_AT_ONCE = 5
"""How many of the waiting questions one message asks."""
ALLOW = "allow"
"""The beginning of the data of a button that takes a topic off the list of those never kept."""

_WROTE = {
    "remember": "In your book",
    "update": "Changed in your book",
    "end": "Over",
    "forget": "Taken out",
    "confirm": "Still true",
    "link": "Linked",
}


def help_(*, greeting: bool = False) -> Letter:
    if greeting:
        letter = Letter("Hello. I talk with you and remember what matters.\n\n")
    else:
        letter = Letter("")
    for name, words in COMMANDS.items():
        letter.put(f"/{name} – {words}\n")
        if name == "memory":
            letter.put("/memory delete <id> – Delete one memory\n")
    return letter.put("\nAnything else you write is said to me, and I answer.")


# Memories


def memories_reply(memories: Sequence["Memory"], preset: Preset) -> Letter:
    """The memories by group, in the preset's order; those without one come last."""
    if not memories:
        return Letter(EMPTY)
    grouped: dict[str, list[Memory]] = {name: [] for name in preset.categories}
    for memory in memories:
        grouped.setdefault(memory.category or "", []).append(memory)
    grouped[""] = grouped.pop("", [])
    if len(memories) == 1:
        letter = Letter("I know one thing.\n")
    else:
        letter = Letter(f"I know {len(memories):,} things.\n")
    for category, held in grouped.items():
        if held:
            letter.put("\n").put(group_name(category, preset), BOLD).put("\n")
        for memory in held:
            letter.put(memory.id, CODE).put(f" {shown_text(memory)}{_remarks(memory)}\n")
    return letter.put("\nTo delete one: /memory delete <id>")


def _remarks(memory: "Memory") -> str:
    if is_guess(memory):
        found = ["guessed"]
    else:
        found = []
    if not memory.current:
        found += ["not true any more"]
    if found:
        return f" ({', '.join(found)})"
    return ""


def _quoted_line(memory: Any) -> str:
    """A line inside a sentence: quoted once, whoever quotes it."""
    if memory.quoted:
        return shown_text(memory)
    return f"'{memory.content}'"


def deleted_reply(memory: "Written") -> Letter:
    return Letter(f"Deleted: {_quoted_line(memory)}\nIt is in the trash for {TRASH_DAYS} days. /undo brings it back.")


def no_such_id(typed: str) -> Letter:
    return Letter(f"There is no memory with the id '{typed[:60]}'. /memory shows the ids.")


def already_in_trash_reply(memory: "Memory") -> Letter:
    return Letter(f"It is in the trash already: {_quoted_line(memory)}")


def undone_reply(answer: "Written | Link | Configured | ThingSet") -> Letter:
    state = getattr(answer, "state", None)
    now = {"active": "It stands again", "archived": "No longer kept", "trash": "In the trash again"}.get(state or "")
    if now:
        what = f"Undone. {now}: {_quoted_line(answer)}"
    else:
        what = "Undone."
    return Letter(f"{what}\n/undo again takes that back.")


# Turns


def chat_reply(text: str, notices: Sequence[str], written: Sequence[Mapping[str, Any]]) -> Letter:
    """The model's text, notices, and what was written to memory."""
    letter = Letter(text.strip() or NO_WORDS)
    for notice in notices:
        letter.put(f"\n\n{as_sentence(notice)}")
    if written:
        return letter.put(f"\n\n{slip_text(written)}")
    return letter.put("")


def with_questions(letter: Letter, questions: Sequence["OpenQuestion"], *, in_reply: bool) -> Letter:
    """A reply with the questions of its turn: as buttons under it if it has put its one question in words, else a
    letter for each question."""
    if in_reply and len(questions) == 1:
        letter.buttons = buttons(questions[0])
        return letter
    for one in questions:
        asked = Letter(one.text)
        asked.buttons = buttons(one)
        letter.after.append(asked)
    return letter


def waiting_reply(questions: Sequence["OpenQuestion"]) -> Letter:
    """What waits for the person, a letter with buttons for each of the first."""
    if not questions:
        return Letter(NOTHING_WAITS)
    if len(questions) == 1:
        waits = "One thing waits"
    else:
        waits = f"{len(questions):,} things wait"
    letter = Letter(f"{waits} for your word.")
    if len(questions) > SHOWN_AT_ONCE:
        letter.put(f" Here are the first {SHOWN_AT_ONCE}; /review shows the next.")
    return with_questions(letter, questions[:SHOWN_AT_ONCE], in_reply=False)


def topics_reply(topics: Sequence[str]) -> Letter:
    """What is never kept, with a button for each topic that lets it be kept again."""
    if not topics:
        return Letter(NO_TOPICS)
    letter = Letter("I never keep anything about:\n")
    for topic in topics:
        letter.put(f"• {topic}\n")
        letter.buttons.append(Button(_short(f"Allow again: {topic}"), f"{ALLOW}:{topic_key(topic)}"))
    return letter


def topic_key(topic: str) -> str:
    """A topic as a button names it, for whose data Telegram has little room."""
    return hashlib.sha256(topic.encode()).hexdigest()[:16]


def allowed_reply(topic: str, left: Sequence[str]) -> Letter:
    letter = Letter(f"Things about {topic} may be kept again.")
    if left:
        letter.after.append(topics_reply(left))
    return letter


def buttons(question: "OpenQuestion") -> list[Button]:
    return [Button(_short(one.label), f"{question.id}:{one.choice}") for one in question.choices]


def _short(label: str) -> str:
    if len(label) <= LONGEST_LABEL:
        return label
    return f"{label[: LONGEST_LABEL - 2]} …"


def answered_reply(answer: "Written | Proposal") -> Letter:
    """The result of an answer."""
    event = getattr(answer, "event", None)
    if event is None:
        return Letter(f"All right, nothing was changed: {_quoted_line(answer)}")
    if getattr(answer, "state", "active") == "active":
        done = "Done"
    else:
        done = "Taken out"
    return Letter(f"{done}: {_quoted_line(answer)} — /undo_{event}")


def slip_text(written: Sequence[Mapping[str, Any]]) -> str:
    """What changed in memory, with an undo for each change."""
    if len(written) == 1:
        undo = ["/undo"]
    else:
        undo = [f"/undo_{event['event']}" for event in written]
    told = [f"{_WROTE.get(event['op'], 'Changed')}: {_wording(event)}" for event in written]
    return "\n".join(f"{words} — {way}" for words, way in zip(told, undo, strict=True))


def _wording(event: Mapping[str, Any]) -> str:
    before, after = event["before"] or {}, event["after"] or {}
    ends = after or before
    if relation := ends.get("relation"):
        return f"{ends.get('from_id')} {relation} {ends.get('to_id')}"
    return str(after.get("shown") or after.get("content") or before.get("content") or "")


def refusal_reply(error: KeepbookError, written: Sequence[Mapping[str, Any]] = ()) -> Letter:
    words = as_sentence(error.message)
    if isinstance(error, ModelFailed):
        words += " What you said is kept. Try /again."
    if written:
        return Letter(f"{words}\n\n{slip_text(written)}")
    return Letter(words)


def closing_reply(answer: "ClosingResult | None") -> Letter:
    """What was kept of a chat that ended."""
    letter = Letter()
    if answer is None or answer.status == "nothing":
        return letter.put(f"There was nothing new to keep. {NEXT}")
    if answer.written:
        letter.put("Kept from this chat:\n")
        for one in answer.written:
            forgot = ""
            if one["op"] == "forget":
                forgot = "forgot: "
            letter.put(f"• {forgot}{one['content']} — /undo_{one['event']}\n")
    elif answer.status == "busy":
        letter.put("This chat is being read for memories at this moment.\n")
    elif answer.status == "closed" and not answer.proposed:
        letter.put("Closed. Nothing new to remember.\n")
    if answer.proposed:
        if len(answer.proposed) == 1:
            waits = "thing waits"
        else:
            waits = "things wait"
        letter.put(f"{len(answer.proposed):,} {waits} for your word: /review\n")
    if answer.notice:
        letter.put(f"{as_sentence(answer.notice)}\n")
    return letter.put(NEXT)


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."
