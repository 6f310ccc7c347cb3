"""Opposites are told by how a statement is turned round, not by what it is about."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keepbook.book.text.contrast import COMPARE, COMPARE_PREFERRED, DOWN, PREFERENCES, UP, compared_sides, degrees
from keepbook.book.text.opposites import matter_of, opposite, same_saying
from keepbook.book.text.words import DENIALS, STOP_WORDS, near_duplicate, numbers, polarity, tokens

OPPOSITES = [
    ("Prefers bonds over stocks", "I prefer stocks over bonds"),
    ("prefers tea to coffee", "I prefer coffee to tea"),
    ("I work mornings rather than evenings", "I work evenings rather than mornings"),
    ("drinks tea instead of coffee", "drinks coffee instead of tea"),
    ("Anna is taller than Bob", "Bob is taller than Anna"),
    ("never trades alts", "I trade alts sometimes"),
    ("I like opera", "I don't like opera"),
    ("hates flying", "I love flying"),
    ("User smokes", "I don't smoke"),
    ("quit smoking", "I smoke"),
    ("used to smoke", "smokes"),
    ("Avoids milk", "does not avoid milk"),
    ("always trades mornings", "rarely trades mornings"),
    ("Trades more than 5 times a day", "Trades less than five times a day"),
    ("earns over 50,000", "earns under 50k"),
    ("pays at least 300", "pays at most 300"),
    ("I want more tea and less coffee", "I want less tea and more coffee"),
    ("Ich esse Fleisch", "Ich esse kein Fleisch"),
    ("Trinkt lieber Tee als Kaffee", "Trinkt lieber Kaffee als Tee"),
    ("Foretrekker te framfor kaffe", "Foretrekker kaffe framfor te"),
    ("Como carne", "No como carne"),
    ("J'aime la viande", "Je n'aime pas la viande"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_the_same_matter_turned_round_is_the_opposite_and_no_repeat(one: str, other: str) -> None:
    assert opposite(one, other)
    assert opposite(other, one)
    assert not near_duplicate(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bonds are more risky than stocks", "Stocks are less risky than bonds"),
        ("not less than five trades", "more than 5 trades"),
        ("I don't hate flying", "I like flying"),
        ("I have no car", "I like cars"),
        ("My wife likes tea", "I don't like tea"),
        ("Anna likes tea", "I don't like tea"),
        ("Does not drink coffee on Mondays", "Drinks coffee"),
        ("Trades more than 5 times a day", "Trades less than 8 times a day"),
        ("Lives in Oslo", "Lives in Bergen"),
        ("I like it", "I don't like it"),
        ("I prefer to drink tea", "I prefer to drink tea"),
        ("Plays golf over the weekend", "Over the weekend plays golf"),
        ("", ""),
    ],
)
def test_what_agrees_or_is_another_matter_is_no_opposite(one: str, other: str) -> None:
    assert not opposite(one, other)
    assert not opposite(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Moved with the whole family from Oslo to Bergen", "Moved with the whole family from Bergen to Oslo"),
        ("In the long run he prefers bonds over stocks for his pension",
         "In the long run he prefers stocks over bonds for his own pension"),
        ("Wants to spend more money on travel this year", "Wants to spend less money on travel this year"),
    ],
)  # fmt: skip
def test_a_turn_inside_many_common_words_is_no_near_duplicate(one: str, other: str) -> None:
    assert not near_duplicate(one, other)


# Properties: whatever is compared, denied or measured.

_TURNING = STOP_WORDS | DENIALS | UP | DOWN | COMPARE | COMPARE_PREFERRED | {"used", "a"}


def _is_plain(word: str) -> bool:
    one = tokens(word) == [word]
    turns = word in _TURNING or word.startswith(PREFERENCES)
    return one and not turns and not polarity(word) and not numbers(word) and bool(matter_of(word))


noun = st.text("bcdfglmnprst", min_size=3, max_size=8).filter(_is_plain)
two = st.lists(noun, min_size=2, max_size=2, unique_by=lambda word: frozenset(matter_of(word))).map(tuple)


@given(
    two, st.sampled_from(["prefers {} over {}", "prefers {} to {}", "{} is bigger than {}", "takes {} instead of {}"])
)
def test_the_two_sides_of_a_comparison_are_not_exchanged_for_nothing(pair: tuple[str, str], frame: str) -> None:
    there, back = frame.format(*pair), frame.format(*reversed(pair))
    assert opposite(there, back)
    assert not near_duplicate(there, back)
    assert not opposite(there, there)
    assert compared_sides(tokens(there)) != compared_sides(tokens(back))


@given(st.lists(noun, min_size=1, max_size=6, unique_by=lambda word: frozenset(matter_of(word))))
def test_a_denial_turns_any_matter_and_two_do_not(words: list[str]) -> None:
    said = " ".join(words)
    assert opposite(said, f"never {said}")
    assert not near_duplicate(said, f"never {said}")
    assert not opposite(f"never {said}", f"not {said}")


@given(
    noun, st.integers(2, 90), st.sampled_from([("more than", "less than"), ("over", "under"), ("at least", "at most")])
)
def test_a_degree_turns_any_matter(word: str, count: int, degree: tuple[str, str]) -> None:
    up, down = (f"{word} {how} {count}" for how in degree)
    assert degrees(tokens(up)) == (True,)
    assert opposite(up, down)
    assert not near_duplicate(up, down)
    assert not opposite(up, down.replace(str(count), str(count + 1)))


@given(st.text(max_size=60), st.text(max_size=60))
def test_whether_two_are_opposites_does_not_depend_on_their_order(one: str, other: str) -> None:
    assert opposite(one, other) == opposite(other, one)
    assert near_duplicate(one, other) == near_duplicate(other, one)
    assert not opposite(one, one)
    if opposite(one, other):
        assume(one != other)
        assert not near_duplicate(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Oslo", "I live in Oslo"),
        ("Is allergic to nuts", "I'm allergic to nuts."),
        ("Has a daughter named Mia", "Like I told you before, I have a daughter named Mia"),
        ("Runs every Tuesday", "You know that I run every Tuesday, don't you"),
        ("Prefers short answers", "Yes, that's right: I prefer short answers"),
    ],
)
def test_a_quotation_and_a_note_of_the_same_words_are_one_saying(one: str, other: str) -> None:
    assert same_saying(one, other)
    assert same_saying(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Oslo", "I lived in Oslo"),
        ("Is a teacher", "I was a teacher"),
        ("I eat meat", "I don't eat meat"),
        ("I prefer bonds over stocks", "I prefer stocks over bonds"),
        ("I live in Oslo", "He lives in Oslo"),
        ("I live in Oslo", "My brother lives in Oslo"),
        ("I have two cats", "I have three cats"),
        ("I smoke", "I no longer smoke"),
    ],
)
def test_another_tense_person_order_or_number_is_another_saying(one: str, other: str) -> None:
    assert not same_saying(one, other)
