"""Finding what was said in chats: full-text search with marked snippets, and recall of the turns that answer.

Both read the word index of chats, which knows nothing of hidden context or incognito chats. Chats in the trash are left
out; what the person asked to forget is not recalled. A turn is read in the light of its neighbours, word by word: it
has a word itself, or damped from next door, whichever is more; so a short answer inherits what the question before it
was about, and long turns swamp nothing. Who speaks counts too: of the person a question names, what they said
themselves is wanted first. Where one person talks with an assistant, a question that names nobody is about that person,
and how they always want things counts a little more: it bears on questions that do not mention it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import String, and_, bindparam, exists, func, select, tuple_

from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger.ledger import present
from keepbook.book.recall.backlog import TURN
from keepbook.book.recall.chat_wording import in_first_person, snippet_of, speaker_names
from keepbook.book.recall.forgotten import turns_not_recalled
from keepbook.book.recall.memories import SAYS_MUCH, TIMELY, check_query, leading
from keepbook.book.recall.query_terms import QueryTerm, expand_terms, idf, related_words, score_terms, vocabulary
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.indexes.turn_index import ASKS, SAYS, SPEAKER, STANDS, USER
from keepbook.book.text.time_hints import DAY, NamedTime, asked_days, asked_stretch
from keepbook.book.text.words import query_terms, stem
from keepbook.errors import ModelFailed
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForKeys, PreparedStatement
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHit:
    """A turn that answers, how well (0 to 1), and why."""

    thread_id: str
    session: str | None
    title: str | None
    turn: int
    role: str
    speaker: str | None
    text: str
    at: datetime
    relevance: float
    reasons: tuple[str, ...]
    recorded_by: str | None = None
    """Who recorded it, where the person did not say it at a door of ours and it was not answered here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A turn found by search; the words that matched stand between ⟦ and ⟧."""

    thread_id: str
    title: str | None
    turn: int
    role: str
    at: datetime
    text: str


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
            days += [want.asked] if key in own.get(want.term, {}) else []
        elif key not in values.get(want.term, {}):
            continue
        elif want.typo:
            typos.append(f"“{want.asked}” read as “{want.term}”")
        else:
            (said if key in own.get(want.term, {}) else nearby).append(want.term)
    listed = (("words", said), ("nearby", nearby), ("day", days), ("said by", [spoken] if spoken else []))
    return (*(f"{what}: {', '.join(found)}" for what, found in listed if found), *typos)


# Operations


def search(tx: Tx, query: str, *, limit: int = 20) -> list[Snippet]:
    """The turns that have all the words, newest first. If there are none, the turns that have some, best first."""
    check_query(query, limit)
    asked = ChatQuery(_query_terms(tx, query), [])
    own, common = _postings(tx, asked.wanted, _trashed_threads(tx))
    groups: dict[str, set[TurnPlace]] = {}
    for want in asked.wanted:
        groups.setdefault(want.asked, set()).update(own.get(want.term, {}))
    some = score_terms(asked.wanted, own)
    whole = [key for key in some if all(key in having for having in groups.values())] if not common else []
    rows = _rows(tx, whole)
    keys = sorted(rows, key=lambda key: (rows[key].at, key), reverse=True)
    if not keys:
        keys = _best(some, FINALISTS)
        own = _merge_weights(own, _weights_at(tx, keys, common))
        groups = {
            word: {key for want in asked.wanted if want.asked == word for key in own.get(want.term, ())}
            for word in groups
        }
        rows = _rows(tx, keys)
        some = score_terms(asked.wanted, own)
        keys = [key for key in _best(some, len(some)) if key in rows]
        whole = [key for key in keys if all(key in having for having in groups.values())]
        keys = sorted(whole, key=lambda key: (rows[key].at, key), reverse=True) or keys
    words = [want.term for want in asked.wanted]
    return [
        Snippet(
            thread_id=key[0], title=rows[key].title, turn=key[1], role=rows[key].role,
            at=parse_stamp(rows[key].at), text=snippet_of(rows[key].text, words),
        )
        for key in keys[:limit]
    ]  # fmt: skip


def recall_chats(tx: Tx, query: str, *, limit: int = 10, meaning: Meaning | None = None) -> list[ChatHit]:
    """The turns that answer a question, each read together with its neighbours."""
    check_query(query, limit)
    asked = _parse_query(tx, query)
    trashed = _trashed_threads(tx)
    own, common = _postings(tx, asked.wanted, trashed)
    finalists = _best(
        score_terms(asked.wanted, {term: in_context(at) for term, at in own.items()}), max(FINALISTS, limit)
    )
    alike, failure = _alike(tx, meaning, asked, query, finalists, trashed)
    silent = turns_not_recalled(tx)
    chosen = [key for key in dict.fromkeys([*finalists, *alike]) if key[1] not in silent.get(key[0], ())]
    own = _merge_weights(
        own, _weights_at(tx, {(thread, turn + step) for thread, turn in chosen for step in range(-2, 3)}, common)
    )
    marks = _weights_at(
        tx, {(thread, turn - step) for thread, turn in chosen for step in (0, 1)},
        [SAYS, ASKS, STANDS, *asked.speakers],
    )  # fmt: skip
    values = {
        term: at if term.startswith(DAY) else in_context(at, marks.get(ASKS, {})) for term, at in own.items()
    }  # fmt: skip
    scores = score_terms(asked.wanted, values)
    most = max([asked.whole * SAYS_MUCH, *(scores.get(key, 0.0) for key in chosen)]) if alike else asked.whole
    stands = marks.get(STANDS, {}) if USER in asked.speakers else {}
    ranked: dict[TurnPlace, float] = {}
    for key in chosen:
        says = marks.get(SAYS, {}).get(key, 0.0)
        score = (scores.get(key, 0.0) / most if most else 0.0) + ALIKE * alike.get(key, NOT_ALIKE)[0]
        score *= (says / (says + SUBSTANCE)) / (1.0 + ALIKE if alike else 1.0)
        score *= (1.0 if _speaker(key, asked, marks) else 1.0 / SPOKEN) if asked.speakers else 1.0
        score *= STANDING if key in stands else 1.0
        if score > 0:
            ranked[key] = min(1.0, round(score, 4))
    named = None if asked_days(query) else asked_stretch(query, present(tx))  # the days are among the words already
    found = _foremost(tx, ranked, named, limit)
    hits = []
    for row, relevance, timely in found:
        key = (row.thread_id, row.turn)
        why = _reasons(key, asked, own, values, _speaker(key, asked, marks) if asked.named else None)
        likeness = alike.get(key, NOT_ALIKE)[1]
        meant = (f"meaning: {likeness:.2f}",) if likeness >= LIKE or (alike and not why) else ()
        hits.append(_hit(row, relevance, (*why, *meant, *failure, *timely)))
    return hits


def _speaker(key: TurnPlace, asked: ChatQuery, marks: Mapping[str, Mapping[TurnPlace, float]]) -> str | None:
    """Who of those that the question names said this, if any."""
    return next((mark[1:] for mark in asked.speakers if key in marks.get(mark, {})), None)


def _foremost(
    tx: Tx, ranked: Mapping[TurnPlace, float], named: NamedTime | None, limit: int
) -> list[tuple[Any, float, tuple[str, ...]]]:
    """The best turns as they were said, newer ones first among equals; of the time that the question names, they count
    more. What is equal to the last is read too, and more only where some are not to be shown."""
    found: list[tuple[Any, float, tuple[str, ...]]] = []
    for most in (len(ranked),) if named else (limit, len(ranked)):
        rows = _rows(tx, leading(ranked, most, 0.0))
        found = []
        for key, row in rows.items():
            timely = named is not None and named.covers(row.at)
            relevance = min(1.0, round(ranked[key] * TIMELY, 4)) if timely else ranked[key]
            found.append((row, relevance, (f"time: {named.said}",) if named and timely else ()))
        if len(found) >= limit:
            break
    found.sort(key=lambda one: (one[0].thread_id, one[0].turn))
    found.sort(key=lambda one: one[0].at, reverse=True)
    return sorted(found, key=lambda one: -one[1])[:limit]


def _alike(
    tx: Tx,
    meaning: Meaning | None,
    asked: ChatQuery,
    query: str,
    found: Collection[TurnPlace],
    trashed: Collection[str],
) -> tuple[dict[TurnPlace, tuple[float, float]], tuple[str, ...]]:
    """How like the question these turns are, and those most alike; and what to say where that cannot be told."""
    if meaning is None:
        return {}, ()
    try:
        alike = meaning.alike(tx, TURN, in_first_person(query, [mark[1:] for mark in asked.speakers]))
    except ModelFailed as error:
        return {}, (f"words alone: {error.message}",)
    if alike is None or (not found and alike.is_empty):
        return {}, ()
    return alike.near(found, FINALISTS, without=trashed), ()


def _best(scores: Mapping[TurnPlace, float], most: int) -> list[TurnPlace]:
    return sorted(scores, key=lambda key: (-scores[key], key))[:most]


def _merge_weights(one: Mapping[str, Mapping[TurnPlace, float]], other: Mapping[str, Mapping[TurnPlace, float]]) -> Any:
    return {term: {**one.get(term, {}), **other.get(term, {})} for term in [*one, *other]}


def _hit(row: Any, relevance: float, reasons: tuple[str, ...]) -> ChatHit:
    return ChatHit(
        thread_id=row.thread_id, session=row.session, title=row.title, turn=row.turn, role=row.role,
        speaker=row.speaker, text=row.text, at=parse_stamp(row.at), relevance=relevance, reasons=reasons,
        recorded_by=row.recorded_by,
    )  # fmt: skip


# Queries


def _parse_query(tx: Tx, question: str) -> ChatQuery:
    marks = [SPEAKER + name for name in speaker_names(question)]
    known = {mark for (mark,) in _SAID.tuples(tx.conn, [(mark,) for mark in [*marks, USER]], {"owner": tx.owner})}
    speakers = [mark[1:] for mark in marks if mark in known]
    wanted = _query_terms(tx, question, names={stem(name) for name in speakers})
    total = _total(tx)
    for day in asked_days(question):
        if count := _count(tx, DAY + day, COUNTED):
            wanted.append(QueryTerm(DAY + day, stem(day), 1.0, idf(count, total)))
    named = bool(speakers)
    if not named and USER in known:
        speakers = [USER[1:]]
    return ChatQuery(wanted, [SPEAKER + name for name in speakers], named)


def _query_terms(tx: Tx, query: str, names: Collection[str] = ()) -> list[QueryTerm]:
    words = query_terms(query)
    counts = {word: _count(tx, word, COUNTED) for word in words}
    made_of = related_words(tx, turn_terms, query)
    found = expand_terms(words, counts, _total(tx), lambda word: vocabulary(tx, turn_terms, word), made_of)
    return [want._replace(share=want.share * NAME_SHARE) if want.asked in names else want for want in found]


def _count(tx: Tx, term: str, most: int) -> int:
    return int(_COUNT.first(tx.conn, {"owner": tx.owner, "term": term, "most": most}).count)


def _total(tx: Tx) -> int:
    return int(tx.conn.execute(select(func.sum(threads.c.turns)).where(threads.c.owner == tx.owner)).scalar() or 0)


def _trashed_threads(tx: Tx) -> set[str]:
    query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.deleted_at.isnot(None))
    return set(tx.conn.execute(query).scalars())


def _postings(
    tx: Tx, wanted: Sequence[QueryTerm], trashed: Collection[str]
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
        found[want.term] = {(row.thread_id, row.turn): row.weight for row in rows if row.thread_id not in trashed}
    return found, common


def _weights_at(tx: Tx, keys: Collection[TurnPlace], terms: Sequence[str]) -> dict[str, dict[TurnPlace, float]]:
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


def _rows(tx: Tx, keys: Iterable[TurnPlace]) -> dict[TurnPlace, Any]:
    """What was said at these turns, where the chat is not in the trash."""
    listed = sorted(keys)
    rows = {}
    for start in range(0, len(listed), 400):
        query = (
            select(messages, threads.c.title, threads.c.session)
            .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
            .where(messages.c.owner == tx.owner)
            .where(tuple_(messages.c.thread_id, messages.c.turn).in_(listed[start : start + 400]))
            .where(messages.c.role.in_(("user", "assistant")), threads.c.deleted_at.is_(None))
        )
        rows.update({(row.thread_id, row.turn): row for row in tx.conn.execute(query)})
    return rows


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
