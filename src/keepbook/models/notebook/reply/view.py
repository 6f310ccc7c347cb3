"""What a reply of the notebook is made from beside the words: what the turn did, and what recall found for it."""

from dataclasses import dataclass

from keepbook.book.memory.memories import Memory
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.text.topic_meaning import Sense
from keepbook.models.notebook.values import Deed


@dataclass(frozen=True, slots=True)
class View:
    """A turn and what the book has for it, from one transaction. `asks`: the turn is a question to the notebook."""

    deeds: tuple[Deed, ...] = ()
    hits: tuple[Hit, ...] = ()
    turns: tuple[ChatHit, ...] = ()
    latest: tuple[Memory, ...] = ()
    offered: tuple[Proposal, ...] = ()
    chat: str = ""
    """The id of this chat."""
    asks: bool = False
    language: str = "en"
    unread: bool = False
    sense: Sense | None = None
    """The embedder, if there is one."""
    never: tuple[str, ...] = ()
    """Topics never to be kept that the turn touches."""
    topics: tuple[str, ...] = ()
    """All topics never to be kept."""
    secret: bool = False
    remembers: bool = True
    introduced: bool = False
    """Whether an earlier reply has said what the notebook is."""
    hinted: bool = False
    """Whether the last day had a hint to a model, in this chat or another."""
    feeling: str | None = None
    """The feeling that the turn tells: low or glad."""
    topic: str | None = None
    """The shipped topic that the turn asks about, and the lines about it."""
    about: tuple[Memory, ...] = ()
    questions: int = 0
    """How many questions of the last reply were open when the turn was said."""
