"""The catalogue of the coach with what trading brings: names, arguments, and how many tools there may be."""

from typing import Any

import pytest
from tests.tools.test_catalogue import CONTRACT as CORE
from tests.tools.test_catalogue import assert_whole, others, signature

from keepbook import Book, Keepbook
from keepbook.errors import Invalid
from keepbook.tools.catalogue import build_tools

CONTRACT = [
    "get_skill_performance(skill_id, detail='summary')",
    "get_my_deployments(deployment_id?, detail='list')",
    "get_upcoming_events(lookahead_hours=24, types?, symbols?, min_importance=0.4, deployment_id?)",
    "list_my_skills()",
    "prepare_action(kind, deployment_id, reason, symbol?, details?)",
]
TRADING = {line.partition("(")[0] for line in CONTRACT}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Nothing here writes, so one book on one engine serves them all."""
    with Keepbook(tmp_path_factory.mktemp("catalogue") / "book.db") as kb:
        yield kb.book("alice")


def test_names_arguments_order_defaults_and_required_are_the_contracts(book: Book) -> None:
    schemas = build_tools("coach", book).schemas("openai")
    assert [signature(schema["function"]) for schema in schemas] == [*CORE["coach"], *CONTRACT]


def test_every_schema_is_whole(book: Book) -> None:
    for tool in build_tools("coach", book):
        assert_whole(tool)


def test_annotations_risk_and_tags_tell_what_a_tool_does(book: Book) -> None:
    tools = [tool for tool in build_tools("coach", book) if tool.name in TRADING]
    assert len(tools) == len(TRADING)
    for tool in tools:
        assert tool.annotations.read_only
        assert not tool.annotations.destructive
        assert tool.annotations.idempotent
        assert tool.risk_level == "low"
        assert tool.requires_confirmation is False
        assert tool.tags == ("trading",)
        assert "\n" not in tool.description


def test_the_coach_may_have_sixteen_tools_with_its_memory_tools_counted(book: Book) -> None:
    assert len(build_tools("coach", book, extra=others(9))) == 16
    with pytest.raises(Invalid, match=r"17 tools are more than the 16 allowed here; .*remember, forget, get_sk") as no:
        build_tools("coach", book, extra=others(10))
    assert no.value.field == "tools"
    with pytest.raises(Invalid, match="16 allowed"):
        build_tools("coach", book, extra=others(10), ceiling=40)
    with pytest.raises(Invalid, match="8 tools are more than the 7"):
        build_tools("coach", book, extra=others(1), ceiling=7)
    assert len(build_tools("coach", book, extra=others(6), mode="authoring")) == 16
    with pytest.raises(Invalid, match=r"17 tools are more than the 16 allowed here"):
        build_tools("coach", book, extra=others(7), mode="authoring")
