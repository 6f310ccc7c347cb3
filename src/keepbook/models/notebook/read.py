"""Reads the clauses of a turn: where they lie, whether they are worth keeping, and what each does to the book.

For English the reader was trained: it cuts and judges, the move reader says what a clause does. In the other languages
of the closed lists a turn is cut into sentences, which are offered as they stand; elsewhere nothing is offered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise

from keepbook.book.memory.questions import plain_choices
from keepbook.book.text.language import language
from keepbook.book.text.own_words import read_own_words
from keepbook.book.text.sentences import sentences
from keepbook.models.notebook.feelings import Feeling, feeling_of
from keepbook.models.notebook.lists.cuts import may_begin, may_cut
from keepbook.models.notebook.lists.orders import orders_of_turn
from keepbook.models.notebook.values import NOTEBOOK, ChatTurn, Scene
from keepbook.models.reader.moves import Move, MoveLine, MoveReader, Need
from keepbook.models.reader.values import ChatReader, PieceVerdict, ReaderPiece, ReaderTurn

PLAIN_WORD = "Good to know. What else can I help you with?"
"""The reply that the reader is shown in place of the notebook's own: it was trained on chats with an assistant."""
CONTEXT = 8
"""How many turns before this one the reader is shown."""
OFFERED_LANGUAGES = ("de", "es", "nb", "fr")
FEW_WORDS = 5
"""A turn of so few words is taken for English where its language cannot be told."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of the turn (`text[start:end]` of what is stored), as it was read."""

    start: int
    end: int
    text: str
    label: str
    keep: float
    verdict: PieceVerdict
    categories: tuple[str, ...]
    move: Move


@dataclass(frozen=True, slots=True)
class Understood:
    """A turn as it was read. `unread`: it had more own words than are read; `feeling`: it tells one of the moment."""

    clauses: tuple[Clause, ...]
    language: str
    unread: bool = False
    feeling: Feeling | None = None


@lru_cache(maxsize=1)
def shared_reader() -> ChatReader:
    """The reader of this installation, opened once."""
    from keepbook.models.reader.choice import open_reader  # with the first text: it may load numpy

    return open_reader()


@lru_cache(maxsize=1)
def shared_moves() -> MoveReader:
    """The reader of moves of this installation, opened once."""
    from keepbook.models.reader.choice import open_move_reader  # as above

    return open_move_reader()


def understand(
    scene: Scene,
    later: Sequence[ChatTurn] = (),
    *,
    reader: ChatReader | None = None,
    moves: MoveReader | None = None,
) -> Understood:
    """Read the last turn of a scene, clause by clause. In a chat that has gone on, what was said `later` tells whether
    it is worth keeping."""
    turn = scene.turn
    own = read_own_words(turn.text)
    texts = [turn.text[start:end] for start, end in own.spans]
    compact = "\n".join(texts)
    tongue = turn_language(compact)
    if not compact.strip() or tongue == "unknown":
        return Understood((), tongue, own.unread)
    earlier = scene.turns[:-1][-CONTEXT:]
    here = len(earlier)
    if tongue == "en":
        after = (as_read(one) for one in later[:CONTEXT])
        shown = (*(as_read(one) for one in earlier), ReaderTurn("user", compact), *after)
        pieces = _whole_sentences(compact, (reader or shared_reader()).read(shown, only=here))
    else:
        pieces = _sentence_pieces(compact, here)
    pieces = _cut_around_orders(compact, pieces)
    places = _stored_places(own.spans)
    cut = [piece for whole in pieces for piece in _cut_at(whole, places)]
    lines = _lines(scene)
    spoken = (*(ReaderTurn(one.role, _text_for_reader(one)) for one in earlier), ReaderTurn("user", compact))
    found = (moves or shared_moves()).moves(spoken, here, [(one.start, one.end) for one in cut], lines)
    names = {f"{here}:{piece.start}": f"{OWN}{at}" for at, piece in enumerate(cut)}
    clauses = [_clause(scene, piece, move, places, here, names) for piece, move in zip(cut, found, strict=True)]
    feeling = None
    if tongue == "en":
        feeling = feeling_of(compact, scene.sense)
    return Understood(tuple(clauses), tongue, own.unread, feeling)


def _whole_sentences(text: str, pieces: Sequence[ReaderPiece]) -> list[ReaderPiece]:
    """The pieces, joined where nobody can tell that a cut leaves nothing behind which governs what is said."""
    begins = {start for start, _ in sentences(text)}
    ordered = {edge for order in orders_of_turn(text) for edge in (order.start, order.rest_start, order.rest_end)}
    joined: list[ReaderPiece] = []
    for piece in pieces:
        before = None
        if joined:
            before = joined[-1]
        if before is None or piece.start in ordered or _is_cut(before, piece, piece.start in begins):
            joined.append(piece)
        else:
            joined[-1] = _joined(text, before, piece)
    return joined


def _cut_around_orders(text: str, pieces: Sequence[ReaderPiece]) -> list[ReaderPiece]:
    """The pieces, cut where an order that names nothing begins and ends, if something is told beside it: "jk, I have
    two", "The train is at six, remember that"."""
    orders = [(one.start, one.end) for one in orders_of_turn(text) if one.rest_start == one.rest_end == one.end]
    ends = list(chain.from_iterable(orders))
    found: list[ReaderPiece] = []
    for piece in pieces:
        edges = [edge for edge in ends if _parts_words(text, piece, edge)]
        for start, end in pairwise((piece.start, *edges, piece.end)):
            part = replace(piece, start=start, end=end, text=text[start:end])
            if (start, end) in orders:
                part = replace(part, verdict="leave")
            found.append(part)
    return found


def _parts_words(text: str, piece: ReaderPiece, edge: int) -> bool:
    """Whether a piece has words on either side of a place."""
    before, behind = text[piece.start : edge], text[edge : piece.end]
    return any(map(str.isalnum, before)) and any(map(str.isalnum, behind))


def _is_cut(before: ReaderPiece, piece: ReaderPiece, begins_sentence: bool) -> bool:
    ended = before.text.rstrip()
    if begins_sentence:
        return may_begin(ended, piece.text)
    return not ended.endswith(".") and may_cut(before, piece)


def _joined(text: str, one: ReaderPiece, other: ReaderPiece) -> ReaderPiece:
    """Two pieces as one. It is worth keeping as the better of them is, if that has half of the words at least; what is
    supposed or asked beside it makes it doubtful."""
    better, rest = sorted((one, other), key=lambda piece: piece.keep, reverse=True)
    if len(better.text.split()) < len(rest.text.split()):
        better, rest = rest, better
    doubtful = better.verdict == "keep" and rest.label in ("if", "question", "other", "old")
    verdict: PieceVerdict = "propose"
    if not doubtful:
        verdict = better.verdict
    return replace(better, start=one.start, end=other.end, text=text[one.start : other.end], verdict=verdict)


def turn_language(text: str) -> str:
    """The language a turn is read in; a few words that could be anything are read as English."""
    found = language(text)
    if found == "unknown" and text.isascii() and len(text.split()) <= FEW_WORDS:
        return "en"
    return found


def as_read(turn: ChatTurn) -> ReaderTurn:
    """A turn in the reader's form."""
    if turn.speaker == NOTEBOOK:
        return ReaderTurn(turn.role, PLAIN_WORD)
    return ReaderTurn(turn.role, turn.text)


def _text_for_reader(turn: ChatTurn) -> str:
    """A turn as the reader of moves is shown it: of the notebook only what it asked."""
    if turn.speaker != NOTEBOOK:
        return turn.text
    asked = [turn.text[start:end].strip() for start, end in sentences(turn.text)]
    questions = [one for one in asked if one.endswith("?")]
    if questions:
        return questions[-1]
    return "Noted."


def _sentence_pieces(text: str, at: int) -> list[ReaderPiece]:
    """Sentences as pieces that are likely, neither sure nor refused."""
    found = []
    for start, end in sentences(text):
        words = text[start:end]
        states = not words.rstrip().endswith(("?", "？")) and len(words.split()) > 1
        verdict: PieceVerdict = "leave"
        if states:
            verdict = "propose"
        chance = {"keep": 0.5, "talk": 0.5}
        if states:
            label = "keep"
        else:
            label = "talk"
        found.append(ReaderPiece(at, start, end, words, label, chance, {}, None, verdict))
    return found


# Places: the reader sees the person's own words closed up, the book stores the whole turn


@dataclass(frozen=True, slots=True)
class _Place:
    """Letters `start` to `end` of the closed-up text stand `shift` letters later in the stored turn."""

    start: int
    end: int
    shift: int


def _stored_places(spans: Sequence[tuple[int, int]]) -> list[_Place]:
    places, at = [], 0
    for start, end in spans:
        places.append(_Place(at, at + end - start, start - at))
        at += end - start + 1
    return places


def _cut_at(piece: ReaderPiece, places: Sequence[_Place]) -> list[ReaderPiece]:
    """A piece, cut where text was left out between its words."""
    found = []
    for place in places:
        start, end = max(piece.start, place.start), min(piece.end, place.end)
        if start < end:
            text = piece.text[start - piece.start : end - piece.start]
            found.append(replace(piece, start=start, end=end, text=text))
    return found


def _stored_offset(at: int, places: Sequence[_Place]) -> int:
    place = next((one for one in places if one.start <= at <= one.end), places[-1])
    return at + place.shift


# Lines that a clause may point at


def _lines(scene: Scene) -> list[MoveLine]:
    lines = [MoveLine(one.id, one.content, one.kind) for one in scene.targets]
    for question in scene.questions:
        choices = question.choices or plain_choices(question.op, question.memory_id)
        lines.append(MoveLine(question.id, question.content, "question"))
        lines += [MoveLine(f"{question.id}/{one.choice}", one.label, "choice") for one in choices]
    return lines


OWN = "here:"
"""How the id of a clause of the same turn begins; its number follows."""


def _clause(
    scene: Scene, piece: ReaderPiece, move: Move, places: Sequence[_Place], here: int, names: Mapping[str, str]
) -> Clause:
    """A clause with every place counted in the stored turn; other clauses of the turn by their number."""
    start, end = _stored_offset(piece.start, places), _stored_offset(piece.end, places)
    categories = tuple(name for name in piece.categories.values() if name in scene.preset.categories)
    new = move.new and (_stored_offset(move.new[0], places), _stored_offset(move.new[1], places), move.new[2])
    needs = tuple(_stored_need(need, places) if need.turn == here else need for need in move.needs)
    points = {names.get(id, id): likely for id, likely in move.points.items()}
    old = {names.get(id, id): stretch for id, stretch in move.old.items()}
    moved = replace(move, start=start, end=end, new=new, needs=needs, points=points, old=old)
    text = scene.turn.text[start:end]
    return Clause(start, end, text, piece.label, piece.keep, piece.verdict, categories, moved)


def _stored_need(need: Need, places: Sequence[_Place]) -> Need:
    return replace(need, start=_stored_offset(need.start, places), end=_stored_offset(need.end, places))
