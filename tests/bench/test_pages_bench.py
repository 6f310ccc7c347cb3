"""The bench of large pages asks what it says, and its verdict hangs on a second of the processor."""

import json

import pytest

from keepbook.bench import pages
from keepbook.doors.http.app import create_app


def test_it_asks_each_page_and_judges(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert pages.main(True, create_app, 300, 20)
    told = json.loads(capsys.readouterr().out)
    assert [(one["page"], one["rows"]) for one in told["pages"]] == [
        ("results", 20), ("deployment", 300), ("deployment in parts", 300), ("its trades", 300), ("trading", 300),
    ]  # fmt: skip
    slow = pages.PageCost("results", 1, 1.5, 2.0, 10)
    monkeypatch.setattr(pages, "measure", lambda *_: iter([slow]))
    assert not pages.main(False, create_app, 1, 1)
