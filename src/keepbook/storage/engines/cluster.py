"""Several machines under one database: a Citus cluster, spread by owner.

All rows of one owner lie on one node, so a transaction touches only that node, and its guards find all rows there.
Tables that all owners share (prices, events) are copied to every node. Tokens, sign-ins and leases, which are small and
read by key, stay on the coordinator, to which servers connect. No other module knows of the cluster: the same
statements run, `keepbook_serve` tells the nodes whom a transaction serves, and each shard has its own policies and
triggers.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, text

from keepbook.errors import Conflict, Invalid, KeepbookError, NotAllowed
from keepbook.storage.guard_rules import whole_rights
from keepbook.storage.installed import read_record, table_set
from keepbook.storage.statements import split
from keepbook.storage.tables.declare import rules_of

SETTING = "citus.propagate_set_commands"
"""The setting by which nodes are told whom a transaction serves. Without it they show and accept no rows."""

A_WORKER = "this is a worker of a Citus cluster; give the address of its coordinator"

_FOUND = text("SELECT extversion FROM pg_extension WHERE extname = 'citus'")
_GROUP = text("SELECT groupid FROM pg_dist_local_group")
_NODES = text("""
    SELECT nodename, nodeport, isactive AND metadatasynced AND hasmetadata FROM pg_dist_node
    WHERE noderole = 'primary' AND groupid <> 0 AND shouldhaveshards ORDER BY nodeid""")
_SPREAD = text("""
    SELECT CAST(logicalrelid AS text), partmethod FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
    WHERE c.relnamespace = CAST(current_schema() AS regnamespace)""")
_EVERYWHERE = text("SELECT nodeid, success, result FROM run_command_on_all_nodes(:command)")

# All guards of a table as JSON, written so that they are equal for the table and for each of its shards.
_GUARDS = """
    SELECT CAST(json_object_agg(c.relname, concat_ws(' ', l.relname, c.relrowsecurity, c.relforcerowsecurity,
        (SELECT string_agg(replace(pg_get_triggerdef(t.oid), '_' || s.shardid, '') || CAST(t.tgenabled AS text), ';'
                           ORDER BY t.tgname)
         FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
        (SELECT string_agg(concat_ws(' ', p.polname, p.polcmd, p.polpermissive, p.polroles,
                           pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)), ';' ORDER BY p.polname)
         FROM pg_policy p WHERE p.polrelid = c.oid),
        (SELECT string_agg(a.privilege_type, ' ' ORDER BY a.privilege_type) FROM aclexplode(c.relacl) a
         WHERE a.grantee = CAST('keepbook_app' AS regrole)))) AS text)
    FROM pg_dist_shard s JOIN pg_class l ON l.oid = s.logicalrelid
    JOIN pg_class c ON c.relnamespace = l.relnamespace AND c.relname = {name}"""
_OF_SHARDS = _GUARDS.format(name="l.relname || '_' || s.shardid")
_OF_TABLES = text(_GUARDS.format(name="l.relname"))
_FUNCTIONS = """
    SELECT CAST(json_object_agg(proname, md5(pg_get_functiondef(oid))) AS text)
    FROM pg_proc WHERE proname LIKE 'keepbook\\_%'"""
_ROLE = """
    SELECT CASE WHEN rolcanlogin AND NOT rolsuper AND NOT rolbypassrls THEN 'true' ELSE 'false' END
    FROM pg_roles WHERE rolname = 'keepbook_app'"""
OTHER = "is not as this version installs it"


@dataclass(frozen=True, slots=True)
class Spread:
    """What `distribute` did to a cluster."""

    nodes: tuple[str, ...]
    shards: int
    by_owner: tuple[str, ...] = ()
    """The tables that were spread by owner."""
    everywhere: tuple[str, ...] = ()
    """The tables that were copied to every node."""
    settled: tuple[str, ...] = ()
    """What was set on every node, in words."""


# Rules


def placement_of(table: Table) -> str:
    """The nodes that have a table's rows: `home`, `owner` (split by owner) or `everywhere`."""
    if rules_of(table).home:
        return "home"
    if "owner" in table.primary_key.columns:
        return "owner"
    return "everywhere"


def lost_node(words: str) -> str | None:
    """The coordinator's message if a worker was lost during a statement; None for any other error."""
    first = ""
    if words:
        first = words.splitlines()[0]
    known = ("could not commit transaction", "connection to the remote node", "failure on connection")
    if any(sign in first for sign in known):
        return first
    return None


# Operations


def is_spread(conn: Connection) -> bool:
    """Whether this database is a cluster whose tables are spread already."""
    return conn.execute(_FOUND).scalar() is not None and bool(_spread(conn))


def refuse_what_does_not_serve(conn: Connection) -> None:
    """Refuse a connection to a worker, since the locks for writing are held on the coordinator only, and a coordinator
    that does not tell its nodes the owner."""
    if conn.execute(_FOUND).scalar() is None:
        return
    if conn.execute(_GROUP).scalar() != 0:
        raise Invalid(A_WORKER, field="db")
    if _spread(conn) and conn.execute(text(f"SHOW {SETTING}")).scalar() != "local":
        raise Conflict(
            f"the nodes of this cluster are not told whom they serve: {SETTING} is not local; run `keepbook db "
            "distribute` as its administrator",
            code="needs_upgrade",
        )


def prepare_to_guard(conn: Connection) -> None:
    """Let triggers and functions be made on every node in this transaction. Does nothing on one PostgreSQL."""
    conn.execute(text("SET LOCAL citus.enable_unsafe_triggers = on"))
    conn.execute(text("SET LOCAL citus.multi_shard_modify_mode = 'sequential'"))


@contextmanager
def here_alone(conn: Connection, *, when: bool = True) -> Iterator[None]:
    """Keep the statements inside on this node, as rights to columns must be. Does nothing on one PostgreSQL."""
    if when:
        conn.execute(text("SET LOCAL citus.enable_ddl_propagation = off"))
    yield
    if when:
        conn.execute(text("SET LOCAL citus.enable_ddl_propagation = on"))


def shards_of(conn: Connection) -> int:
    """Into how many parts every table is spread."""
    parts = text("SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = CAST('ledger' AS regclass)")
    return int(conn.execute(parts).scalar_one())


def distribute(conn: Connection, shards: int) -> Spread:
    """Spread the tables over the nodes, in the caller's transaction: all of them or none. Tables that are spread
    already stay."""
    nodes = _nodes(conn)
    already = _spread(conn)
    prepare_to_guard(conn)
    conn.execute(text(f"SET LOCAL citus.shard_count = {int(shards)}"))
    settled = _settle(conn, nodes)
    if not already:
        _share_functions(conn)
    done: dict[str, list[str]] = {"owner": [], "everywhere": []}
    first = next((name for name, method in already.items() if method == "h"), None)
    tables = table_set(read_record(conn))
    for table in tables.parents_first:
        place = placement_of(table)
        if place == "home" or table.name in already:
            continue
        _spread_one(conn, table.name, place, first)
        if place == "owner":
            first = first or table.name
        done[place].append(table.name)
    for statement in split(whole_rights(tables.declared)):
        conn.execute(text(statement))
    return Spread(nodes, shards_of(conn), tuple(done["owner"]), tuple(done["everywhere"]), settled)


def differences(conn: Connection) -> list[str]:
    """What on a cluster differs from what `distribute` leaves, each in a few words; empty on one PostgreSQL."""
    if not is_spread(conn):
        return []
    already = _spread(conn)
    found = [
        f"table {table.name} does not lie where it should"
        for table in table_set(read_record(conn)).declared
        if already.get(table.name) != {"home": None, "owner": "h", "everywhere": "n"}[placement_of(table)]
    ]
    functions = json.loads(conn.execute(text(_FUNCTIONS)).scalar_one())
    tables = json.loads(conn.execute(_OF_TABLES).scalar_one())
    for node, there in _json_of_each_node(conn, _FUNCTIONS):
        found += [f"function {name} on node {node} {OTHER}" for name in functions if there.get(name) != functions[name]]
    for node, there in _json_of_each_node(conn, _OF_SHARDS):
        found += [
            f"guard of {shard} on node {node} {OTHER}"
            for shard, said in sorted(there.items())
            if said != tables.get(shard.rpartition("_")[0])
        ]
    roles = _json_of_each_node(conn, _ROLE)
    return found + [f"right of keepbook_app on node {node} {OTHER}" for node, is_plain in roles if not is_plain]


def _json_of_each_node(conn: Connection, command: str) -> list[tuple[int, Any]]:
    """The JSON that each node answers with."""
    answers = conn.execute(_EVERYWHERE, {"command": command}).all()
    failed = [each for each in answers if not each.success]
    if failed:
        raise KeepbookError(f"node {failed[0].nodeid} does not answer: {failed[0].result}", code="unavailable")
    return [(each.nodeid, json.loads(each.result or "{}")) for each in answers]


def _nodes(conn: Connection) -> tuple[str, ...]:
    if conn.execute(_FOUND).scalar() is None:
        raise Invalid(
            "this PostgreSQL is no Citus cluster; run CREATE EXTENSION citus on every node and SELECT "
            "citus_add_node(host, port) on the coordinator, or stay on one PostgreSQL",
            field="db",
            code="no_cluster",
        )
    if conn.execute(_GROUP).scalar() != 0:
        raise Invalid(A_WORKER, field="db")
    found = [(f"{host}:{port}", ready) for host, port, ready in conn.execute(_NODES)]
    if not found:
        raise Invalid("this cluster has no worker yet; SELECT citus_add_node(host, port) first", code="no_cluster")
    lost = [name for name, ready in found if not ready]
    if lost:
        raise Conflict(f"not every worker is ready: {', '.join(lost)}; see pg_dist_node, then try again", code="busy")
    return tuple(name for name, _ in found)


def _spread(conn: Connection) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in conn.execute(_SPREAD)}


def _settle(conn: Connection, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Make the role on every node, let it log in from the coordinator, and set `SETTING`. Returns what was set, in
    words."""
    database = str(conn.execute(text("SELECT quote_ident(current_database())")).scalar())
    home = str(conn.execute(text("SELECT quote_ident(current_schema())")).scalar())
    _on_every_node(
        conn,
        "DO $do$ BEGIN CREATE ROLE keepbook_app NOSUPERUSER NOBYPASSRLS; "
        "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $do$",
    )
    _on_every_node(conn, "ALTER ROLE keepbook_app LOGIN")
    _on_every_node(conn, f"GRANT USAGE ON SCHEMA {home} TO keepbook_app")
    _on_every_node(conn, f"ALTER DATABASE {database} SET {SETTING} = 'local'")
    conn.execute(text(f"SET LOCAL {SETTING} = 'local'"))
    return (f"keepbook_app may log in on {len(nodes) + 1} nodes", f"{SETTING} = local")


def _on_every_node(conn: Connection, command: str) -> None:
    """Run a command on each node separately, without Citus passing it on to others."""
    alone = f"SET LOCAL citus.enable_ddl_propagation = off; {command}"
    failed = [row for row in conn.execute(_EVERYWHERE, {"command": alone}) if not row.success]
    if failed:
        raise NotAllowed(f"node {failed[0].nodeid} refuses `{command}`: {failed[0].result}", code="not_admin")


def _share_functions(conn: Connection) -> None:
    """Copy our functions to every node. Triggers call them, but Citus cannot see that in the text of a trigger's
    function, so it does not copy them by itself."""
    names = conn.execute(
        text(
            "SELECT CAST(oid AS regprocedure)::text FROM pg_proc "
            "WHERE pronamespace = CAST(current_schema() AS regnamespace) AND proname LIKE 'keepbook\\_%'"
        )
    )
    for name in names.scalars().all():
        conn.execute(text("SELECT create_distributed_function(CAST(:name AS regprocedure))"), {"name": name})


def _spread_one(conn: Connection, name: str, place: str, first: str | None) -> None:
    """Spread one table with its rows. Triggers are disabled meanwhile, since moving rows is no change."""
    conn.execute(text(f'ALTER TABLE "{name}" DISABLE TRIGGER USER'))
    if place == "everywhere":
        conn.execute(text("SELECT create_reference_table(CAST(:name AS regclass))"), {"name": name})
    else:
        conn.execute(
            text("SELECT create_distributed_table(CAST(:name AS regclass), 'owner', colocate_with => :first)"),
            {"name": name, "first": first or "none"},
        )
    conn.execute(text(f'ALTER TABLE "{name}" ENABLE TRIGGER USER'))
