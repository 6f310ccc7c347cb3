"""Answers questions to the notebook through recall: the best hit first, ended lines after those that hold.

Below a floor that was found on questions without an answer, the notebook says that it has nothing. A line that is only
offered is called so.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations

from keepbook.book.memory.memories import Memory
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words, numbers, stem, tokens, word_set
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.read import shared_reader, turn_language
from keepbook.models.notebook.reply.answering import answer_score
from keepbook.models.reader.values import ReaderTurn

ANSWERS = -0.5
"""From these log-odds on a line answers: on left-out books it is told in vain for one unanswerable question in five
(`training/answers_fit.py`, `training/answer_floor.py`)."""
VERY_LIKE = 0.6
"""From this likeness on a line answers where nothing was learned for the embedder."""
NEAREST_LIKE = 0.3
"""From this likeness on a line that does not answer is shown as the nearest there is."""
CHAT_FLOOR = {True: 0.45, False: 0.5}
SINCE = 0.12
"""So much less like a question than the line that answers best may one be that was said after it."""
NEAR = 0.1
"""Hits so near the best are as good as it; the newest of them is told."""
MOST = 4
QUOTE_LETTERS = 200
_FRAME = frozenset(map(stem, word_set("""
    what which who where when how know remember tell say show list give have got keep kept note noted write wrote
    written down everything anything something all
    about me myself my mine you your book notes memory so far now here today chat
    this learned learnt saved stored do did please can could there is are in
""")))  # fmt: skip
"""Words of a question that asks for all there is."""

_OF_THE_BOOK = frozenset(map(stem, word_set("""
    know remember tell say show list have got keep kept note noted write wrote written everything anything something
    all learned learnt saved stored book notes memory
    wissen weißt merken gemerkt sabes recuerdas vet husker sais souviens
""")))  # fmt: skip
"""Of which one at least stands in it: "how old am I?" asks for something else."""

_NEVER = frozenset(map(stem, word_set("never nie niemals nunca jamás aldri jamais")))


@dataclass(frozen=True, slots=True)
class LookupResult:
    """What a question finds. `everything`: it asked for all memories."""

    lines: tuple[Memory, ...] = ()
    ended: tuple[Memory, ...] = ()
    offered: tuple[Proposal, ...] = ()
    turns: tuple[ChatHit, ...] = ()
    everything: bool = False
    disagreeing: frozenset[str] = frozenset()
    """Lines that may not both hold, by id: each is told with its day."""
    nearest: Memory | None = None
    """Where nothing answers: the line that comes nearest, said to be no more."""

    @property
    def empty(self) -> bool:
        return not (self.lines or self.ended or self.offered or self.turns)


def asks_everything(question: str) -> bool:
    """Whether a question names no matter: "what do you know about me?" """
    return _names_no_matter([stem(word) for word in tokens(question)])


def asks_topics(question: str) -> bool:
    """Whether a question asks for what is never kept: "what do you never keep?" """
    asked = [stem(word) for word in tokens(question)]
    others = [word for word in asked if word not in _NEVER]
    return len(others) < len(asked) and _names_no_matter(others)


def _names_no_matter(asked: Sequence[str]) -> bool:
    matter = [word for word in asked if word not in _FRAME and not _is_light(word)]
    return not matter and not _OF_THE_BOOK.isdisjoint(asked)


def _is_light(word: str) -> bool:
    return not content_words(word)


def find_answers(
    question: str,
    hits: Sequence[Hit],
    turns: Sequence[ChatHit],
    offered: Sequence[Proposal],
    *,
    sense: Sense | None,
) -> LookupResult:
    """The hits that answer a question, from those that recall found."""
    about = [hit for hit in hits if is_about(hit, question) and is_near(hit, question, sense)]
    lines, ended = (
        rank_hits([hit for hit in about if hit.current]),
        rank_hits([hit for hit in about if not hit.current]),
    )
    if turn_language(question) == "en":  # of another language every line is as like a question as every other
        lines = (*_said_since(lines[:1], hits, question), *lines)
    waiting = tuple(one for one in offered if _may_answer(question, one.content, sense, found=bool(lines)))
    quoted = tuple(
        hit
        for hit in turns
        if hit.relevance >= CHAT_FLOOR[sense is not None] and hit.role == "user" and not _only_asks(hit.text)
    )
    if not lines:
        said = quoted[:MOST]
    else:
        said = ()
    found = LookupResult(lines[:MOST], ended[:MOST], waiting, said, disagreeing=_disagreeing(lines[:MOST]))
    if found.empty:
        return replace(found, nearest=_nearest(question, hits))
    return found


def _said_since(best: Sequence[Hit], hits: Sequence[Hit], question: str) -> tuple[Hit, ...]:
    """What was said of a matter after the line that answers best, and may have changed it: as like the question as that
    line, or like it and of a thing that the line names. "I've traded the Volvo for a Tesla" goes with "I drive a
    Volvo"."""
    asked = set(content_words(question))
    newer = [hit for hit in hits if hit.current and hit.likeness >= NEAREST_LIKE and is_about(hit, question)]
    found = [hit for hit in newer if any(_goes_on(hit, first, asked) for first in best)]
    return tuple(sorted(found, key=lambda one: one.recorded_at, reverse=True))


def _goes_on(hit: Hit, first: Hit, asked: AbstractSet[str]) -> bool:
    """Whether a line was said after another, and of the same matter."""
    if hit.recorded_at <= first.recorded_at:
        return False
    of_one_thing = _words_beyond(asked, hit) & _words_beyond(asked, first)
    return hit.likeness >= first.likeness - SINCE or bool(of_one_thing)


def _words_beyond(asked: AbstractSet[str], line: Memory) -> set[str]:
    return set(content_words(line.content)) - asked


def _only_asks(said: str) -> bool:
    """Whether a turn only asked: what was asked before answers nothing."""
    if said.rstrip().endswith(("?", "？")):
        return True
    pieces = shared_reader().read((ReaderTurn("user", said),))
    return turn_language(said) == "en" and not any(piece.label in ("keep", "old", "passing") for piece in pieces)


def _nearest(question: str, hits: Sequence[Hit]) -> Hit | None:
    """The line that is most like a question which none answers; of those without a likeness, one with a word of it."""
    asked = set(content_words(question)) - QUESTION_WORDS
    near = [
        hit for hit in hits if hit.current and (hit.likeness >= NEAREST_LIKE or asked & set(content_words(hit.content)))
    ]
    return max(near, key=lambda hit: (hit.likeness, hit.relevance), default=None)


def _disagreeing(lines: Sequence[Hit]) -> frozenset[str]:
    """The lines that say something else of the same matter and the same one, on different days."""
    pairs = ((one, other) for one, other in combinations(lines, 2) if one.subject == other.subject)
    kept = [(one, other) for one, other in pairs if _may_disagree(one, other)]
    return frozenset(id for one, other in kept for id in (one.id, other.id))


def _may_disagree(one: Hit, other: Hit) -> bool:
    some, others = set(content_words(one.content)), set(content_words(other.content))
    same_day = one.recorded_at.date() == other.recorded_at.date()
    return bool(some & others) and bool(some - others) and bool(others - some) and not same_day


def is_near(hit: Hit, question: str, sense: Sense | None) -> bool:
    """Whether a line answers a question, as learned; without the embedder of Keepbook, whether it has all of its words
    and numbers, or means nearly the same. Relevance only orders the lines of a book, and the best of a poor lot is
    none."""
    score = None
    if sense is not None:
        score = answer_score(question, hit.content, sense)
    if score is not None:
        return score >= ANSWERS
    asked = set(content_words(question)) - QUESTION_WORDS
    if "you" in tokens(question):  # "did you write down the tablets?" asks about the tablets
        asked -= _OF_THE_BOOK
    known = bool(asked) and asked <= set(content_words(hit.content)) and not _begins_with_another(hit.content, asked)
    return numbers(question) <= numbers(hit.content) and (known or hit.likeness >= VERY_LIKE)


_SPEAKER = word_set("i i'm i've me we we're we've us")


def _begins_with_another(line: str, asked: AbstractSet[str]) -> bool:
    """Whether a line begins with somebody or something of the person's that a question does not name, and does not
    speak of the person: "My sister lives in Leeds" says nothing of "where do I live?" """
    first, *rest = tokens(line) or [""]
    beginning = next(iter(content_words(" ".join(rest))), "")
    return first in ("my", "our") and beginning not in asked and _SPEAKER.isdisjoint(rest)


def rank_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits near the best one, newest first; the others are left out."""
    best = max((hit.relevance for hit in hits), default=0.0)
    near = [hit for hit in hits if hit.relevance >= best - NEAR]
    return tuple(sorted(near, key=lambda hit: hit.recorded_at, reverse=True))


def is_about(hit: Hit, question: str) -> bool:
    """Whether a line is about whom the question asks: one that it names, else the person. "Where do I live?" does not
    ask where a sister does."""
    asked = set(map(stem, tokens(question)))
    if names := _names(question):
        return names <= set(content_words(f"{hit.subject or ''} {hit.content}"))
    if hit.subject is None:
        return True
    return bool(asked & set(map(stem, tokens(hit.subject)))) or bool(asked & set(content_words(hit.content)))


def _names(question: str) -> set[str]:
    """The names in a question: "where does Peter live?" In German every noun looks like one."""
    if turn_language(question) == "de":
        return set()
    return set(content_words(" ".join(word for word in question.split()[1:] if word[:1].isupper())))


def _may_answer(question: str, line: str, sense: Sense | None, *, found: bool) -> bool:
    """Whether an offered line has all words of a question, or is as like it as a line that answers; beside one that is
    found, as like as the nearest."""
    asked = set(content_words(question))
    if asked and asked <= set(content_words(line)):
        return True
    if sense is None or turn_language(question) != "en":
        return False
    score = answer_score(question, line, sense)
    if score is not None and score >= ANSWERS:
        return True
    one, other = sense.direction(question), sense.direction(line)
    return found and one is not None and other is not None and float(one @ other) >= NEAREST_LIKE


def quoted_turn(hit: ChatHit) -> str:
    """A turn of an earlier chat as it is quoted."""
    text = " ".join(hit.text.split())
    if len(text) <= QUOTE_LETTERS:
        return text
    return text[:QUOTE_LETTERS].rsplit(" ", 1)[0] + " …"
