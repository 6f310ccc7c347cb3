"""Answers: what a reply says only together with the question or the offer before it.

"Around 48k" after "annual spending?", "my sister" after "who is Devorah?", a bare yes to "shall I note that
you prefer mornings?", a new value for something known ("still 8%?" – "went up to 11").
"""

from __future__ import annotations

import re

from keepbook.book.text.words import numbers
from keepbook.models.closing import rules
from keepbook.models.model import Turn
from keepbook.models.offline.extract import dialog, evidence, reconcile, speech_acts
from keepbook.models.offline.extract.drafts import Draft, Reading, barred, lower
from keepbook.models.offline.extract.people import Person, introduced
from keepbook.models.offline.extract.third_person import line


def says_who(state: Reading, turn: Turn, number: int, sentence: str, question: str) -> bool:
    """ "my sister, she…" in answer to "Who is Devorah?"."""
    who = re.search(r"\b[Ww]ho(?:'s| is) ([A-Z]\w+)", question)
    relation = introduced(speech_acts.opening(sentence)) if who else None
    if not who or not relation:
        return False
    rest = re.sub(
        rf"^.*?\b{re.escape(relation)}\b[\s,]*(?:and )?",
        "",
        speech_acts.opening(sentence),
        count=1,
        flags=re.IGNORECASE,
    ).strip(" .!")
    told = f"{who.group(1)} is their {relation}" + (f", {lower(line(rest))}" if rest else "")
    state.drafts.append(Draft(sentence, 2.8, ("people",), [turn.id], number, content=told, subject=who.group(1)))
    state.person = Person(who.group(1), True)
    return True


def only_repeats(state: Reading, sentence: str) -> bool:
    """Confirming what the book already says ("yep, Yusuf and the boys, 60 grand, all correct")."""
    if not state.existing or not re.search(
        (
            r"^(?:yes|yep|yeah|yup|right|correct|exactly)\b|\bcorrect\b|\bthat's right\b|\bas you know\b|"
            r"\byou know\b|\bas (?:usual|always)\b|\bstill\b"
        ),
        sentence,
        re.IGNORECASE,
    ):
        return False
    known = " ".join(k.content for k in state.existing)
    held = numbers(known) | {n[:-3] for n in numbers(known) if n.endswith("000")}
    if numbers(sentence) - held:
        return False
    fresh = (
        rules.words(sentence)
        - rules.words(known)
        - {"correct", "right", "yep", "yes", "boy", "know", "grand", "good", "pleas", "usual", "still", "alway"}
    )
    return bool(rules.words(sentence) & rules.words(known)) and len(fresh) <= 1


def answer(state: Reading, turn: Turn, number: int, sentence: str, question: str, lasting: bool) -> None:
    """An answer too short to stand: join it with what was asked."""
    bare = speech_acts.opening(sentence).strip(" .!")
    reason = evidence.ruled_out(sentence, sentence)
    if made := dialog.completed(question, sentence):
        state.drafts.append(Draft(sentence, 2.2, ("answer",), [turn.id], number, content=made))
        return
    if not dialog.lasting_question(question):
        return
    if (dialog.YES.match(sentence) and len(sentence.split()) <= 3) or (
        dialog.NO.match(sentence) and len(sentence.split()) <= 4
    ):
        made = dialog.as_statement(question, bool(dialog.YES.match(sentence)))
        if made:
            state.drafts.append(Draft(sentence, 2.2, ("answer",), [turn.id], number, content=made))
        return
    if (
        not lasting
        or reason
        in ("bare number", "question", "hypothetical", "hedged", "sarcasm", "passing", "one-off request", "chatter")
        or not dialog.fragment(bare)
    ):
        return
    heading = dialog.topic(question)
    solid = re.search(
        r"\d|[A-Z]{2,}|(?<!^)\b[A-Z][a-z]+|\b(?:every|always|never|only|" + evidence.THEME.pattern + ")", bare
    ) or re.match(r"[A-Z]\w+(?:\s|$)", bare)
    if heading and (solid or len(bare.split()) >= 3) and not re.fullmatch(r"[\d.,]+(?: even|ish)?", bare):
        state.drafts.append(
            Draft(sentence, 2.3, ("answer",), [turn.id], number, content=f"{heading}: {lower(line(sentence))}")
        )


def answer_known(state: Reading, turn: Turn, number: int, sentence: str, question: str) -> bool:
    """A new value for something known that the assistant asked about ("still 8%?" – "went up to 11")."""
    for known in state.existing:
        linked = rules.overlap(question, known.content) >= 0.5 or reconcile.attributes(question) & reconcile.attributes(
            known.content
        )
        if not linked and not numbers(question) & numbers(known.content):
            continue
        if (dialog.YES.match(sentence) and len(sentence.split()) <= 4) or (
            re.search(r"\bstill\b|\bsame\b", sentence, re.IGNORECASE) and not re.search(r"\d", sentence)
        ):
            return True
        changed = reconcile.with_new_value(known.content, sentence)
        if (
            changed
            and len(sentence.split()) <= 9
            and len(numbers(sentence)) == 1
            and not speech_acts.question(sentence)
            and not speech_acts.hedged(sentence)
            and not speech_acts.passing(re.sub(r"\b(?:up|down) to \d\S*", "", sentence))
        ):
            state.drafts.append(Draft(sentence, 2.8, ("change",), [turn.id], number, content=changed, target=known))
            return True
    return False


def take_up(state: Reading, turn: Turn, number: int, first: str) -> None:
    """A proposal the person takes."""
    if not dialog.YES.match(first) or re.match(r"\W*i like\b(?! that| it)", first, re.IGNORECASE):
        return
    offered = dialog.proposal(state.asked) if dialog.asks_to_keep(state.asked) else None
    if offered is None and (habit := dialog.offers_habit(state.asked)):
        offered = (
            f"Wants {habit}" if re.match(r"(?:an?|the|some|my|one)\b", habit) else f"Wants the assistant to {habit}"
        )
    if offered is None and not speech_acts.question(first):
        offered = dialog.agreed_rule(state.asked, first)
    if not offered or barred(state, offered):
        return
    if any(reconcile.says_the_same(offered, d.line()) for d in state.drafts):
        return
    state.drafts.append(Draft(offered, 2.6, ("order",), [turn.id], number, content=line(offered)))
