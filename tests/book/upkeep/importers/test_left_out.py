"""What stays out of a file is told with its place and its reason, and counted; nothing goes unsaid."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from keepbook.book.upkeep.importers.incoming import Incoming, portions
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.book.upkeep.importers.sources import detect_source


def read(value: Any, name: str = "file.json") -> Incoming:
    return detect_source(SourceFile(name, raw=(value if isinstance(value, str) else json.dumps(value)).encode()))


def left_out(incoming: Incoming) -> set[tuple[str, str]]:
    return {(one.where, one.why) for one in incoming.refused}


def of_chatgpt(*messages: tuple[str, dict[str, Any]], tried_again: str | None = None) -> list[Any]:
    """A chat whose turns follow each other; the last may have been answered another way before."""
    nodes: dict[str, Any] = {"0": {"message": None, "parent": None, "children": ["1"]}}
    for number, (role, told) in enumerate(messages, 1):
        content = told.get("content", {"content_type": "text", "parts": [told.get("text", "")]})
        message = {"author": {"role": role}, **told, "content": content}
        nodes[str(number)] = {"message": message, "parent": str(number - 1), "children": [str(number + 1)]}
    nodes[str(len(messages))]["children"] = []
    if tried_again is not None:
        message = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [tried_again]}}
        nodes["again"] = {"message": message, "parent": str(len(messages) - 1), "children": []}
    return [{"title": "Oslo", "id": "c1", "mapping": nodes, "current_node": str(len(messages))}]


def test_chatgpt() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}
    incoming = read(
        of_chatgpt(
            ("system", {"text": ""}),
            ("system", {"text": "You are kind.", "metadata": {"is_visually_hidden_from_conversation": True}}),
            ("user", {"content": {"content_type": "multimodal_text", "parts": [picture, "Where is this?"]}}),
            ("user", {"text": "And this file?", "metadata": {"attachments": [{"name": "a.pdf"}, {"name": "b.pdf"}]}}),
            ("assistant", {"content": {"content_type": "thoughts", "thoughts": [{"content": "Perhaps Oslo."}]}}),
            ("assistant", {"content": {"content_type": "code", "text": "search('x')"}, "recipient": "browser"}),
            ("assistant", {"text": "to=bio I live in Oslo", "recipient": "bio"}),
            ("tool", {"text": "Found it."}),
            ("assistant", {"text": "In Oslo."}),
            tried_again="In Bergen.",
        )
    )
    (chat,) = incoming.chats
    assert [turn.text for turn in chat.turns] == ["Where is this?", "And this file?", "In Oslo."]
    assert left_out(incoming) == {
        ("chat Oslo", "what the program hid: 1"),
        ("chat Oslo", "pictures and files: 3"),
        ("chat Oslo", "thoughts and code: 1"),
        ("chat Oslo", "what a tool was asked or answered: 3"),
        ("chat Oslo", "turns of other tries: 1"),
    }


def test_claude() -> None:
    parts = [
        {"type": "thinking", "thinking": "Perhaps Oslo."}, {"type": "tool_use", "input": {}},
        {"type": "tool_result", "content": []}, {"type": "image", "source": {}}, {"type": "text", "text": "In Oslo."},
        {"type": "voice_note", "title": "a"}, {"type": "token_budget"},
    ]  # fmt: skip
    messages = [
        {"sender": "human", "text": "Where?", "attachments": [{"extracted_content": "A letter"}], "files": [{"a": 1}]},
        {"sender": "assistant", "content": parts},
        {"sender": "system", "text": "Be kind."},
        {"sender": "human", "content": [{"type": "image"}]},
    ]
    incoming = read([{"uuid": "1", "name": "Oslo", "chat_messages": messages}])
    (chat,) = incoming.chats
    assert [turn.text for turn in chat.turns] == ["Where?", "In Oslo."]
    assert left_out(incoming) == {
        ("chat Oslo", "pictures and files: 4"),
        ("chat Oslo", "thoughts and code: 1"),
        ("chat Oslo", "what a tool was asked or answered: 2"),
        ("chat Oslo", "parts of the kind voice_note: 1"),
        ("chat Oslo", "what the program hid: 1"),
    }


def test_letta() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"function": {"name": name, "arguments": json.dumps({"message": "In Oslo."})}}

    messages = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": [{"type": "text", "text": "Where?"}, {"type": "image", "source": {}}]},
        {"role": "user", "content": json.dumps({"type": "heartbeat", "reason": "x"})},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("archival_memory_search")]},
        {"role": "tool", "content": "nothing"},
        {"role": "assistant", "content": "I say so.", "tool_calls": [call("send_message")]},
    ]
    passages = [{"id": "p1", "text": "Likes tea"}, {"id": "p2", "text": " "}]
    agent = {"name": "Ida", "messages": messages, "core_memory": [], "archival_memory": passages}
    incoming = read(agent)
    (chat,) = incoming.chats
    assert [turn.text for turn in chat.turns] == ["Where?", "In Oslo."]
    assert left_out(incoming) == {
        ("chat Ida", "what the program hid: 2"),
        ("chat Ida", "pictures and files: 1"),
        ("chat Ida", "thoughts and code: 2"),
        ("chat Ida", "what a tool was asked or answered: 2"),
        ("passage p2", "it holds no text"),
    }


def test_nodes_of_graphs_without_a_name_are_told() -> None:
    node = {"uuid": "1", "name": "Anna", "summary": "Anna sings."}
    incoming = read({"edges": [], "episodes": [], "nodes": [node, {"summary": "Ben swims."}, "?"]})
    assert left_out(incoming) == {("node 2", "it is no node of Graphiti"), ("node 3", "it is no node of Graphiti")}


def test_a_row_of_zep_that_is_cut_short_costs_itself_alone() -> None:
    told = {"uuid": "e1", "fact": "Anna worked at Equinor", "source_node_uuid": "n1"}
    incoming = read(
        {
            "edges": [told, {"fact": "Anna works at Aker"}, {"uuid": "e3"}, "?"],
            "nodes": [{"uuid": "n1", "name": "Anna", "summary": "Anna sings."}],
            "episodes": [
                {"uuid": "p1", "content": "I work at Aker now", "role_type": "user"},
                {"uuid": "p2", "content": "Well done"},
                {"uuid": "p3"},
            ],
        }
    )
    facts = ["Anna sings.", "Anna worked at Equinor", "Anna works at Aker"]
    assert [one.text for one in incoming.memories] == facts
    assert [[turn.text for turn in chat.turns] for chat in incoming.chats] == [["I work at Aker now"]]
    assert left_out(incoming) == {
        ("edge e3", "it has no `fact`"),
        ("edge 4", "it has no `fact`"),
        ("episode p2", "neither `source` nor `role_type` says whether it is a message"),
        ("episode p3", "it has no `content`"),
    }


def test_what_is_left_out_is_told_to_whom_it_belongs_and_once() -> None:
    rows = "text,user,date\nLikes tea,anna,2025-01-05\nSings,ben,31.02.2025\nSwims,ben,\n,anna,soon\nRuns,carl,soon\n"
    parts = portions(read(rows, "notes.csv"), "me", {"anna": "alice", "ben": "bob"})
    told = {owner: [one.where for one in part.refused] for owner, part in parts.items()}
    assert told == {"alice": ["line 5", "line 6"], "bob": ["line 3"]}, "of carl nothing else is in the file"


@pytest.mark.parametrize("name", ["notes", "notes.zip"])
def test_what_lies_beside_in_a_folder_or_archive_is_told(tmp_path: Path, name: str) -> None:
    files = {"a.md": "# A\n- [food] Likes tea\n", "pictures/p.png": "x", "more.json": "{}", "empty.md": "# Only this\n"}
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
    else:
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
    incoming = detect_source(SourceFile.from_path(tmp_path / name))
    assert left_out(incoming) == {
        ("pictures/p.png", "not read: nothing of basic-memory is looked for in it"),
        ("more.json", "not read: nothing of basic-memory is looked for in it"),
        ("empty.md", "it holds nothing but headings"),
    }


def test_columns_that_have_no_place_here_come_along() -> None:
    rows = 'text,user,date,mood,room\n"Likes tea",anna,2025-01-05,glad,\n'
    (memory,) = read(rows, "notes.csv").memories
    assert memory.metadata == {"mood": "glad"}
    rows = "text,mood,mood,,importance\nLikes tea,glad,calm,here,0.8,more\nSings,,,,high\n"
    tea, sings = read(rows, "notes.csv").memories
    assert (tea.importance, tea.metadata) == (
        0.8, {"mood": "glad", "mood 3": "calm", "column 4": "here", "column 6": "more"},
    )  # fmt: skip
    assert (sings.importance, left_out(read(rows, "notes.csv"))) == (
        None, {("line 3", "of it, importance: no place for it here")},
    )  # fmt: skip


def test_values_that_have_no_place_are_told() -> None:
    """A memory comes in; what of it has no place here does not go unsaid."""
    incoming = read([{"text": "Likes tea", "vector": [0.1, 0.2], "source": {"page": 7}}])
    assert incoming.memories[0].metadata == {"source.page": "7"}
    assert left_out(incoming) == {("item 1", "of it, vector: no place for it here")}


def test_labels_that_a_memory_has_no_place_for_are_told() -> None:
    record = {"text": "Likes tea", "tags": [f"tag {number}" for number in range(34)], "metadata": {"note": "x" * 501}}
    why = "of it, 2 tags and 1 entries of metadata: longer or more than a memory holds"
    assert left_out(read([record])) == {("item 1", why)}
