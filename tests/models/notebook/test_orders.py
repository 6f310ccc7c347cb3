"""Explicit orders by closed forms: what is one, what it names, and what only sounds like one."""

import pytest
from tests.growth import grows_in_step

from keepbook.book.text.language import LANGUAGES
from keepbook.book.text.sentences import sentences
from keepbook.models.notebook.lists.orders import Order, explicit_orders, order_forms

MOST_FORMS = 30


def heard(text: str) -> list[Order]:
    return explicit_orders(text, sentences(text))


@pytest.mark.parametrize(
    ("text", "act", "rest"),
    [
        ("remember that I'm allergic to nuts", "keep", "I'm allergic to nuts"),
        ("Please remember my shoe size is 42.", "keep", "my shoe size is 42"),
        ("can you note that I live in Oslo?", "keep", "I live in Oslo"),
        ("hey, remember i hate mushrooms", "keep", "i hate mushrooms"),
        ("note: the gate code is 1234", "keep", "the gate code is 1234"),
        ("remember my number plate: AB 123", "keep", "my number plate: AB 123"),
        ("don't forget my bike is in the shed", "keep", "my bike is in the shed"),
        ("dont forget that Ruth ' is my sister", "keep", "Ruth ' is my sister"),
        ("Don’t forget that I fly on Monday!", "keep", "I fly on Monday"),
        ("I moved to Oslo, remember that", "keep", ""),
        ("forget my address", "withdraw", "my address"),
        ("please forget that I live in Oslo", "withdraw", "I live in Oslo"),
        ("could you forget where I live?", "withdraw", "where I live"),
        ("forget everything", "withdraw", "everything"),
        ("forget that", "withdraw", ""),
        ("delete what you know about my job", "withdraw", "what you know about my job"),
        ("don't save my address", "withdraw", "my address"),
        ("don't remember that", "withdraw", ""),
        ("My salary is 65k but don't keep that", "withdraw", ""),
        ("I earn 65k, off the record", "withdraw", ""),
        ("keep this between us", "withdraw", ""),
        ("never remember anything about my health", "never", "my health"),
        ("undo that please", "undo", ""),
        ("undo that, put it back", "undo", ""),
        ("stop remembering things", "off", "things"),
        ("Merk dir, dass ich Vegetarier bin", "keep", "ich Vegetarier bin"),
        ("Vergiss bitte meine Adresse", "withdraw", "meine Adresse"),
        ("recuerda que soy alérgico", "keep", "soy alérgico"),
        ("borra mi dirección", "withdraw", "mi dirección"),
        ("husk at jeg er veganer", "keep", "jeg er veganer"),
        ("ikke lagre det", "withdraw", ""),
        ("n'oublie pas que je suis végane", "keep", "je suis végane"),
        ("ne retiens jamais rien sur ma santé", "never", "ma santé"),
    ],
)
def test_an_order_and_what_it_names(text: str, act: str, rest: str) -> None:
    (order,) = heard(text)
    assert (order.act, text[order.rest_start : order.rest_end]) == (act, rest)
    assert not order.ahead


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("off the record, I earn 65k", "I earn 65k"),
        ("Don't keep this: my brother drinks", "my brother drinks"),
        ("don't tell anyone but I'm pregnant", "I'm pregnant"),
    ],
)
def test_an_order_that_keeps_out_what_follows(text: str, rest: str) -> None:
    (order,) = heard(text)
    assert (order.act, order.ahead, text[order.rest_start : order.rest_end]) == ("withdraw", True, rest)


@pytest.mark.parametrize(
    "text",
    [
        "don't forget the milk",
        "don't forget my keys",
        "don't forget to call mum",
        "Let's meet at 5, don't forget",
        "I forget things",
        "I'll never forget her birthday",
        "never forget I love you",
        "delete the second paragraph",
        "Buy milk and forget the eggs",
        "never keep secrets",
        "undo the braid",
        "stop saving money",
        "save money",
        "remember when we met?",
        "Do you remember my name?",
        "remember to buy milk",
        "write down the main points of this article",
        "no wait, keep the app",
        "vergiss nicht die Milch",
        "ikke glem melka",
        "",
        "😀!",
    ],
)
def test_what_only_sounds_like_an_order(text: str) -> None:
    assert heard(text) == []


@pytest.mark.parametrize("text", ["forget it, I'll take the tram", "Forget it. I'll take the tram."])
def test_what_may_be_an_order_is_talk(text: str) -> None:
    assert [order.act for order in heard(text)] == ["talk"]


def test_forget_it_alone_is_an_order() -> None:
    assert [order.act for order in heard("Forget it!")] == ["withdraw"]


def test_each_sentence_may_have_its_own() -> None:
    text = "Forget my address. I live in Rome now. Remember that I'm vegan."
    assert [(one.act, text[one.rest_start : one.rest_end]) for one in heard(text)] == [
        ("withdraw", "my address"),
        ("keep", "I'm vegan"),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lists_are_short(language: str) -> None:
    assert 10 < len(order_forms(language)) <= MOST_FORMS
    assert len(set(order_forms(language))) == len(order_forms(language))


@pytest.mark.parametrize("unit", ["and ", ", ", "forget, ", "remember the, ", "please ", "forget it. ", "undo that, "])
def test_the_work_is_in_step_with_the_length(unit: str) -> None:
    texts = {size: (unit * size)[:size] for size in (800, 8_000)}
    spans = {size: sentences(text) for size, text in texts.items()}
    assert grows_in_step(lambda size: explicit_orders(texts[size], spans[size]), 8_000)
