"""What a correction means: the newest statement of the same matter gets one new whole sentence, or the person is asked
with that sentence in full. Pure: nothing is written here.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import polarity
from keepbook.models.lines.context import whole
from keepbook.models.lines.matters import (
    adds,
    apart,
    can_mean,
    common_ground,
    content_words,
    ends,
    meant,
    only_one,
    other_values,
    same_frame,
    same_matter,
    says_again,
    told_apart,
)
from keepbook.models.lines.people import subject, with_relation
from keepbook.models.lines.slots import Slot, exchanged, filled, misspelt, of_size, slots, turned, value
from keepbook.models.lines.wording import line
from keepbook.models.noted import ASKS, Noted
from keepbook.models.orders import corrections
from keepbook.models.orders.hear import Heard, sentences
from keepbook.models.orders.scene import Scene
from keepbook.models.orders.values import Change, Deed, Held, Place, Question

LATELY, FEW, SAME = 60, 4, 8
"""How many statements back a correction reaches unsaid, and how many lines the reader is asked about: those that share
most words, and those of the same matter."""
CORRECTS, CERTAIN = 0.5, 0.85
"""From which likelihood on a statement corrects another of the same matter, and one that only seems related."""
HINT = 0.1
"""How likely a statement is worth keeping, at least, for a value to be meant for it: else it belongs to a task."""
_NOW = regex(
    r"\b(?:now|no longer|not any ?more|any ?more|moved|changed|switched|actually|sorry|instead|since|these days|"
    r"meanwhile|not a|just one|turned|left|quit)\b",
    re.IGNORECASE,
)


def corrected(scene: Scene) -> Deed | None:
    if corrections.AFFIRMS.match(scene.text) or corrections.TAKES_BACK.search(scene.text):
        return None
    if corrections.TURNED.search(scene.text) and (deed := _turned(scene)) is not None:
        return deed
    if (one := _self_corrected(scene)) is not None:
        return one
    heard = corrections.correction(scene.text)
    told = heard is not None and bool(heard.old) and bool(_TOLD.match(heard.value))
    if heard is not None and not told and (deed := _mended(scene, heard)) is not None:
        return deed
    return _taken_for_the_opposite(scene) or _restated(scene)


_TOLD = regex(r"(?:\w+ )?[A-ZÀ-Þ][\w-]+ (?:is|was|has|lives|works|turned|turns)\b")
""" "Lea is 5, not 4": a statement about somebody, and no value."""


def _self_corrected(scene: Scene) -> Deed | None:
    """ "on the third floor no wait the fourth floor" """
    found = corrections.inside(scene.text)
    if found is None or not any(one.score >= HINT for one in scene.here):
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


def _turned(scene: Scene) -> Deed | None:
    """ "The other way round, 70 shares and 30 bonds": the newest line that speaks of the same, its values exchanged."""
    words = set(content_words(corrections.TURNED.sub(" ", scene.text))) - set(
        content_words("mix mixed always round way")
    )
    named = [one for one in scene.held() if len(words & set(content_words(one.content))) > 1]
    for target in reversed(named or _focus(scene)):
        if (made := turned(target.content, scene.text)) is not None:
            own = Place(scene.turn, 0, len(scene.text))
            taken = (own, *((target.place,) if target.place else ()))
            return Deed("correct", changes=(Change(target, made),), taken=taken)
    return None


def _mended(scene: Scene, heard: Heard) -> Deed | None:
    """A value for the newest statement that it can be a value of."""
    own = scene.place(heard)
    if (deed := _respelled(scene, heard, own)) is not None:
        return deed
    fitting = [(target, made) for target in _targets(scene, heard) if (made := _said_anew(target.content, heard))]
    if not fitting or len(fitting[0][1]) > 1:
        fitting = _of_size(scene, heard) or fitting
    if not fitting:
        return _asked_for(scene, heard, own)
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
        able = [one for one in reversed([*held, *scene.loose()]) if exchanged(one.content, heard.old, heard.value)]
        return meant(heard.matter, able) or able if heard.matter else able
    if heard.matter:
        return list(reversed(meant(heard.matter, [*held, *scene.loose()])))
    about = _of_unit(scene, heard.value) or _focus(scene) or _behind_a_question(scene, heard.value)
    rest = content_words(re.sub(re.escape(heard.value), " ", heard.sentence, flags=re.IGNORECASE))
    if rest and not about:
        about = [one for one in reversed(held) if any(word in content_words(one.content) for word in rest)]
    return about


def _of_size(scene: Scene, heard: Heard) -> list[tuple[Held, list[str]]]:
    """ "No sorry, 65,000", and what was spoken of just before has none like it: the one line of this chat that has."""
    if heard.old or heard.matter:
        return []
    said = [scene.of(one) for one in scene.noted if one.kept or one.score >= HINT]
    able = [(one, [made]) for one in said if (made := of_size(one.content, heard.value)) is not None]
    return able if len(able) == 1 else []


def _asked_for(scene: Scene, heard: Heard, own: Place) -> Deed | None:
    """ "Make it 2 percent", and nothing was spoken of: the lines with a figure of that unit are asked about."""
    new = value(heard.value)
    if scene.previous or heard.old or heard.matter or not heard.sure or new is None or not _unit(new):
        return None
    able = [(one, made) for one in scene.held() if len(made := filled(one.content, heard.value)) == 1]
    fitting = [(one, made[0]) for one, made in able if any(_unit(slot) == _unit(new) for slot in slots(one.content))]
    if not fitting:
        return None
    lines = tuple(made for _, made in fitting)
    return Deed("correct", taken=(own,), question=Question("value", tuple(one for one, _ in fitting), lines))


def _unit(slot: Slot) -> str:
    return slot.unit.rstrip("s") or (re.search(r"(?:%|percent|x)?$", slot.text) or [""])[0].replace("percent", "%")


def _respelled(scene: Scene, heard: Heard, own: Place) -> Deed | None:
    """A name that is spelled otherwise is so in every line that has it."""
    new = value(heard.value)
    if heard.old or new is None or new.kind not in ("name", "word") or " " in heard.value:
        return None
    said = [scene.of(one) for one in scene.noted if one.kept]
    lines = said or _focus(scene)
    least = ALIKE if not _SPELLED.search(heard.sentence) else ALIKE / 1.5
    old = misspelt(heard.value, [one.content for one in lines], least)
    if old is None:
        return None
    changes = tuple(Change(one, made) for one in lines if (made := exchanged(one.content, old, heard.value)))
    return Deed("correct", changes=changes, taken=(own, *(one.place for one in lines if one.place)))


_SPELLED = regex(r"\b(?:spelled|spelt|spelling|written|letters?|with an? \w\b|without an? ?\w?\b)", re.IGNORECASE)
ALIKE = 0.75
"""How alike a name and its misspelling are, at least."""


def _of_task(scene: Scene, old: str) -> bool:
    """The old value stands in the turn before, which told nothing: it belongs to that task."""
    said = re.search(rf"\b{re.escape(old)}\b", scene.previous, re.IGNORECASE)
    return bool(said) and not any(_of_last_turn(scene, one) for one in scene.noted)


def _of_unit(scene: Scene, fragment: str) -> list[Held]:
    """The newest statement of this chat with a figure of the same unit: "14 hives" is not said of the one who is 12."""
    new = value(fragment)
    if new is None or not new.unit:
        return []
    unit = _unit(new)
    said = [scene.of(one) for one in scene.noted if one.place.turn < scene.turn]
    return [one for one in reversed(said) if any(_unit(slot).endswith(unit) for slot in slots(one.content))][:1]


def _focus(scene: Scene) -> list[Held]:
    """What was spoken of just before: the person's last statement, what the last reply told, what was just
    corrected."""
    if scene.last_new is not None:
        found = [one for one in scene.held() if one.content == scene.last_new]
        if found:
            return found[-1:]
    told = [one for one in scene.held() if any(one.content.rstrip(".") in text for text in scene.told)]
    before = [one for one in scene.noted if _of_last_turn(scene, one) and (one.kept or one.score >= HINT)]
    said = [scene.of(one) for one in before]
    return [*reversed(said)] or (told if len(told) == 1 else [])


def _behind_a_question(scene: Scene, fragment: str) -> list[Held]:
    """What was told last, where only a question came between; one with a value of that kind is corrected itself."""
    new = value(fragment)
    if new is None or not scene.previous.rstrip().endswith("?"):
        return []
    if any(one.kind == new.kind for one in slots(scene.previous)):
        return []
    said = [one for one in scene.noted if one.place.turn < scene.turn and (one.kept or one.score >= HINT)]
    last = max((one.place.turn for one in said), default=None)
    return [scene.of(one) for one in reversed(said) if one.place.turn == last]


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
        if value(one.content) is not None or ASKS.search(one.words):
            continue
        new = DENIED.sub("", one.content)
        new = _WRONG.sub("", _RECENT.sub("", new))
        said = _FIRST.split(new)[0]
        target = next((old for old in _likely(said, _before(scene)) if _replaces(scene, one, said, old)), None)
        if target is None or says_again(new, target.content):
            continue
        if (there := _aged(new, target.content) or _in_its_place(one.content, new, target.content)) is not None:
            new = there
        elif _is_part(new, target.content):
            mended = _part_anew(new, target.content)
            if mended is None:
                continue  # it says something of its own; the longer line stays
            new = mended
        new = with_relation(within(new, target.content), target.content)
        taken = (one.place, *((target.place,) if target.place else ()))
        return Deed("correct", changes=(Change(target, new, one.category),), taken=taken)
    return None


def within(new: str, old: str) -> str:
    """The new line in the place of that part of the old one which it is about. What the old one tells beside it and the
    new one does not speak of stays: "Is allergic to peanuts, they live in Oslo", "The driver is Ruben, be there at 7".
    """
    parts = told_apart(old)
    about = [at for at, part in enumerate(parts) if same_matter(new, part.line) or _related(new, part.line)]
    if len(parts) < 2 or len(about) != 1:
        return new
    one, rest = parts[about[0]], [part for at, part in enumerate(parts) if at != about[0]]
    another = _names(new).isdisjoint(_names(one.line)) and bool(_names(one.line))
    if any(_hangs(part.line) or set(content_words(part.line)) & set(content_words(new)) for part in rest):
        return new
    if another and any(_OF_HIM.match(part.line) for part in rest):
        return new  # what was told of "him" was told of the one whose place is taken
    head, tail = old[: one.start], old[one.end :]
    return f"{head}{new[:1].lower()}{new[1:]}{tail}" if head else f"{new}{tail}"


def _names(text: str) -> set[str]:
    return {slot.text for slot in slots(text) if slot.kind == "name"}


_OF_HIM = regex(r"(?:he|she|it|his|her|its)\b", re.IGNORECASE)


def _hangs(part: str) -> bool:
    """Whether a part says nothing without the one before it: "since May", "right next to the zoo"."""
    return bool(_HANGS.match(part)) or not (whole(part) or slots(f"= {part[:1].lower()}{part[1:]}"))


_HANGS = regex(
    r"(?:since|from|until|till|as|because|so|which|who|when|where|but|even|not|with|of|in|at|on)\b", re.IGNORECASE
)


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


DENIED = regex(r"(?:(?<=\w\w\w)|(?<=\d)),? (?:and )?not (?:a |the )?[\w.,%]+(?: [\w.,%]+)?\W*$")
"""The value that was wrong, behind the one that is right."""
_FIRST = regex(r",\s+(?=\w+ (?:is|are|was|has)\b)")
"""The first of two statements in one sentence: "my manager is Pooja, Priya is the one from HR"."""
_WRONG = regex(r",? (?:i|they) (?:was|were|am|are|have been) (?:wrong|mistaken|confused)\W*$", re.IGNORECASE)
_RECENT = regex(r",?\s+(?:last (?:week|month|night)|yesterday|today|this (?:week|morning|month))\W*$", re.IGNORECASE)
"""When it was is the version's; in the line it would be wrong tomorrow."""


def _before(scene: Scene) -> list[Held]:
    """What a statement may take the place of: of a long chat, what was said lately."""
    late = replace(scene, noted=scene.noted[-LATELY:])
    loose = [scene.of(one) for one in late.noted if not one.kept and one.place.turn < scene.turn]
    return [one for one in [*loose, *late.held()] if one.place is None or one.place.turn < scene.turn]


def _likely(new: str, lines: Sequence[Held]) -> list[Held]:
    """The newest of the same matter, and the few that share most words, from the newest to the oldest: only these are
    worth the reader's judgement."""
    words = set(content_words(new))
    shared = {at: len(words.intersection(content_words(one.content))) for at, one in enumerate(lines)}
    most = sorted((at for at in shared if shared[at]), key=lambda at: (-shared[at], -at))[:FEW]
    same = (at for at in reversed(range(len(lines))) if same_matter(new, lines[at].content))
    return [lines[at] for at in sorted({*most, *islice(same, SAME)}, reverse=True)]


def _replaces(scene: Scene, one: Noted, new: str, old: Held) -> bool:
    """Whether a statement takes the place of an older one: by its words, and by the reader's judgement."""
    if not can_mean(new, old.content):
        return False
    if _denies(one, old) or _says_the_opposite(new, old.content) or _aged(new, old.content) is not None:
        return True
    if apart(new, old.content) or adds(one.words):
        return False
    if ends(new, old.content) or only_one(new, old.content):
        return True
    marked = bool(_NOW.search(one.words)) or corrections.begins(scene.text) or same_frame(new, old.content)
    tied = (
        scene.tie(old.content, one.words.strip(), scene.previous)
        if scene.tie and common_ground(new, old.content)
        else None
    )
    if tied is not None:
        least = CORRECTS / 2 if marked else CORRECTS
        likely = tied["corrects"] + (tied["repeats"] if other_values(new, old.content) else 0.0)
        return likely >= least and (same_matter(new, old.content) or tied["corrects"] >= CERTAIN)
    return same_matter(new, old.content) and (marked or one.kept)


def _in_its_place(words: str, new: str, old: str) -> str | None:
    """ "Works as a joiner, not a carpenter" where it says "Works as a carpenter in Bergen": the rest of it stays."""
    found = DENIED.search(words)
    wrong = _ARTICLE.sub("", found[0].strip(" ,.")) if found else ""
    alike = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(new.split(), old.split(), strict=False))]
    right, rest = " ".join(new.split()[len(alike) :]), " ".join(old.split()[len(alike) :])
    if not wrong or not alike or not rest.startswith(f"{wrong} "):
        return None
    return " ".join([*alike, right + rest[len(wrong) :]])


_ARTICLE = regex(r"(?:and )?not (?:an? |the )?", re.IGNORECASE)


def _taken_for_the_opposite(scene: Scene) -> Deed | None:
    """ "Actually I'm not allergic to cats": the reader may see nothing to keep in it, but a line says otherwise."""
    for start, end in sentences(scene.text):
        new = _WRONG.sub("", line(_LEADS.sub("", scene.text[start:end])))
        fit = (old for old in reversed(_before(scene)) if _says_the_opposite(new, old.content))
        old = (
            None
            if ASKS.search(scene.text[start:end])
            else next((one for one in fit if can_mean(new, one.content)), None)
        )
        if old is not None:
            taken = (Place(scene.turn, start, end), *((old.place,) if old.place else ()))
            return Deed("correct", changes=(Change(old, new),), taken=taken)
    return None


_LEADS = regex(r"\W*(?:(?:correction|actually|no|oh|wait|sorry|well|hm+)\b\W*)+", re.IGNORECASE)


def _says_the_opposite(new: str, old: str) -> bool:
    """ "Is not allergic to cats" where it says "Is allergic to cats", and the other way round."""
    return polarity(new) != polarity(old) and set(content_words(new)) == set(content_words(old))


def _aged(new: str, old: str) -> str | None:
    """ "Max is 5 now" where it says "Son Max is 4 and loves trains"."""
    found = _AGE.match(new)
    if found is None:
        return None
    there = re.search(rf"\b{re.escape(found['who'])} (?:is|turned|turns) (?P<age>\d+)", old)
    return None if there is None else f"{old[: there.start('age')]}{found['age']}{old[there.end('age') :]}"


_AGE = regex(
    r"(?:\w+ )??(?P<who>[A-ZÀ-Þ][\w-]+) (?:is|turned|turns) (?:now )?(?P<age>\d{1,3})\b(?: (?:now|already))?\W*$"
)


def _denies(one: Noted, old: Held) -> bool:
    """ "Anna is allergic to hazelnuts now, not walnuts": what was wrong is named, and the rest is the same."""
    found = DENIED.search(one.content)
    words, wrong = set(content_words(old.content)), set(content_words(found[0])) if found else set()
    about = set(content_words(DENIED.sub("", one.content))) - set(content_words(subject(old.content) or ""))
    return bool(wrong) and wrong <= words and bool(about & (words - wrong))


def _related(new: str, old: str) -> bool:
    return same_matter(new, old) or bool(set(content_words(new)) & set(content_words(old)))
