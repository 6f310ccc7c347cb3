"""The arguments of a call that a model asks for, as the chat keeps them with its reply."""

import pytest

from keepbook.models.providers.session import ToolRequest

DEEP = '{"n": ' + "[" * 90 + "]" * 90 + "}"


@pytest.mark.parametrize("written", ['{"n": 99999999999999999999}', '{"n": NaN}', '{"n": "\\ud800"}', DEEP])
def test_what_no_chat_could_keep_is_no_argument(written: str) -> None:
    assert ToolRequest("1", "recall", written).arguments == {}


def test_the_rest_is_read() -> None:
    assert ToolRequest("1", "recall", '{"n": 18446744073709551615}').arguments == {"n": 2**64 - 1}
