"""Commands that take care of a book and of what is under it: verify, configure, db."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.doors.cli.commands.transfer import new_file
from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import AMBER, Paper, ink, pluralise
from keepbook.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Collection

    from keepbook.book.ledger.verify import Verification
    from keepbook.book.upkeep.hooks import SharedVerification


def register(app: typer.Typer) -> None:
    command(app, "verify", verify, panel=CARE)
    command(app, "configure", configure, panel=CARE, writes=True)
    database = group(app, "db", panel=CARE, words="Upgrade or check the database under the books.")
    command(database, "upgrade", upgrade, writes=True)
    command(database, "check", check)
    command(database, "distribute", distribute, writes=True)
    command(database, "repair-guards", repair_guards, writes=True)
    command(database, "accept-clock", accept_clock, writes=True)
    command(database, "mend", mend, writes=True)


def verify(
    call: Invocation,
    anchor: Annotated[
        Path | None,
        typer.Option("--anchor", metavar="FILE", help="Hold it against this note of earlier checks; extend the note."),
    ] = None,
) -> None:
    """Walk the whole ledger and hold the book against it, row by row; then what all books share."""
    # With the engine, which --help does not need.
    from keepbook.book.upkeep.hooks import shared_checks

    call.note_rows_without_code()
    result = call.book.verify(anchor=anchor)
    shared = {name: check(call.keepbook, anchor) for name, check in shared_checks(call.keepbook.extensions).items()}
    told = {name: one.found for name, one in shared.items()}
    call.answer({**asdict(result), **told}, lambda paper, _: _verify_sheet(paper, result, shared.values()))
    if not (result.ok and all(one.ok for one in shared.values())):
        raise typer.Exit(1)


def configure(
    call: Invocation,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="on|off", help="off: no chat reads or writes memory.")
    ] = None,
    never: Annotated[
        list[str] | None,
        typer.Option("--never", metavar="TOPIC", help="Never remember this; may be repeated; '' clears the list."),
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="How to be talked to: beginner, intermediate or advanced.")
    ] = None,
    tried: Annotated[
        str | None, typer.Option("--try", metavar="TEXT", help="Say which topics a sentence touches; sets nothing.")
    ] = None,
) -> None:
    """Set the owner's own choices: --preset, --zone, --memory, --never, --tier; --try a sentence on the topics."""
    if tried is not None:
        call.answer({"text": tried, "topics": list(call.book.never_of(tried))}, _never_sheet)
        return
    if memory not in (None, "on", "off"):
        raise Invalid(f"memory is on or off, not {memory!r}", field="memory")
    topics = None
    if never:
        topics = [topic for topic in never if topic]
    told = {"preset": call.given.preset, "zone": call.given.zone, "memory": memory, "never": topics, "tier": tier}
    answer = {name: value for name, value in told.items() if value is not None}
    if not answer:
        raise Invalid("say what to set: --preset, --zone, --memory, --never or --tier", field="preset")
    # As in `upgrade`.
    from keepbook.book.operations import configure_and_choose

    on = None
    if memory is not None:
        on = memory == "on"
    given = call.given
    event = configure_and_choose(call.book, given.zone, given.preset, memory=on, never=topics, tier=tier).event
    if event is not None:
        undo = {"event": event}
    else:
        undo = {}
    call.answer({"owner": call.book.owner, **answer, **undo}, _config_sheet)


def upgrade(call: Invocation) -> None:
    """Bring the database to this version's schema; for PostgreSQL as its administrator."""
    # SQLAlchemy is slow to load, and --help does not need it.
    from keepbook.app import upgrade as bring_up

    if call.file is None:
        steps = bring_up(call.admin_place, call.settings)
    else:
        steps = []
    facts = call.administered.facts()  # opening a SQLite book brings it up
    call.answer({"place": facts["place"], "schema": facts["schema"], "steps": steps}, _upgrade_sheet)


def check(call: Invocation) -> None:
    """Check that the database is reachable, whole, and in every part as this version installs it."""
    # See upgrade.
    from keepbook.app import damage_of, differences, not_compared
    from keepbook.book.upkeep.hooks import shared_checks

    if call.file is not None and not call.file.exists():
        raise NotFound(f"there is no book at {call.file}; the first write makes it", field="db")
    facts = call.administered.facts()
    if call.file is not None:
        damage = damage_of(call.file, call.settings.busy_seconds)
    else:
        damage = []
    if not damage:
        differs = differences(call.admin_place)
    else:
        differs = []
    for name in [] if damage or call.place == ":memory:" else not_compared(call.admin_place):
        call.note(f"{name} is not on here: what guards its tables is not compared")
    told: dict[str, list[str]] = {"damage": damage, "differs": differs}
    faults: list[str] = []
    for name, verify_shared in shared_checks(call.administered.extensions).items():
        told[name] = []
        if not damage:
            found = verify_shared(call.administered)
            told[name] = list(found.why)
            faults += [f"{found.fault}: {line}" for line in found.why]
    call.answer({"ok": not any(told.values()), **facts, **told}, _check_sheet, faults)
    if any(told.values()):
        raise typer.Exit(1)


def distribute(
    call: Invocation,
    shards: Annotated[
        int, typer.Option("--shards", min=1, max=1024, help="Into how many parts; later nodes can take over parts.")
    ] = 32,
) -> None:
    """Spread the books over the nodes of a Citus cluster, by owner; as its administrator. Can be run again."""
    # See upgrade.
    from keepbook.app import distribute as spread

    call.answer(asdict(spread(call.admin_place, shards)), _distribute_sheet)


def repair_guards(call: Invocation, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Put back the triggers, functions, policies and rights that `db check` finds missing or altered."""
    # See upgrade.
    from keepbook.app import differences, put_back_guards

    call.administered.facts()  # a book of another schema is refused
    found = differences(call.admin_place)
    if found and not yes:
        typer.confirm(f"{len(found)} differ ({found[0]}, …). Put the guards back?", abort=True)
    if found:
        done = put_back_guards(call.admin_place)
    else:
        done = []
    if found:
        left = differences(call.admin_place)
    else:
        left = []
    call.answer({"ok": not left, "done": done, "left": left}, _repair_sheet)
    if left:
        raise typer.Exit(1)


def accept_clock(call: Invocation) -> None:
    """Let one write of --owner through that is refused for the clock of this machine; the word holds for a day."""
    owner = call.book.owner
    call.answer({"owner": owner, "accepted": call.keepbook.accept_clock(owner)}, _clock_sheet)


def mend(
    call: Invocation,
    backup: Annotated[str, typer.Argument(help="Where a backup is made first.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Move what `verify` does not find in order into a file beside a new backup; the server must be stopped."""
    # See upgrade.
    from keepbook.copies import back_up
    from keepbook.mending import mend as mend_books
    from keepbook.mending import prove_same, refuse_open_elsewhere

    if call.place == ":memory:" or (call.file is not None and not call.file.exists()):
        raise NotFound("there is no book to mend; name its file with --db", field="db")
    place, target = call.admin_place, Path(backup).expanduser().resolve()
    refuse_open_elsewhere(place)
    with new_file(backup, force=False) as draft:
        back_up(place, draft, busy_seconds=call.settings.busy_seconds)
        broken = prove_same(place, draft)
        if not broken:
            raise NotFound("every ledger holds: there is nothing to mend; no backup was kept", code="nothing_to_mend")
        if not yes:
            typer.confirm(f"The ledger of {', '.join(broken)} does not hold. Set aside what does not fit?", abort=True)
    call.answer({"backup": str(target), "mended": mend_books(place, target, broken)}, _mend_sheet)


# What was found


def _mend_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    paper.put(ink(f"A backup was made and proved: {answer['backup']}."))
    for one in answer["mended"]:
        rows = pluralise(one.rows, "row")
        paper.put(ink(f"The book of {one.owner} is whole since entry {one.event}; set aside: {rows}, in {one.file}."))


def _clock_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    if answer["accepted"] is None:
        paper.put(ink(f"The clock fits the book of {answer['owner']}: there is nothing to accept."))
        return
    paper.put(ink(f"Accepted: {answer['accepted']}."))
    paper.put(ink(f"The next write to the book of {answer['owner']} goes through, and no other."))


def _verify_sheet(paper: Paper, result: "Verification", shared: "Collection[SharedVerification]") -> None:
    entries = pluralise(result.entries, "entry", "entries")
    if result.ok and not result.entries:
        paper.put("The ledger holds: nothing is written in it yet.")
    elif result.ok:
        links = pluralise(result.links, "link")
        paper.put(f"The ledger holds: {entries}, each standing on the one before it; {links} cover every row.")
        if result.since is not None:
            paper.put(ink(f"It is {result.since}.", AMBER))
    else:
        paper.put(ink(f"The ledger is broken at {result.where}: {result.why}.", AMBER))
        paper.put("What stands before it can be trusted. Compare with a backup or an export: ", paper.hint("ledger"))
        paper.put("To go on without what does not fit: ", paper.hint("db", "mend", "BACKUP"))
    for one in shared:
        if one.ok and one.holds:
            paper.put(one.holds)
        for line in one.why:
            paper.put(ink(f"{one.fault[:1].upper()}{one.fault[1:]}: {line}.", AMBER))


def _never_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    topics = " and ".join(answer["topics"])
    if topics:
        paper.put(f"Never kept: it speaks of {topics}.")
    else:
        paper.put("It may be kept: it speaks of none of your topics.")


def _config_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    chosen = [f"{name} {value}" for name, value in answer.items() if name not in ("owner", "never", "event")]
    if "never" in answer:
        if answer["never"]:
            chosen.append(f"never remember {', '.join(answer['never'])}")
        else:
            chosen.append("no topic is left out")
    paper.put(ink(f"Set for {answer['owner']}: {', '.join(chosen)}."))
    if "event" in answer:
        paper.put("Undo of preset and zone: ", paper.hint("undo", answer["event"]))


def _upgrade_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    took = ""
    if answer["steps"]:
        took = f"took the steps {', '.join(answer['steps'])}; "
    paper.put(ink(f"{answer['place']}: {took}schema {answer['schema']} is up to date."))


def _distribute_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    nodes = pluralise(len(answer["nodes"]), "worker")
    for line in answer["settled"]:
        paper.put(f"  set: {line}")
    for name in answer["by_owner"]:
        paper.put(f"  by owner: {name}")
    for name in answer["everywhere"]:
        paper.put(f"  on every node: {name}")
    if not answer["by_owner"] and not answer["everywhere"]:
        paper.put("  Every table lay where it should.")
    paper.put(ink(f"Spread over {nodes} in {answer['shards']} parts: {', '.join(answer['nodes'])}."))


def _check_sheet(paper: Paper, answer: dict[str, Any], faults: list[str]) -> None:
    paper.put(ink(f"{answer['place']}: {answer['engine']}, {answer['size']}, schema {answer['schema']}."))
    if answer["ok"]:
        paper.put("Reachable, prepared for this version, and whole.")
        return
    if answer["differs"]:
        paper.put("The file is whole, but not all is as this version installs it:")
        for line in answer["differs"]:
            paper.put(ink(f"  {line}", AMBER))
        paper.put(ink("Find out who did that. Guards are put back with "), paper.hint("db", "repair-guards"))
    for line in faults:
        paper.put(ink(f"  {line}", AMBER))
    if not answer["damage"]:
        return
    for line in answer["damage"]:
        paper.put(ink(f"  {line}", AMBER))
    paper.put(ink("The file is damaged. Restore a backup, or save what can be read: "), paper.hint("export", "FILE"))


def _repair_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    for line in answer["done"]:
        paper.put(f"  put back: {line}")
    for line in answer["left"]:
        paper.put(ink(f"  left: {line}", AMBER))
    if not answer["done"] and not answer["left"]:
        paper.put("Nothing was missing.")
