"""`keepbook mcp` as a client runs it: a process, its stdin and stdout, and the official client at the other end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import PromptReference, ResourceTemplateReference, ResourceUpdatedNotification
from tests.doors.mcp.calls import PRESETS, drive, text_of

from keepbook import Book, Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.mcp.server import build_server
from keepbook.presets import load_preset, preset_names

PROGRAM = [sys.executable, "-m", "keepbook", "mcp"]
HANDSHAKE = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
]
Use = Callable[[Client], Awaitable[None]]


@pytest.fixture
def place(book_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KEEPBOOK_DB", book_url)
    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    return book_url


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For what does not depend on the engine."""
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    return tmp_path / "book.db"


@pytest.fixture
def beside(file: Path) -> Iterator[Book]:
    """The same book, opened beside the server."""
    with closing(Keepbook(file)) as kb:
        yield kb.book("alice")


def parameters(*args: str) -> StdioServerParameters:
    command, *rest = PROGRAM
    # The client passes on a few variables only: the book's place is not among them.
    return StdioServerParameters(command=command, args=[*rest, *args], env=dict(os.environ))


def use(do: Use, *args: str, mode: str = "auto") -> None:
    async def whole() -> None:
        async with asyncio.timeout(120), Client(parameters(*args), mode=mode) as client:
            await do(client)

    asyncio.run(whole())


def use_here(do: Use, mode: str = "auto", **heard: Any) -> None:
    """The same server in this process: for what it answers, whatever carries it."""

    async def whole() -> None:
        with closing(Keepbook(os.environ["KEEPBOOK_DB"])) as kb:
            server = build_server(kb, lambda _: Caller("alice", kind="agent"), listens=True)
            async with asyncio.timeout(120), Client(server, mode=mode, **heard) as client:
                await do(client)

    asyncio.run(whole())


def pipe(*messages: dict[str, Any], args: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    """What a script does: send it all, close the pipe, read the answers."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    return subprocess.run([*PROGRAM, *args], input=lines, capture_output=True, text=True, check=False, timeout=120)


def test_every_preset_is_driven_here() -> None:
    assert set(PRESETS) == set(preset_names())


@pytest.mark.parametrize("preset", PRESETS)
def test_the_official_client_calls_every_tool_of_every_preset(place: str, preset: str) -> None:
    use(lambda client: drive(client, preset), "--preset", preset)
    with closing(Keepbook(place)) as kb:
        book = kb.book("alice")
        assert {entry.actor for entry in book.ledger()} == {"agent"}
        assert {entry.door for entry in book.ledger()} == {"mcp"}
        assert book.verify().ok


def test_a_mode_that_there_is_not_is_refused(file: Path) -> None:
    refused = subprocess.run([*PROGRAM, "--mode", "ops"], capture_output=True, text=True, check=False, timeout=120)
    assert (refused.returncode, "--mode is authoring" in refused.stderr) == (1, True)


def test_a_client_of_the_older_protocol_is_served_the_same(file: Path) -> None:
    use(lambda client: drive(client, "general"), mode="legacy")


def test_what_a_template_or_the_prompt_takes_is_completed(beside: Book) -> None:
    tea, dog = beside.remember("Likes tea"), beside.remember("Has a dog")
    beside.thread("support-17").add("user", "Hello")

    async def ask(client: Client) -> None:
        async def values(ref: Any, name: str, typed: str) -> list[str]:
            return list((await client.complete(ref, {"name": name, "value": typed})).completion.values)

        memory = ResourceTemplateReference(uri="keepbook://memory/{id}")
        assert await values(memory, "id", "") == [dog.id, tea.id]
        assert await values(memory, "id", tea.id[:5]) == [tea.id]
        assert await values(memory, "id", "likes TEA") == [tea.id]
        assert await values(memory, "colour", "") == []
        block = ResourceTemplateReference(uri="keepbook://block/{session}")
        assert await values(block, "session", "sup") == ["support-17"]
        assert await values(PromptReference(name="memory"), "session", "x") == []

    use_here(ask)


def test_a_client_that_asks_for_it_is_told_how_a_call_goes(beside: Book) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def ask(client: Client) -> None:
        await client.call_tool("list_memories", {}, progress_callback=note)

    use_here(ask)
    assert told[0] == (0, "begun")


@pytest.mark.filterwarnings("ignore:resources/")  # clients of the older protocol know no other way
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_who_waits_for_the_block_is_told_when_another_program_changes_it(beside: Book, mode: str) -> None:
    async def wait(client: Client) -> None:
        if mode == "auto":
            async with client.listen(resource_subscriptions=["keepbook://block"]) as changes:
                beside.remember("Likes tea")
                async for change in changes:
                    assert change.uri == "keepbook://block"
                    break
        else:
            await client.subscribe_resource("keepbook://block")
            beside.remember("Likes tea")
            await updated.wait()
            await client.unsubscribe_resource("keepbook://block")

    updated = anyio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            updated.set()

    use_here(wait, mode=mode, message_handler=hear)


def test_tools_tell_what_they_may_do_to_the_book(beside: Book) -> None:
    async def look(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        own = [tool.name for tool in load_preset("general").tools]
        assert list(tools) == [*own, "undo", "restore", "memory_stats"]
        assert tools["list_memories"].title == "List memories"
        assert tools["recall"].output_schema["properties"].keys() == {"hits"}
        assert "memory_event" in tools["remember"].output_schema["properties"]
        hints = {
            name: (note.read_only_hint, note.destructive_hint, note.idempotent_hint, note.open_world_hint)
            for name, tool in tools.items()
            if (note := tool.annotations)
        }
        assert hints["remember"] == (False, False, True, False)
        assert hints["forget"] == (False, True, True, False)
        assert hints["recall"] == (True, False, True, False)
        assert tools["remember"].input_schema["required"] == ["content"]
        assert tools["remember"].input_schema["additionalProperties"] is False

    use_here(look)


def test_the_owners_own_preset_decides_where_none_is_named(beside: Book) -> None:
    beside.configure(preset="assistant")

    async def look(client: Client) -> None:
        assert "add_to_memory" in [tool.name for tool in (await client.list_tools()).tools]

    use_here(look)


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("remember", {}, "invalid", "`content` is missing"),
    ("remember", {"content": "Hi"}, "invalid", "`content`"),
    ("remember", {"content": "Likes milk", "colour": 1}, "invalid", "no argument 'colour'"),
    ("recall", {"query": "tea", "limit": "many"}, "invalid", "`limit` must be a whole number"),
    ("record_turns", {"session": "s", "turns": [{"role": "cat"}]}, "invalid", "`turns`"),
    ("forget", {"memory": "the cat"}, "not_found", "Look with list_memories or recall"),
    ("update", {"memory": "likes", "content": "Likes cocoa"}, "ambiguous", "fits 2 memories"),
    ("no_such_tool", {}, "unknown_tool", "the tools are remember"),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_wrong_call_is_answered_in_words_and_writes_nothing(beside: Book, mode: str) -> None:
    beside.remember("Likes tea")
    beside.remember("Likes coffee")

    async def call(client: Client) -> None:
        for name, arguments, code, words in WRONG:
            result = await client.call_tool(name, arguments)
            assert (result.is_error, result.structured_content["code"]) == (True, code)
            assert words in result.content[0].text  # type: ignore[union-attr]
        assert not (await client.call_tool("list_memories", {})).is_error  # and the conversation goes on

    use_here(call, mode=mode)
    assert len(beside.ledger()) == 2


def test_the_block_is_a_resource_that_reading_does_not_change(beside: Book) -> None:
    beside.remember("Prefers index funds", category="preference")

    async def read(client: Client) -> None:
        assert [str(resource.uri) for resource in (await client.list_resources()).resources] == ["keepbook://block"]
        assert await text_of(client, "keepbook://block") == beside.block()
        assert "Prefers index funds" in beside.block()
        beside.remember("Lives in Oslo")
        assert await text_of(client, "keepbook://block") == beside.block()

    use_here(read)
    assert {memory.reference_count for memory in beside.list()} == {0}


def test_the_block_of_a_session_keeps_its_bytes(beside: Book) -> None:
    beside.remember("Prefers index funds")

    async def read(client: Client) -> None:
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["keepbook://block/{session}", "keepbook://memory/{id}"]
        first = await text_of(client, "keepbook://block/chat%2042")
        beside.remember("Lives in Oslo")
        assert await text_of(client, "keepbook://block/chat%2042") == first == beside.inject("chat 42")
        assert "Oslo" not in first
        assert "Oslo" in await text_of(client, "keepbook://block/another")

    use_here(read)


def test_a_memory_is_a_resource_with_its_versions(beside: Book) -> None:
    id = beside.remember("Lives in Oslo").id
    beside.update(id, "Lives in Bergen")

    async def read(client: Client) -> None:
        told = json.loads(await text_of(client, f"keepbook://memory/{id}"))
        assert (told["content"], [version["content"] for version in told["versions"]]) == (
            "Lives in Bergen",
            ["Lives in Oslo", "Lives in Bergen"],
        )

    use_here(read)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_no_resource_is_refused_with_words(beside: Book, mode: str) -> None:
    async def read(client: Client) -> None:
        for uri in ("keepbook://memory/nosuch00", "keepbook://nothing", "keepbook://block/", "file:///etc/passwd"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.code == -32602
            assert caught.value.message.endswith(".")
        assert await text_of(client, "keepbook://block") == ""

    use_here(read, mode=mode)


def test_nothing_is_told_while_memory_is_switched_off(beside: Book) -> None:
    beside.remember("Prefers index funds")
    beside.choose(memory=False)

    async def read(client: Client) -> None:
        assert await text_of(client, "keepbook://block") == ""
        assert await text_of(client, "keepbook://block/chat-1") == ""
        refused = await client.call_tool("remember", {"content": "Lives in Oslo"})
        assert refused.structured_content["code"] == "memory_off"
        with pytest.raises(MCPError, match="switched memory off"):
            await client.get_prompt("memory")

    use_here(read)


def test_the_prompt_gives_the_block(beside: Book) -> None:
    async def ask(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == "memory"

        async def said(**arguments: str) -> str:
            (message,) = (await client.get_prompt("memory", arguments)).messages
            return str(message.content.text)  # type: ignore[union-attr]

        assert await said() == "Nothing is remembered yet."
        beside.remember("Prefers index funds")
        assert await said() == beside.block()
        first = await said(session="chat-1")
        beside.remember("Lives in Oslo")
        assert await said(session="chat-1") == first
        with pytest.raises(MCPError, match="there is memory"):
            await client.get_prompt("nothing")

    use_here(ask)


def test_two_clients_write_to_one_book_at_once(place: str) -> None:
    async def write(name: str) -> None:
        async with Client(parameters()) as client:
            for number in range(5):
                result = await client.call_tool("remember", {"content": f"Fact {number} of {name}"})
                assert not result.is_error, result.content

    async def both() -> None:
        async with asyncio.timeout(120):
            await asyncio.gather(write("one"), write("two"))

    asyncio.run(both())
    with closing(Keepbook(place)) as kb:
        book = kb.book("alice")
        assert book.list().total == 10
        assert book.verify().ok


# --- the process -----------------------------------------------------------------------------------------


def test_a_script_that_closes_the_pipe_gets_all_its_answers(file: Path) -> None:
    calls = [
        {
            "id": number,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"content": f"Fact {number}"}},
        }
        for number in range(2, 12)
    ]
    done = pipe(*HANDSHAKE, *calls)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(answer["id"] for answer in answers) == list(range(1, 12))
    assert all("result" in answer and not answer["result"].get("isError") for answer in answers)
    with closing(Keepbook(file)) as kb:
        assert kb.book("alice").list().total == 10


def test_a_line_that_is_no_message_does_not_end_it(file: Path) -> None:
    lines = ["nonsense", "", "[]", json.dumps({"jsonrpc": "2.0", **HANDSHAKE[0]})]
    done = subprocess.run(PROGRAM, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=120)
    (answer,) = map(json.loads, done.stdout.splitlines())  # the last line has no end, and is read all the same
    assert answer["result"]["serverInfo"]["name"] == "keepbook"
    assert done.returncode == 0


def test_a_client_that_says_nothing_and_leaves_ends_it(file: Path) -> None:
    done = pipe()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_the_pipe_is_open(file: Path, told: signal.Signals) -> None:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(PROGRAM, text=True, **streams) as process:  # type: ignore[call-overload]
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **HANDSHAKE[0]}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(told)
        assert process.wait(60) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_a_client_that_dies_leaves_no_noise(file: Path) -> None:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(PROGRAM, text=True, **streams) as process:  # type: ignore[call-overload]
        process.stdout.close()
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **HANDSHAKE[0]}) + "\n")
        process.stdin.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 0


@pytest.mark.parametrize("args", [("--owner", ""), ("--preset", "nosuch"), ("--db", "/dev/null/book.db")])
def test_what_cannot_be_served_is_told_before_a_client_waits(file: Path, args: tuple[str, ...]) -> None:
    done = pipe(HANDSHAKE[0], args=args)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("keepbook: ")
    assert done.stderr.count("\n") == 1
