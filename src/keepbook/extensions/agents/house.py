"""The parts that agents add to an installation: the runner of a book's agents, and the chats with them."""

from typing import TYPE_CHECKING

from keepbook.book.book import Book
from keepbook.book.chats.face import Chat
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.extension import at_once
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.models.claude_cli import ClaudeCliPlace
from keepbook.extensions.agents.models.runner import Runner
from keepbook.extensions.agents.models.talk import AgentTalk, agent_of, thread_of
from keepbook.models.choose import Models
from keepbook.models.compress import Budget

if TYPE_CHECKING:
    from keepbook.app import Keepbook


@at_once
@explain_arguments
def runner(kb: "Keepbook", book: Book, *, models: Models | None = None) -> Runner:
    """The runner for a book's agents: `await kb.runner(book).run("Swing desk")`."""
    known = kb.settings
    programs = () if kb.demo else known.agent_programs
    place = ClaudeCliPlace(
        command=known.agent_command,
        folder=known.agent_folder,
        db=kb._place,
        owner=book.owner,
        seconds=known.agent_timeout,
        programs=programs,
        env=known.agent_env,
        most_bytes=known.agent_output_bytes,
    )
    budget = Budget(known.context_tokens, known.compress_at)
    return Runner(book, models or kb.models, budget=budget, monthly_tokens=known.monthly_tokens, place=place)


@explain_arguments
def chat_with(kb: "Keepbook", book: Book, agent: str) -> Chat:  # noqa: ARG001  a method of the installation's
    """The one chat with an agent, for `talk`. It is begun if there is none."""
    return thread_of(book, agent)


@explain_arguments
async def perform(kb: "Keepbook", book: Book, run_id: str) -> Run:
    """Carry out a queued run of a book, until its card or its failure."""
    return await runner(kb, book).perform(run_id)


def talk_with_agent(kb: "Keepbook", chat: Chat, models: Models | None) -> AgentTalk | None:
    """The talk in a chat with an agent; None if the chat is with no agent."""
    if chat.agent is None:
        return None
    agent = agent_of(chat)
    if agent is None:
        return None
    return AgentTalk(
        runner(kb, Book.of(chat.book), models=models), agent, chat, monthly_tokens=kb.settings.monthly_tokens
    )
