"""The offline extractor: what a chat says about its person that is worth keeping.

One pass over the turns. Only the person's own words are evidence; the assistant's turns lend context
(a question to an answer, a proposal to a yes). What is found are drafts; later turns mend, supersede or
withdraw them; at the end each draft is compared with what is already known and becomes a candidate.
Deterministic and pure: no database, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.text.secrets import find_secrets
from keepbook.models.closing import rules
from keepbook.models.model import Candidate, Known, Turn
from keepbook.models.offline.extract import dialog, evidence, other_languages, reconcile, speech_acts
from keepbook.models.offline.extract.answers import answer, answer_known, only_repeats, says_who, take_up
from keepbook.models.offline.extract.categories import category
from keepbook.models.offline.extract.clauses import Piece, own_words, pieces, sentences, squeezed, tidy
from keepbook.models.offline.extract.corrections import amend, supersede, take_back
from keepbook.models.offline.extract.dates import said_from
from keepbook.models.offline.extract.drafts import Draft, Reading, barred, lower
from keepbook.models.offline.extract.people import antecedent, relations
from keepbook.models.offline.extract.third_person import line
from keepbook.models.offline.extract.withdrawals import withdraws

_SECRET_CUE = re.compile(
    r"\b(?:password|passcode|passphrase|passwd|pwd?|pin|cvv|cvc|api[ -]?key|access token|"
    r"secret key|(?:alarm|door|gate|entry|access|security|locker|safe|lock) code|"
    r"card(?: number|'s)?|account (?:number|no)|iban|sort code|routing number|ssn|social security|"
    r"passport (?:number|no)|licen[cs]e (?:number|no)|loyalty (?:number|no)|"
    r"member(?:ship)? (?:number|no|id)|login|wi-?fi|passwort|kennwort|geheimzahl|contraseña|clave|"
    r"passord|密码|รหัส)\b[^.!?]{0,25}?(?:\d{3,}|\bis\b|:|/)|密码|รหัสผ่าน",
    re.IGNORECASE,
)
_ACK_KEPT = re.compile(
    r"\b(?:noted|understood|got it|saved|will do|i'll (?:keep|remember|hold|bear|prepare|raise|"
    r"use)|always|from now on|duly|it is|clear|recorded|notert|notiert|anotado|entendido|记住|明白)\b|"
    r"^(?:ok|both)\b",
    re.IGNORECASE,
)
_ACK_DONE = re.compile(
    (
        r"^(?:done|booked|moved|sent|added|archived|reserved|cancelled|removed|here|draft|summary|"
        r"deleted|labelled)\b"
    ),
    re.IGNORECASE,
)
_CUE_ONLY = 7
_LINE = (4, 500)


def extract(
    turns: Sequence[Turn],
    existing: Sequence[Known],
    *,
    block: str | None,
    vocabulary: Sequence[str],
    zone: str,
    never: Sequence[str] = (),
    summary: str | None = None,
) -> list[Candidate]:
    """Candidates found in the turns, in the order they were said."""
    state = Reading(existing, zone, tuple(n.lower() for n in never))
    if summary:
        # What came before the watermark can lend a name to a pronoun, nothing more.
        state.person = antecedent(summary, None)
    turns = [replace(turn, text=squeezed(turn.text)) for turn in turns]
    for number, turn in enumerate(turns):
        if turn.role == "user":
            state.asked = _neighbour(turns, number, -1)
            state.answered = _neighbour(turns, number, +1)
            _read(state, turn, number, own_words(turn.text, block))
            state.user_turns.append(number)
    return _settle(state, vocabulary)


def _neighbour(turns: Sequence[Turn], number: int, step: int) -> str:
    at = number + step
    while 0 <= at < len(turns) and turns[at].role == "tool":
        at += step
    return turns[at].text if 0 <= at < len(turns) and turns[at].role == "assistant" else ""


# --- one turn ---------------------------------------------------------------------------------------


def _read(state: Reading, turn: Turn, number: int, own: str) -> None:
    tongue = state.tongue = other_languages.detect(own, state.tongue)
    if tongue != "en":
        _read_foreign(state, turn, number, own, tongue)
        return
    plain = tidy(own)
    said = [dialog.mend_inside(s) for s in sentences(plain)]
    hush = joking = supposing = False
    # "and the spare key is…" after something that was just taken down goes on dictating.
    more = bool(re.match(r"(?:and|also|plus|oh and)\b", plain, re.IGNORECASE) and _ACK_KEPT.search(state.asked))
    carry = 0.7 if more and any(d.number == (state.user_turns or [-1])[-1] for d in state.drafts) else 0.0
    state.heading = None
    state.mending = False
    for n, sentence in enumerate(said):
        if dialog.ON_RECORD.search(sentence) or speech_acts.EARNEST.search(sentence):
            hush = joking = supposing = False
        if withdraws(state, turn, number, sentence, n):
            hush = hush or bool(dialog.AHEAD.search(sentence))
            continue
        joking = joking or bool(speech_acts.SARCASM.search(sentence))
        supposing = supposing or bool(
            re.search(
                (
                    r"\b(?:theoretical\w*|hypothetical\w*|pretend|thought experiment|purely curious|"
                    r"just curious)\b"
                ),
                sentence,
                re.IGNORECASE,
            )
        )
        if hush or joking or supposing or speech_acts.THIS_ONCE.search(plain):
            continue
        if find_secrets(sentence) or _SECRET_CUE.search(sentence):
            continue
        _sentence(state, turn, number, sentence, n, carry)
        if evidence.CUED.search(sentence) and len(sentence.split()) <= _CUE_ONLY:
            carry = 0.9
    if said:
        take_up(state, turn, number, said[0])


def _sentence(state: Reading, turn: Turn, number: int, sentence: str, n: int, carry: float) -> None:
    question = dialog.last_question(state.asked) if n <= 1 else None
    lasting = bool(question and n == 0 and dialog.lasting_question(question)) and not re.match(
        r"\W*(?:no|nope|nah|not yet)\b", sentence, re.IGNORECASE
    )
    if (
        n == 0
        and question
        and (says_who(state, turn, number, sentence, question) or answer_known(state, turn, number, sentence, question))
    ):
        return
    if only_repeats(state, sentence):
        state.skipped.append((line(sentence), "already known", turn.id))
        return
    mends = bool(dialog.CORRECTS.search(sentence)) or state.mending
    state.mending = len(sentence.split()) <= 4 and bool(dialog.CORRECTS.search(sentence))
    if mends:
        take_back(state, sentence)
    parts = pieces(sentence, evidence.STANDS)
    kept: list[Draft] = []
    jobs = -0.8 if any(speech_acts.one_off(p.text) for p in parts) else 0.0
    for at, part in enumerate(parts):
        if at + 1 < len(parts) and parts[at + 1].joint == ":" and not evidence.stands_alone(part.text):
            state.heading = line(part.text) if dialog.lasting_theme(part.text) and len(part.text.split()) <= 6 else None
            continue
        if amend(state, turn, number, part.text, mends):
            kept.append(state.drafts[-1])
            continue
        bonus = carry + jobs + (0.9 if lasting else 0.0) + (0.4 if state.heading else 0.0) + _listed(part, kept)
        draft = _weigh_piece(state, turn, number, part, bonus, answering=lasting)
        before, state.person = state.person, antecedent(part.text, state.person)
        if draft is None:
            continue
        if evidence.hollow(part.text) and not (
            lasting and not kept and not speech_acts.opening(part.text).lower().startswith("not ")
        ):
            _attach(state, draft, number, kept)
            continue
        leans = (
            dialog.fragment(part.text)
            or bool(re.match(r"(?:never|no|not|max|at most) (?:more|over|above)\b", part.text, re.IGNORECASE))
            or bool(re.search(r"\b(?:em|them|it|those|one|any)\W*$", part.text, re.IGNORECASE))
        )
        if lasting and question and leans and not kept:
            heading = dialog.topic(question)
            if heading and heading.lower() not in draft.line().lower():
                draft.content = f"{heading}: {lower(draft.line())}"
        elif not kept and state.heading and not re.search(rf"\b{re.escape(state.heading)}\b", part.text, re.IGNORECASE):
            draft.content = f"{state.heading}: {lower(draft.line())}"
            state.drafts = [d for d in state.drafts if d is not state.weak]
        if part.joint.startswith(("so", "and so")) and re.search(
            r"\b(?:both|that|it|this|them|those|these)\b\W*$", part.text, re.IGNORECASE
        ):
            reason = sentence[: max(sentence.find(part.text) - len(part.joint) - 1, 0)].strip(" ,")
            draft.content = (
                f"{draft.line()} ({lower(line(reason, he=before.name if before else None))})"
                if reason
                else draft.content
            )
        supersede(state, draft, mends)
        state.drafts.append(draft)
        kept.append(draft)
    _add_relations(state, turn, number, parts)
    if n == 0 and question and not kept:
        answer(state, turn, number, sentence, question, lasting)
    if (
        len(kept) == 1
        and len(sentence.split()) <= 3
        and not re.search(r"\d|\bno\b|\bnever\b", sentence, re.IGNORECASE)
        and dialog.lasting_theme(sentence)
    ):
        state.heading, state.weak = line(sentence), kept[0]
        return
    short = len(sentence.split()) <= 4 and not kept and evidence.ruled_out(sentence, sentence) in (None, "past")
    state.heading = (
        line(sentence) if short and dialog.lasting_theme(sentence) and not evidence.hollow(sentence) else None
    )


def _listed(part: Piece, kept: Sequence[Draft]) -> float:
    """A bare thing after a thing that counted counts too: "an IRA at Fidelity, … and a small HSA"."""
    if (
        re.match(r"(?:i'm|i am|we're|we are|me,|us,)", speech_acts.opening(part.sentence), re.IGNORECASE)
        and not part.first
        and dialog.fragment(part.text)
    ):
        return 1.3
    if (
        kept
        and not part.first
        and dialog.fragment(part.text)
        and evidence.THEME.search(part.text)
        and len(part.text.split()) <= 6
    ):
        return 1.0 if set(kept[-1].features) & {"state", "only", "identity", "none", "rule", "people"} else 0.0
    return 0.0


def _attach(state: Reading, draft: Draft, number: int, kept: Sequence[Draft]) -> None:
    """ "…, not now, not ever" strengthens the line before it; alone it says nothing."""
    host = kept[-1] if kept else next((d for d in reversed(state.drafts) if d.number == number), None)
    if host is not None and len(host.line()) < 160:
        host.content = f"{host.line()}, {lower(draft.line())}"
    elif state.heading:
        draft.content = f"{state.heading}: {lower(draft.line())}"
        state.drafts.append(draft)


def _weigh_piece(
    state: Reading, turn: Turn, number: int, part: Piece, bonus: float, *, answering: bool = False
) -> Draft | None:
    text = part.text
    if barred(state, text):
        state.skipped.append((text, "declined or never to be kept", turn.id))
        return None
    said_of = re.match(r"(?:so |and |but )?(?:he|she|they|his|her|hes|shes)\b", text, re.IGNORECASE)
    if said_of and state.person is not None and not state.person.near:
        return None
    if speech_acts.THIS_ONCE.search(part.sentence):
        return None
    if evidence.LOOSE_SUBJECT.match(speech_acts.opening(text)):
        return None
    if _ACK_KEPT.search(state.answered):
        bonus += 0.3
    elif _ACK_DONE.match(state.answered):
        bonus -= 0.5
    if said_of and state.person is not None:
        bonus += 0.5
    weighed = evidence.weigh(text, part.sentence, bonus=bonus, answering=answering)
    if not weighed.kept:
        if weighed.reason:
            state.skipped.append((text, weighed.reason, turn.id))
            if weighed.reason == "hedged" and weighed.weight >= evidence.BAR:
                _note_conflict(state, turn, text)
        return None
    name = state.person.name if state.person else None
    draft = Draft(
        text,
        weighed.weight,
        weighed.features,
        [turn.id],
        number,
        he=name if name and re.search(r"\b(?:he|she|him|her|hes|shes)\b", text, re.IGNORECASE) else None,
    )
    if re.match(r"(?:due|launching|shipping)\b", text, re.IGNORECASE) and (
        head := re.match(r"\W*(?:\w+ )?([A-Z][\w-]+)(?:'s| is)\b", part.sentence)
    ):
        draft.content = f"{head.group(1)}: {lower(draft.line())}"
    draft.valid_from = said_from(text, turn.at, state.zone)
    if len(draft.line().split()) < 2 and not re.search(r"\d", draft.line()):
        return None
    return draft


def _note_conflict(state: Reading, turn: Turn, text: str) -> None:
    verdict = reconcile.against(line(text), state.existing, hedged=True)
    if verdict.op == "skip":
        state.skipped.append((line(text), f"{verdict.target}|{verdict.reason}", turn.id))


def _add_relations(state: Reading, turn: Turn, number: int, parts: Sequence[Piece]) -> None:
    """ "…with my wife Priscila" also says who the wife is."""
    for part in parts:
        if speech_acts.question(part.text) or speech_acts.hypothetical(part.text) or barred(state, part.text):
            continue
        for relation in relations(speech_acts.opening(part.text)):
            told = any(
                relation.name in d.line()
                and re.match(rf"(?:{re.escape(relation.noun)}\b|{re.escape(relation.name)})", d.line(), re.IGNORECASE)
                for d in state.drafts
            )
            if not told and not any(relation.name in k.content for k in state.existing):
                state.drafts.append(
                    Draft(
                        part.text, 2.6, ("people",), [turn.id], number, content=relation.line(), subject=relation.name
                    )
                )


# --- other languages --------------------------------------------------------------------------------


def _read_foreign(state: Reading, turn: Turn, number: int, own: str, tongue: str) -> None:
    hush = False
    for n, sentence in enumerate(other_languages.sentences_of(own, tongue)):
        if rules.DECLINE.search(sentence) or (
            n == 0 and dialog.asks_to_keep(state.asked) and dialog.NO.match(sentence)
        ):
            withdraws(state, turn, number, sentence, n)
            hush = hush or bool(dialog.AHEAD.search(sentence))
            continue
        if hush or find_secrets(sentence) or _SECRET_CUE.search(sentence):
            continue
        for found in other_languages.read(
            sentence, tongue, answering=n == 0 and state.asked.rstrip().endswith(("?", "？", "ครับ", "คะ", "吗", "呢"))
        ):
            if not barred(state, found.text):
                state.drafts.append(
                    Draft(found.text, found.weight, found.features, [turn.id], number, content=found.text)
                )


# --- settling ---------------------------------------------------------------------------------------


def _settle(state: Reading, vocabulary: Sequence[str]) -> list[Candidate]:
    out: list[Candidate] = []
    taken: dict[str, int] = {}
    for draft in _distinct(state.drafts):
        content = re.sub(r"\s+", " ", draft.line()).strip()[: _LINE[1]]
        if len(content) < _LINE[0] or find_secrets(content):
            continue
        if draft.target is not None:
            verdict = reconcile.settle_on(draft.target)
        else:
            verdict = reconcile.against(content, state.existing)
        if verdict.op == "update" and verdict.target in taken:
            at = taken[verdict.target]
            out[at] = replace(out[at], content=f"{out[at].content}; {lower(content)}"[: _LINE[1]])
            continue
        if verdict.target and verdict.op == "update":
            taken[verdict.target] = len(out)
        if any(verdict.target == known.id for known, _ in state.forgotten):
            continue
        group = category(content, draft.features, vocabulary)
        # What clears the bar is right about nine times in ten; a plain statement belongs into the next chat.
        score = round(min(0.95, 0.76 + 0.05 * (draft.weight - evidence.BAR)), 2)
        out.append(
            Candidate(
                verdict.op,
                verdict.target,
                group,
                draft.subject,
                content,
                score,
                tuple(dict.fromkeys(draft.turn_ids)),
                draft.valid_from,
                verdict.reason,
            )
        )
    for content, reason, turn_id in state.skipped:
        target, _, why = reason.rpartition("|")
        out.append(Candidate("skip", target or None, None, None, content[:500], 0.0, (turn_id,), None, why))
    seen: set[str] = set()
    for known, turn_id in state.forgotten:
        if known.id not in seen:
            seen.add(known.id)
            op = "skip" if known.protected else "forget"
            out.append(
                Candidate(
                    "forget" if op == "forget" else "skip",
                    known.id,
                    known.category,
                    known.subject,
                    known.content,
                    0.9,
                    (turn_id,),
                    None,
                    "asked to forget",
                )
            )
    return out


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    """Of two drafts that say the same, the fuller one."""
    kept: list[Draft] = []
    for draft in drafts:
        if draft.subject and draft.features == ("people",):
            kept.append(draft)
            continue
        twin = (
            None
            if draft.line().endswith(")")
            else next(
                (
                    k
                    for k in kept
                    if k.features != ("people",)
                    if reconcile.says_the_same(draft.line(), k.line())
                    or reconcile.says_the_same(k.line(), draft.line())
                ),
                None,
            )
        )
        if twin is None:
            kept.append(draft)
        elif len(draft.line()) > len(twin.line()):
            draft.turn_ids = list(dict.fromkeys([*twin.turn_ids, *draft.turn_ids]))
            kept[kept.index(twin)] = draft
    return kept
