"""What an order means, among what this chat has noted and what the book says. Pure: nothing is written here.

A withdrawal of a matter means every statement of it; one that names nothing means the last thing said. A correction
means
the newest statement of the same matter and says it in one whole sentence, or asks with that sentence in full.
Several that
could be meant: the person is asked, and nothing happens before the answer.
"""

import re
from collections.abc import Sequence

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.matters import content_words, distinct, meant, part_of, says_again, without
from keepbook.models.lines.people import names_only_people, of_those
from keepbook.models.noted import Noted
from keepbook.models.orders import answers, never
from keepbook.models.orders.hear import TAKES_OUT, Heard, put_back, sentences, undo, withdrawals
from keepbook.models.orders.mend import corrected
from keepbook.models.orders.scene import Scene
from keepbook.models.orders.values import Change, Deed, Held, Place, Question


def decide(scene: Scene) -> list[Deed]:
    """The deeds of a turn, in order; empty where it gives no order."""
    if scene.asked is not None and (deed := _answered(scene, scene.asked)) is not None:
        return [deed]
    if heard := undo(scene.text):
        return [Deed("undo", taken=(scene.place(heard),), of=_last_order(scene))]
    if (heard := put_back(scene.text)) and (last := _just_ordered(scene)) is not None:
        return [Deed("undo", taken=(scene.place(heard),), of=last)]
    deeds = [_never(scene, heard, topics) for heard, topics in never.topics_named(scene.text)]
    if not deeds:
        deeds = [deed for heard in withdrawals(scene.text) for deed in _withdrawn(scene, heard)]
    if not deeds and (deed := corrected(scene)) is not None:
        deeds = [_wherever_said(scene, deed)]
    return deeds


def _wherever_said(scene: Scene, deed: Deed) -> Deed:
    """What was said twice is corrected in both places: else closing would find the old word again."""
    wrong = [one.content for one in scene.noted if one.place in deed.taken]
    wrong += [change.old.content for change in deed.changes if change.old is not None]
    again = [one.place for one in scene.noted if any(_same(one.content, text) for text in wrong)]
    return deed.moved(taken=tuple(dict.fromkeys((*deed.taken, *again))))


def _same(one: str, other: str) -> bool:
    return says_again(one, other) and says_again(other, one)


def _last_order(scene: Scene) -> int | None:
    """The turn that last ordered something which still holds."""
    return max((turn for turn, deeds in scene.orders.items() if any(deed.done for deed in deeds)), default=None)


def _just_ordered(scene: Scene) -> int | None:
    """The same, if it is the turn just before: "keep it" said of anything else is no order to take back."""
    last = _last_order(scene)
    return last if last is not None and last == max(scene.orders, default=None) else None


# --- withdraw


def _never(scene: Scene, heard: Heard, topics: tuple[str, ...]) -> Deed:
    return Deed("never", ", ".join(topics), topics=topics, taken=(scene.place(heard),))


def _withdrawn(scene: Scene, heard: Heard) -> list[Deed]:
    own = scene.place(heard)
    if heard.ahead:
        return [Deed("withdraw", taken=(own,))]
    if not heard.matter:
        return [_last_said(scene, heard, own)]
    parts = _parts(heard.matter)
    return [deed for part in parts for deed in _matter_withdrawn(scene, heard, part, own)]


def _parts(matter: str) -> list[str]:
    """ "My weight and my height": two matters; "salt and pepper" is one."""
    parts = re.split(r"\s*,?\s+(?:and|or)\s+(?=(?:my|the|our|where|what|that)\b)", matter, flags=re.IGNORECASE)
    who = _NAME.search(parts[0])
    named = [parts[0], *(_HE.sub(who[0], part) if who else part for part in parts[1:])]
    return [part for part in named if content_words(part)] or [matter]


_NAME = regex(r"(?<=\s)[A-ZÀ-Þ][\w-]+")
_HE = regex(r"\b(?:he|she|they)\b", re.IGNORECASE)


def _matter_withdrawn(scene: Scene, heard: Heard, matter: str, own: Place) -> list[Deed]:
    lines = [*scene.held(), *scene.waiting_elsewhere, *scene.loose()]
    found = meant(matter, lines)
    if found and names_only_people(matter):  # "my wife": also what is told of her by her name
        theirs = set(of_those(matter, (one.content for one in lines)))
        found = [one for one in lines if one in found or one.content in theirs]
    if not found and not heard.sure:
        return []
    if distinct(matter, found):
        return [Deed("withdraw", matter, taken=(own,), question=Question("which", tuple(found)))]
    shared = [(one, rest) for one in found if (rest := without(matter, one.content)) is not None]
    if shared:  # what it says of others stays: the person is shown the line that is left
        alone = [one for one in found if one not in dict(shared)]
        asked = Question("value", (shared[0][0],), (shared[0][1],))
        deeds = [_gone(matter, alone, own)] if alone else []
        return [*deeds, Deed("withdraw", matter, taken=(own,), question=asked)]
    parts = {one: part for one in found if (part := _part(scene, matter, one)) is not None}
    return [_gone(matter, [one for one in found if one not in parts], own, tuple(parts.values()))]


def _part(scene: Scene, matter: str, one: Held) -> Change | None:
    """What goes of a line that tells other things too. Of the book's it is said anew without it; of this chat's words
    only those go, and what is left of them is read again."""
    if one.memory is not None or one.place is None:
        cut = part_of(matter, one.content)
        return cut and Change(one, one.content[: cut[0]] + one.content[cut[1] :])
    words = next((said.words for said in scene.noted if said.place == one.place), "")
    cut = part_of(matter, words)
    if cut is None:
        return None
    start, gone = one.place.start + cut[0], words[slice(*cut)].strip(" ,;")
    return Change(old=Held(gone, place=Place(one.place.turn, start, one.place.start + cut[1], gone)))


def _gone(matter: str, found: Sequence[Held], own: Place, parts: tuple[Change, ...] = ()) -> Deed:
    changes = (*(Change(old=one) for one in found), *parts)
    taken = (own, *(one.old.place for one in changes if one.old and one.old.place))
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
    if not TAKES_OUT.search(scene.text[heard.start :]) or not content_words(clause):
        return []
    found = meant(clause, scene.held())
    return [] if distinct(clause, found) else found


def _sentence_of(scene: Scene, last: Noted, statements: Sequence[Noted]) -> list[Noted]:
    """All statements of the sentence in which the last one was said."""
    spans = [span for span in sentences(scene.previous) if span[0] < last.place.end and last.place.start < span[1]]
    start, end = (
        min(span[0] for span in spans) if spans else last.place.start,
        max(span[1] for span in spans) if spans else last.place.end,
    )
    return [one for one in statements if one.place.start < end and start < one.place.end]


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
    taken = (own, *((old.place,) if old.place else ()))
    if asked.lines and answers.agrees(scene.text):
        return Deed("edit", changes=(Change(old, asked.lines[0]),), taken=taken)
    new, whole, unwanted = answers.edited(scene.text, old.content)
    if unwanted or (asked.lines and answers.refuses(scene.text)):
        return Deed("edit", taken=(own,), dropped=True)
    if re.fullmatch(
        r"\W*(?:please )?(?:delete|remove|forget|erase|drop)(?: (?:it|this|that))?\W*", scene.text, re.IGNORECASE
    ):
        return Deed("edit", changes=(Change(old=old),), taken=taken)
    if whole and new:
        return Deed("edit", changes=(Change(old, new),), taken=taken)
    return Deed("edit", taken=(own,), question=Question("edit", (old,), (new,) if new else ()))
