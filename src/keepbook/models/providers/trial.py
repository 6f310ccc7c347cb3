"""Tries a model before it is chosen: whether it answers, calls tools, and reads a chat for what is worth keeping.

It does two small tasks about a made-up person, with the same code that a chat and its closing use; nothing of a book is
sent. The tokens of a month are estimated from the size of the real prompt; their price is given only if it is known.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from keepbook.errors import ModelFailed
from keepbook.models.model import ClosingChat, Conversation, DialogueTurn, Model, PromptMessage, Usage
from keepbook.models.providers.address import Address

CHATS_A_DAY = 20
DAYS = 30
REPLIES = 6
"""How many replies a usual chat has."""
MESSAGE = 150
"""How many tokens a usual message has."""

TOOL = "look_up_colour"
COLOUR = "teal"
ASKS = (
    DialogueTurn(1, "user", "I moved to Bremen in March and I am allergic to peanuts."),
    DialogueTurn(2, "assistant", "Noted."),
)


@dataclass(frozen=True, slots=True)
class TrialCheck:
    """One check of the trial and its result, in a sentence."""

    good: bool
    words: str
    cause: str = ""
    """Why there was no answer, as `ModelFailed` names it."""


@dataclass(frozen=True, slots=True)
class Trial:
    checks: tuple[TrialCheck, ...]
    month: Usage
    """The estimated tokens of a month with `CHATS_A_DAY` chats a day; zero if the model did not answer."""

    @property
    def answers(self) -> bool:
        return self.checks[0].good


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    memory_event: None = None
    others: tuple[str, ...] = ()


class _OneTool:
    """A toolbox with one tool, which notes whether it was used."""

    used = False

    def schemas(self, format: str) -> list[dict[str, Any]]:
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        words = "Tells the colour of the door. There is no other way to know it."
        return [{"type": "function", "function": {"name": TOOL, "description": words, "parameters": nothing}}]

    def call(self, name: str, arguments: Any) -> _Answer:
        self.used = self.used or name == TOOL
        return _Answer(f"The door is {COLOUR}.")


async def try_out(model: Model, prompt_tokens: int, now: datetime) -> Trial:
    """The trial. `prompt_tokens` is the size of the prompt and tools that each reply is sent."""
    tool = _OneTool()
    system = "You are being tried out. Use the tool to answer, and answer in one short sentence."
    asked = Conversation(system, (PromptMessage("user", "Which colour is the door?"),))
    try:
        async for _ in model.reply(asked, tool):
            pass
    except ModelFailed as error:
        cause = str(error.details.get("cause") or "")
        return Trial((TrialCheck(False, f"No answer: {error.message}", cause),), Usage())
    checks = [TrialCheck(True, "It answers in chats.")]
    if tool.used:
        checks.append(TrialCheck(True, "It calls tools, so it can remember and recall while you talk."))
    else:
        checks.append(TrialCheck(False, "It did not use its tool: it may forget to look things up while you talk."))
    reading = ClosingChat(ASKS, (), ("profile", "fact"), "UTC", now)
    spent = Usage(0, 0)
    try:
        found = await model.extract(reading)
    except ModelFailed as error:
        odd = error.details.get("cause") == "garbage"
        if odd:
            why = "its answers do not have the form that this needs"
        else:
            why = error.message
        checks.append(TrialCheck(False, f"It cannot read chats for memories ({why}); your book reads them instead."))
    else:
        spent = found.usage
        some = len(found.candidates)
        words = f"It reads closed chats: of a short one it kept {some} {'line' if some == 1 else 'lines'}."
        checks.append(TrialCheck(some > 0, words if some else "It read a short chat and found nothing to keep in it."))
    return Trial(tuple(checks), _month(prompt_tokens, spent))


def _month(prompt: int, closing: Usage) -> Usage:
    """The tokens of a month. Each reply is sent the prompt and the chat so far, and closing reads each chat once."""
    history = sum(MESSAGE * (2 * nth + 1) for nth in range(REPLIES))
    into = REPLIES * prompt + history + closing.tokens_in + 2 * REPLIES * MESSAGE
    out = REPLIES * MESSAGE + closing.tokens_out
    return Usage(into * CHATS_A_DAY * DAYS, out * CHATS_A_DAY * DAYS)


def price_of(address: Address, month: Usage) -> Decimal | None:
    """The price of that many tokens in dollars, if it is known; nothing is asked over the network."""
    try:
        # An extra of the installation, and large: it holds the prices of all models.
        from genai_prices import Usage as Priced
        from genai_prices import calc_price
    except ImportError:
        return None
    where: dict[str, str]
    if address.base_url is None:
        where = {"provider_id": address.kind}
    else:
        where = {"provider_api_url": address.base_url}
    used = Priced(input_tokens=month.tokens_in, output_tokens=month.tokens_out)
    try:
        return calc_price(used, address.model, **where).total_price  # type: ignore[call-overload,no-any-return]
    except LookupError:
        return None
