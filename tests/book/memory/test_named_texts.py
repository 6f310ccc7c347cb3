"""Texts under names: the line of each is told from those of others that say the same."""

from typing import Any

import pytest

from keepbook.book.memory import named_texts
from keepbook.book.texts import TextChange


def test_a_line_that_many_texts_share_is_numbered_with_a_few_look_ups(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, is_said = [0], named_texts.is_said

    def counted(*told: Any) -> bool:
        asked[-1] += 1
        return is_said(*told)

    monkeypatch.setattr(named_texts, "is_said", counted)
    for nth in range(32):
        name = "".join(letter.upper() if nth >> at & 1 else letter for at, letter in enumerate("abcde"))
        asked.append(0)
        alice.texts.write([TextChange(scope="s", name=name, line="Same line here", body=str(nth))])
    lines = [memory.content for memory in alice.list(scope="s", limit=100)]
    assert len({line.lower() for line in lines}) == 32
    assert {"Same line here", "Same line here [Abcde]", "Same line here [ABCDE 31]"} <= set(lines)
    assert max(asked) <= 13
