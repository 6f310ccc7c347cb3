"""What kind of thing an English question asks for, and whether a line has one.

"When is my dentist appointment?" is not answered by a line about the dentist that names no time. A kind is told by the
words with which a question asks, and looked for in what the line says beyond the question. Questions in other languages
ask for no kind that is known here.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from keepbook.book.text.words import NUMBER_WORDS, STOP_WORDS, content_words, stem, tokens, word_set
from keepbook.models.notebook.lists.kin import PEOPLE
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.patterns import regex

AskedKind = Literal["time", "figure", "count", "person", "place", "name", "number", "whether", "matter"]
"""A time; an amount; how many of something; somebody; somewhere; what something is called; a number of many digits;
yes or no; anything else."""

MEASURED = ("time", "figure", "count")
_FIRST_WORDS = 4
"""So many words into a question its asking word stands: "hey, until when …"."""
_MEASURES = word_set("much old tall long big heavy far often high fast large wide deep")
_AMOUNTS = word_set("""
    cost costs price pay pays paid charge charges salary rent rate interest fee fees age percent percentage weight
    height owe owes spend budget income mileage balance
""")
"""What is asked for with "what", and is an amount."""
_ASKS_NAME = word_set("called name named names")
_ASKS_TIME = word_set("date birthday day")
_VERBS = word_set("do does did is are am was were have has had can could will would should")
_ASKING = word_set("""
    what which who whose whom when where why how whats what's whos who's wheres where's whens when's hows how's
""")
_ASKED_OF = word_set("""
    i we you he she it they my our your his her its their the a an this that these those there
""")
"""What stands behind the verb of a question; a name is told by its mark alone."""
_TIME = regex(
    r"\d|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|tue|wed|thu|thurs|fri|sat|sun)"
    r"|spring|summer|autumn|winter|fall|christmas|easter|yesterday|today|tonight|tomorrow|week(?:days?|ends?)"
    r"|(?:next|last|this) (?:week|month|year)|morning|evening|night|noon|midnight|afternoon|lunch|breakfast|dinner"
    r"|at (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)|o'clock"
    r"|daily|weekly|monthly|yearly|every|each|before|after|until|since|ago|when|soon|always|never|now)\b"
)
_DATE = regex(
    r"\b(?:1[5-9]|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\s\d{1,2}\b"
)
_COUNTING = frozenset(NUMBER_WORDS) | word_set("both couple half one")
_OFTEN = word_set("once twice daily weekly monthly yearly every each always never")
_HOUSE = regex(r"\b(?P<street>[A-Z][^\W\d_]{1,30})\s\d{1,4}(?=\s*(?:$|[.,;]))")
_AGE = regex(r"\b\d{1,3}(?:\s?(?:years?|yrs?|yo|months?|weeks?)\b|(?=\s*(?:$|[.,;!?)](?!\d)|and\b|but\b)))")
_PLACE = regex(
    r"\b(?:in|at|on|to|from|under|behind|near|between|beside|above|below|opposite|with|by|inside|outside|next|via|around)"
    r"\s(?:the\s|my\s|our\s|a\s|an\s|his\s|her\s|their\s)?(?P<what>[^\W\d_]{2,30})"
)
_HERE = word_set("home abroad here upstairs downstairs outside inside nearby online")
_NO_NAME = STOP_WORDS | word_set("""
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays i'm i've i'd i'll
""")
_CAPITAL = regex(r"\b[A-Z][\w.&'’-]{0,30}")
_DIGITS = regex(r"\d[\d\s-]{1,30}\d")


def is_asked(text: str) -> bool:
    """Whether a turn without its mark is a question: an asking word, and soon a verb and behind it who is asked about.
    Of other languages only the asking word is known."""
    words = tokens(text)
    if words and stem(words[0]) in QUESTION_WORDS:
        return True
    head = words[: 2 * _FIRST_WORDS]
    begins = next((at for at, word in enumerate(head[:2]) if word in _ASKING), None)
    if begins is None:
        return False
    rest = head[begins + 1 :]
    has_verb = head[begins].endswith("s")  # "whats the password"; "what the password is" asks nobody
    if rest and rest[0] in _ASKED_OF:
        return has_verb
    return any(verb in _VERBS and subject in _ASKED_OF for verb, subject in pairwise(rest))


def asked_kind(question: str) -> AskedKind:
    """The kind of thing that a question asks for."""
    words = tokens(question)
    head = words[:_FIRST_WORDS]
    if "how" in head:
        return _kind_of_how(words)
    if "when" in head:
        return "time"
    if "where" in head:
        return "place"
    if not _ASKS_NAME.isdisjoint(words):
        return "name"
    if not {"who", "whose", "whom"}.isdisjoint(head):
        return "person"
    if not {"what", "which"}.isdisjoint(head):
        return _kind_of_what(words)
    if head and head[0] in _VERBS:
        return "whether"
    return "matter"


def _kind_of_how(words: Sequence[str]) -> AskedKind:
    after = words[words.index("how") + 1 :][:1]
    if after == ["many"]:
        return "count"
    if after and after[0] in _MEASURES:
        return "figure"
    return "matter"


def _kind_of_what(words: Sequence[str]) -> AskedKind:
    if "number" in words:
        return "number"
    if not _AMOUNTS.isdisjoint(words):
        return "figure"
    if not _ASKS_TIME.isdisjoint(words) or "time" in words[1:2]:
        return "time"
    return "matter"


def measure_words(kind: AskedKind) -> frozenset[str]:
    """The stems of a question that only say which kind it asks for: a line with such a thing need not have them."""
    said = {
        "figure": _MEASURES | _AMOUNTS | {"much", "number", "get"},
        "count": frozenset({"many"}),
        "name": _ASKS_NAME,
        "time": _ASKS_TIME | {"time"},
    }
    return frozenset(map(stem, said.get(kind, ())))


def has_kind(kind: AskedKind, question: str, line: str) -> bool:
    """Whether a line has a thing of this kind that the question does not have."""
    match kind:
        case "time":
            return _TIME.search(line.lower()) is not None
        case "figure":
            if "old" in tokens(question):
                return _has_age(line)
            return _has_figure(question, line)
        case "count":
            return _has_figure(question, line) and _counts(question, line)
        case "person":
            return _names_somebody(question, line)
        case "name":
            return _has_name(question, line)
        case "number":
            return any(char.isdigit() for char in _DATE.sub(" ", line.lower())) and _DIGITS.search(line) is not None
        case "place":
            return _has_place(question, line)
    return True


def _has_figure(question: str, line: str) -> bool:
    """Whether a line has a number that is neither of a date nor of a house, and not the question's own."""
    asked = tokens(question)
    if "often" in asked:
        counting = _COUNTING | _OFTEN
    else:
        counting = _COUNTING
    house = _HOUSE.search(line)
    if house is not None and house["street"].lower() not in asked:
        line = line[: house.start()]
    said = tokens(_DATE.sub(" ", line.lower()))
    return any(word not in asked and (word[0].isdecimal() or word in counting) for word in said)


def _has_age(line: str) -> bool:
    """Whether a line says how old something is, or since which year it is there."""
    return _AGE.search(line.lower()) is not None or _DATE.search(line.lower()) is not None


def _counts(question: str, line: str) -> bool:
    """Whether what is counted stands in the line: "how many pupils …"."""
    words = tokens(question)
    counted = next((word for word in words[words.index("many") + 1 :] if word not in STOP_WORDS), None)
    return counted is None or stem(counted) in set(map(stem, tokens(line)))


def _names_in(question: str, line: str) -> bool:
    asked = set(map(stem, tokens(question)))
    found = (name.strip(".'’-").lower() for name in _CAPITAL.findall(line))
    return any(name and name not in _NO_NAME and stem(name) not in asked for name in found)


def _has_name(question: str, line: str) -> bool:
    """Whether a line has a name that the question lacks; of who writes without capitals, any word that may be one."""
    if line != line.lower():
        return _names_in(question, line)
    others = set(content_words(line)).difference(content_words(question))
    return any(word.isalpha() and not _is_time(word) for word in others)


def _names_somebody(question: str, line: str) -> bool:
    people = PEOPLE & (set(tokens(line)) - set(tokens(question)))
    return bool(people) or _has_name(question, line)


def _has_place(question: str, line: str) -> bool:
    words = line.lower()
    if not _HERE.isdisjoint(tokens(words)):
        return True
    asked = set(map(stem, tokens(question)))
    found = (one["what"] for one in _PLACE.finditer(words))
    return any(stem(what) not in asked and not _is_time(what) for what in found)


def _is_time(word: str) -> bool:
    return _TIME.fullmatch(word) is not None or word in NUMBER_WORDS
