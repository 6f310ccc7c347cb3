"""What a turn of the person is read against."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from keepbook.models.lines.matters import says_again
from keepbook.models.model import Known
from keepbook.models.noted import Noted
from keepbook.models.orders.hear import Heard
from keepbook.models.orders.values import Deed, Held, Place, Question

Tie = Callable[[str, str, str], Mapping[str, float] | None]
"""How a later text stands to an earlier one, from the reader."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a turn is read against: the person's words, what the chat has noted (all statements, oldest first), what the
    book says, what the last reply told, the question it left open, and what an earlier order of this chat wrote."""

    turn: int
    text: str
    noted: Sequence[Noted]
    known: Sequence[Known]
    previous: str = ""
    asked: Question | None = None
    told: Sequence[str] = ()
    last_new: str | None = None
    tie: Tie | None = None
    here: Sequence[Noted] = field(default_factory=list)
    """Statements of this very turn."""
    orders: Mapping[int, Sequence[Deed]] = field(default_factory=dict)
    """What earlier turns of this chat ordered, as far as it stands."""
    waiting: Sequence[Held] = ()
    """Lines of this chat that wait for the person's answer."""
    waiting_elsewhere: Sequence[Held] = ()
    """The same of other chats: an order to forget means them too."""

    def of(self, one: Noted) -> Held:
        """A statement of this chat; where a tool has saved it by now, the book's line and its place in one."""
        saved = next((old for old in reversed(self.known) if _is_saved(one, old)), None)
        if saved is None:
            return Held(one.content, place=one.place)
        return Held(saved.content, memory=saved.id, protected=saved.protected, place=one.place)

    def held(self) -> list[Held]:
        """Everything that may be meant: the book's lines first, then the chat's, oldest first."""
        here = [self.of(one) for one in self.noted if one.kept]
        saved = {one.memory for one in here if one.memory}
        book = [Held(one.content, memory=one.id, protected=one.protected) for one in self.known if one.id not in saved]
        return [*book, *self.waiting, *here]

    def loose(self) -> list[Held]:
        """What was said in this chat and the reader would leave; it may be meant all the same."""
        return [self.of(one) for one in self.noted if not one.kept]

    def place(self, heard: Heard) -> Place:
        return Place(self.turn, heard.start, heard.end)


def _is_saved(one: Noted, old: Known) -> bool:
    return one.content == old.content or (says_again(one.content, old.content) and says_again(old.content, one.content))
