"""Which agents are armed: may run by themselves, or start a program, on this machine.

This is a local mark beside the agent. It is not part of the ledger's chain or of an export, and every import clears it.
The person sets it when they set the agent up here, or later (`keepbook agent arm`). Without it a schedule has no
effect.
"""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select

from keepbook.extensions.agents.tables import agents, armed
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement

PROGRAM = "claude-cli"
"""The adapter that starts a program."""


# Operations


def arm(tx: Tx, now: str, agent_id: str) -> None:
    if not is_armed(tx, agent_id):
        tx.conn.execute(insert(armed), {"owner": tx.owner, "agent_id": agent_id, "at": now})


def disarm(tx: Tx, agent_id: str | None = None) -> None:
    """Disarm one agent, or all of them."""
    query = delete(armed).where(armed.c.owner == tx.owner)
    if agent_id is None:
        tx.conn.execute(query)
    else:
        tx.conn.execute(query.where(armed.c.agent_id == agent_id))


# Queries


def is_armed(tx: Tx, agent_id: str) -> bool:
    return _ARMED.first(tx.conn, {"owner": tx.owner, "agent_id": agent_id}) is not None


_ARMED = PreparedStatement(
    select(armed.c.at).where(armed.c.owner == bindparam("owner"), armed.c.agent_id == bindparam("agent_id"))
)


def unarmed_agents(tx: Tx) -> Sequence[str]:
    """The names of the agents that would run by themselves or start a program, and may not."""
    there = select(armed.c.agent_id).where(armed.c.owner == tx.owner)
    query = (
        select(agents.c.name)
        .where(agents.c.owner == tx.owner, agents.c.deleted_at.is_(None), agents.c.id.notin_(there))
        .where(agents.c.schedule.isnot(None) | (agents.c.adapter == PROGRAM))
    )
    return list(tx.conn.execute(query.order_by(agents.c.created_at, agents.c.id)).scalars())
