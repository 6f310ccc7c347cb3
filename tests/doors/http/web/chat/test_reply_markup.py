"""What was said, as it is shown: lists, tables, code and links, and nothing that anybody could make run."""

import time
from typing import Any

import pytest

from keepbook.doors.http.web.chat.reply_markup import (
    notebook_markup,
    person_markup,
    prose,
    without_choices,
    without_kept,
    without_marks,
)

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("One\ntwo\n\nthree", "<p>One\ntwo</p><p>three</p>"),
        ("**Much** and *more*, `a < b`", "<p><strong>Much</strong> and <em>more</em>, <code>a &lt; b</code></p>"),
        ("2 * 3 * 4 and snake_case_name", "<p>2 * 3 * 4 and snake_case_name</p>"),
        ("- one\n- two\n  - in\n- three", "<ul><li>one</li><li>two<ul><li>in</li></ul></li><li>three</li></ul>"),
        ("3. c\n4. d", '<ol start="3"><li>c</li><li>d</li></ol>'),
        ("## Costs ##\ntext", "<p><strong>Costs</strong></p><p>text</p>"),
        ("> said\n> so", "<blockquote><p>said\nso</p></blockquote>"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        ("[rates](https://a.example/x_(y))", f'<p><a href="https://a.example/x_(y)" {LINK}>rates</a></p>'),
        ("See https://a.example/x?a=1&b=2.",
         f'<p>See <a href="https://a.example/x?a=1&amp;b=2" {LINK}>https://a.example/x?a=1&amp;b=2</a>.</p>'),
    ],
)  # fmt: skip
def test_what_models_write_is_shown_as_it_is_meant(said: str, shown: str) -> None:
    assert prose(said) == shown


def test_what_the_notebook_quotes_stays_as_it_was_written() -> None:
    said = notebook_markup(
        "From your book:\n- **Bold** `code` [here](https://a.example)\n\nSee Settings → Model.", "abcdefgh"
    )
    assert said.startswith("<p>From your book:</p><ul><li>**Bold** `code` [here](<a href=")
    assert said.endswith('<p>See <a href="/settings/model?back=/chat/abcdefgh">Settings → Model</a>.</p>')


def test_what_waits_has_the_way_there() -> None:
    said = notebook_markup("To answer when you like, in Memory under “Is this right?”: “I run”.", "abcdefgh")
    assert 'in Memory under “<a href="/review">Is this right?</a>”: “I run”' in said


def test_a_question_that_has_buttons_is_shown_without_its_numbers() -> None:
    asked = "Kept: “I run”.\nShall I keep these?\n1. “I have 1. a cat”\n2. “I am Jo”\nSay “yes to all” or a number."
    assert without_choices(asked) == "Kept: “I run”.\nShall I keep these?"
    assert without_kept(asked).startswith("Kept.\nShall I keep these?"), "the margin shows the line"
    assert without_kept("I said: Kept: “I run”.") == "I said: Kept: “I run”."
    two = "Which one shall I forget?\n1. “My car”\n2. “My cat”\nSay its number.\nShall I keep these?\n5. “a”\nSay so."
    assert without_choices(two) == "Which one shall I forget?\nShall I keep these?"
    assert without_choices("You said: “2. of May”.") == "You said: “2. of May”."


def test_a_quotation_in_an_answer_stands_without_its_marks_and_its_day() -> None:
    assert without_marks("“my son Max is 7” (said 19 Nov 2026)") == "my son Max is 7"
    assert without_marks("(How many hives?) “Fourteen”") == "(How many hives?) Fourteen"
    assert without_marks("Plays “Für Elise” well") == "Plays “Für Elise” well"


def test_earlier_chats_that_the_notebook_names_have_the_way_there() -> None:
    text = "Noted: “Dinner”. An earlier chat speaks of it (“Dinner”): I will not bring that up again."
    said = notebook_markup(text, "abcdefgh", [("Dinner", "12345678"), ("<b>", "87654321")])
    link = '<a href="/chat/12345678">“Dinner”</a>'
    assert said == f"<p>Noted: “Dinner”. An earlier chat speaks of it ({link}): I will not bring that up again.</p>"


def test_a_table_has_its_figures_at_the_right() -> None:
    shown = prose("| month | saved |\n|---|---:|\n| May | 540 |\n| June |")
    assert "<th>month</th>" in shown
    assert '<td>May</td><td class="n">540</td>' in shown
    assert '<td>June</td><td class="n"></td>' in shown
    assert prose("a | b\nno table") == "<p>a | b\nno table</p>"


def test_code_is_kept_to_the_letter_with_a_way_to_copy_it() -> None:
    shown = prose("So:\n```python\nif a < b:\n    **x**\n```\nDone")
    assert '<pre tabindex="0" role="region" aria-label="python">if a &lt; b:\n    **x**</pre>' in shown
    assert "data-copy-code" in shown
    assert shown.endswith("<p>Done</p>")
    assert "<pre" in prose("```\nnever closed")
    assert prose("````\n```\n````").count("<pre") == 1


@pytest.mark.parametrize(
    "said",
    [
        "[x](javascript:alert(1))",
        "[x](JavaScript:alert(1))",
        "[x](data:text/html,hi)",
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        '[x](https://a.example/"onclick="alert(1))',
        '```"><script>\nx\n```',
        "| <b>a</b> |\n|---|\n| <i>b</i> |",
        "- <script>x</script>",
    ],
)
def test_nothing_that_was_said_runs(said: str) -> None:
    for shown in (prose(said), person_markup(said)):
        assert "<script" not in shown
        assert "<img" not in shown
        assert "<b>" not in shown
        assert "<i>" not in shown
        assert 'href="javascript' not in shown.lower()
        assert 'href="data' not in shown
        assert '"onclick' not in shown


def test_what_a_person_wrote_stays_as_it_is_but_for_files() -> None:
    assert person_markup("**not** bold\n- as written") == "**not** bold\n- as written"
    shown = person_markup("```notes.txt\n- milk\n```\n\nWhat is missing?")
    assert "<span>notes.txt</span>" in shown
    assert shown.endswith("</div>What is missing?")


def test_long_and_odd_texts_are_shown_without_delay() -> None:
    """No pattern of these looks at a letter more often than a few times: each would take minutes otherwise."""
    for odd in ("*" * 20_000, "[" * 20_000, "`" * 20_000, "|" * 20_000, "- " * 20_000, "> " * 900, "](" * 20_000):
        assert prose(odd)


GROWING = {
    "a wide table": lambda n: "|" * n + "\n" + "|-" * n + "|\n" + "|\n" * n,
    "fences that nobody closes": lambda n: "```x\n" * n,
    "longer and longer fences": lambda n: "".join("`" * (50 - at % 47) + "x\n" for at in range(n // 6)),
    "code": lambda n: "`a`" * n,
    "lists": lambda n: "".join(" " * (at % 12) + "- a\n" for at in range(n // 2)),
    "quotes": lambda n: (">" * 6 + "a\n") * (n // 2),
    "strong words": lambda n: "**a" * n,
}


@pytest.mark.parametrize("markup", [prose, person_markup])
@pytest.mark.parametrize("kind", GROWING)
def test_a_long_message_costs_as_much_as_it_is_long(kind: str, markup: Any) -> None:
    def cost(text: str) -> float:
        begun = time.process_time()
        made = markup(text)
        assert len(made) < 40 * len(text) + 1000
        return time.process_time() - begun

    short, long = (min(cost(GROWING[kind](size)) for _ in range(3)) for size in (500, 4_000))
    assert long <= 24 * max(short, 0.0005)  # eight times as long; what is quadratic costs sixty-four times as much
