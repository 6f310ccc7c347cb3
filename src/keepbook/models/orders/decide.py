"""What an order means, among what this chat has noted and what the book says. Pure: nothing is written here.

A withdrawal of a matter means every statement of it; one that names nothing means the last thing said. A correction
means
the newest statement of the same matter and says it in one whole sentence, or asks with that sentence in full.
Several that
could be meant: the person is asked, and nothing happens before the answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from keepbook.models.lines.matters import (
    content_words,
    distinct,
    meant,
    newest,
    other_values,
    same_matter,
    says_again,
)
from keepbook.models.lines.slots import exchanged, filled, slots, value
from keepbook.models.lines.wording import line
from keepbook.models.model import Known
from keepbook.models.noted import Noted
from keepbook.models.orders import answers, corrections, never
from keepbook.models.orders.hear import Heard, sentences, undo, withdrawals
from keepbook.models.orders.values import Change, Deed, Held, Place, Question

Tie = Callable[[str, str, str], Mapping[str, float] | None]
"""How a later text stands to an earlier one, from the reader."""
LATELY, FEW = 60, 4
"""How many statements back a correction reaches unsaid, and how many of them the reader is asked about."""
CORRECTS, CERTAIN = 0.5, 0.85
"""From which likelihood on a statement corrects another of the same matter, and one that only seems related."""
_NOW = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|moved|changed|switched|actually|sorry|instead|since|these days|"
    r"meanwhile|not a|just one|turned|left|quit)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a turn is read against: the person's words, what the chat has noted (all statements, oldest first), what the
    book says, what the last reply told, the question it left open, and what an earlier order of this chat wrote."""

    turn: int
    text: str
    noted: Sequence[Noted]
    known: Sequence[Known]
    previous: str = ""
    asked: Question | None = None
    told: Sequence[str] = ()
    last_new: str | None = None
    tie: Tie | None = None
    here: Sequence[Noted] = field(default_factory=list)
    """Statements of this very turn."""
    waiting: Sequence[Held] = ()
    """Lines of this chat that wait for the person's answer."""

    def of(self, one: Noted) -> Held:
        """A statement of this chat; where a tool has saved it by now, the book's line and its place in one."""
        saved = next((old for old in reversed(self.known) if _is_saved(one, old)), None)
        if saved is None:
            return Held(one.content, place=one.place)
        return Held(saved.content, memory=saved.id, protected=saved.protected, place=one.place)

    def held(self) -> list[Held]:
        """Everything that may be meant: the book's lines first, then the chat's, oldest first."""
        here = [self.of(one) for one in self.noted if one.kept]
        saved = {one.memory for one in here if one.memory}
        book = [Held(one.content, memory=one.id, protected=one.protected) for one in self.known if one.id not in saved]
        return [*book, *self.waiting, *here]


def _is_saved(one: Noted, old: Known) -> bool:
    return one.content == old.content or (says_again(one.content, old.content) and says_again(old.content, one.content))


def decide(scene: Scene) -> list[Deed]:
    """The deeds of a turn, in order; empty where it gives no order."""
    if scene.asked is not None and (deed := _answered(scene, scene.asked)) is not None:
        return [deed]
    if heard := undo(scene.text):
        return [Deed("undo", taken=(_place(scene, heard),))]
    deeds = [_never(scene, heard, topics) for heard, topics in never.topics_named(scene.text)]
    if not deeds:
        deeds = [deed for heard in withdrawals(scene.text) for deed in _withdrawn(scene, heard)]
    if not deeds and (deed := _corrected(scene)) is not None:
        deeds = [deed]
    return deeds


# --- withdraw


def _place(scene: Scene, heard: Heard) -> Place:
    return Place(scene.turn, heard.start, heard.end)


def _never(scene: Scene, heard: Heard, topics: tuple[str, ...]) -> Deed:
    return Deed("never", ", ".join(topics), topics=topics, taken=(_place(scene, heard),))


def _withdrawn(scene: Scene, heard: Heard) -> list[Deed]:
    own = _place(scene, heard)
    if heard.ahead:
        return [Deed("withdraw", taken=(own,))]
    if not heard.matter:
        return [_last_said(scene, heard, own)]
    parts = _parts(heard.matter)
    found = [_matter_withdrawn(scene, heard, part, own) for part in parts]
    return [deed for deed in found if deed is not None]


def _parts(matter: str) -> list[str]:
    """ "My weight and my height": two matters; "salt and pepper" is one."""
    parts = re.split(r"\s*,?\s+and\s+(?=(?:my|the|our|where|that)\b)", matter, flags=re.IGNORECASE)
    return [part for part in parts if content_words(part)] or [matter]


def _matter_withdrawn(scene: Scene, heard: Heard, matter: str, own: Place) -> Deed | None:
    loose = [scene.of(one) for one in scene.noted if not one.kept]
    found = meant(matter, [*scene.held(), *loose])
    if not found and not heard.sure:
        return None
    if distinct(matter, found):
        return Deed("withdraw", matter, taken=(own,), question=Question("which", tuple(found)))
    taken = (own, *(one.place for one in found if one.place))
    changes = tuple(Change(old=one) for one in found)
    return Deed("withdraw", matter, changes, taken, hushed=() if _kept_apart(matter, found) else (matter,))


def _kept_apart(matter: str, found: Sequence[Held]) -> bool:
    """Where one of several things was meant, others of its name may still be kept."""
    return (
        bool(found) and len(content_words(matter)) < 2 and bool(re.match(r"(?:that|the one)\b", matter, re.IGNORECASE))
    )


def _last_said(scene: Scene, heard: Heard, own: Place) -> Deed:
    """It names nothing: what stands before it in the same turn, else the last thing noted or said."""
    before = [one for one in scene.here if one.place.end <= heard.start + 1]
    if told := _told_before(scene, heard):
        taken = (own, Place(scene.turn, 0, heard.start), *(one.place for one in told if one.place))
        return Deed("withdraw", changes=tuple(Change(old=one) for one in told), taken=taken)
    if scene.text[: heard.start].strip(" .,") and (before or len(scene.text[: heard.start].split()) > 3):
        found = [scene.of(one) for one in before]
        whole = Place(scene.turn, 0, heard.start, scene.text[: heard.start].strip())
        changes = tuple(Change(old=one) for one in found) or (Change(old=Held(whole.content, place=whole)),)
        return Deed("withdraw", changes=changes, taken=(own, whole))
    last = [one for one in scene.noted if one.place.turn < scene.turn]
    turn = last[-1].place.turn if last else None
    of_turn = [one for one in last if one.place.turn == turn]
    wide = re.search(r"\b(?:any|all|everything|them|those|these)\b", heard.sentence, re.IGNORECASE)
    kept = [one for one in of_turn if one.kept]
    chosen = of_turn if wide or not kept else _sentence_of(scene, kept[-1], of_turn)
    held = [scene.of(one) for one in chosen]
    if not held and scene.last_new is not None:
        held = [one for one in scene.held() if one.content == scene.last_new]
    return Deed(
        "withdraw",
        changes=tuple(Change(old=one) for one in held),
        taken=(own, *(one.place for one in held if one.place)),
    )


def _told_before(scene: Scene, heard: Heard) -> list[Held]:
    """ "The sailing boat is off, delete that": what the clause before it speaks of, noted or kept."""
    clause = re.split(r"[.!?;]\s", scene.text[: heard.start].strip())[-1]
    if not _TAKES_OUT.search(scene.text[heard.start :]) or not content_words(clause):
        return []
    found = meant(clause, scene.held())
    return [] if distinct(clause, found) else found


_TAKES_OUT = re.compile(r"\b(?:forget|delete|remove|erase|wipe|drop|take out|get rid of)\b", re.IGNORECASE)


def _sentence_of(scene: Scene, last: Noted, statements: Sequence[Noted]) -> list[Noted]:
    """All statements of the sentence in which the last one was said."""
    spans = [span for span in sentences(scene.previous) if span[0] < last.place.end and last.place.start < span[1]]
    start, end = (
        min(span[0] for span in spans) if spans else last.place.start,
        max(span[1] for span in spans) if spans else last.place.end,
    )
    return [one for one in statements if one.place.start < end and start < one.place.end]


# --- correct


def _corrected(scene: Scene) -> Deed | None:
    if (one := _self_corrected(scene)) is not None:
        return one
    heard = corrections.correction(scene.text)
    if heard is not None and (deed := _mended(scene, heard)) is not None:
        return deed
    return _restated(scene)


def _self_corrected(scene: Scene) -> Deed | None:
    """ "on the third floor no wait the fourth floor" """
    found = corrections.inside(scene.text)
    if found is None:
        return None
    made = filled(line(found[0]), found[1])
    whole = Place(scene.turn, 0, len(scene.text))
    if len(made) != 1:
        return (
            Deed("correct", taken=(whole,), question=Question("value", (Held(line(found[0])),), tuple(made)))
            if made
            else None
        )
    return Deed("correct", changes=(Change(new=made[0]),), taken=(whole,))


def _mended(scene: Scene, heard: Heard) -> Deed | None:
    """A value for the newest statement that it can be a value of."""
    own = _place(scene, heard)
    fitting = [(target, made) for target in _targets(scene, heard) if (made := _said_anew(target.content, heard))]
    if not fitting:
        return None
    rivals = [one for one in fitting if one[0].place is None] if heard.old and fitting[0][0].place is None else []
    if len(rivals) > 1:
        lines = tuple(made[0] for _, made in rivals)
        return Deed("correct", taken=(own,), question=Question("value", tuple(target for target, _ in rivals), lines))
    target, made = fitting[0]
    if len(made) > 1:
        return Deed("correct", taken=(own,), question=Question("value", (target,), tuple(made)))
    return Deed("correct", changes=(Change(target, made[0]),), taken=(own, *((target.place,) if target.place else ())))


def _targets(scene: Scene, heard: Heard) -> list[Held]:
    """The statements that a value may be meant for, the likeliest first."""
    held = scene.held()
    if heard.old and _of_task(scene, heard.old):
        return []
    if heard.old:
        loose = [scene.of(one) for one in scene.noted if not one.kept]
        return [one for one in reversed([*held, *loose]) if exchanged(one.content, heard.old, heard.value)]
    if heard.matter:
        loose = [scene.of(one) for one in scene.noted if not one.kept]
        return list(reversed(meant(heard.matter, [*held, *loose])))
    about = _of_unit(scene, heard.value) or _focus(scene)
    rest = content_words(re.sub(re.escape(heard.value), " ", heard.sentence, flags=re.IGNORECASE))
    if rest and not about:
        about = [one for one in reversed(held) if any(word in content_words(one.content) for word in rest)]
    return about


def _of_task(scene: Scene, old: str) -> bool:
    """The old value stands in the turn before, which told nothing: it belongs to that task."""
    said = re.search(rf"\b{re.escape(old)}\b", scene.previous, re.IGNORECASE)
    return bool(said) and not any(_of_last_turn(scene, one) for one in scene.noted)


def _of_unit(scene: Scene, fragment: str) -> list[Held]:
    """The newest statement of this chat with a figure of the same unit: "14 hives" is not said of the one who is 12."""
    new = value(fragment)
    if new is None or not new.unit:
        return []
    unit = new.unit.rstrip("s")
    said = [scene.of(one) for one in scene.noted if one.place.turn < scene.turn]
    return [one for one in reversed(said) if any(slot.unit.rstrip("s").endswith(unit) for slot in slots(one.content))][
        :1
    ]


def _focus(scene: Scene) -> list[Held]:
    """What was spoken of just before: the person's last statement, what the last reply told, what was just
    corrected."""
    if scene.last_new is not None:
        found = [one for one in scene.held() if one.content == scene.last_new]
        if found:
            return found[-1:]
    told = [one for one in scene.held() if any(one.content.rstrip(".") in text for text in scene.told)]
    before = [one for one in scene.noted if _of_last_turn(scene, one)]
    said = [scene.of(one) for one in before]
    return [*reversed(said)] or (told if len(told) == 1 else [])


def _of_last_turn(scene: Scene, one: Noted) -> bool:
    return one.place.turn < scene.turn and bool(scene.previous) and one.words.strip() in scene.previous


def _said_anew(old: str, heard: Heard) -> list[str]:
    if heard.old:
        made = exchanged(old, heard.old, heard.value)
        return [made] if made else []
    return filled(old, heard.value)


def _restated(scene: Scene) -> Deed | None:
    """A whole statement of a matter that is noted or kept with another value."""
    for one in scene.here:
        if value(one.content) is not None or re.search(r"\?\s*$", one.words):
            continue
        new = re.sub(r",? (?:and )?not (?:a |the )?[\w.,%]+(?: [\w.,%]+)?$", "", one.content)
        new = _RECENT.sub("", new)
        target = newest(old for old in _likely(new, _before(scene)) if _replaces(scene, one, new, old))
        if target is None or says_again(new, target.content):
            continue
        if _is_part(new, target.content):
            mended = _part_anew(new, target.content)
            if mended is None:
                continue  # it says something of its own; the longer line stays
            new = mended
        taken = (one.place, *((target.place,) if target.place else ()))
        return Deed("correct", changes=(Change(target, new, one.category),), taken=taken)
    return None


def _is_part(new: str, old: str) -> bool:
    """The new line is about one of several things that the old one says: "Ella is 10" beside "two kids, Max is 6 and
    Ella is 9"."""
    head = new.split(" ", 1)[0]
    return bool(re.search(rf".\b{re.escape(head)}\b", old)) and bool(re.search(r",| and ", old))


def _part_anew(new: str, old: str) -> str | None:
    """The old line with the one value after that name said anew; None where it is not certain."""
    head = new.split(" ", 1)[0]
    values = [one for one in slots(new) if one.start > 0]
    at = old.rfind(head)
    after = [one for one in slots(old) if one.start > at and one.kind == values[0].kind] if len(values) == 1 else []
    if not after or after[0].kind == "name":
        return None
    return f"{old[: after[0].start]}{values[0].text}{old[after[0].end :]}"


_RECENT = re.compile(
    r",?\s+(?:last (?:week|month|night)|yesterday|today|this (?:week|morning|month))\W*$", re.IGNORECASE
)
"""When it was is the version's; in the line it would be wrong tomorrow."""


def _before(scene: Scene) -> list[Held]:
    """What a statement may take the place of: of a long chat, what was said lately."""
    late = replace(scene, noted=scene.noted[-LATELY:])
    loose = [scene.of(one) for one in late.noted if not one.kept and one.place.turn < scene.turn]
    return [one for one in [*loose, *late.held()] if one.place is None or one.place.turn < scene.turn]


def _likely(new: str, lines: Sequence[Held]) -> list[Held]:
    """Those of the same matter, and the few that share most words: only these are worth the reader's judgement."""
    words = set(content_words(new))
    shared = {at: len(words & set(content_words(one.content))) for at, one in enumerate(lines)}
    most = sorted((at for at in shared if shared[at]), key=lambda at: (-shared[at], -at))[:FEW]
    return [one for at, one in enumerate(lines) if at in most or same_matter(new, one.content)]


def _replaces(scene: Scene, one: Noted, new: str, old: Held) -> bool:
    """Whether a statement takes the place of an older one: by its words, and by the reader's judgement."""
    marked = bool(_NOW.search(one.words)) or corrections.begins(scene.text)
    tied = (
        scene.tie(old.content, one.words.strip(), scene.previous) if scene.tie and _related(new, old.content) else None
    )
    if tied is not None:
        least = CORRECTS / 2 if marked else CORRECTS
        likely = tied["corrects"] + (tied["repeats"] if other_values(new, old.content) else 0.0)
        return likely >= least and (same_matter(new, old.content) or tied["corrects"] >= CERTAIN)
    return same_matter(new, old.content) and (marked or one.kept)


def _related(new: str, old: str) -> bool:
    return same_matter(new, old) or bool(set(content_words(new)) & set(content_words(old)))


# --- answers to what was asked


def _answered(scene: Scene, asked: Question) -> Deed | None:
    own = Place(scene.turn, 0, len(scene.text))
    if asked.kind == "edit":
        return _edited(scene, asked, own)
    if asked.kind == "value":
        chosen = answers.chosen_line(scene.text, asked.lines)
        if chosen is not None:
            several = len(asked.options) == len(asked.lines)
            old = asked.options[asked.lines.index(chosen)] if several else asked.options[0]
            known = old if old.memory or old.place else None
            return Deed("answer", changes=(Change(known, chosen),), taken=(own, *((old.place,) if old.place else ())))
        return Deed("answer", taken=(own,), dropped=True) if answers.refuses(scene.text) else None
    found = answers.picked(scene.text, asked.options)
    if found:
        taken = (own, *(one.place for one in found if one.place))
        return Deed("answer", changes=tuple(Change(old=one) for one in found), taken=taken)
    return Deed("answer", taken=(own,), dropped=True) if answers.refuses(scene.text) else None


def _edited(scene: Scene, asked: Question, own: Place) -> Deed:
    """The person's word on what a memory should say: written at once only if it was a whole sentence."""
    old = asked.options[0]
    if asked.lines and answers.agrees(scene.text):
        return Deed("edit", changes=(Change(old, asked.lines[0]),), taken=(own,))
    new, whole, unwanted = answers.edited(scene.text, old.content)
    if unwanted or (asked.lines and answers.refuses(scene.text)):
        return Deed("edit", taken=(own,), dropped=True)
    if re.fullmatch(
        r"\W*(?:please )?(?:delete|remove|forget|erase|drop)(?: (?:it|this|that))?\W*", scene.text, re.IGNORECASE
    ):
        return Deed("edit", changes=(Change(old=old),), taken=(own,))
    if whole and new:
        return Deed("edit", changes=(Change(old, new),), taken=(own,))
    return Deed("edit", taken=(own,), question=Question("edit", (old,), (new,) if new else ()))
