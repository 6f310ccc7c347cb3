"""Agents at work: what a run is sent, who executes it, and what comes of it.

`runner` carries a run through from its prompt to its card; `native` and `claude_cli` execute one, each in its own way
and under one contract (`adapter`); `prompts` holds every word that an agent is told.
"""
