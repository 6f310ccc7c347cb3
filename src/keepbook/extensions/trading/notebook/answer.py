"""What the notebook answers about trading: the question is recognised, and the reply for its kind is made."""

from collections.abc import Callable

from keepbook.extensions.trading.notebook import replies, replies_ahead
from keepbook.extensions.trading.notebook.intents import Intent, trading_intents
from keepbook.models.notebook.reply.phrases import asks
from keepbook.models.notebook.reply.talk import ReplyContext

REPLIES: dict[str, Callable[[ReplyContext, Intent], str | None]] = {
    "performance": replies.performance,
    "learned": replies.lessons_reply,
    "upcoming": replies_ahead.upcoming,
    "skills": replies.skills_reply,
    "held": replies_ahead.positions_reply,
    "draft": replies_ahead.draft,
}


def answer_trading(talk: ReplyContext) -> str | None:
    """The answer to a question about trading; None where there are no tools for it, or the turn asks none."""
    if not replies.has_trading_tools(talk):
        return None
    chosen = talk.last is not None and asks(talk.last.text, "which_end")
    if chosen and (text := replies.answer_which(talk)) is not None:
        return text
    for intent in trading_intents(talk.text, talk.tongue):
        if (text := REPLIES[intent.kind](talk, intent)) is not None:
            return text
    return None


def asks_trading(text: str, tongue: str) -> bool:
    """Whether a text asks something about trading."""
    return bool(trading_intents(text, tongue))
