"""Chats as what the encoder learns from: windows with labelled pieces, and pairs of statements.

Windows are the ones that reading makes, in all the shapes that can occur: a whole chat at once, cores of a few turns,
single turns, and with nothing after them. Pairs are the ties that the writers marked (an update of a known line, a
correction, a withdrawal) beside pairs of the same chat that have none.
"""

import random
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS, TIES, ReaderTurn
from keepbook.models.reader.windows import CORE, SIZE, CodedTurn, Coder, Pair, Window, covering, sentence_starts
from training.chats import Chat, Part, until, varied

SKIP = -1
_CLAUSE = re.compile(r"(?:,|;| -| –|\band\b|\bbut\b|\bso\b) ")
EITHER = -2
"""A tie of which only is known that it is one of the same matter: repeats or corrects."""


@dataclass
class Example:
    """A window and what is right: a label for each piece (tokens from, until), and where pieces begin."""

    window: Window
    spans: list[tuple[int, int]] = field(default_factory=list)
    right: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Label, the two categories and the act; SKIP where there is none."""
    begins: list[tuple[int, int]] = field(default_factory=list)
    """Places of the person's tokens, and whether a piece begins there."""


class Tied(NamedTuple):
    pair: Pair
    tie: int


def turns_of(chat: Chat) -> list[ReaderTurn]:
    return [ReaderTurn(turn.role, turn.text) for turn in chat.turns]


def drawn(chats: list[Chat], coder: Coder, chance: random.Random, rough: float = 0.0) -> list[Example]:
    """One variation of each chat, in one of the shapes it can be read in; a share of them cut roughly."""
    found: list[Example] = []
    for chat in chats:
        one = varied(chat, chance)
        users = [at for at, turn in enumerate(one.turns) if turn.role == "user"]
        hand = chance if rough and chance.random() < rough else None
        roll = chance.random()
        if roll < 0.3 and len(users) > 1:
            end = chance.choice(users[:-1]) + 1
            found += of_chat(until(one, end), coder, core=chance.choice((8, 48, CORE)), rough=hand)
        else:
            shape = chance.choice(((SIZE, CORE), (SIZE, CORE), (SIZE, 48), (200, 100), (160, 40), (SIZE, 8)))
            found += of_chat(one, coder, *shape, rough=hand)
    return found


def of_chat(
    chat: Chat, coder: Coder, size: int = SIZE, core: int = CORE, rough: random.Random | None = None
) -> list[Example]:
    coded = coder.code(turns_of(chat))
    if core < CORE:  # else a short chat would be one window whatever the core
        size = min(size, max(core + 64, sum(len(turn.ids) for turn in coded)))
    return [_example(chat, coded, window, rough) for window in coder.windows(coded, size, core)]


def _example(chat: Chat, coded: list[CodedTurn], window: Window, rough: random.Random | None) -> Example:
    found = Example(window)
    for run in window.runs:
        places = [start for start, _ in coded[run.turn].offsets[run.first : run.first + run.size]]
        parts = _lie(chat.turns[run.turn].parts)
        for begin, end, _ in parts:
            inside = [run.at + at for at, start in enumerate(places) if begin <= start < end]
            found.begins += [(at, int(at == inside[0])) for at in inside]
        for begin, end, part in _roughly(parts, chat.turns[run.turn].text, rough) if rough else parts:
            inside = [run.at + at for at, start in enumerate(places) if begin <= start < end]
            if inside:
                found.spans.append((inside[0], inside[-1] + 1))
                found.right.append(right_of(part))
    return found


Lying = list[tuple[int, int, Part]]


def _lie(parts: tuple[Part, ...]) -> Lying:
    found: Lying = []
    begin = 0
    for part in parts:
        found.append((begin, begin + len(part.text), part))
        begin += len(part.text)
    return found


def _roughly(parts: Lying, text: str, chance: random.Random) -> Lying:
    """Cut as a reader may cut that misses some beginnings and sees others: a piece is what most of it is."""
    seen = {begin for begin, _, _ in parts if chance.random() < 0.65}
    seen |= {at for at in sentence_starts(text) if chance.random() < 0.9}
    seen |= {found.end() for found in _CLAUSE.finditer(text) if chance.random() < 0.1}

    def most(begin: int, end: int) -> Part:
        return max(parts, key=lambda part: min(part[1], end) - max(part[0], begin))[2]

    return [(begin, end, most(begin, end)) for begin, end in covering(seen, len(text))]


def right_of(part: Part) -> tuple[int, int, int, int]:
    cat = CATEGORIES["advisor"].index(part.cat) if part.cat else SKIP
    acat = CATEGORIES["assistant"].index(part.acat) if part.acat else SKIP
    act = ACTS.index(part.act) if part.act else SKIP
    return LABELS.index(part.label), cat, acat, act


# Pairs


def tied(chats: list[Chat], coder: Coder, chance: random.Random, varying: bool = True) -> list[Tied]:
    """The ties of each chat, and up to three times as many pairs without one."""
    found: list[Tied] = []
    for given in chats:
        if not given.ties:
            continue
        chat = varied(given, chance) if varying else given
        ties = _ties(chat)
        every = _candidates(chat)
        loose = [pair for pair in every if pair not in ties]
        chance.shuffle(loose)
        for (earlier, later), tie in ties.items():
            found.append(Tied(_pair(chat, coder, earlier, later), tie))
        for earlier, later in loose[: 3 * max(1, len(ties))]:
            found.append(Tied(_pair(chat, coder, earlier, later), TIES.index("none")))
    return found


Place = tuple[int, int]


def _ties(chat: Chat) -> dict[tuple[str | Place, Place], int]:
    found: dict[tuple[str | Place, Place], int] = {}
    for turn, said in enumerate(chat.turns):
        for at, part in enumerate(said.parts if said.role == "user" else ()):
            if part.by and part.by > (turn, at) and part.by[0] < len(chat.turns):
                by = chat.turns[part.by[0]].parts[part.by[1]]
                found[(turn, at), part.by] = TIES.index("withdraws" if by.label == "order" else "corrects")
            for one in part.of if part.act in ("forget", "decline") else ():
                if isinstance(one, str) or one < (turn, at):
                    found[one, (turn, at)] = TIES.index("withdraws")
            if part.target in chat.known and part.op in ("update", "skip"):
                own = chat.known[part.target][0] != "extracted"
                found[part.target, (turn, at)] = (
                    TIES.index("corrects") if part.op == "update" else EITHER if own else TIES.index("repeats")
                )
    return found


def _candidates(chat: Chat) -> list[tuple[str | Place, Place]]:
    """Every pair that could be asked about: a known line or an earlier statement, and a later statement or order."""
    told = [
        (turn, at)
        for turn, said in enumerate(chat.turns)
        if said.role == "user"
        for at, part in enumerate(said.parts)
        if part.label in ("keep", "old", "order")
    ]
    lines: list[str | Place] = [*chat.known, *(at for at in told if chat.turns[at[0]].parts[at[1]].label != "order")]
    return [(first, later) for later in told for first in lines if isinstance(first, str) or first < later]


def _pair(chat: Chat, coder: Coder, earlier: "str | Place", later: Place) -> Pair:
    turn, at = later
    said = chat.turns[turn].parts
    before = "".join(part.text for part in said[:at]) if at else (chat.turns[turn - 1].text if turn else "")
    first = chat.known[earlier][1] if isinstance(earlier, str) else chat.turns[earlier[0]].parts[earlier[1]].text
    return coder.pair(first.strip(), said[at].text.strip(), before.strip())
