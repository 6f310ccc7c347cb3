"""What was wrong with a form stands beside the control that it names, in words, and the focus goes there."""

import re
from html import unescape
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.doors.http.web.frame.form_error import FormError
from keepbook.errors import Conflict, Invalid

REFUSED = {
    "/settings/you": ("zone", {"zone": "Nowhere/At-all", "name": "Ann"}),
    "/settings/never": ("topic", {"topic": "\u200b"}),
    "/settings/tokens": ("token-kind", {"name": "laptop", "kind": "service"}),
    "/settings/erase": ("confirm", {"confirm": "nobody"}),
    "/settings/model": ("openai_address", {"model": "openai", "openai_address": "nowhere", "openai_model": "one"}),
    "/profile/facts": ("valid_from", {"content": "Lives in Oslo", "valid_from": "yesterday"}),
    "/journal": ("text", {"text": " "}),
    "/import": ("file", {"act": "look"}),
}
"""Forms, each with what is wrong in it and the control that is to blame."""


@pytest.mark.parametrize("path", REFUSED)
def test_a_refused_form_marks_the_one_control_that_is_to_blame(client: TestClient, alice: Any, path: str) -> None:
    alice.remember("Drinks tea")
    control, sent = REFUSED[path]
    answer = client.post(path, data=sent)
    assert answer.status_code == 422
    page = answer.text[answer.text.index("<main") : answer.text.index("</main")]
    [marked] = re.findall(r"<[a-z]+[^>]*aria-invalid[^>]*>", page)
    assert f'aria-describedby="bad-{control}' in marked
    assert " autofocus" in marked, "the page opens at it"
    assert page.count(" autofocus") == 1
    [said] = re.findall(rf'id="bad-{control}">.*?<span>(.*?)</span>', page)
    assert "_" not in said
    assert unescape(said)[0] in "'“" or said[0].isupper(), said


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/settings/never/remove", "/settings"),
        ("/profile/facts/many/confirm", "/profile/facts"),
        ("/undo", "/"),
        ("/journal/nothing/delete", "/journal"),
    ],
)
def test_the_address_of_a_form_opened_anew_leads_to_its_page(client: TestClient, path: str, page: str) -> None:
    answer = client.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert client.get(path, headers={"Accept": "application/json"}).status_code == 405, "a program is told so"


def test_beside_its_field_a_field_has_no_name_of_a_program() -> None:
    known = ("run_seconds", "team", "probability")
    for error, said in (
        (
            Invalid("run_seconds is a whole number from 1 to 9", field="run_seconds"),
            "This is a whole number from 1 to 9.",
        ),
        (Invalid("probability is missing", field="probability"), "This is missing."),
        (Invalid("is missing", field="team"), "This is missing."),
        (Invalid("the team is too large", field="team"), "The team is too large."),
    ):
        assert error.field is not None
        assert f"<span>{said}</span>" in FormError(error, known).beside(error.field)
    several = FormError(Invalid("all of it", fields={"team": "is missing", "run_seconds": "is odd"}), known)
    assert ("This is odd." in several.beside("run_seconds"), several.control) == (True, "team")
    assert ("autofocus" in several.marks("team"), "autofocus" in several.marks("run_seconds")) == (True, False)


def test_what_names_no_field_stands_above_the_form_and_has_the_focus() -> None:
    error = FormError(Conflict("<b>it</b> was changed meanwhile"), ("name",))
    assert "&lt;b&gt;it&lt;/b&gt; was changed meanwhile." in error.above("Not saved.")
    assert 'tabindex="-1" autofocus' in error.above()
    assert "autofocus" not in error.marks("name", ready=True)
    assert not FormError(None).above()


def test_on_a_phone_the_wrong_field_is_in_sight_and_has_the_focus(person: Page, alice: Any) -> None:
    """With script, by a form that is sent in place, and by one that is not."""
    person.set_viewport_size({"width": 390, "height": 844})
    for path, label, wrong in (
        ("/settings", "Time zone", "Nowhere/At-all"),
        ("/settings/model", "Address", "ftp://nowhere"),
    ):
        person.goto(path)
        if path == "/settings/model":
            person.locator("input[value=openai]").click()
        field = person.get_by_label(label, exact=True)
        field.fill(wrong)
        field.press("Enter")
        expect(field).to_be_focused()
        expect(field).to_be_in_viewport()
        expect(field).to_have_attribute("aria-invalid", "true")
        described = (field.get_attribute("aria-describedby") or "").split()[0]
        expect(person.locator(f"#{described}")).to_be_in_viewport(ratio=1)
