"""Who may do what: one table, and the one check that every door makes against it.

A row of the table is a group of operations that belong together, a column a kind of actor. `refusal_reason` gives the
reason for a refusal, in a sentence for a person, or None if the operation is allowed; `require_permission` raises it.
Extensions bring operations and rows of their own. What depends on the book itself (whose agent it is, what that agent's
settings allow) is passed in by the caller. `docs/security.md` shows this table, and `tests/contracts/authority.toml`
holds the expected answers, written by hand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keepbook.errors import Invalid, NotAllowed
from keepbook.extension import Extension, load_part, loaded_extensions

READ, WRITE, ADMIN, PERSON = "read", "write", "admin", "person"
METRICS = "metrics"
"""The scope of a token that reads the figures of a whole server; only the operator makes one."""
SCOPES = (READ, WRITE, ADMIN, PERSON)
"""The scopes that a token may have. `person` is for service tokens, which then may act as the person."""
EVERYTHING = frozenset((READ, WRITE, ADMIN))
KINDS = ("person", "agent", "bound", "service", "host", "visitor", "automation")
"""The columns. `bound` is an agent's token for one agent of the owner's, `service` a host application's that acts as an
agent, `host` one that acts as the person, `visitor` somebody in the demo, `automation` the jobs and the reading of
chats."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a kind, the scopes of its token, and for a bound agent which agent."""

    kind: str
    scopes: frozenset[str] = EVERYTHING
    agent: str | None = None
    token: str | None = None
    """The id of the token it authenticated with."""
    remote: bool = False
    """Whether a program acts over HTTP, be it in the person's name. The pages do not count as a program."""

    @property
    def is_person(self) -> bool:
        return self.kind in ("person", "host", "visitor")

    @property
    def is_program(self) -> bool:
        """Whether an agent, a service or a remote client acts, and not the person themselves or a job."""
        return self.remote or self.has_programs_token

    @property
    def has_programs_token(self) -> bool:
        """Whether it has a token of an agent or a service, even if it acts as the person."""
        return self.kind in ("agent", "bound", "service", "host")


ALONE = {
    "person": Actor("person"),
    "agent": Actor("agent", frozenset((READ, WRITE))),
    "job": Actor("automation"),
    "extractor": Actor("automation"),
}
"""Who acts without a token: Python programs, the command line, jobs."""

# The values of the table's fields. Anything else, such as "no", means no.
YES = "yes"
OWN = "own"
"""Allowed only for what is the actor's own: the runs and decisions of its agent, the visitor's copy of the book."""
GIVEN = "given"
"""Allowed only if the agent's settings give it the person's memory."""
NAMED = "named"
"""Allowed only with a token that has the row's narrow scope."""


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """A group of operations: the scope they need, what each kind of actor may do, and the code of a refusal."""

    words: str
    scope: str
    may: Mapping[str, str]
    code: str = "person_only"
    narrow: str | None = None
    """A scope that allows this row alone, for a program that does only one thing."""


def authority_row(
    words: str, scope: str, answers: str, code: str = "person_only", narrow: str | None = None
) -> OperationGroup:
    """A row of the table; `answers` has one word for each of `KINDS`, in their order."""
    return OperationGroup(words, scope, dict(zip(KINDS, answers.split(), strict=True)), code, narrow)


TABLE = {
    "know": authority_row("know what one may oneself", READ, "yes yes yes yes yes yes yes"),
    "memories": authority_row("read memories, the block and recall", READ, "yes yes given yes yes yes yes", "bound"),
    "book": authority_row("read chats, notes, the ledger and exports", READ, "yes yes no yes yes yes yes", "bound"),
    "keep": authority_row("write memories and chats", WRITE, "yes yes given yes yes yes yes", "bound"),
    "talk": authority_row("write in chats and notes", WRITE, "yes yes no yes yes yes yes", "bound"),
    "chats": authority_row(
        "end, rename, restore or trash a chat in which the person spoke", WRITE, "yes no no no yes yes yes"
    ),
    "word": authority_row("decide over the person's own word, or delete for good", WRITE, "yes no no no yes yes no"),
    "house": authority_row("bring a book in, or erase one", ADMIN, "yes no no no yes yes no"),
    "tokens": authority_row("make and revoke tokens", ADMIN, "yes no no yes yes no no"),
    "figures": authority_row(
        "read the figures of the whole service", READ, "named named named yes yes no yes", "operator", METRICS
    ),
    "programs": authority_row("start programs", ADMIN, "yes no no no no no yes", "programs"),
}
"""Rows by name."""

OPERATIONS = {
    "me.read": "know", "server.metrics": "figures", "tools.list": "know",
    "memories.read": "memories", "memories.inject": "memories",
    "chats.read": "book", "notes.read": "book", "ledger.read": "book", "ledger.follow": "book", "book.export": "book",
    "book.verify": "book", "proposals.read": "book", "choices.read": "book",
    "memories.write": "keep",
    "chats.write": "talk", "notes.write": "talk", "undo.own": "talk",
    "chats.end": "chats",
    "memories.promote": "word", "memories.purge": "word", "chats.purge": "word", "proposals.answer": "word",
    "notes.change": "word", "choices.change": "word", "undo.person": "word", "chats.view": "word",
    "book.import": "house", "book.erase": "house",
    "tokens.read": "tokens", "tokens.make": "tokens", "tokens.revoke": "tokens",
    "programs.start": "programs", "programs.arm": "programs",
}  # fmt: skip
"""Every operation of the core that a door may be asked for, and its row."""

_WHY = {
    "person_only": "only the person may {words}; ask them, or use a token of kind person",
    "bound": "this token speaks for one agent: it may {words} only as far as that agent's own settings "
    "(`keepbook agent update`) and runs go",
    "programs": "no program is started on this actor's word; the person does it",
    "operator": "only the operator lets anybody {words}: keepbook token create --kind agent --scopes metrics",
}


def row_of(operation: str) -> OperationGroup:
    """The row of an operation, of the core's or of an extension's."""
    if operation in OPERATIONS:
        return TABLE[OPERATIONS[operation]]
    return _rows_of_extensions()[operation]


def every_row() -> dict[str, OperationGroup]:
    """The rows of the core and of every extension, by name."""
    own = (load_part(one.rows) for one in loaded_extensions() if one.rows)
    return {**TABLE, **{name: row for rows in own for name, row in rows.items()}}


def every_operation() -> dict[str, str]:
    """The operations of the core and of every extension, with the names of their rows."""
    own = (load_part(one.operations) for one in loaded_extensions() if one.operations)
    return {**OPERATIONS, **{name: row for operations in own for name, row in operations.items()}}


def check_authority(one: Extension) -> None:
    """Refuse an extension that would change the core's rows or operations, or that names a row that does not exist."""
    if one.rows:
        rows = load_part(one.rows)
    else:
        rows = {}
    if one.operations:
        operations = load_part(one.operations)
    else:
        operations = {}
    for name in (*(rows.keys() & TABLE.keys()), *(operations.keys() & OPERATIONS.keys())):
        raise Invalid(f"extension {one.name!r}: {name!r} is the core's; call yours otherwise", field="extensions")
    for name, row in operations.items():
        if row not in rows and row not in TABLE:
            raise Invalid(f"extension {one.name!r}: {name!r} names a row {row!r} that there is not", field="extensions")


def _rows_of_extensions() -> dict[str, OperationGroup]:
    rows = every_row()
    return {operation: rows[name] for operation, name in every_operation().items()}


def refusal_reason(actor: Actor, operation: str, *, agent: str | None = None, given: bool = False) -> str | None:
    """Why this actor may not do an operation, or None if it may. `agent` is the agent that it is about. `given` says
    that the settings of the bound agent give it the person's memory."""
    row = row_of(operation)
    if not _is_open(row, actor, agent, given):
        return _WHY[row.code].format(words=row.words)
    if actor.scopes & {row.scope, row.narrow}:
        return None
    return _lacks(actor, row.scope)


def require_permission(actor: Actor, operation: str, *, agent: str | None = None, given: bool = False) -> None:
    """Raise `NotAllowed` unless this actor may do the operation."""
    why = refusal_reason(actor, operation, agent=agent, given=given)
    if why is None:
        return
    row = row_of(operation)
    if _is_open(row, actor, agent, given):
        raise NotAllowed(why, code="scope", operation=operation)
    if row.code == "operator":
        code = "scope"
    else:
        code = row.code
    raise NotAllowed(why, code=code, operation=operation)


def _is_open(row: OperationGroup, actor: Actor, agent: str | None, given: bool) -> bool:
    """Whether the table allows a row to this actor, whatever its token's scopes."""
    found = row.may[actor.kind]
    own = actor.kind != "bound" or (agent is not None and agent == actor.agent)
    if found == NAMED:
        return row.narrow in actor.scopes
    return found == YES or (found == OWN and own) or (found == GIVEN and given)


def _lacks(actor: Actor, scope: str) -> str:
    held = ", ".join(sorted(actor.scopes)) or "none"
    return f"this token's scopes: {held}; this needs {scope!r}"


def ask_token(actor: Actor, kind: str, scopes: Iterable[str]) -> None:
    """Raise unless this actor may make a token of a kind with these scopes: never more than its own."""
    require_permission(actor, "tokens.make")
    if kind == "service":
        raise NotAllowed("a service token opens every book; make it with keepbook token create", code="service_token")
    if kind == "person" and not actor.is_person and PERSON not in actor.scopes:
        raise NotAllowed(
            "a token of kind person is made by the person, or by a service token with the scope 'person'", code="kind"
        )
    for scope in scopes:
        if scope in SCOPES and scope not in actor.scopes:
            raise NotAllowed(_lacks(actor, scope), code="scope")
        for row in every_row().values():
            if row.narrow != scope:
                continue
            if not _is_open(row, actor, None, False):
                raise NotAllowed(_WHY[row.code].format(words=row.words), code="scope")
            if row.scope not in actor.scopes:
                raise NotAllowed(_lacks(actor, row.scope), code="scope")


def narrow_scopes() -> set[str]:
    """All scopes that allow only one row."""
    return {row.narrow for row in every_row().values() if row.narrow is not None}


def clean_scopes(kind: str, scopes: Iterable[str]) -> list[str]:
    """A token's scopes, checked and in their fixed order. One that opens nothing to this kind is refused. A narrow
    scope is not for a person's token, and cannot stand beside a scope that writes."""
    if isinstance(scopes, str):
        wanted = {scopes}
    else:
        wanted = set(scopes)
    narrow = () if kind == "person" else sorted(narrow_scopes())
    if kind == "service":
        known = (*SCOPES, *narrow)
    else:
        known = (*(scope for scope in SCOPES if _opens_something(kind, scope)), *narrow)
    if not wanted or not wanted <= set(known):
        raise Invalid(f"of kind {kind} the scopes are of {', '.join(known)}; at least one", field="scopes")
    for one in wanted & set(narrow):
        more = wanted & {WRITE, ADMIN, PERSON}
        if more:
            raise Invalid(f"{one!r} is for a program that does no more; leave out {min(more)!r}", field="scopes")
    return [scope for scope in (*SCOPES, *narrow) if scope in wanted]


def _opens_something(kind: str, scope: str) -> bool:
    """Whether the table allows this kind of actor any row of the scope."""
    return any(row.scope == scope and row.may[kind] in (YES, OWN, GIVEN) for row in every_row().values())
