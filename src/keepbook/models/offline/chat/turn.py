"""One reply in the making: the conversation, the tools, and the ways to look things up.

All state of the offline model is the conversation itself: what it asked last stands in its last message, what it wrote
stands in the calls of that message. So a reply depends on nothing else, and any process can give it.
"""

import re
from collections.abc import Iterable, Sequence

from keepbook.book.text.words import fold
from keepbook.models.model import Conversation, Said, Toolbox
from keepbook.models.offline.chat.intents import read
from keepbook.models.offline.chat.known_here import Held, at_hand, of_data, told_in
from keepbook.models.offline.chat.matching import search_words
from keepbook.models.offline.chat.phrases import say
from keepbook.models.offline.chat.tools import Kit
from keepbook.models.prompt import MEMORY_OFF
from keepbook.tools.definition import Answer

FOUND = 20
HEARD = 4
"""How many messages of the person tell the language: a bare "no" is said in that of the ones before it."""
_NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


class Talk:
    """The person's last message, and everything a reply to it is made from."""

    def __init__(self, conversation: Conversation, tools: Toolbox | None) -> None:
        said = conversation.said
        people = [number for number, one in enumerate(said) if one.role == "user"]
        now = people[-1] if people else len(said)
        self.conversation = conversation
        self.kit = Kit(tools, len(said))
        self.text = said[now].text if people else ""
        self.hidden = said[now].hidden if people else None
        self.earlier: Sequence[Said] = said[:now]
        self.last = next((one for one in reversed(self.earlier) if one.role == "assistant"), None)
        self.tongue = "en"
        for number in people[-HEARD:]:
            self.tongue = read(said[number].text, self.tongue)[0].tongue

    @property
    def previous(self) -> Said | None:
        """What the person said before our last message."""
        return next((one for one in reversed(self.earlier) if one.role == "user"), None)

    def say(self, key: str, **told: object) -> str:
        return say(self.tongue, key, **told)

    def off(self) -> str | None:
        """Why nothing can be kept here, if so."""
        if self.kit.keeps:
            return None
        return self.say("memory_off" if MEMORY_OFF in self.conversation.system else "no_tools")

    @property
    def keeps(self) -> str:
        """What becomes of what is said here."""
        if not self.kit.keeps:
            return self.say("keeps_off")
        return self.say("keeps_propose" if self.kit.asks_first else "keeps_save")

    # --- looking

    def search(self, text: str) -> list[Held]:
        """What the book may have on a matter, as it stands now."""
        if self.kit.can("recall"):
            answer = self.kit.do("recall", query=search_words(text), limit=FOUND)
            return [of_data(hit) for hit in (answer.data or {}).get("hits", ())] if not answer.error else []
        return self.all()

    def all(self, category: str | None = None) -> list[Held]:
        """Everything, from the list where there is one, else what this chat was given."""
        if self.kit.can("list"):
            answer = self.kit.do("list", category=category)
            return [of_data(memory) for memory in answer.data["memories"]] if not answer.error else []
        return at_hand(self.conversation, self.kit.made)

    def quoted(self) -> list[Held]:
        """The memories that our last message spoke of."""
        if self.last is None:
            return []
        events = [call.memory_event for call in self.last.calls if call.memory_event]
        written = {event["id"] for event in events}
        states = [(event["id"], event.get("after") or {}) for event in events]
        found = [Held(after["content"], id) for id, after in states if after.get("state") == "active"]
        # What a look-up found before it was changed is no longer so.
        looked = [held for call in self.last.calls for held in told_in(call.answer) if not call.memory_event]
        found += [held for held in (*looked, *at_hand(self.conversation)) if held.id not in written]
        return _distinct(held for held in found if fold(held.content) in fold(self.last.text))

    def numbered(self) -> list[Held]:
        """The choices that our last message listed by number."""
        listed = [content for _, content in _NUMBERED.findall(self.last.text)] if self.last else []
        known = {fold(held.content): held for held in reversed(self.quoted())}
        return [known.get(fold(content), Held(content)) for content in listed]


def why(answer: Answer) -> str:
    """What a tool refused, in its own words and without its advice to a model."""
    return str(answer.data["message"]) if isinstance(answer.data, dict) and "message" in answer.data else answer.text


def listed(found: Iterable[Held]) -> str:
    return "\n".join(f"{number}. {held.content}" for number, held in enumerate(found, 1))


def _distinct(found: Iterable[Held]) -> list[Held]:
    return list({fold(held.content): held for held in reversed(list(found))}.values())[::-1]
