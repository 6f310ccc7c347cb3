"""The offline model as extractor: what the reader would keep or propose, matched to what the book says.

The reader decides what is worth keeping. Rules only carry out orders that nobody heard as they were given (a chat
recorded from elsewhere), word the lines, read since when something holds, and name what a statement repeats or
replaces.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.matters import (
    adds,
    apart,
    begin_alike,
    can_mean,
    content_words,
    one_more,
    other_values,
    same_matter,
    says_again,
)
from keepbook.models.lines.people import subject, with_relation
from keepbook.models.lines.since import said_from
from keepbook.models.lines.slots import filled, slots
from keepbook.models.model import Candidate, Known, Op, Reading, Turn, TurnId
from keepbook.models.noted import Noted, Said, noted, reader
from keepbook.models.orders.asked import asked
from keepbook.models.orders.decide import decide
from keepbook.models.orders.mend import CERTAIN, DENIED, LATELY
from keepbook.models.orders.scene import Scene
from keepbook.models.orders.values import Deed
from keepbook.models.reader.values import Reader

FLOOR = 0.75
"""What is kept scores at least this: it is in every block until it fades."""
TIED, SURE, REPEATS = 0.48, 0.65, 0.4
"""From which likelihood on the reader's word ties two lines, and from which on a change of the book is sure."""
CHANGED, DOUBTED = 0.3, 0.75
"""The same where the words say that something changed; and what is left of a likelihood where the words part two."""
SHARED, FEW = 4, 6
"""How many known lines the reader is asked about: those that share most words; in a small book also the others."""
SHORT_ANSWER = 6
"""Words that an answer has at most, for its last one to be the new value of what was asked."""
CONFLICT, FORGET = "conflicts with what you said yourself", "asked to forget"


_DAY = regex(r"\b(?:yesterday|today|this morning|last night)\b", re.IGNORECASE)
"""A day that only means something on the day it was said."""


def extract(reading: Reading, read: Reader | None = None) -> list[Candidate]:
    """The candidates of a closing chat, in the order they were said."""
    read = read or reader()
    ids, said = _said(reading)
    found: list[Candidate] = []
    if any(turn.role == "user" and turn.id not in reading.heard for turn in reading.turns):
        said, found = _replayed(reading, said, ids, read)
    lines = noted(said, read, vocabulary=reading.categories, never=reading.never, sense=reading.sense)
    known = _without(reading.known, found)
    for one in _once(lines):
        found.append(_candidate(reading, known, one, ids, said, read))
    return found


def ordered(reading: Reading) -> list[Candidate]:
    """What the person asked to remember in so many words, and no tool has written."""
    ids, said = _said(reading)
    turns = [one for one in said if one.written is not None and asked(one.text)]
    if not turns:
        return []
    read = reader()
    lines = noted(said, read, vocabulary=reading.categories, never=reading.never, sense=reading.sense)
    spans = {(one.turn, start) for one in turns for start, _ in asked(one.text)}
    found = [one for one in lines if (one.place.turn, one.place.start) in spans]
    return [_candidate(reading, reading.known, one, ids, said, read) for one in found]


def _said(reading: Reading) -> tuple[dict[int, TurnId], list[Said]]:
    """The turns as they are read, counted from 0, and which is which."""
    said = [
        Said(number, turn.role, turn.text, _moved(reading, turn), turn.speaker, reading.written.get(turn.id))
        for number, turn in enumerate(reading.turns)
    ]
    return {number: turn.id for number, turn in enumerate(reading.turns)}, said


def _moved(reading: Reading, turn: Turn) -> tuple[Deed, ...]:
    """The deeds of a turn, their places counted as the turns are here."""
    at = {str(other.id): place for place, other in enumerate(reading.turns)}
    return tuple(
        deed.moved(
            taken=tuple(replace(place, turn=at[str(place.turn)]) for place in deed.taken if str(place.turn) in at)
        )
        for deed in reading.deeds.get(turn.id, ())
    )


def _without(known: Sequence[Known], found: Sequence[Candidate]) -> list[Known]:
    gone = {one.target for one in found}
    return [one for one in known if one.id not in gone]


def _once(lines: Sequence[Noted]) -> list[Noted]:
    """Said twice, the later and fuller one counts."""
    kept: list[Noted] = []
    for one in lines:
        twin = next(
            (
                at
                for at, other in list(enumerate(kept))[-LATELY:]
                if says_again(other.content, one.content) or says_again(one.content, other.content)
            ),
            None,
        )
        if twin is None:
            kept.append(one)
        elif len(one.content) >= len(kept[twin].content):
            kept[twin] = replace(one, score=max(one.score, kept[twin].score), sure=one.sure or kept[twin].sure)
    return kept


# --- orders nobody heard


def _replayed(
    reading: Reading, said: list[Said], ids: dict[int, TurnId], read: Reader
) -> tuple[list[Said], list[Candidate]]:
    """The chat gone through turn by turn, as if its orders were given now; what they touch in the book is a
    candidate."""
    found: list[Candidate] = []
    known = list(reading.known)
    statements = noted(said, read, vocabulary=reading.categories, never=reading.never, everything=True)
    last: tuple[Deed, ...] = ()
    said_in: dict[int, list[Noted]] = {}
    for each in statements:
        said_in.setdefault(each.place.turn, []).append(each)
    before: list[Noted] = []
    previous = ""
    for number, one in enumerate(said):
        if one.role != "user" or ids[number] in reading.heard:
            before += said_in.get(number, [])
            previous = one.text if one.role == "user" else previous
            continue
        here = said_in.get(number, [])
        asked = next((deed.question for deed in reversed(last) if deed.question is not None), None)
        new = next((change.new for deed in reversed(last) for change in deed.changes if change.new), None)
        scene = Scene(number, one.text, before, known, previous, asked, (), new, read.tie, here)
        last = tuple(decide(scene))
        said[number] = replace(one, deeds=last)
        for deed in last:
            found = _after(reading, found, deed, ids[number])
        before += here
        if taken := {place for deed in last for place in deed.taken}:
            known = _without(reading.known, found)
            before = [each for each in before if each.place not in taken]
        previous = one.text
    return said, found


def _after(reading: Reading, found: list[Candidate], deed: Deed, turn: TurnId) -> list[Candidate]:
    """What a deed changes among the candidates so far."""
    protected = {one.id for one in reading.known if one.protected}
    for change in deed.changes:
        old, target = change.old, change.old.memory if change.old else None
        if old is not None:
            found = [one for one in found if not (one.op == "add" and one.content == old.content)]
        if target in protected:
            reason = FORGET if change.new is None else CONFLICT
            found.append(
                Candidate(
                    "skip", target, None, None, change.new or old.content if old else "", 0.9, (turn,), reason=reason
                )
            )
        elif target is not None:
            op: Op = "forget" if change.new is None else "update"
            found.append(
                Candidate(op, target, change.category, None, change.new or (old.content if old else ""), 0.9, (turn,))
            )
        elif change.new is not None:
            found.append(Candidate("add", None, change.category, _about(change.new), change.new, 0.9, (turn,)))
    return found


# --- one statement


def _candidate(
    reading: Reading, known: Sequence[Known], one: Noted, ids: dict[int, TurnId], said: Sequence[Said], read: Reader
) -> Candidate:
    turn = reading.turns[one.place.turn]
    score = max(FLOOR, one.score) if one.sure else one.score
    since = said_from(one.words, turn.at, reading.zone)
    content = _DAY.sub(f"on {since[:10]}", one.content) if since else one.content
    made = Candidate(
        "add", None, one.category, _about(one.content), content, round(score, 3), (ids[one.place.turn],),
        since, None, one.sure,
    )  # fmt: skip
    if (anew := _answers(known, one, said)) is not None:
        old, content = anew
        if old.protected:
            return replace(made, op="skip", target=old.id, content=content, reason=CONFLICT)
        return replace(made, op="update", target=old.id, content=content)
    tie, target, likely = tied(known, one, said, read, one.place.turn)
    if target is None:
        return made
    if tie == "repeats":
        return replace(made, op="skip", target=target.id, reason="it is known already")
    if target.protected:
        return replace(made, op="skip", target=target.id, reason=CONFLICT)
    content = with_relation(DENIED.sub("", content), target.content)
    return replace(made, op="update", target=target.id, content=content, sure=one.sure and likely >= SURE)


def _answers(known: Sequence[Known], one: Noted, said: Sequence[Said]) -> tuple[Known, str] | None:
    """ "Is the pension plan still at 6%?" – "went up to 9": the known line that was asked about, with its new value."""
    at, words = one.place.turn, one.words.split()
    asked = said[at - 1].text.rstrip() if at and said[at - 1].role == "assistant" else ""
    if not asked.endswith("?") or len(words) > SHORT_ANSWER or said[at - 1].speaker is not None:
        return None
    question = set(content_words(re.split(r"[.!?]\s", asked)[-1]))
    about = [memory for memory in known if len(question.intersection(content_words(memory.content))) > 1]
    said_anew = [slot.text for slot in slots(f"= {one.words}")] if len(about) == 1 else []
    made = [anew for text in said_anew for anew in filled(about[0].content, text)]
    return (about[0], made[0]) if len(made) == 1 else None


def _about(content: str) -> str | None:
    """The name a line is about, where it begins with one."""
    first = content.split(" ", 1)[0].removesuffix("'s").removesuffix("’s")
    who = subject(content)
    return (
        first
        if who is not None and first[:1].isupper() and first.lower().startswith(who[:3]) and len(first) > 2
        else None
    )


def tied(
    known: Sequence[Known], one: Noted, said: Sequence[Said], read: Reader, at: int
) -> tuple[str, Known | None, float]:
    """The line of the book that a statement repeats or corrects, and how likely: by its words, else by the reader's
    word."""
    again = next((memory for memory in reversed(known) if says_again(one.content, memory.content)), None)
    if again is None and _STILL.search(one.words):
        again = _affirmed(known, one)
    if again is not None:
        return "repeats", again, 1.0
    best: tuple[float, str, Known | None] = (0.0, "", None)
    beside, more_beside = set[str](), adds(one.words)
    before = next((each.text for each in reversed(said[:at]) if each.role == "assistant"), "")
    for memory in _near(known, one):
        found = read.tie(memory.content, one.words.strip(), before)
        if found is not None:
            name = "repeats" if found["repeats"] >= REPEATS and not differs(one.content, memory.content) else "corrects"
            if name == "corrects" and more_beside:
                continue
            here, there = set(content_words(one.content)), set(content_words(memory.content))
            if name == "corrects" and found["corrects"] < CERTAIN and here.isdisjoint(there):
                continue  # about something else altogether, but for the reader's half a word
            more = here - there
            alike = name == "repeats" and begin_alike(one.content, memory.content)
            if alike or one_more(one.content, memory.content):
                beside.add(memory.id)
                continue
            if name == "repeats" and len(more) > 1:
                continue  # it says something more: "works as a nurse in Oslo" beside "lives in Oslo"
            likely = found["repeats"] + found["corrects"]
            if name == "corrects" and found["corrects"] < CERTAIN and apart(one.content, memory.content):
                likely *= DOUBTED
            best = max(best, (likely, name, memory), key=lambda each: each[0])
    if best[0] >= (CHANGED if _CHANGES.search(one.words) else TIED):
        return best[1], best[2], best[0]
    rest = (memory for memory in reversed(known) if memory.id not in beside and not more_beside)
    return "corrects", next((memory for memory in rest if same_matter(one.content, memory.content)), None), SURE


_CHANGES = regex(
    r"\b(?:now|no longer|no more|any ?more|instead|moved?|changed?|switched|went (?:up|down|back|across)|up to|down to|"
    r"come down|lift(?:ed|ing)?|lower(?:ed|ing)?|raised?|raising|dropped|grown|since|these days|gave up|got|gone|"
    r"from now on|going forward|from here on)\b",
    re.IGNORECASE,
)
_STILL = regex(
    r"\b(?:as (?:you|u) know|(?:you|u) know|still|as (?:always|ever|before|usual)|like (?:always|before)|same as|"
    r"(?:all|still) (?:correct|true|right)|unchanged|before (?:you|u) ask|as i (?:said|told you))\b",
    re.IGNORECASE,
)


def _affirmed(known: Sequence[Known], one: Noted) -> Known | None:
    """ "Still at the bakery, as you know": the line that it says is still so, if its words are the book's words."""
    words = set(content_words(_STILL.sub(" ", one.content)))
    shared = {memory.id: len(words.intersection(content_words(memory.content))) for memory in known}
    best = max(known, key=lambda memory: shared[memory.id], default=None)
    said = words & {word for memory in known for word in content_words(memory.content)}
    return best if best is not None and shared[best.id] and 2 * len(said) >= len(words) else None


def differs(new: str, old: str) -> bool:
    """The same matter with another value: that is no repetition, however alike the two sound."""
    return bool(other_values(new, old)) and same_matter(new, old)


def _near(known: Sequence[Known], one: Noted) -> list[Known]:
    words = set(content_words(one.content))
    shared = {memory.id: len(words.intersection(content_words(memory.content))) for memory in known}
    few = len(known) <= FEW
    near = (old for old in sorted(known, key=lambda memory: -shared[memory.id]) if few or shared[old.id])
    able = (old for old in near if can_mean(one.content, old.content))
    return list(able if few else islice(able, SHARED))
