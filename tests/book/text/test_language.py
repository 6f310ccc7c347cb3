"""The language of a turn is decided by common words and letters, and "unknown" is an answer."""

import pytest
from tests.growth import grows_in_step

from keepbook.book.text.language import LANGUAGES, UNKNOWN, language, same_language


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I live in Oslo with my wife", "en"),
        ("Fourteen, since last June", "en"),
        ("Danke!", "de"),
        ("Meine Schwester wohnt in Graz und arbeitet als Ärztin", "de"),
        ("Vivo en Málaga con mi hermana", "es"),
        ("¿Puedes ayudarme?", "es"),
        ("Jeg bor i Bergen og jobber på et sykehus", "nb"),
        ("Je suis végétarienne depuis deux ans", "fr"),
        ("merci", "fr"),
    ],
)
def test_five_languages_are_known(text: str, name: str) -> None:
    assert name in LANGUAGES
    assert language(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "Jag bor i Göteborg och jobbar inte längre",
        "Ik woon in Utrecht en heb geen hond",
        "Moro em Lisboa com a minha irmã e não como carne",
        "Vivo a Torino e lavoro in una banca, non mangio carne",
        "Mieszkam w Krakowie i nie jem mięsa",
        "Asun Tampereella ja minulla on koira",
        "我住在东京，我喜欢猫",
        "Я живу в Риге",
        "ฉันอยู่กรุงเทพ",
        "q = 3.0 kPa × 4.2 m × 1.5 = 18.9 kN",
    ],
)
def test_what_is_none_of_them_is_unknown(text: str) -> None:
    assert language(text, "en") == UNKNOWN


@pytest.mark.parametrize("text", ["Rex", "65,000", "", "👍", "Kari Nordmann"])
def test_what_shows_no_language_is_in_that_of_the_talk(text: str) -> None:
    assert language(text) == UNKNOWN
    assert language(text, "nb") == "nb"


def test_words_of_two_languages_are_in_that_of_the_talk() -> None:
    assert language("no", "es") == "es"
    assert language("no", "en") == "en"
    assert language("no") == "en"


def test_a_name_is_in_the_language_of_what_it_stands_beside() -> None:
    assert same_language("Equinor", "I work at Equinor")
    assert same_language("I work at Equinor", "Works at Equinor now")
    assert not same_language("Works at Equinor now", "我在 Equinor 工作")
    assert not same_language("Lives in Graz", "Meine Schwester wohnt in Graz")


@pytest.mark.parametrize("unit", ["a ", "и", "jeg ", "x’", "ß", "'"])
def test_the_work_is_in_step_with_the_length(unit: str) -> None:
    assert grows_in_step(lambda size: language((unit * size)[:size]), 40_000)
