"""The four shipped presets keep their contract; a preset file that is wrong says where and why."""

import os
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import keepbook.presets
from keepbook.errors import Invalid
from keepbook.extension import Extension, missing_extensions
from keepbook.presets import Preset, PresetTool, load_preset, preset_names

GENERAL = (Path(keepbook.presets.__file__).parent / "general.toml").read_text(encoding="utf-8")

SIGNATURES = {
    "coach": [
        "remember(fact, topic?, confidence='inferred')",
        "forget(fact_id, reason='agent_forget')",
    ],
    "advisor": [
        "save_preference(category, content, detail?)",
        "update_preference(id_or_substring, new_content, detail?)",
        "forget_preference(id_or_substring)",
        "confirm_preference(id_or_substring)",
        "link_preferences(from_id, to_id, relation)",
        "list_preferences(category?)",
        "recall_preferences(query, limit?)",
        "recall_chats(query, limit?, since?, until?, order?, spread=False)",
    ],
    "assistant": [
        "add_to_memory(content, category, subject?, force=False)",
        "update_memory(memory_id, content)",
        "recall_memory(query, limit=10)",
        "recall_chats(query, limit?, since?, until?, order?, spread=False)",
    ],
    "general": [
        "remember(content, category?, subject?, detail?, since?, until?)",
        "update(memory, content, detail?, correction=False)",
        "forget(memory, reason?)",
        "confirm(memory)",
        "link(from_memory, to_memory, relation)",
        "list_memories(category?)",
        "recall(query, limit=10)",
        "recall_chats(query, limit?, since?, until?, order?, spread=False, tokens?, around=0)",
        "timeline(topic, tokens=2000, since?, until?)",
        "history(memory)",
        "record_turns(session, turns)",
    ],
}
OPERATIONS = {
    "remember": {"content", "category", "subject", "detail", "since", "until", "confidence", "force"},
    "update": {"memory", "content", "detail", "correction"},
    "forget": {"memory", "reason"},
    "confirm": {"memory"},
    "link": {"from_memory", "to_memory", "relation"},
    "list": {"category"},
    "recall": {"query", "limit"},
    "recall_chats": {"query", "limit", "since", "until", "order", "spread", "tokens", "around"},
    "timeline": {"topic", "tokens", "since", "until"},
    "history": {"memory"},
    "record_turns": {"session", "turns"},
}
POLICY: dict[str, dict[str, Any]] = {
    "coach": {
        "heading": "What I know about you",
        "categories": (),
        "default_category": None,
        "content_min": 4,
        "consent": "silent",
        "on_close": "save",
        "recall_tool": None,
    },
    "advisor": {
        "heading": "Your stored preferences",
        "categories": ("profile", "finance_context", "response_style", "fact"),
        "default_category": "fact",
        "content_min": 4,
        "consent": "visible",
        "on_close": "save",
        "recall_tool": "recall_preferences",
    },
    "assistant": {
        "heading": "Your Memory",
        "categories": ("person", "preference", "context", "project"),
        "default_category": "context",
        "content_min": 5,
        "consent": "ask",
        "on_close": "propose",
        "recall_tool": "recall_memory",
    },
    "general": {
        "heading": "What you have told me",
        "categories": ("profile", "preference", "person", "project", "context", "fact"),
        "default_category": "fact",
        "content_min": 4,
        "consent": "visible",
        "on_close": "save",
        "recall_tool": "recall",
    },
}
SHIPPED = sorted(POLICY)


def signature(tool: PresetTool) -> str:
    words = []
    for name, argument in tool.arguments.items():
        ending = "" if argument.required else "?" if argument.default is None else f"={argument.default!r}"
        words.append(name + ending)
    return f"{tool.name}({', '.join(words)})"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def mine(folder: Path) -> Callable[[str, str], Preset]:
    """Loads `mine`, a copy of `general` with one piece of its text replaced."""

    def load(old: str = "", new: str = "") -> Preset:
        text = GENERAL.replace('name = "general"', 'name = "mine"', 1)
        assert old in text
        (folder / "mine.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return load_preset("mine", [folder])

    return load


def test_four_presets_ship() -> None:
    assert preset_names() == ("advisor", "assistant", "coach", "general")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_preset_keeps_its_tool_signatures(name: str) -> None:
    assert [signature(tool) for tool in load_preset(name).tools] == SIGNATURES[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_tool_fills_arguments_that_its_operation_has_each_once(name: str) -> None:
    for tool in load_preset(name).tools:
        filled = [argument.is_ for argument in tool.arguments.values()]
        assert set(filled) <= OPERATIONS[tool.does]
        assert len(set(filled)) == len(filled)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_preset_keeps_its_policy(name: str) -> None:
    preset = load_preset(name)
    assert {key: getattr(preset, key) for key in POLICY[name]} == POLICY[name]
    assert (preset.content_max, preset.half_life_days, preset.floor) == (500, 365, 0.7)


def test_only_the_coach_limits_its_tools() -> None:
    assert {name: load_preset(name).most_tools for name in SHIPPED} == dict.fromkeys(SHIPPED) | {"coach": 16}


def test_the_shipped_selections_and_budgets() -> None:
    assert load_preset("coach").selection.limit == 10
    assert load_preset("general").selection.total == 1500
    assert load_preset("assistant").selection.total == 4000
    assert load_preset("advisor").selection.budgets == {
        "profile": 300,
        "finance_context": 500,
        "response_style": 200,
        "fact": 500,
    }
    assert load_preset("advisor").selection.other == 500
    kinds = {name: load_preset(name).selection.kind for name in SHIPPED}
    assert kinds == {"advisor": "grouped", "assistant": "ordered", "coach": "recent", "general": "grouped"}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_first_sentence_of_a_block_calls_it_data_and_not_instructions(name: str) -> None:
    first = load_preset(name).intro.split(". ")[0]
    assert "data" in first
    assert "not instructions" in first


@pytest.mark.parametrize("name", SHIPPED)
def test_the_memory_rules_name_only_tools_the_preset_has(name: str) -> None:
    preset = load_preset(name)
    others = {tool.name for other in SHIPPED for tool in load_preset(other).tools} - {t.name for t in preset.tools}
    compound = {tool for tool in others if "_" in tool}
    rules = preset.rules_with(preset.extensions)
    text = " ".join([preset.intro, rules, *(tool.description for tool in preset.tools)])
    assert not {tool for tool in compound if tool in text}


def test_the_coach_knows_what_actually_means_and_where_performance_comes_from() -> None:
    coach = load_preset("coach")
    rules = coach.rules_with({"trading"})
    assert "Actually" in rules
    assert "user_corrected" in rules
    assert "detail" in rules
    assert coach.rules_with(()) == coach.memory_rules.strip()
    assert "performance" not in coach.rules_with(())


def test_a_preset_says_what_it_works_without() -> None:
    coach = load_preset("coach")
    assert missing_extensions("coach", coach.extensions, [Extension(name="trading")]) == []
    (sentence,) = missing_extensions("coach", coach.extensions, ())
    assert sentence.startswith("coach works without trading")
    assert sentence.endswith(" here; add trading to extensions")
    assert [load_preset(name).extensions for name in SHIPPED if name != "coach"] == [(), (), ()]


def test_a_preset_cannot_be_changed_by_its_reader() -> None:
    preset = load_preset("general")
    with pytest.raises(FrozenInstanceError):
        preset.floor = 0.1  # type: ignore[misc]
    with pytest.raises(TypeError):
        preset.titles["fact"] = "x"  # type: ignore[index]


def test_the_same_file_is_read_once() -> None:
    assert load_preset("general") is load_preset("general")


def test_a_folder_adds_a_preset(mine: Callable[..., Preset], folder: Path) -> None:
    assert mine("total = 1500", "total = 900").selection.total == 900
    assert "mine" in preset_names([folder])


def test_a_changed_file_is_read_again(mine: Callable[..., Preset], folder: Path) -> None:
    assert mine().selection.total == 1500
    path = folder / "mine.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("total = 1500", "total = 70"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert load_preset("mine", [folder]).selection.total == 70


def test_a_missing_folder_is_an_empty_one(folder: Path) -> None:
    assert load_preset("coach", [folder / "nowhere"]) is load_preset("coach")
    assert preset_names([folder / "nowhere"]) == preset_names()


def test_a_file_with_a_shipped_name_is_refused(folder: Path) -> None:
    (folder / "general.toml").write_text(GENERAL, encoding="utf-8")
    with pytest.raises(Invalid, match=r"already taken.*Rename your file"):
        load_preset("general", [folder])


def test_the_same_name_in_two_folders_is_refused(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "mine.toml").write_text(GENERAL.replace('"general"', '"mine"', 1), encoding="utf-8")
    with pytest.raises(Invalid, match="already taken"):
        load_preset("mine", [folder / "a", folder / "b"])


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Invalid, match=r"no preset 'coahc'\. Did you mean `coach`\? Known presets: advisor") as refused:
        load_preset("coahc")
    assert refused.value.field == "preset"


@pytest.mark.parametrize("name", ["../general", "/etc/passwd", "General", "", "a/b", "general.toml"])
def test_a_name_never_reaches_outside_its_folder(name: str) -> None:
    with pytest.raises(Invalid, match="no preset"):
        load_preset(name)


def test_broken_toml_is_refused_with_its_line(mine: Callable[..., Preset]) -> None:
    with pytest.raises(Invalid, match=r"mine\.toml: not valid TOML: .*line \d+"):
        mine("floor = 0.7", "floor = = 0.7")


CATEGORIES = 'categories = ["profile", "preference", "person", "project", "context", "fact"]'
BUDGETS = "budgets = { profile = 9, preference = 9, person = 9, project = 9, context = 9, fact = 9 }"
WRONG = {
    "a misspelt key": ("floor = 0.7", "flor = 0.7", "flor", "Did you mean `floor`?"),
    "a misspelt inner key": ("kind = ", "kinds = ", "selection.kinds", "Did you mean `kind`?"),
    "a misspelt argument key": ("{ is = ", "{ si = ", "tools[0].arguments.content.si", "one of is, description"),
    "a missing key": ("floor = 0.7", "", "floor", "missing"),
    "a missing tool key": ('does = "remember"', "", "tools[0].does", "missing"),
    "text for a number": ("floor = 0.7", 'floor = "0.7"', "floor", "a number"),
    "true for a whole number": ("content_min = 4", "content_min = true", "content_min", "a whole number"),
    "a fraction for a whole number": ("total = 1500", "total = 1.5", "selection.total", "a whole number"),
    "a number for text": ("[titles]", "[titles]\nx = 1", "titles.x", "text"),
    "text for a switch": ("subject = false", 'subject = "no"', "line.subject", "true or false"),
    "text for a list": (CATEGORIES, 'categories = "profile"', "categories", "a list"),
    "an unknown word": ('consent = "visible"', 'consent = "loud"', "consent", '"silent" or "visible" or "ask"'),
    "a list as a default": ("default = 10,", "default = [10],", "tools[6].arguments.limit.default", "text or"),
    "a name unlike its file": ('name = "mine"', 'name = "yours"', "name", '"mine", like the file'),
    "a default outside the list": ('"fact"\ncontent', '"facts"\ncontent', "default_category", "profile, preference"),
    "a doubled category": ('["profile", ', '["profile", "profile", ', "categories", "each category once"),
    "less than the database takes": ("content_min = 4", "content_min = 3", "content_min", "4 ≤ content_min"),
    "bounds that cross": ("content_min = 4", "content_min = 501", "content_min", "content_min ≤ content_max"),
    "no half-life": ("half_life_days = 365", "half_life_days = 0", "half_life_days", "more than 0"),
    "a floor over one": ("floor = 0.7", "floor = 7", "floor", "0 to 1"),
    "a category without a title": ('context = "Context"\n', "", "titles", "for every category"),
    "a heading of two lines": ('"What you have told me"', '"a\\nb"', "heading", "one line"),
    "a budget of nothing": ("total = 1500", "total = 0", "selection.total", "1 or more"),
    "budgets for some": ("total = 1500", "budgets = { fact = 9 }", "selection.budgets", "every category"),
    "budgets but none for others": ("total = 1500", BUDGETS, "selection.other", "categories of other presets"),
    "a budget for others alone": ("total = 1500", "other = 9", "selection.other", "`budgets` beside it"),
    "room for no tool": ("content_min = 4", "content_min = 4\nmost_tools = 0", "most_tools", "1 or more"),
    "the switch that trading was": ("content_min = 4", "content_min = 4\ntrading = true", "trading", ""),
    "an extension twice": ("content_min = 4", 'content_min = 4\nextensions = ["a", "a"]', "extensions", "once"),
    "rules of no extension": ("[titles]", '[extension_rules]\na = "b"\n[titles]', "extension_rules", "`extensions`"),
    "a recall tool it lacks": ('recall_tool = "recall"', 'recall_tool = "find"', "recall_tool", "one of remember"),
    "a tool twice": ('name = "confirm"', 'name = "forget"', "tools", "each tool name once"),
}


@pytest.mark.parametrize(("old", "new", "key", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_names_itself_the_key_and_what_belongs_there(
    mine: Callable[..., Preset], old: str, new: str, key: str, expected: str
) -> None:
    with pytest.raises(Invalid) as refused:
        mine(old, new)
    assert "mine.toml" in refused.value.message
    assert f"`{key}`" in refused.value.message
    assert expected in refused.value.message
    assert refused.value.field == key
