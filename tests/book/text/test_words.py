"""The analyser: what is the same word, the same number, the same statement."""

import random
import string
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keepbook.book.text.words import (
    STOP_WORDS,
    close_terms,
    fold_text,
    jaccard,
    near_duplicate,
    numbers,
    polarity,
    query_terms,
    stem,
    terms,
    tokens,
)

# Folding


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Prefers\tindex\n\n funds ", "prefers index funds"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ﬁne\u00a0print", "fine print"),
        ("Cafe\u0301", "café"),
        ("ＡＢＣ１２", "abc12"),
        ("", ""),
        (" \u3000\n", ""),
    ],
)
def test_folding_drops_case_spaces_and_ways_of_encoding(text: str, folded: str) -> None:
    assert fold_text(text) == folded


def test_folding_keeps_what_makes_a_difference() -> None:
    assert len({fold_text(text) for text in ["resume", "résumé", "re-sume", "resume.", "resume 2"]}) == 5


@given(st.text())
@example("\u0345\u0390ŉ´ ﷺ")
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)
    assert fold_text(f"  {text}\n") == fold_text(text)


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Anna's dog — the dogs' bowl", "anna dog the dogs bowl"),
        ("I don't, he doesn’t, we can't, they won´t", "i do not he does not we can not they will not"),
        ("dont cant wont isnt", "do not can not will not is not"),
        ("I'm sure you're right, they've won; I'd say he'll", "i am sure you are right they have won i say he will"),
        ("I want a constant tent", "i want a constant tent"),
        ("O'Brien and 'quoted' words", "obrien and quoted words"),
        ("l'eau d'Évian", "eau evian"),
        ("Søren Łukasz Ærø ÅL naïve Ćwiek", "soren lukasz aero al naive cwiek"),
        ("ΆΛΦΑ άλφα", "αλφα αλφα"),
        ("Ёлка ёлка", "елка елка"),
        ("wi-fi snake_case a/b x@example.org", "wi fi snake case a b x example org"),
        ("co\u00adoperate zero\u200dwidth", "cooperate zerowidth"),
        ("東京に行く", "東京 京に に行 行く"),
        ("猫", "猫"),
        ("カード ｶｰﾄﾞ", "カー ード カー ード"),
        ("my 日本 trip", "my 日本 trip"),
        ("한국어", "한국 국어"),
        ("สวัสดี", "สว วั ัส สด ดี"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
        ("שָׁלוֹם שלום", "שלום שלום"),
        ("😀 yes 👍🏽", "yes"),
        ("?! …", ""),
    ],
)
def test_words_are_folded_the_same_however_they_are_written(text: str, words: str) -> None:
    assert tokens(text) == words.split()


@pytest.mark.parametrize(
    ("same", "number"),
    [
        (["48000", "48,000", "48 000", "48k", "48K", "48 k", "48 thousand", "48\u202f000", "٤٨٠٠٠"], "48000"),
        (["1250.5", "1,250.50", "1.250,50", "1 250,50", "1250,5"], "1250.5"),
        (["1250000", "1.250.000", "1,250,000", "1.25 million", "1,25 mio", "€1.25m", "$ 1.25 m"], "1250000"),
        (["3.5", "3,5", "3.50"], "3.5"),
        (["480000", "480,000", "480 000", "0.48 million"], "480000"),
        (["5", "05", "5th", "５"], "5"),
        (["0", "00", "0.0", "0,00"], "0"),
        (["2bn", "2 billion", "2,000,000,000"], "2000000000"),
        (["401k", "401(k)", "401 (K)"], "401k"),
        (["0.125"], "0.125"),
        (["007"], "007"),
        (["9" * 5000], "9" * 5000),
    ],
)
def test_a_number_is_the_same_however_it_is_written(same: list[str], number: str) -> None:
    for text in same:
        assert tokens(f"about {text}, net") == ["about", number, "net"], text
        assert numbers(f"about {text}, net") == {number}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-03-05 09:30", "2026 3 5 9 30"),
        ("5.3.2025", "5 3 2025"),
        ("192.168.10.1", "192 168 10 1"),
        ("3pm, 5kg, 80%", "3 pm 5 kg 80"),
        ("5m deep", "5 m deep"),
        ("2024 100 people", "2024 100 people"),
        ("room 12 3450", "room 12 3450"),
        ("B2B covid19", "b2b covid19"),
        ("0,125", "0.125"),
        ("12.", "12"),
        ("1,2,3", "1 2 3"),
    ],
)
def test_numbers_side_by_side_stay_apart(text: str, words: str) -> None:
    assert tokens(text) == words.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("has three kids and 2 dogs", {"3", "2"}),
        ("hat zwei Kinder", {"2"}),
        ("tiene dos hijos, cinco gatos", {"2", "5"}),
        ("no numbers here", set()),
    ],
)
def test_number_words_are_numbers(text: str, said: set[str]) -> None:
    assert numbers(text) == said


# Terms


def test_terms_are_stems_without_stop_words_and_with_repeats() -> None:
    assert terms("The investments of Anna are investments in funds") == ["invest", "anna", "invest", "fund"]


def test_plural_and_verb_forms_meet_in_one_term() -> None:
    assert {stem(word) for word in ("invest", "invests", "invested", "investing")} == {"invest"}


@pytest.mark.parametrize("text", ["I am here", "It is what it is", "To be or not to be", "my name is Kim"])
def test_a_short_text_keeps_its_stop_words(text: str) -> None:
    assert len(terms(text)) == len(tokens(text))


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What did I say about coffee?", "coffe"),
        ("Do you know where Anna lives?", "anna live"),
        ("Can you tell me what the name of my dog is", "name dog"),
        ("tell me about my sister's wedding", "sister wed"),
        ("Did I ever mention my allergies?", "allergi"),
        ("what do you remember of the trip to Bergen", "trip bergen"),
        ("coffee, coffee and more COFFEE", "coffe"),
        ("When did Caroline go to the support group?", "carolin go support group"),
        ("who am I?", "who am i"),
        ("tell me", "tell"),
        ("東京", "東京"),
    ],
)
def test_a_question_is_reduced_to_what_it_is_about(question: str, wanted: str) -> None:
    assert query_terms(question) == wanted.split()


@given(st.text())
def test_a_question_with_any_word_has_terms_each_once(text: str) -> None:
    asked = query_terms(text)
    assert bool(asked) == bool(tokens(text))
    assert len(asked) == len(set(asked))


@given(st.lists(st.sampled_from([*sorted(STOP_WORDS), "coffee", "tell", "know"]), min_size=1))
def test_a_question_made_of_common_words_still_has_terms(words: list[str]) -> None:
    assert query_terms(" ".join(words))


@given(st.text())
@example("don't ﷺ 1,0,0 ½ \ud7fb 401( k) $m")
def test_any_text_is_analysed_and_always_the_same_way(text: str) -> None:
    words = tokens(text)
    assert all(words)
    assert tokens(text) == words
    assert tokens(text.upper().lower()) == tokens(text.lower()) or not text.isascii()
    assert terms(text) == terms(text)
    assert numbers(text) <= set(words) | {str(n) for n in range(101)}
    assert polarity(text) in (True, False)
    assert near_duplicate(text, text) == bool(words)


@given(st.text(alphabet=string.ascii_letters + string.digits + " ,.'", max_size=60))
def test_case_never_counts(text: str) -> None:
    assert tokens(text.upper()) == tokens(text.lower())


def test_threads_do_not_mix_up_each_others_stems() -> None:
    words = [
        "".join(letters) + ending
        for letters in product("bdfglmnprst", "aeiou", "klmnt")
        for ending in ("ing", "ed", "s")
    ]
    alone = [stem.__wrapped__(word) for word in words]
    with ThreadPoolExecutor(8) as pool:
        for together in pool.map(lambda _: [stem.__wrapped__(word) for word in words], range(8)):
            assert together == alone


# Denial


@pytest.mark.parametrize(
    "text",
    [
        "I do not eat meat", "I don't eat meat", "No, I don't eat meat", "dont eat meat", "Never eats meat",
        "Can't stand opera", "No longer works there", "He stopped smoking", "Avoids gluten", "She dislikes tea",
        "hates flying", "lives without a car", "neither likes it nor needs it", "I used to smoke",
        "No como carne", "Nunca bebe café", "vive sin coche", "Evita el gluten",
        "Ich esse kein Fleisch", "raucht nicht", "fährt nie Auto", "ohne Zucker",
        "Spiser ikke kjøtt", "Har aldri røykt", "kaffe uten sukker", "unngår gluten",
    ],
)  # fmt: skip
def test_a_denial_is_heard(text: str) -> None:
    assert polarity(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "I eat meat", "She is Norwegian", "I do not avoid meat", "doesn't hate flying", "no longer avoids gluten",
        "not without sugar", "stopped avoiding meat", "Not only cats but dogs", "no doubt a vegan",
        "I'm used to getting up early", "Nothing but tea", "Notices things", "Nora likes knots", "Come carne",
        "Ich esse Fleisch", "Spiser kjøtt", "",
    ],
)  # fmt: skip
def test_what_denies_nothing_is_no_denial(text: str) -> None:
    assert polarity(text) is False


# Near-duplicates


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Prefers index funds over single stocks", "prefers index funds, over single stocks!"),
        ("I don't eat meat or any fish", "I do not eat meat or any fish"),
        ("Spends €48k a year on living", "spends 48,000 € a year on living"),
        ("My sister Anna lives in Oslo with her dog", "My sister Anna lives in Oslo with the dog"),
        ("Réserve le café à Ærø", "reserve le cafe a aero"),
        ("User is allergic to nuts", "Is allergic to nuts"),
    ],
)
def test_the_same_said_twice_is_a_near_duplicate(a: str, b: str) -> None:
    assert near_duplicate(a, b)
    assert near_duplicate(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("I want to retire at 58 with my wife Anna", "I want to retire at 60 with my wife Anna"),
        ("My sister has two very lively small kids in Oslo", "My sister has three very lively small kids in Oslo"),
        ("I do eat meat and fish and eggs on most days", "I do not eat meat and fish and eggs on most days"),
        ("I work at a bank in Oslo as an engineer", "I used to work at a bank in Oslo as an engineer"),
        ("She avoids milk in her coffee every day now", "She does not avoid milk in her coffee every day now"),
        ("Prefers tea", "Prefers coffee"),
        ("Anna is allergic to nuts", "Is allergic to nuts"),
        ("My wife is allergic to nuts and eggs and to milk", "Is allergic to nuts and eggs and to milk"),
        ("Anna is my sister", "Anna is my boss"),
        ("!!!", "???"),
        ("", ""),
    ],
)
def test_another_number_the_opposite_or_other_words_are_no_near_duplicate(a: str, b: str) -> None:
    assert not near_duplicate(a, b)
    assert not near_duplicate(b, a)


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [("a b c d e", "a b c d", 0.8), ("a b c", "a b c", 1.0), ("a a a b", "a b b", 1.0), ("a", "b", 0.0), ("", "", 0.0)],
)
def test_jaccard_is_the_share_of_common_words(a: str, b: str, share: float) -> None:
    assert jaccard(a.split(), b.split()) == pytest.approx(share)


def test_exactly_four_fifths_in_common_is_near() -> None:
    assert near_duplicate("alpha beta gamma delta omega", "alpha beta gamma delta")
    assert not near_duplicate("alpha beta gamma delta omega", "alpha beta gamma sigma")


# Typing errors


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("ana", ""), ("anma", "anna"), ("annna", "anna"), ("naan", ""), ("anan", "anna"), ("annab", "anna"),
        ("caroljne", "caroline"), ("carline", "caroline"), ("craolien", "caroline"), ("caronlinee", "caroline"),
        ("karolein", ""), ("1234", ""), ("covid18", ""), ("東京", ""),
    ],
)  # fmt: skip
def test_errors_are_forgiven_by_the_length_of_the_word(typed: str, word: str) -> None:
    assert close_terms(typed, ["anna", "caroline", "covid19", "1235", "東亰"]) == word.split()


def test_the_closest_come_first_then_code_points_decide_and_the_word_itself_is_left_out() -> None:
    vocabulary = [
        "zortfolio",
        "portfolios",
        "portfolio",
        "portfoli",
        "aortfolio",
        "pxrtfxlio",
        "portfolio",
        "zortfolio",
    ]
    assert close_terms("portfolio", vocabulary) == ["aortfolio", "portfoli", "portfolios", "zortfolio", "pxrtfxlio"]


def _distance_by_definition(a: str, b: str) -> int:
    table = [[i + j if not (i and j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        table[i][j] = min(
            table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
        )  # fmt: skip
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@given(st.text("abc", min_size=4, max_size=11), st.lists(st.text("abcd", max_size=13), max_size=30))
def test_nothing_close_is_missed_and_nothing_else_found(term: str, vocabulary: list[str]) -> None:
    most = 1 if len(term) < 8 else 2
    away = {word: _distance_by_definition(term, word) for word in vocabulary}
    expected = sorted((n, word) for word, n in away.items() if 0 < n <= most)
    assert close_terms(term, vocabulary) == [word for _, word in expected]


def test_every_one_or_two_errors_in_a_word_are_found_again() -> None:
    dice = random.Random(7)
    word = "anniversary"
    for _ in range(300):
        typed = word
        for _ in range(2):
            at = dice.randrange(len(typed) - 1)
            letter = dice.choice(string.ascii_lowercase)
            typed = dice.choice([
                typed[:at] + typed[at + 1 :],
                typed[:at] + letter + typed[at:],
                typed[:at] + letter + typed[at + 1 :],
                typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :],
            ])  # fmt: skip
        if typed != word and _distance_by_definition(typed, word) <= 2:
            assert close_terms(typed, ["birthday", word, "universe"]) == [word], typed
