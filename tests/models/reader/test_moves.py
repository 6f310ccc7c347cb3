"""Readers of moves: one contract, places that lie in the text, a verdict that asks rather than guesses, linear cost."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.growth import grows_in_step

from keepbook.models.reader import model_files
from keepbook.models.reader.choice import linear_move_reader, open_move_reader
from keepbook.models.reader.move_reader.move_doubt import deed
from keepbook.models.reader.move_reader.move_pairs import PAIR_TIES, PairReading, candidates, line_named, with_pairs
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.move_reader.move_windows import CORE, MoveCoder
from keepbook.models.reader.moves import (
    DEEDS,
    MOST_LINES,
    MOVES,
    RESTS,
    Move,
    MoveBars,
    MoveLine,
    MoveReader,
    idle_move,
)
from keepbook.models.reader.pins import SHA256
from keepbook.models.reader.values import ReaderTurn

BOOK = [
    MoveLine("m1", "I work at Equinor", "memory"),
    MoveLine("m2", "My sister Clare lives in Leeds", "memory"),
    MoveLine("m3", "I live in Oslo", "memory"),
]
CHAT = [
    ReaderTurn("user", "We keep fourteen hives on the roof."),
    ReaderTurn("assistant", "Lovely. And how is your sister?"),
    ReaderTurn("user", "oh clare moved, york since june. can you draft a card? ขอบคุณ  "),
]
PLACES = 512
"""Tokens that the base has places for."""
PIECES = [(0, 3), (3, 16), (16, 33), (33, 55), (55, 61), (61, 63)]


@pytest.fixture(params=[open_move_reader, linear_move_reader], ids=["encoder", "linear"])
def reader(request: pytest.FixtureRequest) -> MoveReader:
    opened: Callable[[], MoveReader] = request.param
    return opened()


def one(reader: MoveReader, text: str) -> Move:
    return reader.moves([ReaderTurn("user", text)], 0, [(0, len(text))], BOOK)[0]


def test_the_better_reader_is_opened() -> None:
    assert (open_move_reader().name, linear_move_reader().name) == ("encoder", "linear")
    assert open_move_reader() is open_move_reader()


def test_a_move_for_every_piece_says_all_it_should(reader: MoveReader) -> None:
    moves = reader.moves(CHAT, 2, PIECES, BOOK)
    assert [(move.start, move.end) for move in moves] == PIECES
    for move in moves:
        assert tuple(move.acts) == MOVES
        assert sum(move.acts.values()) == pytest.approx(1, abs=1e-4)
        assert sum(move.rest.values()) == pytest.approx(1, abs=1e-4)
        assert tuple(move.rest) == RESTS
        for chance in (*move.points.values(), move.mistake, move.ahead, move.own, move.unsure):
            assert 0 <= chance <= 1
        assert f"2:{move.start}" not in move.points


def test_places_lie_in_their_texts(reader: MoveReader) -> None:
    contents = {line.id: line.content for line in BOOK}
    contents |= {f"2:{start}": CHAT[2].text[start:end] for start, end in PIECES}
    for move in reader.moves(CHAT, 2, PIECES, BOOK):
        for name, (start, end, _) in move.old.items():
            assert 0 <= start < end <= len(contents[name])
        if move.new:
            assert move.start <= move.new[0] < move.new[1] <= move.end
        for need in move.needs:
            assert 0 <= need.start < need.end <= len(CHAT[need.turn].text)
        assert move.who is None or move.who in CHAT[2].text


def test_the_same_turn_is_read_the_same_way(reader: MoveReader) -> None:
    assert reader.moves(CHAT, 2, PIECES, BOOK) == reader.moves(CHAT, 2, PIECES, BOOK)


def test_later_turns_are_not_read(reader: MoveReader) -> None:
    later = [*CHAT, ReaderTurn("user", "No, forget all that.")]
    assert reader.moves(later, 2, PIECES, BOOK) == reader.moves(CHAT, 2, PIECES, BOOK)


def test_more_lines_than_are_read_are_left(reader: MoveReader) -> None:
    many = [MoveLine(f"x{at}", f"I own {at} goats", "memory") for at in range(40)]
    found = one_of_many(reader, many)
    assert set(found.points) == {line.id for line in many[:MOST_LINES]}


def one_of_many(reader: MoveReader, lines: list[MoveLine]) -> Move:
    return reader.moves([ReaderTurn("user", "I sold the goats")], 0, [(0, 16)], lines)[0]


def test_no_words_and_no_lines(reader: MoveReader) -> None:
    assert reader.moves([ReaderTurn("user", "")], 0, [], []) == []
    assert reader.moves([ReaderTurn("user", "  ")], 0, [(0, 2)], [])[0].act == "talk"


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Please forget what I said about my salary.", "withdraw"),
        ("never remember anything about my health", "never"),
        ("please remember that my bike is red", "keep"),
        ("undo that", "undo"),
        ("don't forget the milk", "talk"),
    ],
)
def test_plain_orders_are_heard(reader: MoveReader, text: str, act: str) -> None:
    assert one(reader, text).act == act


def test_a_change_points_at_its_line_and_shows_both_values() -> None:
    text = "oh and clare moved, york since june"
    move = one(open_move_reader(), text)
    assert move.act == "change"
    assert max(move.points, key=lambda name: move.points[name]) == "m2"
    assert BOOK[1].content[slice(*move.old["m2"][:2])] == "Leeds"
    assert move.new is not None
    assert text[slice(*move.new[:2])] == "york"


def test_what_only_sounds_alike_changes_nothing() -> None:
    reader = open_move_reader()
    for text in (
        "i work out three times a week now",
        "my colleague lives in Leeds too",
        "if I lived in Bergen I'd sail",
    ):
        verdict = reader.bars.verdict(one(reader, text))
        assert (text, verdict.how == "done") == (text, False)


def test_the_linear_reader_never_changes_ends_or_answers() -> None:
    bars = linear_move_reader().bars
    assert all(bars.sure[act] > 1 for act in ("change", "end", "answer"))


CAREFUL = dict.fromkeys(MOVES, 0.3)
BARS = MoveBars(dict.fromkeys(MOVES, 0.8), dict.fromkeys(MOVES, 0.4), 0.7, 0.3, 0.6, 0.5, 0.5, 0.5, 0.5, CAREFUL)


def meaning(act: str, chance: float, **points: float) -> Move:
    acts = dict.fromkeys(MOVES, 0.0) | {act: chance, "talk": 1 - chance}
    return replace(idle_move(0, 9), acts=acts, points=points)


def test_done_asked_or_nothing() -> None:
    assert BARS.verdict(meaning("change", 0.9, m1=0.9)).how == "done"
    assert BARS.verdict(meaning("change", 0.9, m1=0.9)).lines == ("m1",)
    assert BARS.verdict(meaning("change", 0.5, m1=0.9)).how == "asked"
    assert BARS.verdict(meaning("change", 0.2, m1=0.9)).how == "nothing"


def test_two_lines_or_a_doubtful_one_are_asked_about() -> None:
    assert BARS.verdict(meaning("change", 0.9, m1=0.9, m2=0.8)).how == "asked"
    assert BARS.verdict(meaning("end", 0.9, m1=0.9, m2=0.4)).how == "asked"
    assert BARS.verdict(meaning("withdraw", 0.9, m1=0.9, m2=0.8)).how == "done"
    assert BARS.verdict(meaning("withdraw", 0.9, m1=0.9, m2=0.4)).how == "asked"
    assert BARS.verdict(meaning("withdraw", 0.9, m1=0.1)).how == "asked"


def test_doubt_about_the_deed_is_asked_about() -> None:
    assert BARS.verdict(replace(meaning("withdraw", 0.9, m1=0.9), unsure=0.5)).how == "asked"


def test_a_topic_and_what_is_being_said_need_no_line() -> None:
    assert BARS.verdict(meaning("never", 0.9)).how == "done"
    assert BARS.verdict(meaning("keep", 0.9)).how == "done"
    assert BARS.verdict(replace(meaning("withdraw", 0.9), ahead=0.9)).how == "done"


def test_an_undo_needs_no_line() -> None:
    assert BARS.verdict(meaning("undo", 0.9)).how == "done"


def pair(none: float, **acts: float) -> PairReading:
    ties = dict.fromkeys(PAIR_TIES, 0.0) | {"none": none}
    return PairReading(ties, dict.fromkeys(MOVES, 0.0) | acts, {"unsure": 0.2, "ahead": 0.4})


def test_what_both_readings_say_is_likelier_than_what_one_says() -> None:
    first = meaning("change", 0.6, m1=0.8, m2=0.8, m3=0.3)
    both = with_pairs(first, {None: pair(0.5, change=0.9, talk=0.1), "m1": pair(0.1, change=0.9), "m2": pair(0.9)})
    assert both.acts["change"] > 0.6 > both.acts["talk"]
    assert sum(both.acts.values()) == pytest.approx(1)
    assert both.points["m1"] > first.points["m1"] > both.points["m2"] > both.points["m3"] == first.points["m3"]
    assert with_pairs(first, {}) == first


def test_the_second_reading_is_of_the_likeliest_lines_and_no_answers() -> None:
    lines = [*BOOK, MoveLine("q", "Is it over?", "question"), MoveLine("q/yes", "Yes", "choice")]
    asked = MoveRequest(CHAT, 2, PIECES, lines)
    points = {"m1": 0.1, "m2": 0.9, "m3": 0.2, "2:0": 0.3, "q": 0.99, "q/yes": 0.99}
    assert candidates(asked, meaning("change", 0.9, **points)) == ["m2", "2:0", "m3"]
    assert line_named(asked, "2:3").content == CHAT[2].text[3:16]


def test_the_figures_are_of_the_weights_that_are_shipped() -> None:
    figures = json.loads((Path(__file__).parents[3] / "training/move_figures.json").read_text())
    assert figures["weights"] == {name: SHA256[name] for name in ("moves.npz", "pairs.npz", "moves.bin")}
    assert sum(len(model_files.read_pinned(name)) for name in figures["weights"]) < 5_000_000
    assert figures["left-out hands"]["encoder"]["all"]["done_wrong"] <= 0.01
    assert figures["left-out hands, decided"]["all"]["done_wrong"] <= 0.01


def test_what_would_be_done() -> None:
    assert deed(meaning("change", 0.9, m1=0.2, m2=0.4)) == ("change", ("m2",))
    assert deed(meaning("withdraw", 0.9, m1=0.6, m2=0.7)) == ("withdraw", ("m2", "m1"))
    assert deed(meaning("change", 0.9)) is None
    choices = replace(meaning("answer", 0.9), points={"q1/yes": 0.9, "q1": 0.99})
    assert deed(choices) == ("answer", ("q1/yes",))


def test_the_bars_know_every_act() -> None:
    for name in ("moves", "moves_linear"):
        bars = model_files.chosen_moves(name).bars
        assert set(bars.sure) == set(bars.likely) == set(MOVES)
        assert set(DEEDS) < set(MOVES)
        assert 0 < bars.point_likely < bars.point_sure < 1


def test_windows_are_bounded_and_judge_each_piece_once() -> None:
    pytest.importorskip("tokenizers")
    from keepbook.models.minilm.inference import open_minilm
    from keepbook.models.minilm.weight_files import find_base

    base = find_base()
    assert base is not None
    coder = MoveCoder(open_minilm(base).tokenizer())
    text = "My sister lives in Harrow and we talk on Sundays. " * 60
    pieces = [(at, at + 50) for at in range(0, len(text), 50)]
    lines = [MoveLine(f"x{at}", "I own goats and " * 30, "memory") for at in range(MOST_LINES)]
    turns = [ReaderTurn("assistant", "What else? " * 400), ReaderTurn("user", text)]
    windows = coder.windows(turns, 1, pieces, lines)
    judged = [window.pieces[row][0] for window in windows for row in window.judged]
    assert judged == list(range(len(pieces)))
    for window in windows:
        assert len(window.ids) == len(window.types) == len(window.places)
        assert len(window.ids) <= PLACES
        assert sum(window.types) <= CORE
        assert len(window.lines) == MOST_LINES


@pytest.mark.parametrize(("opened", "letters"), [(open_move_reader, 4_000), (linear_move_reader, 40_000)])
def test_cost_is_linear_in_the_text(opened: Callable[[], MoveReader], letters: int) -> None:
    reader = opened()

    def read(letters: int) -> None:
        text = ("My sister lives in Harrow and we talk on Sundays, " * (letters // 50 + 1))[:letters]
        pieces = [(at, min(at + 50, letters)) for at in range(0, letters, 50)]
        assert len(reader.moves([ReaderTurn("user", text)], 0, pieces, BOOK)) == len(pieces)

    assert grows_in_step(read, letters)
