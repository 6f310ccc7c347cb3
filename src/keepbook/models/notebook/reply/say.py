"""Words what a turn did, from the entries that it has written.

One short line each, and never a promise that is not kept. Once per chat it says that it is a notebook; where it cannot
help, one line points to Settings → Model, not twice in a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepbook.book.memory.memories import Memory
from keepbook.book.text.quotation import shown_text
from keepbook.models.notebook.reply.lookup import LookupResult, quoted_turn
from keepbook.models.notebook.reply.phrases import day, phrase, said_to_person
from keepbook.models.notebook.values import Deed

SETTINGS = "Settings → Model"
NAMED = 3
"""How many chats a reply names."""


@dataclass(frozen=True, slots=True)
class Voice:
    """The language of a reply, and how openly it speaks: a `silent` preset does not say what it keeps, one that `asks`
    asks."""

    language: str
    silent: bool = False

    def say(self, key: str, **values: object) -> str:
        return phrase(self.language, key, **values)


def in_marks(words: str) -> str:
    """Words in quotation marks."""
    return f"“{words.replace('“', '‘').replace('”', '’')}”"


def describe_deeds(deeds: Sequence[Deed], voice: Voice) -> str:
    """What a turn did, line by line; then its questions, with the numbers that an answer uses."""
    kept = [deed.content for deed in deeds if deed.act == "keep" and not deed.failed]
    if kept and not voice.silent:
        lines = [voice.say("kept", lines=_quote_lines(kept))]
    else:
        lines = []
    others = [deed for deed in deeds if deed.act not in ("keep", "offer", "which")]
    for deed in others:
        line = _describe_one(deed, voice)
        if line:
            lines.append(line)
    lines += [deed.failed for deed in deeds if deed.act in ("keep", "offer", "which") and deed.failed]
    waiting = [deed.content for deed in deeds if deed.proposal and deed.act in ("offer", "which") and not deed.asked]
    if waiting:
        lines.append(voice.say("waits", lines=_quote_lines(waiting)))
    lines += _questions(deeds, voice)
    if voice.silent and deeds and not lines:
        lines = [voice.say("understood")]
    return "\n".join(dict.fromkeys(lines))


def _quote_lines(lines: Sequence[str]) -> str:
    return ", ".join(in_marks(line) for line in lines)


def _questions(deeds: Sequence[Deed], voice: Voice) -> list[str]:
    """The questions about lines that are there, then the offers: `consent.numbered` counts them in this order."""
    lines, number = [], 1
    for deed in deeds:
        if deed.act == "which" and deed.asked and not deed.failed:
            lines.append(_question(deed, voice, number))
            number += _choices(deed)
    offers = [deed for deed in deeds if deed.act == "offer" and deed.asked and not deed.failed]
    if len(offers) > 1:
        numbered = "\n".join(f"{at}. {in_marks(deed.content)}" for at, deed in enumerate(offers, number))
        lines.append(voice.say("offers", lines=numbered))
    elif offers and number > 1:
        lines.append(voice.say("offer_numbered", lines=_quote_lines([offers[0].content]), one=number))
    elif offers:
        lines.append(voice.say("offer", lines=_quote_lines([offers[0].content])))
    return lines


def _choices(deed: Deed) -> int:
    """How many numbers a question takes."""
    if deed.question == "which":
        return len(deed.options) + 2 if len(deed.options) > 1 else 2
    if deed.question == "change" or _may_change(deed):
        return 3
    return 2


def _may_change(deed: Deed) -> bool:
    return bool(deed.content) and deed.content != deed.before


def _describe_one(deed: Deed, voice: Voice) -> str:
    if deed.failed:
        return deed.failed
    match deed.act:
        case "repeat" | "change" | "end" | "withdraw" | "undo" | "answer" if voice.silent:
            return ""
        case "repeat":
            return voice.say("known", lines=_quote_lines([deed.content]))
        case "change":
            return voice.say("changed", lines=_quote_lines([deed.content]), before=_quote_lines([deed.before]))
        case "end":
            return voice.say("ended", lines=_quote_lines([deed.content]))
        case "withdraw":
            return _withdrawn(deed, voice)
        case "never":
            topics = [said_to_person(voice.language, one) for one in deed.topics]
            return voice.say("never_set", topics=", ".join(topics))
        case "undo":
            return _undone(deed, voice)
        case "off" | "ban_asked":
            asked = {"off": "off_asked", "ban_asked": "never_asked"}
            return voice.say(asked[deed.act], topics=", ".join(deed.options))
        case "erase":
            return voice.say("erase")
        case "answer":
            return _answer_in_words(deed, voice)
    return ""


def _undone(deed: Deed, voice: Voice) -> str:
    """What an undo did to a line: it is in the book again, is out of it, or says again what it said before."""
    if not deed.content:
        return voice.say("undone_order")
    event = deed.calls[0]["memory_event"]
    before, after = (event[side] is not None and event[side]["state"] == "active" for side in ("before", "after"))
    if before and after:
        done = "undone_change"
    elif after:
        done = "put_back"
    else:
        done = "undone"
    return voice.say(done, lines=_quote_lines([deed.content]))


def _withdrawn(deed: Deed, voice: Voice) -> str:
    if deed.memory:
        lines = [voice.say("forgotten", lines=_quote_lines([deed.content]))]
    elif deed.content:
        lines = [voice.say("not_kept_words", lines=_quote_lines([deed.content]))]
    elif deed.hushed and not deed.chats:
        lines = [voice.say("nothing_to_forget", matter=deed.hushed)]
    else:
        lines = [voice.say("not_kept")]
    if deed.chats:
        lines.append(voice.say("in_chats", chats=_titles(deed.chats)))
    return "\n".join(lines)


def _titles(titles: Sequence[str]) -> str:
    shown = ", ".join(f"“{title}”" for title in titles[:NAMED])
    more = len(titles) - NAMED
    if more > 0:
        return f"{shown} + {more}"
    return shown


def _answer_in_words(deed: Deed, voice: Voice) -> str:
    if deed.question == "off":
        return voice.say("off_done" if deed.choice == "yes" else "off_kept")
    if deed.event is not None:
        did = {"change": "changed_plain", "over": "ended"}.get(deed.choice, "kept")
        return voice.say("forgotten" if deed.question == "which" else did, lines=_quote_lines([deed.content]))
    if deed.choice in ("both", "none") or deed.question != "keep":
        return voice.say("left_as_is")
    return voice.say("not_kept")


def _question(deed: Deed, voice: Voice, first: int) -> str:
    numbers = {"one": first, "two": first + 1, "three": first + 2}
    if deed.question == "which" and len(deed.options) == 1:
        return voice.say("forget_asked", lines=_quote_lines(deed.options))
    if deed.question == "which":
        numbered = "\n".join(f"{at}. {in_marks(line)}" for at, line in enumerate(deed.options, first))
        if deed.whole:
            return voice.say("forget_all", lines=numbered)
        return voice.say("which", lines=numbered)
    old, new = in_marks(deed.before), in_marks(deed.content)
    if deed.question == "over":
        return voice.say("over_or_change" if _may_change(deed) else "over", before=old, lines=new, **numbers)
    return voice.say("change_asked", before=old, lines=new, **numbers)


def describe_answer(found: LookupResult, voice: Voice) -> str:
    """The result of a question, in words."""
    if found.empty and found.everything:
        return voice.say("empty")
    if found.nearest is not None:
        return voice.say("nearest", line=in_marks(found.nearest.content))
    if found.empty:
        return voice.say("nothing")
    lines = _describe_lines(found, voice)
    for one in found.ended:
        if one.valid_until:
            lines.append(voice.say("until", line=shown_text(one), day=day(voice.language, one.valid_until)))
        else:
            lines.append(voice.say("from", line=shown_text(one), day=day(voice.language, one.valid_from)))
    if found.offered:
        lines += [voice.say("offered"), *(f"- {in_marks(one.content)}" for one in found.offered)]
    for hit in found.turns:
        if hit.thread_id == found.chat:
            lines.append(voice.say("said_here", line=quoted_turn(hit)))
        else:
            lines.append(voice.say("earlier", day=day(voice.language, hit.at), line=quoted_turn(hit)))
    return "\n".join(lines)


def _describe_lines(found: LookupResult, voice: Voice) -> list[str]:
    """The lines of the book that answer: one alone is quoted, several are listed."""
    if len(found.lines) == 1 and not found.everything:
        return [voice.say("book_one", line=_in_marks_once(found.lines[0]))]
    if found.lines:
        heading = "book_opposed" if found.opposed else "book"
        return [voice.say(heading), *(f"- {_with_day(one, found, voice)}" for one in found.lines)]
    return []


def _in_marks_once(line: Memory) -> str:
    """A line in quotation marks, which a quoted one brings."""
    if line.quoted:
        return shown_text(line)
    return in_marks(line.content)


def _with_day(line: Memory, found: LookupResult, voice: Voice) -> str:
    """A line that another one of the answer may contradict, with the day from which it holds."""
    if line.id not in found.disagreeing or line.said_on:
        return shown_text(line)
    return f"{shown_text(line)} ({day(voice.language, line.valid_from)})"
