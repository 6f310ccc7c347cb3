"""What an open chat has noted: the pieces of the person's words that the reader would keep or propose, each as a line.

Read from the turns whenever it is asked for, never stored. Left out are the words of orders, what the person took back,
secrets, and topics never to be remembered. Closing, pencil and the orders of later turns all start from here.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import zip_longest
from typing import Any

from keepbook.book.ground.patterns import regex
from keepbook.book.text.secrets import Secret, find_secrets
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import touched
from keepbook.models.lines.categories import category_of
from keepbook.models.lines.clauses import clauses, goes_on, leans
from keepbook.models.lines.context import answered, named, whole
from keepbook.models.lines.matters import HUSHED, content_words, fit, says_again
from keepbook.models.lines.people import is_past, whose
from keepbook.models.lines.plainly import tells_of_own_people, tells_plainly, tells_taste
from keepbook.models.lines.slots import slots
from keepbook.models.lines.wording import CLEFT, LONGEST, bare, line, only_leads, shares_subject, tongue
from keepbook.models.orders.asked import NOTEBOOK, asked, is_written
from keepbook.models.orders.hear import sentences
from keepbook.models.orders.values import Deed, Place
from keepbook.models.reader import values as reader_values
from keepbook.models.reader.values import Piece, Reader

PLAIN_WORD = "Good to know. What else can I help you with?"
SAID_YES = 0.9
"""How sure it is what the person says yes to, what they ask to remember, and what they plainly say of themself."""
DOUBTED = ("if", "talk")
PLAINLY = 0.12
"""How likely a plain sentence must be worth keeping where the reader takes it for supposed, or for the small talk that
it stands beside: what a tale or a part in a play tells stays below."""
NEAR = 400
"""Letters before a piece in which it may lean on something."""
SHORTEST = 4
"""Letters that a line needs at least."""
LONGEST_PIECE = 4 * LONGEST
"""What goes on longer without a stop tells no one thing, and looking for it would cost more with every word."""
_TELLS = frozenset({"keep", "passing", "old", "talk", "other", "hush"})
"""Labels of pieces that state something of the person, whether worth keeping or not."""
_PASTED = regex(
    r"^ {0,3}(?P<ticks>`{3,})[^`\n]*\n.*?(?:^ {0,3}(?P=ticks)`*[ \t]*$|\Z)|^ {0,3}>[ \t>]*[^\W\d][^\n]*",
    re.DOTALL | re.MULTILINE,
)
ASKS = regex(
    r"\?\s*$|^\W*(?:(?:and|but|so|ok(?:ay)?|hey|oh|well|btw|tell me|remind me|do you know)\b[\s,]*)*"
    r"(?:when|what|where|who|which|how|why)(?: (?:much|many|old|long|often|else|\w+ \w+))? "
    r"(?:is|are|was|were|do|does|did|can|should)\b",
    re.IGNORECASE,
)


def unpasted(text: str) -> str:
    """A turn without what was put into it between fences, files above all, or quoted behind ">" as what is passed on:
    blanks stand there, so that the letters that are left keep their places. Such material is nobody's word."""
    return _PASTED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as it is read here; `deeds` are the orders that were carried out with it, `written` is what tools wrote in
    reply to it: None where it was not said here."""

    turn: int
    role: str
    text: str
    deeds: tuple[Deed, ...] = ()
    speaker: str | None = None
    written: tuple[str, ...] | None = None

    def as_read(self) -> reader_values.Turn:
        """As the reader is shown it. It has learned from people who talk to an assistant: what the notebook says is
        shown as a plain word of one, or "Noted: …" would look to it like a test."""
        return reader_values.Turn(self.role, PLAIN_WORD if self.speaker == NOTEBOOK else self.text)


@dataclass(frozen=True, slots=True)
class Noted:
    """A statement of this chat, as the line it would become. `place` is where it was said."""

    place: Place
    content: str
    words: str
    category: str | None
    score: float
    sure: bool
    kept: bool
    """Whether the reader would keep or propose it; the others are only what was said last."""


@lru_cache(maxsize=1)
def reader() -> Reader:
    """The reader of this installation, opened once."""
    from keepbook.models.reader.choice import open_reader  # with the first text: it may load numpy

    return open_reader()


@lru_cache(maxsize=512)
def _pieces(read: Any, turns: tuple[reader_values.Turn, ...], only: int | None = None) -> tuple[Piece, ...]:
    return tuple(read.read(turns, only=only))


def _read(read: Any, said: Sequence[Said]) -> Iterator[Piece]:
    """A turn that the notebook answers is read as it stands then, with the reply and with the person's next words, and
    never again: what they heard to be noted stays noted until they take it back. Any other turn is read with all that
    came after it."""
    turns = tuple(one.as_read() for one in said)
    people = [at for at, one in enumerate(said) if one.role == "user"]
    heard = {at for at in people if at + 1 == len(said) or said[at + 1].speaker == NOTEBOOK}
    with_later = _pieces(read, turns) if len(heard) < len(people) else ()
    for at, next_ in zip_longest(people, people[1:], fillvalue=len(said) - 1):
        if at not in heard:
            yield from (one for one in with_later if one.turn == at)
            continue
        ends = sorted({at, min(at + 1, next_), next_})
        yield from reduce(_better, (_pieces(read, turns[: end + 1], at) for end in ends))


def _better(first: Sequence[Piece], second: Sequence[Piece]) -> tuple[Piece, ...]:
    """Two readings of a turn: of what overlaps, that which is rather kept, else the first."""
    best = list(first)
    for piece in second:
        over = [one for one in best if one.start < piece.end and piece.start < one.end]
        if _worth(piece) > max(map(_worth, over), default=0):
            best = [*(one for one in best if one not in over), piece]
    return tuple(sorted(best, key=lambda piece: piece.start))


def _worth(piece: Piece) -> int:
    return 2 * ("leave", "propose", "keep").index(piece.verdict) + (piece.label == "keep")


def pieces(read: Reader, said: Sequence[Said]) -> tuple[Piece, ...]:
    """The pieces of a chat's turns; `piece.turn` counts from 0 in `said`."""
    whole: list[Piece] = []
    for piece in _read(read, said):
        if whole and whole[-1].turn == piece.turn and _goes_on(whole[-1], piece):
            whole[-1] = _joined(whole[-1], piece)
        else:
            whole.append(piece)
    return tuple(map(_of_own_people, whole))


def _of_own_people(piece: Piece) -> Piece:
    """ "My husband Lars can't have milk": what the reader leaves as somebody else's affair, and lasts, is asked about
    where it is told of the person's own people; in whichever chat it was said."""
    if (piece.verdict, piece.label) != ("leave", "other") or ASKS.search(piece.text) or _FLEETING.search(piece.text):
        return piece
    told = any(tells_of_own_people(piece.text[start:end]) for start, end in clauses(piece.text))
    return replace(piece, verdict="propose") if told else piece


def _goes_on(one: Piece, next_: Piece) -> bool:
    """Whether a cut lies where nothing ends: after "Dr.", or in the midst of a clause."""
    if _SHORT.search(one.text) or any(pattern.match(bare(one.text + next_.text)) for pattern in CLEFT):
        return True
    if one.label == "keep" and goes_on(next_.text, one.text):
        return True
    inside = "keep" in (one.label, next_.label) and not _CLOSED.search(one.text)
    return inside and (shares_subject(next_.text) or not (_OPENS.match(next_.text) and whole(next_.text)))


_CLOSED = regex(r"[^\w\s'’]\s*$|\n\s*$|[^\x00-ɏ]\s*$")
_OPENS = regex(
    r"\W|(?:and|but|or|so|because|cause|cuz|cos|since|if|when|while|though|although|plus|also|then|unless|until|"
    r"as|with|"
    r"for|to|from|in|at|on|not|no|never|always|only|just|i|i'm|im|i've|ive|i'd|we|we're|my|our|he|she|it|its|it's|they|"
    r"that|this|there|theres|the|a|an|btw|please|pls|can|could|would|do|dont|don't|is|are|what|how)\b",
    re.IGNORECASE,
)
_SHORT = regex(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs|approx|e\.g|i\.e|a\.m|p\.m)\.\s*$")
"""Where a text only seems to end."""


def _joined(one: Piece, next_: Piece) -> Piece:
    better = max(one, next_, key=lambda piece: piece.keep)
    return replace(better, start=one.start, end=next_.end, text=one.text + next_.text)


def noted(
    said: Sequence[Said],
    read: Reader,
    *,
    vocabulary: Sequence[str] = (),
    never: Sequence[str] = (),
    sense: Sense | None = None,
    everything: bool = False,
) -> list[Noted]:
    """The statements of a chat, oldest first; with `everything` also what the reader would leave."""
    taken = [place for one in said for deed in one.deeds for place in deed.taken]
    hushing = [(one.turn, deed) for one in said for deed in one.deeds if deed.hushed]
    never = (*never, *(topic for one in said for deed in one.deeds for topic in deed.topics))
    found: list[Noted] = []
    for piece in pieces(read, said):
        turn = said[piece.turn]
        here = [place for place in taken if place.turn == turn.turn]
        orders = () if turn.written is None else asked(turn.text)
        told = [one for order in orders if (one := _ordered(turn, piece, order, here, vocabulary)) is not None]
        for start, end in _told(turn.text, piece, *_left(piece.start, piece.end, here)):
            one = _statement(said, piece, start, end, vocabulary)
            if one is not None and (one.kept or everything) and not any(_meets(one.place, order) for order in orders):
                told.append(one)
        found += (one for one in told if not _is_barred(one, turn.text, hushing, never, sense))
    return found


def _ordered(
    turn: Said, piece: Piece, order: tuple[int, int], taken: Sequence[Place], vocabulary: Sequence[str]
) -> Noted | None:
    """What a turn asks to remember, with the piece in which it begins; unless it was written, or taken back."""
    start, end = _left(*order, taken)
    if not piece.start <= start < piece.end or end - start < SHORTEST:
        return None
    content = line(turn.text[start:end])
    if is_written(turn.text, content, turn.written or ()):
        return None
    place, category = Place(turn.turn, start, end, content), _category(piece, content, vocabulary)
    return Noted(place, content, turn.text[start:end], category, SAID_YES, True, True)


def _meets(place: Place, order: tuple[int, int]) -> bool:
    return place.start < order[1] and order[0] < place.end


def _category(piece: Piece, content: str, vocabulary: Sequence[str]) -> str | None:
    """By its matter where that has one, else as the reader says."""
    read = next((name for name in piece.categories.values() if name in vocabulary), None)
    return category_of(content, vocabulary) or read


def _told(text: str, piece: Piece, start: int, end: int) -> list[tuple[int, int]]:
    """What of a piece is left, clause by clause where it is worth keeping: a line tells one thing."""
    if not SHORTEST <= end - start <= LONGEST_PIECE:
        return []
    if piece.verdict == "leave":
        return [(start, end)]
    return [(start + first, start + last) for first, last in clauses(text[start:end])]


def _statement(said: Sequence[Said], piece: Piece, start: int, end: int, vocabulary: Sequence[str]) -> Noted | None:
    turn = said[piece.turn]
    words = turn.text[start:end]
    if (offer := _offered(said, piece.turn, words)) is not None:
        content = line(offer)
        place = Place(turn.turn, start, end, content)
        return Noted(place, content, words, None, SAID_YES, True, True)
    plain = _is_plain(turn.text, piece, words)
    likely = piece.verdict != "leave" or plain or _is_told(turn.text, piece)
    kept = likely and not ASKS.search(words) and not _asks_before(turn.text, start)
    if (not kept and piece.label not in _TELLS) or only_leads(words) or _only_mends(said, piece.turn, words):
        return None
    alone = _alone(said, piece.turn, start, words)
    content = line(alone)
    if len(content) < SHORTEST or (" " not in content and content.isascii()) or _POINTS.fullmatch(content):
        return None
    place = Place(turn.turn, start, end, content)
    sure = piece.verdict == "keep" or (plain and piece.label in ("keep", *DOUBTED) and piece.keep >= PLAINLY)
    sure = sure and not leans(alone) and (plain or _says_enough(words, content))
    own = sure and tells_plainly(words) and whose(content) is None and not is_past(content)
    score = max(SAID_YES, piece.keep) if own else piece.keep
    return Noted(place, content, words, _category(piece, content, vocabulary), round(score, 3), sure, kept)


def _asks_before(text: str, start: int) -> bool:
    """Whether words are the rest of a question: "Where does | my ex-boyfriend live | and what does he owe me?" """
    asking = next((text[first:start] for first, end in sentences(text) if first < start < end), "")
    return bool(ASKS.match(asking)) and not re.search(r"[,;:–—-]\s*$", asking)


def _says_enough(words: str, content: str) -> bool:
    """Whether a line can be kept unasked: a clause with a verb, and more in it than one thing and a word for it."""
    if _FLEETING.search(words) or _SUPPOSED.search(words):
        return False
    if tongue(words) != "en":
        return True
    return whole(words) and (len(content_words(content)) > 2 or bool(slots(f"= {words.strip()}")))


_FLEETING = regex(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|for now|just now|"
    r"(?:this|just|only) (?:once|time|one)|"
    r"this (?:morning|afternoon|evening|weekend|week|trip)|hoy|heute|oggi|hoje|aujourd'hui|i dag|idag|vandaag)\b|"
    r"今天|明天|วันนี้|พรุ่งนี้",
    re.IGNORECASE,
)
"""Said of a day: what is true of it only is not kept unasked."""
_SUPPOSED = regex(
    r"\b(?:probably|maybe|perhaps|possibly|might|not sure|thinking (?:of|about)|considering)\b", re.IGNORECASE
)
"""What may be so is not kept unasked either."""


def _only_mends(said: Sequence[Said], at: int, words: str) -> bool:
    """Words that change something else, or deny it in a fragment, say nothing alone; unless they answer a question."""
    asked = at and said[at - 1].role == "assistant" and said[at - 1].text.rstrip().endswith("?")
    return bool(_MENDS.match(words)) or (bool(_DENIES.match(words)) and not asked and not whole(_DENIES.sub("", words)))


_DENIES = regex(
    r"\W*(?:no|nope|nah)\b(?!\s+(?:one|longer|more)\b)(?=[\s,.]+(?:the|to|that'?s|its?|a|an|my)\b|,)", re.IGNORECASE
)
_MENDS = regex(
    r"\W*(?:(?:actually|no|sorry|wait|please|ok(?:ay)?|oh)\b[\s,]*)*(?:from now on,? i mean|(?:change|make|set|"
    r"update|correct) (?:that|it|"
    r"this)|(?:it|that)'?s (?:spelled|spelt))\b",
    re.IGNORECASE,
)
_POINTS = regex(r"(?:[\w']+ ){1,2}(?:it|that|this|them|so|too)\W*|them too\W*", re.IGNORECASE)
""" "Has raised it": words that only point elsewhere say nothing alone."""


_RELATION = regex(r"\s*[A-ZÀ-Þ][\w'-]+ is (?:my|our) [a-z]+(?! favou?rite)\b[^?]*$")
""" "Alec is my boss by the way": who somebody is, is told, never asked."""


def _is_plain(turn: str, piece: Piece, words: str) -> bool:
    """A greeting before it, a question after it, or other facts beside it take nothing from a plain sentence. Where all
    of the turn is plain, what may pass or be supposed is so too."""
    if piece.label == "keep" or (piece.label in DOUBTED and piece.keep >= PLAINLY) or _RELATION.match(words):
        return tells_plainly(words) or tells_plainly(turn)
    return piece.label in ("if", "old", "passing", "question") and tells_plainly(turn)


def _is_told(turn: str, piece: Piece) -> bool:
    """A turn that tells one thing and nothing else, of a taste or of one of the person's own people: it is noted, and
    whether it is kept the person is asked."""
    return piece.text.strip() == turn.strip() and (tells_taste(turn) or tells_of_own_people(turn))


_OFFER = regex(
    r"\b(?:should|shall|may|can|do you want me to|want me to|would you like me to) (?:i )?(?:note|remember|save|keep|"
    r"store|"
    r"write down|record)(?: down)?(?: that)? (?P<what>you(?:'re|'ve|'d|r)?\b[^?.]{4,120})\?\s*$",
    re.IGNORECASE,
)
_ACCEPTS = regex(
    r"\W*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|please do|go ahead|exactly|correct|right)(?:[\s,]+(?:please|pls|do|thanks|"
    r"that'?s "
    r"right|sure|go ahead|do that))*\W*",
    re.IGNORECASE,
)
_MADE_MINE = ((r"you are|you're", "I am"), (r"you've", "I have"), (r"you'd", "I would"), (r"your", "my"), (r"you", "I"))


def _offered(said: Sequence[Said], at: int, words: str) -> str | None:
    """What an assistant offered to note and the person says yes to, in the person's mouth."""
    if not at or said[at - 1].role != "assistant" or said[at - 1].speaker == NOTEBOOK:
        return None
    offer = _OFFER.search(said[at - 1].text) if _ACCEPTS.fullmatch(words) else None
    if offer is None:
        return None
    mine = offer["what"]
    for yours, plain in _MADE_MINE:
        mine = re.sub(rf"\b(?:{yours})\b", plain, mine, flags=re.IGNORECASE)
    return mine


def _alone(said: Sequence[Said], at: int, start: int, words: str) -> str:
    """The words with what they lean on: the question they answer, the person they speak of, the heading above them."""
    before = said[at].text[max(0, start - NEAR) : start]
    heading = _HEADING.search(before)
    if heading and not whole(heading["what"]) and (heading["mark"] == ":" or _LEANS.search(words)):
        return f"{heading['what'].strip()}: {words.strip()}"
    if at and said[at - 1].role == "assistant" and said[at - 1].speaker != NOTEBOOK and not whole(words):
        return answered(words, said[at - 1].text)
    earlier = next((said[one].text for one in range(at - 1, -1, -1) if said[one].role == "user"), "")
    return named(words, before if _NAMES.match(words) else f"{earlier[-NEAR:]} {before}")


_NAMES = regex(r"\W*(?:(?:and|so)\s+)?(?:her|his) name\b", re.IGNORECASE)
"""Who is named only now was not named in the turn before."""
_LEANS = regex(r"\b(?:there|it|that|this|them|those|one)\b", re.IGNORECASE)
_HEADING = regex(r"(?:^|[.!?\n]\s*)(?P<what>[^\W\d][\w' -]{2,40})(?P<mark>[.:])\s*$")
""" "Emergency fund. I want six months in there." """


def _left(start: int, end: int, taken: Sequence[Place]) -> tuple[int, int]:
    """What of a piece is left where orders and what was taken back lie over it: its longer end, if any."""
    for place in taken:
        if place.end <= start or place.start >= end:
            continue
        before, after = place.start - start, end - place.end
        if before >= after:
            end = max(start, place.start)
        else:
            start = min(end, place.end)
    return start, end


def _around(text: str, start: int, end: int) -> str:
    """The sentences in which a piece stands: what one of them speaks of, its parts do."""
    spans = sentences(text)
    first, last = bisect(spans, start, key=lambda span: span[1]), bisect_left(spans, end, key=lambda span: span[0])
    return text[spans[first][0] : spans[last - 1][1]] if first < last else text[start:end]


def _is_barred(
    one: Noted, text: str, hushing: Sequence[tuple[int, Deed]], never: Sequence[str], sense: Sense | None
) -> bool:
    start, end = one.place.start, one.place.end
    if any(keeps_out(deed, one.words, before=one.place.turn <= turn) for turn, deed in hushing):
        return True
    if any(secret.start < end and start < secret.end for secret in _secrets(text)) or find_secrets(one.words):
        return True
    return bool(touched(_around(text, start, end), never, sense))


@lru_cache(maxsize=256)
def _secrets(text: str) -> tuple[Secret, ...]:
    return tuple(find_secrets(text))


def keeps_out(deed: Deed, text: str, *, before: bool) -> bool:
    """Whether an order keeps a matter out of what was said `before` it. What is told after it is told anew, unless it
    only says again what was to go, or nothing was found then."""
    if not any(fit(matter, text) >= HUSHED for matter in deed.hushed):
        return False
    gone = [change.old.content for change in deed.changes if change.old is not None]
    return before or not gone or any(says_again(line(text), old) for old in gone)
