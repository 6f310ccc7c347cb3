"""Finds what was said in chats: full-text search with marked snippets, and recall of the passages that answer.

Both read the word index of chats, which has no hidden context and no incognito chats. Chats in the trash are left out;
what the person asked to forget is not recalled. Recall returns passages and not whole turns, by default at most as much
text as twenty turns; passages of little relevance are left out even if there is room. On request the turns before and
after a hit come with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from keepbook.book.ground.limits import check_question, clean_count
from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger.ledger import present
from keepbook.book.recall.memories import MOST_HITS, TIMELY, check_query, leading
from keepbook.book.recall.query_terms import score_terms
from keepbook.book.recall.turns.beside import LINE, size_of, with_neighbours, within_room
from keepbook.book.recall.turns.chat_wording import is_acknowledgement, snippet_of
from keepbook.book.recall.turns.hits import (
    ChatHit,
    passage_fields,
    recalled_rows,
    turn_rows,
    without_topics,
    without_withdrawn_titles,
)
from keepbook.book.recall.turns.later_words import MAKES_WAY_FROM, later_words
from keepbook.book.recall.turns.overview_questions import asks_for_overview, matter_of_overview
from keepbook.book.recall.turns.passage_search import PASSAGE, Stretch, find_passage
from keepbook.book.recall.turns.ranking import (
    FINALISTS,
    ChatQuery,
    RankedTurns,
    TurnPlace,
    best_keys,
    merge_weights,
    postings,
    rank_turns,
    trashed_threads,
    turn_query_terms,
    turns_within,
    weights_at,
)
from keepbook.book.recall.turns.selection import (
    FLOOR,
    ChatCandidate,
    choose_candidates,
    one_of_each_chat,
    persons_half,
    worth_showing,
)
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.indexes.turn_index import ASSISTANT, USER
from keepbook.book.text.time_hints import NamedTime, asked_days, asked_stretch
from keepbook.errors import Invalid
from keepbook.storage.database import Tx

TURNS = 20
"""The default room for all passages together is that of the passages of this many turns."""
LEAST_ROOM = 2000
"""The least default room, in letters, even if all turns are short."""
LEAST = 100
"""No passage is cut to fewer letters than this, however little room there is."""
READ = 100
"""How many turns are read to choose from."""
MOST_AROUND = 10
"""How many turns before and after a hit may be asked for."""
ORDERS = ("relevance", "time")
OVERVIEW = 250
"""How many letters of a turn are shown for an overview, which many turns answer together. Measured, in the room of
twenty long turns: .80 of the events are shown with this, .78 with 300, .50 with whole passages."""
OVERVIEW_FLOOR = 0.1
"""The floor for an overview (see `selection.FLOOR`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A turn found by search; the words that matched stand between ⟦ and ⟧."""

    thread_id: str
    title: str | None
    turn: int
    role: str
    at: datetime
    text: str


class ChatsWanted(NamedTuple):
    """How many passages are wanted, of which time, and in which order."""

    limit: int | None = None
    """The most passages; None: as many as fit into the room."""
    since: str | None = None
    until: str | None = None
    order: str | None = None
    """One of `ORDERS`. None: by relevance, or for an overview by time."""
    spread: bool = False
    """Whether passages of many chats are wanted."""
    tokens: int | None = None
    """The room for all passages; None: it follows from the limit or the default."""
    around: int = 0
    """How many turns before and after each hit are wanted."""
    overview: bool = False
    """Whether many turns answer the question together, each a little."""

    @property
    def in_time(self) -> bool:
        return self.since is not None or self.until is not None


class FoundTurn(NamedTuple):
    """A turn's row, its relevance, and the reason if it is of the time that the question names."""

    row: Any
    relevance: float
    timely: tuple[str, ...] = ()

    @property
    def key(self) -> TurnPlace:
        return self.row.thread_id, self.row.turn


# Rules


def check_wanted(wanted: ChatsWanted) -> None:
    """Raise `Invalid` if the values are out of range or contradict each other."""
    if wanted.order is not None and wanted.order not in ORDERS:
        raise Invalid(f"order is one of {', '.join(ORDERS)}, not {wanted.order!r}", field="order")
    if wanted.since is not None and wanted.until is not None and wanted.until <= wanted.since:
        raise Invalid("until must be later than since", field="until")
    if wanted.tokens is not None:
        clean_count(wanted.tokens, "tokens", MOST_TOKENS)
    if wanted.around:
        clean_count(wanted.around, "around", MOST_AROUND)


MOST_TOKENS = 100_000


def passage_room(role: str, asked: ChatQuery, wanted: ChatsWanted, room: int) -> int:
    """How many letters of a turn are shown at most. An overview shows little of many turns. A reply gets half as much
    as a turn of the person, unless the question asks for replies: they are long, and seldom what is wanted."""
    if wanted.overview:
        return max(OVERVIEW, room // (wanted.limit or MOST_HITS) - LINE)
    if role == "user" or asks_for_replies(asked):
        return PASSAGE
    return PASSAGE // 2


def asks_for_replies(asked: ChatQuery) -> bool:
    """Whether a question is about what the assistant said."""
    return ASSISTANT in asked.speakers


def asks_of_person(asked: ChatQuery) -> bool:
    """Whether a question is about the one person who talks with an assistant."""
    return USER in asked.speakers


# Operations


def search(tx: Tx, query: str, *, limit: int = 20) -> list[Snippet]:
    """The turns that have all the words, newest first; or if there are none, those that have some, best first."""
    check_query(query, limit)
    asked = ChatQuery(turn_query_terms(tx, query), [])
    own, common = postings(tx, asked.wanted, trashed_threads(tx))
    groups: dict[str, set[TurnPlace]] = {}
    for want in asked.wanted:
        groups.setdefault(want.asked, set()).update(own.get(want.term, {}))
    some = score_terms(asked.wanted, own)
    if not common:
        whole = [key for key in some if all(key in having for having in groups.values())]
    else:
        whole = []
    rows = turn_rows(tx, whole)
    keys = sorted(rows, key=lambda key: (rows[key].at, key), reverse=True)
    if not keys:
        keys = best_keys(some, FINALISTS)
        own = merge_weights(own, weights_at(tx, keys, common))
        groups = {
            word: {key for want in asked.wanted if want.asked == word for key in own.get(want.term, ())}
            for word in groups
        }
        rows = turn_rows(tx, keys)
        some = score_terms(asked.wanted, own)
        keys = [key for key in best_keys(some, len(some)) if key in rows]
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


def recall_chats(
    tx: Tx,
    query: str,
    *,
    limit: int | None = None,
    wanted: ChatsWanted | None = None,
    meaning: Meaning | None = None,
) -> list[ChatHit]:
    """The passages that answer a question, each turn read together with its neighbours."""
    check_question(query)
    wanted = _as_asked(wanted or ChatsWanted(limit), query)
    if wanted.limit is None:
        check_query(query, TURNS)
    else:
        check_query(query, wanted.limit)
    check_wanted(wanted)
    among = None
    if wanted.in_time:
        among = turns_within(tx, wanted.since, wanted.until)
    if wanted.overview:
        about = matter_of_overview(query)
    else:
        about = query
    ranked = rank_turns(tx, about, meaning=meaning, most=wanted.limit or 0, among=among)
    named = None if asked_days(query) else asked_stretch(query, present(tx))  # days are searched for as words
    if wanted.in_time or wanted.spread:
        found = _foremost(tx, ranked, named, None)
    else:
        found = _foremost(tx, ranked, named, max(READ, wanted.limit or 0))
    room = _room(found, wanted)
    hits = _choose(found, ranked, wanted, room)
    if wanted.order is None and not wanted.in_time and asks_of_person(ranked.asked):
        hits = _with_later_words(tx, hits, ranked, wanted, room)
    if wanted.around:
        hits = with_neighbours(tx, hits, wanted.around, ranked.asked.wanted)
    hits = without_withdrawn_titles(tx, without_topics(tx, within_room(hits, room)))
    if wanted.order == "time":
        hits.sort(key=lambda hit: (hit.at, hit.thread_id, hit.turn))
    return hits


def _as_asked(wanted: ChatsWanted, query: str) -> ChatsWanted:
    """The same; if the question asks for an overview, with passages of many chats, in the order of time."""
    if not asks_for_overview(query):
        return wanted
    return wanted._replace(order=wanted.order or "time", spread=True, overview=True)


def _choose(found: Sequence[FoundTurn], ranked: RankedTurns, wanted: ChatsWanted, room: int) -> list[ChatHit]:
    """The passages to show of the turns found, best first, as many as fit into the room."""
    candidates = [
        ChatCandidate(nth, one.relevance, one.row.role == "user", f"{one.row.thread_id} {one.row.at[:10]}")
        for nth, one in enumerate(found)
        if ranked.answers_question(one.key) or not is_acknowledgement(one.row.text)
    ]
    if wanted.overview:
        worth = worth_showing(candidates, OVERVIEW_FLOOR)
    else:
        worth = worth_showing(candidates, FLOOR)
    if wanted.spread:
        ordered = one_of_each_chat(worth)
    else:
        ordered = worth
    if not asks_for_replies(ranked.asked):
        ordered = persons_half(ordered)
    passages: dict[int, Stretch] = {}

    def size(one: ChatCandidate) -> int:
        passage = passages[one.nth] = _passage(found[one.nth], ranked, wanted, room)
        return passage.end - passage.start + LINE

    chosen = choose_candidates(ordered, room, wanted.limit or MOST_HITS, size)
    return [_hit(found[one.nth], passages[one.nth], ranked) for one in chosen]


def _with_later_words(
    tx: Tx, hits: Sequence[ChatHit], ranked: RankedTurns, wanted: ChatsWanted, room: int
) -> list[ChatHit]:
    """The hits, and later sentences that share rare words with the first ones. These fill free places; if many hits are
    asked for, they replace the last ones."""
    later = [
        ChatHit(
            **passage_fields(one.row, one.place), session=one.row.session, title=one.row.title,
            relevance=min(ranked.relevance.get(one.key, 0.0), hits[-1].relevance), reasons=one.reasons,
        )
        for one in later_words(tx, hits, ranked.asked.wanted)
    ]  # fmt: skip
    most = wanted.limit or MOST_HITS
    if most < MAKES_WAY_FROM:
        later = later[: max(0, most - len(hits))]
    later.sort(key=lambda hit: -hit.relevance)
    return [*within_room(hits[: most - len(later)], room - sum(map(size_of, later))), *later]


def _passage(one: FoundTurn, ranked: RankedTurns, wanted: ChatsWanted, room: int) -> Stretch:
    most = min(passage_room(one.row.role, ranked.asked, wanted, room), max(room, LEAST))
    likeness = ranked.likeness.of_passages(one.key) if ranked.likeness and len(one.row.text) > most else ()
    return find_passage(one.row.text, most, ranked.asked.wanted, likeness)


def _room(found: Sequence[FoundTurn], wanted: ChatsWanted) -> int:
    """For how many letters there is room: as the caller wants it, or else as much as the first turns would take."""
    if wanted.tokens is not None:
        return 4 * wanted.tokens
    if wanted.limit is not None:
        return wanted.limit * (PASSAGE + LINE)
    return max(LEAST_ROOM, sum(min(len(one.row.text), PASSAGE) + LINE for one in found[:TURNS]))


def _foremost(tx: Tx, ranked: RankedTurns, named: NamedTime | None, limit: int | None) -> list[FoundTurn]:
    """The rows of the best turns, newer ones first among equals. Turns of the time that the question names count more.
    If some of the best may not be shown, all others are read too."""
    relevance = ranked.relevance
    found: list[FoundTurn] = []
    if named or limit is None:
        tries = [len(relevance)]
    else:
        tries = [limit, len(relevance)]
    for most in tries:
        found = [
            _timely(row, relevance[key], named) for key, row in recalled_rows(tx, leading(relevance, most, 0.0)).items()
        ]
        if limit is None or len(found) >= limit or most >= len(relevance):
            break
    found.sort(key=lambda one: one.key)
    found.sort(key=lambda one: one.row.at, reverse=True)
    return sorted(found, key=lambda one: -one.relevance)[:limit]


def _timely(row: Any, relevance: float, named: NamedTime | None) -> FoundTurn:
    if named is None or not named.covers(row.at):
        return FoundTurn(row, relevance)
    return FoundTurn(row, min(1.0, round(relevance * TIMELY, 4)), (f"time: {named.said}",))


def _hit(one: FoundTurn, passage: Stretch, ranked: RankedTurns) -> ChatHit:
    return ChatHit(
        **passage_fields(one.row, passage), session=one.row.session, title=one.row.title, relevance=one.relevance,
        reasons=(*ranked.reasons(one.key), *one.timely),
    )  # fmt: skip
