"""Which words an agent was asked with, so that its forecasts can be looked at by them.

A run of ours is named by its agent's instructions and prompt; whoever records from elsewhere says a name of their own.
"""

import hashlib

from keepbook.extensions.agents.book.agents import Agent


def prompt_version(agent: Agent) -> str:
    """Eight digits that are others as soon as the instructions or the default prompt are."""
    said = f"{agent.instructions}\0{agent.default_prompt}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:8]
