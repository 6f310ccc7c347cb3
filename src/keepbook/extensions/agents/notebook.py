"""What the notebook answers about decisions, in the chat with an agent."""

from keepbook.book.text.words import tokens, word_set
from keepbook.extensions.agents.tools import MY_DECISIONS
from keepbook.models.notebook.reply.talk import ReplyContext

_DECISIONS = word_set("""
    decide decided decides decision decisions entschieden entscheidung entscheidungen decidido decidiste decisión
    decisiones bestemt beslutning beslutninger décidé décision décisions
""")


def answer_decisions(talk: ReplyContext) -> str | None:
    """What the agent decided is looked up, where its settings let it."""
    if not _DECISIONS & set(tokens(talk.text)) or not talk.tools.has(MY_DECISIONS):
        return None
    return talk.tools.use(MY_DECISIONS).text
