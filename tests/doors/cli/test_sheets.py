"""What people see: short lines that say what happened and what to do next, at the width of their terminal."""

import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook, Version
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.text.quotation import Span
from keepbook.doors.cli import main
from keepbook.doors.cli.sheets.timeline import lanes
from keepbook.doors.cli.terminal.paper import Paper, visible, without_password

Run = Callable[..., Any]


@pytest.fixture
def here(keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a book in a file, on a terminal of 80 columns."""
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    monkeypatch.setenv("COLUMNS", "80")
    return keepbook_command


@pytest.fixture
def months(here: Run, tmp_path: Path, clock: Any) -> Run:
    """A book that was kept over months, with something of everything."""
    clock.set(datetime.now(UTC) - timedelta(days=200))
    with Keepbook(tmp_path / "book.db", clock=clock) as kb:
        alice, agent = kb.book("alice"), kb.book("alice", by="agent", door="mcp")
        work = alice.remember("Works at Acme", category="profile", valid_from="2020-01-01")
        sara = alice.remember("Her sister is named Sarah", category="person", subject="Sarah")
        alice.update(sara.id, "Her sister is named Sara", correction=True)
        clock.forward(days=20)
        alice.update(work.id, "Works at Globex", valid_from=clock.now - timedelta(days=10))
        agent.remember("Seems to plan " + "one trip and " * 8 + "another", category="project", confidence="inferred")
        alice.remember("On leave", valid_from="2021-01-01", valid_until="2021-02-01")
        alice.remember("Moves to Bergen", valid_from="2090-01-01")
        alice.remember("Uses the blue book", scope="coach")
        clock.forward(days=160)
        one, other = alice.remember("Likes tea"), alice.remember("Never drinks tea")
        alice.link(one.id, other.id, "contradicts")
        alice.forget(alice.remember("Likes gin").id)
        alice.delete(alice.remember("Old address").id)
    return here


def test_an_empty_book_says_how_to_begin(here: Run) -> None:
    ran = here("list")
    assert ran.out.startswith("The book is empty. Tell your agent something worth keeping")
    assert "keepbook remember" in ran.out
    assert "There is no book at" in ran.err
    assert "Nothing is archived." in here("list", "--state", "archived").out
    assert "The trash is empty." in here("list", "--state", "trash").out
    assert "The ledger is empty" in here("ledger").out
    assert "Nothing in the book answers that" in here("recall", "tea").out
    assert "nothing to tidy up" in here("audit").out
    assert here("block").out == ""
    assert "The block is empty" in here("block").err


def test_reading_leaves_no_empty_file_behind(here: Run, tmp_path: Path) -> None:
    for line in (["list"], ["block"], ["verify"], ["audit"], ["doctor"], ["export"], ["ledger"], ["recall", "tea"]):
        assert here(*line).code == 0
    assert list(tmp_path.iterdir()) == []


def test_the_first_write_makes_the_default_folder_for_its_person_alone(
    keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keepbook_command("list").code == 0
    assert not (tmp_path / ".keepbook").exists()
    assert keepbook_command("doctor").code == 0
    assert keepbook_command("remember", "Likes tea").code == 0
    assert (tmp_path / ".keepbook").stat().st_mode & 0o777 == 0o700
    assert "Likes tea" in keepbook_command("list").out


def test_a_write_says_what_it_did_and_how_to_take_it_back(here: Run) -> None:
    saved = here("remember", "Likes tea").out
    (id,) = re.findall(r"^Saved (\w{8})\. Undo: keepbook undo 1$", saved, re.MULTILINE)
    assert here("update", id, "Likes coffee").out == f"Saved as version 2 of {id}. Undo: keepbook undo 2\n"
    assert here("confirm", id).out == f"Confirmed {id}. Undo: keepbook undo 3\n"
    assert here("demote", id).out.endswith("Undo: keepbook undo 4\n")
    assert here("promote", id).out == f"{id} counts as your own word now. Undo: keepbook undo 5\n"
    assert here("forget", id).out.startswith(f"Archived {id}")
    assert here("restore", id).out == f"Restored {id}. Undo: keepbook undo 7\n"
    assert here("delete", id).out == f"{id} is in the trash for 30 days. Undo: keepbook undo 8\n"
    undone = here("undo", "8").out
    assert undone.startswith(f"Undone: entry 8. {id} says: Likes coffee\n")
    assert "Redo: keepbook undo 9" in undone
    assert here("delete", id, "--forever").out.startswith(f"Deleted for good: {id}.")


def test_the_way_back_names_the_same_book(keepbook_command: Run, tmp_path: Path) -> None:
    place = tmp_path / "my book.db"
    said = keepbook_command("remember", "Likes tea", "--db", place, "--owner", "bob").out
    assert f"Undo: keepbook --db '{place}' --owner bob undo 1" in said
    gone = keepbook_command("show", "nosuch12", "--owner", "bob", "--db", place).err
    assert f"`keepbook --db '{place}' --owner bob list`" in gone, "an error's next command too"


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_the_way_back_into_a_server_names_it_without_its_password(keepbook_command: Run, book_url: str) -> None:
    asked = f"{book_url}{'&' if '?' in book_url else '?'}application_name=me"
    said = keepbook_command("remember", "Likes tea", "--db", asked, "--owner", "bob").out
    words = shlex.split(re.search(r"Undo: (.+)$", said, re.MULTILINE)[1])
    assert words[:2] == ["keepbook", "--db"]
    assert keepbook_command(*words[1:]).out.startswith("Undone: entry 1."), "what is pasted finds the same book"


def test_a_password_is_left_out_of_an_address() -> None:
    left = {
        "postgresql://ann:geheim@host:5432/books": "postgresql://ann@host:5432/books",
        "postgresql://ann:ge/h@eim@host/books?password=x&sslmode=require": "postgresql://ann@host/books?sslmode=require",
        "postgresql://host/books?password=x": "postgresql://host/books",
        "my book@home.db": "my book@home.db",
    }
    for address, shown in left.items():
        assert without_password(address) == shown


def test_what_is_there_already_is_said_plainly(here: Run) -> None:
    about = ("--category", "preference", "--subject", "tea")
    here("remember", "Likes green tea", *about)
    again = here("remember", "likes  green TEA", *about).out
    assert "Already in the book" in again
    assert "It is confirmed. Undo: keepbook undo" in again
    close = here("remember", "Likes black tea", *about).out
    assert "You already have something like this" in close
    assert "keepbook update" in close


def test_nothing_is_said_twice_or_of_what_is_not_there(here: Run, tmp_path: Path) -> None:
    here("remember", "Age: 31", "--subject", "age")
    assert "age: Age" not in here("list").out
    assert "nothing is written in it yet" in here("verify", "--owner", "nobody").out
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"memory": "Likes tea", "hash": "1"}, {"memory": "Is tall"}, {"hash": "2"}]))
    told = here("import", file, "--dry-run").out
    assert "1 thing would stay out:" in told
    assert re.search(r"where +why$", told, re.MULTILINE), "no column without words"


def test_a_list_fits_eighty_columns_and_starts_with_ids(months: Run) -> None:
    out = months("list").out
    rows = out.splitlines()
    assert max(map(len, rows)) <= 80
    assert rows[0].split() == ["id", "memory", "category", "age"]
    assert re.match(r"\w{8}  Works at Globex +profile +5 mo ago", rows[1])
    assert "Sarah: Her sister is named Sara" in out
    assert "inferred" in out
    assert "not used for" in out
    assert "not true any more: until 1 Feb 2021" in out
    assert "not true yet: from 1 Jan 2090 on" in out
    assert "only for coach" in out
    assert "Likes gin" not in out
    assert "8 memories: 7 you said, 1 inferred. 5 of them go into every new chat." in out.replace("\n", " ")


def test_a_list_tells_what_agents_wrote(here: Run, tmp_path: Path) -> None:
    here("remember", "Likes tea", "--owner", "alice")
    with Keepbook(tmp_path / "book.db") as kb:
        kb.book("alice", by="agent").remember("Likes chess")
    assert "2 memories: 1 you said, 1 by agents." in here("list", "--owner", "alice").out


def test_other_states_say_why(months: Run) -> None:
    assert "archived: you took it back" in months("list", "--state", "archived").out
    assert "in the trash" in months("list", "--state", "trash").out
    assert "10 memories" in months("list", "--state", "all").out


def test_a_long_list_says_how_to_go_on(months: Run) -> None:
    out = months("list", "--limit", "2").out.replace("\n", " ")
    assert "2 of 8 memories." in out
    assert "keepbook list --cursor" in out
    assert "No memory fits." in months("list", "--category", "preference", "--tag", "none").out


def test_a_pipe_gets_one_line_per_row(months: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    id = months("list", "--json").json["memories"][0]["id"]
    months("update", id, "Works " + "very " * 80 + "hard")
    out = months("list").out
    (row,) = [line for line in out.splitlines() if "very very" in line]
    assert row.startswith(id)
    assert row.count("very") == 80
    assert "\x1b" not in out
    assert not re.search(r" $", out, re.MULTILINE)


def test_history_is_a_timeline_on_both_clocks(months: Run) -> None:
    out = months("history", "Globex").out
    assert max(map(len, out.splitlines())) <= 80
    lines = [line.strip() for line in out.splitlines()]
    assert any(re.match(r"true +━+ +1 Jan 2020 → \d+ \w+ \d{4}$", line) for line in lines)
    assert any(re.match(r"true +━+→ +\d+ \w+ \d{4} → still$", line) for line in lines)
    assert any(re.match(r"in the book +┄+─+ ", line) for line in lines)
    assert re.search(r"told \d+,?\d* days later", out)
    corrected = months("history", "Sara").out
    assert "taken over by version 2" in corrected
    assert "corrects version 1" in corrected


def test_the_ledger_shows_old_and_new_words(months: Run) -> None:
    out = months("ledger").out
    assert re.search(
        r"^ 3  .* you · python  changed \w{8}\n    − Her sister is named Sarah\n    \+ Her sister is named Sara$",
        out,
        re.MULTILINE,
    )
    assert re.search(r"agent · mcp  saved \w{8}", out)
    assert "contradicts" in out
    assert re.search(r"Earlier: keepbook ledger --before \d+", months("ledger", "--limit", "3").out)
    assert "No entry fits." in months("ledger", "--actor", "job").out


def test_show_tells_everything_about_one(months: Run) -> None:
    out = months("show", "Likes tea").out
    for piece in (
        "you typed it",
        "asserted",
        "since ",
        "in no chat yet",
        "Links",
        "contradicts",
        "Never drinks tea",
        "keepbook history",
    ):
        assert piece in out


def test_recall_shows_fit_and_reasons(months: Run) -> None:
    out = months("recall", "who is her sister?").out
    assert "Her sister is named Sara" in out
    assert "words: sister" in out
    assert re.search(r"person +(\.\d\d|1\.00)$", out, re.MULTILINE)


def test_as_of_says_which_moments_it_speaks_of(months: Run) -> None:
    out = months("as-of", "--valid", "2021-01-15").out
    assert "What the book knew now about what was true on 15 Jan 2021 00:00:" in out
    assert "On leave" in out
    assert "Nothing." in months("as-of", "--known", "2001").out


def test_audit_gives_advice_and_never_prints_a_secret(months: Run) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    months("remember", f"The API key is {key}")
    out = months("audit").out
    assert "One contradicts the other" in out
    assert "Not true now · 2" in out
    assert "Secrets in the text · 1" in out
    assert re.search(r"keepbook delete \w{8} --forever", out)
    assert re.search(r"keepbook forget \w+", out)
    assert key not in out
    assert max(map(len, out.splitlines())) <= 80


def test_verify_and_doctor_speak_plainly(months: Run) -> None:
    assert re.match(r"The ledger holds: \d+ entries", months("verify").out)
    doctor = months("doctor")
    assert doctor.code == 0
    assert "All is well." in doctor.out
    assert "Reachable, prepared for this version, and whole." in months("db", "check").out


def test_no_line_shouts(months: Run) -> None:
    for line in (["list"], ["audit"], ["doctor"], ["ledger"], ["verify"], ["quickstart"], ["--help"], ["nonsense"]):
        ran = months(*line)
        assert "!" not in ran.out + ran.err


def test_contents_are_never_taken_for_markup_or_for_orders_to_the_terminal(here: Run) -> None:
    here("remember", "Likes [bold]tea[/bold] :smile: [link=x]y[/link]")
    here("remember", "Turns \u202eeht enil\u202c around")
    here("remember", "Has a story", "--detail", "one\rtwo\tthree", "--thread", "\x1b[31mred\x1b[0m")
    out = here("list").out
    assert "Likes [bold]tea[/bold] :smile: [link=x]y[/link]" in out
    assert "\u202e" not in out
    shown = here("show", "story").out
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "\x1b" not in here("history", "story").out
    assert "\x1b" not in here("show", "\x1b[31m").err


def test_visible_keeps_what_people_write() -> None:
    for text in ("plain", "Jürgen 日本語 👩‍👩‍👧 ไทย", "a\n\tb"):
        assert visible(text) == text
    assert (
        visible("a\x1bb\x9bc\ud800") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"
    )


def test_a_terminal_that_knows_ascii_alone_is_served_too(months: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    months("remember", "Likes tæ")

    def narrow(*line: str) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(line) == 0
        stream.seek(0)
        return stream.read()

    for line in (["list"], ["history", "Globex"], ["ledger"], ["show", "Likes tæ"], ["block"], ["audit"]):
        assert narrow(*line)
    assert re.search(r"true +=+> ", narrow("history", "Globex"))
    assert json.loads(narrow("list", "--json"))["memories"][-1]["content"] == "Likes tæ"


def test_quickstart_shows_each_command_with_its_real_answer(here: Run, tmp_path: Path) -> None:
    ran = here("quickstart")
    assert (ran.code, ran.err) == (0, "")
    for name in ("remember", "update", "block", "recall", "undo", "history", "verify"):
        assert f"$ keepbook {name}" in ran.out
    (id,) = re.findall(r"Saved as version 2 of (\w{8})", ran.out)
    assert f"- [{id}] Prefers index funds, no single stocks" in ran.out
    assert f"{id} says: Prefers index funds\n" in ran.out
    assert "The ledger holds: 4 entries" in ran.out
    assert list(tmp_path.iterdir()) == []
    answer = here("quickstart", "--json").json
    assert answer["ok"]
    assert [step["command"].split()[1] for step in answer["steps"]] == [
        "remember", "remember", "update", "block", "recall", "undo", "history", "verify",
    ]  # fmt: skip
    assert answer["steps"][4]["answer"][0]["content"] == "Prefers index funds, no single stocks"


def test_quickstart_needs_nothing_of_the_settings(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_PRESET", "coach")
    monkeypatch.setenv("KEEPBOOK_DB", "postgresql://nowhere.invalid/books")
    assert here("quickstart").code == 0


# --- rules -----------------------------------------------------------------------------------------------

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=30), "now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(days=2), "2 d ago"),
        (timedelta(days=30), "30 d ago"),
        (timedelta(days=100), "3 mo ago"),
        (timedelta(days=800), "2 y ago"),
        (timedelta(days=-3), "in 3 d"),
    ],
)
def test_ages_are_short(ago: timedelta, words: str) -> None:
    assert Paper(zone=lambda: "UTC", now=NOON).age(NOON - ago) == words


def test_an_edge_at_midnight_is_a_day() -> None:
    paper = Paper(zone=lambda: "Europe/Oslo", now=NOON)
    assert paper.edge(datetime(2026, 2, 28, 23, tzinfo=UTC)) == "1 Mar 2026"
    assert paper.edge(datetime(2026, 3, 1, 22, 59, 59, 999999, tzinfo=UTC)) == "1 Mar 2026"
    assert paper.edge(NOON) == "18 Nov 2026 13:00"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_ends_of_time_can_be_shown(here: Run, zone: str) -> None:
    here("remember", "Loves her sister", "--since", "0001-01-01T00:00Z", "--until", "9999-12-31T23:59:59.999999Z")
    for line in (["list"], ["show", "sister"], ["history", "sister"]):
        ran = here(*line, "--zone", zone)
        assert ran.code == 0, ran.err
        assert "9999" in ran.out


def _version(number: int, **more: Any) -> Version:
    at = NOON + timedelta(days=number)
    given: dict[str, Any] = {
        "version": number, "content": f"says {number}", "summary": None, "body": None, "source": "profile",
        "score": None, "made_by": None, "thread_id": None, "turn_ids": (), "valid_from": at, "valid_until": None,
        "recorded_at": at, "retired_at": None, "restored_from": None, "correction": False, "metadata": {}, "tags": (),
    }  # fmt: skip
    return Version(**(given | more))


def test_a_version_holds_until_the_next_begins() -> None:
    first, second = lanes([_version(1), _version(2)])
    assert (first.holds, first.until) == (True, NOON + timedelta(days=2))
    assert (second.holds, second.until) == (True, None)


def test_a_correction_hides_what_it_corrects_and_a_copy_what_it_undid() -> None:
    assert [lane.holds for lane in lanes([_version(1), _version(2, correction=True)])] == [False, True]
    restored = [_version(1), _version(2), _version(3, restored_from=1, valid_from=NOON)]
    assert [lane.holds for lane in lanes(restored)] == [False, False, True]
    assert [lane.replaced_by for lane in lanes(restored)] == [2, 3, None]


def test_an_end_of_its_own_counts_where_it_comes_first() -> None:
    first, _ = lanes([_version(1, valid_until=NOON + timedelta(days=1, hours=1)), _version(2)])
    assert first.until == NOON + timedelta(days=1, hours=1)


def test_a_quotation_stands_in_its_marks_and_lines_of_older_rules_are_named(here: Run, tmp_path: Path) -> None:
    reader = Origin("extractor", "close", source="extracted")
    with Keepbook(tmp_path / "book.db") as kb:
        chat = kb.book("alice").threads.start()
        chat.add("user", "I live in Oslo, you know")
        with kb.book("alice").writing() as (tx, preset):
            told = Statement("", score=0.9, made_by="offline")
            made = quotes.quote(tx, reader, preset, told, chat.id, [Span(1, 0, 14, "said")], said_on="2026-03-01")
            changes.remember(tx, reader, preset, Statement("Noes longer eat meat", score=0.9, made_by="offline"))
    shown = "“I live in Oslo” (said 1 Mar 2026)"
    for command in (("list",), ("show", made.id), ("history", made.id), ("recall", "Oslo")):
        assert shown in here(*command, "--owner", "alice").out
    assert "said in a chat, score" in here("list", "--owner", "alice").out
    audited = here("audit", "--owner", "alice").out
    assert "Worded by older rules · 1" in audited
    assert "Noes longer eat meat" in audited[audited.index("Worded") :]
