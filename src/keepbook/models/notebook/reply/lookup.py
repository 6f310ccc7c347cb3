"""Answers questions to the notebook through recall: the best hit first, ended lines after those that hold.

How likely a line is to answer is told by `answer_score.py`. From one bar on it is told as the answer; from a lower one
on it is shown as the nearest there is, and neither told as an answer nor denied; below that the notebook says that it
has nothing. A line that is only offered, and what was only said in a chat, is called so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from keepbook.book.memory.memories import Memory
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.people import names_of_relations
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.text.opposites import opposite
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words, stem, tokens, word_set
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.read import shared_reader, turn_language
from keepbook.models.notebook.reply.answer_score import (
    ANSWERS,
    NEAR,
    ParsedQuestion,
    is_of_another,
    names_asked,
    parse_question,
    score_texts,
    stems_of,
)
from keepbook.models.reader.values import ReaderTurn

AS_GOOD = 0.2
"""Lines so near the best are as good as it; the newest of them is told first."""
MOST, MOST_OF_MATTER = 4, 8
"""So many lines at most are told: as an answer, and of a matter of which all is asked."""
NEAREST_LIKE, SINCE = 0.3, 0.12
"""How like a question a line is at least, and how much less so than the one that answers best, if it was said since."""
MOST_BESIDE = 4
"""So many lines at most that name somebody asked about are looked at beside the hits."""
QUOTE_LETTERS = 200
_FRAME = frozenset(map(stem, word_set("""
    what which who where when how know remember tell say show list give have got keep kept note noted write wrote
    written down everything anything something all
    about me myself my mine you your book notes memory so far now here today chat
    this learned learnt saved stored do did please can could there is are in
""")))  # fmt: skip
"""Words of a question that asks for all there is."""

ADDRESSING = frozenset(map(stem, word_set("""
    know remember tell say show list have got keep kept note noted write wrote written everything anything something
    all learned learnt saved stored book notes memory
    wissen weißt merken gemerkt sabes recuerdas vet husker sais souviens
""")))  # fmt: skip
"""Of which one at least stands in it: "how old am I?" asks for something else."""

_WHO = word_set("who who's whos wer quién hvem qui")
_NEVER = frozenset(map(stem, word_set("never nie niemals nunca jamás aldri jamais")))


@dataclass(frozen=True, slots=True)
class LookupResult:
    """What a question finds. `everything`: it asked for all memories."""

    lines: tuple[Memory, ...] = ()
    ended: tuple[Memory, ...] = ()
    offered: tuple[Proposal, ...] = ()
    turns: tuple[ChatHit, ...] = ()
    chat: str = ""
    """The chat that asks: what was said in it is called so."""
    everything: bool = False
    disagreeing: frozenset[str] = frozenset()
    """Lines that may not both hold, by id: each is told with its day."""
    opposed: bool = False
    """Whether two of the lines say opposite things."""
    nearest: Memory | None = None
    """Where nothing surely answers: the line that comes nearest, said to be no more."""

    @property
    def empty(self) -> bool:
        return not (self.lines or self.ended or self.offered or self.turns)


def asks_everything(question: str) -> bool:
    """Whether a question names no matter: "what do you know about me?" """
    return _names_no_matter([stem(word) for word in tokens(question)])


def matter_asked(question: str, asked: ParsedQuestion) -> frozenset[str]:
    """The stems of a matter of which a question asks for all there is: "what do you know about Pluis?", "who is
    Pluis?". None where it asks for something of it: "how old is Pluis?" """
    words = tokens(question)
    matter = frozenset(content_words(question)) - _FRAME - ADDRESSING - QUESTION_WORDS
    asks_who = bool(words) and words[0] in _WHO and matter <= asked.names
    if asks_who or not ADDRESSING.isdisjoint(map(stem, words)):
        return matter
    return frozenset()


def asks_topics(question: str) -> bool:
    """Whether a question asks for what is never kept: "what do you never keep?" """
    asked = [stem(word) for word in tokens(question)]
    others = [word for word in asked if word not in _NEVER]
    return len(others) < len(asked) and _names_no_matter(others)


def _names_no_matter(asked: Sequence[str]) -> bool:
    matter = [word for word in asked if word not in _FRAME and not _is_light(word)]
    return not matter and not ADDRESSING.isdisjoint(asked)


def _is_light(word: str) -> bool:
    return not content_words(word)


class _Rated(NamedTuple):
    """A line and how likely it is to answer."""

    line: Memory
    score: float
    likeness: float


def find_answers(
    question: str,
    hits: Sequence[Hit],
    turns: Sequence[ChatHit],
    offered: Sequence[Proposal],
    *,
    sense: Sense | None,
    latest: Sequence[Memory] = (),
    chat: str = "",
) -> LookupResult:
    """What answers a question, of the lines and turns that recall found, of what is offered, and of the newest lines
    those that name somebody asked about."""
    called = names_of_relations([one.content for one in (*hits, *latest)])
    asked = parse_question(question, called, addressing=ADDRESSING)
    matter = matter_asked(question, asked)
    rated = _rate_lines(asked, hits, _naming(asked, hits, latest), sense)
    rated = [one._replace(score=1.0) if _names_matter(one.line, matter, asked) else one for one in rated]
    best = rank_lines([one for one in rated if one.line.current])
    if matter:
        lines = best[:MOST_OF_MATTER]
    else:
        since = _said_since(best[:1], rated, asked)
        lines = (*since, *(line for line in best if line not in since))[:MOST]
    ended = rank_lines([one for one in rated if not one.line.current])[:MOST]
    waiting = _sure_texts(asked, [one.content for one in offered], sense)
    found = LookupResult(
        lines, ended, tuple(offered[at] for at in waiting),
        disagreeing=_disagreeing(lines),
        chat=chat, opposed=any(opposite(one.content, other.content) for one, other in combinations(lines, 2)),
    )  # fmt: skip
    if found.empty:
        said = [hit for hit in turns if hit.role == "user" and not _only_asks(hit.text)]
        found = replace(found, turns=tuple(said[at] for at in _sure_texts(asked, [hit.text for hit in said], sense)))
    if found.empty:
        return replace(found, nearest=_nearest(asked, [one for one in rated if one.score >= NEAR]))
    return found


def _names_matter(line: Memory, matter: frozenset[str], asked: ParsedQuestion) -> bool:
    """Whether a line names a whole matter, and nobody else than who is asked about."""
    every = stems_of(line.content, line.subject)
    has_all = all(word in every or asked.names_of_people.get(word) in every for word in matter)
    return bool(matter) and has_all and not is_of_another(asked, line.content, line.subject)


def _nearest(asked: ParsedQuestion, rated: Sequence[_Rated]) -> Memory | None:
    """The likeliest of some lines that hold; none that lacks somebody who was asked about, or is about somebody else
    than the person who asks of themselves."""
    near = [one for one in rated if one.line.current and names_asked(asked, one.line.content, one.line.subject)]
    near = [one for one in near if not is_of_another(asked, one.line.content, one.line.subject)]
    best = max(near, key=lambda one: one.score, default=None)
    if best is None:
        return None
    return best.line


def _rate_lines(
    asked: ParsedQuestion, hits: Sequence[Hit], others: Sequence[Memory], sense: Sense | None
) -> list[_Rated]:
    lines: list[Memory] = [*hits, *others]
    like = likenesses_of(asked, hits, others, sense)
    scores = score_texts(asked, [(one.content, one.subject) for one in lines], like, sense)
    return [_Rated(*one) for one in zip(lines, scores, like, strict=True)]


def likenesses_of(
    asked: ParsedQuestion, hits: Sequence[Hit], others: Sequence[Memory], sense: Sense | None
) -> list[float]:
    """How like a question each hit and each other line is. What was found by its words alone, as a line that was
    written a moment ago and has no vector yet, is embedded here."""
    lines: list[Memory] = [*hits, *others]
    known = {hit.id: hit.likeness for hit in hits if hit.likeness > 0}
    without = [one for one in lines if one.id not in known]
    texts = [one.content for one in without]
    known |= zip([one.id for one in without], _likenesses(asked, texts, sense), strict=True)
    return [known[one.id] for one in lines]


def _sure_texts(asked: ParsedQuestion, texts: Sequence[str], sense: Sense | None) -> list[int]:
    """Which of some texts answer, the likeliest first."""
    scores = score_texts(asked, [(text, None) for text in texts], _likenesses(asked, texts, sense), sense)
    sure = [at for at, score in enumerate(scores) if score >= ANSWERS]
    return sorted(sure, key=lambda at: -scores[at])[:MOST]


def _likenesses(asked: ParsedQuestion, texts: Sequence[str], sense: Sense | None) -> list[float]:
    if sense is None or not texts:
        return [0.0] * len(texts)
    wanted = sense.direction(asked.text)
    if wanted is None:
        return [0.0] * len(texts)
    found = [sense.direction(text) for text in texts]
    return [0.0 if one is None else max(0.0, float(wanted @ one)) for one in found]


def _naming(asked: ParsedQuestion, hits: Sequence[Hit], latest: Sequence[Memory]) -> list[Memory]:
    """Of the newest lines those that recall did not find and that name somebody asked about: "Marie paints" shares no
    word with "what does my wife do?"."""
    known = {hit.id for hit in hits}
    named = asked.names_asked
    if not named:
        return []
    others = (one for one in latest if one.id not in known)
    return [one for one in others if named & set(map(stem, tokens(one.content)))][:MOST_BESIDE]


def _said_since(best: Sequence[Memory], rated: Sequence[_Rated], asked: ParsedQuestion) -> tuple[Memory, ...]:
    """What was said of a matter after the line that answers best, and may have changed it: about as like the question
    as that line, or like it and of a thing that the line names. "I've traded the Volvo for a Tesla" goes with "I drive
    a Volvo"."""
    first = next((one for one in rated if one.line in best), None)
    if first is None or turn_language(asked.text) != "en":  # elsewhere every line is as like it as every other
        return ()
    newer = [one for one in rated if one.line.current and one.likeness >= NEAREST_LIKE and _goes_on(one, first, asked)]
    return tuple(sorted((one.line for one in newer), key=lambda line: line.recorded_at, reverse=True))


def _goes_on(one: _Rated, first: _Rated, asked: ParsedQuestion) -> bool:
    """Whether a line was said after another, and of the same matter and people."""
    if one.line.recorded_at <= first.line.recorded_at or one.line.subject != first.line.subject:
        return False
    if not names_asked(asked, one.line.content, one.line.subject):
        return False
    said, before = (set(content_words(line.content)) - asked.matter for line in (one.line, first.line))
    return one.likeness >= first.likeness - SINCE or bool(said & before)


def _only_asks(said: str) -> bool:
    """Whether a turn only asked: what was asked before answers nothing."""
    if said.rstrip().endswith(("?", "？")):
        return True
    pieces = shared_reader().read((ReaderTurn("user", said),))
    return turn_language(said) == "en" and not any(piece.label in ("keep", "old", "passing") for piece in pieces)


def _disagreeing(lines: Sequence[Memory]) -> frozenset[str]:
    """The lines that say something else of the same matter and the same one, on different days."""
    pairs = ((one, other) for one, other in combinations(lines, 2) if one.subject == other.subject)
    kept = [(one, other) for one, other in pairs if _may_disagree(one, other)]
    return frozenset(id for one, other in kept for id in (one.id, other.id))


def _may_disagree(one: Memory, other: Memory) -> bool:
    some, others = set(content_words(one.content)), set(content_words(other.content))
    same_day = one.recorded_at.date() == other.recorded_at.date()
    return bool(some & others) and bool(some - others) and bool(others - some) and not same_day


def rank_lines(rated: Sequence[_Rated]) -> tuple[Memory, ...]:
    """If one of these lines surely answers, it and those as good, newest first; the others are left out."""
    best = max((one.score for one in rated), default=0.0)
    if best < ANSWERS:
        return ()
    near = [one.line for one in rated if one.score >= best - AS_GOOD]
    return tuple(sorted(near, key=lambda line: line.recorded_at, reverse=True))


def quoted_turn(hit: ChatHit) -> str:
    """A turn of an earlier chat as it is quoted."""
    text = " ".join(hit.text.split())
    if len(text) <= QUOTE_LETTERS:
        return text
    return text[:QUOTE_LETTERS].rsplit(" ", 1)[0] + " …"
