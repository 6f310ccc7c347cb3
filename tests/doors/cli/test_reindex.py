"""`keepbook reindex` and `keepbook embedder`: what an embedder is to somebody at a terminal. No wait, no surprise."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert
from tests.embedding import StandIn
from tests.warm_python import program

from keepbook import Keepbook
from keepbook.models.embedders import install as installing
from keepbook.models.embedders import remote
from keepbook.models.minilm.weight_files import WEIGHTS, WORDS
from keepbook.storage.tables.memory import terms

on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The embedder of every command, which may be asked what it was asked."""
    embedder = StandIn()
    monkeypatch.setattr("keepbook.models.embedders.choose_embedder", lambda *_, **__: embedder)
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")
    return embedder


def contents(hits: Any) -> list[str]:
    return [hit["content"] for hit in hits]


# --- reindex ---------------------------------------------------------------------------------------------


def test_reindex_embeds_the_backlog_of_every_owner(run: Any, ask: Any, stand_in: StandIn) -> None:
    ask("remember", "The dog of the mill is old")
    ask("remember", "The tea of the tower is cold", "--owner", "bob")
    assert stand_in.embedded == []

    answer = ask("reindex")
    assert answer == {"owners": 2, "mended": 0, "embedded": 2, "embedder": "stand-in"}
    assert contents(ask("recall", "pet")) == ["The dog of the mill is old"]
    assert contents(ask("recall", "drink", "--owner", "bob")) == ["The tea of the tower is cold"]
    again = run("reindex")
    assert again.out == "Reindexed 2 books: all words are right; nothing waited.\n"
    assert len(stand_in.embedded) == 2


def test_reindex_of_one_owner_leaves_the_others(ask: Any, stand_in: StandIn) -> None:
    ask("remember", "The dog of the mill is old")
    ask("remember", "The tea of the tower is cold", "--owner", "bob")
    answer = ask("reindex", "--owner", "bob")
    assert (answer["owners"], answer["embedded"]) == (1, 1)
    assert ask("embedder", "status")["waiting"] == 1


def test_reindex_puts_right_what_an_older_program_indexed(run: Any, ask: Any, book_url: str) -> None:
    kept = ask("remember", "The dog of the mill is old")
    with closing(Keepbook(book_url)) as kb, kb._database.write("alice") as tx:
        tx.conn.execute(delete(terms).where(terms.c.owner == "alice"))
        tx.conn.execute(insert(terms), {"owner": "alice", "term": "castle", "memory_id": kept["id"], "weight": 0.5})
    assert contents(ask("recall", "castle")) == ["The dog of the mill is old"]

    assert "put right the words of 1 memory" in run("reindex").out
    assert ask("recall", "castle") == []
    assert contents(ask("recall", "mill")) == ["The dog of the mill is old"]


def test_without_an_embedder_reindex_says_that_words_alone_answer(run: Any, ask: Any) -> None:
    ask("remember", "The dog of the mill is old")
    assert ask("reindex") == {"owners": 1, "mended": 0, "embedded": 0, "embedder": None}
    assert "there is no embedder" in run("reindex").out
    assert "words alone (set to none)" in run("embedder", "status").out


@on_sqlite
def test_where_there_is_no_book_reindex_makes_none(run_without_book: Any, book_url: str) -> None:
    assert run_without_book("reindex").code == 0
    assert not Path(book_url).exists()


def test_the_sweep_embeds_what_short_programs_left(run: Any, ask: Any, stand_in: StandIn) -> None:
    ask("remember", "The dog of the mill is old")
    assert run("jobs", "--once").out == "Embedded 1 memory or turn.\n"
    assert ask("jobs", "--once")["done"] == {}
    stand_in.fails = True  # questions are
    assert ask("embedder", "status")["waiting"] == 0


def test_a_sweep_that_cannot_embed_says_so_and_does_the_rest(
    run: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "openai:small")
    monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ask("remember", "The dog of the mill is old")
    swept = run("jobs", "--once", "--json")
    assert (swept.code, swept.json["failed"]) == (1, ["embed: embedder"])


# --- what a command may cost -----------------------------------------------------------------------------

PROGRAM = """
import json, sys
from keepbook.book.recall import background
background.QUIET = background.LATEST = 3600.0  # so that no slow machine makes this a race
from keepbook.doors.cli import main
for command in json.loads(sys.argv[1]):
    code = main([*command, *sys.argv[2:]])
    loaded = {"numpy", "onnxruntime", "tokenizers"} & set(sys.modules)
    print(command[0], code, *sorted(loaded), file=sys.stderr)
"""


@on_sqlite
def test_only_a_question_loads_the_model(book_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")

    commands = [
        ["remember", "The dog is called Bamse"], ["list"], ["block"], ["update", "dog", "The cat is Mons"],
        ["recall", "which pet is it?"],
    ]  # fmt: skip
    line = [sys.executable, "-c", PROGRAM, json.dumps(commands), "--db", book_url, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "remember 0", "list 0", "block 0", "update 0", "recall 0 numpy onnxruntime tokenizers",
    ]  # fmt: skip


def test_a_question_embeds_a_small_backlog_first(ask: Any, stand_in: StandIn) -> None:
    ask("remember", "The dog of the mill is old")
    assert contents(ask("recall", "pet")) == ["The dog of the mill is old"]
    assert stand_in.embedded == ["The dog of the mill is old"]
    assert contents(ask("recall", "pet")) == ["The dog of the mill is old"]
    assert len(stand_in.embedded) == 1


def test_with_a_large_backlog_words_answer_and_a_note_says_so(
    run: Any, ask: Any, stand_in: StandIn, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepbook.book.recall.vectors.BATCH", 2)
    for number in range(4):
        ask("remember", f"The dog number {number} is old")
    asked = run("recall", "dog", "--json")
    assert len(asked.json) == 4
    assert "keepbook reindex" in asked.err
    assert stand_in.embedded == []
    assert ask("reindex")["embedded"] == 4
    assert run("recall", "dog", "--json").err == ""


# --- an endpoint that fails or dawdles -------------------------------------------------------------------


class Endpoint(BaseHTTPRequestHandler):
    how = "well"
    stand_in = StandIn()
    given_up = threading.Event()

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if type(self).how == "late":
            self.given_up.wait(60)
        self.send_response(500 if type(self).how == "failing" else 200)
        self.end_headers()
        rows = self.stand_in.embed(given["input"])
        data = [{"index": at, "embedding": [float(number) for number in row]} for at, row in enumerate(rows)]
        with suppress(OSError):  # who asked may have gone
            self.wfile.write(json.dumps({"data": data}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def served() -> Iterator[Callable[[type[BaseHTTPRequestHandler]], str]]:
    servers = []

    def serve(handler: Any) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("how", ["failing", "late"])
def test_when_the_endpoint_fails_or_dawdles_words_answer_and_say_so(
    run: Any, ask: Any, served: Any, monkeypatch: pytest.MonkeyPatch, book_url: str, how: str
) -> None:
    handler = type("Handler", (Endpoint,), {"given_up": threading.Event()})
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "openai:small")
    monkeypatch.setenv("KEEPBOOK_OPENAI_BASE_URL", served(handler) + "/v1")
    ask("remember", "The dog of the mill is old")
    with closing(Keepbook(book_url)) as kb:
        kb.book("alice").thread("one").add("user", "The puppy barked at night")
    ask("reindex")
    assert contents(ask("recall", "pet")) == ["The dog of the mill is old"]
    assert ask("recall-chats", "pet")[0]["text"] == "The puppy barked at night"

    handler.how = how
    waits = remote.ANSWER_WITHIN
    monkeypatch.setattr(remote, "ANSWER_WITHIN", 0.1)  # nobody will answer: nobody need wait for it long
    for command, question in (("recall", "mill"), ("recall-chats", "night")):
        asked = run(command, question, "--json")
        assert asked.json[0]["reasons"][-1].startswith("words alone: the embedder ")
        assert asked.err.startswith("Words alone answered: the embedder ")
        assert "words alone" in run(command, question).out
        nothing = run(command, "pet", "--json")
        assert (nothing.code, nothing.json) == (0, [])
        assert nothing.err.startswith("Words alone answered")
    with closing(Keepbook(book_url)) as kb:
        alice = kb.book("alice")
        for hits in (alice.recall("mill"), alice.recall_chats("night")):
            assert hits[0].reasons[-1].startswith("words alone: ")
    # What is new waits without holding up the question, and is embedded when the endpoint is back.
    ask("remember", "The tea of the tower is cold")
    assert contents(ask("recall", "tower")) == ["The tea of the tower is cold"]
    handler.how = "well"
    handler.given_up.set()
    monkeypatch.setattr(remote, "ANSWER_WITHIN", waits)
    assert contents(ask("recall", "drink")) == ["The tea of the tower is cold"]


# --- embedder install ------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, served: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A hub on this machine that has the known model: the small one that is installed here stands for the real one."""
    folder = tmp_path / "hub"
    remote = []
    for pinned, name in ((WEIGHTS, "model.onnx"), (WORDS, "tokenizer.json")):
        path = pinned.path()
        assert path is not None, "keepbook[embed] is part of the development install"
        (folder / "some").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / "some" / name)
        remote.append(installing.Remote(f"some/{name}", pinned.size, pinned.sha256))
    monkeypatch.setattr(installing, "KNOWN", {"minilm-l6": installing.KnownModel(*remote)})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    return served(partial(Files, directory=str(folder))), folder / "some"


@on_sqlite
def test_a_known_model_is_downloaded_verified_and_in_force(
    run: Any, ask: Any, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")
    ask("remember", "The dog is called Bamse")
    ask("reindex")
    before = ask("embedder", "status")

    made = ask("embedder", "install", "--hub", hub[0])
    after = ask("embedder", "status")
    assert (before["embedder"], after["embedder"]) == ("minilm-l6-int8", made["space"])
    assert after["place"] == made["place"] == str(installing.place())
    assert after["waiting"] == 1  # another space
    assert contents(ask("recall", "which pet lives here?")) == ["The dog is called Bamse"]
    assert "works" in run("doctor").out


@on_sqlite
def test_a_file_that_is_not_the_known_one_is_refused_and_nothing_is_left(run: Any, hub: Any) -> None:
    address, folder = hub
    right = (folder / "model.onnx").read_bytes()
    for wrong in (right[:-1] + b"x", right[:1000], right + b"more"):
        (folder / "model.onnx").write_bytes(wrong)
        refused = run("embedder", "install", "--hub", address, "--json")
        assert (refused.code, refused.error["code"]) == (1, "weights")
        assert not installing.place().exists()
        assert list(installing.place().parent.iterdir()) == []


@on_sqlite
def test_a_hub_that_cannot_be_reached_is_told_with_the_other_ways(run: Any, hub: Any) -> None:
    for address in ("http://127.0.0.1:9", hub[0] + "/elsewhere"):
        refused = run("embedder", "install", "--hub", address, "--json")
        assert (refused.code, refused.error["code"]) == (1, "unavailable")
        assert "pip install 'keepbook[embed]'" in refused.error["message"]
        assert "onnx:DIR" in refused.error["message"]
    assert run("embedder", "install", "--hub", "ftp://somewhere", "--json").error["field"] == "hub"


@on_sqlite
def test_a_model_in_a_folder_is_tried_and_installed(
    run: Any, ask: Any, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")
    folder = hub[1]
    made = ask("embedder", "install", folder)
    (folder / "model.onnx").unlink()  # what was installed stands by itself
    ask("remember", "The dog is called Bamse")
    assert contents(ask("recall", "which pet lives here?")) == ["The dog is called Bamse"]

    (folder / "model.onnx").write_bytes(b"no model at all")
    refused = run("embedder", "install", folder, "--json")
    assert (refused.code, refused.error["code"]) == (1, "weights")
    assert ask("embedder", "status")["embedder"] == made["space"]
    for other in ("minilm-l7", folder / "nowhere"):
        assert "known: minilm-l6" in run("embedder", "install", other, "--json").error["message"]


@on_sqlite
def test_an_installed_model_that_rots_is_not_used_and_words_answer(
    run: Any, ask: Any, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")
    ask("embedder", "install", hub[1])
    ask("remember", "The dog is called Bamse")
    ask("reindex")
    weights = installing.place() / "model.onnx"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")

    asked = run("recall", "dog", "--json")
    assert asked.json[0]["reasons"][-1].startswith("words alone: ")
    assert "is not the file it should be" in asked.err
    examined = run("doctor")
    assert examined.code == 1
    assert "install it anew" in examined.out


# --- killed in the middle --------------------------------------------------------------------------------


KILLED = """
import os, signal, sys
from keepbook.book.recall.vectors import Meaning
from keepbook.doors.cli import main
embed, batches = Meaning._embed, []
def until_killed(self, *given):
    batches.append(given)
    if len(batches) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return embed(self, *given)
Meaning._embed = until_killed
main(sys.argv[1:])
"""


@on_sqlite
def test_a_reindex_that_is_killed_goes_on_when_it_is_run_again(
    ask: Any, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = 200
    with closing(Keepbook(book_url)) as kb, kb.book("alice").transaction() as alice:
        for number in range(total):
            alice.remember(f"Thing {number} lies in the attic of house {number % 7}", force=True)
    monkeypatch.setenv("KEEPBOOK_EMBEDDER", "auto")
    killed = subprocess.run(program(KILLED, "reindex", "--db", book_url), check=False)
    assert killed.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(book_url)) as file:
        done = file.execute("SELECT count(*) FROM vectors").fetchone()[0]
    assert 0 < done < total
    assert ask("reindex")["embedded"] == total - done
    assert ask("embedder", "status")["waiting"] == 0
    assert ask("verify")["ok"]
