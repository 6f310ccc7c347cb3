"""Records decisions made elsewhere, by an agent that runs in somebody's own program.

A recorded card is checked like one of our own, and followed from the instant at which it was made. With a key, the same
card is recorded only once. If it is recorded when its result could be known already, from bars or because its date is
over, it has predicted nothing: such a card is late; it is shown and counts for no calibration.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select, update

from keepbook.book.chats.threads import ROLES
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_line, clean_optional
from keepbook.book.ground.when import Moment, instant, parse_stamp, stamp
from keepbook.book.owners import owners
from keepbook.errors import Conflict, Invalid
from keepbook.extensions.agents.book import agents, decisions, forecasts, runs, second_looks
from keepbook.extensions.agents.book.agents import EXTERNAL
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, CardType, CardTypes, validate
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.runs import RECORDED, Run
from keepbook.extensions.agents.tables import runs as run_rows
from keepbook.storage.database import Tx

SKEW = timedelta(minutes=2)
"""How far another machine's clock may be ahead of ours."""
MOST_LINES = 1000  # turns of a transcript
LINK_LIMIT = 2000  # characters

Transcript = str | Sequence[Mapping[str, Any]] | None
"""The transcript: one text, or turns with `role` and `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """What was written down. `replayed`: it was there already, under this key; `late`: its end could be known."""

    run_id: str
    replayed: bool
    late: bool
    run: Run
    decision: Decision | None


# Rules


def transcript_lines(transcript: Transcript) -> list[tuple[str, str]]:
    """Role and text of each turn."""
    if transcript is None:
        return []
    told = [{"role": "assistant", "text": transcript}] if isinstance(transcript, str) else transcript
    if not isinstance(told, list | tuple) or len(told) > MOST_LINES:
        raise Invalid(f"a transcript is a text, or a list of up to {MOST_LINES} turns", field="transcript")
    lines = []
    for one in told:
        if not isinstance(one, Mapping) or one.get("role") not in ROLES or not isinstance(one.get("text"), str):
            raise Invalid(f"a turn has a role ({', '.join(ROLES)}) and a text", field="transcript")
        lines.append((str(one["role"]), one["text"]))
    return lines


def clean_link(link: object) -> str | None:
    told = clean_optional(link, "link", LINK_LIMIT)
    if told is not None and not told.startswith(("https://", "http://")):
        raise Invalid("a link begins with https:// or http://", field="link")
    return told


def clean_source(model: object, prompt_version: object) -> dict[str, str | None]:
    """The model that made a card, and the version of the prompt that it was asked with, checked."""
    return {
        "model": clean_optional(model, "model", 200),
        "prompt_version": clean_optional(prompt_version, "prompt_version", 80),
    }


# Operations


def record(
    tx: Tx,
    now: str,
    cards: CardTypes,
    agent_id: str,
    card: Mapping[str, Any],
    *,
    made_at: Moment = None,
    key: str | None = None,
    transcript: Transcript = None,
    link: str | None = None,
    model: str | None = None,
    prompt_version: str | None = None,
) -> RecordedDecision:
    """Record a card of the agent's type that was made elsewhere, now or at `made_at`."""
    agent = agents.get_agent(tx, agent_id)
    row: dict[str, Any] = {"nature": RECORDED, "card_type": agent.card_type, "prompt": "", "parent_run": None}
    row |= clean_source(model, prompt_version)
    return _write(tx, now, cards, agent_id, cards.get(agent.card_type), row, card, made_at, key, transcript, link)


def record_second_look(
    tx: Tx,
    now: str,
    cards: CardTypes,
    run_id: str,
    card: Mapping[str, Any],
    *,
    made_at: Moment = None,
    key: str | None = None,
    transcript: Transcript = None,
    link: str | None = None,
    model: str | None = None,
    prompt_version: str | None = None,
) -> RecordedDecision:
    """Record a second look at a run that was made elsewhere. The run itself stays as it is."""
    parent = runs.get_run(tx, run_id)
    parent_type = parent.card.type if parent.card else ""
    known = _find_by_key(tx, parent.agent_id, key)
    if known is not None:  # the card type may be gone by now
        prompt, form = known.prompt, cards.re_examination_of(cards.find(parent_type))
    else:
        prompt = second_looks.ask_second_look(tx, now, cards, run_id).prompt
        form = cards.re_examination_of(cards.get(parent_type))
    row: dict[str, Any] = {
        "nature": RE_EXAMINATION,
        "card_type": RE_EXAMINATION,
        "prompt": prompt,
        "parent_run": parent.id,
    }
    row |= clean_source(model, prompt_version)
    began = stamp(second_looks.card_made_at(parent))
    return _write(
        tx, now, cards, parent.agent_id, form, row, card, made_at, key, transcript, link, not_before=began
    )  # fmt: skip


def _write(
    tx: Tx, now: str, cards: CardTypes, agent_id: str, form: CardType, row: Mapping[str, Any], card: Mapping[str, Any],
    made_at: Moment, key: str | None, transcript: Transcript, link: str | None, not_before: str = "",
) -> RecordedDecision:  # fmt: skip
    """Write a recorded run with its card, transcript and decision; or answer with the one that has this key."""
    if not isinstance(card, Mapping):
        raise Invalid("a card is an object with its slots", field="card", code="invalid_card")
    moment = now
    if made_at is not None:
        moment = clean_made_at(made_at, now, owners.zone_name(tx))
    known = _find_by_key(tx, agent_id, key)
    if known is not None:
        if made_at is None:
            moment = stamp(second_looks.card_made_at(known))
        return _check_replay(tx, known, form, row, card, moment)
    if moment < not_before:
        raise Invalid("a second look is made after what it looks at", field="made_at")
    slots, said = validate(form, card, moment), transcript_lines(transcript)
    id = new_id()
    begun = {
        "owner": tx.owner, "id": id, "agent_id": agent_id, "status": "running", "adapter": EXTERNAL, "tokens_in": 0,
        "tokens_out": 0, "created_at": now, "started_at": moment, "made_at": moment, "key": _clean_key(key),
        "link": clean_link(link), **row,
    }  # fmt: skip
    tx.conn.execute(insert(run_rows), begun)
    for role, text in said:
        runs.add_to_transcript(tx, moment, id, role, text)
    ended = {"status": "succeeded", "finished_at": moment, "card": json.dumps(slots, ensure_ascii=False)}
    tx.conn.execute(update(run_rows).where(run_rows.c.owner == tx.owner, run_rows.c.id == id).values(ended))
    if row["nature"] == RECORDED and form.is_decision:
        decisions.open_decision(tx, form, id, agent_id, slots, moment, recorded_at=now)
        # If the bars that are stored already close it, or its date is over, it was recorded too late.
        if form.forecast is None:
            decisions.follow(tx, id)
        else:
            forecasts.settle_forecast(tx, cards, id)
    return _recorded_decision(tx, id, replayed=False)


def clean_made_at(made_at: Moment, now: str, zone: str) -> str:
    """When something was made elsewhere, as a stamp; raises `Invalid` if that cannot be."""
    moment = instant(made_at, field="made_at", zone=zone) or now
    if moment > stamp(parse_stamp(now) + SKEW):
        raise Invalid("made_at lies in the future; a decision is recorded when it has been made", field="made_at")
    if moment < "2000":
        raise Invalid("made_at lies before the year 2000; is it in seconds?", field="made_at")
    return min(moment, now)


def _check_replay(
    tx: Tx, known: Run, form: CardType, row: Mapping[str, Any], card: Mapping[str, Any], moment: str
) -> RecordedDecision:
    """The stored decision, if the same card was sent again; raises if the key was used for another card."""
    is_same_kind = known.kind == row["nature"] and known.parent_run == row["parent_run"]
    is_same_time = moment == stamp(second_looks.card_made_at(known))
    if not is_same_kind or not is_same_time or known.card is None or validate(form, card, moment) != known.card.slots:
        words = f"the key {known.key!r} was used for another card, run {known.id}; take a new key"
        raise Conflict(words, code="key_reused")
    return _recorded_decision(tx, known.id, replayed=True)


# Queries


def _clean_key(key: str | None) -> str | None:
    if key is None:
        return None
    return clean_line(key, "key", 1, 200)


def _find_by_key(tx: Tx, agent_id: str, key: str | None) -> Run | None:
    """The run that was recorded under this key, if a key is given and there is one."""
    name = _clean_key(key)
    if name is None:
        return None
    query = select(run_rows.c.id).where(run_rows.c.owner == tx.owner, run_rows.c.agent_id == agent_id)
    id = tx.conn.execute(query.where(run_rows.c.key == name)).scalar()
    if id is None:
        return None
    return runs.get_run(tx, id)


def _recorded_decision(tx: Tx, run_id: str, *, replayed: bool) -> RecordedDecision:
    decision = decisions.find_decision(tx, run_id)
    late = decision is not None and decision.late
    return RecordedDecision(
        run_id=run_id, replayed=replayed, late=late, run=runs.get_run(tx, run_id), decision=decision
    )
