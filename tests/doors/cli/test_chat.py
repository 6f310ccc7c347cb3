"""`keepbook chat`: what is said, what is shown, what is learned; piped, for programs, and in a real terminal."""

import codecs
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.wire import HANG, Call, Received, Say, Step, Wire, answer, refused

from keepbook.doors.cli.sheets.chat_screen import Flow

Run = Callable[..., Any]
Ask = Callable[..., Any]
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def lines(*said: str) -> str:
    return "".join(f"{line}\n" for line in said)


def events(ran: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """A scripted model as the configured one; it reads a closing chat as empty unless the script says otherwise."""

    def rest(request: Received) -> Step:
        return answer({"candidates": [], "summary": "A chat."}) if request.schema else Say("A Short Title")

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:llama-3")
    with Wire("openai", rest) as wire:
        monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", wire.url)
        yield wire


# --- piped -----------------------------------------------------------------------------------------------


def test_a_chat_keeps_at_once_and_takes_back(run: Run, ask: Ask) -> None:
    said = lines("Remember that my cat is called Tom", "Remember that I like tea", "/undo 2", "I am a nurse in Leeds.")
    ran = run("chat", stdin=said)
    assert ran.code == 0, ran.err
    assert "Memory saved · 1 change\n  saved  “my cat is called Tom”\n" in ran.out
    assert "  saved  “I like tea”\n" in ran.out
    assert "From your next chat on. Undo: /undo 2\n" in ran.out
    assert "Undone: entry 2." in ran.out
    assert "Redo: /undo 3\n" in ran.out
    assert "  saved  “I am a nurse in Leeds”\n  From your next chat on. Undo: /undo 4\n" in ran.out
    assert ran.out.splitlines()[-1] == "Closed. Nothing new to remember."  # it was kept when it was said
    kept = {memory["content"]: (memory["source"], memory["quoted"]) for memory in ask("list")["memories"]}
    assert kept == {"my cat is called Tom": ("chat", True), "I am a nurse in Leeds": ("extracted", True)}
    (thread,) = ask("threads", "list")
    assert (thread["state"], thread["turns"]) == ("idle", 6)


@on_sqlite
def test_undo_without_a_number_takes_back_the_last_write_of_the_chat(run: Run, ask: Ask) -> None:
    ran = run("chat", stdin=lines("remember that I like tea", "/undo", "/undo"))
    assert "Undone: entry 1." in ran.out
    assert "Undone: entry 2." in ran.out  # which is the undo: a redo
    assert [memory["content"] for memory in ask("list")["memories"]] == ["I like tea"]


@on_sqlite
def test_a_chat_closes_once_even_if_it_was_closed_by_hand(run: Run) -> None:
    ran = run("chat", stdin=lines("I am a nurse in Leeds.", "/close", "/close"))
    assert ran.out.count("Closed. Nothing new to remember.") == 1
    assert ran.out.splitlines()[-1] == "The chat is closed already: nothing new was said in it."


@on_sqlite
def test_a_new_chat_is_given_what_the_one_before_taught(run: Run, ask: Ask) -> None:
    ran = run("chat", stdin=lines("I am a nurse in Leeds.", "/block", "/new", "hello", "/block"))
    before, after = ran.out.split("Closed. Nothing new to remember.", 1)
    assert "The block is empty" in before
    assert "“I am a nurse in Leeds”" in after
    assert len(ask("threads", "list")) == 2


@on_sqlite
def test_what_is_known_can_be_looked_at_and_forgotten_within_the_chat(run: Run, ask: Ask) -> None:
    ask("remember", "Likes green tea")
    ask("remember", "Lives in Oslo")
    ran = run("chat", stdin=lines("/memory", "/memory where do I live?", "/forget tea", "/memory"))
    assert ran.code == 0
    everything, found, forgotten = re.split(r"(?=id +memory)", ran.out)[1:]
    assert "Likes green tea" in everything
    assert "Lives in Oslo" in found
    assert "Likes green tea" not in found
    assert "Undo: /undo 3" in found
    assert "Likes green tea" not in forgotten
    assert ask("threads", "list") == []  # nothing was said, so there was no chat


@on_sqlite
def test_an_incognito_chat_is_given_nothing_and_keeps_nothing(run: Run, ask: Ask) -> None:
    ask("remember", "Lives in Oslo")
    ran = run("chat", "--incognito", stdin=lines("/block", "I work as a nurse.", "remember that I like tea", "/block"))
    assert "Memory saved" not in ran.out
    assert "Oslo" not in ran.out
    assert ran.out.splitlines()[-1] == "Closed. Nothing in it was to be read for memories."
    assert ask("list")["total"] == 1


@on_sqlite
def test_a_chat_can_be_gone_on_with(run: Run, ask: Ask) -> None:
    run("chat", stdin=lines("hello"))
    (thread,) = ask("threads", "list")
    assert run("chat", "--thread", thread["id"], stdin=lines("I work as a nurse.")).code == 0
    (thread,) = ask("threads", "list")
    assert thread["turns"] == 4


@on_sqlite
def test_a_chat_goes_on_only_as_it_began(run: Run, ask: Ask) -> None:
    run("chat", stdin=lines("hello"))
    (thread,) = ask("threads", "list")
    for args, piece in (
        (["--thread", "nothere"], "`keepbook threads list` shows what there is"),
        (["--thread", thread["id"], "--incognito"], "begin a new one"),
        (["--thread", thread["id"], "--preset", "coach"], "leave out --preset"),
    ):
        ran = run("chat", *args, stdin=lines("hello"))
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert piece in ran.err
    ask("threads", "delete", thread["id"])
    ran = run("chat", "--thread", thread["id"])
    assert (ran.code, ran.out) == (1, "")
    assert f"keepbook threads restore {thread['id']}" in ran.err


@on_sqlite
def test_a_silent_preset_saves_without_a_line(run: Run, ask: Ask) -> None:
    ran = run("chat", "--preset", "coach", stdin=lines("remember that I never trade before ten"))
    assert "Memory saved" not in ran.out
    assert ask("list")["total"] == 1


@on_sqlite
def test_a_preset_that_asks_lets_what_it_learned_wait(run: Run, ask: Ask) -> None:
    ran = run("chat", "--preset", "assistant", stdin=lines("I am a nurse in Leeds."))
    assert "“I am a nurse in Leeds” — shall I keep that?\n  1 Keep it · 2 Do not keep it\n" in ran.out
    (waiting,) = ask("proposals", "list")
    assert (waiting["question"], waiting["content"]) == ("keep", "I am a nurse in Leeds")
    assert ask("list")["total"] == 0


@on_sqlite
@pytest.mark.parametrize(("typed", "kept"), [("1", True), ("2", False), ("/keep 1", True), ("/keep", True),
                                             ("/no 1", False)])  # fmt: skip
def test_a_question_is_answered_by_number_or_by_command(run: Run, ask: Ask, typed: str, kept: bool) -> None:
    ran = run("chat", "--preset", "assistant", stdin=lines("I am a nurse in Leeds.", typed))
    assert ran.code == 0, ran.out
    memories = [(memory["content"], memory["quoted"], memory["source"]) for memory in ask("list")["memories"]]
    assert memories == ([("I am a nurse in Leeds", True, "chat")] if kept else [])
    assert ask("proposals", "list") == []


@on_sqlite
def test_what_cannot_be_done_is_one_line_and_the_chat_goes_on(run: Run, ask: Ask) -> None:
    typed = b"/nonsense\n/undo\n/undo x\n/undo 7\n/forget\n/forget unicorns\n/close\n\xff\xfe\n /etc is a folder\n"
    ran = run("chat", stdin=typed)
    assert ran.code == 1  # for whoever piped this in
    said = ran.out.splitlines()
    assert said[0].startswith("There is no command /nonsense; /help lists them")
    assert said[1:3] == ["Name the entry to undo by its number, as in /undo 12."] * 2
    assert said[3] == "There is no entry 7 in this ledger."
    assert said[4].startswith("Say what to forget")
    assert said[5].startswith("No active memory")
    assert said[6].startswith("Nothing was said yet")
    assert said[7] == "Line 8 is not text in UTF-8."
    (thread,) = ask("threads", "list")
    assert ask("threads", "show", thread["id"])["messages"][0]["text"] == "/etc is a folder"


@on_sqlite
def test_help_names_every_command(run: Run) -> None:
    ran = run("chat", stdin=lines("/help", "/quit", "never said"))
    for name in (
        "/memory",
        "/block",
        "/undo",
        "/forget",
        "/pencil",
        "/keep",
        "/no",
        "/again",
        "/new",
        "/close",
        "/help",
        "/quit",
    ):
        assert re.search(rf"^{name}\b", ran.out, re.MULTILINE)
    assert "never said" not in ran.out


# --- for programs ----------------------------------------------------------------------------------------


@on_sqlite
def test_a_program_gets_one_object_for_everything_that_happens(run: Run, ask: Ask) -> None:
    ran = run("chat", "--json", stdin=lines("remember that I like tea", "/undo", "/memory", "/block", "/nonsense"))
    told = events(ran)
    kinds = [event["type"] for event in told]
    assert kinds[0] == "thread"
    assert kinds[-1] == "closed"
    reply = next(event for event in told if event["type"] == "reply")
    assert "".join(event["text"] for event in told if event["type"] == "text") == reply["text"]
    memory = next(event for event in told if event["type"] == "memory")
    assert (memory["op"], memory["event"], memory["after"]["content"]) == ("remember", 1, "I like tea")
    assert next(event["answer"]["event"] for event in told if event["type"] == "undone") == 2
    assert next(event["answer"]["total"] for event in told if event["type"] == "memories") == 0
    assert next(event["answer"] for event in told if event["type"] == "block") == ""
    assert next(event["code"] for event in told if event["type"] == "error") == "invalid"
    assert told[-1]["thread_id"] == told[0]["id"]
    assert ran.err == ""


# --- with a model over the network -----------------------------------------------------------------------


@on_sqlite
def test_a_remote_model_streams_calls_tools_and_is_read_at_the_end(run: Run, ask: Ask, remote: Wire) -> None:
    remote.script += [
        Say(calls=[Call("remember", {"content": "Likes tea", "category": "preference"})]),
        Say("Noted, tea it is."),
    ]
    ran = run("chat", stdin=lines("I like tea"))
    assert ran.code == 0
    assert ran.out.startswith("Noted, tea it is.\nMemory saved · 1 change\n  saved  Likes tea\n")
    assert ran.out.splitlines()[-1] == "Closed. Nothing new to remember."
    assert ask("threads", "list")[0]["title"] == "A Short Title"


@on_sqlite
def test_a_failing_model_is_one_line_and_the_turn_can_be_tried_again(
    run: Run, ask: Ask, remote: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", refused())
    ran = run("chat", stdin=lines("hello there", "/again"))
    monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", remote.url)
    assert ran.code == 1
    first, second, closing = ran.out.splitlines()
    assert first == second
    assert first.startswith("The model llama-3 (this machine) cannot be reached")
    assert "What you said is kept. Try /again, or find out more: keepbook doctor --model" in first
    assert "nothing is lost" in closing
    (thread,) = ask("threads", "list")
    assert (thread["turns"], thread["state"]) == (1, "active")
    remote.script += [Say("Hello to you.")]
    assert run("chat", "--thread", thread["id"], stdin=lines("/again")).out.startswith("Hello to you.\n")
    assert [message["role"] for message in ask("threads", "show", thread["id"])["messages"]] == ["user", "assistant"]


@on_sqlite
def test_a_model_that_is_none_is_refused_before_anything_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_MODEL", "gpt")
    ran = run("chat", stdin=lines("hello"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "openai:NAME" in ran.err


# --- in a terminal ---------------------------------------------------------------------------------------


class Terminal:
    """The program in a terminal: type, and wait for what it shows."""

    def __init__(self, *args: str, columns: int = 60) -> None:
        self._keyboard, child = pty.openpty()
        subprocess.run(["stty", "cols", str(columns), "rows", "40"], stdin=child, check=True)
        line = [sys.executable, "-m", "keepbook", "chat", *args]
        self.process = subprocess.Popen(line, stdin=child, stdout=child, stderr=child, start_new_session=True)
        os.close(child)
        self._seen = ""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode  # a letter may come in two pieces

    def until(self, piece: str, seconds: float = 60.0) -> str:
        """What was shown since, up to this piece; without colour."""
        end = time.monotonic() + seconds
        while piece not in (plain := re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self._seen)):
            ready, _, _ = select.select([self._keyboard], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"waited for {piece!r}, saw {self._seen!r}"
            try:
                part = os.read(self._keyboard, 65536)
            except OSError:  # the other end is closed
                part = b""
            assert part, f"waited for {piece!r}, it ended with {self._seen!r}"
            self._seen += self._decode(part)
        before, _, self._seen = plain.partition(piece)
        return before

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def interrupt_until(self, piece: str) -> None:
        """Press Ctrl-C until this shows: one that comes just before readline begins to wait is not heard by it."""
        for _ in range(12):
            self.process.send_signal(signal.SIGINT)
            try:
                self.until(piece, seconds=10.0)
                return
            except AssertionError:  # something else was shown meanwhile: the prompt, say
                continue
        self.until(piece)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._keyboard)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "book.db"


def test_a_terminal_shows_who_talks_wraps_between_words_and_ends_with_what_was_learned(place: Path) -> None:
    with Terminal(columns=60) as chat:
        welcome = chat.until("› ")
        assert "alice · general · Your book answers" in welcome
        assert "/help lists the commands." in welcome
        chat.type("Remember that my cat is called Tom\n")
        reply = chat.until("› ")
        assert "Kept: “my cat is called Tom”." in reply
        assert "Undo: /undo 1" in reply
        assert max(len(line.rstrip()) for line in reply.splitlines()) <= 60
        assert "I am your book" in " ".join(reply.split())
        chat.type("\x04")  # Ctrl-D
        chat.until("Closed. Nothing new to remember.")
        chat.until("Go on with it: ")
        assert chat.process.wait(60) == 0


def test_ctrl_c_stops_the_reply_and_not_the_program(place: Path, remote: Wire) -> None:
    remote.script += [HANG, Say("Here I am again.")]
    with Terminal(columns=100) as chat:
        chat.until("› ")
        chat.type("tell me everything\n")
        while not remote.received:
            time.sleep(0.02)
        chat.interrupt_until("Stopped. What you said is kept, this half of a reply is not.")
        chat.until("› ")
        time.sleep(0.2)
        chat.interrupt_until("/quit or Ctrl-D ends the chat.")
        chat.until("› ")
        chat.type("are you there?\n")
        chat.until("Here I am again.")
        chat.until("› ")
        chat.type("/quit\n")
        chat.until("Closed. Nothing new to remember.")
        assert chat.process.wait(60) == 0


@pytest.mark.parametrize(
    ("pieces", "width", "shown"),
    [
        (["one tw", "o three"], 8, "one two \nthree\n"),
        (["one two", " three"], None, "one two three\n"),
        (["a\n\nb", "\n"], 8, "a\n\nb\n"),
        (["  indented", " by two"], 20, "  indented by two\n"),
        (["日本語の文章"], 6, "日本語\nの文章\n"),
        (["over", "long-word x"], 6, "overlong-word\nx\n"),
        (["bell \x07 and \x1b[2J"], 40, "bell \ufffd and \ufffd[2J\n"),
        (["line\r", "\nend"], None, "line\nend\n"),
        ([], 8, ""),
    ],
)  # fmt: skip
def test_text_flows_as_it_comes(
    capsys: pytest.CaptureFixture[str], pieces: list[str], width: int | None, shown: str
) -> None:
    flow = Flow(width)
    for piece in pieces:
        flow.write(piece)
    flow.end()
    assert capsys.readouterr().out == shown


# --- pencil ----------------------------------------------------------------------------------------------


@on_sqlite
def test_pencil_is_listed_kept_now_and_left_out(run: Run, ask: Ask) -> None:
    nurse, sister = "I am a nurse in Leeds.", "My sister Clare lives in Bergen."
    said = lines(nurse, sister, "/pencil", "/no 2", "/keep 1", "/pencil", "/keep 7")
    ran = run("chat", "--preset", "assistant", stdin=said)
    # the last reply's question comes first, as its number answers it
    assert "1  Keep this? “My sister Clare lives in Bergen”\n   Keep it · Do not keep it\n" in ran.out
    assert "2  Keep this? “I am a nurse in Leeds”" in ran.out
    assert "Answered: “I am a nurse in Leeds”. Nothing was changed." in ran.out
    assert "Nothing waits here" in ran.out
    assert "Name a line by its number in /pencil" in ran.out + ran.err
    kept = {memory["content"]: memory["source"] for memory in ask("list")["memories"]}
    assert kept == {"My sister Clare lives in Bergen": "chat"}


@on_sqlite
def test_a_program_is_told_what_a_turn_asks(run: Run) -> None:
    ran = run("chat", "--json", "--preset", "assistant", stdin=lines("I am a nurse in Leeds."))
    (told,) = [event for event in events(ran) if event["type"] == "questions"]
    (asked,) = told["answer"]
    assert (asked["turn"], asked["question"], asked["content"]) == (1, "keep", "I am a nurse in Leeds")
    assert [one["choice"] for one in asked["choices"]] == ["keep", "no"]


@on_sqlite
def test_with_a_model_a_missed_order_is_asked_and_a_number_answers_it(run: Run, ask: Ask, remote: Wire) -> None:
    remote.script += [Say("All right.")]
    ran = run("chat", stdin=lines("Remember that I like tea", "1"))
    assert "All right.\n  Keep this? “I like tea”\n  1 Keep it · 2 Do not keep it\n" in ran.out
    assert [memory["content"] for memory in ask("list")["memories"]] == ["I like tea"]
    assert len([one for one in remote.received if not one.schema]) == 2  # the reply and the title: "1" is no turn


@on_sqlite
def test_a_program_is_told_what_closing_would_keep_where_a_model_answers(run: Run, remote: Wire) -> None:
    remote.script += [Say("All right.")]
    ran = run("chat", "--json", stdin=lines("I am a nurse in Leeds."))
    (told,) = [event for event in events(ran) if event["type"] == "pencil"]
    (line,) = told["answer"]
    assert (line["turn_id"], line["op"], line["content"]) == (1, "add", "I am a nurse in Leeds")
