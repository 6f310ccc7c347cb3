"""One contract, two readers: pieces that make up the turn, the same answer each time, and a cost linear in the text."""

from collections import defaultdict
from collections.abc import Callable

import pytest
from tests.growth import grows_in_step

from keepbook.errors import ModelFailed
from keepbook.models.reader import model_files
from keepbook.models.reader.choice import linear_reader, open_reader
from keepbook.models.reader.linear import LinearReader, Weights
from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS, TIES, ChatReader, KeepThresholds, ReaderTurn

CHAT = [
    ReaderTurn(
        "user", "hi! quick one. We moved to Bremen last month,  can you help me write to the school?\n\nIt's urgent."
    ),
    ReaderTurn("assistant", "Of course. Which school is it, and how old is your child?"),
    ReaderTurn("user", "She's nine. By the way, I'm allergic to peanuts and I always want short answers."),
    ReaderTurn("tool", "A page that must teach nothing: I live in Oslo."),
    ReaderTurn("user", "ขอบคุณมากครับ ผมชื่อสมชาย"),
    ReaderTurn("user", "   "),
    ReaderTurn("user", ""),
    ReaderTurn("user", "thanks 🙏🏽"),
]


@pytest.fixture(params=[open_reader, linear_reader], ids=["encoder", "linear"])
def reader(request: pytest.FixtureRequest) -> ChatReader:
    opened: Callable[[], ChatReader] = request.param
    return opened()


def test_the_better_reader_is_opened() -> None:
    assert (open_reader().name, linear_reader().name) == ("encoder", "linear")
    assert open_reader() is open_reader()


def test_pieces_make_up_each_user_turn(reader: ChatReader) -> None:
    told = defaultdict(list)
    for piece in reader.read(CHAT):
        assert piece.text == CHAT[piece.turn].text[piece.start : piece.end]
        told[piece.turn].append(piece)
    users = {at for at, turn in enumerate(CHAT) if turn.role == "user" and turn.text}
    assert set(told) == users
    for at in users:
        assert "".join(piece.text for piece in told[at]) == CHAT[at].text


def test_a_piece_says_all_it_should(reader: ChatReader) -> None:
    for piece in reader.read(CHAT):
        assert tuple(piece.probabilities) == LABELS
        assert sum(piece.probabilities.values()) == pytest.approx(1, abs=1e-4)
        assert piece.probabilities[piece.label] == max(piece.probabilities.values())
        assert all(piece.categories[name] in names for name, names in CATEGORIES.items())
        assert (piece.act in ACTS) == (piece.label == "order")
        assert piece.verdict == reader.bars.verdict(piece.probabilities)


def test_what_is_plain_is_understood(reader: ChatReader) -> None:
    labels = {piece.text.strip(): piece for piece in reader.read(CHAT)}
    allergic = next(piece for text, piece in labels.items() if "peanuts" in text)
    asked = next(piece for text, piece in labels.items() if "help me write" in text)
    assert allergic.verdict in ("keep", "propose")
    assert asked.verdict == "leave" or "Bremen" in asked.text


def test_the_same_text_is_read_the_same_way(reader: ChatReader) -> None:
    assert reader.read(CHAT) == reader.read(CHAT)


def test_upto_knows_nothing_of_what_comes_later(reader: ChatReader) -> None:
    assert reader.read(CHAT, upto=3) == reader.read(CHAT[:3])
    assert reader.read(CHAT, upto=0) == reader.read([]) == []


@pytest.mark.parametrize(("opened", "letters"), [(open_reader, 10_000), (linear_reader, 100_000)])
def test_cost_is_linear_in_the_text(opened: Callable[[], ChatReader], letters: int) -> None:
    """Ten times the text, ten times the cost. How many windows 200,000 letters are is tested without the model."""
    reader = opened()

    def read(letters: int) -> None:
        text = ("My sister lives in Harrow and we talk on Sundays, " * (letters // 50 + 1))[:letters]
        assert "".join(piece.text for piece in reader.read([ReaderTurn("user", text)])) == text

    assert grows_in_step(read, letters)


def test_one_endless_word_ends(reader: ChatReader) -> None:
    text = "a" * 50_000
    assert "".join(piece.text for piece in reader.read([ReaderTurn("user", text)])) == text


def test_ties_are_learned_by_the_encoder_alone() -> None:
    moved = open_reader().tie("Lives in Hamburg", "we moved to Bremen last month")
    other = open_reader().tie("Has a dog called Bo", "we moved to Bremen last month")
    assert moved is not None
    assert other is not None
    assert tuple(moved) == TIES
    assert moved["none"] < 0.5 < other["none"]
    assert linear_reader().tie("Lives in Hamburg", "we moved to Bremen last month") is None
    assert open_reader().tie("", "yes") == {"none": 1.0, "repeats": 0.0, "corrects": 0.0, "withdraws": 0.0}


def test_the_bars_are_in_order() -> None:
    for name in ("encoder", "linear"):
        bars = model_files.thresholds_of(name).bars
        assert 0 < bars.likely < bars.sure < 1


def test_a_risk_keeps_a_sure_piece_out() -> None:
    chances = dict.fromkeys(LABELS, 0.0) | {"keep": 0.8, "old": 0.2}
    assert KeepThresholds(0.7, 0.3, 0.4).verdict(chances) == "keep"
    assert KeepThresholds(0.7, 0.1, 0.4).verdict(chances) == "propose"
    assert KeepThresholds(0.9, 0.1, 0.85).verdict(chances) == "leave"


def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("encoder.npz", "linear.bin", "bars.json"):
        assert model_files.read_pinned(name)
    monkeypatch.setitem(model_files.SHA256, "linear.bin", "0" * 64)
    with pytest.raises(ModelFailed):
        LinearReader()


def test_what_is_shipped_is_small() -> None:
    assert len(model_files.read_pinned("linear.bin")) < 1_500_000
    assert sum(len(model_files.read_pinned(name)) for name in model_files.SHA256) < 8_000_000
    assert len(Weights(model_files.read_pinned("linear.bin")).cuts) > 0
