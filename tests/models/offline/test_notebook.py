"""The notebook: what it says is there in every language that it speaks."""

import re
from pathlib import Path

import pytest

import keepbook.models.offline.notebook as notebook
from keepbook.models.offline.notebook.phrases import TONGUES, words

HERE = Path(notebook.__file__).parent
SAYS = re.compile(r"""\bsay\(\s*["'](\w+)["']""")


@pytest.mark.parametrize("tongue", TONGUES)
def test_every_sentence_that_is_said_is_there(tongue: str) -> None:
    said = {key for module in HERE.glob("*.py") for key in SAYS.findall(module.read_text(encoding="utf-8"))}
    assert len(said) > 40
    assert said - words("en").says.keys() == set()
    assert said - words(tongue).says.keys() == set()
