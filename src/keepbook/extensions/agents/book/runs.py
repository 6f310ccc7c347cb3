"""Runs of agents: what was said in each, and the card it ended in.

A run is queued, then running, and ends as succeeded or failed; after that its row never changes. A re-examination is a
run of its own that points at its parent. The result of a run (its card, the decision, the agent's session moved on) is
written in one transaction.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, bindparam, func, insert, select, tuple_

from keepbook.book.chats.threads import ROLES, estimate
from keepbook.book.ground import due, stored_json
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_count, clean_json, clean_text, sought
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.errors import Conflict, Invalid, NotFound
from keepbook.extensions.agents.book import agents, decisions, due_work
from keepbook.extensions.agents.book.agents import SessionLease
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, RULE_PREFIX, CardTypes, validate
from keepbook.extensions.agents.book.due_work import LOST, RUN_LOST
from keepbook.extensions.agents.book.outcomes.series import is_recorded_later
from keepbook.extensions.agents.book.scoring.prompt_versions import prompt_version
from keepbook.extensions.agents.tables import agents as agent_rows
from keepbook.extensions.agents.tables import runs, transcripts
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns

RECORDED = "recorded"
KINDS = ("scheduled", "manual", "chat", RECORDED, RE_EXAMINATION)
_STARTED_HERE = tuple(kind for kind in KINDS if kind != RECORDED)
TEXT_LIMIT = 1_000_000  # characters of a prompt, or of a turn of a transcript
ERROR_LIMIT = 2000  # characters
AT_ONCE = 500
"""How many ids one SELECT asks for at most."""
QUEUED_SECONDS = 600.0
"""Seconds after which a run that is still queued is given up: the program that queued it must have ended."""


@dataclass(frozen=True, slots=True)
class Card:
    """What a run answered, in the slots of its type; `computed` names the rule that made it, where no model did."""

    type: str
    slots: dict[str, Any]
    computed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it stands. `specialist` names which of the team it was, `lead_run` the run of its lead.

    `card_type` is the type that its answer must have, if any; `card` is there once it has succeeded. A recorded one was
    `made_at` an instant elsewhere, and may have a `key` of its own and a `link`. `prompt_version` says with which words
    it was asked. One that is queued while another has the agent's session in hand `waits_until` then at the latest,
    should the other's program be gone. A failed one has an `error_code` for programs; the one that makes up for it
    later is its `retry_of`.
    """

    id: str
    agent_id: str
    kind: str
    status: str
    prompt: str
    adapter: str | None
    model: str | None
    card_type: str | None
    card: Card | None
    error: str | None
    parent_run: str | None
    lead_run: str | None
    specialist: str | None
    thread_id: str | None
    session_before: str | None
    session_after: str | None
    tokens_in: int
    tokens_out: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    made_at: datetime | None
    key: str | None
    link: str | None
    prompt_version: str | None
    error_code: str | None = None
    retry_of: str | None = None
    waits_until: datetime | None = None

    @property
    def recorded_later(self) -> bool:
        """Whether it came in well after it was made elsewhere."""
        return self.made_at is not None and is_recorded_later(stamp(self.made_at), stamp(self.created_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """One turn of a transcript; `parts` holds tool calls and their answers.

    Never the memory block: that stands in the injections (space `chat`, session = the run's id), where a purge of one
    of its memories reaches it.
    """

    turn: int
    role: str
    text: str
    parts: Any
    at: datetime
    tokens: int


# Operations


def queue(
    tx: Tx,
    now: str,
    cards: CardTypes,
    agent_id: str,
    kind: str,
    *,
    prompt: str,
    parent_run: str | None = None,
    lead_run: str | None = None,
    specialist: str | None = None,
    thread_id: str | None = None,
    retry_of: str | None = None,
) -> Run:
    """Queue a run and return it. It ends in a card of the agent's type, a re-examination in one of its own type, a chat
    and a specialist in none. A re-examination is refused (`Conflict`) if the parent's card does not allow it now."""
    agent = agents.get_agent(tx, agent_id)
    if kind not in _STARTED_HERE:
        raise Invalid(f"a run is one of {', '.join(_STARTED_HERE)}, not {kind!r}", field="kind")
    if agent.adapter == agents.EXTERNAL:
        raise Conflict(
            f"{agent.name} runs elsewhere and is only recorded here; see `keepbook agent record`", code="external"
        )
    card_type = None if kind == "chat" or lead_run is not None else agent.card_type
    if kind == RE_EXAMINATION and lead_run is None:
        _allow_re_examination(tx, cards, agent_id, parent_run)
        card_type = RE_EXAMINATION
    elif parent_run is not None:
        raise Invalid("only a re-examination looks at an earlier run", field="parent_run")
    elif card_type is not None:
        cards.get(card_type)
    row = {
        "owner": tx.owner, "id": new_id(), "agent_id": agent_id, "nature": kind, "status": "queued",
        "prompt": clean_text(prompt, "prompt", TEXT_LIMIT), "card_type": card_type, "parent_run": parent_run,
        "lead_run": lead_run, "specialist": specialist, "thread_id": thread_id, "tokens_in": 0, "tokens_out": 0,
        "created_at": now, "prompt_version": prompt_version(agent), "retry_of": retry_of,
    }  # fmt: skip
    tx.conn.execute(insert(runs), row)
    due.remind(tx, RUN_LOST, str(row["id"]), _later(now, QUEUED_SECONDS))
    return get_run(tx, str(row["id"]))


def start_run(
    tx: Tx,
    now: str,
    run_id: str,
    *,
    adapter: str,
    model: str | None,
    lease_seconds: float,
    turn: SessionLease | None = None,
) -> Run:
    """Set a queued run to running. `turn` is its lease on the agent's session. After `lease_seconds` the sweep gives it
    up."""
    if get_run(tx, run_id).status != "queued":
        raise Conflict(f"run {run_id} was started already", code="started")
    due.remind(tx, RUN_LOST, run_id, _later(now, lease_seconds))
    before = None if turn is None else turn.session
    return _set(tx, run_id, status="running", started_at=now, adapter=adapter, model=model, session_before=before)


def renew_run(tx: Tx, now: str, run_id: str, *, lease_seconds: float) -> None:
    """Renew a run's lease: the sweep waits a while longer before it gives this run up."""
    _get_unfinished(tx, run_id)
    due.remind(tx, RUN_LOST, run_id, _later(now, lease_seconds))


def add_to_transcript(tx: Tx, now: str, run_id: str, role: str, text: str, *, parts: Any = None) -> TranscriptTurn:
    """Append a turn to the transcript of a run that is not over, and return it. Turns are never rewritten."""
    if role not in ROLES:
        raise Invalid(f"role is one of {', '.join(ROLES)}, not {role!r}", field="role")
    _get_unfinished(tx, run_id)
    text = clean_text(text, "text", TEXT_LIMIT)
    ((last_turn,),) = _LAST_TURN.tuples(tx.conn, {"owner": tx.owner, "run_id": run_id})
    row = {
        "owner": tx.owner, "run_id": run_id, "turn": (last_turn or 0) + 1, "role": role, "text": text, "at": now,
        "parts": clean_json(parts, "parts") if parts else None, "tokens": estimate(text),
    }  # fmt: skip
    _INSERT_TURN.run(tx.conn, row)
    return _to_turn(row)


def succeed(
    tx: Tx,
    now: str,
    cards: CardTypes,
    run_id: str,
    *,
    slots: Mapping[str, Any] | None = None,
    tokens_in: int = 0,
    tokens_out: int = 0,
    turn: SessionLease | None = None,
    session: str | None = None,
) -> Run:
    """Store the result for good: card, decision, and the agent's session moved to `session`, together or not at all.

    `turn`, the lease on the agent's session, is released; if another run has taken it over, this is a `Conflict`
    (`lost_turn`). If the session was reset meanwhile, it is not moved and `session_after` stays empty.
    """
    run = _get_unfinished(tx, run_id)
    if (slots is None) != (run.card_type is None):
        raise Invalid("a run with a card type ends in a card, and one without in none", field="card")
    result: dict[str, Any] = {"card": None}
    if slots is not None and run.card_type is not None:
        kind = cards.get(run.card_type)
        if run.parent_run is not None:
            parent_card = _require_card(get_run(tx, run.parent_run))
            kind = cards.re_examination_of(cards.find(parent_card.type))
        kept = validate(kind, slots, now)
        result = {"card": json.dumps(kept, ensure_ascii=False)}
    if turn is not None and session is not None:
        if run.kind == RE_EXAMINATION:
            raise Invalid("a re-examination neither reads nor moves the shared session", field="session")
        moved = agents.move(tx, turn, now, session)
        if moved is not None:
            result |= {"session_after": session, "epoch": moved[0], "step": moved[1]}
    elif turn is not None:
        agents.release_session(tx, turn)
    due.cancel(tx, RUN_LOST, run_id)
    done = _set(tx, run_id, status="succeeded", finished_at=now, tokens_in=tokens_in, tokens_out=tokens_out, **result)
    if done.card is not None and done.kind != RE_EXAMINATION:
        decisions.open_decision(tx, cards.get(done.card.type), run_id, done.agent_id, done.card.slots, now)
    return done


def fail(
    tx: Tx,
    now: str,
    run_id: str,
    error: str,
    *,
    code: str | None = None,
    tokens_in: int = 0,
    tokens_out: int = 0,
    turn: SessionLease | None = None,
) -> Run:
    """Mark a run as failed for good. Its transcript stays, the session is not moved, the lease `turn` is released."""
    run = _get_unfinished(tx, run_id)
    if turn is not None:
        agents.release_session(tx, turn)
    due.cancel(tx, RUN_LOST, run_id)
    why = clean_text(error, "error", TEXT_LIMIT)[:ERROR_LIMIT] or "it failed without a word"
    spent = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    failed = _set(tx, run_id, status="failed", finished_at=now, error=why, error_code=code, **spent)
    if due_work.is_tried_again(run, code):
        due_work.remind_of_retry(tx, now, run)
    return failed


def give_up(tx: Tx, now: str, run_id: str) -> bool:
    """Fail a run whose lease is over, since its program is gone; for the sweep. Returns whether it did."""
    until = due.reminded_at(tx, RUN_LOST, run_id)
    if until is None or until > now or _find(tx, run_id).status not in ("queued", "running"):
        due.cancel(tx, RUN_LOST, run_id)
        return False
    fail(tx, now, run_id, "the program that ran it ended before it did; run it again", code=LOST)
    return True


def _allow_re_examination(tx: Tx, cards: CardTypes, agent_id: str, parent_run: str | None) -> None:
    if parent_run is None:
        raise Invalid("a re-examination looks at an earlier run: name it", field="parent_run")
    parent = get_run(tx, parent_run)
    if parent.agent_id != agent_id:
        raise Invalid(f"run {parent_run} is another agent's", field="parent_run")
    if refusal := why_not_re_examined(tx, cards, parent):
        raise refusal


def _require_card(run: Run) -> Card:
    if run.card is None:
        raise Conflict(f"run {run.id} has no card", code="not_re_examinable")
    return run.card


def _get_unfinished(tx: Tx, run_id: str) -> Run:
    run = get_run(tx, run_id)
    if run.status not in ("queued", "running"):
        raise Conflict(f"run {run_id} has {run.status}; what it left is never changed", code="finished")
    return run


def _later(now: str, seconds: float) -> str:
    return stamp(parse_stamp(now) + timedelta(seconds=seconds))


def _set(tx: Tx, run_id: str, **values: Any) -> Run:
    set_columns(tx.conn, runs, {"owner": tx.owner, "id": run_id}, values)
    return get_run(tx, run_id)


# Queries


def get_run(tx: Tx, run_id: str) -> Run:
    row = _find(tx, run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id!r} in this book", field="run")
    return _with_waits_until(tx, _to_run(row))


def _with_waits_until(tx: Tx, run: Run) -> Run:
    """The run, with the end of the lease that it waits for. Only queued runs that use the agent's session wait."""
    if run.status != "queued" or run.kind == RE_EXAMINATION or run.lead_run is not None:
        return run
    query = select(agent_rows.c.turn_until).where(agent_rows.c.owner == tx.owner, agent_rows.c.id == run.agent_id)
    until = tx.conn.execute(query).scalar()
    is_leased = until is not None and until > stamp(tx.clock())
    return replace(run, waits_until=parse_stamp(until)) if is_leased else run


def list_runs(
    tx: Tx,
    *,
    agent_id: str | None = None,
    kind: str | None = None,
    status: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> Sequence[Run]:
    """The runs, newest first, without those of specialists; `before` is the id of the last one seen."""
    query = select(runs).where(runs.c.owner == tx.owner, runs.c.lead_run.is_(None))
    for column, value in ((runs.c.agent_id, agent_id), (runs.c.nature, kind), (runs.c.status, status)):
        if value is not None:
            query = query.where(column == value)
    order = tuple_(runs.c.created_at, runs.c.id)
    if before is not None:
        last = get_run(tx, before)
        query = query.where(order < tuple_(stamp(last.created_at), last.id))
    query = query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(clean_count(limit, "limit", 1000))
    return [_with_waits_until(tx, _to_run(row)) for row in tx.conn.execute(query).all()]


def re_examinations(tx: Tx, run_id: str) -> Sequence[Run]:
    """The second looks at a run, in time order."""
    query = select(runs).where(runs.c.owner == tx.owner, runs.c.parent_run == get_run(tx, run_id).id)
    return [_to_run(row) for row in tx.conn.execute(query.order_by(runs.c.created_at, runs.c.id))]


def second_looks_at(tx: Tx, run_ids: Sequence[str]) -> dict[str, list[Run]]:
    """The second looks at each of these runs, in time order, by the id of the run looked at."""
    found: dict[str, list[Run]] = {id: [] for id in run_ids}
    for some_ids in _chunks(run_ids):
        query = select(runs).where(runs.c.owner == tx.owner, runs.c.parent_run.in_(some_ids))
        for row in tx.conn.execute(query.order_by(runs.c.created_at, runs.c.id)):
            found[row.parent_run].append(_to_run(row))
    return found


def _chunks(run_ids: Sequence[str]) -> Iterator[list[str]]:
    ids = list(dict.fromkeys(run_ids))
    return (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))


def several(tx: Tx, run_ids: Sequence[str]) -> dict[str, Run]:
    """Those of these runs that exist, by id."""
    found: dict[str, Run] = {}
    for some_ids in _chunks(run_ids):
        rows = tx.conn.execute(select(runs).where(runs.c.owner == tx.owner, runs.c.id.in_(some_ids)))
        found |= {row.id: _to_run(row) for row in rows}
    return found


def specialists(tx: Tx, run_id: str) -> Sequence[Run]:
    """The runs of the team under a lead's run, in the order in which they were begun."""
    query = select(runs).where(runs.c.owner == tx.owner, runs.c.lead_run == get_run(tx, run_id).id)
    return [_to_run(row) for row in tx.conn.execute(query.order_by(runs.c.created_at, runs.c.id))]


def run_transcript(tx: Tx, run_id: str) -> Sequence[TranscriptTurn]:
    query = select(transcripts).where(transcripts.c.owner == tx.owner, transcripts.c.run_id == get_run(tx, run_id).id)
    return [_to_turn(row._mapping) for row in tx.conn.execute(query.order_by(transcripts.c.turn))]


def session_steps(tx: Tx, turn: SessionLease) -> Sequence[tuple[int, Run, Sequence[TranscriptTurn]]]:
    """The steps of a session since its last reset: step number, run and transcript. Steps that `turn.compressed`
    replaces are left out."""
    session = and_(runs.c.owner == tx.owner, runs.c.agent_id == turn.agent_id, runs.c.epoch == turn.epoch)
    not_compressed = and_(session, runs.c.step > turn.compressed_through)
    run_rows = tx.conn.execute(select(runs).where(not_compressed).order_by(runs.c.step)).all()
    said: dict[str, list[TranscriptTurn]] = {row.id: [] for row in run_rows}
    turns = (
        select(transcripts)
        .join(runs, and_(runs.c.owner == transcripts.c.owner, runs.c.id == transcripts.c.run_id))
        .where(not_compressed)
        .order_by(transcripts.c.run_id, transcripts.c.turn)
    )
    for row in tx.conn.execute(turns):
        said[row.run_id].append(_to_turn(row._mapping))
    return [(row.step, _to_run(row), said[row.id]) for row in run_rows]


def why_not_re_examined(tx: Tx, cards: CardTypes, run: Run) -> Conflict | None:
    """The error with which a second look at this run is to be refused; None if it is allowed."""
    if run.card is None or run.kind == RE_EXAMINATION:
        return Conflict(f"run {run.id} ended in no card that could be looked at again", code="not_re_examinable")
    allows = cards.find(run.card.type).re_examinable
    if allows == "opt_in":
        allows = "true" if agents.looks_again(tx, run.agent_id) else "false"
    if allows == "false":
        return Conflict(f"a {run.card.type} is not re-examined", code="not_re_examinable")
    if allows == "until_resolved" and decisions.is_over(tx, run.id):
        return Conflict("this decision is over; there is nothing left to re-examine", code="closed")
    return None


def _find(tx: Tx, run_id: str) -> Any:
    return _ONE.first(tx.conn, {"owner": tx.owner, "id": sought(run_id)})


_LAST_TURN = PreparedStatement(
    select(func.max(transcripts.c.turn)).where(
        transcripts.c.owner == bindparam("owner"), transcripts.c.run_id == bindparam("run_id")
    )
)
_INSERT_TURN = PreparedStatement(insert(transcripts), transcripts.c.keys())
_ONE = PreparedStatement(select(runs).where(runs.c.owner == bindparam("owner"), runs.c.id == bindparam("id")))


def _to_run(row: Any) -> Run:
    known = {name: getattr(row, name) for name in Run.__dataclass_fields__ if name not in ("kind", "waits_until")}
    for name in ("created_at", "started_at", "finished_at", "made_at"):
        known[name] = None if known[name] is None else parse_stamp(known[name])
    rule = row.model.removeprefix(RULE_PREFIX) if (row.model or "").startswith(RULE_PREFIX) else None
    card = None if row.card is None else Card(row.card_type, stored_json.load_json(row.card), rule)
    return Run(**known | {"kind": row.nature, "card": card})  # not `row.kind`: a line of an export has its own `kind`


def _to_turn(row: Any) -> TranscriptTurn:
    return TranscriptTurn(
        turn=row["turn"], role=row["role"], text=row["text"], at=parse_stamp(row["at"]), tokens=row["tokens"],
        parts=stored_json.load_json(row["parts"]) if row["parts"] else None,
    )  # fmt: skip
