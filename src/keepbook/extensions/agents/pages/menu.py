"""The places Agents and Results in the menu, and what a chat with an agent shows of that agent."""

from keepbook.book.chats.face import Chat
from keepbook.doors.http.web.frame.extension_pages import ChatPartner, NavItem
from keepbook.doors.http.web.frame.visit import Visit, plural
from keepbook.extensions.agents.book import decisions
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.models.talk import agent_of

PLACES = (
    NavItem("agents", "Agents", "/agents", "agent", "a", hides_empty=True),
    NavItem("results", "Results", "/results", "target", "r", hides_empty=True),
)


def hidden(visit: Visit) -> set[str]:
    """The places that the menu hides: Agents until there is an agent, Results until there is a decision."""
    if decisions.are_there(visit.book):
        return set()
    if visit.book.agents.list():
        return {"results"}
    return {"agents", "results"}


def waiting(visit: Visit) -> dict[str, int]:
    """The forecasts past their date: only the person can say how they came out."""
    return {"results": visit.book.decisions.count(forecasts=True)["due"]}


def chat_partner(chat: Chat) -> ChatPartner | None:
    """The agent that answers in this chat; None if it is no chat with an agent."""
    agent = None
    if chat.thread.agent:
        agent = agent_of(chat)
    if agent is None:
        return None
    return ChatPartner(agent.name, f"/agents/{agent.id}", agent.model, _knows(agent), _greeting(agent))


def _knows(agent: Agent) -> str:
    if agent.memory_enabled:
        return f"one session with its runs, it remembers {plural(agent.memory.runs, 'run', 'runs')}"
    return "Active Memory is off: it sees this chat and none of its runs"


def _greeting(agent: Agent) -> str:
    if agent.memory_enabled:
        return "Its next run reads what is said here."
    return "Its runs read nothing of this while its Active Memory is off."
