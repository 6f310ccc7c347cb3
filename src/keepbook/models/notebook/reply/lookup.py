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
from keepbook.book.text.words import content_words, fold_text, numbers, stem, tokens, word_set
from keepbook.models.notebook.lists.kin import PEOPLE, person_spoken_of
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.reply.asked_kind import MEASURED, asked_kind, has_kind, is_asked, measure_words
from keepbook.patterns import regex

LEAST_LIKE = 0.43
"""From this likeness of meaning on a line may answer that has none of the question's words."""
LEAST_SHARED = 1 / 2
"""From this share of the question's words on a line may answer."""
VERY_LIKE = 0.6
"""From this likeness on a line with half of the words and the time or amount that is asked for answers."""
LEAST_REST = 0.2
"""How like the words that a line lacks must be to what it says beyond the question. What these floors give,
`training/answer_floor.py` counts."""
NEAREST_LIKE = 0.3
"""From this likeness on a line that does not answer is shown as the nearest there is."""
CHAT_FLOOR = {True: 0.45, False: 0.5}
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
    waiting = tuple(one for one in offered if _shares(question, one.content))
    quoted = tuple(
        hit
        for hit in turns
        if hit.relevance >= CHAT_FLOOR[sense is not None] and hit.role == "user" and not _asks(hit.text)
    )
    if not lines:
        said = quoted[:MOST]
    else:
        said = ()
    found = LookupResult(lines[:MOST], ended[:MOST], waiting, said, disagreeing=_disagreeing(lines[:MOST]))
    if found.empty:
        return replace(found, nearest=_nearest(question, hits))
    return found


def _asks(said: str) -> bool:
    """Whether a turn only asked: what was asked before answers nothing."""
    return said.rstrip().endswith(("?", "？")) or is_asked(said)


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
    """Whether a line answers a question: it has the kind of thing that is asked for, the numbers that the question
    names, and its words, or means what it lacks of them. Relevance only orders the lines of a book, and the best of a
    poor lot is none."""
    kind = asked_kind(question)
    if not has_kind(kind, question, hit.content) or not numbers(question) <= numbers(hit.content):
        return False
    asked = set(content_words(question)) - QUESTION_WORDS
    if "you" in tokens(question):  # "did you write down the tablets?" asks about the tablets
        asked -= _OF_THE_BOOK
    line = set(content_words(hit.content))
    matter = asked - (measure_words(kind) - line)
    lacking = matter - line
    if matter and not lacking:
        return True
    if matter:
        shared = 1 - len(lacking) / len(matter)
    else:
        shared = 0.0
    if kind == "whether" or (shared < LEAST_SHARED and hit.likeness < LEAST_LIKE):
        return False
    if kind in MEASURED and shared >= LEAST_SHARED and (sense is None or hit.likeness >= VERY_LIKE):
        return True
    return _means(question, hit.content, lacking or asked, asked, sense)


def _means(question: str, line: str, lacking: AbstractSet[str], asked: AbstractSet[str], sense: Sense | None) -> bool:
    """Whether what a line says beyond a question is of the kind that the words which it lacks name: "languages", of
    "Portuguese and some German"."""
    if sense is None:
        return False
    wanted = " ".join(word for word in tokens(question) if stem(word) in lacking)
    rest = " ".join(word for word in line.split() if asked.isdisjoint(content_words(word)))
    one, other = sense.direction(wanted), sense.direction(rest)
    return one is not None and other is not None and float(one @ other) >= LEAST_REST


def rank_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits near the best one, newest first; the others are left out."""
    best = max((hit.relevance for hit in hits), default=0.0)
    near = [hit for hit in hits if hit.relevance >= best - NEAR]
    return tuple(sorted(near, key=lambda hit: hit.recorded_at, reverse=True))


_PEOPLE = frozenset(map(stem, PEOPLE))
"""Whom a question may ask about."""
_OF_SELF = word_set("i my me mine i'm we our us ich mein meine wir yo mi mis jeg min mitt mine je mon ma mes")
_SPEAKER = word_set("i i'm i've me we we've we're us")
"""Of which a line that begins with somebody else has one where it is about the person too."""
_NAMED = regex(r"\b(?:does|did|is|was|has|can|could|will|would|should)\s{1,3}([A-Z][^\W\d_]{1,30})(?:'s)?\b")


def is_about(hit: Hit, question: str) -> bool:
    """Whether a line is about whom the question asks: one that it names, else the person. "Where do I live?" does not
    ask where a sister does."""
    asked = set(map(stem, tokens(question)))
    line = set(map(stem, tokens(f"{hit.subject or ''} {hit.content}")))
    people = (asked & _PEOPLE) | _names(question)
    if people:
        return bool(people & line)
    if hit.subject is None:
        alone = _OF_SELF.isdisjoint(tokens(question)) or not person_spoken_of(hit.content)
        return alone or not _SPEAKER.isdisjoint(tokens(hit.content))
    return bool(asked & set(map(stem, tokens(hit.subject)))) or bool(asked & set(content_words(hit.content)))


def _names(question: str) -> set[str]:
    """Whom a question names: "where does Peter live?" """
    return {stem(fold_text(name)) for name in _NAMED.findall(question)}


def _shares(question: str, line: str) -> bool:
    asked = set(content_words(question))
    return bool(asked) and asked <= set(content_words(line))


def quoted_turn(hit: ChatHit) -> str:
    """A turn of an earlier chat as it is quoted."""
    text = " ".join(hit.text.split())
    if len(text) <= QUOTE_LETTERS:
        return text
    return text[:QUOTE_LETTERS].rsplit(" ", 1)[0] + " …"
