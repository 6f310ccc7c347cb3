"""Anthropic's memory tool over a book: its commands, its texts, its errors, and the helper of the SDK."""

import asyncio
import json
from collections.abc import Callable
from itertools import product
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaLocalFilesystemMemoryTool,
    ToolError,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Keepbook
from keepbook.adapters.anthropic_memory import LARGEST, TOOL, MemoryFiles, Refused

NOTES = "/memories/notes.md"
TEXT = "# Notes\nLikes tea\nLives in Oslo\n"

Run = Callable[..., str]


@pytest.fixture
def files(kb: Any) -> MemoryFiles:
    return MemoryFiles(kb, owner="alice")


@pytest.fixture
def run(files: MemoryFiles) -> Run:
    return lambda command, **given: files.run({"command": command, **given})


def _text(run: Run, path: str = NOTES) -> str:
    """A file as a view shows it, without the numbers."""
    return "\n".join(line.partition("\t")[2] for line in run("view", path=path).split("\n")[1:])


# --- commands --------------------------------------------------------------------------------------------


def test_an_empty_directory_can_be_viewed(run: Run) -> None:
    assert run("view", path="/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
        "\n0B\t/memories"
    )


def test_a_directory_lists_two_levels_with_sizes(run: Run) -> None:
    for path, text in {
        NOTES: TEXT,
        "/memories/a/b/c/deep.md": "x" * 2048,
        "/memories/a/one.md": "1",
        "/memories/.hidden": "y",
        "/memories/node_modules/z.md": "z",
        "/memories/ab.md": "ab",
    }.items():
        run("create", path=path, file_text=text)
    listed = run("view", path="/memories/").split("\n")[1:]
    assert [tuple(line.split("\t")) for line in listed] == [
        ("2.0K", "/memories"),
        ("2.0K", "/memories/a/"),
        ("2.0K", "/memories/a/b/"),
        ("1B", "/memories/a/one.md"),
        ("2B", "/memories/ab.md"),
        ("32B", "/memories/notes.md"),
    ]
    assert run("view", path="/memories/a/b").split("\n")[1:] == [
        "2.0K\t/memories/a/b", "2.0K\t/memories/a/b/c/", "2.0K\t/memories/a/b/c/deep.md",
    ]  # fmt: skip


def test_a_file_is_viewed_with_numbered_lines(run: Run) -> None:
    assert run("create", path=NOTES, file_text=TEXT) == f"File created successfully at: {NOTES}"
    assert run("view", path=NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n     1\t# Notes\n     2\tLikes tea\n     3\tLives in Oslo"
    )
    assert run("view", path=NOTES, view_range=[2, 3]).split("\n")[1:] == ["     2\tLikes tea", "     3\tLives in Oslo"]
    assert run("view", path=NOTES, view_range=[3, -1]).split("\n")[1:] == ["     3\tLives in Oslo"]
    assert run("view", path=NOTES, view_range=[1, 99]) == run("view", path=NOTES)
    for wrong in ([0, 2], [4, 5], [3, 1]):
        assert run("view", path=NOTES, view_range=wrong).startswith(f"Error: Invalid `view_range` parameter: {wrong}")
    assert "two line numbers" in run("view", path=NOTES, view_range=[1])


def test_an_empty_file_is_a_file(run: Run, alice: Any) -> None:
    run("create", path=NOTES, file_text="")
    assert run("view", path=NOTES) == f"Here's the content of {NOTES} with line numbers:"
    assert run("insert", path=NOTES, insert_line=0, insert_text="first") == f"The file {NOTES} has been edited."
    assert _text(run) == "first"


def test_what_is_not_there_is_said_as_the_tool_says_it(run: Run) -> None:
    missing = f"The path {NOTES} does not exist"
    assert run("view", path=NOTES) == f"{missing}. Please provide a valid path."
    assert run("str_replace", path=NOTES, old_str="a", new_str="b") == f"Error: {missing}. Please provide a valid path."
    assert run("insert", path=NOTES, insert_line=0, insert_text="a").startswith(f"Error: {missing}")
    assert run("delete", path=NOTES) == f"Error: {missing}"
    assert run("rename", old_path=NOTES, new_path="/memories/b.md") == f"Error: {missing}"


def test_create_does_not_overwrite(run: Run) -> None:
    run("create", path=NOTES, file_text=TEXT)
    assert run("create", path=NOTES, file_text="other") == f"Error: File {NOTES} already exists"
    assert _text(run) == TEXT.rstrip("\n")


def test_a_directory_is_no_file_and_a_file_no_directory(run: Run) -> None:
    run("create", path="/memories/a/one.md", file_text="one")
    assert run("create", path="/memories/a", file_text="x") == "Error: File /memories/a already exists"
    assert run("create", path="/memories", file_text="x") == "Error: File /memories already exists"
    assert "is a file" in run("create", path="/memories/a/one.md/two.md", file_text="x")
    assert "is a directory" in run("str_replace", path="/memories/a", old_str="one", new_str="two")
    assert "is a directory" in run("insert", path="/memories", insert_line=0, insert_text="x")


def test_str_replace_replaces_what_is_there_once(run: Run) -> None:
    run("create", path=NOTES, file_text="one\ntwo\nthree\nfour\nfive\nsix\nthree times\n")
    assert run("str_replace", path=NOTES, old_str="four", new_str="4\nfour and a half") == (
        "The memory file has been edited. The lines around the change:\n"
        "     2\ttwo\n     3\tthree\n     4\t4\n     5\tfour and a half\n     6\tfive\n     7\tsix"
    )
    assert run("str_replace", path=NOTES, old_str="seven", new_str="7") == (
        f"No replacement was performed, old_str `seven` did not appear verbatim in {NOTES}."
    )
    assert run("str_replace", path=NOTES, old_str="three", new_str="3") == (
        "No replacement was performed. Multiple occurrences of old_str `three` in lines: 3, 8. "
        "Please ensure it is unique"
    )
    assert "did not appear verbatim" in run("str_replace", path=NOTES, old_str="", new_str="3")
    run("str_replace", path=NOTES, old_str="two\n")
    assert _text(run) == "one\nthree\n4\nfour and a half\nfive\nsix\nthree times"


def test_insert_puts_text_after_a_line_and_moves_nothing_else(run: Run) -> None:
    texts, additions = ["a\nb\n", "a\nb", "a\r\nb\r\n"], ["x", "x\n", "x\ny\n"]
    for nth, (text, added, line) in enumerate(product(texts, additions, [0, 1, 2])):
        path = f"/memories/{nth}.md"
        run("create", path=path, file_text=text)
        assert run("insert", path=path, insert_line=line, insert_text=added) == f"The file {path} has been edited."
        lines = text.split("\n")[:2]
        assert _text(run, path).split("\n") == [*lines[:line], *added.rstrip("\n").split("\n"), *lines[line:]]
        for wrong in (-1, 9):
            assert run("insert", path=path, insert_line=wrong, insert_text="x") == (
                f"Error: Invalid `insert_line` parameter: {wrong}. "
                f"It should be within the range of lines of the file: [0, {2 + len(added.splitlines())}]"
            )


def test_delete_puts_a_file_or_a_directory_into_the_trash(run: Run, alice: Any) -> None:
    for path in (NOTES, "/memories/a/one.md", "/memories/a/b/two.md", "/memories/ab.md"):
        run("create", path=path, file_text=path)
    assert run("delete", path=NOTES) == f"Successfully deleted {NOTES}"
    assert run("delete", path="/memories/a") == "Successfully deleted /memories/a"
    assert run("view", path="/memories").split("\n")[2:] == ["15B\t/memories/ab.md"]
    assert "cannot be deleted" in run("delete", path="/memories")
    assert alice.list(scope="*", state="trash").total == 3
    [gone] = [memory for memory in alice.list(scope="*", state="trash") if memory.subject == NOTES]
    alice.restore(gone.id)
    assert _text(run) == NOTES


def test_rename_keeps_the_history(run: Run, alice: Any) -> None:
    run("create", path=NOTES, file_text=TEXT)
    run("insert", path=NOTES, insert_line=1, insert_text="new")
    assert run("rename", old_path=NOTES, new_path="/memories/old/n.md") == (
        f"Successfully renamed {NOTES} to /memories/old/n.md"
    )
    assert run("view", path=NOTES).startswith("The path")
    [memory] = alice.list(scope="*")
    assert memory.subject == "/memories/old/n.md"
    first, *later = alice.history(memory.id)
    assert (first.body, len(later)) == (TEXT, 2)
    alice.undo(alice.ledger(limit=1)[0].event)
    assert _text(run, NOTES).startswith("# Notes\nnew")


def test_rename_moves_directories_and_never_overwrites(run: Run) -> None:
    for path in ("/memories/a/one.md", "/memories/a/b/two.md", "/memories/c.md"):
        run("create", path=path, file_text=path)
    assert run("rename", old_path="/memories/a", new_path="/memories/c.md") == (
        "Error: The destination /memories/c.md already exists"
    )
    assert "into itself" in run("rename", old_path="/memories/a", new_path="/memories/a/x/y")
    assert "already exists" in run("rename", old_path="/memories/a", new_path="/memories/a")
    assert "cannot be renamed" in run("rename", old_path="/memories", new_path="/memories/x")
    assert run("rename", old_path="/memories/a/", new_path="/memories/z").startswith("Successfully renamed")
    assert _text(run, "/memories/z/b/two.md") == "/memories/a/b/two.md"
    assert run("view", path="/memories/a").startswith("The path /memories/a does not exist")


# --- the book --------------------------------------------------------------------------------------------


def test_each_edit_is_a_version_and_undo_takes_it_back(run: Run, alice: Any) -> None:
    run("create", path=NOTES, file_text=TEXT)
    run("str_replace", path=NOTES, old_str="tea", new_str="coffee")
    [memory] = alice.list(scope="*")
    assert (memory.subject, memory.content, memory.source) == (NOTES, f"{NOTES}: # Notes", "chat")
    assert [version.body for version in alice.history(memory.id)] == [TEXT, TEXT.replace("tea", "coffee")]
    alice.undo(alice.ledger(limit=1)[0].event)
    assert "Likes tea" in _text(run)
    assert {(entry.actor, entry.door) for entry in alice.ledger()} >= {("agent", "memory-tool")}
    assert alice.verify().ok


def test_a_person_can_edit_and_find_what_the_tool_keeps(run: Run, alice: Any) -> None:
    run("create", path=NOTES, file_text=TEXT)
    [hit] = alice.recall("Where does she live? Oslo", scope="memory-tool")
    alice.update(hit.id, hit.content, body="Lives in Bergen\n")
    assert _text(run) == "Lives in Bergen"
    refused = run("insert", path=NOTES, insert_line=1, insert_text="Likes tea")
    assert "the person's own word" in refused  # it is left for them to decide
    assert _text(run) == "Lives in Bergen"
    assert [one.op for one in alice.proposals.list()] == ["update"]
    assert alice.block() == ""


def test_files_that_begin_alike_are_apart(run: Run, alice: Any) -> None:
    for path in ("/memories/a.md", "/memories/A.md", "/memories/b.md"):
        assert run("create", path=path, file_text="Likes tea").startswith("File created")
    run("str_replace", path="/memories/A.md", old_str="tea", new_str="coffee")
    assert [_text(run, path) for path in ("/memories/a.md", "/memories/A.md")] == ["Likes tea", "Likes coffee"]
    assert alice.list(scope="*").total == 3


def test_a_file_restored_beside_its_successor_goes_with_it(run: Run, alice: Any) -> None:
    run("create", path="/memories/d/a.md", file_text="old")
    [old] = alice.list(scope="*")
    run("delete", path="/memories/d")
    run("create", path="/memories/d/a.md", file_text="new one")
    alice.restore(old.id)
    assert _text(run, "/memories/d/a.md") == "new one"
    run("rename", old_path="/memories/d", new_path="/memories/e")
    assert _text(run, "/memories/e/a.md") == "new one"
    assert run("view", path="/memories").split("\n")[1:] == [
        "7B\t/memories",
        "7B\t/memories/e/",
        "7B\t/memories/e/a.md",
    ]
    run("delete", path="/memories/e")
    assert alice.list(scope="*").total == 0


def test_a_file_that_is_too_large_is_told_the_limit(run: Run, alice: Any) -> None:
    assert run("create", path=NOTES, file_text="x" * LARGEST).startswith("File created")
    refused = run("insert", path=NOTES, insert_line=0, insert_text="more")
    assert refused.startswith(f"Error: {NOTES} would have 64.0 KB, and a memory file holds at most 64 KB")
    assert len(alice.list(scope="*")[0].body) == LARGEST


def test_the_persons_choices_bind_the_tool(run: Run, alice: Any) -> None:
    run("create", path=NOTES, file_text=TEXT)
    alice.choose(never=["health"])
    assert "never to keep anything about health" in run(
        "insert", path=NOTES, insert_line=0, insert_text="Her health is fine"
    )
    alice.choose(memory=False)
    assert "switched memory off" in run("create", path="/memories/b.md", file_text="x")
    assert "switched memory off" in run("delete", path=NOTES)


def test_owners_and_scopes_are_apart(kb: Any, run: Run) -> None:
    run("create", path=NOTES, file_text=TEXT)
    for other in (MemoryFiles(kb, owner="bob"), MemoryFiles(kb, owner="alice", scope="other-agent")):
        assert other.run({"command": "view", "path": "/memories"}).endswith("0B\t/memories")
        assert other.run({"command": "delete", "path": NOTES}).startswith("Error")


# --- what a model may get wrong --------------------------------------------------------------------------


OUTSIDE = [
    "/memories/../etc/passwd", "/memories/..", "/memories/a/../../b", "/memories/%2e%2e/b", "/memories/%2E%2e%2fb",
    "/memories/%252e%252e/b", "/memories/..\\b", "/memories/a%5c..%5cb", "/memories/\uff0e\uff0e/b",
    "/memories/./b", "/memories/.. /b", "/etc/passwd", "/memoriesb/c", "memories/b", "../memories/b", "", "/",
    "C:\\memories\\b", "/memories/a\nb", "/memories/a\x00b", "/memories/\ud800", "/memories/" + "x" * 200,
    "/memories/b ",
]  # fmt: skip


def test_a_path_out_of_the_directory_is_refused(run: Run, alice: Any) -> None:
    run("create", path="/memories/b", file_text="x")
    for path in OUTSIDE:
        for answer in (
            run("create", path=path, file_text="x"),
            run("view", path=path),
            run("delete", path=path),
            run("rename", old_path="/memories/b", new_path=path),
            run("rename", old_path=path, new_path="/memories/c"),
        ):
            assert answer.startswith("Error: "), path
    assert [memory.subject for memory in alice.list(scope="*")] == ["/memories/b"]


SENSELESS: list[Any] = [
    {}, {"command": "format"}, {"command": None}, {"command": ["view"]}, {"command": "view"},
    {"command": "view", "path": 3}, {"command": "create", "path": NOTES}, {"command": "do"},
    {"command": "insert", "path": NOTES, "insert_line": "1", "insert_text": "x"},
    {"command": "insert", "path": NOTES, "insert_line": True, "insert_text": "x"},
    {"command": "create", "path": NOTES, "file_text": "bell \x07"},
    {"command": "create", "path": NOTES, "file_text": "half \ud800"},
    ["view"], None,
]  # fmt: skip


def test_a_command_that_makes_no_sense_is_answered_in_words(files: MemoryFiles, alice: Any) -> None:
    for command in SENSELESS:
        assert files.run(command).startswith("Error: "), command
        with pytest.raises(Refused):
            files.do(command)
    assert alice.list(scope="*").total == 0


# --- the SDK ---------------------------------------------------------------------------------------------


def test_the_tool_of_the_sdk_answers_and_marks_refusals(files: MemoryFiles) -> None:
    tool = files.tool()
    assert isinstance(tool, BetaAbstractMemoryTool)
    assert tool.to_dict() == TOOL
    assert tool.call({"command": "create", "path": NOTES, "file_text": TEXT}).startswith("File created")  # type: ignore[union-attr]
    with pytest.raises(ToolError, match="already exists"):
        tool.call({"command": "create", "path": NOTES, "file_text": TEXT})
    with pytest.raises(ToolError, match="must be text"):
        tool.call({"command": "view"})
    assert tool.clear_all_memory() == "All memory cleared"
    assert files.run({"command": "view", "path": "/memories"}).endswith("0B\t/memories")


def _api(seen: list[Any]) -> Callable[[httpx2.Request], httpx2.Response]:
    """A stand-in for the messages API: the model views, creates, fails to create again, and is done."""
    create = {"command": "create", "path": NOTES, "file_text": TEXT}
    calls = [{"command": "view", "path": "/memories"}, create, create]

    def answer(request: httpx2.Request) -> httpx2.Response:
        at = len(seen)
        assert at <= len(calls)
        seen.append(json.loads(request.content))
        content = (
            [{"type": "tool_use", "id": f"toolu_{at}", "name": "memory", "input": calls[at]}]
            if at < len(calls)
            else [{"type": "text", "text": "Noted."}]
        )
        body = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if at < len(calls) else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=body)

    return answer


def _results(seen: list[Any]) -> list[tuple[str, bool]]:
    """What the model was told about each call; a request may tell it again."""
    told = [block for sent in seen for message in sent["messages"] for block in message["content"]]
    results = {block["tool_use_id"]: block for block in told if isinstance(block, dict) and "tool_use_id" in block}
    return [(str(block["content"]), bool(block.get("is_error"))) for block in results.values()]


REQUEST: Any = {
    "model": "m",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "I like tea, and live in Oslo"}],
}


def _check(seen: list[Any], alice: Any) -> None:
    assert seen[0]["tools"] == [TOOL]
    assert [(text.split(" ")[0], wrong) for text, wrong in _results(seen)] == [
        ("Here're", False), ("File", False), ("Error:", True),
    ]  # fmt: skip
    assert alice.list(scope="*")[0].body == TEXT


def test_the_runner_of_the_sdk_drives_it(files: MemoryFiles, alice: Any) -> None:
    seen: list[Any] = []
    with Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(_api(seen)))) as client:
        last = client.beta.messages.tool_runner(tools=[files.tool()], **REQUEST).until_done()
    assert last.content[0].text == "Noted."  # type: ignore[union-attr]
    _check(seen, alice)


def test_the_async_runner_of_the_sdk_drives_it(files: MemoryFiles, alice: Any) -> None:
    seen: list[Any] = []
    assert isinstance(files.async_tool(), BetaAsyncAbstractMemoryTool)

    async def use() -> None:
        transport = httpx2.MockTransport(_api(seen))
        async with AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=transport)) as client:
            await client.beta.messages.tool_runner(tools=[files.async_tool()], **REQUEST).until_done()

    asyncio.run(use())
    _check(seen, alice)


_paths = st.sampled_from(["/memories/a", "/memories/b.md", "/memories/d/a", "/memories/d/e/b"])
_texts = st.sampled_from(["", "one\n", "one\ntwo\nthree\n", "two"])
_commands = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": _paths, "file_text": _texts}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": _paths | st.just("/memories/d")}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": _paths, "new_path": _paths}),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": _paths, "old_str": st.just("two"), "new_str": _texts}
    ),
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(commands=st.lists(_commands, max_size=8))
def test_its_files_are_those_that_the_sdk_would_keep_on_disk(
    commands: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    disk = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("disk")))
    with Keepbook(":memory:") as kb:
        tool = MemoryFiles(kb, owner="alice").tool()
        for command in commands:
            outcomes = []
            for each in (tool, disk):
                try:
                    each.call(command)
                    outcomes.append("done")
                except (ToolError, OSError):
                    outcomes.append("refused")
            # On disk a directory may be left empty, and can be deleted then.
            assert outcomes[0] == outcomes[1] or command == {"command": "delete", "path": "/memories/d"}, command
        kept = {memory.subject: memory.body or "" for memory in kb.book("alice").list(scope="*")}
    on_disk = [file for file in disk.memory_root.rglob("*") if file.is_file()]
    assert kept == {f"/memories/{file.relative_to(disk.memory_root)}": file.read_text() for file in on_disk}
