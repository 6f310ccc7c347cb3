"""The people a book has lines about."""

from typing import Any

import pytest

from keepbook.book.recall.people import AboutSomebody, KnownPerson, lines_of_person, parse_subject, people, people_in


@pytest.mark.parametrize(
    ("subject", "name", "relation"),
    [
        ("Kari", "Kari", ""),
        ("My daughter Nora", "Nora", "daughter"),
        ("my wife", "", "wife"),
        ("Kari Moen", "Kari Moen", ""),
        ("the car", "", ""),
        ("my old bike", "", ""),
    ],
)
def test_a_subject_says_a_name_a_relation_or_neither(subject: str, name: str, relation: str) -> None:
    assert parse_subject(subject) == (name, relation)


def test_a_relation_is_shown_only_if_the_person_said_it() -> None:
    def line(subject: str | None, content: str, said: bool = True, category: str = "fact") -> AboutSomebody:
        return AboutSomebody(subject, category, content, said)

    lines = [
        line("My wife", "My wife is called Kari"),
        line("Kari", "Kari works at the library", said=False),
        line(None, "I live in Oslo with Kari"),
        line("My sister", "My sister sails", said=False),
        line("boss Ann", "Has a boss called Ann", said=False),
        line("Keepbook", "Keepbook is due in May", category="project"),
    ]
    assert people_in(lines) == [KnownPerson("Kari", "wife", 3), KnownPerson("Ann", "", 1), KnownPerson("Sister", "", 1)]


def test_whom_a_line_names_with_a_relation_is_a_person_whatever_its_subject() -> None:
    lines = [
        AboutSomebody(None, "profile", "Lives with her partner Jonas and their daughter Lena, who is five.", said=True),
        AboutSomebody(None, "profile", "Lena is allergic to hazelnuts.", said=True),
        AboutSomebody(None, "profile", "my sister Clare lives with his brother Tom", said=True),
        AboutSomebody(None, "profile", "Her Monday is full, and their mother sings.", said=False),
    ]
    found = {(one.name, one.relation, one.lines) for one in people_in(lines)}
    assert found == {("Jonas", "", 1), ("Lena", "", 2), ("Clare", "sister", 1), ("Tom", "", 1)}


def test_the_people_of_a_book_are_counted_anew_after_each_write(alice: Any) -> None:
    assert people(alice) == []
    kept = alice.remember("Nora is six", subject="My daughter Nora", category="fact")
    alice.remember("Fetches Nora at four", category="fact")
    assert people(alice) == [KnownPerson("Nora", "daughter", 2)]
    assert len(lines_of_person(alice, "Nora")) == 2
    alice.forget(kept.id)
    assert people(alice) == []
