"""The offline extractor: what a chat says about its person that is worth keeping.

One pass over the turns. Only the person's own words are evidence; the assistant's turns lend context
(a question to an answer, a proposal to a yes). What is found are drafts; later turns mend, supersede or
withdraw them; at the end each draft is compared with what is already known and becomes a candidate.
Deterministic and pure: no database, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from keepbook.book.secrets import find_secrets
from keepbook.book.words import numbers
from keepbook.models.offline import dialog, facts, languages, reconcile, speech
from keepbook.models.offline.categories import category
from keepbook.models.offline.clauses import Piece, own_words, pieces, sentences, tidy
from keepbook.models.offline.dates import said_from
from keepbook.models.offline.people import Person, antecedent, introduced, relations
from keepbook.models.offline.rewrite import line
from keepbook.models.offline.values import Candidate, Known, Turn, TurnId

_SECRET_CUE = re.compile(
    r"\b(?:password|passcode|passphrase|passwd|pwd?|pin|cvv|cvc|api[ -]?key|access token|secret key|(?:alarm|door|gate|entry|access|security|locker|safe|lock) code|"
    r"card(?: number|'s)?|account (?:number|no)|iban|sort code|routing number|ssn|social security|passport (?:number|no)|licen[cs]e (?:number|no)|loyalty (?:number|no)|"
    r"member(?:ship)? (?:number|no|id)|login|wi-?fi|passwort|kennwort|geheimzahl|contraseña|clave|passord|密码|รหัส)\b[^.!?]{0,25}?(?:\d{3,}|\bis\b|:|/)|密码|รหัสผ่าน",
    re.I,
)
_ACK_KEPT = re.compile(
    r"\b(?:noted|understood|got it|saved|will do|i'll (?:keep|remember|hold|bear|prepare|raise|use)|always|from now on|duly|it is|clear|recorded|notert|notiert|anotado|entendido|记住|明白)\b|^(?:ok|both)\b", re.I
)
_ACK_DONE = re.compile(r"^(?:done|booked|moved|sent|added|archived|reserved|cancelled|removed|here|draft|summary|deleted|labelled)\b", re.I)
_CUE_ONLY = 7
_LINE = (4, 500)


@dataclass
class Draft:
    """A line on its way: as said (`text`), how sure, from which turns."""

    text: str
    weight: float
    features: tuple[str, ...]
    turn_ids: list[TurnId]
    number: int
    content: str | None = None
    he: str | None = None
    subject: str | None = None
    hedged: bool = False
    target: Known | None = None
    valid_from: str | None = None

    def line(self) -> str:
        return self.content if self.content is not None else line(self.text, he=self.he)


@dataclass
class _Reading:
    """State of one pass."""

    existing: Sequence[Known]
    zone: str
    never: tuple[str, ...]
    drafts: list[Draft] = field(default_factory=list)
    skipped: list[tuple[str, str, TurnId]] = field(default_factory=list)
    forgotten: list[tuple[Known, TurnId]] = field(default_factory=list)
    declined: list[set[str]] = field(default_factory=list)
    person: Person | None = None
    heading: str | None = None
    asked: str = ""
    answered: str = ""
    user_turns: list[int] = field(default_factory=list)


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
    state = _Reading(existing, zone, tuple(n.lower() for n in never))
    if summary:
        # What came before the watermark can lend a name to a pronoun, nothing more.
        state.person = antecedent(summary, None)
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


def _read(state: _Reading, turn: Turn, number: int, own: str) -> None:
    tongue = languages.detect(own)
    if tongue != "en":
        _read_foreign(state, turn, number, own, tongue)
        return
    plain = tidy(own)
    said = [dialog.mend_inside(s) for s in sentences(plain)]
    hush = joking = supposing = False
    carry = 0.0
    state.heading = None
    for n, sentence in enumerate(said):
        if dialog.ON_RECORD.search(sentence) or speech.EARNEST.search(sentence):
            hush = joking = supposing = False
        if _withdraws(state, turn, number, sentence, n):
            hush = hush or bool(dialog.AHEAD.search(sentence))
            continue
        joking = joking or bool(speech.SARCASM.search(sentence))
        supposing = supposing or bool(re.search(r"\b(?:theoretical\w*|hypothetical\w*|pretend|thought experiment|purely curious|just curious)\b", sentence, re.I))
        if hush or joking or supposing or speech.THIS_ONCE.search(plain):
            continue
        if find_secrets(sentence) or _SECRET_CUE.search(sentence):
            continue
        _sentence(state, turn, number, sentence, n, carry)
        if facts.CUED.search(sentence) and len(sentence.split()) <= _CUE_ONLY:
            carry = 0.9
    if said:
        _take_up(state, turn, number, said[0])


def _withdraws(state: _Reading, turn: Turn, number: int, sentence: str, n: int) -> bool:
    """"Don't keep that", "off the record", a no to "shall I remember it?", "delete that goal from your memory"."""
    refused_keeping = n == 0 and dialog.asks_to_keep(state.asked) and bool(dialog.NO.match(sentence))
    if dialog.AHEAD.search(sentence) and (n == 0 or len(sentence.split()) > 5):
        return True
    forgets = dialog.FORGET.search(sentence) and not dialog.one_off_delete(sentence)
    if forgets:
        hit = _known_in(state, turn.text)
        if hit is not None and (dialog.MEMORY_WORD.search(turn.text) or re.search(r"\bforget\b", sentence, re.I)):
            state.forgotten.append((hit, turn.id))
            state.drafts = [d for d in state.drafts if d.number != number or reconcile.overlap(d.line(), hit.content) < 0.2]
            state.declined.append(reconcile.words(hit.content))
            return True
    if not (dialog.DECLINE.search(sentence) or dialog.AHEAD.search(sentence) or refused_keeping):
        return False
    offered = dialog.proposal(state.asked) if dialog.asks_to_keep(state.asked) else None
    if forgets and (about := re.search(r"\babout (.+)", sentence)):
        state.declined.append(reconcile.words(about.group(1)))
    if dialog.ALL.search(sentence):
        gone = list(state.drafts)
    elif n > 0 and any(d.number == number for d in state.drafts) or n > 1:
        gone = [d for d in state.drafts if d.number == number]
    elif offered:
        state.declined.append(reconcile.words(offered))
        gone = [d for d in state.drafts if reconcile.overlap(d.line(), offered) >= 0.5]
    else:
        before = state.user_turns[-1] if state.user_turns else -1
        gone = [d for d in state.drafts if d.number in (before, number)]
    for draft in gone:
        state.declined.append(reconcile.words(draft.line()))
        state.skipped.append((draft.line(), "declined", turn.id))
    state.drafts = [d for d in state.drafts if d not in gone]
    return True


def _known_in(state: _Reading, text: str) -> Known | None:
    """The known memory that a wish to forget speaks of."""
    best: tuple[int, Known] | None = None
    for known in state.existing:
        shared = len(reconcile.words(text) & reconcile.words(known.content))
        if shared and (best is None or shared > best[0]):
            best = (shared, known)
    if best is None and state.asked:
        return _known_in(_Reading(state.existing, state.zone, ()), state.asked)
    return best[1] if best else None


def _sentence(state: _Reading, turn: Turn, number: int, sentence: str, n: int, carry: float) -> None:
    question = dialog.last_question(state.asked) if n <= 1 else None
    lasting = bool(question and n == 0 and dialog.lasting_question(question)) and not dialog.NO.match(sentence)
    if n == 0 and question and (_says_who(state, turn, number, sentence, question) or _answer_known(state, turn, number, sentence, question)):
        return
    if _only_repeats(state, sentence):
        state.skipped.append((line(sentence), "already known", turn.id))
        return
    mends = bool(dialog.CORRECTS.search(sentence))
    parts = pieces(sentence, facts.STANDS)
    kept: list[Draft] = []
    for part in parts:
        if _amend(state, turn, number, part.text, mends):
            kept.append(state.drafts[-1])
            continue
        bonus = carry + (0.9 if lasting else 0.0) + (0.4 if state.heading else 0.0) + _listed(part, kept)
        draft = _weigh_piece(state, turn, number, part, bonus, answering=lasting)
        before, state.person = state.person, antecedent(part.text, state.person)
        if draft is None:
            continue
        if facts.hollow(part.text):
            _attach(state, draft, number, kept)
            continue
        if lasting and question and dialog.fragment(part.text) and not kept:
            heading = dialog.topic(question)
            if heading and heading.lower() not in draft.line().lower():
                draft.content = f"{heading}: {_lower(draft.line())}"
        elif not kept and state.heading and not re.search(rf"\b{re.escape(state.heading)}\b", part.text, re.I):
            draft.content = f"{state.heading}: {_lower(draft.line())}"
        if part.joint.startswith(("so", "and so")) and re.search(r"\b(?:both|that|it|this|them|those|these)\b\W*$", part.text, re.I):
            reason = sentence[: max(sentence.find(part.text) - len(part.joint) - 1, 0)].strip(" ,")
            draft.content = f"{draft.line()} ({_lower(line(reason, he=before.name if before else None))})" if reason else draft.content
        _supersede(state, draft, mends)
        state.drafts.append(draft)
        kept.append(draft)
    _add_relations(state, turn, number, parts)
    if n == 0 and question and not kept:
        _answer(state, turn, number, sentence, question, lasting)
    short = len(sentence.split()) <= 4 and not kept and facts.ruled_out(sentence, sentence) in (None, "past")
    state.heading = line(sentence) if short and dialog.lasting_theme(sentence) and not facts.hollow(sentence) else None


def _listed(part: Piece, kept: Sequence[Draft]) -> float:
    """A bare thing after a thing that counted counts too: "an IRA at Fidelity, … and a small HSA"."""
    if re.match(r"(?:i'm|i am|we're|we are|me,|us,)", speech.opening(part.sentence), re.I) and not part.first and dialog.fragment(part.text):
        return 1.3
    if kept and not part.first and dialog.fragment(part.text) and facts.THEME.search(part.text) and len(part.text.split()) <= 6:
        return 1.0 if set(kept[-1].features) & {"state", "only", "identity", "none", "rule", "people"} else 0.0
    return 0.0


def _attach(state: _Reading, draft: Draft, number: int, kept: Sequence[Draft]) -> None:
    """ "…, not now, not ever" strengthens the line before it; alone it says nothing."""
    host = kept[-1] if kept else next((d for d in reversed(state.drafts) if d.number == number), None)
    if host is not None and len(host.line()) < 160:
        host.content = f"{host.line()}, {_lower(draft.line())}"
    elif state.heading:
        draft.content = f"{state.heading}: {_lower(draft.line())}"
        state.drafts.append(draft)


def _says_who(state: _Reading, turn: Turn, number: int, sentence: str, question: str) -> bool:
    """ "my sister, she…" in answer to "Who is Devorah?"."""
    who = re.search(r"\bwho(?:'s| is) ([A-Z]\w+)", question)
    relation = introduced(speech.opening(sentence)) if who else None
    if not who or not relation:
        return False
    rest = re.sub(rf"^.*?\b{re.escape(relation)}\b[\s,]*(?:and )?", "", speech.opening(sentence), count=1, flags=re.I).strip(" .!")
    told = f"{who.group(1)} is their {relation}" + (f", {_lower(line(rest))}" if rest else "")
    state.drafts.append(Draft(sentence, 2.8, ("people",), [turn.id], number, content=told, subject=who.group(1)))
    state.person = Person(who.group(1), True)
    return True


def _only_repeats(state: _Reading, sentence: str) -> bool:
    """Confirming what the book already says ("yep, Yusuf and the boys, 60 grand, all correct")."""
    if not state.existing or not re.search(r"^(?:yes|yep|yeah|yup|right|correct|exactly)\b|\bcorrect\b|\bthat's right\b|\bas you know\b|\byou know\b|\bas (?:usual|always)\b|\bstill\b", sentence, re.I):
        return False
    known = " ".join(k.content for k in state.existing)
    held = numbers(known) | {n[:-3] for n in numbers(known) if n.endswith("000")}
    if numbers(sentence) - held:
        return False
    fresh = reconcile.words(sentence) - reconcile.words(known) - {"correct", "right", "yep", "yes", "boy", "know", "grand", "good", "pleas", "usual", "still", "alway"}
    return bool(reconcile.words(sentence) & reconcile.words(known)) and len(fresh) <= 1


def _lower(text: str) -> str:
    return text if re.match(r"[A-Z]{2}|[A-Z]\w* [A-Z]|I\b", text) or not text else text[0].lower() + text[1:]


def _weigh_piece(state: _Reading, turn: Turn, number: int, part: Piece, bonus: float, *, answering: bool = False) -> Draft | None:
    text = part.text
    if _barred(state, text):
        state.skipped.append((text, "declined or never to be kept", turn.id))
        return None
    said_of = re.match(r"(?:so |and |but )?(?:he|she|they|his|her|hes|shes)\b", text, re.I)
    if said_of and state.person is not None and not state.person.near:
        return None
    if speech.THIS_ONCE.search(part.sentence):
        return None
    if facts.LOOSE_SUBJECT.match(speech.opening(text)):
        return None
    if _ACK_KEPT.search(state.answered):
        bonus += 0.3
    elif _ACK_DONE.match(state.answered):
        bonus -= 0.5
    weighed = facts.weigh(text, part.sentence, bonus=bonus, answering=answering)
    if not weighed.kept:
        if weighed.reason:
            state.skipped.append((text, weighed.reason, turn.id))
            if weighed.reason == "hedged" and weighed.weight >= facts.BAR:
                _note_conflict(state, turn, text)
        return None
    name = state.person.name if state.person else None
    draft = Draft(text, weighed.weight, weighed.features, [turn.id], number, he=name if name and re.search(r"\b(?:he|she|him|her|hes|shes)\b", text, re.I) else None)
    if re.match(r"(?:due|launching|shipping)\b", text, re.I) and (head := re.match(r"\W*(?:\w+ )?([A-Z][\w-]+)(?:'s| is)\b", part.sentence)):
        draft.content = f"{head.group(1)}: {_lower(draft.line())}"
    draft.valid_from = said_from(text, turn.at, state.zone)
    if len(draft.line().split()) < 2 and not re.search(r"\d", draft.line()):
        return None
    return draft


def _note_conflict(state: _Reading, turn: Turn, text: str) -> None:
    verdict = reconcile.against(line(text), state.existing, hedged=True)
    if verdict.op == "skip":
        state.skipped.append((line(text), f"{verdict.target}|{verdict.reason}", turn.id))


def _barred(state: _Reading, text: str) -> bool:
    low = text.lower()
    if any(topic in low for topic in state.never):
        return True
    said = reconcile.words(text)
    return any(len(said & gone) >= max(1, min(len(gone), len(said)) * 0.6) for gone in state.declined if gone and said)


def _add_relations(state: _Reading, turn: Turn, number: int, parts: Sequence[Piece]) -> None:
    """ "…with my wife Priscila" also says who the wife is."""
    for part in parts:
        if speech.question(part.text) or speech.hypothetical(part.text) or _barred(state, part.text):
            continue
        for relation in relations(speech.opening(part.text)):
            told = any(relation.name in d.line() and re.match(rf"(?:{re.escape(relation.noun)}\b|{re.escape(relation.name)})", d.line(), re.I) for d in state.drafts)
            if not told and not any(relation.name in k.content for k in state.existing):
                state.drafts.append(Draft(part.text, 2.6, ("people",), [turn.id], number, content=relation.line(), subject=relation.name))


# --- answers ----------------------------------------------------------------------------------------


def _answer(state: _Reading, turn: Turn, number: int, sentence: str, question: str, lasting: bool) -> None:
    """An answer too short to stand: join it with what was asked."""
    bare = speech.opening(sentence).strip(" .!")
    reason = facts.ruled_out(sentence, sentence)
    if not dialog.lasting_question(question):
        return
    if made := dialog.completed(question, sentence):
        state.drafts.append(Draft(sentence, 2.2, ("answer",), [turn.id], number, content=made))
        return
    if dialog.YES.match(sentence) and len(sentence.split()) <= 3 or dialog.NO.match(sentence) and len(sentence.split()) <= 4:
        made = dialog.as_statement(question, bool(dialog.YES.match(sentence)))
        if made:
            state.drafts.append(Draft(sentence, 2.2, ("answer",), [turn.id], number, content=made))
        return
    if not lasting or reason in ("bare number", "question", "hypothetical", "hedged", "sarcasm", "passing", "one-off request", "chatter") or not dialog.fragment(bare):
        return
    heading = dialog.topic(question)
    solid = re.search(r"\d|[A-Z]{2,}|(?<!^)\b[A-Z][a-z]+|\b(?:every|always|never|only|" + facts.THEME.pattern + ")", bare) or re.match(r"[A-Z]\w+(?:\s|$)", bare)
    if heading and (solid or len(bare.split()) >= 3) and not re.fullmatch(r"[\d.,]+(?: even|ish)?", bare):
        state.drafts.append(Draft(sentence, 2.3, ("answer",), [turn.id], number, content=f"{heading}: {_lower(line(sentence))}"))


def _answer_known(state: _Reading, turn: Turn, number: int, sentence: str, question: str) -> bool:
    """A new value for something known that the assistant asked about ("still 8%?" – "went up to 11")."""
    for known in state.existing:
        linked = reconcile.overlap(question, known.content) >= 0.5 or reconcile.attributes(question) & reconcile.attributes(known.content)
        if not linked and not numbers(question) & numbers(known.content):
            continue
        if dialog.YES.match(sentence) and len(sentence.split()) <= 4 or re.search(r"\bstill\b|\bsame\b", sentence, re.I) and not re.search(r"\d", sentence):
            return True
        changed = reconcile.with_new_value(known.content, sentence)
        if changed and len(sentence.split()) <= 9 and len(numbers(sentence)) == 1 and not speech.question(sentence) and not speech.hedged(sentence) and not speech.passing(re.sub(r"\b(?:up|down) to \d\S*", "", sentence)):
            state.drafts.append(Draft(sentence, 2.8, ("change",), [turn.id], number, content=changed, target=known))
            return True
    return False


def _take_up(state: _Reading, turn: Turn, number: int, first: str) -> None:
    """A proposal the person takes."""
    if not dialog.YES.match(first) or re.match(r"\W*i like\b(?! that| it)", first, re.I):
        return
    offered = dialog.proposal(state.asked) if dialog.asks_to_keep(state.asked) else None
    if offered is None and (habit := dialog.offers_habit(state.asked)):
        offered = f"Wants {habit}" if re.match(r"(?:an?|the|some|my|one)\b", habit) else f"Wants the assistant to {habit}"
    if not offered or _barred(state, offered):
        return
    if any(reconcile.says_the_same(offered, d.line()) for d in state.drafts):
        return
    state.drafts.append(Draft(offered, 2.6, ("order",), [turn.id], number, content=line(offered)))


# --- mending ----------------------------------------------------------------------------------------


def _amend(state: _Reading, turn: Turn, number: int, text: str, mends: bool) -> bool:
    """Write a correction into the draft it corrects; True when the piece says no more than that."""
    pair = dialog.not_old(text)
    if pair:
        new, old = pair[0].split()[-1], pair[1]
        for draft in reversed(state.drafts):
            if re.search(rf"(?<![\w.]){re.escape(old)}(?!\w)", draft.line()) and not re.search(rf"\b{re.escape(new)}\b", draft.line()):
                _replace(draft, old, new, turn)
                return True
        if re.fullmatch(rf"\W*{re.escape(new)},? not {re.escape(old)}\W*", text, re.I) and state.drafts:
            return True
    if not mends:
        return False
    found = [v for v in dialog.VALUE.findall(text) if dialog.kind(v) != "name"]
    if len(found) != 1 or len(text.split()) > 8:
        return False
    new = found[0].rstrip(".,")
    nouns = reconcile.words(text) - _SLIP_WORDS
    recent = state.user_turns[-1] if state.user_turns else number
    for draft in reversed(state.drafts):
        if nouns and not nouns & reconcile.words(draft.line()) or not nouns and draft.number not in (recent, number):
            continue
        slots = [m.group(0).rstrip(".,") for m in dialog.VALUE.finditer(draft.line()) if _alike(dialog.kind(m.group(0)), dialog.kind(new))]
        near = [v for v in slots if nouns and re.search(rf"{re.escape(v)}\W+(?:\w+\W+)?(?:{'|'.join(map(re.escape, nouns))})", draft.line(), re.I)] or slots
        if near and near[0].lower() != new.lower():
            _replace(draft, near[0], new, turn)
            return True
    return False


_SLIP_WORDS = {
    "wait", "sorri", "actual", "mean", "make", "she", "he", "that", "it", "no", "shes", "hes", "look", "check", "let", "not", "rather", "oop", "correct", "too", "mani",
}  # fmt: skip


def _alike(a: str, b: str) -> bool:
    return a == b or {a, b} <= {"number", "money", "percent"}


def _replace(draft: Draft, old: str, new: str, turn: Turn) -> None:
    old_suffix = re.sub(r"^[£€$]?[\d.,']+", "", old) if old[:1].isdigit() else ""
    if re.fullmatch(r"[\d.,]+(?:st|nd|rd|th)", new) and not old_suffix:
        new = re.sub(r"(?:st|nd|rd|th)$", "", new)
    draft.content = re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, draft.line(), count=1)
    draft.turn_ids.append(turn.id)


def _supersede(state: _Reading, new: Draft, mends: bool) -> None:
    """A later word on the same counted thing, or after "scratch that", takes the place of the earlier one."""
    counted = dict((noun, value) for value, noun in _counted(new.line()))
    keep: list[Draft] = []
    for old in state.drafts:
        before = dict((noun, value) for value, noun in _counted(old.line()))
        clash = [n for n in counted if n in before and counted[n] != before[n]]
        if clash and (mends or len(reconcile.words(old.line())) <= 5 and reconcile.overlap(new.line(), old.line()) >= 0.3):
            new.turn_ids = list(dict.fromkeys([*old.turn_ids, *new.turn_ids]))
            continue
        keep.append(old)
    state.drafts = keep


def _counted(text: str) -> list[tuple[str, str]]:
    found = re.findall(r"(?<!\w)((?:[£€$]?\d[\d.,]*%?)|one|two|three|four|five|six|ten|twenty)[ -](?:new |max |more |of )?([a-z]{3,})", text, re.I)
    found += [(v, n) for n, v in re.findall(r"\b(stop|target|limit|cap|max|risk)(?: is| of| at|:)? (\d[\d.,]*)", text, re.I)]
    return [(v.lower(), reconcile.stem(n.lower())) for v, n in found if n.lower() not in ("and", "the", "per", "percent", "each", "year", "years", "month", "months")]


# --- other languages --------------------------------------------------------------------------------


def _read_foreign(state: _Reading, turn: Turn, number: int, own: str, tongue: str) -> None:
    hush = False
    for n, sentence in enumerate(languages.sentences_of(own, tongue)):
        if dialog.DECLINE.search(sentence) or n == 0 and dialog.asks_to_keep(state.asked) and dialog.NO.match(sentence):
            _withdraws(state, turn, number, sentence, n)
            hush = hush or bool(dialog.AHEAD.search(sentence))
            continue
        if hush or find_secrets(sentence) or _SECRET_CUE.search(sentence):
            continue
        for found in languages.read(sentence, tongue, answering=n == 0 and state.asked.rstrip().endswith(("?", "？", "ครับ", "คะ", "吗", "呢"))):
            if not _barred(state, found.text):
                state.drafts.append(Draft(found.text, found.weight, found.features, [turn.id], number, content=found.text))


# --- settling ---------------------------------------------------------------------------------------


def _settle(state: _Reading, vocabulary: Sequence[str]) -> list[Candidate]:
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
            out[at] = replace(out[at], content=f"{out[at].content}; {_lower(content)}"[: _LINE[1]])
            continue
        if verdict.target and verdict.op == "update":
            taken[verdict.target] = len(out)
        if any(verdict.target == known.id for known, _ in state.forgotten):
            continue
        group = category(content, draft.features, vocabulary)
        score = round(min(0.95, 0.6 + 0.06 * (draft.weight - facts.BAR)), 2)
        out.append(Candidate(verdict.op, verdict.target, group, draft.subject, content, score, tuple(dict.fromkeys(draft.turn_ids)), draft.valid_from, verdict.reason))
    for content, reason, turn_id in state.skipped:
        target, _, why = reason.rpartition("|")
        out.append(Candidate("skip", target or None, None, None, content[:500], 0.0, (turn_id,), None, why))
    seen: set[str] = set()
    for known, turn_id in state.forgotten:
        if known.id not in seen:
            seen.add(known.id)
            op = "skip" if known.protected else "forget"
            out.append(Candidate("forget" if op == "forget" else "skip", known.id, known.category, known.subject, known.content, 0.9, (turn_id,), None, "asked to forget"))
    return out


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    """Of two drafts that say the same, the fuller one."""
    kept: list[Draft] = []
    for draft in drafts:
        if draft.subject and draft.features == ("people",):
            kept.append(draft)
            continue
        twin = next((k for k in kept if k.features != ("people",) if reconcile.says_the_same(draft.line(), k.line()) or reconcile.says_the_same(k.line(), draft.line())), None)
        if twin is None:
            kept.append(draft)
        elif len(draft.line()) > len(twin.line()):
            draft.turn_ids = list(dict.fromkeys([*twin.turn_ids, *draft.turn_ids]))
            kept[kept.index(twin)] = draft
    return kept
