"""One reply in the making: what was said, the tools, and what is known, as values.

All state of the notebook is the conversation itself. What the book says and what the chat has noted come with it as
values;
nothing is read back out of the prompt.
"""

from collections.abc import Iterable
from dataclasses import replace

from keepbook.book.text.secrets import find_secrets
from keepbook.models.lines.clauses import clauses
from keepbook.models.lines.wording import joined, tongue
from keepbook.models.model import Conversation, Said, Toolbox
from keepbook.models.noted import unpasted
from keepbook.models.offline.notebook.abilities import Abilities
from keepbook.models.offline.notebook.phrases import TONGUES, say
from keepbook.models.orders.hear import sentences
from keepbook.tools.definition import Answer

HEARD = 4
"""How many messages of the person tell the language: a bare "no" is said in that of the ones before it."""


class Talk:
    """The person's last message, and everything a reply to it is made from."""

    def __init__(self, conversation: Conversation, tools: Toolbox | None) -> None:
        said = tuple(
            replace(one, text=unpasted(one.text).strip()) if one.role == "user" else one for one in conversation.said
        )
        people = [number for number, one in enumerate(said) if one.role == "user"]
        now = people[-1] if people else len(said)
        self.conversation = conversation
        self.tools = Abilities(tools, conversation.preset, len(said))
        said_now = said[now].text if people else ""
        self.text = open_words(said_now)
        self.holds_secret = self.text != said_now
        self.earlier: tuple[Said, ...] = tuple(said[:now])
        self.last = next((one for one in reversed(self.earlier) if one.role == "assistant"), None)
        self.tongue = "en"
        for number in people[-HEARD:]:
            heard = tongue(said[number].text)
            if heard in TONGUES and len(said[number].text.split()) > 1:
                self.tongue = heard

    @property
    def previous(self) -> str | None:
        """What the person said before our last message."""
        return next((one.text for one in reversed(self.earlier) if one.role == "user"), None)

    @property
    def noted_now(self) -> list[str]:
        """What this very turn has added to what is noted."""
        return list(self.conversation.noted_now)

    def say(self, key: str, **told: object) -> str:
        return say(self.tongue, key, **told)

    def quote(self, lines: Iterable[str]) -> str:
        return joined(lines)


def open_words(text: str) -> str:
    """A text without the clauses that hold a secret: those are for nobody's notes, the rest stays to be heard."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    spans = ((start + a, start + b) for start, end in sentences(text) for a, b in clauses(text[start:end]))
    kept = (text[a:b] for a, b in spans if not any(one.start < b and a < one.end for one in secrets))
    return "".join(kept).strip(" ,;")


def why(answer: Answer) -> str:
    """What a tool refused, in its own words and without its advice to a model."""
    return str(answer.data["message"]) if isinstance(answer.data, dict) and "message" in answer.data else answer.text
