"""Which memory is meant, and does it answer? Judged by words, not by the mere fact that a search found it.

A memory answers when it covers what was asked: each content word itself, a word of the same group (job ~ work), or the
sort of thing that was asked for (a name, a number). Whoever is asked about must be whom the memory is about: "where do
I live" is not answered by where a sister lives.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from keepbook.book.text.words import STOP_WORDS, fold, near_duplicate, numbers, polarity, stem, tokens
from keepbook.models.closing import rules
from keepbook.models.offline.chat.known_here import Held
from keepbook.models.offline.extract import dialog, other_languages, reconcile
from keepbook.models.offline.extract import english as w
from keepbook.models.offline.extract.english import word_set
from keepbook.models.offline.extract.third_person import line

ANSWERS = 0.66
NEAR = 0.5
_SYNONYM, _OF_KIND = 0.85, 0.8
"""What a word counts that stands for the asked one, or names a thing of its kind."""

_FURNITURE = frozenset(
    stem(word)
    for word in word_set(
        """
        know remember recall tell told say said mention mentioned think thing things stuff kind sort type exactly remind
        currently again still ever many much often long get got go going make made really actually anything something
        everything one ones fact memory memories note notes book people call s use used want need like please
        quite usually right que donde quien cual como cuando soy tengo mi mis tu yo es en el la los las un una de del
        lo se me ich du mein meine meinen meiner der die das ein eine einen wo wer wie wann ist bin hat habe und mir
        mich dir uber von jeg min mitt det den er har hva hvem hvor hvordan og i pa om deg meg et som at til av
        """
    )
)
# "like", "use" and "want" say little beside other words, but can be all there is to a question.
_FAINT = frozenset(map(stem, ("like", "call", "use", "used", "want", "need")))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


_GROUPS = [
    (group.split(), _stems(group))
    for group in (
        "job work works employer profession occupation career employed",
        "live lives home address reside based moved",
        "kid kids child children",
        "mother mum mom mam",
        "father dad",
        "email mail",
        "prefer prefers preference favourite favorite likes love loves enjoy enjoys",
        "hate hates dislike dislikes",
        "boss manager supervisor",
        "pay salary earn earns income wage",
        "old age aged born birthday",
        "name named called nickname",
        "car vehicle drives",
        "phone mobile",
        "allergic allergy allergies",
    )
]
"""Words that stand for each other, and their stems."""
_KINDS = {
    kind: (words.split(), _stems(words))
    for kinds, words in (
        ("pet animal", "dog cat puppy kitten horse pony rabbit parrot hamster"),
        ("kid child children", "son daughter twins boys girls"),
        ("partner spouse marri", "wife husband partner fiancee fiance girlfriend boyfriend married"),
        ("parent", "mother father mum mom dad"),
        ("sibl", "brother sister"),
        ("famili", "wife husband son daughter kids children mother father mum dad sister brother parents married"),
        ("eat diet food", "vegan vegetarian allergic allergy meat intolerant eats pork gluten fish"),
        ("drink", "tea coffee beer wine water"),
        ("languag", "speaks speak"),
        ("hobbi", "plays play enjoys likes"),
        ("citi town countri", "lives live moved"),
    )
    for kind in kinds.split()
}
"""A word that asks for a kind of thing, and words that name one. Not the other way round: a cat is no dog."""
_SORTS = {
    "name": r"(?<!^)\b[A-ZÀ-Þ][\wÀ-ÿ]+",
    "old": r"\d",
    "age": r"\d",
    "date": r"\d",
    "time": r"\d",
    "number": r"\d",
    "amount": r"\d",
    "heißt": r"(?<!^)\b[A-ZÀ-Þ][\wÀ-ÿ]+",
}
"""Words that ask for a sort of thing rather than for themselves."""
_KIN = re.compile(rf"\b(?:{w.KIN}|{w.ROLE}|{w.PET}|{w.LOOSE})\b", re.IGNORECASE)
_LED = re.compile(
    r"^(?:Dr\.? )?(?P<name>(?!(?:Who|What|Where|When|How|It|This|That|The)\b)[A-ZÀ-Þ][\wÀ-ÿ-]+)(?: [A-ZÀ-Þ][\wÀ-ÿ-]+)?"
    r"(?:'s|’s)? (?:is|was|has|does|doesn't|isn't|will|can|can't|likes|lives|works|wants|needs|prefers|hates|loves|"
    r"plays|owns|studies|teaches|runs|eats|drinks|speaks|moved|knows|manages|handles|birthday)\b"
)
_NAMES = re.compile(r"(?<!^)(?<![.!?:] )\b[A-ZÀ-Þ][\wÀ-ÿ]{1,}\b")
_FIRST = re.compile(r"\b(?:i|i'm|my|me|mine|we|our|am|ich|mein\w*|jeg|min|mitt|yo|mi|vivo|soy|tengo)\b", re.IGNORECASE)
_VERB_AT = re.compile(r"^(\w+?)s? (in|at|as|for|with|on|to|from)\b", re.IGNORECASE)
_SAME_PREPOSITION = {"for": "at", "with": "at"}


VERBS = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|do|does|don't|doesn't|will|won't|can|can't|must|need|needs|want|wants|go|goes|"
    r"live|lives|work|works|like|likes|love|loves|hate|hates|prefer|prefers|eat|eats|drink|drinks|use|uses|play|plays|"
    r"speak|speaks|trade|trades|own|owns|closes|opens|starts|ends|isn't|aren't|i'm|i've|i'd|we're|we've|moved|lost|"
    r"started|quit)\b",
    re.IGNORECASE,
)
"""Common finite verbs: what has one may be a sentence."""


class Match(NamedTuple):
    score: float
    held: Held


# --- what a text is about


def asked_words(text: str) -> list[str]:
    """The stems that a question or a wish is about, each once."""
    text = re.sub(r"\bfor a living\b", "as a job", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:called|named|names)\b", "name", text, flags=re.IGNORECASE)
    found = [stem(word) for word in tokens(text) if word not in STOP_WORDS]
    solid = [word for word in found if word not in _FURNITURE]
    faint = [word for word in found if word in _FAINT]
    return list(dict.fromkeys(solid or faint))


def search_words(text: str) -> str:
    """The same with their groups, for a search that knows words only."""
    asked = asked_words(text)
    groups = [word for group, stems in _GROUPS if stems & set(asked) for word in group]
    kinds = [word for kind in asked if kind in _KINDS for word in _KINDS[kind][0]]
    content = [word for word in tokens(text) if word not in STOP_WORDS]
    return " ".join(dict.fromkeys([*content, *groups, *kinds])) or text


def whom(text: str) -> frozenset[str]:
    """Who a line or a question is about besides the person: kin, roles, pets, and a name it begins with."""
    found = {_grouped(stem(word)) for hit in _KIN.findall(text) for word in tokens(hit)[-1:]}
    led = _LED.match(text)
    return frozenset(found | ({led["name"].casefold()} if led else set()))


def _grouped(word: str) -> str:
    return next((min(stems) for _, stems in _GROUPS if word in stems), word)


def speaks_to(word: str, held: Held) -> float:
    """How well a memory speaks to one asked word."""
    said = {stem(each) for each in tokens(f"{held.content} {held.subject or ''} {held.category or ''}")}
    if word in said:
        return 1.0
    if any(word in stems and stems & said for _, stems in _GROUPS):
        return _SYNONYM
    return _OF_KIND if word in _KINDS and _KINDS[word][1] & said else 0.0


# --- answers and targets


def answers(
    question: str, found: Iterable[Held], *, least: float = ANSWERS, kinds: bool = True, names: bool = True
) -> list[Match]:
    """The memories that answer a question, best first. Without `names` also those that say another name."""
    asked, about = asked_words(question), whom(question)
    named = {stem(word) for name in _NAMES.findall(question) for word in tokens(name)}
    musts = about | (named if names else set())
    matches = []
    for held in found:
        led = None if about or not _FIRST.search(question) else _led_by(held.content)
        if (led and led not in asked) or not all(speaks_to(must, held) for must in musts):
            continue
        spoken = {word: speaks_to(word, held) for word in asked}
        if not kinds:
            spoken = {word: value for word, value in spoken.items() if value > _OF_KIND}
        score = (sum(spoken.values()) + _sorts(spoken, held)) / len(asked) if asked else 0.0
        if score >= least:
            matches.append(Match(score - (0.0 if held.current else 0.2), held))
    return sorted(matches, key=lambda match: -match.score)


def _sorts(spoken: Mapping[str, float], held: Held) -> float:
    """The words that only ask for a sort of thing, where the memory speaks to the matter and has such a thing."""
    if not any(spoken.values()):
        return 0.0
    asked = [word for word, value in spoken.items() if not value and word in _SORTS]
    return float(sum(bool(re.search(_SORTS[word], held.content)) for word in asked))


def _led_by(content: str) -> str | None:
    """Whom or what a line begins with, where that is not the person: "Sister lives in Rome", "Budget is 500"."""
    led = _LED.match(content)
    first = next(iter(tokens(led["name"] if led else content)), "")
    return stem(first) if led or _KIN.fullmatch(first) else None


def meant(matter: str, found: Iterable[Held]) -> list[Held]:
    """The memories that a wish ("forget my address") may mean: one, or all that fit it equally well."""
    matches = answers(matter, found, least=0.6, kinds=False)
    full = set(asked_words(matter))
    scored = [
        (match.score + (0.3 if set(asked_words(match.held.content)) <= full else 0.0), match.held) for match in matches
    ]
    best = max((score for score, _ in scored), default=0.0)
    return [held for score, held in scored if score >= best - 0.05]


def same(new: str, old: str) -> bool:
    """The two lines say the same, about the same."""
    if fold(new) == fold(old) or near_duplicate(new, old):
        return True
    both = reconcile.says_the_same(new, old) and reconcile.says_the_same(old, new)
    return both and whom(new) == whom(old) and numbers(new) == numbers(old)


def skeleton(text: str) -> frozenset[str]:
    """The words of a line without its values: names, numbers, days."""
    values = {stem(word) for value in _NAMES.findall(text) for word in tokens(value)}
    days = {stem(word) for word in re.findall(rf"\b(?:{w.WEEKDAY}|{w.MONTH})\b", text.lower())}
    return frozenset(word for word in rules.words(text) - values - days if not numbers(word))


def kinship(new: str, old: str) -> float:
    """How surely two lines speak of the same matter, with perhaps another value (0 to about 1.6)."""
    if whom(new) != whom(old) or polarity(new) != polarity(old) or _other_place(new, old):
        return 0.0
    one, other = skeleton(new), skeleton(old)
    score = len(one & other) / max(len(one), len(other)) if one and other else 0.0
    return score + (0.6 if reconcile.attributes(new) & reconcile.attributes(old) else 0.0)


def _other_place(new: str, old: str) -> bool:
    """ "Works as a nurse" and "Works at Acme" fill different places of one verb."""
    one, other = _VERB_AT.match(new), _VERB_AT.match(old)
    if not one or not other or stem(one[1].lower()) != stem(other[1].lower()):
        return False
    first, second = (_SAME_PREPOSITION.get(hit[2].lower(), hit[2].lower()) for hit in (one, other))
    return first != second


_SINGLE = {"home", "boss", "retire", "pay", "daily loss", "broker", "risk per trade", "emergency fund", "marital"}
"""Of these a person has one: a new value takes the place of the old."""


def replaced(new: str, found: Iterable[Held], *, changed: bool = False) -> Held | None:
    """The memory whose place a new line takes; with `changed` the person has said that something changed."""
    best: Held | None = None
    for held in found:
        near = kinship(new, held.content)
        values = numbers(new) and numbers(held.content) and numbers(new) != numbers(held.content)
        single = reconcile.attributes(new) & reconcile.attributes(held.content) & _SINGLE
        alike = skeleton(new) == skeleton(held.content) and near >= 1.0
        taken = (alike and bool(values or single)) or (changed and near > 0.5)
        if taken and (best is None or near > kinship(new, best.content)):
            best = held
    return best


def corrected(matter: str, old: str, found: Iterable[Held]) -> list[Held]:
    """The memories that a correction may mean: those that say the old, else the nearest to the new."""
    found = list(found)
    if old:
        literal = [held for held in found if re.search(rf"\b{re.escape(fold(old))}\b", fold(held.content))]
        return literal or meant(old, found)
    new = line(matter)
    scored = [(kinship(new, held.content), held) for held in found]
    best = max((score for score, _ in scored), default=0.0)
    return [held for score, held in scored if score > 0.5 and score >= best - 0.05]


# --- a new wording

_TAIL = re.compile(r"^(?P<head>.*\b(?:is|are|was|called|named|in|at|to|for|with|of|be|by|on)\b:? |.*: )(?P<value>.+)$")
_POINTS = re.compile(r"^(?:it(?:'s| is)|that(?:'s| is)|to|now)\s+(?:now |called |in |at )?", re.IGNORECASE)


_JUDGING = word_set(
    """
    fine good great ok okay nice cool perfect right correct true enough idea bad wrong funny late early hard easy
    nothing sure alright better best worse pity shame lovely interesting clear exactly way point question problem
    mistake joke complicated possible impossible important private over done thanks thank welcome yes no really quite
    pretty rather
    """
)


def value_of(matter: str) -> str:
    """ "it's Rex" → "Rex"; nothing for "it's a good idea", which only judges."""
    value = _POINTS.sub("", matter.strip()).strip(" .!")
    return "" if set(tokens(value)) <= _JUDGING | STOP_WORDS else value


def with_value(content: str, new: str, old: str = "") -> str | None:
    """A stored line with a new value in the place of the old one; None where no place can be found."""
    if old:
        swapped = re.sub(rf"\b{re.escape(old)}(?!\w)", lambda _: new, content, count=1, flags=re.IGNORECASE)
        if swapped != content:
            return swapped
    if numbers(new) and len(new.split()) <= 4 and (changed := reconcile.with_new_value(content, new)):
        return changed
    tail = _TAIL.match(content)
    return f"{tail['head']}{new}" if tail else None


def fragment(matter: str, tongue: str = "en") -> bool:
    """No sentence of its own: a value that belongs into a line."""
    if tongue != "en":
        return len(matter.split()) <= 3 and not other_languages.read(matter, tongue)
    subject = re.match(r"(?:my|our)\b", matter, re.IGNORECASE) and len(matter.split()) > 2
    if subject or _LED.match(matter) or (VERBS.search(matter) and not _POINTS.match(matter)):
        return False
    return bool(_POINTS.match(matter)) or (dialog.fragment(matter) and len(matter.split()) <= 6)
