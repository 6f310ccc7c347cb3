"""Settings: a value is read as what the setting holds, wherever it comes from, and what does not fit is named."""

from pathlib import Path
from typing import Any

import pytest

from keepbook.errors import Invalid
from keepbook.settings import SecretSetting, Settings, load_settings


@pytest.mark.parametrize(
    ("name", "told", "held"),
    [
        ("port", "8000", 8000),
        ("port", 8000.0, 8000),
        ("busy_seconds", "0.5", 0.5),
        ("busy_seconds", 2, 2.0),
        ("allow_bypass_login", "Yes", True),
        ("allow_bypass_login", "0", False),
        ("backup_folder", "/somewhere", Path("/somewhere")),
        ("agent_programs", "claude, other", ("claude", "other")),
        ("agent_programs", '["claude"]', ("claude",)),
        ("agent_programs", ["claude"], ("claude",)),
        ("agent_programs", "", ()),
        ("telegram_chats", "12=alice,13=bob", {12: "alice", 13: "bob"}),
        ("telegram_chats", {"12": "alice"}, {12: "alice"}),
        ("telegram_chats", "", {}),
        ("openai_key", "sk-x", SecretSetting("sk-x")),
        ("log_format", "json", "json"),
        ("max_chats", None, None),
    ],
)
def test_a_value_is_read_as_what_the_setting_holds(name: str, told: Any, held: Any) -> None:
    assert getattr(Settings(**{name: told}), name) == held


@pytest.mark.parametrize(
    ("name", "told", "belongs"),
    [
        ("port", "eighty", "a whole number, at least 0, at most 65535"),
        ("port", 70_000, "a whole number, at least 0, at most 65535"),
        ("port", 80.5, "a whole number"),
        ("port", True, "a whole number"),
        ("port", [80], "a whole number"),
        ("busy_seconds", 0, "a number, above 0, at most 600"),
        ("busy_seconds", "nan", "a number"),
        ("busy_seconds", "inf", "a number"),
        ("allow_bypass_login", "maybe", "true or false"),
        ("db", 7, "text"),
        ("openai_key", 7, "text"),
        ("agent_programs", '["claude"', "a list"),
        ("agent_programs", [7], "a list"),
        ("telegram_chats", "12", "12345=alice"),
        ("telegram_chats", "x=alice", "12345=alice"),
        ("log_format", "xml", "'plain' or 'json'"),
    ],
)
def test_what_does_not_fit_is_named_with_what_belongs_there(name: str, told: Any, belongs: str) -> None:
    with pytest.raises(Invalid) as refused:
        Settings(**{name: told})
    assert refused.value.field == name
    assert f"setting {name!r}: expected " in refused.value.message
    assert belongs in refused.value.message


def test_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text('port = 1\nhost = "file"\nowner = "file"', encoding="utf-8")
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("KEEPBOOK_PORT", "2")
    monkeypatch.setenv("KEEPBOOK_HOST", "environment")
    found = load_settings(host="given")
    assert (found.owner, found.port, found.host) == ("file", 2, "given")
    monkeypatch.setenv("KEEPBOOK_PORT", "none")
    with pytest.raises(Invalid) as refused:
        load_settings()
    assert "config.toml" not in refused.value.message


def test_an_administrator_is_of_the_database_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_ADMIN_DB", "postgresql://admin:secret@localhost/keepbook")
    for named, is_meant in {
        None: True,
        "postgresql://web@localhost/keepbook": True,
        "postgresql://web@/keepbook?host=/run/postgresql": True,
        "postgresql://web@127.0.0.1:5432/keepbook": True,
        "postgresql://admin@localhost/restored": False,
        "postgresql://admin@elsewhere/keepbook": False,
        "postgresql://admin@localhost:5433/keepbook": False,
        "keepbook.db": False,
    }.items():
        assert (load_settings(db=named).admin_db is not None) == is_meant, named
    monkeypatch.setenv("KEEPBOOK_DB", "postgresql://web@pooler:6432/keepbook")
    assert load_settings().admin_db, "what the settings say of both is believed"


def test_settings_of_nobody_know_nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_PORT", "2")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert Settings.of_nobody(owner="alice").port == 8765
    assert Settings(port=3).but(owner="bob").port == 3
    assert load_settings().openai_key == SecretSetting("sk-x")
    assert load_settings(openai_base_url="http://localhost:1").openai_key is None
    assert "sk-x" not in repr(load_settings())
