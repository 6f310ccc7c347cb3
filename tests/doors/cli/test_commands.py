"""Every command on both engines: what it does to the book, and what it answers to programs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.book.ledger.test_verify import guards_off

from keepbook import Memory, Version
from keepbook.book.owners.authority import SCOPES

Ask = Callable[..., Any]
Run = Callable[..., Any]

SHAPE = {*Memory.__dataclass_fields__}
WRITTEN = SHAPE | {"event", "unchanged", "similar", "notice", "capped"}


# --- writing ---------------------------------------------------------------------------------------------

KEPT = {
    "to_arm": [], "dry_run": False, "source": "keepbook", "owner": None, "chats": 0, "refused": [], "came": [],
    "load": None,
}  # fmt: skip
"""What an import of a book without agents adds to its answer."""


def test_remember_keeps_every_field(ask: Ask) -> None:
    written = ask(
        "remember", "Sarah leads design", "--category", "person", "--subject", "Sarah", "--summary", "Sarah: design",
        "--detail", "since the\nmerger", "--importance", "0.9", "--confidence", "inferred", "--since", "2026-03",
        "--until", "2099-01-01", "--scope", "coach", "--thread", "chat-4", "--turn", "7", "--turn", "9",
    )  # fmt: skip
    assert written.keys() == WRITTEN
    assert written["content"] == "Sarah leads design"
    assert (written["category"], written["subject"], written["scope"]) == ("person", "Sarah", "coach")
    assert (written["summary"], written["body"]) == ("Sarah: design", "since the\nmerger")
    assert (written["importance"], written["confidence"], written["source"]) == (0.9, "inferred", "profile")
    assert written["valid_from"] == "2026-03-01T00:00:00.000000Z"
    assert written["valid_until"] == "2099-01-01T00:00:00.000000Z"
    assert (written["thread_id"], written["turn_ids"]) == ("chat-4", ["7", "9"])
    assert (written["event"], written["unchanged"], written["similar"]) == (1, False, [])


def test_labels_are_given_looked_for_and_taken_away(ask: Ask, run: Run) -> None:
    labels = ("--tag", "work", "--tag", "travel", "--meta", "source=calendar", "--meta", "note=a=b")
    written = ask("remember", "Flies to Oslo", *labels)
    assert (written["tags"], written["metadata"]) == (["travel", "work"], {"note": "a=b", "source": "calendar"})
    ask("remember", "Flies to Bergen", "--tag", "work")
    assert ask("list", "--tag", "work")["total"] == 2
    assert [memory["id"] for memory in ask("list", *labels)["memories"]] == [written["id"]]
    assert [hit["id"] for hit in ask("recall", "flies", *labels)] == [written["id"]]
    assert ask("recall", "flies", "--known", "now", "--tag", "home") == []
    assert "travel, work" in run("show", written["id"]).out
    assert ask("update", written["id"], "Flies to Rome")["tags"] == ["travel", "work"]
    bare = ask("update", written["id"], "Flies to Rome", "--tag", "", "--meta", "")
    assert (bare["tags"], bare["metadata"]) == ([], {})
    assert "KEY=VALUE" in run("list", "--meta", "source", "--json").error["message"]


def test_what_is_typed_is_the_persons_word_through_this_door(ask: Ask) -> None:
    assert ask("remember", "Likes tea")["source"] == "profile"
    (entry,) = ask("ledger")
    assert (entry["actor"], entry["door"]) == ("person", "cli")


def test_a_text_can_come_from_stdin(ask: Ask) -> None:
    assert ask("remember", "-", stdin="Likes tea\nwith milk\n")["content"] == "Likes tea with milk"
    kept = ask("remember", "Has a story", "--detail", "-", stdin="Once\nupon")
    assert kept["body"].startswith("Once\nupon")


def test_a_text_that_begins_with_a_dash_stands_behind_two(ask: Ask, run: Run) -> None:
    ran = run("remember", "--json", "--", "--json is my favourite option")
    assert ran.json["content"] == "--json is my favourite option"


def test_the_same_again_adds_nothing_and_confirms(ask: Ask) -> None:
    first = ask("remember", "Likes tea")
    again = ask("remember", "  likes  TEA ")
    assert (again["id"], again["unchanged"], again["version"]) == (first["id"], True, 1)
    assert ask("undo", again["event"])["last_confirmed_at"] is None


def test_who_forgets_and_restores_may_say_which_version(ask: Ask, run: Run) -> None:
    id = ask("remember", "Likes tea")["id"]
    for verb in ("forget", "restore"):
        assert run(verb, id, "--expect-version", "2", "--json").error["code"] == "version"
        assert ask(verb, id, "--expect-version", "1")["id"] == id


def test_an_ask_first_preset_keeps_a_near_duplicate_only_by_force(ask: Ask, run: Run) -> None:
    near = ("remember", "--preset", "assistant", "--category", "preference", "--subject", "tea")
    first = ask(*near, "Likes green tea in the morning")
    refused = run(*near, "Likes black tea in the evening", "--json")
    assert refused.code == 1
    assert refused.error["code"] == "similar"
    assert [memory["id"] for memory in refused.error["similar"]] == [first["id"]]
    assert ask(*near, "Likes black tea in the evening", "--force")["event"] == 2


def test_update_makes_the_next_version(ask: Ask) -> None:
    id = ask("remember", "Likes tea", "--detail", "green")["id"]
    changed = ask("update", id, "Likes coffee", "--category", "preference", "--since", "2026-05-01")
    assert (changed["id"], changed["version"], changed["content"]) == (id, 2, "Likes coffee")
    assert (changed["category"], changed["body"]) == ("preference", "green")
    assert changed["valid_from"] == "2026-05-01T00:00:00.000000Z"
    assert ask("update", "coffee", "Likes coffee", "--detail", "")["body"] is None


def test_a_correction_takes_over_the_beginning(ask: Ask) -> None:
    first = ask("remember", "Her name is Sarah", "--since", "2020", "--until", "2098")
    fixed = ask("update", first["id"], "Her name is Sara", "--correction")
    assert (fixed["valid_from"], fixed["valid_until"]) == (first["valid_from"], first["valid_until"])
    assert ask("update", first["id"], "Her name is Saara", "--correction", "--until", "")["valid_until"] is None


def test_a_memory_goes_to_the_archive_and_the_trash_and_comes_back(ask: Ask) -> None:
    id = ask("remember", "Likes tea")["id"]
    assert ask("forget", "tea", "--reason", "user_corrected")["archived_reason"] == "user_corrected"
    assert [memory["id"] for memory in ask("list", "--state", "archived")["memories"]] == [id]
    assert ask("delete", id)["state"] == "trash"
    assert ask("restore", id)["state"] == "archived"
    assert ask("restore", id)["state"] == "active"


def test_what_was_put_away_is_named_by_what_it_says(ask: Ask, run: Run) -> None:
    boat, house = (ask("remember", text)["id"] for text in ("Has a boat", "Has a house"))
    ask("delete", boat)
    ask("forget", house)
    assert run("restore", "Has a").code == 1, "two fit"
    assert (ask("restore", "boat")["id"], ask("restore", "house")["id"]) == (boat, house)
    assert ask("restore", "boat")["unchanged"]
    ask("delete", boat, "--forever")
    assert run("restore", "boat").code == 1


def test_delete_forever_leaves_no_text_behind(ask: Ask, run: Run) -> None:
    id = ask("remember", "Likes tea")["id"]
    assert ask("delete", id, "--forever") == {"id": id, "forever": True}
    assert ask("list", "--state", "all")["total"] == 0
    assert "tea" not in run("export").out
    assert ask("verify")["ok"]


def test_delete_forever_takes_no_piece_that_fits_two(ask: Ask, run: Run) -> None:
    ask("remember", "Likes tea")
    ask("remember", "Dislikes teal")
    assert run("delete", "tea", "--forever").code == 1
    assert ask("list")["total"] == 2


def test_confirm_promote_and_demote(ask: Ask) -> None:
    id = ask("remember", "Likes tea", "--confidence", "inferred")["id"]
    assert ask("confirm", id)["last_confirmed_at"] is not None
    assert ask("promote", id)["confidence"] == "asserted"
    assert ask("demote", id)["confidence"] == "inferred"


def test_links_are_made_shown_and_taken_away(ask: Ask) -> None:
    one, other = ask("remember", "Likes tea")["id"], ask("remember", "Hates coffee")["id"]
    link = ask("link", one, "Hates", "contradicts")
    assert (link["from_id"], link["to_id"], link["relation"], link["event"]) == (one, other, "contradicts", 3)
    assert [each["id"] for each in ask("show", other)["links"]] == [link["id"]]
    assert ask("unlink", link["id"])["event"] == 4
    assert ask("show", other)["links"] == []
    assert ask("link", one, other)["relation"] == "relates_to"


def test_undo_takes_back_one_write_and_undo_of_it_is_redo(ask: Ask) -> None:
    id = ask("remember", "Likes tea")["id"]
    event = ask("update", id, "Likes coffee")["event"]
    undone = ask("undo", event)
    assert (undone["content"], undone["event"]) == ("Likes tea", event + 1)
    assert ask("undo", event + 1)["content"] == "Likes coffee"
    assert ask("undo", "--last")["content"] == "Likes tea"


def test_the_owner_can_choose_a_preset_and_a_zone(ask: Ask) -> None:
    assert ask("configure", "--preset", "coach", "--zone", "Asia/Tokyo") == {
        "owner": "alice",
        "preset": "coach",
        "zone": "Asia/Tokyo",
        "event": 1,
    }
    assert ask("remember", "Trades at night", "--category", "session")["category"] == "session"
    kept = ask("remember", "Moved house", "--since", "2026-03-05")
    assert kept["valid_from"] == "2026-03-04T15:00:00.000000Z"


# --- reading ---------------------------------------------------------------------------------------------


def test_list_answers_a_page_with_filters(ask: Ask) -> None:
    ids = [
        ask("remember", "Likes tea", "--category", "preference", "--subject", "Tea")["id"],
        ask("remember", "Works at Acme", "--category", "profile")["id"],
        ask("remember", "Uses the blue book", "--scope", "coach")["id"],
    ]
    page = ask("list")
    assert page.keys() == {"memories", "total", "next"}
    assert ([memory["id"] for memory in page["memories"]], page["total"], page["next"]) == (ids, 3, None)
    assert page["memories"][0].keys() == SHAPE

    def found(*filters: str) -> list[int]:
        return [ids.index(memory["id"]) for memory in ask("list", *filters)["memories"]]

    assert found("--category", "profile") == [1]
    assert found("--subject", "tea") == [0]
    assert found("--scope", "other") == [0, 1]
    assert found("--scope", "coach") == [0, 1, 2]
    first = ask("list", "--limit", "2")
    assert (len(first["memories"]), first["total"]) == (2, 3)
    assert found("--limit", "2", "--cursor", first["next"]) == [2]


def test_a_category_that_is_a_slip_is_named(ask: Ask, run: Run) -> None:
    assert "did you mean 'preference'" in run("list", "--category", "prefrence").err
    assert ask("list", "--category", "preference")["total"] == 0


def test_a_day_alone_shows_the_book_as_it_stood(ask: Ask, run: Run) -> None:
    ask("remember", "Lives in Oslo", "--since", "2015-01-01")
    assert ask("as-of", "2020-01-01") == []
    said = run("as-of", "2020-01-01").out
    assert "The book begins on" in said
    assert "as-of --valid 2020-01-01" in said
    assert "The book begins" not in run("as-of", "tomorrow").out
    assert [memory["content"] for memory in ask("as-of", "tomorrow")] == ["Lives in Oslo"]
    assert [memory["content"] for memory in ask("as-of", "--valid", "2020-01-01")] == ["Lives in Oslo"]


def test_a_strict_import_brings_in_all_or_nothing(ask: Ask, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("text,date\nPrefers tea,05.01.2025\nRuns,31.02.2025\n")
    said = run("import", str(file), "--strict").err
    assert ("1 would stay out" in said, "line 3" in said) == (True, True)
    assert ask("list")["total"] == 0
    assert ask("import", str(file))["memories"] == 1
    assert "--strict is for a file of another program" in run("import", "-", "--strict", stdin="{}").err


def test_help_says_what_an_option_takes_in_words(run_without_book: Run) -> None:
    for line in (
        ["remember"],
        ["restore"],
        ["link"],
        ["inject"],
        ["as-of"],
        ["serve"],
        ["token", "create"],
        ["import"],
        [],
    ):
        shown = run_without_book(*line, "--help").out
        assert not re.search(r"<\w+>", shown), line
    scopes = " ".join(run_without_book("token", "create", "--help").out.split())
    assert all(scope in scopes for scope in SCOPES)


def test_show_gives_versions_and_links(ask: Ask) -> None:
    id = ask("remember", "Likes tea")["id"]
    ask("update", id, "Likes coffee")
    shown = ask("show", id)
    assert shown.keys() == SHAPE | {"versions", "links"}
    assert [version["content"] for version in shown["versions"]] == ["Likes tea", "Likes coffee"]


def test_history_lists_the_versions(ask: Ask) -> None:
    id = ask("remember", "Likes tea")["id"]
    ask("update", id, "Likes coffee")
    versions = ask("history", "coffee")
    assert [version["version"] for version in versions] == [1, 2]
    assert versions[0].keys() == {*Version.__dataclass_fields__}
    assert versions[0]["retired_at"] == versions[1]["recorded_at"]


def test_recall_answers_a_list_of_hits(ask: Ask) -> None:
    id = ask("remember", "Prefers index funds", "--category", "preference")["id"]
    ask("remember", "Works at Acme", "--category", "profile")
    (hit,) = ask("recall", "which funds?")
    assert hit["id"] == id
    assert hit.keys() == SHAPE | {"relevance", "reasons", "likeness"}
    assert ask("recall", "which funds?", "--category", "profile") == []
    assert ask("recall", "which funds?", "--known", "2001-01-01") == []
    assert len(ask("recall", "funds Acme", "--limit", "1")) == 1


def test_the_block_and_the_block_of_a_session(ask: Ask, run: Run) -> None:
    id = ask("remember", "Prefers index funds", "--category", "preference")["id"]
    block = ask("block")["block"]
    assert f"- [{id}] Prefers index funds" in block
    assert run("block").out == block + "\n"
    assert ask("inject", "chat-1") == {"session": "chat-1", "block": block}
    ask("remember", "Likes tea")
    assert ask("inject", "chat-1")["block"] == block
    assert "Likes tea" in ask("inject", "chat-2")["block"]
    assert "## What I know about you" in ask("block", "--preset", "coach")["block"]
    assert ask("block", "--known", "yesterday") == {"block": ""}


def test_as_of_asks_on_both_clocks(ask: Ask) -> None:
    ask("remember", "Lives in Oslo", "--since", "2020-01-01", "--until", "2021-01-01")
    then = ask("as-of", "--valid", "2020-06-01")
    assert [memory["content"] for memory in then] == ["Lives in Oslo"]
    assert ask("as-of") == []
    assert ask("as-of", "--valid", "2020-06-01", "--known", "2020-06-01") == []


def test_the_ledger_is_newest_first_and_can_be_narrowed(ask: Ask) -> None:
    one = ask("remember", "Likes tea", "--thread", "chat-1")["id"]
    ask("remember", "Works at Acme")
    ask("confirm", one)
    assert [entry["event"] for entry in ask("ledger")] == [3, 2, 1]
    assert [entry["event"] for entry in ask("ledger", "--memory", one)] == [3, 1]
    assert [entry["event"] for entry in ask("ledger", "--limit", "1")] == [3]
    assert [entry["event"] for entry in ask("ledger", "--after", "1", "--before", "3")] == [2]
    assert ask("ledger", "--actor", "extractor") == []
    assert ask("ledger", "--thread", "elsewhere") == []


# --- dates in words --------------------------------------------------------------------------------------

NOW = ("--at", "2026-11-18T12:00")  # a Wednesday


@pytest.mark.parametrize(
    ("said", "since"),
    [
        ("March", "2026-03-01T00:00:00.000000Z"),
        ("since March", "2026-03-01T00:00:00.000000Z"),
        ("last spring", "2026-03-01T00:00:00.000000Z"),
        ("yesterday", "2026-11-17T00:00:00.000000Z"),
        ("2 weeks ago", "2026-11-04T00:00:00.000000Z"),
        ("2024", "2024-01-01T00:00:00.000000Z"),
    ],
)
@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_since_is_read_in_plain_words(ask: Ask, said: str, since: str) -> None:
    assert ask("remember", "Likes tea", "--since", said, *NOW)["valid_from"] == since


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ("Friday", "2026-11-20T23:59:59.999999Z"),
        ("until Friday", "2026-11-20T23:59:59.999999Z"),
        ("end of March", "2027-03-31T23:59:59.999999Z"),
        ("2026-12-24", "2026-12-24T00:00:00.000000Z"),
    ],
)
@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_until_is_read_in_plain_words(ask: Ask, said: str, until: str) -> None:
    kept = ask("remember", "Likes tea", "--since", "2020", "--until", said, *NOW)
    assert kept["valid_until"] == until


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_words_are_read_in_the_zone_of_the_line_or_of_the_owner_or_of_the_machine(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask("remember", "First of all", "--since", "March", *NOW)["valid_from"].startswith("2026-03-01T00")
    monkeypatch.setenv("TZ", "America/New_York")
    assert ask("remember", "The machine's", "--since", "March", *NOW)["valid_from"].startswith("2026-03-01T05")
    ask("configure", "--zone", "Asia/Tokyo")
    assert ask("remember", "The owner's", "--since", "March", *NOW)["valid_from"].startswith("2026-02-28T15")
    kept = ask("remember", "The line's", "--since", "March", "--zone", "Europe/Oslo", *NOW)
    assert kept["valid_from"].startswith("2026-02-28T23")


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_reads_take_words_too(ask: Ask) -> None:
    ask("remember", "Lives in Oslo", "--since", "2026-03-01")
    assert len(ask("as-of", "--valid", "last spring", "--at", "2026-11-18")) == 1
    assert ask("as-of", "--valid", "last spring", "--at", "2026-01-18") == []
    assert ask("recall", "Oslo", "--valid", "last winter", "--at", "2026-11-18") == []


# --- carrying and caring ---------------------------------------------------------------------------------


def test_an_export_comes_back_byte_for_byte(ask: Ask, run: Run, tmp_path: Path) -> None:
    ask("remember", "Likes tæ ☕", "--detail", "line\nline")
    ask("update", "Likes", "Likes coffee")
    text = run("export").out
    file = tmp_path / "book.jsonl"
    assert ask("export", file) == {"file": str(file), "lines": len(text.splitlines())}
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o077 == 0
    assert ask("import", file, "--owner", "bob") == {"memories": 1, "unchanged": 0} | KEPT
    assert run("export", "--owner", "bob").out == text
    assert ask("import", "-", "--owner", "bob", stdin=text) == {"memories": 0, "unchanged": 1} | KEPT
    assert ask("import", file, "--owner", "carol", "--merge")["memories"] == 1


def test_a_foreign_file_is_taken_over(ask: Ask) -> None:
    foreign = "\ufeff" + "\n".join(json.dumps({"memory": text}) for text in ("Likes tea", "Works at Acme"))
    known = {"source": "list", "owner": "alice", "load": 1}
    assert ask("import", "-", stdin=foreign) == {"memories": 2, "unchanged": 0} | KEPT | known
    assert {memory["source"] for memory in ask("list")["memories"]} == {"imported"}


def test_two_people_of_a_file_go_into_two_books_or_nowhere(ask: Ask, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    people = {"anna": "Likes rye bread", "ben": "Plays the cello"}
    items = [{"id": who, "memory": text, "user_id": who, "created_at": "2025-04-11"} for who, text in people.items()]
    file.write_text(json.dumps({"results": items}), encoding="utf-8")

    refused = run("import", file)
    assert (refused.code, "--owner-map THEIRS=OURS" in refused.err) == (1, True)
    assert "THEIRS=OURS, not" in run("import", file, "--owner-map", "anna").err
    mapped = ("--owner-map", "anna=anna.h", "--owner-map", "ben=ben")
    looked = run("import", file, *mapped, "--dry-run").out
    assert "comes in  2025-04-11" in looked
    assert "Likes rye bread" in looked
    assert ask("list", "--owner", "ben")["memories"] == []

    taken = run("import", file, *mapped).out
    assert "See: keepbook list --owner anna.h\nTake it back: keepbook undo --load 1 --owner anna.h\n" in taken
    for owner, text in (("anna.h", "Likes rye bread"), ("ben", "Plays the cello")):
        [kept] = ask("list", "--owner", owner)["memories"]
        assert (kept["content"], kept["valid_from"][:10]) == (text, "2025-04-11")
    assert "there already" in run("import", file, *mapped, "--dry-run").out


def test_chats_from_elsewhere_are_closed_all_at_once_without_a_model(ask: Ask, run: Run, tmp_path: Path) -> None:
    said = [("human", "I am allergic to walnuts."), ("assistant", "Noted.")]
    turns = [{"sender": who, "text": text, "created_at": f"2025-02-0{day}"} for day, (who, text) in enumerate(said, 1)]
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([{"uuid": "1", "name": "Baking", "chat_messages": turns}]), encoding="utf-8")

    assert "threads close --all --offline" in run("import", file).out
    assert [chat["title"] for chat in ask("threads", "list")] == ["Baking"]
    [closed] = ask("threads", "close", "--all", "--offline")
    assert (closed["status"], closed["made_by"]) == ("closed", "offline")
    assert "No chat is open" in run("threads", "close", "--all").out
    assert "or close every open one" in run("threads", "close").err
    read = run("import", file, "--read", "--owner", "bob").out
    assert ("Imported 0 memories and 1 chat" in read, "Closed 1 chat" in read) == (True, True)
    again = ask("import", file, "--read", "--owner", "bob")
    assert (again["imported"]["chats"], again["read"]) == (0, [])
    assert "leave it out here" in run("import", file, "--read", "--dry-run").err
    assert "undo --load 1" in read
    back = ask("undo", "--load", 1, "--owner", "bob")
    assert (len(back["chats"]), back["stayed"], ask("threads", "list", "--owner", "bob")) == (1, 0, [])
    assert "Imported 0 memories and 1 chat" in run("import", file, "--owner", "bob").out
    assert "Taken back: " in run("undo", "--load", 2, "--owner", "bob").out
    assert "--load LOAD for a file" in run("undo", "--load", 1, "--last").err


def test_an_export_replaces_a_file_only_by_force(ask: Ask, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "book.jsonl"
    file.write_text("precious", encoding="utf-8")
    assert run("export", file).code == 1
    assert file.read_text(encoding="utf-8") == "precious"
    assert ask("export", file, "--force")["lines"] == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_erase_needs_the_owners_name(ask: Ask, run: Run) -> None:
    ask("remember", "Likes tea")
    ask("remember", "Likes tea", "--owner", "bob")
    assert run("erase").code == 1
    assert run("erase", "--confirm", "bob").code == 1
    receipt = ask("erase", "--confirm", "alice")
    assert (receipt["owner"], receipt["counts"]["memories"]) == ("alice", 1)
    assert receipt["beyond_reach"]
    assert ask("list")["total"] == 0
    assert ask("list", "--owner", "bob")["total"] == 1


def test_verify_answers_ok_and_the_number_of_entries(ask: Ask) -> None:
    ask("remember", "Likes tea")
    told = ask("verify")
    assert (told.pop("links"), len(told.pop("hash"))) == (2, 64), "the entry, and the cover of the owner's row"
    nothing = dict.fromkeys(("broken", "why", "table", "row", "link", "since"))
    assert told == {"ok": True, "entries": 1, "mends": [], **nothing}


@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_broken_book_is_mended(ask: Ask, run: Run, engine_name: str, book_url: str, tmp_path: Path) -> None:
    ask("remember", "Likes tea")
    ask("remember", "Hates coffee")
    copy = tmp_path / "before.db"
    assert "nothing to mend" in run("db", "mend", copy, "--yes").err
    with guards_off(engine_name, book_url) as execute:
        execute("UPDATE versions SET content = 'Likes mud' WHERE content = 'Likes tea'")
    assert run("verify").code == 1
    told = ask("db", "mend", copy, "--yes")
    assert told["backup"] == str(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    (one,) = told["mended"]
    assert "Likes mud" in Path(one["file"]).read_text()
    assert ask("verify")["since"].startswith("whole since entry 3; ")
    assert "whole since entry 3" in run("verify").out
    assert "mended: rows were set aside" in run("ledger").out
    checks = {check["name"]: check["value"] for check in ask("doctor")["checks"]}
    assert "whole since entry 3" in checks["ledger"]
    assert "exists" in run("db", "mend", copy, "--yes").err


def test_the_clock_is_accepted(ask: Ask, run: Run) -> None:
    ask("remember", "Likes tea")
    assert ask("db", "accept-clock")["accepted"] is None
    assert "nothing to accept" in run("db", "accept-clock").out


def test_audit_answers_all_findings(ask: Ask) -> None:
    ask("remember", "Likes tea")
    found = ask("audit")
    assert found["clean"]
    assert found["memories"] == found["block_memories"] == 1
    assert {"duplicates", "near_duplicates", "stale", "secrets", "contradictions"} <= found.keys()


def test_doctor_reports_and_makes_nothing(ask: Ask) -> None:
    ask("remember", "Likes tea")
    answer = ask("doctor")
    assert answer["ok"]
    checks = {check["name"]: check["value"] for check in answer["checks"]}
    assert checks["owner"] == "alice"
    assert checks["preset"] == "general"
    assert checks["memories"] == "1 active, 0 archived, 0 in the trash"
    assert checks["ledger"] == "holds, 1 entry"
    assert checks["writing"] == "works"
    assert {"keepbook", "python", "sqlite", "config file", "presets folder", "database", "size"} <= checks.keys()


def test_the_database_can_be_checked_and_brought_up(ask: Ask, empty_url: str, engine_name: str) -> None:
    steps = ask("db", "upgrade", "--db", empty_url)
    assert bool(steps["steps"]) is (engine_name == "postgresql")
    assert ask("db", "upgrade", "--db", empty_url)["steps"] == []
    checked = ask("db", "check", "--db", empty_url)
    assert checked["ok"]
    assert checked["schema"] == steps["schema"]
    assert ask("remember", "Likes tea", "--db", empty_url)["event"] == 1


def test_global_options_stand_before_or_after_the_command(run: Run, book_url: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    for line in (
        ("--db", other, "--owner", "bob", "--json", "remember", "Likes tea"),
        ("remember", "--json", "Likes coffee", "--owner=bob", f"--db={other}"),
        (f"--db={book_url}", "remember", "Likes milk", "--db", other, "--owner", "bob", "--json"),
        ("db", "--json", f"--db={other}", "check"),
    ):
        ran = run(*line)
        assert ran.code == 0, ran.err
        assert ran.json
    kept = run("list", "--json", "--owner", "bob", "--db", other).json
    assert [memory["content"] for memory in kept["memories"]] == ["Likes tea", "Likes coffee", "Likes milk"]
    assert run("list", "--json").json["total"] == 0


def test_an_option_takes_its_value_even_if_that_looks_like_a_global_option(ask: Ask) -> None:
    assert ask("remember", "Likes flags", "--subject", "--json")["subject"] == "--json"


def test_what_the_settings_say_is_used(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config.toml"
    config.write_text('preset = "coach"\n', encoding="utf-8")
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(config))
    assert ask("remember", "Trades at night", "--category", "session")["category"] == "session"


@pytest.mark.parametrize("kind", ["person", "agent", "service"])
def test_tokens_are_made_listed_and_revoked(ask: Callable[..., Any], run: Run, kind: str) -> None:
    made = ask("token", "create", "--kind", kind)
    assert set(made) == {"id", "token", "owner", "kind", "scopes"}
    assert (made["kind"], made["scopes"]) == (kind, ["read", "write"])
    assert (made["owner"] is None) == (kind == "service")
    assert [token["id"] for token in ask("token", "list", "--all")] == [made["id"]]
    assert ask("token", "revoke", made["id"])["revoked_at"]
    assert ask("token", "list", "--all") == []
    assert "1 more opened something once" in run("token", "list", "--all").out
    assert [token["id"] for token in ask("token", "list", "--all", "--ended")] == [made["id"]]
