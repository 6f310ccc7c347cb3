"""`db check` names what was altered of an extension's own guards too, and puts them back."""

from tests.storage.test_installed import change

from keepbook import Keepbook
from keepbook.storage.schema_check import differences, repair_guards

ALTERED = {
    "sqlite": ("DROP TRIGGER runs_end_once", "trigger runs_end_once is missing"),
    "postgresql": (
        "ALTER TABLE runs DISABLE TRIGGER runs_end_once",
        "trigger runs.runs_end_once is not as this version installs it",
    ),
}


def test_a_guard_of_an_extension_is_named_and_put_back(book_url: str, engine_name: str) -> None:
    Keepbook(book_url).close()
    statement, words = ALTERED[engine_name]
    change(book_url, statement)
    assert differences(book_url) == [words]
    assert repair_guards(book_url) == [words]
    assert differences(book_url) == []
