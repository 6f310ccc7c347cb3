"""Agents, and the one session that each of them has.

With Active Memory on, chat and runs of an agent share one session: each begins from its newest state, and stores the
next one ("moves" it) when it has succeeded. A lease across processes lets only one of them use it at a time, so that
neither loses what the other added. A reset increments the `epoch`: a run that began before it may still succeed, but
does not move the session.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, func, insert, select

from keepbook.book.ground import due, stored_json
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_count, clean_line, clean_optional, clean_text, sought
from keepbook.book.ground.when import later, parse_stamp, stamp
from keepbook.book.owners import owners, switches
from keepbook.book.text.words import fold_text
from keepbook.errors import Ambiguous, Conflict, Invalid, NotFound
from keepbook.extensions.agents.book import arming, schedule
from keepbook.extensions.agents.book.due_work import RUN
from keepbook.extensions.agents.tables import agents, runs
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns

EXTERNAL = "external"
"""The adapter of an agent that is run elsewhere: it is never run here, only its cards are recorded."""
ADAPTERS = ("native", "claude-cli", EXTERNAL)
CARD_TYPE = "note"  # of an agent that names none
TEXT_LIMIT = 64_000  # characters of instructions, or of a prompt
NAME_LIMIT = 80  # characters
MOST_SPECIALISTS = 12
MANY_RUNS = 20
"""With more runs than this since its last reset, an agent's session is long enough to suggest a reset."""


@dataclass(frozen=True, slots=True)
class Specialist:
    """One of a team: looks at one side of the matter and reports to the lead. Its model, if not the lead's."""

    name: str
    instructions: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveMemory:
    """What an agent carries from run to run: the panel of Active Memory.

    `status` is `fresh` or `carrying`; `runs` counts scheduled and manual ones since `since`, `chats` the others;
    `age` is the time since the session was last moved, as a person says it. `busy_until`: a run or a chat has it in
    hand, and the next one waits; should its program be gone, no longer than that.
    """

    enabled: bool
    status: str
    session: str | None
    busy_until: datetime | None
    runs: int
    chats: int
    since: datetime | None
    updated_at: datetime | None
    age: str | None
    suggest_reset: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as it stands. Without a model of its own it works with the installation's chat model. `next_run` is when
    its schedule runs it next."""

    id: str
    name: str
    instructions: str
    default_prompt: str
    model: str | None
    adapter: str
    card_type: str
    schedule: str | None
    team: tuple[Specialist, ...]
    use_block: bool
    memory_enabled: bool
    review_decisions: bool
    second_looks: bool
    thread_id: str | None
    created_at: datetime
    updated_at: datetime
    next_run: datetime | None
    memory: ActiveMemory
    armed: bool = False
    """Whether it may run by itself, or start its program, on this machine."""
    run_seconds: int = 900
    run_tool_calls: int = 40
    run_tokens: int | None = None
    """What one run of it may use; past that it fails, with the name of the limit as its code."""


@dataclass(frozen=True, slots=True)
class SessionLease:
    """A lease on an agent's session: while it lasts, only its holder may read and continue the session.

    `compressed` is the summary that replaces the steps up to `compressed_through` in a long session.
    """

    agent_id: str
    token: str
    session: str | None
    epoch: int
    compressed: str | None
    compressed_through: int


FIELDS = (
    "name", "instructions", "default_prompt", "model", "adapter", "card_type", "schedule", "team", "use_block",
    "memory_enabled", "review_decisions", "second_looks", "run_seconds", "run_tool_calls", "run_tokens",
)  # fmt: skip
"""The fields that a person sets."""
RUN_LIMITS = {"run_seconds": 86_400, "run_tool_calls": 10_000, "run_tokens": 1_000_000_000}


# Rules


def clean(given: Mapping[str, Any], card_types: Sequence[str]) -> dict[str, Any]:
    """The fields that a person sets, checked, in the form of the columns; only those that are given."""
    unknown = sorted(given.keys() - set(FIELDS))
    if unknown:
        raise Invalid(f"an agent has no {unknown[0]!r}; it has {', '.join(FIELDS)}", field=unknown[0])
    cleaned: dict[str, Any] = {}
    for field, value in given.items():
        if field == "name":
            cleaned[field] = clean_line(value, field, 1, NAME_LIMIT)
        elif field in ("instructions", "default_prompt"):
            cleaned[field] = clean_text(value or "", field, TEXT_LIMIT).strip()
        elif field == "model":
            cleaned[field] = clean_optional(value, field, 200)
        elif field == "schedule":
            cleaned[field] = schedule.check_schedule(value) if value else None
        elif field == "team":
            cleaned[field] = json.dumps([asdict(one) for one in clean_team(value)], ensure_ascii=False)
        elif field in ("adapter", "card_type"):
            cleaned[field] = _check_choice(value, field, ADAPTERS if field == "adapter" else card_types)
        elif field in RUN_LIMITS:
            cleaned[field] = None if value is None else clean_count(value, field, RUN_LIMITS[field])
        else:
            cleaned[field] = int(_switch(value, field))
    return cleaned


def clean_team(value: object) -> tuple[Specialist, ...]:
    """The specialists of a team, checked; given as `Specialist`s or as mappings. Each name may be used once."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MOST_SPECIALISTS:
        raise Invalid(f"a team is a list of up to {MOST_SPECIALISTS} specialists", field="team")
    team = []
    for one in value:
        given = asdict(one) if isinstance(one, Specialist) else one
        if not isinstance(given, Mapping) or given.keys() - {"name", "instructions", "model"} or "name" not in given:
            raise Invalid("a specialist has a name, instructions and, if it needs one, a model", field="team")
        name = clean_line(given["name"], "team", 1, NAME_LIMIT)
        instructions = clean_text(given.get("instructions") or "", "team", TEXT_LIMIT).strip()
        team.append(Specialist(name, instructions, clean_optional(given.get("model"), "team", 200)))
    if len({fold_text(one.name) for one in team}) < len(team):
        raise Invalid("each specialist of a team has a name of its own", field="team")
    return tuple(team)


def _check_choice(value: object, field: str, known: Sequence[str]) -> str:
    if value not in known:
        raise Invalid(f"{field.replace('_', ' ')} is one of {', '.join(known)}, not {value!r}", field=field)
    return str(value)


def _switch(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{field} is true or false, not {value!r}", field=field)
    return value


# Operations


def create_agent(tx: Tx, now: str, card_types: Sequence[str], name: str, **given: Any) -> Agent:
    """Create an agent. Only the name is needed. A name is used once among the agents that are not removed."""
    cleaned = clean({"name": name, **given}, card_types)
    _free_name(tx, cleaned["name"])
    owners.make_known(tx, now)  # an owner that has nothing but agents has a book too
    begun = {"memory_enabled": 0} | cleaned
    row = {
        "owner": tx.owner, "id": new_id(), "instructions": "", "default_prompt": "", "adapter": ADAPTERS[0],
        "card_type": CARD_TYPE, "team": "[]", "use_block": 0, "review_decisions": 0, "second_looks": 0,
        "created_at": now, "updated_at": now, "fresh_at": now if begun["memory_enabled"] else None, "epoch": 0,
        "step": 0, "compressed_through": 0,
    } | begun  # fmt: skip
    _refuse_idle(row)
    tx.conn.execute(insert(agents), row)
    _remind(tx, row)
    return get_agent(tx, str(row["id"]))


def change(tx: Tx, now: str, card_types: Sequence[str], id: str, **given: Any) -> Agent:
    """Change an agent; what is not given stays. When memory is switched on, the session begins anew."""
    row = _row(tx, id)
    cleaned = clean(given, card_types)
    if "name" in cleaned and fold_text(cleaned["name"]) != fold_text(row.name):
        _free_name(tx, cleaned["name"])
    is_switched_on = cleaned.get("memory_enabled", 0) and not row.memory_enabled
    if is_switched_on:  # while it is off, the session stays stored and is ignored
        cleaned |= _fresh(row, now)
    if cleaned.get("adapter", row.adapter) != row.adapter:  # another program does not know the old one's session
        cleaned |= _fresh(row, now)
    _refuse_idle({**row._mapping, **cleaned})
    if cleaned:
        _set(tx, id, updated_at=now, **cleaned)
    if "schedule" in cleaned:
        _remind(tx, {**row._mapping, **cleaned})
    return get_agent(tx, id)


def reset(tx: Tx, now: str, id: str) -> Agent:
    """Let the next run start without a past; allowed with memory on or off. Chats and decisions stay."""
    _set(tx, id, updated_at=now, **_fresh(_row(tx, id), now))
    return get_agent(tx, id)


def remove_agent(tx: Tx, now: str, id: str) -> Agent:
    """Remove an agent from every list; it never runs again. Its runs and decisions stay: they are what happened."""
    agent = get_agent(tx, id)
    due.cancel(tx, RUN, id)
    _set(tx, id, deleted_at=now, **_fresh(_row(tx, id), now))
    return agent


def restore_agent(tx: Tx, now: str, id: str) -> Agent:
    """Restore a removed agent; its session starts fresh."""
    row = _row(tx, id, deleted=True)
    if row.deleted_at is not None:
        _free_name(tx, row.name)
        _set(tx, id, deleted_at=None, updated_at=now)
        _remind(tx, row._mapping)
    return get_agent(tx, id)


def schedule_next_run(tx: Tx, id: str) -> str | None:
    """Set the reminder of the next scheduled run anew, from this moment on; returns its time, if any."""
    return _remind(tx, _row(tx, id)._mapping)


def keep_thread(tx: Tx, id: str, thread_id: str) -> None:
    """Let the chat with an agent go on in this thread."""
    _row(tx, id)
    _set(tx, id, thread_id=thread_id)


def claim_session(tx: Tx, id: str, now: str, *, lease_seconds: float) -> SessionLease | None:
    """Take the lease on the session; None while somebody else has it. Its memory must be on, and the person's."""
    row = _row(tx, id)
    if not (row.memory_enabled and switches.is_memory_on(tx)):
        raise Conflict(f"{row.name} carries no session: its Active Memory is off, or all memory", code="no_session")
    if row.turn_until is not None and now < row.turn_until <= later(now, days=1):  # a longer one is of a clock ahead
        return None
    token = secrets.token_hex(8)
    _set(tx, id, turn_until=stamp(parse_stamp(now) + timedelta(seconds=lease_seconds)), turn_by=token)
    return SessionLease(id, token, row.session, row.epoch, row.compressed, row.compressed_through)


def renew_session(tx: Tx, held: SessionLease, now: str, *, lease_seconds: float) -> bool:
    """Renew the lease; False if somebody took it over."""
    if not is_mine(tx, held):
        return False
    _set(tx, held.agent_id, turn_until=stamp(parse_stamp(now) + timedelta(seconds=lease_seconds)))
    return True


def release_session(tx: Tx, held: SessionLease) -> None:
    """Release the lease without moving the session."""
    if is_mine(tx, held):
        _set(tx, held.agent_id, turn_until=None, turn_by=None)


def move(tx: Tx, held: SessionLease, now: str, session: str) -> tuple[int, int] | None:
    """Store the session's next state and release the lease. Returns epoch and step; None if there was a reset: then the
    session stays as it is. Raises `Conflict` if somebody took the lease over: what they added would be lost."""
    if not is_mine(tx, held):
        raise Conflict(
            "another run took over this agent's session; this one came too late to move it", code="lost_turn"
        )
    row = _row(tx, held.agent_id, deleted=True)
    free: dict[str, Any] = {"turn_until": None, "turn_by": None}
    if row.epoch != held.epoch:
        _set(tx, held.agent_id, **free)
        return None
    session = clean_line(session, "session", 1, 200)
    _set(tx, held.agent_id, session=session, session_at=now, step=row.step + 1, **free)
    return row.epoch, row.step + 1


def compress(tx: Tx, held: SessionLease, through: int, summary: str) -> None:
    """Let `summary` replace the steps through this one. Does nothing without the lease, or after a reset."""
    if is_mine(tx, held) and _row(tx, held.agent_id).epoch == held.epoch:
        _set(tx, held.agent_id, compressed=summary, compressed_through=through)


def _fresh(row: Any, now: str) -> dict[str, Any]:
    """The columns of a session that begins anew."""
    return {
        "session": None, "session_at": None, "fresh_at": now, "epoch": row.epoch + 1, "compressed": None,
        "compressed_through": row.step,
    }  # fmt: skip


def _remind(tx: Tx, row: Mapping[str, Any]) -> str | None:
    """Set the due item of the next scheduled run; returns its time, or None without a schedule."""
    due.cancel(tx, RUN, row["id"])
    if not row.get("schedule"):
        return None
    at = stamp(schedule.following(row["schedule"], tx.clock(), owners.zone_name(tx)))
    due.remind(tx, RUN, row["id"], at)
    return at


def _refuse_idle(row: Mapping[str, Any]) -> None:
    """Refuse an external agent with settings that only a run here would use."""
    if row["adapter"] == EXTERNAL and (row.get("schedule") or row["memory_enabled"] or row["team"] != "[]"):
        raise Invalid(
            "an external agent runs elsewhere: it has no schedule, no team and no Active Memory here", field="adapter"
        )


def _free_name(tx: Tx, name: str) -> None:
    if any(fold_text(row.name) == fold_text(name) for row in _present_rows(tx)):
        raise Conflict(f"there is an agent {name!r} already; choose another name", code="name_taken")


def _set(tx: Tx, id: str, **values: Any) -> None:
    set_columns(tx.conn, agents, {"owner": tx.owner, "id": id}, values)


# Queries


def get_agent(tx: Tx, id: str) -> Agent:
    return _to_agent(tx, _row(tx, id))


def find_agent(tx: Tx, ref: str) -> Agent:
    """The agent with this id, or else with this name, or else with this piece of a name."""
    rows, name = _present_rows(tx), fold_text(ref)
    found = [row for row in rows if row.id == ref]
    if not found:
        found = [row for row in rows if fold_text(row.name) == name]
    if not found:
        found = [row for row in rows if name in fold_text(row.name)]
    if len(found) > 1:
        raise Ambiguous(f"{ref!r} fits several agents; name one by its id", [(row.id, row.name) for row in found])
    if found:
        return _to_agent(tx, found[0])
    raise NotFound(f"there is no agent {ref!r} in this book", field="agent")


def list_agents(tx: Tx) -> Sequence[Agent]:
    """The agents in the order in which they were made."""
    return [_to_agent(tx, row) for row in _present_rows(tx)]


def name_of(tx: Tx, id: str) -> str:
    """The name of an agent, also of a removed one: its runs still show it."""
    return str(_row(tx, id, deleted=True).name)


def looks_again(tx: Tx, id: str) -> bool:
    """Whether it has opted in to second looks at cards of types that leave that open; also for a removed agent."""
    return bool(_row(tx, id, deleted=True).second_looks)


def is_mine(tx: Tx, held: SessionLease) -> bool:
    """Whether nobody took the lease over. A lease that has run out counts as long as nobody took it."""
    row = _find(tx, held.agent_id)
    return row is not None and row.turn_by == held.token


def _present_rows(tx: Tx) -> Sequence[Any]:
    return _PRESENT.rows(tx.conn, {"owner": tx.owner})


def _find(tx: Tx, id: str) -> Any:
    return _ONE.first(tx.conn, {"owner": tx.owner, "id": sought(id)})


def _row(tx: Tx, id: str, *, deleted: bool = False) -> Any:
    row = _find(tx, id)
    if row is None or (row.deleted_at is not None and not deleted):
        raise NotFound(f"there is no agent {id!r} in this book", field="agent")
    return row


def _to_active_memory(tx: Tx, row: Any) -> ActiveMemory:
    session = {"owner": tx.owner, "id": row.id, "epoch": row.epoch}
    counts: dict[str, int] = dict(_RUNS_OF_SESSION.tuples(tx.conn, session))
    ran = counts.get("scheduled", 0) + counts.get("manual", 0)
    moved = None if row.session_at is None else parse_stamp(row.session_at)
    return ActiveMemory(
        enabled=bool(row.memory_enabled),
        status="fresh" if row.session is None else "carrying",
        session=row.session,
        busy_until=parse_stamp(row.turn_until) if row.turn_until and row.turn_until > stamp(tx.clock()) else None,
        runs=ran,
        chats=counts.get("chat", 0),
        since=None if row.fresh_at is None else parse_stamp(row.fresh_at),
        updated_at=moved,
        age=None if moved is None else schedule.span_in_words(tx.clock() - moved),
        suggest_reset=bool(row.memory_enabled) and ran > MANY_RUNS,
    )


_ALL = select(agents).where(agents.c.owner == bindparam("owner"))
_ONE = PreparedStatement(_ALL.where(agents.c.id == bindparam("id")))
_PRESENT = PreparedStatement(_ALL.where(agents.c.deleted_at.is_(None)).order_by(agents.c.created_at, agents.c.id))
_RUNS_OF_SESSION = PreparedStatement(
    select(runs.c.nature, func.count())
    .where(runs.c.owner == bindparam("owner"), runs.c.agent_id == bindparam("id"), runs.c.step.isnot(None))
    .where(runs.c.epoch == bindparam("epoch"))
    .group_by(runs.c.nature)
)


def _to_agent(tx: Tx, row: Any) -> Agent:
    next_run = due.reminded_at(tx, RUN, row.id) if row.schedule and row.deleted_at is None else None
    plain = ("id", "name", "instructions", "default_prompt", "model", "adapter", "card_type", "schedule", "thread_id")
    return Agent(
        **{name: getattr(row, name) for name in plain},
        use_block=bool(row.use_block),
        memory_enabled=bool(row.memory_enabled),
        review_decisions=bool(row.review_decisions),
        second_looks=bool(row.second_looks),
        team=tuple(Specialist(**one) for one in stored_json.load_json(row.team)),
        created_at=parse_stamp(row.created_at),
        updated_at=parse_stamp(row.updated_at),
        next_run=None if next_run is None else parse_stamp(next_run),
        memory=_to_active_memory(tx, row),
        armed=arming.is_armed(tx, row.id),
        **{name: getattr(row, name) for name in RUN_LIMITS if getattr(row, name) is not None},
    )
