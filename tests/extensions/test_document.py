"""The OpenAPI document holds all that programs which write clients from it need, and nothing they stumble over."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.doors.http.document import join_document
from keepbook.doors.http.extension_routes import said_by_api
from keepbook.extension import shipped

NO_BODY = {"metrics", "export_book"}
"""Operations whose answer is not, or not only, JSON: each says so with its own content type."""


TOLD = join_document(said_by_api(list(shipped().values()), "DOCUMENT"))
"""Of the core and of the extensions of this package."""


@pytest.fixture(scope="module")
def document() -> Iterator[dict[str, Any]]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield create_app(kb).openapi()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [one for path in document["paths"].values() for one in path.values()]
    return {one["operationId"]: one for one in found}


def test_what_is_generated_from_it_names_the_version(document: dict[str, Any]) -> None:
    assert {path.split("/")[2] for path in document["paths"] if path.startswith("/api")} == {"v1"}


def test_operations_have_short_names_of_their_own_and_a_tag(document: dict[str, Any]) -> None:
    named = operations(document)
    assert len(named) == sum(len(path) for path in document["paths"].values())
    for name, operation in named.items():
        assert re.fullmatch(r"[a-z][a-z_]{1,28}[a-z]", name), name
        assert len(operation["tags"]) == 1
        assert operation["tags"][0] in TOLD.tags
        assert operation["summary"], name
    assert {one["name"] for one in document["tags"]} == set(TOLD.tags)


def test_schemas_have_one_plain_name(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert re.fullmatch(r"[A-Z][A-Za-z_]+", name), name
        assert schema["title"] == name
        assert "__" not in name


def test_every_answer_says_what_it_holds(document: dict[str, Any]) -> None:
    for name, operation in operations(document).items():
        good = {status: told for status, told in operation["responses"].items() if status.startswith("2")}
        assert good, name
        for status, told in good.items():
            assert status == "204" or told["content"], (name, status)
            for content in told.get("content", {}).values():
                assert content["schema"], (name, status)
        if name not in NO_BODY:
            assert any("application/json" in told.get("content", {}) for told in good.values()), name


def test_examples_fit_their_schemas(document: dict[str, Any]) -> None:
    named = operations(document)
    for name, example in TOLD.examples.items():
        content = named[name]["requestBody"]["content"]["application/json"]
        assert content["example"] == example
        jsonschema.validate(example, {**content["schema"], "components": document["components"]})


def test_bodies_have_a_type_that_generators_know(document: dict[str, Any]) -> None:
    """JSON and plain files; more than one would make them choose."""
    for name, operation in operations(document).items():
        types = list(operation.get("requestBody", {}).get("content", {}))
        assert types in ([], ["application/json"], ["application/octet-stream"]), name


def test_a_body_asks_for_nothing_that_may_be_left_out(document: dict[str, Any]) -> None:
    new = document["components"]["schemas"]["NewMemory"]
    assert new["required"] == ["content"]
    assert "default" not in str(new["properties"]), "generators take what has a default for what is always there"
    assert new["properties"]["force"]["description"].endswith("(left out: false)")


def test_each_answer_has_a_type_that_generators_know(document: dict[str, Any]) -> None:
    """JSON is read as such; of others at least one can be taken as it comes, without a configuration."""
    for name, operation in operations(document).items():
        for status, told in operation["responses"].items():
            types = list(told.get("content", {}))
            assert not types or any(re.fullmatch(r"text/.*|application/([a-z]+\+)?json", one) for one in types), name
            assert "application/json" not in types or types[0] == "application/json", (name, status)
