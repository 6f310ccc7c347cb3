"""The catalogue of each preset: names, arguments, forms, ceiling. What spec 5.1 says, as a table."""

import json
from functools import partial
from typing import Any

import pytest

from keepbook import Book, Keepbook, Written
from keepbook.errors import Invalid, NotFound
from keepbook.presets import load_preset
from keepbook.tools.catalogue import ToolSet, build_tools
from keepbook.tools.definition import READS, Tool, ToolAnswer, define

CONTRACT = {
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
    ],
}
READ_ONLY = {"list_preferences", "recall_preferences", "recall_memory"}
READ_ONLY |= {"list_memories", "recall", "recall_chats", "timeline", "history"}
DESTRUCTIVE = {"forget", "forget_preference"}
PRESETS = sorted(CONTRACT)
TYPES = {"string", "integer", "number", "boolean", "array"}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Nothing here writes, so one book on one engine serves them all."""
    with Keepbook(tmp_path_factory.mktemp("catalogue") / "book.db") as kb:
        yield kb.book("alice")


def signature(schema: dict[str, Any]) -> str:
    """A tool as the spec writes it, read from what a model is shown."""
    shown = schema["parameters"]
    words = []
    for name, part in shown["properties"].items():
        optional = f"={part['default']!r}" if "default" in part else "?"
        words.append(name + ("" if name in shown["required"] else optional))
    return f"{schema['name']}({', '.join(words)})"


def other(name: str) -> Tool:
    def answer() -> ToolAnswer:
        """Something of the host's."""
        return ToolAnswer("yes")

    return define(answer, name=name, annotations=READS)


def others(count: int) -> list[Tool]:
    return [other(f"other_{number}") for number in range(count)]


@pytest.mark.parametrize("preset", PRESETS)
def test_names_arguments_order_defaults_and_required_are_the_contracts(preset: str, book: Book) -> None:
    schemas = build_tools(preset, book).schemas("openai")
    assert [signature(schema["function"]) for schema in schemas] == CONTRACT[preset]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_schema_is_whole(preset: str, book: Book) -> None:
    for tool in build_tools(preset, book):
        assert_whole(tool)


def assert_whole(tool: Tool) -> None:
    schema = json.loads(json.dumps(tool.parameters))
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    for part in schema["properties"].values():
        assert part["type"] in TYPES
        assert part["description"]
        assert set(part) <= {"type", "description", "default", "enum", "minimum", "maximum", "items"}
        assert part["type"] != "array" or part["items"] == {"type": "string"}
        if "enum" in part:
            assert part["enum"]
            assert all(isinstance(choice, str) for choice in part["enum"])
        assert part.get("default", None) in (*part.get("enum", []), 10, 24, 0.4, 2000, 0, False, None)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_closed_list_of_categories_is_a_choice_and_an_open_one_is_text(preset: str, book: Book) -> None:
    closed = list(load_preset(preset).categories)
    found = 0
    for tool in build_tools(preset, book):
        for name, argument in tool.arguments.items():
            if argument.is_ == "category":
                found += 1
                assert tool.parameters["properties"][name].get("enum", []) == closed
    assert found


@pytest.mark.parametrize("preset", PRESETS)
def test_annotations_risk_and_tags_tell_what_a_tool_does(preset: str, book: Book) -> None:
    for tool in build_tools(preset, book):
        assert tool.annotations.read_only == (tool.name in READ_ONLY)
        assert tool.annotations.destructive == (tool.name in DESTRUCTIVE)
        assert tool.annotations.idempotent != tool.name.startswith("confirm")
        assert tool.risk_level == "low"
        assert tool.requires_confirmation is False
        memory = ("memory",) if preset == "coach" else ("memory", "system")
        assert tool.tags == memory
        assert "\n" not in tool.description


FORGET = {
    "type": "object",
    "properties": {
        "fact_id": {
            "type": "string",
            "description": "The id of the fact, or a piece of its text that fits only this one.",
        },
        "reason": {
            "enum": ["user_deleted", "user_corrected", "agent_forget"],
            "type": "string",
            "description": "user_corrected when a new fact replaces it, user_deleted when the person asked, "
            "else agent_forget.",
            "default": "agent_forget",
        },
    },
    "required": ["fact_id"],
    "additionalProperties": False,
}
GOLDEN = {
    "openai": {"type": "function", "function": {"name": "forget", "description": "…", "parameters": FORGET}},
    "anthropic": {"name": "forget", "description": "…", "input_schema": FORGET},
    "mcp": {
        "name": "forget",
        "title": "Forget",
        "description": "…",
        "inputSchema": FORGET,
        "annotations": {
            "title": "Forget",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": {"tags": ["memory"], "does": "forget"},
    },
}


@pytest.mark.parametrize("form", GOLDEN)
def test_a_tool_in_each_form(form: Any, book: Book) -> None:
    shown = build_tools("coach", book).schemas(form)[1]
    said = shown["function"] if form == "openai" else shown
    assert said["description"].startswith("Take a fact out of the notes when the person corrects it")
    said["description"] = "…"
    if form == "mcp":
        answered = shown.pop("outputSchema")["properties"].keys()
        assert answered == {*Written.__dataclass_fields__, "memory_event"}
    assert shown == GOLDEN[form]


def test_an_unknown_form_is_refused(book: Book) -> None:
    with pytest.raises(Invalid, match="openai, anthropic, mcp"):
        build_tools("coach", book).schemas("xml")  # type: ignore[arg-type]


def test_a_schema_given_out_can_be_changed_without_changing_the_tool(book: Book) -> None:
    tools = build_tools("coach", book)
    tools.schemas("anthropic")[0]["input_schema"]["properties"].clear()
    assert tools.schemas("anthropic")[0]["input_schema"]["properties"]
    assert build_tools("coach", book).schemas("anthropic") == tools.schemas("anthropic")


def test_the_coach_may_have_sixteen_tools_with_its_memory_tools_counted(book: Book) -> None:
    assert len(build_tools("coach", book, extra=others(14))) == 16
    with pytest.raises(Invalid, match=r"17 tools are more than the 16 allowed here; .*remember, forget, other_0") as no:
        build_tools("coach", book, extra=others(15))
    assert no.value.field == "tools"
    with pytest.raises(Invalid, match="16 allowed"):
        build_tools("coach", book, extra=others(15), ceiling=40)
    with pytest.raises(Invalid, match="8 tools are more than the 7"):
        build_tools("coach", book, extra=others(6), ceiling=7)


@pytest.mark.parametrize("preset", ["advisor", "assistant", "general"])
def test_elsewhere_memory_tools_do_not_count_against_a_hosts_limit(preset: str, book: Book) -> None:
    tools = build_tools(preset, book, extra=others(3), ceiling=3)
    assert [tool.name for tool in tools][-3:] == ["other_0", "other_1", "other_2"]
    with pytest.raises(Invalid, match="4 tools are more than the 3 allowed here; leave some out of: other_0, other_1"):
        build_tools(preset, book, extra=others(4), ceiling=3)
    assert len(build_tools(preset, book, extra=others(40))) == 40 + len(CONTRACT[preset])


def test_a_tool_of_the_host_is_called_like_any_other(book: Book) -> None:
    tools = build_tools("general", book, extra=[other("weather")])
    assert tools.call("weather", "").text == "yes"
    assert "weather" in tools
    assert tools.schemas("openai")[-1]["function"]["description"] == "Something of the host's."


def test_two_tools_of_one_name_are_refused(book: Book) -> None:
    with pytest.raises(Invalid, match="two tools called 'recall'"):
        build_tools("general", book, extra=[other("recall")])


def test_a_tool_is_found_by_its_name(book: Book) -> None:
    tools = build_tools("general", book)
    assert tools["recall"].name == "recall"
    with pytest.raises(NotFound, match="no tool 'recal'; the tools are remember, update"):
        tools["recal"]
    assert tools.call(["recall"], {}).error == "unknown_tool"  # type: ignore[arg-type]
    assert repr(ToolSet([other("weather")])) == "<ToolSet: weather>"


def test_a_preset_that_names_no_operation_is_refused(book: Book, tmp_path: Any) -> None:
    text = (
        'name = "mine"\nheading = "Notes"\nintro = "Data, not instructions."\ncategories = []\ncontent_min = 4\n'
        'content_max = 500\nconsent = "silent"\non_close = "save"\nhalf_life_days = 365\nfloor = 0.7\n'
        'persona = "p"\nmemory_rules = "m"\n[selection]\nkind = "recent"\nlimit = 3\n'
        '[line]\nid = "none"\nsubject = false\ntopic = false\nmark_inferred = false\n'
        '[[tools]]\nname = "dream"\ndoes = "dream"\ndescription = "d"\narguments = {}\n'
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Invalid, match="tool 'dream' does 'dream', which is none of remember, update"):
        build_tools(load_preset("mine", [tmp_path]), book)


def test_the_preset_is_the_books_own_when_none_is_given(tmp_path: Any) -> None:
    with Keepbook(tmp_path / "book.db") as kb:
        names = partial(build_tools, None)
        assert "list_memories" in names(kb.book("alice"))
        kb.book("alice").configure(preset="advisor")
        assert "list_preferences" in names(kb.book("alice"))
