"""Corrections inside one chat: the later word counts, and only once.

A slip is written into the draft it corrects ("make that 58, not 60"); a new count of the same thing takes
the place of the old one; a ban that is lifted goes.
"""

from __future__ import annotations

import re

from keepbook.book.text.words import polarity
from keepbook.models.closing import rules
from keepbook.models.model import Turn
from keepbook.models.offline.extract import dialog, reconcile
from keepbook.models.offline.extract.drafts import Draft, Reading
from keepbook.models.offline.extract.english import word_set


def amend(state: Reading, turn: Turn, number: int, text: str, mends: bool) -> bool:
    """Write a correction into the draft it corrects; True when the piece says no more than that."""
    pair = dialog.not_old(text)
    if pair:
        new, old = pair
        for draft in reversed(state.drafts):
            if re.search(rf"(?<![\w.]){re.escape(old)}(?!\w)", draft.line()) and not re.search(
                rf"\b{re.escape(new)}\b", draft.line()
            ):
                _replace(draft, old, new, turn)
                return True
        echoed = re.search(rf"\b{re.escape(old)}\b", state.asked)
        if (
            echoed
            and re.fullmatch(rf"\W*{re.escape(new)},? not {re.escape(old)}\W*", text, re.IGNORECASE)
            and any(new in d.line() for d in state.drafts)
        ):
            return True
    clash = {noun: value for value, noun in counted(text)}
    short = (
        len(text.split()) <= 6
        and bool(clash)
        and bool(re.match(r"(?:and |no,? |but )*(?:it's|its|it is|that's|only)\b", text, re.IGNORECASE))
    )
    if not mends and not (
        short and any(clash.get(noun, value) != value for d in state.drafts for value, noun in counted(d.line()))
    ):
        return False
    said = re.match(
        (
            r"(?:and |so |ok )*(?:sorry,? )?(?:make (?:it|that)|let's make (?:it|that)|i mean[t]?|"
            r"should be|it should be) ([\w£€$.%]+)"
        ),
        text,
        re.IGNORECASE,
    )
    found = [v for v in dialog.VALUE.findall(said.group(1) if said else text) if dialog.kind(v) != "name"]
    if len(found) == 2 and dialog.kind(found[1]) == "month":
        found = found[:1]
    if len(found) != 1 or len(text.split()) > 8:
        return False
    new = found[0].rstrip(".,")
    nouns = rules.words(text) - _SLIP_WORDS
    recent = state.user_turns[-1] if state.user_turns else number
    for draft in reversed(state.drafts):
        if (nouns and not nouns & rules.words(draft.line())) or (not nouns and draft.number not in (recent, number)):
            continue
        slots = [
            m.group(0).rstrip(".,")
            for m in dialog.VALUE.finditer(draft.line())
            if _alike(dialog.kind(m.group(0)), dialog.kind(new))
        ]
        near = [
            v
            for v in slots
            if nouns
            and re.search(
                rf"{re.escape(v)}\W+(?:\w+\W+)?(?:{'|'.join(map(re.escape, nouns))})", draft.line(), re.IGNORECASE
            )
        ] or slots
        if near and near[0].lower() != new.lower():
            _replace(draft, near[0], new, turn)
            return True
    return False


_SLIP_WORDS = word_set(
    """
    wait sorri actual mean make she he that it no shes hes look check let not rather oop correct too mani
    """
)


def take_back(state: Reading, sentence: str) -> None:
    """ "Scratch that, Friday's fine" lifts the ban on Fridays."""
    for found in re.finditer(
        r"\b(\w{4,}?)s?(?:'s| is| are) (?:fine|ok|okay|allowed|good|back on)\b", sentence, re.IGNORECASE
    ):
        lifted = reconcile.stem_of(found.group(1))
        state.drafts = [d for d in state.drafts if not (lifted in rules.words(d.line()) and polarity(d.line()))]


def _alike(a: str, b: str) -> bool:
    return a == b or {a, b} <= {"number", "money", "percent"}


def _replace(draft: Draft, old: str, new: str, turn: Turn) -> None:
    old_suffix = re.sub(r"^[£€$]?[\d.,']+", "", old) if old[:1].isdigit() else ""
    if re.fullmatch(r"[\d.,]+(?:st|nd|rd|th)", new) and not old_suffix:
        new = re.sub(r"(?:st|nd|rd|th)$", "", new)
    draft.content = re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, draft.line(), count=1)
    draft.turn_ids.append(turn.id)


def supersede(state: Reading, new: Draft, mends: bool) -> None:
    """A later word on the same counted thing, or after "scratch that", takes the place of the earlier one."""
    fresh = {noun: value for value, noun in counted(new.line())}
    keep: list[Draft] = []
    for old in state.drafts:
        before = {noun: value for value, noun in counted(old.line())}
        clash = [n for n in fresh if n in before and fresh[n] != before[n]]
        if clash and (mends or (len(rules.words(old.line())) <= 5 and rules.overlap(new.line(), old.line()) >= 0.3)):
            new.turn_ids = list(dict.fromkeys([*old.turn_ids, *new.turn_ids]))
            continue
        keep.append(old)
    state.drafts = keep


def counted(text: str) -> list[tuple[str, str]]:
    found = re.findall(
        (
            r"(?<!\w)((?:[£€$]?\d[\d.,]*%?)|one|two|three|four|five|six|ten|twenty)[ -](?:new |max |more |"
            r"of )?([a-z]{3,})"
        ),
        text,
        re.IGNORECASE,
    )
    found += [
        (v, n)
        for n, v in re.findall(r"\b(stop|target|limit|cap|max|risk)(?: is| of| at|:)? (\d[\d.,]*)", text, re.IGNORECASE)
    ]
    return [
        (v.lower(), reconcile.stem_of(n))
        for v, n in found
        if n.lower() not in ("and", "the", "per", "percent", "each", "year", "years", "month", "months")
    ]
