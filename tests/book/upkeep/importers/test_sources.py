"""Each source: what it reads out of a real file of that program, and what it says of one it cannot take."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from keepbook import Conflict, Invalid, NotFound
from keepbook.book.upkeep.importers import source_file
from keepbook.book.upkeep.importers.incoming import Incoming, parse_source_time, portions
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.book.upkeep.importers.sources import SOURCES, detect_source

SAMPLES = Path(__file__).parent / "samples"


def read_path(path: Path) -> Incoming:
    return detect_source(SourceFile.from_path(path))


def read_text(text: str, name: str = "file") -> Incoming:
    return detect_source(SourceFile(name, raw=text.encode()))


def told(incoming: Incoming) -> list[Any]:
    """Whose, what, from which day to which, with category and subject."""
    days = [(one, (one.since or "")[:10], (one.until or "")[:10]) for one in incoming.memories]
    return [(one.who, one.text, since, until, one.category, one.subject) for one, since, until in days]


GOLDEN: dict[str, tuple[str, list[Any]]] = {
    "mem0-get-all.json": ("mem0", [
        ("anna", "Is allergic to walnuts", "2025-03-02", "", None, None),
        ("anna", "Lives in Bergen", "2025-03-01", "", "profile", None),
        ("ben", "Plays the cello on Tuesdays", "2025-04-11", "", None, None),
    ]),
    "mem0-qdrant.json": ("mem0", [
        ("anna", "Lives in Bergen", "2025-03-01", "", "profile", None),
        ("anna", "Is allergic to walnuts", "2025-03-02", "", None, None),
        ("ben", "Plays the cello on Tuesdays", "2025-04-11", "", None, None),
    ]),
    "mem0-chroma.json": ("mem0", [
        ("anna", "Drinks oat milk", "2025-03-01", "", "preference", None),
        ("anna", "Has two brothers", "2025-03-03", "", None, None),
    ]),
    "mem0-history.sqlite": ("mem0", [
        (None, "Plays the cello on Tuesdays", "2025-04-11", "", None, None),
        (None, "Is allergic to walnuts", "2025-03-02", "", None, None),
        (None, "Lives in Bergen", "2025-05-20", "", None, None),
    ]),
    "letta.af": ("letta", [
        (None, "Name: Anna", "", "", None, None),
        (None, "Has a daughter called Ida", "", "", None, None),
        (None, "Swims every morning", "", "", None, None),
    ]),
    "graphiti.json": ("graphiti", [
        ("anna", "Anna works at Fjord Bank", "2025-01-10", "2025-05-01", None, None),
        ("anna", "Anna works at the city library", "2025-05-01", "", None, None),
        ("anna", "Anna owns a canoe", "2025-06-01", "", None, None),
    ]),
    "langgraph-items.json": ("langgraph", [
        ("anna", "Runs on Sundays", "2025-06-01", "", None, None),
        ("ben", "home town: Turku", "2025-06-03", "", None, "home_town"),
        ("ben", "languages: Finnish and Swedish", "2025-06-03", "", None, "languages"),
        ("anna", "Prefers window seats", "2025-06-04", "", None, None),
        ("ben", "Is vegetarian", "2025-06-05", "", None, None),
    ]),
    "memory.jsonl": ("mcp-memory", [
        (None, "Lives in Trondheim", "", "", "person", None),
        (None, "Speaks Sami", "", "", "person", None),
        (None, "Is a ceramic artist", "", "", "person", "Ylva"),
        (None, "User is married to Ylva", "", "", None, None),
    ]),
    "basic-memory": ("basic-memory", [
        (None, "Sourdough bread", "2025-02-20", "", None, "Sourdough bread"),
        (None, "Is a ceramic artist", "2025-01-15", "", "profile", "Ylva"),
        (None, "Likes blue glazes", "2025-01-15", "", "preference", "Ylva"),
        (None, "Ylva lives in Bergen", "2025-01-15", "", None, "Ylva"),
    ]),
    "memories-claude.json": ("claude", [
        ("acc-1", "Anna restores old boats.", "", "", None, None),
        ("acc-1", "Prefers short answers", "", "", None, None),
        ("acc-1", "Has a cat called Miso", "", "", None, None),
        ("acc-1", "The boat in the yard is called Havgull.", "", "", None, None),
    ]),
    "chatgpt-memories.txt": ("list", [
        (None, "Is learning to sail.", "2025-05-02", "", None, None),
        (None, "Prefers metric units.", "2025-05-09", "", None, None),
        (None, "Has a dog called Bamse", "", "", None, None),
    ]),
    "list.csv": ("list", [
        ("anna", "Prefers tea, no sugar", "2025-01-05", "", "preference", None),
        ("anna", "Likes hiking", "2025-01-06", "", None, None),
    ]),
    "conversations-chatgpt.json": ("chatgpt", []),
    "conversations-claude.json": ("claude", []),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_is_known_by_looking_at_it(name: str) -> None:
    source, memories = GOLDEN[name]
    incoming = read_path(SAMPLES / name)
    assert (incoming.source, told(incoming)) == (source, memories)


def test_every_sample_and_every_source_is_looked_at() -> None:
    assert {path.name for path in SAMPLES.iterdir()} - {"README.md"} == GOLDEN.keys()
    assert {source for source, _ in GOLDEN.values()} == SOURCES.keys()


CHATS: dict[str, list[Any]] = {
    "conversations-chatgpt.json": [("c-kitchen", None, "Kitchen plans", [
        ("user", "I am allergic to walnuts, what can I bake?", "2025-05-01T09:00:00.000000Z"),
        ("assistant", "An almond cake.", "2025-05-01T09:01:00.000000Z"),
        ("user", "Thanks, my sister Ylva likes almonds", "2025-05-01T09:05:00.000000Z"),
    ])],
    "conversations-claude.json": [("k-1", "acc-1", "A trip to Tromsø", [
        ("user", "I will be in Tromsø in March", "2025-02-01T10:00:00.000000Z"),
        ("assistant", "Bring warm boots.", "2025-02-01T10:00:10.000000Z"),
    ])],
    "graphiti.json": [("anna", "anna", "Episodes", [
        ("user", "I start at the city library today", "2025-05-01T09:00:00.000000Z"),
        ("assistant", "How was the first day?", "2025-05-02T09:00:00.000000Z"),
    ])],
    "letta.af": [("agent-0", None, "Companion", [
        ("user", "Ida starts school in August", "2025-07-01T08:01:00.000000Z"),
        ("assistant", "How lovely!", "2025-07-01T08:01:05.000000Z"),
    ])],
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_chats_keep_their_own_times(name: str) -> None:
    chats = read_path(SAMPLES / name).chats
    found = [(one.key, one.who, one.title, [(turn.role, turn.text, turn.at) for turn in one.turns]) for one in chats]
    assert found == CHATS.get(name, [])


def test_what_stays_out_is_told_with_its_reason() -> None:
    left = {name: [one.where for one in read_path(SAMPLES / name).refused] for name in GOLDEN}
    assert {name: where for name, where in left.items() if where} == {
        "conversations-chatgpt.json": ["chat Kitchen plans", "chat Empty"],
        "graphiti.json": ["episode p3"],
        "langgraph-items.json": ["item 2"],
        "letta.af": ["block persona", "agent Companion", "chat Companion", "chat Companion"],
        "mem0-history.sqlite": ["20c5563f-4525-48c9-bd26-f117632dead7"],
    }


def test_tags_metadata_and_earlier_wordings_come_along() -> None:
    bergen = read_path(SAMPLES / "mem0-get-all.json").memories[1]
    assert (bergen.tags, dict(bergen.metadata)) == (("profile",), {"place": "Norway"})
    moved = read_path(SAMPLES / "mem0-history.sqlite").memories[2]
    assert [(one.text, one.since) for one in moved.earlier] == [("Lives in Oslo", "2025-03-01T09:00:00.000000Z")]
    ylva = read_path(SAMPLES / "basic-memory").memories[1]
    assert (ylva.tags, dict(ylva.metadata)) == (("profile", "family", "craft"), {"context": "told at dinner"})
    bread = read_path(SAMPLES / "basic-memory").memories[0]
    assert bread.body == "Feed the starter at noon, bake the next morning."


# One file of each source that holds something it cannot take: that is refused with its place, the rest comes in.
ITEM = {"namespace": ["memories", "anna"], "key": "k", "value": {"content": "Likes rye bread"}}
MESSAGE = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello there"]}}
REFUSED: dict[str, tuple[Any, str, int]] = {
    "mem0": ({"results": [{"id": "1", "memory": "Likes rye", "user_id": "a", "created_at": "someday"},
                          {"id": "2", "memory": "Likes tea", "user_id": "a"}]}, "item 1", 1),
    "letta": ({"core_memory": [{"label": "persona", "value": "I am kind"}, {"label": "human", "value": "Likes rye"}],
               "messages": []}, "block persona", 1),
    "graphiti": ({"edges": [{"uuid": "e1", "fact": "A knows B", "source_node_uuid": "n", "valid_at": "someday"},
                            {"uuid": "e2", "fact": "A likes C", "source_node_uuid": "n"}]}, "edge e1", 1),
    "langgraph": ([ITEM, ITEM | {"key": "l", "value": {"n": []}}], "item 2", 1),
    "mcp-memory": ([{"type": "entity", "name": "Ida", "entityType": "person", "observations": ["Likes rye", 7]},
                    {"type": "relation", "from": "Ida", "to": "Oslo", "relationType": "lives_in"}], "item 1", 1),
    "chatgpt": ([{"title": "A", "mapping": {"1": {"message": MESSAGE | {"create_time": 1e30}}}},
                 {"title": "B", "mapping": {"1": {"message": MESSAGE}}}], "chat A", 0),
    "claude": ([{"uuid": "1", "name": "A", "chat_messages": [{"sender": "human", "text": "Hi", "created_at": "soon"}]},
                {"uuid": "2", "name": "B", "chat_messages": [{"sender": "human", "text": "Hello"}]}], "chat A", 0),
    "list": ([{"text": "Likes rye bread", "date": "someday"}, "Likes tea"], "item 1", 1),
}  # fmt: skip


@pytest.mark.parametrize("source", REFUSED)
def test_what_a_source_cannot_take_is_named_and_the_rest_comes(source: str) -> None:
    value, where, memories = REFUSED[source]
    incoming = read_text(json.dumps(value))
    assert incoming.source == source
    assert [one.where for one in incoming.refused] == [where]
    assert incoming.refused[0].why
    assert len(incoming.memories) == memories
    assert len(incoming.memories) + len(incoming.chats) == 1


def test_a_note_with_an_unreadable_date_is_refused_and_the_other_notes_come(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("---\ntitle: One\ndate: someday\n---\n- [fact] Likes rye bread\n")
    (tmp_path / "two.md").write_text("- [fact] Likes tea\n")
    incoming = read_path(tmp_path)
    assert ([one.where for one in incoming.refused], len(incoming.memories)) == (["one.md"], 1)


BROKEN = {
    "empty": "",
    "half a list": '[{"memory": "Likes tea", "user_id": "a"},',
    "lines, one of them broken": '{"content": "Likes tea"}\n{"content": ',
    "a number": "[17]",
    "a table without texts": "name;age\nAnna;40\n",
    "a table that ends inside a quote": 'text;age\nLikes tea;1\n"Likes rye;2\n',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_broken_as_a_whole_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / ("table.csv" if ";" in text else "file.json")
    file.write_text(text)
    with pytest.raises(Invalid):
        read_path(file)


def test_other_files_are_refused_with_what_is_known(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.png", "x")
    (tmp_path / "damaged.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "none").mkdir()
    for name in ("photos.zip", "damaged.zip", "picture.png", "none"):
        with pytest.raises(Invalid):
            read_path(tmp_path / name)
    with pytest.raises(NotFound):
        read_path(tmp_path / "nothing.json")


def test_an_archive_as_it_is_downloaded_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.write(SAMPLES / "conversations-claude.json", "data-2025/conversations.json")
        archive.write(SAMPLES / "memories-claude.json", "data-2025/memories.json")
        archive.writestr("data-2025/users.json", "[]")
    incoming = read_path(tmp_path / "data.zip")
    assert (incoming.source, len(incoming.memories), len(incoming.chats)) == ("claude", 4, 1)
    whole = json.loads((SAMPLES / "conversations-chatgpt.json").read_text())
    with zipfile.ZipFile(tmp_path / "parts.zip", "w") as archive:
        for nth in range(2):
            parts = [one | {"conversation_id": f"{nth}-{one.get('id')}"} for one in whole]
            archive.writestr(f"conversations-00{nth}.json", json.dumps(parts))
        archive.writestr("conversations.json.index", "{}")
        archive.writestr("user.json", '{"id": "u"}')
    incoming = read_path(tmp_path / "parts.zip")
    once = read_path(SAMPLES / "conversations-chatgpt.json")
    assert (incoming.source, len(incoming.chats)) == ("chatgpt", 2 * len(once.chats)), "cut into parts, it is one"
    monkeypatch.setattr(source_file, "UNFOLDED", 1000)
    with pytest.raises(Invalid, match=r"data\.zip unfolds to more than 0 MB; unpack it"):
        read_path(tmp_path / "data.zip")


# --- whose book


def test_people_are_kept_apart() -> None:
    incoming = read_path(SAMPLES / "mem0-get-all.json")
    with pytest.raises(Conflict, match=r"2 people \(anna, ben\)") as asked:
        portions(incoming, "me", {})
    assert asked.value.details["people"] == ["anna", "ben"]
    with pytest.raises(Conflict, match="missing: ben"):
        portions(incoming, "me", {"anna": "anna"})
    with pytest.raises(Invalid, match="it has: anna, ben"):
        portions(incoming, "me", {"anna": "anna", "ben": "ben", "carl": "carl"})
    found = portions(incoming, "me", {"anna": "anna.h", "ben": "ben"})
    assert {owner: len(part.memories) for owner, part in found.items()} == {"anna.h": 2, "ben": 1}
    assert portions(incoming, "me", {"anna": "anna", "ben": ""}).keys() == {"anna"}


def test_who_is_not_named_is_named_as_the_question_names_them() -> None:
    records = [{"memory": "Plays", "user_id": "ben"}, {"memory": "Sings", "user_id": "anna"}, {"memory": "Is tall"}]
    incoming = read_text(json.dumps(records))
    with pytest.raises(Conflict) as asked:
        portions(incoming, "me", {})
    assert "(nobody named)" in asked.value.message
    found = portions(incoming, "me", {"ben": "", "anna": "", "(nobody named)": "anna"})
    assert {ours: [one.text for one in part.memories] for ours, part in found.items()} == {"anna": ["Is tall"]}


def test_one_record_without_a_text_makes_no_plain_list_of_the_others() -> None:
    records = [
        {"memory": "Lives in Bergen", "user_id": "anna", "categories": ["misc"], "metadata": {"category": "profile"}},
        {"text": "Likes rye bread", "user_id": "anna"},
        {"memory": "Writes verse", "agent_id": "poet"},
    ]
    found = read_text(json.dumps(records), "mem0.json")
    assert (found.source, [one.who for one in found.memories]) == ("mem0", ["anna", "agent poet"])
    assert [(one.where, one.why) for one in found.refused] == [("item 2", "it holds no text")]
    assert (found.memories[0].category, found.memories[0].tags) == ("profile", ("misc",))


def test_one_person_is_whoever_asks_whatever_they_are_called_there() -> None:
    incoming = read_text('[{"memory": "Likes tea", "user_id": "a"}, {"memory": "Likes rye"}]')
    assert portions(incoming, "me", {}) == {"me": incoming}


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (1746090000, "2025-05-01T09:00:00.000000Z"),
        (1746090000.5, "2025-05-01T09:00:00.500000Z"),
        ("2024-07-22T14:00:00.000-07:00", "2024-07-22T21:00:00.000000Z"),
        (None, None),
        ("", None),
    ],
)
def test_dates_of_other_programs(value: Any, at: str | None) -> None:
    assert parse_source_time(value) == at


def test_what_is_kept_in_other_shapes_comes_in_too() -> None:
    times = {"created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-01T00:00:00Z"}
    triples = [{"subject": "Bo", "predicate": "likes", "object": word, "context": "now"} for word in ("tea", "rye")]
    triple = {"kind": "Triple", "content": {"subject": "Alice", "predicate": "lives in", "object": "Oslo"}}
    items = [
        {"namespace": ["alice", "triples"], "key": "1", "value": triple, **times},
        {"namespace": ["alice", "profile"], "key": "2", "value": {"languages": ["Norwegian", "German"]}, **times},
        {"namespace": ["alice", "profile"], "key": "3", "value": {"address": {"city": "Oslo"}}, **times},
        {"namespace": ["alice", "triples"], "key": "4", "value": {"kind": "Triple", "content": triples}, **times},
        {"namespace": ["alice", "memories"], "key": "5", "value": ["Has a cat", {"text": "Sails"}], **times},
    ]
    assert [(one[0], one[1]) for one in told(read_text(json.dumps(items), "store.json"))] == [
        ("alice", "Alice lives in Oslo"), ("alice", "languages: Norwegian, German"), ("alice", "address city: Oslo"),
        ("alice", "Bo likes tea"), ("alice", "Bo likes rye"), ("alice", "Has a cat"), ("alice", "Sails"),
    ]  # fmt: skip
    edge = {"uuid": "e", "fact": "Alice lives in Oslo", "source_node_uuid": "n"}
    nodes = [{"uuid": "n", "name": "Alice", "summary": "A nurse from Bergen."}, {"uuid": "m", "name": "Oslo"}]
    zep = read_text(json.dumps({"edges": [edge], "nodes": nodes, "episodes": []}), "zep.json")
    assert [(one.text, one.subject) for one in zep.memories] == [
        ("A nurse from Bergen.", "Alice"), ("Alice lives in Oslo", None),
    ]  # fmt: skip
    assert [one.where for one in zep.refused] == ["node m"]
    table = read_text("text,date\nPrefers tea,05.01.2025\nRuns,31.02.2025\n", "list.csv")
    assert ([one.since for one in table.memories], len(table.refused)) == (["2025-01-05T00:00:00.000000Z"], 1)
    mem0 = [{"id": "a", "memory": "Likes tea", "user_id": "alice"}, {"id": "b", "memory": "Rhymes", "agent_id": "poet"}]
    assert read_text(json.dumps({"results": mem0}), "mem0.json").people == ("agent poet", "alice")
    alone = read_text(json.dumps({"results": mem0[1:]}), "mem0.json")
    with pytest.raises(Conflict, match="holds what agent poet keeps, which is no person; say whose book") as asked:
        portions(alone, "me", {})
    assert asked.value.details["people"] == ["agent poet"]
    assert portions(alone, "me", {"agent poet": "me"}) == {"me": alone}


def test_headings_and_projects_are_told(tmp_path: Path) -> None:
    samples = read_path(SAMPLES / "memories-claude.json")
    assert [dict(one.metadata) for one in samples.memories] == [
        {"heading": "Work context"}, {"heading": "Personal"}, {"heading": "Personal"}, {"project": "p-1"},
    ]  # fmt: skip
    notes = read_text("# Food\n- Likes rye\n\n---\n## Sports:\nRuns", "notes.txt")
    assert [dict(one.metadata) for one in notes.memories] == [{"heading": "Food"}, {"heading": "Sports"}]
    alone = read_text("# Anna\n## Sails\n## Home\nHas a cat\n**Is a baker**", "notes.txt")
    assert [one.text for one in alone.memories] == ["Anna", "Sails", "Has a cat", "Is a baker"]
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        kept = [{"conversations_memory": "Likes rye", "project_memories": {"p-1": {"n": 1}, "p-2": "Sails"}}]
        archive.writestr("memories.json", json.dumps(kept))
        archive.writestr("projects.json", json.dumps([{"name": "Boats", "docs": []}]))
    whole = read_path(tmp_path / "data.zip")
    assert [one.text for one in whole.memories] == ["Likes rye", "Sails"]
    assert [one.where for one in whole.refused] == ["project p-1", "project Boats"]


def test_what_a_note_says_beside_its_observations_comes_in(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# Bread\nFeed the starter at noon.\n- [fact] Likes rye bread\n")
    one, note = read_path(tmp_path).memories
    assert (one.text, note.text, note.body) == ("Likes rye bread", "one", "# Bread\nFeed the starter at noon.")
