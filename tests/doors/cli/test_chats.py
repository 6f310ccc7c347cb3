"""Around chats: threads, notes, proposals, recall-chats, jobs, extract --dry-run, doctor --model, owners' choices."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.models.wire import HANG, Say, Status, Wire, answer, refused

from keepbook import Keepbook
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.doors.http import server

Ask = Callable[..., Any]
Run = Callable[..., Any]
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)

LONG_AGO = "2024-05-01T09:00:00Z"
FACTS, PASSING = "I work as a nurse in Oslo, and my cat is called Tom.", "I have a meeting today at three."


@pytest.fixture
def talked(book_url: str) -> str:
    """A chat of an outside agent's, long silent and not closed; its id."""
    with Keepbook(book_url) as kb:
        chat = kb.book("alice").thread("support-17")
        chat.add("user", f"{FACTS} {PASSING}", at=LONG_AGO, hidden="page: prices")
        chat.add("assistant", "Nice to meet you and Tom.", at=LONG_AGO)
        return chat.id


def refused_in_one_line(ran: Any, *pieces: str, code: int = 1) -> None:
    assert (ran.code, ran.out) == (code, "")
    (line,) = ran.err.splitlines()
    for piece in pieces:
        assert piece in line


# --- threads ---------------------------------------------------------------------------------------------


def test_a_chat_is_listed_shown_renamed_closed_and_put_aside(ask: Ask, run: Run, talked: str) -> None:
    (listed,) = ask("threads", "list")
    assert (listed["id"], listed["session"], listed["state"], listed["turns"]) == (talked, "support-17", "active", 2)
    shown = ask("threads", "show", talked)
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    assert shown["learned"] == []
    assert ask("threads", "rename", talked, "Tom and I")["title"] == "Tom and I"
    refused_in_one_line(run("threads", "archive", talked), "close it first")
    closed = ask("threads", "close", talked)
    assert (closed["status"], closed["made_by"]) == ("closed", "offline")
    assert closed["written"]
    assert ask("threads", "close", talked)["status"] == "nothing"
    assert ask("threads", "show", talked)["learned"] == sorted(one["id"] for one in closed["written"])
    assert ask("threads", "archive", talked)["state"] == "archived"
    assert ask("threads", "list", "--state", "idle") == []
    assert [one["id"] for one in ask("threads", "list", "--state", "archived")] == [talked]


def test_a_chat_goes_to_the_trash_with_or_without_what_it_taught(ask: Ask, talked: str) -> None:
    learned = [one["id"] for one in ask("threads", "close", talked)["written"]]
    gone = ask("threads", "delete", talked)
    assert (gone["forever"], gone["memories_deleted"], gone["learned"]) == (False, False, sorted(learned))
    assert ask("threads", "list") == []
    assert [one["id"] for one in ask("threads", "list", "--trash")] == [talked]
    assert ask("list")["total"] == len(learned)
    assert ask("threads", "restore", talked)["deleted_at"] is None
    assert ask("threads", "delete", talked, "--memories")["memories_deleted"]
    assert ask("list")["total"] == 0
    assert ask("threads", "delete", talked, "--forever")["forever"]
    assert ask("threads", "list", "--trash") == []


def test_what_was_said_is_found_again_and_hidden_context_is_not(ask: Ask, talked: str) -> None:
    (found,) = ask("threads", "search", "nurse")
    assert (found["thread_id"], found["turn"]) == (talked, 1)
    assert "⟦nurse⟧" in found["text"]
    assert ask("threads", "search", "prices") == []
    best, *_ = ask("recall-chats", "what is my cat called?")
    assert (best["thread_id"], best["turn"]) == (talked, 1)
    assert len(ask("recall-chats", "cat", "--limit", "1")) == 1


@on_sqlite
def test_people_read_about_their_chats(run: Run, talked: str) -> None:
    assert "support-17" in run("threads", "list").out
    assert f"Go on: keepbook chat --thread {talked}" in run("threads", "show", talked).out
    assert "prices" not in run("threads", "show", talked).out
    assert "⟦nurse⟧" in run("threads", "search", "nurse").out
    assert "No chat says that." in run("recall-chats", "unicorns").out
    closed = run("threads", "close", talked).out
    assert re.match(r"[1-9] kept\b.*\nLearned from this chat: ", closed)
    assert " 0 " not in closed
    said = run("threads", "delete", talked).out
    assert f"Bring it back: keepbook threads restore {talked}" in said
    assert f"To delete them too: keepbook threads delete {talked} --memories" in said
    assert "No chat is in the trash." not in run("threads", "list", "--trash").out
    assert "There is no chat yet. Begin one: keepbook chat" in run("threads", "list").out


# --- notes -----------------------------------------------------------------------------------------------


def test_a_journal_is_written_bookmarked_edited_searched_and_thinned(ask: Ask, run: Run, talked: str) -> None:
    own = ask("notes", "write", "-", stdin="Ask about\nthe lease\n")
    assert own["text"] == "Ask about\nthe lease"
    kept = ask("notes", "bookmark", talked, 2)
    assert (kept["text"], kept["thread_id"], kept["turn"]) == ("Nice to meet you and Tom.", talked, 2)
    assert ask("notes", "bookmark", talked, 2)["id"] == kept["id"]
    assert ask("notes", "edit", own["id"], "Ask about the rent")["text"] == "Ask about the rent"
    assert [note["id"] for note in ask("notes", "list", "--search", "RENT")] == [own["id"]]
    ask("threads", "delete", talked, "--forever")
    assert ask("notes", "show", kept["id"])["text"] == "Nice to meet you and Tom."
    assert ask("notes", "delete", kept["id"])["id"] == kept["id"]
    assert [note["id"] for note in ask("notes", "list")] == [own["id"]]
    assert "Ask about the rent" in run("notes", "list").out
    assert "Ask about the rent" in run("notes", "show", own["id"]).out


# --- proposals -------------------------------------------------------------------------------------------


def test_what_waits_is_accepted_or_declined(ask: Ask, run: Run, book_url: str) -> None:
    with Keepbook(book_url, preset="assistant") as kb:
        chat = kb.book("alice").thread("monday")
        chat.add("user", "My sister Anna is a nurse in Bergen. I have two daughters, Ida and Nora.")
        assert len(chat.close().proposed) == 2
    first, second = ask("proposals", "list")
    assert "Yes: keepbook proposals accept" in run("proposals", "list").out
    assert ask("proposals", "accept", first["id"])["confidence"] == "asserted"
    assert ask("proposals", "decline", second["id"])["status"] == "declined"
    assert ask("proposals", "list") == []
    assert run("proposals", "list").out == "Nothing waits for your word.\n"
    assert [one["id"] for one in ask("proposals", "list", "--status", "declined")] == [second["id"]]
    assert ask("list")["total"] == 1
    refused_in_one_line(run("proposals", "accept", first["id"]), "accepted already")
    assert ask("proposals", "reopen", second["id"])["status"] == "waiting"
    assert [one["id"] for one in ask("proposals", "list")] == [second["id"]]
    refused_in_one_line(run("proposals", "reopen", first["id"]), "no answer to take back")
    assert ask("proposals", "answer", second["id"], "keep")["confidence"] == "asserted"


def test_a_question_is_shown_with_its_choices_and_answered(ask: Ask, run: Run, book_url: str) -> None:
    with Keepbook(book_url) as kb:
        book = kb.book("alice")
        old = book.remember("Works at Equinor")
        for content in ("Works at a bakery", "Works at a shop"):
            with book.writing() as (tx, _):
                proposals.ask_question(
                    tx, stamp(tx.clock()), question="change", op="update", content=content, memory_id=old.id
                )
    one, other = ask("proposals", "list")
    out = run("proposals", "list").out
    assert "change: Change it to “Works at a bakery”" in " ".join(out.split())
    assert f"keepbook proposals answer {one['id']} change" in out
    refused_in_one_line(run("proposals", "answer", one["id"], "maybe"), "change, both, no")
    assert "Nothing was changed." in run("proposals", "answer", one["id"], "no").out
    assert "Undo: keepbook undo" in run("proposals", "answer", other["id"], "change").out
    assert [memory["content"] for memory in ask("list")["memories"]] == ["Works at a shop"]


# --- refusals --------------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize(
    ("args", "pieces"),
    [
        (["threads", "show", "nope"], ["no chat 'nope'", "keepbook threads list"]),
        (["threads", "close", "nope"], ["no chat 'nope'", "keepbook threads list"]),
        (["threads", "delete", "nope"], ["no chat 'nope'", "keepbook threads list"]),
        (["threads", "list", "--state", "open"], ["active, idle, archived", "'open'"]),
        (["threads", "rename", "nope", ""], ["no chat 'nope'"]),
        (["notes", "show", "nope"], ["no note 'nope'", "keepbook notes list"]),
        (["notes", "bookmark", "nope", "1"], ["no turn 1", "keepbook threads show"]),
        (["notes", "write", "  "], ["a note needs a text"]),
        (["proposals", "accept", "nope"], ["no proposal 'nope'", "keepbook proposals list"]),
        (["proposals", "list", "--status", "open"], ["waiting, accepted, declined, expired"]),
        (["jobs", "--once", "--every", "5"], ["leave out --every"]),
        (["extract", "chat.txt"], ["--dry-run"]),
        (["extract", "--dry-run", "nope.txt"], ["cannot read", "nope.txt"]),
        (["configure"], ["--memory", "--never", "--tier"]),
        (["configure", "--memory", "maybe"], ["on or off"]),
        (["configure", "--tier", "expert"], ["beginner"]),
        (["bench", "extraction", "--data", "nope.jsonl", "--out", "x"], ["no file nope.jsonl", "--data"]),
        (["bench", "recall", "--data", "nope.json"], ["no file nope.json", "--data"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(run: Run, args: list[str], pieces: list[str]) -> None:
    run("remember", "Likes tea")
    refused_in_one_line(run(*args), *pieces)


# --- choices ---------------------------------------------------------------------------------------------


def test_an_owner_chooses_what_is_remembered(ask: Ask, run: Run, talked: str) -> None:
    chosen = ask("configure", "--never", "nurse", "--never", "salary", "--tier", "beginner", "--memory", "on")
    assert chosen == {"owner": "alice", "memory": "on", "never": ["nurse", "salary"], "tier": "beginner"}
    closed = ask("threads", "close", talked)
    assert not any("nurse" in one["content"] for one in closed["written"])
    assert ask("configure", "--never", "")["never"] == []
    assert run("configure", "--memory", "off").out == "Set for alice: memory off.\n"
    ran = run("chat", stdin="remember that I like coffee\n")
    assert "Memory saved" not in ran.out
    assert not any("coffee" in memory["content"] for memory in ask("list")["memories"])


def test_preset_and_zone_are_undone_like_any_write(ask: Ask, run: Run) -> None:
    assert ask("configure", "--preset", "coach", "--zone", "Europe/Oslo")["event"] == 1
    assert "event" not in ask("configure", "--preset", "coach")
    assert run("configure", "--zone", "Asia/Tokyo").out.splitlines()[1].endswith(" undo 2")
    assert run("ledger", "--limit", "1").out.splitlines()[0].endswith("set zone Asia/Tokyo")
    assert run("undo", "2").out.startswith("Undone: entry 2. Redo: ")
    assert run("ledger", "--limit", "1").out.splitlines()[0].endswith("undid 2: zone Europe/Oslo")


# --- jobs ------------------------------------------------------------------------------------------------


def test_a_sweep_closes_what_fell_silent_and_then_has_nothing_to_do(ask: Ask, run: Run, talked: str) -> None:
    swept = ask("jobs", "--once")
    assert (swept["done"], swept["failed"]) == ({"close": 1}, [])
    assert ask("threads", "list")[0]["state"] == "idle"
    assert ask("list")["total"] > 0
    assert run("jobs", "--once").out == "Nothing was due.\n"


@on_sqlite
def test_a_sweep_that_fails_says_so_and_leaves_the_chat(
    ask: Ask, run: Run, talked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:x")
    monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", refused())
    ran = run("jobs", "--once")
    assert ran.code == 1
    assert f"close {talked}" in ran.out
    assert ask("threads", "list")[0]["state"] == "active"


def alive(book_url: str) -> int:
    """How many processes are known as alive over a book."""
    with closing(sqlite3.connect(book_url)) as book:
        return int(book.execute("SELECT count(*) FROM leases WHERE name LIKE 'server %'").fetchone()[0])


@on_sqlite
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_sweeping_for_ever_ends_cleanly_when_told(
    talked: str, book_url: str, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", book_url)
    line = [sys.executable, "-m", "keepbook", "jobs", "--every", "3600", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"done": {"close": 1}, "failed": []}
        assert alive(book_url) == 1  # an upgrade that takes something away waits for it
        process.send_signal(how)
        rest, said = process.communicate(timeout=60)
    assert (process.returncode, rest, said, alive(book_url)) == (0, "", "", 0)


@on_sqlite
def test_a_sweep_under_way_is_finished_before_the_end(
    talked: str, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", book_url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:x")
    line = [sys.executable, "-m", "keepbook", "jobs", "--every", "3600", "--json"]
    told: list[subprocess.Popen[str]] = []

    def reads_slowly(_: Any) -> Say:
        told[0].send_signal(signal.SIGTERM)  # in the middle of the sweep
        return answer({"candidates": [], "summary": "A chat."})

    with Wire("openai", reads_slowly) as wire:
        monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", wire.url)
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
            told.append(process)
            out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)) == (0, {"done": {"close": 1}, "failed": []})


# --- extract ---------------------------------------------------------------------------------------------

TEXT = """\
User: Hi! I work as a nurse in Oslo, and my cat is called Tim.
Assistant: Shall I note that you prefer short answers?
User: Yes please. I have a meeting today
at three. My card is 4111 1111 1111 1111.
"""


def test_a_rehearsal_shows_what_would_be_kept_and_why_not_the_rest(ask: Ask, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(TEXT, encoding="utf-8")
    kept = ask("remember", "Cat is called Tom", "--category", "profile")
    answer = ask("extract", "--dry-run", file)
    assert (answer["preset"], answer["made_by"]) == ("general", "offline")
    found = {one["content"]: one for one in answer["kept"] + answer["proposed"]}
    assert found["I work as a nurse in Oslo"]["turns"] == ["1"]
    assert kept["content"] not in found
    assert not any("meeting" in content for content in found)
    assert "4111 1111" not in json.dumps(answer)
    shown = run("extract", "--dry-run", "-", stdin=TEXT).out
    assert "I work as a nurse in Oslo" in shown
    assert shown.endswith("Nothing was written.\n")
    assert ask("list")["total"] == 1
    assert (ask("threads", "list"), ask("proposals", "list"), len(ask("ledger"))) == ([], [], 1)


@on_sqlite
def test_a_rehearsal_follows_the_preset_the_dates_and_the_owners_choices(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    said = [
        {"role": "system", "text": "Be kind."},
        {"role": "user", "text": "I moved to Oslo yesterday.", "at": "2026-03-02T09:00:00Z", "speaker": "Alice"},
        {"role": "tool", "text": "I work as a spy."},
    ]
    file.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    answer = ask("extract", "--dry-run", file)
    (found,) = answer["kept"] + answer["proposed"]
    assert found["turns"] == ["2"]
    assert found["content"] == "I moved to Oslo yesterday"
    assert found["valid_from"].startswith("2026-03-01")
    answer = ask("extract", "--dry-run", file, "--preset", "assistant")
    assert (answer["kept"], len(answer["proposed"])) == ([], 1)
    ask("configure", "--never", "oslo")
    answer = ask("extract", "--dry-run", file)
    assert (answer["kept"], answer["proposed"]) == ([], [])
    ask("configure", "--memory", "off")
    answer = ask("extract", "--dry-run", file)
    assert (answer["made_by"], answer["kept"]) == (None, [])
    assert "switched off" in answer["notice"]


@on_sqlite
@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("", "no turn in it is the person's"),
        ("Assistant: hello", "no turn in it is the person's"),
        ("hello there", "line 1 does not say who speaks"),
        ('{"role": "user", "text": "a"}\n{"role": "user"', "line 2 is not valid JSON"),
        ('{"role": "user"}', "line 1 must be an object"),
        ('{"role": "boss", "text": "a"}', "line 1: role is one of"),
        ('{"role": "user", "text": "a", "at": "soon"}', "line 1, at"),
        (b"User: \xff\xfe", "UTF-8"),
    ],
)
def test_a_transcript_that_cannot_be_read_is_refused(run: Run, text: str | bytes, piece: str) -> None:
    run("remember", "Likes tea")
    refused_in_one_line(run("extract", "--dry-run", "-", stdin=text), piece)


@on_sqlite
def test_what_a_rehearsal_costs_is_counted_and_its_failure_told(
    run: Run, ask: Ask, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:x")
    ask("remember", "Likes tea")
    with Wire("openai") as wire:
        monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", wire.url)
        wire.script += [answer({"candidates": [], "summary": "A chat."}), Status(429)]
        assert ask("extract", "--dry-run", "-", stdin=TEXT)["kept"] == []
        refused_in_one_line(run("extract", "--dry-run", "-", stdin=TEXT), "takes no more requests for now")
    with Keepbook(book_url) as kb:
        (spent,) = kb.book("alice").spending.list()
    assert (spent.operation, spent.tokens_in, spent.tokens_out) == ("extract", 100, 10)


# --- doctor ----------------------------------------------------------------------------------------------


def checks(ran: Any) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in ran.json["checks"]}


@on_sqlite
def test_the_offline_model_passes_its_trial(run_without_book: Run, book_url: str) -> None:
    run = run_without_book
    ran = run("doctor", "--model", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    found = checks(ran)
    assert "no key, no network" in found["chat model"]["value"]
    assert found["answering"]["value"].startswith("works: “Hello. I am your book")
    assert "“I live in Oslo”" in found["reading chats"]["value"]
    assert "All is well." in run("doctor", "--model").out
    assert checks(run("doctor", "--json"))["model"]["value"] == "offline"
    assert not Path(book_url).exists()


@on_sqlite
def test_a_misspelt_variable_is_named_by_doctor_and_at_the_start(
    run_without_book: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KEEPBOOK_MODLE", "openai:gpt")
    ran = run_without_book("doctor", "--json")
    assert ran.code == 1
    told = checks(ran)["environment"]
    assert (told["value"], told["advice"]) == (
        "KEEPBOOK_MODLE is no setting, and changes nothing", "did you mean KEEPBOOK_MODEL?",
    )  # fmt: skip
    server.name_misspelt()
    assert "KEEPBOOK_MODLE is no setting, and changes nothing; did you mean KEEPBOOK_MODEL?" in caplog.text


@pytest.fixture
def trial(keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`doctor --model` with a remote model at an address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:llama-3")

    def at(url: str | None) -> Any:
        if url is not None:
            monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", url)
        return keepbook_command("doctor", "--model", "--json")

    return at


def test_doctor_never_says_that_all_is_well_with_a_model_it_has_not_heard(
    keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))

    def examined(model: str, url: str | None = None, *, cheap: str | None = None) -> tuple[int, str]:
        monkeypatch.setenv("KEEPBOOK_MODEL", model)
        for name, value in (("KEEPBOOK_OPENAI_BASE_URL", url), ("KEEPBOOK_CHEAP_MODEL", cheap)):
            monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
        ran = keepbook_command("doctor")
        assert ("All is well." in ran.out) == (model == "offline" and cheap is None)
        return ran.code, ran.out

    assert examined("offline")[0] == 0
    assert examined("gpt-4")[0] == 1
    assert "KEEPBOOK_OPENAI_KEY" in examined("openai:gpt-9")[1]
    assert "KEEPBOOK_OPENAI_KEY" in examined("offline", cheap="openai:gpt-9")[1]
    with Wire("openai") as wire:
        code, said = examined("openai:llama-3", wire.url)
        assert (code, "but the model was not tried" in said) == (0, True)
        gone = wire.url
    code, said = examined("openai:llama-3", gone)
    assert (code, "start the server" in said) == (1, True)


def test_a_remote_model_that_works_says_what_it_took(trial: Callable[..., Any]) -> None:
    fact = {
        "op": "add", "target": 0, "category": "profile", "subject": "", "content": "Lives in Oslo", "score": 0.9,
        "turns": [1], "valid_from": "", "reason": "",
    }  # fmt: skip
    with Wire("openai") as wire:
        wire.script += [Say("I work."), answer({"candidates": [fact], "summary": "A chat."})]
        ran = trial(wire.url)
        place = wire.url.removesuffix("/v1")
    found = checks(ran)
    assert ran.code == 0
    assert found["chat model"]["value"].startswith(f"llama-3 (this machine) at {place}, without a key")
    assert found["answering"]["value"].startswith("works: “I work.” (")
    assert "100 tokens in, 10 out" in found["answering"]["value"]
    assert found["reading chats"]["value"].startswith("works: found “Lives in Oslo” (")


def test_a_model_too_weak_to_find_anything_is_told_kindly(trial: Callable[..., Any]) -> None:
    with Wire("openai") as wire:
        wire.script += [Say("I work."), answer({"candidates": [], "summary": ""})]
        ran = trial(wire.url)
    assert ran.code == 0
    assert "a stronger model remembers more" in checks(ran)["reading chats"]["value"]


@pytest.mark.parametrize(
    ("steps", "name", "said", "advice"),
    [
        ([Status(401)], "answering", "refused the key", "KEEPBOOK_OPENAI_KEY"),
        ([Status(404)], "answering", "is not known at", "KEEPBOOK_MODEL"),
        ([Status(429)], "answering", "takes no more requests", "try again"),
        ([Status(500)], "answering", "failed on its side", "later"),
        ([HANG], "answering", "did not answer within 1 seconds", "KEEPBOOK_MODEL_TIMEOUT"),
        ([Say("I work."), Say("no"), Say("no")], "reading chats", "cannot be used", "a stronger model"),
    ],
)
def test_a_model_that_fails_says_why_and_what_to_do(
    trial: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, steps: list[Any], name: str, said: str, advice: str
) -> None:
    monkeypatch.setenv("KEEPBOOK_MODEL_TIMEOUT", "1" if HANG in steps else "20")
    with Wire("openai") as wire:
        wire.script += steps
        ran = trial(wire.url)
    assert (ran.code, ran.json["ok"]) == (1, False)
    (wrong,) = [check for check in ran.json["checks"] if not check["ok"]]
    assert wrong["name"] == name
    assert said in wrong["value"]
    assert advice in wrong["advice"]


def test_a_model_nobody_answers_for_and_one_without_a_key(
    trial: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = checks(trial(refused()))["answering"]
    assert "cannot be reached at http://127.0.0.1:" in nobody["value"]
    assert "start the server" in nobody["advice"]
    monkeypatch.delenv("KEEPBOOK_OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keyless = checks(trial(None))["answering"]
    assert "needs a key" in keyless["value"]
    assert "OPENAI_API_KEY" in keyless["advice"]


def test_a_missing_extra_and_a_name_that_is_no_model(
    trial: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keepbook.models.providers.session", None)
    assert "pip install 'keepbook[models]'" in checks(trial(refused()))["answering"]["advice"]
    monkeypatch.setenv("KEEPBOOK_MODEL", "gpt")
    assert "openai:NAME" in checks(trial(None))["settings"]["value"]


# --- bench -----------------------------------------------------------------------------------------------


@on_sqlite
def test_the_extraction_bench_writes_predictions_for_the_scorer(ask: Ask, run: Run, tmp_path: Path) -> None:
    chat = {"id": "c1", "persona": "advisor", "turns": [{"id": 1, "role": "user", "text": "I live in Oslo."}]}
    data, out = tmp_path / "chats.jsonl", tmp_path / "predictions.jsonl"
    data.write_text(json.dumps(chat) + "\n", encoding="utf-8")
    assert ask("bench", "extraction", "--data", data, "--out", out) == {"chats": 1, "out": str(out)}
    predicted = json.loads(out.read_text(encoding="utf-8"))
    assert predicted["id"] == "c1"
    assert [memory["content"] for memory in predicted["memories"]] == ["I live in Oslo"]
    data.write_text("{}\n", encoding="utf-8")
    refused_in_one_line(run("bench", "extraction", "--data", data, "--out", out), "is not a file of chats")


# --- topics ----------------------------------------------------------------------------------------------


@on_sqlite
def test_a_sentence_is_tried_against_the_topics(ask: Ask, run: Run) -> None:
    ask("configure", "--never", "health")
    assert ask("configure", "--try", "I have diabetes") == {"text": "I have diabetes", "topics": ["health"]}
    assert run("configure", "--try", "I live in Oslo").out == "It may be kept: it speaks of none of your topics.\n"
    assert ask("list")["total"] == 0


@on_sqlite
def test_what_an_agent_recorded_is_taken_out_of_view_and_back(ask: Ask, run: Run, book_url: str) -> None:
    with Keepbook(book_url) as kb:
        chat = kb.book("alice", by="agent").thread("support-18")
        chat.add("user", "Forget it all")
    assert ask("threads", "out-of-view", chat.id)["out_of_view"] == [1]
    assert ask("threads", "out-of-view", chat.id, "1", "--back")["out_of_view"] == []
    refused_in_one_line(run("threads", "out-of-view", chat.id, "9"), "that others recorded")
