"""Reading Spanish, German, Norwegian, Chinese and Thai."""

import pytest

from keepbook.models.model import Turn
from keepbook.models.offline.extract.extract import extract
from keepbook.models.offline.extract.other_languages import detect


def kept(*said: str) -> list[str]:
    turns = [Turn(n, "user", text) for n, text in enumerate(said, 1)]
    found = extract(turns, [], block=None, vocabulary=("profile", "fact"), zone="UTC")
    return [c.content for c in found if c.op == "add"]


@pytest.mark.parametrize(
    ("text", "tongue"),
    [
        ("I live in a small town near the sea.", "en"),
        ("Vivo en un pueblo cerca del mar con mis padres.", "es"),
        ("Ich wohne in einem kleinen Dorf bei Kiel und habe einen Hund.", "de"),
        ("Jeg bor i en liten by og har to barn.", "nb"),
        ("我住在一个小镇。", "zh"),
        ("ผมอยู่ที่เมืองเล็กๆ", "th"),
    ],
)
def test_the_language_is_told(text: str, tongue: str):
    assert detect(text) == tongue


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Soy fontanero en Cádiz y tengo tres hijos.", "fontanero"),
        ("Ich arbeite als Köchin in Bremen.", "Köchin"),
        ("Jeg jobber som rørlegger i Bodø.", "rørlegger"),
        ("我在广州做老师。", "广州"),
        ("ผมทำงานที่เชียงใหม่", "เชียงใหม่"),
    ],
)
def test_a_statement_about_oneself_is_kept_in_its_own_words(text: str, part: str):
    assert any(part in one for one in kept(text))


@pytest.mark.parametrize(
    "text",
    [
        "Hoy estoy muy cansado.",
        "¿Puedo deducir la hipoteca?",
        "Quizá compre un piso algún día.",
        "Heute bin ich müde.",
        "Soll ich mehr sparen?",
        "I dag er jeg sliten.",
        "Kanskje jeg flytter en gang.",
        "今天心情不好。",
        "我应该买基金吗？",
        "วันนี้เหนื่อยมาก",
        "ควรซื้อหุ้นไหม",
    ],
)
def test_moods_of_the_day_questions_and_hedges_are_not_kept(text: str):
    assert kept(text) == []
