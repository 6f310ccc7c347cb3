"""What lines have to do with each other: which of them a person means, which says the same matter anew.

A matter is named by its words ("my salary", "the knee operation"); a line is meant if it has all of them, by stem,
by a slip of the keys, or by a form that states the matter without its name ("earns" for salary). Whose it is
counts: "my phone number" is not my mother's. Two lines say the same matter if they are about the same one and share
what is left of them without their values.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS, close_terms, polarity, stem, tokens
from keepbook.models.lines import wording
from keepbook.models.lines.people import is_past, same_one, subject, whose
from keepbook.models.lines.slots import WHEN, Slot, slots

_FAINT = frozenset(
    [
        "thing", "things", "stuff", "bit", "part", "fact", "facts", "info", "information", "detail", "details",
        "matter", "business", "topic", "rule", "rules", "entry", "note", "memory", "said", "told", "mentioned",
        "about", "everything", "anything", "all", "any", "both", "them", "those", "these", "that", "this", "my",
        "mine", "your", "our", "their", "it's", "its", "thats", "one", "ones", "other", "so", "bloody", "damn",
        "old", "new", "current", "figure", "amount", "please", "pls", "user", "whole", "story", "name", "called",
        "also", "have", "has", "had", "got", "get", "is", "was", "are", "im", "ive", "my", "regarding", "concerning",
        "notes", "book", "file", "record", "still", "always", "yes", "no", "ok",
        "ich", "bin", "gegen", "auch", "jeg", "mot", "ogsa", "yo", "soy", "tambien", "je", "suis", "aux", "aussi",
    ]
)  # fmt: skip
_WEAK = frozenset(
    map(
        stem,
        [
            "age", "size", "balance", "plan", "situation", "status", "amount", "date", "value", "habit", "problem",
            "issue", "idea",
        ],
    )
)  # fmt: skip
_PLURALS = regex(r"(?:[^s]s|children|people)$", re.IGNORECASE)


class Line(Protocol):
    """Anything that says something in a line."""

    @property
    def content(self) -> str: ...


One = TypeVar("One", bound=Line)


@dataclass(frozen=True, slots=True)
class Matter:
    name: str
    one: bool
    several: bool
    words: frozenset[str]
    says: re.Pattern[str]
    categories: tuple[str, ...]


@cache
def matters() -> tuple[Matter, ...]:
    told = tomllib.loads((Path(__file__).parent / "matters.toml").read_text(encoding="utf-8"))
    return tuple(
        Matter(
            name,
            row.get("one", False),
            row.get("several", False),
            frozenset(map(stem, row["words"])),
            regex("|".join(row["says"]), re.IGNORECASE),
            tuple(row.get("category", ())),
        )
        for name, row in told.items()
    )


HUSHED = 0.9
"""From which fit on a line is about a matter that is to be kept out."""


@lru_cache(maxsize=131_072)  # each statement is held against every line of a book
def content_words(text: str) -> tuple[str, ...]:
    """The words that say what a text is about, stemmed, in order."""
    found = [word for word in tokens(text.replace("-", " ")) if word not in STOP_WORDS and word not in _FAINT]
    return tuple(dict.fromkeys(stem(word) for word in found if len(word) > 1 or word.isdecimal()))


def _states(word: str, line: str, words: set[str]) -> bool:
    """Whether a line has a word: itself, a form that states its matter, or the word with a slip in it."""
    if word in words:
        return True
    if any(word in matter.words and (matter.says.search(line) or matter.words & words) for matter in matters()):
        return True
    if len(word) >= 5 and any(one.startswith(word) or (len(one) >= 5 and word.startswith(one)) for one in words):
        return True
    if any(_same_root(word, one) for one in words):
        return True
    return len(word) >= 5 and bool(close_terms(word, words))


def _same_root(word: str, other: str) -> bool:
    """Pregnancy, pregnant: words that begin alike for nearly all of their length."""
    shared = 0
    while shared < min(len(word), len(other)) and word[shared] == other[shared]:
        shared += 1
    return shared >= 6 and shared >= 0.8 * max(len(word), len(other))


def states(word: str, line: str) -> bool:
    """Whether a line has a word, given as its stem, or states its matter."""
    return _states(word, line, set(content_words(line)))


def fit(matter: str, line: str) -> float:
    """How well a line fits a matter, 0 to 1: the share of the matter's words that the line states."""
    wanted = content_words(matter)
    if not wanted:
        return 0.0
    words = set(content_words(line))
    stated = [word for word in wanted if _states(word, line, words)]
    left = [word for word in wanted if word not in stated]
    if stated and left and all(word in _WEAK for word in left):
        return 0.9
    return len(stated) / len(wanted)


def _others(matter: str, line: str) -> bool:
    """The line is somebody else's, and the matter does not name them."""
    who = subject(line)
    named = {stem(word.removesuffix("'s").removesuffix("s")) for word in tokens(matter)} | set(content_words(matter))
    return who is not None and who not in named and bool(re.search(r"\b(?:my|our)\b", matter, re.IGNORECASE))


def meant(matter: str, lines: Sequence[One]) -> list[One]:
    """The lines that a matter means: those that have all of it; of a long matter, those that have most."""
    wanted = content_words(matter)
    scored = [(fit(matter, one.content), one) for one in lines if not _others(matter, one.content)]
    best = max((score for score, _ in scored), default=0.0)
    least = 0.9 if len(wanted) < 4 else 0.6
    return [one for score, one in scored if score >= max(least, best - 0.2)] if best >= least else []


_CLAUSES = regex(r"(,\s+(?:and\s+)?|;\s*|\s+and\s+)")


def without(matter: str, line: str) -> str | None:
    """A line that tells the same of several ("Max is 6 and Ella is 9"), without what it says of the one that is named;
    None where it is about that one alone."""
    parts = _CLAUSES.split(line)
    names = {word for word in re.findall(r"[\w-]+?(?=['’]?s?\b)", matter) if re.search(rf"\b{word}\b", line)}
    names = {word for word in names if word[0].isupper() or word.title() in line.split()}
    own = [at for at in range(0, len(parts), 2) if names & set(re.findall(r"[\w-]+", parts[at]))]
    kinds = {slot.kind for at in own for slot in slots(f" {parts[at]}")} - {"name"}
    others = [at for at in range(0, len(parts), 2) if at not in own and kinds & {s.kind for s in slots(parts[at])}]
    if not own or not others:
        return None
    gone = {each for at in own for each in ((at, at + 1) if at + 1 < len(parts) else (at - 1, at))}
    rest = "".join(part for at, part in enumerate(parts) if at not in gone)
    return rest[:1].upper() + rest[1:]


_PARTS = regex(r",\s+(?:(?:and|but)\s+)?|;\s*|\s+(?:and|but|with|plus)\s+", re.IGNORECASE)
_HANGS = regex(r"\W*(?:who|which|that|whose|where|because|so|when|if)\b", re.IGNORECASE)


class Part(NamedTuple):
    """One of the things that a text tells: where it stands, and as a line of its own."""

    start: int
    end: int
    line: str


def told_apart(text: str, joint: re.Pattern[str] = _CLAUSES) -> list[Part]:
    """What a text tells, thing by thing; one where it tells one."""
    cuts = [(one.start(), one.end()) for one in joint.finditer(text)]
    spans = zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)], strict=True)
    return [Part(start, end, wording.line(_THEY.sub(_mine, text[start:end]))) for start, end in spans]


_THEY = regex(r"^they(?P<are>'re| are)?\b", re.IGNORECASE)


def _mine(found: re.Match[str]) -> str:
    return "I am" if found["are"] else "I"


def part_of(matter: str, text: str) -> tuple[int, int] | None:
    """Where in a text that tells several things the one lies that a matter names, with the word that joins it; None
    where the text is about it as a whole, or what is left would not stand."""
    spans = [(one.start, one.end) for one in told_apart(text, _PARTS)]
    own = [at for at, (start, end) in enumerate(spans) if fit(matter, text[start:end]) >= 0.9]
    named = set(content_words(matter))
    told = [at for at, (start, end) in enumerate(spans) if named & set(content_words(text[start:end]))]
    if len(own) != 1 or own != told or own[0] == 0:
        return None
    at = own[0]
    start, end = spans[at - 1][1], spans[at][1]
    later = text[end:]
    if "," not in text[start : spans[at][0]] and _SHARED.search(text[spans[at][0] : end]):
        return None
    stands = len(content_words(text[:start])) > 1 and not _HANGS.match(text[start:]) and not _HANGS.match(later[1:])
    return (start, end) if stands else None


_SHARED = regex(rf"\b(?:in|on|at|since|until|every|each|per|for|from|by) (?:{WHEN}|the |\d)", re.IGNORECASE)
"""What is said at the end of a list may be said of all of it: "Rome and Naples in May"."""


def distinct(matter: str, lines: Sequence[One]) -> bool:
    """Whether one word is said of several things: "the appointment", where there are two of them."""
    if len(lines) < 2 or re.search(
        r"\b(?:all|everything|anything|any|both|every|each|whatever)\b", matter, re.IGNORECASE
    ):
        return False
    nouns = [word for word in tokens(matter) if word not in STOP_WORDS and word not in _FAINT]
    if not nouns or _PLURALS.search(nouns[-1]):
        return False
    named = {*content_words(matter), "per"}
    marks = [mark for one in lines if (mark := _apart(nouns[-1], one.content, named)) is not None]
    return len(marks) > 1 and len(set(marks)) > 1


def _apart(noun: str, line: str, named: set[str]) -> str | None:
    """What sets the thing of a line apart from others of its name: "a dentist appointment", "the daily limit"."""
    words = tokens(line)
    at = next((n for n, word in enumerate(words) if stem(word) == stem(noun)), None)
    if at is None:
        return None
    start = at
    while start and words[start - 1] not in STOP_WORDS and not words[start - 1].isdecimal():
        start -= 1
    before = [word for word in words[start:at] if stem(word) not in named]
    if start == 0 and before and before[0] == "has":
        before = before[1:]
    indefinite = start > 0 and words[start - 1] in ("a", "an", "another")
    after = words[at + 1 : at + 4] if indefinite else []
    return " ".join([*before, *after]) if before or indefinite else None


# --- the same matter


@lru_cache(maxsize=4096)
def frame(text: str) -> frozenset[str]:
    """What is left of a line without its values: the words of its matter."""
    plain = text
    for one in reversed(slots(text)):
        if not (one.kind == "name" and one.start < 2):
            plain = f"{plain[: one.start]} {plain[one.end :]}"
    return frozenset(content_words(plain)) - _CHANGE


_CHANGE = frozenset(
    map(
        stem,
        [
            "now", "moved", "move", "changed", "change", "switched", "actually", "sorry", "just", "since", "still",
            "currently", "meant",
        ],
    )
)  # fmt: skip


@lru_cache(maxsize=4096)
def _values(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((one.kind, _plain(one)) for one in slots(text) if not (one.kind == "name" and one.start < 2))


def _plain(one: Slot) -> str:
    return re.sub(r"[,\s]|(?:st|nd|rd|th)$", "", one.text.lower()).rstrip("s")


def same_matter(new: str, old: str) -> bool:
    """Whether a new line takes the place of an old one: the same one's, the same matter, another value."""
    if not _touches(new, old) or not can_mean(new, old) or not _differ(new, old) or _another(new, old):
        return False
    if _one_matter(new, old):
        return True
    if ends(new, old):
        return True
    if apart(new, old):
        return False
    whose = {subject(new) or "", *(stem(word) for word in ("ex", "wife", "husband") if subject(new))}
    one, other = frame(new) - whose, frame(old) - whose
    shared = one & other
    if not shared:
        return not one and not other and bool(other_values(new, old))  # "boss is called Anna", "boss is called Hanna"
    least = 0.34 if _figures(new, old) or _MENDS.search(new) else 0.6
    return len(shared) / min(len(one), len(other)) >= 0.6 and len(shared) / max(len(one), len(other)) >= least


def can_mean(new: str, old: str) -> bool:
    """Whether a line can repeat another or take its place: both are the same one's, and what is past stands beside all
    else, unless it is that very thing ("Used to live in Oslo" where "Lives in Oslo" stands)."""
    if not same_one(new, old):
        return False
    if not is_past(new):
        return not is_past(old)
    return set(content_words(old)) <= set(content_words(new))


def common_ground(new: str, old: str) -> bool:
    """Whether two lines have more in common than whose they are: a word, figures of one kind, or the same matter. "Max
    is 5" has nothing to do with what Max is allergic to."""
    named = {stem for who in (whose(new), whose(old)) if who is not None for stem in (who.kin, *who.names)}
    words = set(content_words(new)) & set(content_words(old)) - named
    return bool(words) or _figures(new, old) or same_matter(new, old)


def _touches(new: str, old: str) -> bool:
    """What two lines of the same matter have in common at least, seen at a glance: a book has many lines."""
    return not frame(new) or not frame(new).isdisjoint(content_words(old)) or _one_matter(new, old)


def ends(new: str, old: str) -> bool:
    """Whether a line says that another holds no longer: "is not vegetarian any more"."""
    return bool(_ENDED.search(new) and same_one(new, old) and frame(old)) and frame(old) <= frame(new)


def same_frame(new: str, old: str) -> bool:
    """Whether two lines are word for word the same but for their values."""
    return frame(new) == frame(old) and bool(other_values(new, old)) and not _another(new, old)


def only_one(new: str, old: str) -> bool:
    """Whether two lines give one and the same thing, of which a person has one, other values."""
    return same_frame(new, old) and same_one(new, old) and _one_matter(new, old)


def _one_matter(new: str, old: str) -> bool:
    return any(matter.one and _speaks_of(matter, old) for matter in _spoken_of(new))


def _figures(new: str, old: str) -> bool:
    """Whether both have a value of the same kind other than a name."""
    return bool({kind for kind, _ in _values(new)} & {kind for kind, _ in _values(old)} - {"name"})


def apart(new: str, old: str) -> bool:
    """Two facts: each says beside its values of what it speaks ("at the gym", "at the station"), one more is told, or
    one says what a thing is and the other what is done with it."""
    if bool(_OWN_NAME.match(new)) != bool(_OWN_NAME.match(old)) or _IS_ONE.match(new) or _IS_ONE.match(old):
        return not _figures(new, old)  # "Is Norwegian" takes no one's name away, nor that one is Catholic
    if _MENDS.search(new) or _one_matter(new, old):
        return False
    if one_more(new, old):
        return True
    one, other = frame(new), frame(old)
    if _ALSO.search(new) or (one & other and one - other and other - one):
        return True
    done = _DONE_WITH.match(old) if _IS_A.match(new) and not _figures(new, old) else None
    return done is not None and stem(done[0].lower()) not in one


def one_more(new: str, old: str) -> bool:
    """Another of what a person has several of: "Is allergic to cats" beside "Is allergic to peanuts"."""
    several = any(matter.several and _speaks_of(matter, old) for matter in _spoken_of(new))
    return several and not _MENDS.search(new) and begin_alike(new, old, most=1)


def adds(words: str) -> bool:
    """Whether a person says that it is one more: "I also drive a van", "cats too"."""
    return bool(wording.ADDS.search(wording.bare(words))) and not _MENDS.search(words)


def begin_alike(new: str, old: str, most: int | None = None) -> bool:
    """Whether two lines begin alike, with at most so many words that say something, and go on about something else."""
    one, other = ([word for word in line.lower().split() if word not in _TOO] for line in (new, old))
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    ends = [set(content_words(" ".join(words[alike:]))) for words in (one, other)]
    few = most is None or len(content_words(" ".join(one[:alike]))) <= most
    return alike > 0 and few and all(ends) and ends[0].isdisjoint(ends[1])


_TOO = frozenset(["also", "auch", "også", "también", "aussi"])
_IS_ONE = regex(r"Is [A-ZÀ-Þ][\w-]+\W*$")
_OWN_NAME = regex(r"(?:Is called|Name is)\b", re.IGNORECASE)
_ALSO = regex(r"\b(?:as well|too|also|another|besides|a second)\b", re.IGNORECASE)
_IS_A = regex(r"(?:The )?[\w' -]{2,30}? (?:is|are) an? ", re.IGNORECASE)
_DONE_WITH = regex(r"(?!Is\b|Has\b|Owns\b|Drives\b|Rides\b|Uses\b|Was\b)[A-Z]\w+s\b")
_ENDED = regex(r"\b(?:no longer|any ?more|not \w+ now)\b", re.IGNORECASE)


_ONE_MORE = regex(r"\b(?:has|have|got|is|bought|own|owns|with) (?:an?|another) (?P<what>[\w -]+)", re.IGNORECASE)
_MENDS = regex(
    r"\b(?:now|no longer|any ?more|instead|not|just one|only one|moved|changed|switched|sorry|actually)\b",
    re.IGNORECASE,
)


def _another(new: str, old: str) -> bool:
    """Both bring in a thing of the same name: a second one, unless it is said that it takes the first one's place."""
    return bool(_ONE_MORE.search(new) and _ONE_MORE.search(old)) and not _MENDS.search(new)


@lru_cache(maxsize=4096)
def _spoken_of(line: str) -> tuple[Matter, ...]:
    return tuple(matter for matter in matters() if _speaks_of(matter, line))


def _speaks_of(matter: Matter, line: str) -> bool:
    head = content_words(line)[:2]
    return bool(matter.says.search(line)) or any(word in matter.words for word in head)


def _differ(new: str, old: str) -> bool:
    """They have a value of the same kind, and not the same one; or they end in other words."""
    other = other_values(new, old)
    return set(content_words(new)) != set(content_words(old)) if other is None else other


def other_values(new: str, old: str) -> bool | None:
    """Whether the values of two lines differ; None where they have none of the same kind."""
    mine, theirs = _values(new), _values(old)
    kinds = {kind for kind, _ in mine} & {kind for kind, _ in theirs}
    if not kinds:
        return None
    return any(
        {value for kind, value in mine if kind == each} != {value for kind, value in theirs if kind == each}
        for each in kinds
    )


def says_again(new: str, old: str) -> bool:
    """Whether a line only repeats another: the same values, and nearly all of its words."""
    one, other = set(content_words(new)), set(content_words(old))
    if not one or not other:
        return new.strip().lower() == old.strip().lower()
    if len(one & other) / len(one | other) < 0.75 and not (one <= other and len(one) > 1):
        return False
    told_anew = other_values(new, old) and _values(new) - _values(old)
    if told_anew or polarity(new) != polarity(old):
        return False
    return same_one(new, old) and is_past(new) == is_past(old)


def sharing(text: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines that have half of a text's words or more: only these can be nearly the same."""
    words = set(content_words(text))
    return (line for line in lines if 2 * len(words.intersection(content_words(line))) >= len(words))
