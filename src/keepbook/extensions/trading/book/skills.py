"""Skills and deployments: the strategies of an owner, and where they run.

A skill is a strategy. It is described in three fields (strategy, schedule, chat), and each change of one adds a version
and keeps the old ones. A deployment is a skill that runs on an account, with the capital by which its results are
measured. A call may name either by its id or its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from keepbook.book.ground.ids import ALPHABET, ID_LENGTH, new_id
from keepbook.book.ground.limits import clean_line, clean_optional, clean_text, sought
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.ledger.thing_entries import record_thing
from keepbook.book.owners import owners
from keepbook.book.text.words import fold_text
from keepbook.errors import Ambiguous, Conflict, Invalid, NotFound
from keepbook.extensions.trading.book.files import Times, number
from keepbook.extensions.trading.tables import deployments as deployment_rows
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import skill_fields
from keepbook.extensions.trading.tables import skills as skill_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement

FIELDS = ("strategy", "schedule", "chat")
"""The fields of a skill, each with versions of its own."""
DEPLOYMENT_FIELDS = ("name", "account", "capital", "currency", "started_at", "ended_at")
NAME_LIMIT = 80  # characters
TEXT_LIMIT = 64_000  # characters
CURRENCY = "USDT"
SKILL, DEPLOYMENT = "skill", "deployment"
"""Their names in entries of the ledger."""


@dataclass(frozen=True, slots=True)
class FieldVersion:
    """One version of what a skill says in one of its fields."""

    skill_id: str
    field: str
    version: int
    value: str
    recorded_at: datetime
    actor: str
    thread_id: str | None = None
    event: int | None = dataclass_field(default=None, compare=False)
    """The event of the write that made it, in that write's answer: `undo` takes it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A strategy as it stands; `versions` counts how often each field was written."""

    id: str
    name: str
    description: str
    created_at: datetime
    ended_at: datetime | None
    strategy: str | None
    schedule: str | None
    chat: str | None
    versions: Mapping[str, int]
    event: int | None = dataclass_field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A skill at work. Without capital its results have no percentages."""

    id: str
    skill_id: str
    skill: str
    name: str
    account: str | None
    capital: float | None
    currency: str
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    event: int | None = dataclass_field(default=None, compare=False)


# Rules


def clean_id(text: object) -> str:
    """An id that a file gives, checked."""
    if not isinstance(text, str) or len(text) != ID_LENGTH or set(text) - set(ALPHABET):
        raise Invalid(f"an id has {ID_LENGTH} letters and digits, not {str(text)[:40]!r}", field="id")
    return text


def clean_field(field: object) -> str:
    if field not in FIELDS:
        raise Invalid(f"a skill has the fields {', '.join(FIELDS)}, not {str(field)[:40]!r}", field="field")
    return str(field)


def clean_deployment(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a person sets, checked, in the form of the columns; only those that are given."""
    unknown = sorted(given.keys() - set(DEPLOYMENT_FIELDS))
    if unknown:
        raise Invalid(f"a deployment has no {unknown[0]!r}; it has {', '.join(DEPLOYMENT_FIELDS)}", field=unknown[0])
    cleaned: dict[str, Any] = {}
    for field, value in given.items():
        if field == "name":
            cleaned[field] = clean_line(value, field, 1, NAME_LIMIT)
        elif field == "account":
            cleaned[field] = clean_optional(value, field, 200)
        elif field == "capital":
            cleaned[field] = None if value in (None, "") else number(value, field, low=0, above=True)
        elif field == "currency":
            cleaned[field] = clean_line(value or CURRENCY, field, 1, 20).upper()
        else:
            cleaned[field] = None if value in (None, "") else Times().read(value, field)
    return cleaned


# Operations


def create_skill(
    tx: Tx,
    origin: Origin,
    now: str,
    name: str,
    *,
    id: str | None = None,
    description: str = "",
    strategy: str | None = None,
    schedule: str | None = None,
    chat: str | None = None,
) -> Skill:
    """Create a skill. Only the name is needed; a name is used once among the skills that have not ended."""
    name = clean_line(name, "name", 1, NAME_LIMIT)
    if any(fold_text(row.name) == fold_text(name) for row in living_skills(tx)):
        raise Conflict(f"there is a skill {name!r} already; choose another name", code="name_taken")
    owners.make_known(tx, now)  # an owner that only trades has a book too
    row = {
        "owner": tx.owner, "id": new_id() if id is None else clean_id(id), "name": name,
        "description": clean_text(description or "", "description", TEXT_LIMIT).strip(), "created_at": now,
    }  # fmt: skip
    if _skill_row(tx, row["id"]) is not None:
        raise Conflict(f"there is a skill with the id {id!r} already")
    tx.conn.execute(insert(skill_rows), row)
    event = record_thing(tx, origin, SKILL, row["id"], {"ended_at": now}, {"ended_at": None})
    for field, value in (("strategy", strategy), ("schedule", schedule), ("chat", chat)):
        if value not in (None, ""):
            _add_version(tx, origin, now, row["id"], field, 1, clean_text(value, field, TEXT_LIMIT).strip())
    return replace(get_skill(tx, row["id"]), event=event)


def describe_skill(tx: Tx, origin: Origin, id: str, description: str) -> Skill:
    text, was = clean_text(description or "", "description", TEXT_LIMIT).strip(), get_skill(tx, id).description
    if text == was:
        return get_skill(tx, id)
    _set_skill(tx, id, description=text)
    event = record_thing(tx, origin, SKILL, id, {"description": was}, {"description": text})
    return replace(get_skill(tx, id), event=event)


def set_skill_back(tx: Tx, origin: Origin, id: str, values: Mapping[str, Any]) -> None:
    """Set a skill back to the values before an entry, for undo. A field is given as the number of its version; 0 stands
    for an empty one."""
    now = stamp(tx.clock())
    for field in (name for name in FIELDS if name in values):
        history = field_history(tx, id, field)
        said = next((one.value for one in history if one.version == values[field]), "")
        _add_version(tx, origin, now, id, field, history[0].version + 1, said)
    if "ended_at" in values:
        if values["ended_at"] is not None and list_deployments(tx, id):
            raise Conflict("not undone: it has deployments; undo those first", code="touched")
        _set_skill(tx, id, ended_at=None if values["ended_at"] is None else now)
    if "description" in values:
        _set_skill(tx, id, description=values["description"])


def _set_skill(tx: Tx, id: str, **values: Any) -> None:
    mine = (skill_rows.c.owner == tx.owner, skill_rows.c.id == id)
    tx.conn.execute(update(skill_rows).where(*mine).values(values))


def set_field(
    tx: Tx, origin: Origin, now: str, id: str, field: str, value: Any, *, expect_version: int | None = None
) -> FieldVersion:
    """Write a new version of one field, unless the text is the same. With `expect_version` it raises `Conflict` if the
    field is at another version; 0 is a field that was never written."""
    field = clean_field(field)
    text = clean_text(value, field, TEXT_LIMIT).strip()
    skill = get_skill(tx, id)
    last = next(iter(field_history(tx, id, field)), None)
    version = 0 if last is None else last.version
    if expect_version is not None and expect_version != version:
        raise Conflict(
            f"the {field} of {skill.name!r} is at version {version}, not {expect_version}; read it again first",
            code="version",
            current=version,
        )
    if last is not None and last.value == text:
        return last
    _add_version(tx, origin, now, id, field, version + 1, text)
    event = record_thing(tx, origin, SKILL, id, {field: version}, {field: version + 1})
    return replace(field_history(tx, id, field)[0], event=event)


def _add_version(tx: Tx, origin: Origin, now: str, id: str, field: str, version: int, text: str) -> None:
    row = {
        "owner": tx.owner, "skill_id": id, "field": field, "version": version, "value": text, "recorded_at": now,
        "actor": origin.actor, "thread_id": origin.thread_id,
    }  # fmt: skip
    tx.conn.execute(insert(skill_fields), row)


def create_deployment(
    tx: Tx, origin: Origin, now: str, name: str, skill_id: str, *, id: str | None = None, **given: Any
) -> Deployment:
    """Create a deployment of a skill under a name of its own; see `DEPLOYMENT_FIELDS` for the rest."""
    cleaned = clean_deployment({"name": name, **given})
    _free_name(tx, cleaned["name"])
    if id is not None and any(row.id == id for row in deployments_made(tx)):
        raise Conflict(f"there is a deployment with the id {id!r} already")
    row = {
        "owner": tx.owner, "id": new_id() if id is None else clean_id(id), "skill_id": get_skill(tx, skill_id).id,
        "currency": CURRENCY, "created_at": now,
    } | cleaned  # fmt: skip
    _in_order(row)
    tx.conn.execute(insert(deployment_rows), row)
    event = record_thing(tx, origin, DEPLOYMENT, row["id"], {"removed_at": now}, {"removed_at": None})
    return replace(find_deployment(tx, row["id"]), event=event)


def change_deployment(tx: Tx, origin: Origin, id: str, **given: Any) -> Deployment:
    """Change a deployment; what is not given stays."""
    known = find_deployment(tx, id)
    cleaned = clean_deployment(given)
    if "name" in cleaned and fold_text(cleaned["name"]) != fold_text(known.name):
        _free_name(tx, cleaned["name"])
    mine = (deployment_rows.c.owner == tx.owner, deployment_rows.c.id == known.id)
    row = tx.conn.execute(select(deployment_rows).where(*mine)).one()._mapping
    changed = {name: value for name, value in cleaned.items() if value != row[name]}
    if not changed:
        return known
    _in_order({**row, **changed})
    tx.conn.execute(update(deployment_rows).where(*mine).values(changed))
    event = record_thing(tx, origin, DEPLOYMENT, known.id, {name: row[name] for name in changed}, changed)
    return replace(find_deployment(tx, known.id), event=event)


def set_deployment_back(tx: Tx, _: Origin, id: str, values: Mapping[str, Any]) -> None:
    """Set a deployment back to the values before an entry, for undo. It is not removed if it has trades or fills."""
    mine = (deployment_rows.c.owner == tx.owner, deployment_rows.c.id == id)
    told = dict(values)
    if told.get("removed_at") is not None:
        traded = select(trade_rows.c.key).where(trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == id)
        filled = select(fill_rows.c.key).where(fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == id)
        if any(tx.conn.execute(query.limit(1)).first() for query in (traded, filled)):
            raise Conflict("not undone: trades came into it; undo their loads first", code="touched")
        told["removed_at"] = stamp(tx.clock())
    if "name" in told:
        _free_name(tx, told["name"])
    tx.conn.execute(update(deployment_rows).where(*mine).values(told))


def _free_name(tx: Tx, name: str) -> None:
    if any(fold_text(row.name) == fold_text(name) for row in deployments_made(tx)):
        raise Conflict(f"there is a deployment {name!r} already; choose another name", code="name_taken")


def _in_order(row: Mapping[str, Any]) -> None:
    """Raise if a deployment would end before it started."""
    started, ended = row.get("started_at"), row.get("ended_at")
    if started is not None and ended is not None and ended < started:
        raise Invalid("a deployment ends after it started, not before", field="ended_at")


# Queries


def get_skill(tx: Tx, id: str) -> Skill:
    row = _skill_row(tx, id)
    if row is None:
        raise NotFound(f"there is no skill {id!r} in this book", field="skill")
    return _to_skill(tx, row)


def find_skill(tx: Tx, ref: str) -> Skill:
    """The skill by id, else by name or a piece of it."""
    row = _skill_row(tx, ref) or _find_by_name(living_skills(tx), ref, "skill")
    if row is not None:
        return _to_skill(tx, row)
    known = ", ".join(row.name for row in living_skills(tx)[:10])
    hint = f"there are: {known}" if known else "create one first, or load a file of skills"
    raise NotFound(f"there is no skill {ref!r} in this book; {hint}", field="skill")


def list_skills(tx: Tx) -> Sequence[Skill]:
    """The skills in the order in which they were made, without those that have ended."""
    return [_to_skill(tx, row) for row in living_skills(tx)]


def field_history(tx: Tx, id: str, field: str | None = None) -> Sequence[FieldVersion]:
    """Every version of a skill's fields, the newest of each first."""
    wanted = None if field is None else clean_field(field)
    return [
        FieldVersion(
            row.skill_id, row.field, row.version, row.value, parse_stamp(row.recorded_at), row.actor, row.thread_id
        )
        for row in _FIELDS_OF.rows(tx.conn, {"owner": tx.owner, "id": id})
        if wanted in (None, row.field)
    ]


def find_deployment(tx: Tx, ref: str) -> Deployment:
    """The deployment by id, else by name or a piece of it; also one that has ended."""
    rows = deployments_made(tx)
    row = next((row for row in rows if row.id == ref), None) or _find_by_name(rows, ref, "deployment")
    if row is not None:
        return _to_deployment(row)
    known = ", ".join(row.name for row in rows[:10])
    hint = f"there are: {known}" if known else "create one first, or load a file of deployments"
    raise NotFound(f"there is no deployment {ref!r} in this book; {hint}", field="deployment")


def deployment_called(tx: Tx, name: str) -> Deployment | None:
    """The deployment by id or by its whole name."""
    rows = deployments_made(tx)
    row = named_row(rows, name, name) or named_row(rows, None, name)
    if row is None:
        return None
    return _to_deployment(row)


def skill_id_by_name(tx: Tx, name: str) -> str:
    """The id of the skill by that id or by its whole name."""
    found = _skill_row(tx, name) or named_row(living_skills(tx), None, name)
    if found is None:
        raise NotFound(f"there is no skill {name[:80]!r} in this book; create it, or load a file of skills first")
    return str(found.id)


def named_row(rows: Sequence[Any], id: str | None, name: str) -> Any:
    """The row with this id, or without one with this whole name, as files name them: a piece would be a guess."""
    if id is not None:
        return next((row for row in rows if row.id == id), None)
    return next((row for row in rows if fold_text(row.name) == fold_text(name)), None)


def list_deployments(tx: Tx, skill_id: str | None = None, at: str | None = None) -> Sequence[Deployment]:
    """The deployments in the order in which they were made, of one skill or of all; as of an instant also those that
    were taken away since."""
    rows = deployments_made(tx) if at is None else [one for one in all_deployments(tx) if (one.removed_at or "~") > at]
    return [_to_deployment(row) for row in rows if skill_id in (None, row.skill_id)]


def _find_by_name(rows: Sequence[Any], ref: str, what: str) -> Any:
    wanted = fold_text(ref)
    for found in (
        [row for row in rows if fold_text(row.name) == wanted],
        [row for row in rows if wanted and wanted in fold_text(row.name)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(f"{ref!r} fits several {what}s; name one by its id", [(row.id, row.name) for row in found])
    return None


def living_skills(tx: Tx) -> Sequence[Any]:
    """The rows of skills that have not ended."""
    return _LIVING.rows(tx.conn, {"owner": tx.owner})


_LIVING = PreparedStatement(
    select(skill_rows)
    .where(skill_rows.c.owner == bindparam("owner"), skill_rows.c.ended_at.is_(None))
    .order_by(skill_rows.c.created_at, skill_rows.c.id)
)


def _skill_row(tx: Tx, id: str) -> Any:
    return _SKILL.first(tx.conn, {"owner": tx.owner, "id": sought(id)})


def deployments_made(tx: Tx) -> Sequence[Any]:
    """The rows of all deployments that were not removed, with the names of their skills."""
    return [row for row in all_deployments(tx) if row.removed_at is None]


def all_deployments(tx: Tx) -> Sequence[Any]:
    """The rows of all deployments, also of those that were removed, with the names of their skills."""
    return _DEPLOYMENTS.rows(tx.conn, {"owner": tx.owner})


_SKILL = PreparedStatement(
    select(skill_rows).where(skill_rows.c.owner == bindparam("owner"), skill_rows.c.id == bindparam("id"))
)
_FIELDS_OF = PreparedStatement(
    select(skill_fields)
    .where(skill_fields.c.owner == bindparam("owner"), skill_fields.c.skill_id == bindparam("id"))
    .order_by(skill_fields.c.field, skill_fields.c.version.desc())
)
_DEPLOYMENTS = PreparedStatement(
    select(deployment_rows, skill_rows.c.name.label("skill"))
    .join(
        skill_rows,
        (skill_rows.c.owner == deployment_rows.c.owner) & (skill_rows.c.id == deployment_rows.c.skill_id),
    )
    .where(deployment_rows.c.owner == bindparam("owner"))
    .order_by(deployment_rows.c.created_at, deployment_rows.c.id)
)


def _to_skill(tx: Tx, row: Any) -> Skill:
    newest: dict[str, FieldVersion] = {}
    for one in field_history(tx, row.id):
        newest.setdefault(one.field, one)
    said: dict[str, Any] = {field: newest[field].value or None if field in newest else None for field in FIELDS}
    return Skill(
        id=row.id,
        name=row.name,
        description=row.description,
        created_at=parse_stamp(row.created_at),
        ended_at=_moment(row.ended_at),
        versions={field: newest[field].version if field in newest else 0 for field in FIELDS},
        **said,
    )


def _to_deployment(row: Any) -> Deployment:
    plain = ("id", "skill_id", "skill", "name", "account", "capital", "currency")
    return Deployment(
        **{name: getattr(row, name) for name in plain},
        started_at=_moment(row.started_at),
        ended_at=_moment(row.ended_at),
        created_at=parse_stamp(row.created_at),
    )


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    return parse_stamp(text)
