"""What the person takes back or wants forgotten: "off the record", "leave that out", "delete that goal".

Such a wish reaches back to what was just said, forward for the rest of the turn, or to a memory already in
the book. What was declined once stays out for the rest of the chat.
"""

from __future__ import annotations

import re

from keepbook.models.closing import rules
from keepbook.models.model import Known, Turn
from keepbook.models.offline.extract import dialog
from keepbook.models.offline.extract.drafts import Reading


def withdraws(state: Reading, turn: Turn, number: int, sentence: str, n: int) -> bool:
    """ "Don't keep that", "off the record", a no to "shall I remember it?", "delete that goal from your memory"."""
    refused_keeping = n == 0 and dialog.asks_to_keep(state.asked) and bool(dialog.NO.match(sentence))
    if dialog.AHEAD.search(sentence) and (n == 0 or len(sentence.split()) > 5):
        return True
    forgets = rules.FORGET.search(sentence) and not dialog.one_off_delete(sentence)
    if forgets:
        hit = _known_in(state, turn.text)
        if hit is not None and (
            dialog.MEMORY_WORD.search(turn.text) or re.search(r"\bforget\b", sentence, re.IGNORECASE)
        ):
            state.forgotten.append((hit, turn.id))
            state.drafts = [d for d in state.drafts if d.number != number or rules.overlap(d.line(), hit.content) < 0.2]
            state.declined.append(rules.words(hit.content))
            return True
    if not (rules.DECLINE.search(sentence) or dialog.AHEAD.search(sentence) or refused_keeping):
        return False
    offered = dialog.proposal(state.asked) if dialog.asks_to_keep(state.asked) else None
    if forgets and (about := re.search(r"\babout (.+)", sentence)):
        state.declined.append(rules.words(about.group(1)))
    if dialog.ALL.search(sentence):
        gone = list(state.drafts)
    elif (n > 0 and any(d.number == number for d in state.drafts)) or n > 1:
        gone = [d for d in state.drafts if d.number == number]
    elif offered:
        state.declined.append(rules.words(offered))
        gone = [d for d in state.drafts if rules.overlap(d.line(), offered) >= 0.5]
    else:
        before = state.user_turns[-1] if state.user_turns else -1
        gone = [d for d in state.drafts if d.number in (before, number)]
    for draft in gone:
        state.declined.append(rules.words(draft.line()))
        state.skipped.append((draft.line(), "declined", turn.id))
    state.drafts = [d for d in state.drafts if d not in gone]
    return True


def _known_in(state: Reading, text: str) -> Known | None:
    """The known memory that a wish to forget speaks of."""
    best: tuple[int, Known] | None = None
    for known in state.existing:
        shared = len(rules.words(text) & rules.words(known.content))
        if shared and (best is None or shared > best[0]):
            best = (shared, known)
    if best is None and state.asked:
        return _known_in(Reading(state.existing, state.zone, ()), state.asked)
    return best[1] if best else None
