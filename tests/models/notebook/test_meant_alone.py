"""What an order means and nothing else: the words beside it, the topic it names, what was done last."""

from typing import Any

import pytest
from tests.models.notebook.test_decide import holding, talk

from keepbook.models.notebook.lists.topics import topics_spoken_of

__all__ = ["talk"]


@pytest.mark.parametrize(
    "said",
    [
        "Don't keep this: my sister is getting divorced. My bike is a blue Gazelle from 2019.",
        "Off the record, my sister is getting divorced. My bike is a blue Gazelle from 2019.",
        "My sister is getting divorced. Leave that out. My bike is a blue Gazelle from 2019.",
    ],
)
def test_what_is_said_of_another_matter_is_kept_beside_words_that_are_not(talk: Any, said: str) -> None:
    script = {
        "Don't keep": {"act": "withdraw", "ahead": 0.95},
        "Off the record": {"act": "withdraw", "ahead": 0.95},
        "Leave that out": {"act": "withdraw", "ahead": 0.95, "points": "sister"},
    }
    alice, _ = talk(script, said)
    offered = [one.content for one in alice.proposals.list()]
    assert [*holding(alice), *offered] == ["My bike is a blue Gazelle from 2019"]


@pytest.mark.parametrize(
    ("said", "topics"),
    [
        ("And nothing about her office troubles, ever.", ("her office troubles",)),
        ("So no notes on Kofi's tests, ever, okay?", ("Kofi's tests",)),
        ("nothing about my divorce goes into your memory, ever", ("my divorce",)),
        ("and nothing about therapists or doctors ever again, yes?", ("therapists or doctors",)),
        ("never do that again", ()),
        ("you know what I think about that", ()),
    ],
)
def test_a_ban_in_words_of_ones_own_names_its_topic(said: str, topics: tuple[str, ...]) -> None:
    assert topics_spoken_of(said) == topics


def test_an_undo_that_names_something_earlier_takes_back_nothing(talk: Any) -> None:
    script = {"undo": "undo"}
    said = ("My dentist is Dr. Moe in Drammen.", "My bike is a blue Gazelle.", "please undo the dentist one")
    alice, _ = talk(script, *said)
    assert set(holding(alice)) == {"My dentist is Dr. Moe in Drammen", "My bike is a blue Gazelle"}
    alice, _ = talk(script, "We own a boat called Vilja.", "wait, undo the boat")
    assert "We own a boat called Vilja" not in holding(alice)


def test_an_explicit_order_that_may_mean_another_line_is_asked_about(talk: Any) -> None:
    script = {"forget": {"act": "withdraw", "points": "corn", "unsure": 0.9}}
    alice, replies = talk(script, "forget the corn", book=["I trade wheat and corn"])
    assert holding(alice) == ["I trade wheat and corn"]
    assert "?" in replies[0]


@pytest.mark.parametrize("doubt", [0.1, 0.6])
def test_what_is_told_in_one_breath_with_an_order_is_kept_without_it(talk: Any, doubt: float) -> None:
    script = {"hold on to this": {"act": "keep", "unsure": doubt}}
    alice, _ = talk(script, "hold on to this: my licence exam is on 14 March")
    assert holding(alice) == ["my licence exam is on 14 March"]


def test_a_clause_that_says_nothing_but_the_value_of_a_line_is_its_next_version(talk: Any) -> None:
    script = {"56,500": {"act": "change", "points": "Salary", "old": "52,000", "new": "56,500"}}
    alice, _ = talk(script, "My salary is 56,500 now", book=["Salary is 52,000 a year"])
    assert holding(alice) == ["Salary is [56,500] a year"]
