"""The people whom the lines of a book are about.

A person is found by the subject of a line ("Kari", "My daughter Nora"), which closing and the notebook set; other lines
that have the name are about them too. How they are related to the book's owner is shown only if the owner said it: in a
subject that is quoted from them, or in a line such as "My wife is called Kari". Somebody whom a line names with a
relation ("her partner Jonas") is a person too, whatever the line's subject; whose partner he is, "her" does not say.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from re import IGNORECASE, Pattern, escape
from typing import Any, NamedTuple

from sqlalchemy import bindparam, case, or_, select

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import ledger
from keepbook.book.memory.listing import NEWEST
from keepbook.book.memory.memories import EVERY_SCOPE, IS_ACTIVE, in_scope
from keepbook.book.text.words import fold_text
from keepbook.patterns import regex, words_regex
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.memory import memories, versions

MOST_OWNERS = 64  # whose people are cached
_LAST: dict[str, tuple[str, Sequence["KnownPerson"]]] = {}
"""A cache of the people found last, by owner; each with the newest hash of the ledger, which tells whether anything was
written since."""

RELATIONS = frozenset({
    "wife", "husband", "partner", "fiancé", "fiancée", "girlfriend", "boyfriend", "ex", "mother", "mum", "mom",
    "father", "dad", "parents", "daughter", "son", "child", "kids", "baby", "sister", "brother", "twin",
    "grandmother", "grandma", "grandfather", "grandpa", "granddaughter", "grandson", "aunt", "uncle", "niece",
    "nephew", "cousin", "mother-in-law", "father-in-law", "sister-in-law", "brother-in-law", "stepmother",
    "stepfather", "stepson", "stepdaughter", "godmother", "godfather", "friend", "flatmate", "roommate", "neighbour",
    "neighbor", "colleague", "boss", "manager", "teacher", "doctor", "dentist", "therapist", "landlord",
})  # fmt: skip
NOT_PEOPLE = frozenset({"project", "projects", "instruction", "procedure", "reference"})
"""Categories whose subjects are things."""


class KnownPerson(NamedTuple):
    """Somebody the book has lines about."""

    name: str
    relation: str
    """How they are related to the person, in the person's words; empty if they did not say."""
    lines: int


class AboutSomebody(NamedTuple):
    """The parts of a line that say whom it is about."""

    subject: str | None
    category: str | None
    content: str
    said: bool
    """Whether it is the person's word."""


# Rules


def parse_subject(subject: str) -> tuple[str, str]:
    """The name and the relation in a subject: "My daughter Nora" is Nora, a daughter. Either may be missing."""
    words = subject.split()
    if words and words[0].lower() in ("my", "our", "the", "his", "her", "their"):
        del words[0]
    relation = ""
    if words and words[0].lower() in RELATIONS:
        relation = words.pop(0).lower()
    is_name = 0 < len(words) <= 3 and all(word[:1].isupper() for word in words)
    return " ".join(words) if is_name else "", relation


def people_in(lines: Sequence[AboutSomebody]) -> list[KnownPerson]:
    """The people of these lines, those with the most lines first."""
    named: dict[str, str] = {}
    relations: dict[str, Counter[str]] = defaultdict(Counter)
    introduced = _introduced(lines)
    called = _names_of_relations(introduced)
    for line in lines:
        if not line.subject:
            continue
        name, relation = _whom(line, called)
        if not name:
            continue
        named.setdefault(fold_text(name), name)
        if relation and line.said:
            relations[fold_text(name)][relation] += 1
    for one in introduced:
        named.setdefault(fold_text(one.name), one.name)
        if one.theirs:
            relations[fold_text(one.name)][one.relation] += 1
    counts = _count_lines(lines, named, called)
    found = [
        KnownPerson(name, relations[key].most_common(1)[0][0] if relations[key] else "", counts[key])
        for key, name in named.items()
    ]
    return sorted(found, key=lambda one: (-one.lines, one.name))


def names_person(line: AboutSomebody, name: str) -> bool:
    """Whether a line is about somebody, or has their name."""
    return _names_pattern([name]).search(f"{line.subject or ''} {line.content}") is not None


class _Introduced(NamedTuple):
    """Somebody whom a line names with a relation."""

    relation: str
    name: str
    theirs: bool
    """Whether it is the person's own relation, and they said so: "my", not "her"."""


def _introduced(lines: Sequence[AboutSomebody]) -> list[_Introduced]:
    """The people whom lines name with a relation ("My wife is called Kari", "with her partner Jonas"), those from the
    person's own lines first. All lines are searched as one text."""
    found = []
    for said in (True, False):
        text = "\n".join([line.content for line in lines if line.said == said])
        for whose, relation, name in _RELATED.findall(text):
            is_mine = whose.lower() in _MINE
            if relation.lower() in RELATIONS and (is_mine or whose.lower() in _SOMEBODYS):
                found.append(_Introduced(relation.lower(), name, said and is_mine))
    return found


def _names_of_relations(introduced: Sequence[_Introduced]) -> dict[str, str]:
    """The names that the person gave their relations: "My wife is called Kari", "my brother Tor"."""
    return {one.relation: one.name for one in reversed(introduced) if one.theirs}


def names_of_relations(lines: Sequence[str]) -> dict[str, str]:
    """The names that some lines give the person's relations: "My wife is called Kari"."""
    return _names_of_relations(_introduced([AboutSomebody(None, None, line, True) for line in lines]))


def _whom(line: AboutSomebody, called: Mapping[str, str]) -> tuple[str, str]:
    """Name and relation of the person whom a line's subject names; `called` has the names of the person's relations."""
    if not line.subject or line.category in NOT_PEOPLE:
        return "", ""
    name, relation = parse_subject(line.subject)
    if name and not relation:
        relation = next((one for one, whose in called.items() if whose == name), "")
    if relation and not name:
        is_named = relation in called
        name = called.get(relation, relation.capitalize())
        if not is_named:
            relation = ""
    return name, relation


def _count_lines(lines: Sequence[AboutSomebody], named: Mapping[str, str], called: Mapping[str, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    if not named:
        return counts
    pattern = _names_pattern(named.values())
    for line in lines:
        about = {fold_text(found) for found in pattern.findall(line.content)}
        name, _ = _whom(line, called)
        if name:
            about.add(fold_text(name))
        counts.update(about & named.keys())
    return counts


def _names_pattern(names: Iterable[str]) -> Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return words_regex(rf"\b(?:{'|'.join(map(escape, longest_first))})\b", IGNORECASE)


# The pattern begins with a letter and not with \b, which is five times as fast: most places are passed over at once.
_RELATED = regex(
    r"([MmOoHhTt](?<!\w\w)(?:y|ur|er|is|heir)) (\w[\w-]{1,20}),?"
    r" (?:is called |is named |called |named |(?:\w+'s )?name is )?([A-Z][\w-]{1,40})\b"
)
_MINE, _SOMEBODYS = ("my", "our"), ("her", "his", "their")


# Queries


def people(book: OpenBook) -> Sequence[KnownPerson]:
    """Everybody the active lines are about."""
    with book.reading() as (tx, _, _):
        written = ledger.chain_head(tx).hash
        known = _LAST.get(tx.owner)
        if known is None or known[0] != written:
            return _keep_people(
                tx.owner, written, list(map(AboutSomebody._make, _LINES.tuples(tx.conn, {"owner": tx.owner})))
            )
    return known[1]


def people_of_rows(owner: str, written: str, rows: Sequence[Any]) -> None:
    """Find the people in rows that an overview of the book has read, so that they are not read once more."""
    new = tuple.__new__  # for thousands of rows quicker than calling `AboutSomebody`
    _keep_people(
        owner,
        written,
        [new(AboutSomebody, (row[3], row[2], row[4], row[6] == "asserted" or bool(row[14]))) for row in rows],
    )


def _keep_people(owner: str, written: str, lines: Sequence[AboutSomebody]) -> Sequence[KnownPerson]:
    found = people_in(lines)
    if len(_LAST) >= MOST_OWNERS:
        _LAST.clear()
    _LAST[owner] = written, found
    return found


def lines_of_person(book: OpenBook, name: str) -> set[str]:
    """The ids of the active lines that are about somebody."""
    with book.reading() as (tx, _, _):
        rows = _LINES_WITH_IDS.tuples(tx.conn, {"owner": tx.owner})
    lines = [(row[4], AboutSomebody._make(row[:4])) for row in rows]
    called = _names_of_relations(_introduced([line for _, line in lines]))
    return {id for id, line in lines if name == _whom(line, called)[0] or names_person(line, name)}


_QUERY = (
    select(
        memories.c.subject, memories.c.category, versions.c.content,
        case((or_(memories.c.confidence == "asserted", versions.c.quoted == 1), 1), else_=0),
    )
    .join(versions, NEWEST)
    .where(memories.c.owner == bindparam("owner"), IS_ACTIVE, in_scope(EVERY_SCOPE))
    .order_by(memories.c.created_at, memories.c.id)
)  # fmt: skip
_LINES = PreparedStatement(_QUERY)
_LINES_WITH_IDS = PreparedStatement(_QUERY.add_columns(memories.c.id))
