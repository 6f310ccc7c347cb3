"""Ranks the turns of all chats by how well they answer a question: by words, by meaning, by who speaks.

A turn is read together with its neighbours, word by word: for each word it gets its own weight or the reduced weight of
a neighbour, whichever is greater. So a short answer inherits the words of the question before it, and long turns have
no advantage. The speaker counts too: if a question names a person, what they said themselves comes first. If one person
talks with an assistant, a question that names nobody is about that person; then turns in which they say how they always
want things count a little more, since these matter for questions that do not mention them.
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
"""Occurrences of a word are counted up to this number; a word with more is simply common."""
POSTINGS = 2000
"""How many entries of the index choose the candidates: those of the rarest words first."""
TOGETHER = 8
"""How many terms are looked up in one statement."""
FINALISTS = 200
"""How many candidates are examined closely, with the common words and with who speaks."""
NEXT_DOOR = (0.6, 0.4)
"""The weight of a word that was said one turn away, and two turns away."""
ASKED_BEFORE = 0.2
"""How much is added to the weight of the turn before if it asked something: this turn may be the answer."""
NAME_SHARE = 0.5
"""The weight of a name in the question, which says more about who spoke than about the words they used."""
SPOKEN = 1.8
"""The factor for turns spoken by somebody whom the question names."""
STANDING = 1.2
"""The factor for turns in which the user says how they always want things."""
SUBSTANCE = 0.25
"""A turn with n content words counts n / (n + this): a greeting answers little."""

ALIKE = 0.8
"""The weight of likeness in meaning against that of the words, both scaled to 0…1."""
LIKE, NOT_ALIKE = 0.3, (0.0, 0.0)
"""The likeness from which it is shown as a reason; and the values of a turn of which no likeness is known."""

TurnPlace = tuple[str, int]


class ChatQuery(NamedTuple):
    """The terms of a question, and the index marks of the speakers that it names, or that it means if it names nobody.
    `named` says whether it names any."""

    wanted: list[QueryTerm]
    speakers: list[str]
    named: bool = True

    @property
    def whole(self) -> float:
        """The score of a turn that has every word of the question."""
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
    """The same with the weights that turns get from their neighbours."""
    marks: TermWeights
    """The turns that have certain marks: who speaks, whether something is asked, how much is said."""
    alike: Mapping[TurnPlace, tuple[float, float]]
    """The likeness of turns to the question, scaled and unscaled."""
    likeness: Likeness | None
    failure: tuple[str, ...]
    """The reason to show if the embedder failed."""

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
    """The weight of a term at each turn: its own or the reduced one of a neighbour, whichever is greater. `asks` are
    the turns that ask something."""
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
        elif key in own.get(want.term, {}):
            said.append(want.term)
        else:
            nearby.append(want.term)
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
    """The turns that may answer a question, at least `most` if there are as many; all of them of `among`, if given. If
    none has a word of the question, likeness counts only if some turn has `alike_from` times the embedder's floor."""
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
        substance = says / (says + SUBSTANCE)
        if alike:
            substance /= 1.0 + ALIKE
        score *= substance
        if asked.speakers and not _speaker(key, asked, marks):
            score *= 1.0 / SPOKEN
        if key in stands:
            score *= STANDING
        if score > 0:
            relevance[key] = min(1.0, round(score, 4))
    return RankedTurns(asked, relevance, own, values, marks, alike, likeness, failure)


def _speaker(key: TurnPlace, asked: ChatQuery, marks: Mapping[str, Mapping[TurnPlace, float]]) -> str | None:
    """The name of the speaker of a turn, if the question names them."""
    return next((mark[1:] for mark in asked.speakers if key in marks.get(mark, {})), None)


def _likeness(tx: Tx, meaning: Meaning | None, asked: ChatQuery, query: str) -> tuple[Likeness | None, tuple[str, ...]]:
    """The likeness of all turns to the question; or None, and a reason to show if the embedder failed."""
    if meaning is None:
        return None, ()
    try:
        return meaning.alike(tx, TURN, in_first_person(query, [mark[1:] for mark in asked.speakers])), ()
    except ModelFailed as error:
        return None, (f"words alone: {error.message}",)


def _near(
    likeness: Likeness | None, found: Collection[TurnPlace], trashed: Collection[str], share: float
) -> dict[TurnPlace, tuple[float, float]]:
    """The likeness of these turns and of those most alike; empty if no turns were found by words and no turn reaches
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
        count = count_term(tx, DAY + day, COUNTED)
        if count:
            wanted.append(QueryTerm(term=DAY + day, asked=stem(day), share=1.0, idf=idf(count, total)))
    named = bool(speakers)
    if not named and USER in known:
        speakers = [USER[1:]]
    return ChatQuery(wanted, [SPEAKER + name for name in speakers], named)


def turn_query_terms(tx: Tx, query: str, names: Collection[str] = ()) -> list[QueryTerm]:
    words = query_terms(query)
    counts = counts_in(_COUNTS, tx, words, COUNTED)
    made_of = related_words(tx, turn_terms, query)
    found = expand_terms(words, counts, turn_total(tx), lambda words: vocabulary(tx, turn_terms, words), made_of)
    return [want._replace(share=want.share * NAME_SHARE) if want.asked in names else want for want in found]


def count_term(tx: Tx, term: str, most: int) -> int:
    return int(_COUNT.first(tx.conn, {"owner": tx.owner, "term": term, "most": most}).count)


def term_places(tx: Tx, term: str) -> list[TurnPlace]:
    """The turns that have a term, at most `POSTINGS`."""
    rows = _WHERE.rows(tx.conn, {"owner": tx.owner, "term": term, "most": POSTINGS})
    return [(row.thread_id, row.turn) for row in rows]


def turn_total(tx: Tx) -> int:
    query = select(func.sum(threads.c.turns)).where(threads.c.owner == tx.owner)
    return read_once(tx, "turn_total", lambda: int(tx.conn.execute(query).scalar() or 0))


def trashed_threads(tx: Tx) -> set[str]:
    query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.deleted_at.isnot(None))
    return set(tx.conn.execute(query).scalars())


def turns_within(tx: Tx, since: str | None, until: str | None) -> set[TurnPlace]:
    """The turns that were said from `since` until before `until`."""
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
    """The turns that have the rarest terms, with their weights, up to `POSTINGS` in all; and the terms that are too
    common for that."""
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
"""Which of some terms occur in any turn."""
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
