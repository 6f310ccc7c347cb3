"""The context of one reply: what was said, the tools, and what is known, as values.

All state of the notebook is the conversation itself. What the book says and what the turn did come with it as values;
nothing is parsed out of the prompt.
"""

from dataclasses import replace

from keepbook.book.text.language import language
from keepbook.models.model import Conversation, PromptMessage, Toolbox
from keepbook.models.notebook.reply.abilities import Abilities
from keepbook.models.notebook.reply.phrases import LANGUAGES, phrase
from keepbook.models.notebook.reply.say import Voice
from keepbook.models.notebook.reply.view import View
from keepbook.tools.definition import ToolAnswer

HEARD = 4
"""How many messages of the person tell the language: a bare "no" is answered in that of the ones before it."""


class ReplyContext:
    """The person's last message, and everything a reply to it is made from."""

    def __init__(self, conversation: Conversation, tools: Toolbox | None) -> None:
        messages = tuple(replace(one, text=one.text.strip()) for one in conversation.said)
        people = [number for number, one in enumerate(messages) if one.role == "user"]
        if people:
            now = people[-1]
        else:
            now = len(messages)
        self.conversation = conversation
        self.view: View = conversation.view or View()
        self.tools: Abilities = Abilities(tools, conversation.preset, len(messages))
        self.text: str = messages[now].text if people else ""
        self.earlier: tuple[PromptMessage, ...] = tuple(messages[:now])
        self.last: PromptMessage | None = next((one for one in reversed(self.earlier) if one.role == "assistant"), None)
        self.tongue: str = "en"
        for number in people[-HEARD:]:
            heard = language(messages[number].text)
            if heard in LANGUAGES and len(messages[number].text.split()) > 1:
                self.tongue = heard

    @property
    def previous(self) -> str | None:
        """What the person said before our last message."""
        return next((one.text for one in reversed(self.earlier) if one.role == "user"), None)

    @property
    def voice(self) -> Voice:
        return Voice(self.tongue, self.tools.silent)

    def say(self, key: str, **values: object) -> str:
        return phrase(self.tongue, key, **values)


def refusal_in_words(answer: ToolAnswer) -> str:
    """A tool's refusal in its own words, without its advice to a model."""
    if isinstance(answer.data, dict) and "message" in answer.data:
        return str(answer.data["message"])
    return answer.text
