"""Commands that carry a book: export, import, backup; and erase, which carries it away for good.

What they write is complete or not there: a file appears under its name only when its last byte is on disk, and
only its person may read it. Long work shows how far it is, on stderr, when that is a terminal.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer

from keepbook.doors.cli.sheets import import_sheet as sheets
from keepbook.doors.cli.terminal.command import CARRY, Invocation, command
from keepbook.doors.cli.terminal.paper import Paper, ink, pluralise, visible
from keepbook.doors.cli.terminal.streams import Telling, reading, show_progress, utf8
from keepbook.errors import Conflict, Invalid, NotAllowed, NotFound

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult
    from keepbook.book.upkeep.erase import Receipt
    from keepbook.book.upkeep.import_answer import Imported

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


MOST_REASONS = 5


def register(app: typer.Typer) -> None:
    command(app, "export", export, panel=CARRY)
    command(app, "import", import_, panel=CARRY, writes=True)
    command(app, "backup", backup, panel=CARRY)
    command(app, "erase", erase, panel=CARRY)


def export(
    call: Invocation,
    file: Annotated[str, typer.Argument(help="Where to; - is stdout.")] = "-",
    force: Force = False,
) -> None:
    """Write one owner's whole book as JSON Lines."""
    call.note_rows_without_code()
    if file == "-":
        with show_progress("Exporting") as told:
            call.book.export(_count_lines(utf8(sys.stdout), told))
        return
    with (
        new_file(file, force=force, book=call.file) as path,
        show_progress("Exporting") as told,
        path.open("w", encoding="utf-8") as out,
    ):
        lines = call.book.export(_count_lines(out, told))
        _to_disk(out)
    call.answer({"file": file, "lines": lines}, _export_sheet)


def import_(
    call: Invocation,
    file: Annotated[
        str,
        typer.Argument(
            help="An export, or what another program kept (file or folder); - is stdin.", show_default=False
        ),
    ],
    merge: Annotated[
        bool, typer.Option("--merge", help="Add an export's memories to a book that is not empty.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would come in; keep nothing.")] = False,
    owner_map: Annotated[
        list[str] | None,
        typer.Option(
            "--owner-map", metavar="THEIRS=OURS", help="Whose book a person of the file goes into; repeatable."
        ),
    ] = None,
    read: Annotated[
        bool, typer.Option("--read", help="Read the chats that come in for what to remember, on this machine.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let nothing come in, if anything of the file would stay out.")
    ] = False,
) -> None:
    """Restore an export into an empty book, or take over what another program kept."""
    mapped = _parse_owner_map(owner_map or [])
    if read and (dry_run or file == "-" or _is_export(file)):
        raise Invalid("--read is for a file of chats that comes in; leave it out here", field="read")
    if strict and (file == "-" or _is_export(file)):
        raise Invalid("--strict is for a file of another program; leave it out here", field="strict")
    if file == "-" or _is_export(file):
        with reading(file) as stream, show_progress("Importing") as told:
            answer = call.book.import_(_report_lines(stream, told), merge, dry_run)
        call.note_rows_without_code()
        call.answer(answer, sheets.import_sheet, call.book.owner)
        return
    answers = _bring_in(call, file, mapped, dry_run, strict=strict)
    taken = answers if len(answers) > 1 else answers[0]
    if not read:
        call.answer(taken, sheets.import_sheet, call.book.owner)
        return
    closed = [closing for one in answers for closing in _read(call, one)]
    call.answer({"imported": taken, "read": closed}, sheets.imported_and_read, call.book.owner)
    if any(one.status == "failed" for one in closed):
        raise typer.Exit(1)


def _bring_in(
    call: Invocation, file: str, mapped: dict[str, str], dry_run: bool, *, strict: bool
) -> "tuple[Imported, ...]":
    """Import another program's file, and ask at a terminal whose it is, where that is not said."""
    try:
        if strict:
            _refuse_left_out(_import_file(call, file, mapped, dry_run=True))
        return _import_file(call, file, mapped, dry_run)
    except Conflict as error:
        if error.code != "several_people" or call.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        answered = _ask_whose(error.details["people"], mapped)
    return _bring_in(call, file, answered, dry_run, strict=strict)


def _read(call: Invocation, taken: "Imported") -> "Sequence[ClosingResult]":
    # SQLAlchemy is slow to load, and --help does not need it.
    from keepbook.book.upkeep import chat_reading

    if taken.load is None or taken.owner is None:
        return ()
    book = call.keepbook.book(taken.owner, door="cli")
    with show_progress("Reading chats for memories") as told:
        return chat_reading.read_chats(book, taken.load, offline=True, progress=lambda done: told.say(f"{done:,} read"))


def _import_file(call: Invocation, file: str, mapped: dict[str, str], dry_run: bool) -> "tuple[Imported, ...]":
    with show_progress("Importing") as told:
        return call.keepbook.import_from(
            file, call.book.owner, owner_map=mapped, dry_run=dry_run, door="cli", progress=told.lines
        )


def _refuse_left_out(answers: "Sequence[Imported]") -> None:
    left = [one for answer in answers for one in answer.refused]
    if left:
        reasons = "; ".join(f"{one.where}: {one.why}" for one in left[:MOST_REASONS])
        more = ""
        if len(left) > MOST_REASONS:
            more = f"; and {len(left) - MOST_REASONS} more"
        raise Invalid(f"{len(left)} would stay out, so nothing came in: {reasons}{more}", field="strict")


def _parse_owner_map(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        theirs, mark, ours = pair.rpartition("=")
        if not mark:
            raise Invalid(f"write it as THEIRS=OURS, not {pair!r}", field="owner_map")
        found[theirs] = ours
    return found


def _ask_whose(people: list[str], mapped: dict[str, str]) -> dict[str, str]:
    """Whose book each person of a file goes into; Enter takes the name they have there, - leaves them out."""
    sys.stderr.write("Whose book do the things of each of these go into? (Enter: the same name, -: none)\n")
    found = dict(mapped)
    for theirs in people:
        if theirs not in found:
            sys.stderr.write(f"  {visible(theirs) or '(nobody named)'}: ")
            sys.stderr.flush()
            typed = sys.stdin.readline().strip() or theirs
            if typed == "-":
                found[theirs] = ""
            else:
                found[theirs] = typed
    return found


def _is_export(file: str) -> bool:
    """Whether a file is one of ours: it says so in its first line."""
    path = Path(file).expanduser()
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return b'"kind":"keepbook"' in stream.read(400).replace(b" ", b"").split(b"\n")[0]


def backup(
    call: Invocation,
    file: Annotated[str, typer.Argument(help="Where to.", show_default=False)],
    force: Force = False,
) -> None:
    """Copy a book with all its owners, safely while others write to it; PostgreSQL as its administrator."""
    # SQLAlchemy is slow to load, and --help does not need it.
    from keepbook.copies import back_up

    source = call.file
    if call.place == ":memory:":
        raise Invalid("a book in memory has no copy; export it, or name its file with --db", field="db")
    if source is not None and not source.exists():
        raise NotFound(f"there is no book at {source} to copy", field="db")
    if source is not None:
        call.keepbook.facts()  # refuses what is not a book, with its own words
    with new_file(file, force=force, book=call.file) as path, show_progress("Copying"):
        back_up(call.admin_place, path, busy_seconds=call.settings.busy_seconds)
        size = path.stat().st_size
    call.answer({"file": file, "bytes": size}, _backed_up)


def erase(
    call: Invocation,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="OWNER", help="The owner's name, instead of being asked.")
    ] = None,
) -> None:
    """Erase everything of an owner, for good."""
    owner = call.book.owner
    if confirm is None:
        if call.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise Invalid(f"this erases everything of {owner!r}; to confirm, add: --confirm {owner}", field="confirm")
        confirm = _confirm_erase(owner)
    call.note_rows_without_code()
    call.answer(call.book.erase(confirm), _erase_sheet)


def _confirm_erase(owner: str) -> str:
    sys.stderr.write(
        f"Erase the whole book of {visible(owner)}? This cannot be undone, not even by us.\n"
        "Export first if you may want it back.\n"
        "Type the owner's name to erase everything, or Enter to keep the book: "
    )
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not typed.endswith("\n"):  # Ctrl-D leaves the cursor behind the question
        sys.stderr.write("\n")
    typed = typed.strip()
    if typed != owner:
        raise Conflict("nothing was erased: that is not the owner's name", code="not_confirmed")
    return typed


# What was done

_COUNTED = {
    "memories": ("memory", "memories"),
    "versions": ("version", "versions"),
    "links": ("link", "links"),
    "ledger": ("ledger entry", "ledger entries"),
    "injections": ("block kept for a session", "blocks kept for sessions"),
}
"""What a person counts; the rest of the receipt is indexes, and in --json."""


def _export_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    paper.put("Exported ", pluralise(answer["lines"], "line"), " to ", ink(answer["file"]), ".")


def _backed_up(paper: Paper, answer: dict[str, Any]) -> None:
    paper.put(f"Copied {answer['bytes'] / 1e6:.1f} MB to ", ink(answer["file"]), ".")


def _erase_sheet(paper: Paper, receipt: "Receipt") -> None:
    paper.put("Erased everything of ", ink(receipt.owner), f" on {paper.clock(receipt.at)}:")
    gone = [pluralise(receipt.counts[name], *words) for name, words in _COUNTED.items() if receipt.counts.get(name)]
    paper.put("  ", ", ".join(gone) or "nothing was there", ".")
    paper.put("Out of reach:")
    for place in receipt.beyond_reach:
        paper.put("  ", ink(place))


# Files


@contextmanager
def new_file(name: str, *, force: bool, book: Path | None = None) -> Iterator[Path]:
    """A file to fill; it takes its name when all went well, and leaves nothing behind when not. It never takes the
    place of the `book` or its log."""
    target = Path(name).expanduser().resolve()  # a link stays one: what it points to is replaced
    parts = [Path(f"{book.resolve()}{end}") for end in ("", "-wal", "-shm")] if book else []
    if target in parts or any(one.exists() and target.exists() and one.samefile(target) for one in parts):
        raise Invalid(f"{target} is the book itself, or its log; choose another name", field="file")
    if target.is_dir():
        raise Invalid(f"{target} is a folder; name a file in it", field="file")
    if target.exists() and not target.is_file():
        raise Invalid(f"{target} is not a plain file; choose another name", field="file")
    if target.exists() and not force:
        raise Conflict(f"{target} exists; choose another name, or replace it with --force", code="exists")
    if not target.parent.is_dir():
        raise Invalid(f"the folder {target.parent} does not exist; make it first", field="file")
    try:
        handle, made = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        raise NotAllowed(f"cannot write in {target.parent} ({error.strerror}); choose another folder") from None
    os.close(handle)
    draft = Path(made)
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _to_disk(out: TextIO) -> None:
    out.flush()
    os.fsync(out.fileno())


# Progress


class _CountingStream:
    """A stream that tells how many lines went through it."""

    def __init__(self, stream: TextIO, told: Telling) -> None:
        self._stream, self._told, self._number = stream, told, 0

    def write(self, text: str) -> int:
        self._number += 1
        self._told.lines(self._number)
        return self._stream.write(text)


def _count_lines(stream: TextIO, told: Telling) -> TextIO:
    return cast(TextIO, _CountingStream(stream, told))  # an export only ever writes


def _report_lines(stream: Iterable[str], told: Telling) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        told.lines(number)
        yield line
