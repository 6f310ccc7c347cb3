"""What cannot be seen is dropped from what a model reads, but for the few signs that writing needs."""

import runpy
import sys
import unicodedata
from pathlib import Path

import pytest

from keepbook.book.text.for_models import unseen_table
from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.patterns import regex

SCRIPT = Path(__file__).parents[4] / "scripts" / "unseen.py"


def test_the_table_is_what_the_script_writes() -> None:
    made = runpy.run_path(str(SCRIPT))["made"]()
    assert Path(unseen_table.__file__).read_text(encoding="utf-8") == made


def test_every_ignorable_and_every_format_character_is_dropped() -> None:
    extra = "\u3164\uffa0\u2800\u115f\u1160\u17b4\u17b5\u034f\u2065\ufe00\ufe0f\ufff0\U000e0001\U000e0041\U000e0100"
    formats = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) == "Cf"]
    for one in [*extra, *formats]:
        assert drop_unseen(f"a{one}b") == "ab", f"U+{ord(one):04X}"


def test_letters_that_join_are_letters() -> None:
    joining = regex(f"[{unseen_table.JOINING}]")
    known = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) != "Cn" and joining.match(c)]
    assert len(known) > 1500
    assert {unicodedata.category(c)[0] for c in known} == {"L", "M"}


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "Grüße, 東京, Привет",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "❤\ufe0f\u200d🔥",
        "👩\u200d👩\u200d👧",
        "👩🏽\u200d🚀",
        "👁\ufe0f\u200d🗨\ufe0f",
        "می\u200cخواهم",
        "क्\u200dष",
        "ක්\u200dෂ",
        "\u1820\u180b",
    ],
)
def test_what_writing_needs_is_kept(text: str) -> None:
    assert drop_unseen(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f"),
        ("a\ufe0f", "a"),
        ("é\ufe01\U000e0101", "é"),
        ("pass\u200cword", "password"),
        ("pass\u200dword", "password"),
        ("❤\u200d", "❤"),
        ("a\ufe0f\u200d🔥", "a🔥"),
        ("👩\u200d\u200d👧", "👩👧"),
        ("می\u200c\u200cخواهم", "میخواهم"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴"),
        ("葛\U000e0100", "葛"),
    ],
)
def test_more_than_writing_needs_is_dropped(text: str, left: str) -> None:
    assert drop_unseen(text) == left
