"""What moving and restoring a book asks of agents: runs are replayed as they went, and no agent that came in acts.

An imported agent neither runs by itself nor starts a program before the person of this installation says so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, update

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger.loads import Arrival
from keepbook.errors import Invalid
from keepbook.extensions.agents.book import arming
from keepbook.extensions.agents.book.scoring.brought_in import FORECASTS, take_back_forecasts
from keepbook.extensions.agents.tables import (
    RESULT,
    agents,
    brought_forecasts,
    decisions,
    former_results,
    runs,
    transcripts,
)
from keepbook.patterns import regex
from keepbook.storage.database import Tx

SESSION = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
LOADS = (FORECASTS,)
Put = Callable[[Table, Sequence[Mapping[str, Any]]], None]


def check_import(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuse a session that is none: it becomes a program's argument."""
    for row in found.get("agent", ()):
        session = row.get("session")
        if session is not None and not SESSION.fullmatch(session):
            why = f"{session!r} is no session of an agent"
            raise Invalid(f"{why[:200]}; nothing was imported", field="file", code="altered")


def after_restore(tx: Tx) -> tuple[str, ...]:
    """Disarm every agent. Returns the names of those that the person has to arm again."""
    arming.disarm(tx)
    return tuple(arming.unarmed_agents(tx))


def older_line(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """What the first format of an export did not say of a decision."""
    return {"known_at": value.get("closed_at")} if kind == "decision" else {}


def take_back(book: OpenBook, tx: Tx, load: Arrival) -> None:
    book.ask("decisions.record")
    take_back_forecasts(tx, book.origin, load.nth)


def replay_rows(tx: Tx, found: Mapping[str, list[Any]], put: Put) -> None:
    """Agents and their runs as they went: begun, spoken in, ended; and decisions opened, then closed."""
    put(agents, found["agent"])
    ended = dict.fromkeys(("card", "error", "error_code", "session_after", "epoch", "step", "finished_at"))
    spoken: dict[str, list[Any]] = {}
    for line in sorted(found["line"], key=lambda row: row["turn"]):
        spoken.setdefault(line["run_id"], []).append(line)
    for row in sorted(found["run"], key=lambda row: (row["lead_run"] is not None, row["parent_run"] is not None)):
        is_over = row["status"] in ("succeeded", "failed")
        put(runs, [row | ended | {"status": "running"} if is_over else row])
        put(transcripts, spoken.pop(row["id"], []))
        if is_over:
            result = {name: row[name] for name in ("status", *ended)}
            tx.conn.execute(update(runs).where(runs.c.owner == tx.owner, runs.c.id == row["id"]).values(result))
    put(transcripts, [line for lines in spoken.values() for line in lines])  # of no run: the guards refuse them
    before: dict[str, list[Any]] = {}
    for former in sorted(found["former_result"], key=lambda row: row["nth"]):
        before.setdefault(former["run_id"], []).append(former)
    blank = dict.fromkeys((*RESULT, "known_at")) | {"state": "open"}
    for row in found["decision"]:
        put(decisions, [row | blank])
        mine = (decisions.c.owner == tx.owner, decisions.c.run_id == row["run_id"])
        for told in (*before.pop(row["run_id"], []), row):
            tx.conn.execute(update(decisions).where(*mine).values({name: told[name] for name in blank}))
            if told is not row:
                put(former_results, [told])
    put(former_results, [former for formers in before.values() for former in formers])  # of no decision: refused
    put(brought_forecasts, found["brought_forecast"])
