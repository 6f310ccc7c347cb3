"""Agents of one's own: what they are asked, the cards they answer with, their decisions, and how those turn out."""

from keepbook.extension import Extension

_HERE = "keepbook.extensions.agents"

AGENTS = Extension(
    name="agents",
    about="agents of one's own: their runs, decisions and forecasts, and how those turned out",
    gives="agents",
    tables=(f"{_HERE}.tables",),
    guards=_HERE,
    operations=f"{_HERE}.authority:OPERATIONS",
    rows=f"{_HERE}.authority:ROWS",
    faces={
        "agents": f"{_HERE}.book.face:Agents",
        "runs": f"{_HERE}.book.face:Runs",
        "decisions": f"{_HERE}.book.face:Decisions",
    },
    house={
        "runner": f"{_HERE}.house:runner",
        "chat_with": f"{_HERE}.house:chat_with",
        "perform": f"{_HERE}.house:perform",
    },
    upkeep=f"{_HERE}.upkeep",
    outside_tools=f"{_HERE}.tools:agent_tools",
    bound=f"{_HERE}.bound",
    answers=(f"{_HERE}.notebook:answer_decisions",),
    talks=f"{_HERE}.house:talk_with_agent",
    sweeps=f"{_HERE}.sweeps",
    commands={f"{_HERE}.commands": ("agent", "run")},
    api=(f"{_HERE}.api.agents", f"{_HERE}.api.decisions", f"{_HERE}.api.forecasts"),
    pages=(
        f"{_HERE}.pages.form",
        f"{_HERE}.pages.agents",
        f"{_HERE}.pages.runs",
        f"{_HERE}.pages.results",
        f"{_HERE}.pages.forecasts",
    ),
    templates=f"{_HERE}.pages",
    menu=f"{_HERE}.pages.menu",
    remote_faces={
        "agents": f"{_HERE}.client:AGENTS",
        "runs": f"{_HERE}.client:RUNS",
        "decisions": f"{_HERE}.client:DECISIONS",
    },
    remote_house={"runner": f"{_HERE}.client:remote_runner", "chat_with": f"{_HERE}.client:remote_chat_with"},
)
