"""Ranks the turns of all chats by how well they answer a question: by words, by meaning, by who speaks.

A turn is read in the light of its neighbours, word by word: it has a word itself, or damped from next door, whichever
is more; so a short answer inherits what the question before it was about, and long turns swamp nothing. Who speaks
counts too: of the person a question names, what they said themselves is wanted first. Where one person talks with an
assistant, a question that names nobody is about that person, and how they always want things counts a little more: it
bears on questions that do not mention it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import String, and_, bindparam, exists, func, select

from keepbook.book.recall.backlog import TURN
from keepbook.book.recall.forgotten import turns_not_recalled
from keepbook.book.recall.memories import SAYS_MUCH
from keepbook.book.recall.nearest import Likeness
from keepbook.book.recall.query_terms import QueryTerm, expand_terms, idf, related_words, score_terms, vocabulary
from keepbook.book.recall.turns.chat_wording import in_first_person, speaker_names
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.indexes.turn_index import ASKS, SAYS, SPEAKER, STANDS, USER
from keepbook.book.text.indexes.word_index import count_each, counts_in
from keepbook.book.text.time_hints import DAY, asked_days
from keepbook.book.text.words import query_terms, stem
from keepbook.errors import ModelFailed
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForKeys, PreparedStatement, read_once
from keepbook.storage.tables.chats import messages, threads, turn_terms

COUNTED = 5000
"""A word is counted no further than this; beyond it it is simply common."""
POSTINGS = 2000
"""So many entries of the index choose the candidates, those of the rarest words first."""
TOGETHER = 8
"""So many terms are looked up at once."""
FINALISTS = 200
"""So many candidates are looked at closely, with the common words and with who speaks."""
NEXT_DOOR = (0.6, 0.4)
"""What a word counts that was said one turn away, and two."""
ASKED_BEFORE = 0.2
"""What it counts more when the turn before was a question: this one may be its answer."""
NAME_SHARE = 0.5
"""A name in the question says more about who speaks than about the words they used."""
SPOKEN = 1.8
"""How much more a turn counts that is spoken by whom the question names."""
STANDING = 1.2
"""How much more one counts in which the user says how they always want things."""
SUBSTANCE = 0.25
"""A turn of n words that say something counts n / (n + this): a greeting answers little."""

ALIKE = 0.8
"""What the likeness of meaning counts against the words, both from 0 to 1."""
LIKE, NOT_ALIKE = 0.3, (0.0, 0.0)

TurnPlace = tuple[str, int]


class ChatQuery(NamedTuple):
    """The terms of a question, and the marks of the speakers it names, or means if it names nobody."""

    wanted: list[QueryTerm]
    speakers: list[str]
    named: bool = True

    @property
    def whole(self) -> float:
        best: dict[str, float] = {}
        for want in self.wanted:
            best[want.asked] = max(best.get(want.asked, 0.0), want.idf * want.share)
        return sum(best.values())


TermWeights = Mapping[str, Mapping[TurnPlace, float]]


@dataclass(frozen=True, slots=True)
class RankedTurns:
    """The turns that may answer a question, each with its relevance from 0 to 1, and what it has that answers."""

    asked: ChatQuery
    relevance: dict[TurnPlace, float]
    own: TermWeights
    """The weight of each term at the turns that say it."""
    values: TermWeights
    """The same, read in the light of the neighbours."""
    marks: TermWeights
    alike: Mapping[TurnPlace, tuple[float, float]]
    likeness: Likeness | None
    failure: tuple[str, ...]

    def answers_question(self, key: TurnPlace) -> bool:
        """Whether the turn before it asked something."""
        return (key[0], key[1] - 1) in self.marks.get(ASKS, {})

    def reasons(self, key: TurnPlace) -> tuple[str, ...]:
        spoken = None
        if self.asked.named:
            spoken = _speaker(key, self.asked, self.marks)
        why = _reasons(key, self.asked, self.own, self.values, spoken)
        likeness = self.alike.get(key, NOT_ALIKE)[1]
        meant = (f"meaning: {likeness:.2f}",) if likeness >= LIKE or (self.alike and not why) else ()
        return (*why, *meant, *self.failure)


# Rules


def in_context(own: Mapping[TurnPlace, float], asks: Collection[TurnPlace] = ()) -> dict[TurnPlace, float]:
    """The value of a term at each turn: its own, or a neighbour's, damped, whichever is more."""
    spread = dict(own)
    get = spread.get
    for (thread_id, turn), weight in own.items():
        one, two = NEXT_DOOR
        answers = one + (ASKED_BEFORE if (thread_id, turn) in asks else 0.0)
        for step, share in ((-1, one), (-2, two), (1, answers), (2, two)):
            key = (thread_id, turn + step)
            if weight * share > get(key, 0.0):
                spread[key] = weight * share
    return spread


def _reasons(
    key: TurnPlace,
    asked: ChatQuery,
    own: Mapping[str, Mapping[TurnPlace, float]],
    values: Mapping[str, Mapping[TurnPlace, float]],
    spoken: str | None,
) -> tuple[str, ...]:
    said: list[str] = []
    nearby: list[str] = []
    typos: list[str] = []
    days: list[str] = []
    for want in asked.wanted:
        if want.term.startswith(DAY):
            if key in own.get(want.term, {}):
                days += [want.asked]
        elif key not in values.get(want.term, {}):
            continue
        elif want.typo:
            typos.append(f"“{want.asked}” read as “{want.term}”")
        else:
            (said if key in own.get(want.term, {}) else nearby).append(want.term)
    listed = (("words", said), ("nearby", nearby), ("day", days), ("said by", [spoken] if spoken else []))
    return (*(f"{what}: {', '.join(found)}" for what, found in listed if found), *typos)


# Operations


def rank_turns(
    tx: Tx,
    query: str,
    *,
    meaning: Meaning | None,
    most: int = 0,
    among: Collection[TurnPlace] | None = None,
    alike_from: float = 1.0,
) -> RankedTurns:
    """The turns that may answer a question, at least `most` where there are as many; `among` limits them to these.
    Where none has a word of it, what is most like it counts from this share of the embedder's floor on."""
    asked = _parse_query(tx, query)
    trashed = trashed_threads(tx)
    own, common = postings(tx, asked.wanted, trashed, among)
    finalists = best_keys(
        score_terms(asked.wanted, {term: in_context(at) for term, at in own.items()}), max(FINALISTS, most)
    )
    looked_at = finalists if among is None else among
    likeness, failure = _likeness(tx, meaning, asked, query)
    alike = _near(likeness, looked_at, trashed, alike_from)
    silent = turns_not_recalled(tx)
    chosen = [
        key
        for key in dict.fromkeys([*finalists, *alike])
        if key[1] not in silent.get(key[0], ()) and (among is None or key in among)
    ]
    own = merge_weights(
        own, weights_at(tx, {(thread, turn + step) for thread, turn in chosen for step in range(-2, 3)}, common)
    )
    marks = weights_at(
        tx, {(thread, turn - step) for thread, turn in chosen for step in (0, 1)},
        [SAYS, ASKS, STANDS, *asked.speakers],
    )  # fmt: skip
    values = {
        term: at if term.startswith(DAY) else in_context(at, marks.get(ASKS, {})) for term, at in own.items()
    }  # fmt: skip
    scores = score_terms(asked.wanted, values)
    if alike:
        whole = max([asked.whole * SAYS_MUCH, *(scores.get(key, 0.0) for key in chosen)])
    else:
        whole = asked.whole
    if USER in asked.speakers:
        stands = marks.get(STANDS, {})
    else:
        stands = {}
    relevance: dict[TurnPlace, float] = {}
    for key in chosen:
        says = marks.get(SAYS, {}).get(key, 0.0)
        score = (scores.get(key, 0.0) / whole if whole else 0.0) + ALIKE * alike.get(key, NOT_ALIKE)[0]
        score *= (says / (says + SUBSTANCE)) / (1.0 + ALIKE if alike else 1.0)
        if asked.speakers:
            score *= 1.0 if _speaker(key, asked, marks) else 1.0 / SPOKEN
        else:
            score *= 1.0
        score *= STANDING if key in stands else 1.0
        if score > 0:
            relevance[key] = min(1.0, round(score, 4))
    return RankedTurns(asked, relevance, own, values, marks, alike, likeness, failure)


def _speaker(key: TurnPlace, asked: ChatQuery, marks: Mapping[str, Mapping[TurnPlace, float]]) -> str | None:
    """Who of those that the question names said this, if any."""
    return next((mark[1:] for mark in asked.speakers if key in marks.get(mark, {})), None)


def _likeness(tx: Tx, meaning: Meaning | None, asked: ChatQuery, query: str) -> tuple[Likeness | None, tuple[str, ...]]:
    """The likeness of all turns to the question; and what to say where that cannot be told."""
    if meaning is None:
        return None, ()
    try:
        return meaning.alike(tx, TURN, in_first_person(query, [mark[1:] for mark in asked.speakers])), ()
    except ModelFailed as error:
        return None, (f"words alone: {error.message}",)


def _near(
    likeness: Likeness | None, found: Collection[TurnPlace], trashed: Collection[str], share: float
) -> dict[TurnPlace, tuple[float, float]]:
    """How like the question these turns are, and those most alike; nothing where no word was found and nothing reaches
    this share of the floor."""
    if likeness is None or not (found or likeness.reaches(likeness.floor * share)):
        return {}
    return likeness.near(found, FINALISTS, without=trashed)


def best_keys(scores: Mapping[TurnPlace, float], most: int) -> list[TurnPlace]:
    return sorted(scores, key=lambda key: (-scores[key], key))[:most]


def merge_weights(one: Mapping[str, Mapping[TurnPlace, float]], other: Mapping[str, Mapping[TurnPlace, float]]) -> Any:
    return {term: {**one.get(term, {}), **other.get(term, {})} for term in [*one, *other]}


# Queries


def _parse_query(tx: Tx, question: str) -> ChatQuery:
    marks = [SPEAKER + name for name in speaker_names(question)]
    known = {mark for (mark,) in _SAID.tuples(tx.conn, [(mark,) for mark in [*marks, USER]], {"owner": tx.owner})}
    speakers = [mark[1:] for mark in marks if mark in known]
    wanted = turn_query_terms(tx, question, names={stem(name) for name in speakers})
    total = turn_total(tx)
    for day in asked_days(question):
        if count := count_term(tx, DAY + day, COUNTED):
            wanted.append(QueryTerm(DAY + day, stem(day), 1.0, idf(count, total)))
    named = bool(speakers)
    if not named and USER in known:
        speakers = [USER[1:]]
    return ChatQuery(wanted, [SPEAKER + name for name in speakers], named)


def turn_query_terms(tx: Tx, query: str, names: Collection[str] = ()) -> list[QueryTerm]:
    words = query_terms(query)
    counts = counts_in(_COUNTS, tx, words, COUNTED)
    made_of = related_words(tx, turn_terms, query)
    found = expand_terms(words, counts, turn_total(tx), lambda word: vocabulary(tx, turn_terms, word), made_of)
    return [want._replace(share=want.share * NAME_SHARE) if want.asked in names else want for want in found]


def count_term(tx: Tx, term: str, most: int) -> int:
    return int(_COUNT.first(tx.conn, {"owner": tx.owner, "term": term, "most": most}).count)


def term_places(tx: Tx, term: str) -> list[TurnPlace]:
    """The turns that say a term, under a cap."""
    rows = _WHERE.rows(tx.conn, {"owner": tx.owner, "term": term, "most": POSTINGS})
    return [(row.thread_id, row.turn) for row in rows]


def turn_total(tx: Tx) -> int:
    query = select(func.sum(threads.c.turns)).where(threads.c.owner == tx.owner)
    return read_once(tx, "turn_total", lambda: int(tx.conn.execute(query).scalar() or 0))


def trashed_threads(tx: Tx) -> set[str]:
    query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.deleted_at.isnot(None))
    return set(tx.conn.execute(query).scalars())


def turns_within(tx: Tx, since: str | None, until: str | None) -> set[TurnPlace]:
    """The turns that were said in a stretch of time."""
    here = messages.c
    query = select(here.thread_id, here.turn).where(here.owner == tx.owner, here.role.in_(("user", "assistant")))
    if since is not None:
        query = query.where(here.at >= since)
    if until is not None:
        query = query.where(here.at < until)
    return {(thread_id, turn) for thread_id, turn in tx.conn.execute(query)}


def postings(
    tx: Tx, wanted: Sequence[QueryTerm], trashed: Collection[str], among: Collection[TurnPlace] | None = None
) -> tuple[dict[str, dict[TurnPlace, float]], list[str]]:
    """Where the rarest terms are said, under a cap, and the terms too common to be looked up everywhere."""
    found: dict[str, dict[TurnPlace, float]] = {}
    common = []
    room = POSTINGS
    for want in sorted(wanted, key=lambda want: (-want.idf, want.term)):
        if room <= 0:
            common.append(want.term)
            continue
        rows = _WHERE.rows(tx.conn, {"owner": tx.owner, "term": want.term, "most": POSTINGS})
        if len(rows) > room and found:
            common.append(want.term)
            room = 0
            continue
        room -= len(rows)
        found[want.term] = {
            (row.thread_id, row.turn): row.weight
            for row in rows
            if row.thread_id not in trashed and (among is None or (row.thread_id, row.turn) in among)
        }
    return found, common


def weights_at(tx: Tx, keys: Collection[TurnPlace], terms: Sequence[str]) -> dict[str, dict[TurnPlace, float]]:
    """The weights of some terms at some turns."""
    found: dict[str, dict[TurnPlace, float]] = {}
    listed = sorted(keys)
    for start in range(0, len(terms), TOGETHER):
        some = [*terms[start : start + TOGETHER], *[terms[-1]] * TOGETHER][:TOGETHER]
        asked = {"owner": tx.owner, **{f"term_{nth}": term for nth, term in enumerate(some)}}
        for term, thread_id, turn, weight in _AT.tuples(tx.conn, listed, asked):
            if term is not None:
                found.setdefault(term, {})[thread_id, turn] = weight
    return found


_AT = PreparedForKeys(
    lambda keys: select(turn_terms.c.term, turn_terms.c.thread_id, turn_terms.c.turn, turn_terms.c.weight).select_from(
        keys.outerjoin(
            turn_terms,
            and_(
                turn_terms.c.owner == bindparam("owner"),
                turn_terms.c.term.in_([bindparam(f"term_{nth}", type_=String) for nth in range(TOGETHER)]),
                turn_terms.c.thread_id == keys.c.key_0,
                turn_terms.c.turn == keys.c.key_1,
            ),
        )
    ),
    turn_terms.c.thread_id,
    turn_terms.c.turn,
)
_SAID = PreparedForKeys(
    lambda keys: select(keys.c.key_0).where(
        exists().where(turn_terms.c.owner == bindparam("owner"), turn_terms.c.term == keys.c.key_0)
    ),
    turn_terms.c.term,
)
"""Which of some terms stand anywhere."""
_having = and_(turn_terms.c.owner == bindparam("owner"), turn_terms.c.term == bindparam("term"))
_COUNTS = count_each(turn_terms)
_COUNT = PreparedStatement(
    select(func.count().label("count")).select_from(
        select(turn_terms.c.turn).where(_having).limit(bindparam("most")).subquery()
    )
)
_WHERE = PreparedStatement(
    select(turn_terms.c.thread_id, turn_terms.c.turn, turn_terms.c.weight)
    .where(_having)
    .order_by(turn_terms.c.thread_id, turn_terms.c.turn)
    .limit(bindparam("most"))
)
