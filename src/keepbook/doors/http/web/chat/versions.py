"""Versions of a turn that was said or answered again, and the chat with one of them.

Only the last turn can be said again, so an old version is the end of the chat as it was then; what came later goes on
after it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepbook.book.chats.threads import Message, current_messages


class TurnVersion(NamedTuple):
    """The position of a turn among its versions ("2 of 3"), and the turns of the previous and next version."""

    number: int
    total: int
    before: int | None
    after: int | None


def messages_with_version(messages: Sequence[Message], at: int) -> list[Message]:
    """The messages of the chat; if turn `at` was replaced, with the version that it belongs to."""
    stands = current_messages(messages)
    if at not in {one.turn for one in messages} or any(one.turn == at for one in stands):
        return stands
    until = _turn_replacing(messages, at)
    then = current_messages([one for one in messages if one.turn < until])
    newest = until
    while not any(one.turn == newest for one in stands):
        newest = _turn_replacing(messages, newest)
    place = next(number for number, one in enumerate(stands) if one.turn == newest)
    answered = stands[place].role == "user" and [one.role for one in stands[place + 1 : place + 2]] == ["assistant"]
    return [*then, *stands[place + (2 if answered else 1) :]]


def _turn_replacing(messages: Sequence[Message], turn: int) -> int:
    """The turn that was said in place of this one, or of what this one belongs to."""
    return next(one.turn for one in messages if one.instead_of and one.instead_of <= turn < one.turn)


def versions_by_turn(messages: Sequence[Message], shown: Sequence[Message]) -> dict[int, TurnVersion]:
    """The versions by turn, for turns that have several; a reply without others has those of the turn it answers."""
    by_turn = {one.turn: one for one in messages}
    later = {one.instead_of: one.turn for one in messages if one.instead_of}
    if not later:
        return {}
    found: dict[int, TurnVersion] = {}
    for asked, one in zip([None, *shown], shown, strict=False):
        chain = _chain(by_turn, later, one.turn)
        if len(chain) > 1:
            at = chain.index(one.turn)
            found[one.turn] = TurnVersion(at + 1, len(chain), *_neighbours(chain, at))
        elif asked is not None and asked.role == "user" and one.role == "assistant" and asked.turn in found:
            found[one.turn] = found[asked.turn]
    return found


def _chain(by_turn: dict[int, Message], later: dict[int, int], turn: int) -> list[int]:
    first = turn
    while (before := by_turn[first].instead_of) and before in by_turn:
        first = before
    chain = [first]
    while chain[-1] in later:
        chain.append(later[chain[-1]])
    return chain


def _neighbours(chain: Sequence[int], at: int) -> tuple[int | None, int | None]:
    return (chain[at - 1] if at else None), (chain[at + 1] if at + 1 < len(chain) else None)
