"""A plain function becomes a tool: its schema comes from its signature, and a call is checked kindly."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from keepbook.errors import Invalid
from keepbook.presets import Argument
from keepbook.tools.definition import READS, Annotations, Tool, ToolAnswer, define


@dataclass(frozen=True)
class Turn:
    role: Literal["user", "assistant"]
    title: str


def upcoming(
    book: str,
    /,
    kind: Annotated[Literal["rates", "earnings"], "Which events."],
    hours: Annotated[int, Field(ge=1, le=72), "How far to look."] = 24,
    symbols: Annotated[list[str] | None, "Only these."] = None,
    share: float = 0.4,
    closed: bool = False,
    *,
    turn_ids: tuple[str, ...] = (),
) -> ToolAnswer:
    """What is coming up.

    Use it before you answer.
    """
    return ToolAnswer("", [book, kind, hours, symbols, share, closed, turn_ids])


def record(turns: list[Turn]) -> ToolAnswer:
    """Keep turns."""
    return ToolAnswer("", turns)


@pytest.fixture
def tool() -> Tool:
    return define(partial(upcoming, "alice", turn_ids=("7",)), annotations=READS)


def bound(**arguments: Argument) -> Tool:
    return define(partial(upcoming, "alice"), name="soon", arguments=arguments, annotations=READS)


def test_name_description_and_schema_are_the_functions_own(tool: Tool) -> None:
    assert tool.name == "upcoming"
    assert tool.description == "What is coming up. Use it before you answer."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["rates", "earnings"], "description": "Which events."},
            "hours": {
                "type": "integer",
                "minimum": 1,
                "maximum": 72,
                "default": 24,
                "description": "How far to look.",
            },
            "symbols": {"type": "array", "items": {"type": "string"}, "description": "Only these."},
            "share": {"type": "number", "default": 0.4},
            "closed": {"type": "boolean", "default": False},
        },
        "required": ["kind"],
        "additionalProperties": False,
    }
    assert list(tool.parameters["properties"]) == ["kind", "hours", "symbols", "share", "closed"]


def test_what_the_program_gives_is_no_argument_of_the_model(tool: Tool) -> None:
    assert tool({"kind": "rates"}).data == ["alice", "rates", 24, None, 0.4, False, ("7",)]
    for name in ("book", "turn_ids"):
        with pytest.raises(Invalid, match=f"no argument '{name}'"):
            tool({"kind": "rates", name: "bob"})


def test_a_binding_renames_reorders_leaves_out_and_sets_defaults() -> None:
    tool = bound(
        within=Argument("hours", "Hours.", default=48), what=Argument("kind", "Kind.", required=False, default="rates")
    )
    assert list(tool.parameters["properties"]) == ["within", "what"]
    assert tool.parameters["required"] == []
    assert tool.parameters["properties"]["within"]["default"] == 48
    assert tool({}).data == ["alice", "rates", 48, None, 0.4, False, ()]
    assert tool({"within": 2, "what": "earnings"}).data[1:3] == ["earnings", 2]


def test_a_parameter_can_be_narrowed() -> None:
    choice: Any = Literal["BTC"]
    arguments = {"kind": Argument("kind", "Kind.")}
    tool = define(partial(upcoming, "alice"), arguments=arguments, narrowed={"kind": choice}, annotations=READS)
    assert tool.parameters["properties"]["kind"]["enum"] == ["BTC"]
    assert tool({"kind": "btc"}).data[1] == "BTC"


def test_a_nested_type_keeps_its_definition_within_reach_and_its_own_title() -> None:
    tool = define(record, annotations=Annotations())
    schema = tool.parameters
    assert schema["properties"]["turns"] == {"type": "array", "items": {"$ref": "#/$defs/Turn"}}
    assert schema["$defs"]["Turn"]["properties"]["title"] == {"type": "string"}
    assert "title" not in schema["$defs"]["Turn"]
    assert tool({"turns": [{"role": "user", "title": "hello"}]}).data == [Turn("user", "hello")]
    with pytest.raises(Invalid, match=r"`turns` must be a list, not a list \(at 0\.role\)"):
        tool({"turns": [{"role": "nobody", "title": "hello"}]})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"hours": "10"}, {"hours": 10}),
        ({"hours": 10.0}, {"hours": 10}),
        ({"hours": None}, {"hours": 24}),
        ({"hours": ""}, {"hours": 24}),
        ({"kind": " Rates "}, {"kind": "rates"}),
        ({"symbols": None}, {}),
        ({"symbols": ["BTC"]}, {"symbols": ["BTC"]}),
        ({"closed": "true"}, {"closed": True}),
        ({"share": 1}, {"share": 1.0}),
    ],
    ids=str,
)
def test_what_a_model_plainly_meant_is_understood(
    tool: Tool, given: Mapping[str, Any], read: Mapping[str, Any]
) -> None:
    usual = {"kind": "rates", "hours": 24, "share": 0.4, "closed": False}
    assert tool.check({"kind": "rates", **given}) == {**usual, **read}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`kind` is missing"),
        ({"kind": None}, "`kind` is missing"),
        ({"kind": ""}, "`kind` is missing"),
        ({"kind": "news"}, "`kind` must be one of rates, earnings, not 'news'"),
        ({"kind": ["rates"]}, "`kind` must be one of rates, earnings, not a list"),
        ({"hours": 73}, "`hours` must be a whole number from 1 to 72, not 73"),
        ({"hours": 1.5}, "`hours` must be a whole number from 1 to 72, not 1.5"),
        ({"hours": True}, "`hours` must be a whole number from 1 to 72, not true"),
        ({"hours": 10**5000}, "`hours` must be a whole number from 1 to 72, not a number that long"),
        ({"hours": float("nan")}, "`hours` must be a whole number from 1 to 72, not NaN"),
        ({"symbols": "BTC"}, "`symbols` must be a list of text, not 'BTC'"),
        ({"symbols": [1]}, r"`symbols` must be a list of text, not a list \(at 0\)"),
        ({"symbols": ["a\0b"]}, "`symbols` holds a broken character"),
        ({"symbols": ["\ud800"]}, "`symbols` holds a broken character"),
        ({"closed": "perhaps"}, "`closed` must be true or false, not 'perhaps'"),
        ({"closed": {"a": 1}}, "`closed` must be true or false, not an object"),
        ({"hour": 3}, r"no argument 'hour' \(upcoming takes kind, hours, symbols, share, closed\)"),
        ({3: 3}, "no argument '3'"),
        ({"x" * 500: 3}, "no argument '" + "x" * 59 + "…'"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_a_model_cannot_have_meant_is_refused(tool: Tool, given: dict[Any, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        tool.check(given if "kind" in given or not given else {"kind": "rates", **given})


def test_all_that_is_wrong_is_said_at_once_and_the_first_is_named(tool: Tool) -> None:
    with pytest.raises(Invalid) as refused:
        tool({"hours": 99, "bogus": 1})
    assert [part[:14] for part in refused.value.message.split("; ")] == [
        "`kind` is miss",
        "`hours` must b",
        "there is no ar",
    ]
    assert refused.value.field == "kind"


@pytest.mark.parametrize("empty", ["", "  ", "{}", None, {}])
def test_no_arguments_may_be_sent_as_nothing(empty: Any) -> None:
    tool = bound(what=Argument("kind", "Kind.", default="rates"))
    assert tool(empty).data[1] == "rates"


@pytest.mark.parametrize("broken", ['{"kind":', "[", "[" * 100_000, '{"kind": ' + "9" * 5000 + "}", "kind=rates"])
def test_broken_json_is_refused_in_words(tool: Tool, broken: str) -> None:
    with pytest.raises(Invalid, match="the arguments are not valid JSON") as refused:
        tool(broken)
    assert refused.value.code == "json"


@pytest.mark.parametrize(("other", "shown"), [("[1]", "a list"), ("3", "3"), ('"x"', "'x'"), ("true", "true")])
def test_json_that_is_no_object_is_refused(tool: Tool, other: str, shown: str) -> None:
    with pytest.raises(Invalid, match=f"the arguments are {shown}; send one JSON object"):
        tool(other)


WRONG = {
    "fills what the function has not": ({"kind": Argument("sort", "")}, "kind is 'sort', which is none of kind, hours"),
    "fills a program's argument": ({"kind": Argument("kind", ""), "turns": Argument("turn_ids", "")}, "none of kind"),
    "fills one twice": ({"a": Argument("kind", ""), "b": Argument("kind", "")}, "'kind' is filled by two"),
    "leaves a needed one out": ({"hours": Argument("hours", "")}, "must fill 'kind', and be required"),
    "lets a needed one be left out": ({"kind": Argument("kind", "", required=False)}, "must fill 'kind'"),
    "has a default that does not fit": (
        {"kind": Argument("kind", "", default="news")},
        "default of kind must be one of",
    ),
    "has a name that providers refuse": ({"the kind": Argument("kind", "")}, "'the kind' is no name"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_a_binding_that_cannot_work_is_refused_when_built(arguments: dict[str, Argument], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        bound(**arguments)


def test_a_tool_cannot_be_changed(tool: Tool) -> None:
    with pytest.raises(FrozenInstanceError):
        tool.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        tool.arguments["more"] = Argument("kind", "")  # type: ignore[index]


def test_an_argument_may_be_written_in_camel_case() -> None:
    def events(deployment_id: str, URL: str = "") -> ToolAnswer:  # noqa: N803
        """Events."""
        return ToolAnswer("", [deployment_id, URL])

    tool = define(events, annotations=READS)
    assert tool({"deploymentId": "d1", "URL": "x"}).data == ["d1", "x"]
    with pytest.raises(Invalid, match="deploymentName"):
        tool({"deployment_id": "d1", "deploymentName": "x"})
