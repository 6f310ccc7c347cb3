"""Export and import: what goes out comes in to the byte, on either engine, or nothing comes in at all."""

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.conftest import DEEPER, Clock, Prepared, alike_in_every_run

from keepbook import Conflict, Invalid, Keepbook, KeepbookError, NotAllowed
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, injections, proposals, quotes
from keepbook.book.owners import spending
from keepbook.book.text.quotation import Span
from keepbook.presets import load_preset

_numbers = count()


def extract(kb: Any, owner: str, content: str, score: float = 0.8, **given: Any) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules", **given)
        )


def exported(book: Any) -> str:
    file = io.StringIO()
    lines = book.export(file)
    assert file.getvalue().count("\n") == lines
    return file.getvalue()


def imported(book: Any, text: str, **how: Any) -> Any:
    return book.import_(io.StringIO(text), **how)


def is_empty(book: Any) -> bool:
    return not book.ledger() and not book.list(state="all", scope="*").total and book.inject("probe") == ""


def well_used(kb: Any, owner: str) -> Any:
    """A book in which everything has happened once."""
    book, agent = kb.book(owner), kb.book(owner, by="agent", door="mcp").acting(thread_id="chat-9")
    book.configure(preset="coach", zone="Europe/Oslo")
    oslo = book.remember("Lives in Oslo ‹é文𝔘\u202e›", category="profile", subject="Home", importance=1 / 3)
    tea = agent.remember("Prefers tea", summary="Tea", body="line\n\tline", turn_ids=["u1", 2], valid_until="2031")
    jazz = extract(kb, owner, "Seems to like jazz", 0.77, turn_ids=["u3"])
    read = agent.remember("Seems to be tired", confidence="inferred", scope="gardener")
    move = book.update(oslo.id, "Lives in Rome", valid_from="2026-05-01")
    book.undo(book.undo(move.event).event)
    book.update(tea.id, "Prefers green tea", correction=True)
    book.update(jazz.id, "Hates jazz")
    book.undo(book.ledger(limit=1)[0].event)  # the trust guard is in the way of a plain copy
    book.promote(read.id), book.demote(read.id), book.confirm(jazz.id)
    link = book.link(oslo.id, tea.id, "because_of")
    book.unlink(book.link(tea.id, jazz.id, "contradicts").id)
    book.undo(book.unlink(link.id).event)
    gone = book.remember("A secret to be purged", subject="Secret", body="most secret")
    book.link(gone.id, oslo.id, "relates_to"), book.link(tea.id, gone.id, "relates_to")
    book.inject("chat-1", preset="general"), book.inject("chat-2", preset="coach", scope="gardener")
    book.update(gone.id, "A secret to be purged soon")
    book.delete(gone.id, forever=True)
    book.inject("chat-3")
    with kb._database.write(owner) as tx:
        preset = load_preset("general")
        injections.inject(tx, preset, stamp(kb._database.clock()), "chat-1", space=injections.CHAT)
    book.forget(book.remember("To be forgotten").id, "user_corrected")
    book.delete(book.remember("To be trashed").id)
    book.undo(book.remember("To be undone").event)
    both = book.remember("Archived, then trashed")
    book.forget(both.id), book.delete(both.id)
    talk(kb, book)
    return book


def quoted(book: Any, one: Any, other: Any) -> None:
    """A quotation that was changed, one that was purged, and one of a day in a block."""
    with book.writing() as (tx, preset):
        made = quotes.quote(tx, book.origin, preset, changes.Statement(""), one.id, [Span(1, 0, 15, "said")])
        quotes.requote(tx, book.origin, preset, made.id, [Span(1, 0, 22, "said")], thread_id=one.id, correction=True)
        roses = [Span(1, 9, 24, "said")]
        purged = quotes.quote(tx, book.origin, preset, changes.Statement(""), other.id, roses, said_on="2026-03-01")
    book.delete(purged.id, forever=True)
    with book.writing() as (tx, preset):
        quotes.quote(tx, book.origin, preset, changes.Statement(""), other.id, roses, said_on="2026-03-01")
    book.inject("chat with a quotation")


@pytest.fixture
def used(prepared: Prepared, clock: Clock) -> Iterator[Any]:
    """Where alice has a book in which everything has happened once."""

    def fill(kb: Any, _: Clock) -> None:
        with alike_in_every_run():
            well_used(kb, "alice")

    with prepared("well_used", fill, clock) as (url, _), closing(Keepbook(url, clock=clock)) as kb:
        yield kb


def talk(kb: Any, book: Any) -> None:
    """Chats, notes and what waits: all that an owner has besides memories."""
    outside, own = book.thread("session-1"), book.threads.start(agent="gardener", mode="coach", focus="roses")
    outside.add("user", "I moved to Rome in May", speaker="Alice ‹é文𝔘\u202e›")
    outside.add("assistant", "Then Rome it is.", hidden="what the tool said", parts=[{"tool": "remember"}])
    own.add("user", "How do I prune the roses?")
    own.inject()
    quoted(book, outside, own)
    book.threads.start(incognito=True).add("user", "Nobody shall find this rose")
    book.threads.rename(own.id, "Roses")
    book.threads.delete(book.thread("session-2").id)
    book.notes.write("Buy soil\nand a spade"), book.notes.bookmark(own.id, 1)
    book.choose(never=["health"], tier="beginner")
    with kb._database.write(book.owner) as tx:
        for content in ("Grows roses", "Owns a spade"):
            waiting = proposals.propose(
                tx, stamp(kb._database.clock()), nature="proposal", op="add", content=content, turn_ids=["1"], score=0.6
            )
        spending.count_tokens(tx, stamp(kb._database.clock()), "close", "offline", 120, 7)
    book.proposals.decline(waiting.id)


def seen(book: Any, clock: Any, more: Sequence[Callable[[], Any]] = ()) -> Any:
    """All that can be read, at one instant."""
    clock.set("2026-06-01T00:00:00Z")
    at = clock.now
    answers = []
    for read in (
        lambda: book.list(state="all", scope="*"),
        lambda: [book.get(memory.id) for memory in book.list(state="all", scope="*")],
        lambda: book.ledger(limit=1000),
        lambda: [book.block(preset=preset) for preset in ("general", "advisor", "assistant", "coach")],
        lambda: book.inject("chat-3"),
        lambda: [book.recall(query, scope="*") for query in ("tea jazz rome", "where does she live?", "secret")],
        lambda: book.as_of(known="2026-03-01T09:00:06Z", valid="2026-05-02"),
        lambda: [(thread, book.threads.get(thread.id).messages()) for thread in book.threads.list()],
        lambda: [book.recall_chats(query) for query in ("rome", "roses", "nobody")],
        lambda: (book.notes.list(), book.proposals.list(), book.proposals.list("declined"), book.choices),
        *more,
    ):
        clock.set(at)
        answers.append(read())
    return answers


# --- there and back


def test_an_export_comes_back_to_the_byte_and_reads_the_same(used: Any, clock: Any) -> None:
    book = used.book("alice")
    text = exported(book)
    restored = used.book("alice again")

    answer = imported(restored, text)
    assert answer.memories == sum(json.loads(line)["kind"] == "memory" for line in text.splitlines())
    assert exported(restored) == text
    assert restored.verify() == book.verify()
    assert restored.verify().ok
    assert seen(restored, clock) == seen(book, clock)
    assert "secret" not in text.casefold().replace("to be", "")


def test_an_export_moves_between_the_engines_in_both_directions(both_kbs: Any) -> None:
    sqlite, postgresql = both_kbs
    for source, target in ((sqlite, postgresql), (postgresql, sqlite)):
        book = well_used(source, "alice")
        text = exported(book)
        away = target.book("alice there")
        imported(away, text)
        assert exported(away) == text
        assert away.verify().ok
        assert seen(away, target._database.clock) == seen(book, source._database.clock)
        home = source.book("alice back")
        imported(home, exported(away))
        assert exported(home) == text


def test_a_restored_book_goes_on_as_if_nothing_had_happened(used: Any) -> None:
    book = used.book("alice")
    restored = used.book("alice again")
    imported(restored, exported(book))

    last = restored.ledger(limit=1)[0].event
    tea = restored.list(subject=None, category=None, scope="*")
    assert restored.undo(last).state == "archived"
    assert restored.update(tea[0].id, "Said after the move").event == last + 2
    assert restored.remember("prefers GREEN tea").unchanged
    assert restored.inject("chat-3") == book.inject("chat-3") != ""
    assert "Said after the move" in restored.inject("chat-1")  # the purge had blanked it
    assert restored.verify().ok


def test_the_name_of_the_owner_is_not_in_the_file(kb: Any) -> None:
    kb.book("Zacharias").remember("Lives in Oslo")
    assert "zacharias" not in exported(kb.book("Zacharias")).casefold()


def test_an_export_is_deterministic_and_changes_nothing(used: Any) -> None:
    book = used.book("alice")
    assert exported(book) == exported(book)


def test_the_same_file_again_changes_nothing(used: Any) -> None:
    book = used.book("alice")
    text = exported(book)

    for again in (book, used.book("bob"), used.book("bob")):
        answer = imported(again, text)
        assert exported(again) == text
    assert answer.memories == 0
    assert answer.unchanged


def test_an_empty_book_can_be_exported_and_imported(kb: Any) -> None:
    text = exported(kb.book("nobody"))
    imported(kb.book("nobody else"), text)
    assert exported(kb.book("nobody else")) == text


@pytest.mark.parametrize(
    "use",
    [
        lambda book: book.remember("Has a cat"),
        lambda book: book.forget(book.remember("Has a cat").id),
        lambda book: book.delete(book.remember("Has a cat").id, forever=True),
        lambda book: book.inject("chat of an agent that came before the memory"),
        lambda book: book.thread("session-1").add("user", "Hello"),
        lambda book: book.notes.write("Buy soil"),
    ],
    ids=["a memory", "only a forgotten memory", "only a purged memory", "only an injection", "a chat", "a note"],
)
def test_a_book_that_is_not_empty_refuses_a_restore(used: Any, use: Any) -> None:
    text = exported(used.book("alice"))
    bob = used.book("bob")
    use(bob)
    before = exported(bob)

    with pytest.raises(Conflict):
        imported(bob, text)
    assert exported(bob) == before


def test_settings_alone_do_not_stand_in_the_way_of_a_restore(used: Any) -> None:
    text = exported(used.book("alice"))
    used.book("bob").configure(preset="advisor")

    imported(used.book("bob"), text)
    assert exported(used.book("bob")) == text


def test_an_erased_book_takes_its_export_back(used: Any) -> None:
    text = exported(used.book("alice"))
    used.book("alice").erase(confirm="alice")

    assert exported(used.book("alice")) == exported(used.book("somebody new"))
    imported(used.book("alice"), text)
    assert exported(used.book("alice")) == text


# --- what is broken


BROKEN = [
    (1, "not json"),
    (4, "{"),
    (4, '{"kind":"entry"}'),
    (5, '{"kind":"surprise"}'),
    (6, "[]"),
    (7, "null"),
    (3, '{"kind":"entry","kind":"memory"}'),
    (5, "[" * 100_000),
]


def test_a_broken_line_is_named_by_its_number_and_nothing_is_imported(used: Any) -> None:
    text = exported(used.book("alice"))

    for number, line in BROKEN:
        lines = text.splitlines()
        lines[number - 1] = line
        for how in ({}, {"merge": True}):
            with pytest.raises(Invalid, match=rf"\bline {number}\b") as refused:
                imported(used.book("bob"), "\n".join(lines), **how)
            assert refused.value.details["line"] == number
    assert is_empty(used.book("bob"))


def test_a_file_that_is_cut_off_is_refused_wherever_it_is_cut(used: Any) -> None:
    assert_refused_when_cut(used)


def assert_refused_when_cut(used: Any) -> None:
    text = exported(used.book("alice"))
    lines = text.splitlines()

    for end in range(0, len(lines), 1 if DEEPER > 1 else 4):
        with pytest.raises(Invalid):
            imported(used.book("bob"), "\n".join(lines[:end]))
    for end in (len(text) // 3, len(text) - 3):
        with pytest.raises(Invalid):
            imported(used.book("bob"), text[:end])
    for cut in (1, 7, len(lines) - 2):
        with pytest.raises(Invalid):
            imported(used.book("bob"), "\n".join(lines[:cut] + lines[cut + 1 :]))
    with pytest.raises(Invalid):
        imported(used.book("bob"), text + lines[-2] + "\n")
    assert is_empty(used.book("bob"))


def altered(text: str, kind: str, where: dict[str, Any], **to: Any) -> str:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        row = json.loads(line)
        if row["kind"] == kind and all(row[name] == value for name, value in where.items()):
            lines[number] = json.dumps(row | to)
            assert lines[number] != line
            return "\n".join(lines)
    raise AssertionError(f"no {kind} with {where}")


ALTERED = [
    ("version", {"version": 1, "content": "Prefers tea"}, {"content": "Prefers gin"}),
    ("version", {"content": "Prefers green tea"}, {"body": "another line"}),
    ("version", {"content": "Prefers green tea"}, {"valid_until": "2032-01-01T00:00:00.000000Z"}),
    ("version", {"content": "Prefers green tea"}, {"recorded_at": "2026-03-01T09:00:00.000000Z"}),
    ("version", {"content": "Prefers tea"}, {"retired_at": None}),
    ("version", {"source": "extracted", "version": 1}, {"source": "profile", "score": None}),
    ("version", {"source": "extracted", "version": 1}, {"score": 0.99}),
    ("memory", {"subject": "Home"}, {"subject": "Away"}),
    ("memory", {"subject": "Home"}, {"confidence": "inferred"}),
    ("memory", {"subject": "Home"}, {"updated_at": "2026-03-01T09:00:00.000000Z"}),
    ("memory", {"archived_reason": "user_corrected"}, {"archived_at": None, "archived_reason": None}),
    ("link", {"relation": "because_of"}, {"relation": "contradicts"}),
    ("link", {"relation": "contradicts"}, {"removed_at": None}),
    ("entry", {"seq": 3}, {"actor": "person"}),
    ("entry", {"seq": 3}, {"at": "2026-03-01T09:00:00.500000Z"}),
    ("entry", {"seq": 4}, {"hash": "0" * 64}),
    ("entry", {"seq": 4}, {"salt": "0" * 32}),
    ("entry", {"seq": 4}, {"salt": None, "before": None, "after": None}),
    ("entry", {"seq": 5}, {"after": "{}"}),
    ("entry", {"action": "configure"}, {"after": '{"preset":"coach","zone":"Asia/Tokyo"}'}),
    ("owner", {"preset": "coach"}, {"zone": "Asia/Tokyo"}),
    ("entry", {"action": "purge"}, {"after": "null"}),
    ("entry", {"action": "remember", "salt": None}, {"before": "null"}),
]


def test_what_was_altered_is_refused_and_nothing_is_imported(used: Any) -> None:
    text = exported(used.book("alice"))

    answers = {}
    for kind, where, to in ALTERED:
        try:
            imported(used.book("bob"), altered(text, kind, where, **to))
            answers[kind, str(to)] = "imported"
        except KeepbookError as error:
            answers[kind, str(to)] = error.code
    assert {name: answer for name, answer in answers.items() if answer != "altered"} == {}
    assert is_empty(used.book("bob"))


SEALED = ("entry", "memory", "version", "link")
"""Lines that the ledger's hashes cover. Settings, chats, and what was shown or erased when stand outside."""

ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"), 1e308]),
    st.sampled_from(["", "x", "*", "\x00", "\ud800", "2026-03-01T09:00:00.000000Z", "{}", "[]", "null", "a" * 600]),
    st.just([]),
    st.just({"a": [1]}),
)


@pytest.fixture
def whole(kb: Any, alike: None) -> str:
    """A book in which everything has happened once, as it was exported: every example alters the same."""
    return exported(well_used(kb, "alice"))


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # an example is one value: nothing to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_altered_value_is_refused_or_harmless_and_never_half_imported(
    kb: Any, whole: str, data: st.DataObject
) -> None:
    assert_refused_or_harmless(kb, whole, data)


def assert_refused_or_harmless(kb: Any, whole: str, data: st.DataObject) -> None:
    """With one value of the file altered."""
    lines = whole.splitlines()
    rows = [json.loads(line) for line in lines]
    number = data.draw(st.integers(0, len(lines) - 1))
    name = data.draw(st.sampled_from(sorted(rows[number])))
    row = rows[number] | {name: data.draw(ODD_VALUES)}
    lines[number] = json.dumps(row)
    if row == rows[number]:
        return
    # Of what was purged no salt is left to check the blank rows by; the entries are in the chain all the same.
    purged = {row["memory_id"] for row in rows if row["kind"] == "erasure"}
    blank = {rows[number].get("id"), rows[number].get("memory_id")} & purged and row["kind"] != "entry"

    bob = kb.book(f"bob {next(_numbers)}")
    try:
        imported(bob, "\n".join(lines))
    except KeepbookError:
        assert exported(bob) == exported(kb.book("nobody"))
    else:
        assert row["kind"] not in SEALED or blank
        assert bob.verify().ok
        assert [json.loads(line) for line in exported(bob).splitlines()] == [json.loads(line) for line in lines]


@pytest.mark.parametrize("text", ["", "\n\n", "   "])
def test_a_file_without_a_line_is_refused(alice: Any, text: str) -> None:
    with pytest.raises(Invalid):
        imported(alice, text)


FORMAT_2 = (Path(__file__).parent / "format_2.jsonl").read_text(encoding="utf-8")
"""An export from before quotations: with an update, a purge, injections before and after it, and a proposal."""


def test_a_file_from_before_quotations_is_read_with_every_line_a_note(kb: Any) -> None:
    book = kb.book("alice")
    assert imported(book, FORMAT_2).memories == 3
    assert book.verify().ok
    kept = {memory.content: memory for memory in book.list()}
    assert set(kept) == {"Lives in Rome", "Plays the cello"}
    assert not any(memory.quoted or memory.spans or memory.said_on for memory in kept.values())
    assert imported(book, FORMAT_2).memories == 0, "the same file again changes nothing"
    now = [json.loads(line) for line in exported(book).splitlines()]
    assert now[0]["format"] == 3
    again = kb.book("bob")
    imported(again, exported(book))
    assert exported(again) == exported(book)
    assert again.inject("session-1") == book.inject("session-1")


def test_a_file_from_before_quotations_that_was_altered_is_refused(kb: Any) -> None:
    for old, new in (("Plays the cello", "Plays the viola"), ('"nth":3,"preset"', '"nth":4,"preset"')):
        assert old in FORMAT_2
        with pytest.raises(Invalid) as refused:
            imported(kb.book("alice"), FORMAT_2.replace(old, new))
        assert refused.value.code == "altered"
        *lines, last = FORMAT_2.replace(old, new).splitlines()
        sum_ = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
        with pytest.raises(Invalid) as refused:
            imported(kb.book("alice"), "\n".join([*lines, json.dumps(json.loads(last) | {"sum": sum_})]))
        assert refused.value.code == "altered"


def test_a_quotation_cannot_be_put_into_an_older_file(kb: Any) -> None:
    forged = FORMAT_2.replace('"kind":"version"', '"kind":"version","quoted":1')
    with pytest.raises(Invalid):
        imported(kb.book("alice"), forged)


def test_a_file_of_another_format_is_refused(alice: Any) -> None:
    with pytest.raises(Invalid, match="format"):
        imported(alice, '{"kind":"keepbook","format":999}\n{"kind":"end","lines":0}\n')


def test_a_file_that_is_not_text_is_refused(alice: Any) -> None:
    with pytest.raises(Invalid):
        alice.import_(io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00{"), encoding="utf-8"))


# --- merging


def test_a_merge_adds_what_is_active_with_new_ids_as_imported(used: Any) -> None:
    source = used.book("alice")
    bob = used.book("bob")
    bob.remember("Prefers green tea", body="bob's own")
    active = source.list(scope="*")

    answer = imported(bob, exported(source), merge=True)
    kept = {memory.content: memory for memory in bob.list(scope="*")}
    assert kept.keys() == {memory.content for memory in active}
    assert (answer.memories, answer.unchanged) == (len(active) - 1, 1)
    assert not {memory.id for memory in kept.values()} & {memory.id for memory in active}
    for memory in active:
        twin = kept[memory.content]
        if memory.content == "Prefers green tea":
            assert (twin.source, twin.body) == ("profile", "bob's own")
            continue
        same = ("subject", "scope", "summary", "body", "importance", "valid_from", "valid_until")
        assert [getattr(twin, name) for name in same] == [getattr(memory, name) for name in same]
        assert (twin.source, twin.score, twin.version) == ("imported", None, 1)
    assert bob.verify().ok
    again = imported(bob, exported(source), merge=True)
    assert (again.memories, again.unchanged) == (0, len(active))


def test_a_merge_leaves_out_what_the_person_wants_out(kb: Keepbook) -> None:
    source, bob = kb.book("alice"), kb.book("bob")
    for line in ("Has diabetes type 2", "Has a tabby cat", "Likes rivers"):
        source.remember(line)
        bob.remember(line)
    source.remember("Eats at six", tags=["diabetes"])
    sent = exported(source)
    for memory in bob.list():
        bob.delete(memory.id, forever="diabetes" in memory.content)
    bob.choose(never=["health"])
    bob.restore(bob.list(state="trash", q="rivers").items[0].id)
    answer = imported(bob, sent, merge=True)
    assert [memory.content for memory in bob.list()] == ["Likes rivers"]
    assert (answer.memories, answer.unchanged) == (0, 1)
    assert {one.why for one in answer.refused} == {
        "you asked never to keep anything about health", "you have put it away since",
    }  # fmt: skip
    bob.choose(memory=False)
    with pytest.raises(NotAllowed, match="memory is switched off"):
        imported(bob, sent, merge=True)


FOREIGN = {
    "lines": '{"content": "Prefers tea", "category": "preference"}\n\n{"content": "Lives in Oslo"}\n',
    "windows lines": '{"content": "Prefers tea", "category": "preference"}\r\n{"content": "Lives in Oslo"}\r\n',
    "texts": '"Prefers tea"\n"Lives in Oslo"',
    "a list": '[{"content": "Prefers tea"}, {"content": "Lives in Oslo", "category": "home"}]',
    "a list of texts": '["Prefers tea", "Lives in Oslo"]',
    "a list over several lines": json.dumps([{"content": "Prefers tea"}, {"content": "Lives in Oslo"}], indent=2),
    "records of mem0": (
        '{"id": "8f0c", "memory": "Prefers tea", "hash": "9a", "user_id": "u", "metadata": {}}\n'
        '{"id": "8f0d", "memory": "Lives in Oslo", "metadata": {"category": "profile"}, "score": 0.9}'
    ),
    "an answer of mem0": '{"results": [{"memory": "Prefers tea", "id": "8f"}, {"memory": "Lives in Oslo"}]}',
    "other names": '{"text": "Prefers tea"}\n{"fact": "Lives in Oslo", "source": "profile", "id": "abcdefgh"}',
}  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_goes_through_remember(alice: Any, text: str) -> None:
    alice.remember("Has a cat")

    answer = imported(alice, text)
    assert answer.memories == 2
    assert {(memory.content, memory.source) for memory in alice.list()} == {
        ("Has a cat", "profile"),
        ("Prefers tea", "imported"),
        ("Lives in Oslo", "imported"),
    }
    assert all(memory.category in load_preset("general").categories for memory in alice.list())
    assert "abcdefgh" not in [memory.id for memory in alice.list()]
    assert imported(alice, text).unchanged == 2
    assert alice.verify().ok


@pytest.mark.parametrize(
    ("number", "line"),
    [(3, '{"title": "No text"}'), (2, "17"), (3, "{")],
)
def test_a_foreign_line_that_holds_no_text_is_named_and_nothing_is_imported(alice: Any, number: int, line: str) -> None:
    lines = ['{"content": "Prefers tea"}', '{"content": "Lives in Oslo"}', '{"content": "Has a cat"}']
    lines[number - 1] = line

    with pytest.raises(Invalid, match=rf"\bline {number}\b"):
        imported(alice, "\n".join(lines))
    assert is_empty(alice)


@pytest.mark.parametrize("line", ['{"content": "abc"}', '{"content": "a\\u0000bcd"}'])
def test_a_foreign_line_that_cannot_be_kept_is_named_and_the_rest_comes(alice: Any, line: str) -> None:
    answer = imported(alice, f'{{"content": "Prefers tea"}}\n{line}')
    assert ([one.where for one in answer.refused], answer.memories) == (["line 2"], 1)


def test_a_foreign_file_asks_nobody_first(alice: Any) -> None:
    alice.configure(preset="assistant")
    alice.remember("Sara works at the bank", subject="Sara")

    assert imported(alice, '{"content": "Sara moved to Design", "subject": "Sara"}').memories == 1


# --- any book

STEPS = [
    *("remember", "remember", "extract", "update", "correct", "forget", "delete", "restore", "confirm", "promote"),
    *("demote", "link", "link", "unlink", "inject", "inject", "undo", "undo", "purge"),
]
walks = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9)), min_size=12, max_size=30)


def take(kb: Any, book: Any, name: str, one: int, other: int) -> None:
    fresh = next(_numbers)
    ids = [memory.id for memory in book.list(state="all", limit=1000)]
    if not ids or name == "remember":
        book.remember(f"Said {fresh}", importance=other / 9, confidence=("asserted", "inferred")[one % 2])
        return
    id = ids[one % len(ids)]
    if name == "extract":
        extract(kb, book.owner, f"Found {fresh}", other / 9)
    elif name in ("update", "correct"):
        book.update(id, f"Told {fresh}", correction=name == "correct", subject=("", "Sara", None)[other % 3])
    elif name == "link":
        book.link(id, ids[other % len(ids)], ("relates_to", "because_of")[one % 2])
    elif name == "unlink":
        book.unlink(book.get(id).links[other % len(book.get(id).links)].id)
    elif name == "inject":
        book.inject(f"session {other}", preset=("general", "coach")[one % 2])
    elif name == "undo":
        entries = book.ledger(limit=4)
        book.undo(entries[other % len(entries)].event)
    elif name == "purge":
        book.delete(id, forever=True)
    else:
        getattr(book, name)(id)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walks)
def test_any_book_moves_to_the_other_engine_and_back_to_the_byte(
    both_kbs: Any, alike: None, walk: list[tuple[str, int, int]]
) -> None:
    sqlite, postgresql = both_kbs
    owner = f"walker {next(_numbers)}"
    book = sqlite.book(owner)
    for step in walk:
        with suppress(KeepbookError, ZeroDivisionError):  # what the book refuses is no step
            take(sqlite, book, *step)
    text = exported(book)
    assert book.verify().ok

    away = postgresql.book(owner)
    imported(away, text)
    assert exported(away) == text
    home = sqlite.book(f"{owner} back")
    imported(home, exported(away))
    assert exported(home) == text
    assert away.verify() == home.verify() == book.verify()
