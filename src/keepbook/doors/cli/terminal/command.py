"""The invocation of a command: its options, the settings, the open book, and its output.

Global options may be before or after a command; if an option is given twice, the later one counts. An answer is written
to stdout, laid out for a person or as JSON for a program; everything else goes to stderr. The book's code and the
settings are loaded when a command first needs them, so that --help stays fast.
"""

import functools
import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup

from keepbook.book.ground.when import instant, parse_date_words, parse_stamp, zone_named
from keepbook.doors.cli.terminal.paper import Paper, name_book, visible, without_password
from keepbook.errors import Invalid, KeepbookError, NotAllowed

if TYPE_CHECKING:
    from keepbook.app import Keepbook
    from keepbook.book.book import Book
    from keepbook.settings import Settings

Value = TypeVar("Value")
More = ParamSpec("More")
CommandFunction = Callable[..., None]

# The sections of `keepbook --help`; an extension names its own.
BEGIN, WRITE, READ, LOOK_BACK = "Begin", "Write", "Read", "Look back"
CHATS, CARRY, CARE = "Chats", "Carry away", "Take care"
_ANYWHERE = "Before or after any command"


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The global options as typed; None for those that were not given."""

    db: str | None = None
    owner: str | None = None
    preset: str | None = None
    zone: str | None = None
    at: str | None = None
    json: bool | None = None
    verbose: bool | None = None

    def override_with(self, later: "GlobalOptions") -> "GlobalOptions":
        # Only None means "not given": `--owner ""` must be refused, and not open the default book.
        pairs = {each.name: (getattr(self, each.name), getattr(later, each.name)) for each in fields(GlobalOptions)}
        return GlobalOptions(**{name: old if new is None else new for name, (old, new) in pairs.items()})

    def program(self) -> str:
        """`keepbook` with the options that another command needs to open the same book."""
        words = ["keepbook"]
        for name in ("db", "owner"):
            value = getattr(self, name)
            if value is not None:
                words += [f"--{name}", value if name == "owner" else without_password(value)]
        return shlex.join(words)


def typed_before(args: Sequence[str]) -> GlobalOptions:
    """The book that a line names, wherever it names it; also of a line that cannot be read."""
    named: dict[str, Any] = {}
    words = iter(args)
    for word in words:
        option, given, value = word.partition("=")
        if option in ("--db", "--owner"):
            named[option.removeprefix("--")] = value if given else next(words, None)
    return GlobalOptions(**named)


def _option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=_ANYWHERE, show_default=False, **more)


_OPTIONS: dict[str, Any] = {
    "db": Annotated[
        str | None,
        _option("--db", metavar="PLACE", help="A file, or postgresql://… (else KEEPBOOK_DB)."),
    ],
    "owner": Annotated[
        str | None, _option("--owner", metavar="NAME", help="Whose book (else KEEPBOOK_OWNER, else you).")
    ],
    "preset": Annotated[
        str | None, _option("--preset", metavar="NAME", help="general, coach, advisor, assistant, or yours.")
    ],
    "zone": Annotated[str | None, _option("--zone", metavar="ZONE", help="Time zone of dates, such as Europe/Oslo.")],
    "at": Annotated[
        str | None,
        _option("--at", metavar="MOMENT", hidden=True, help="The moment dates in words are said at."),
    ],
    "json": Annotated[bool | None, _option("--json", help="Answer in JSON on stdout, for programs.")],
    "verbose": Annotated[bool | None, _option("--verbose", help="Show the traceback of an error.")],
}
_TAKE_A_VALUE = {f"--{name}" for name in _OPTIONS} - {"--json", "--verbose"}
_PARAMETERS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    for name, annotation in _OPTIONS.items()
]
_CONTEXT = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)


def global_options(app: typer.Typer, *, root: bool = False) -> None:
    """Let the global options stand right behind the name of the program or of a group."""

    def take(context: typer.Context, **values: Any) -> None:
        values.pop("version", None)
        context.obj = (context.obj or GlobalOptions()).override_with(GlobalOptions(**values))

    parameters = [_CONTEXT, *_PARAMETERS]
    if root:
        version = Annotated[
            bool | None,
            typer.Option("--version", is_eager=True, callback=_version, show_default=False, help="Show the version."),
        ]
        parameters.append(
            inspect.Parameter("version", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=version)
        )
    _sign(take, parameters)
    app.callback(no_args_is_help=True)(take)


def first_word(args: Sequence[str]) -> str | None:
    """The command on a line: what is neither a global option nor the value of one."""
    words = iter(args)
    for word in words:
        if not word.startswith("-"):
            return word
        if word in _TAKE_A_VALUE:
            next(words, None)
        elif word in ("--help", "-h"):
            return None
    return None


def leave_as_they_are(tree: Any) -> None:
    """Convert only what needs it: not a value that nobody gave, nor a text that is to be one.

    Typer converts all with a library that takes as long to load as the book itself.
    """
    help_option = tree.get_help_option
    tree.get_help_option = lambda context: _convert_lazily(help_option(context))
    for parameter in tree.params:
        _convert_lazily(parameter)
    for inner in getattr(tree, "commands", {}).values():
        leave_as_they_are(inner)


def _convert_lazily(parameter: Any) -> Any:
    if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
        parameter.process_value = _only_if_needed(parameter)
        if parameter.param_type_name == "option" and parameter.metavar is None:
            parameter.metavar = _TAKES.get(parameter.type_descriptor.annotation)
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type  # its name and its words say what it is
    return parameter


_TAKES = {bool: "", str: "TEXT", list[str]: "TEXT", int: "NUMBER", float: "NUMBER"}
"""What an option takes, in the words of `--help`; a switch takes nothing."""


def _no_type(ctx: Any) -> None:  # noqa: ARG001  as the framework calls it
    return None


def _only_if_needed(parameter: Any) -> Callable[[Any, Any], Any]:
    converted, kind = parameter.process_value, parameter.type_descriptor
    several = parameter.multiple or parameter.nargs == -1
    text = kind.annotation in (str, list[str]) and kind.parameter_info.parser is None

    def process(context: Any, value: Any) -> Any:
        ours = (value is None and not parameter.required) or (
            type(value) is kind.annotation and value == parameter.default
        )
        if not ours and not (text and value is not None and isinstance(value, list | tuple if several else str)):
            return converted(context, value)
        if several:
            value = list(value or ())
        if parameter.callback is None:
            return value
        return parameter.callback(context, parameter, value)

    return process


def _meaning(otherwise: str) -> type[TyperGroup]:
    """A group that takes a word which is none of its commands for the first argument of this one."""

    class Meaning(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            known = not args or args[0].startswith("--") or self.get_command(ctx, args[0]) is not None
            return super().resolve_command(ctx, args if known else [otherwise, *args])

    return Meaning


def group(app: typer.Typer, name: str, *, panel: str, words: str, otherwise: str | None = None) -> typer.Typer:
    """A command that has commands: `keepbook db upgrade`. What is none of them is meant for the one in `otherwise`."""
    if otherwise is None:
        inner = typer.Typer(help=words)
    else:
        inner = typer.Typer(help=words, cls=_meaning(otherwise))
    global_options(inner)
    app.add_typer(inner, name=name, rich_help_panel=panel, help=words)
    return inner


class RefusedOtherwise(Exception):
    """A refusal with an exit code other than 1."""

    def __init__(self, error: KeepbookError, exit_code: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.exit_code = exit_code


def command(
    app: typer.Typer, name: str, work: CommandFunction, *, panel: str | None = None, writes: bool = False
) -> None:
    """Register a function as a command. Its first argument is the invocation; the others are read from the line."""
    own = list(inspect.signature(work).parameters.values())[1:]
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]

    @functools.wraps(work)
    def run(context: typer.Context, **values: Any) -> None:
        later = GlobalOptions(**{name: values.pop(name) for name in _OPTIONS})
        call = Invocation((context.obj or GlobalOptions()).override_with(later), writes=writes)
        try:
            work(call, **values)
        finally:
            call.close()

    _sign(run, [_CONTEXT, *own, *_PARAMETERS])
    app.command(name, rich_help_panel=panel)(run)


def _sign(function: Any, parameters: Sequence[inspect.Parameter]) -> None:
    """Set the signature of a function, from which typer reads the options, so that commands can share options."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {each.name: each.annotation for each in parameters}


def _version(wanted: bool | None) -> None:
    if wanted:
        sys.stdout.write(f"keepbook {version()}\n")
        raise typer.Exit


def version() -> str:
    # Loaded for --version alone: reading package metadata takes longer than most commands.
    from importlib import metadata

    try:
        return metadata.version("keepbook")
    except metadata.PackageNotFoundError:
        return "from source, not installed"


class Invocation:
    """One run of one command."""

    def __init__(self, given: GlobalOptions, *, writes: bool = True) -> None:
        self.given = given
        self.writes = writes
        self.as_json: bool = bool(given.json)
        self._opened: list[Keepbook] = []

    # The book

    @cached_property
    def settings(self) -> "Settings":
        # Loaded here, because --help needs no settings.
        from keepbook.settings import load_settings

        return load_settings(db=self.given.db, owner=self.given.owner, preset=self.given.preset)

    @cached_property
    def place(self) -> str:
        """The place of the book: a path with ~ resolved, or a URL."""
        db = self.settings.db
        if db.startswith("~"):
            return os.path.expanduser(db)
        return db

    @cached_property
    def file(self) -> Path | None:
        """The file of a SQLite book; None for a server or a book in memory."""
        if self.place == ":memory:":
            return None
        path = self.place.removeprefix("sqlite:///")
        if "://" in path or path.startswith(("postgres:", "postgresql:")):
            return None
        return Path(path)

    @cached_property
    def admin_place(self) -> str:
        """The place for administration: the file, or the server with the administrator's login."""
        if self.file is not None:
            return str(self.file)
        return self.settings.admin_db or self.place

    @cached_property
    def keepbook(self) -> "Keepbook":
        """The open installation. If there is no book yet, a command that only reads opens an empty one in memory, so
        that no file is made."""
        file = self.file
        if file is not None and not self.writes and not file.exists():
            if file.parent.is_dir() or file.parent == home():
                self.note(f"There is no book at {file} yet; the first write makes it.")
                return self.open(":memory:")
        elif file is not None and file.parent == home():
            _make_folder(file.parent)
        return self.open(self.place)

    @cached_property
    def administered(self) -> "Keepbook":
        """The installation opened by its administrator; on a server, this login may see all owners."""
        if self.file is not None or self.place == ":memory:":
            return self.keepbook
        return self.open(self.admin_place, allow_bypass_login=True)

    def open(self, place: str, **but: Any) -> "Keepbook":
        # Loaded here, because SQLAlchemy is the slowest part of all to load.
        from keepbook.app import Keepbook

        if place.startswith(("http://", "https://")):
            raise Invalid(
                "the command line opens a file or postgresql://…; a book on a server is opened in Python, "
                f"with Keepbook({place!r}, token=…)",
                field="db",
            )
        opened = Keepbook(place, preset=self.settings.preset, settings=self.settings.but(**but))
        self._opened.append(opened)
        return opened

    @cached_property
    def book(self) -> "Book":
        return self.keepbook.book(self.settings.owner, door="cli")

    def close(self) -> None:
        for opened in self._opened:
            opened.close()

    # What comes in

    def text(self, typed: str, field: str) -> str:
        """A text from the line; `-` reads it from stdin."""
        if typed != "-":
            return typed
        try:
            return sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid(f"{field}: what came on stdin is not text in UTF-8", field=field) from None

    def moment(self, typed: str | None, field: str, *, end: bool = False) -> str | None:
        """A date from the line, in ISO form or in plain words, which count from now (or --at) in the owner's zone."""
        if typed is None:
            return None
        at = instant(self.given.at, field="at", zone=self.zone)
        said_at = datetime.now(UTC) if at is None else parse_stamp(at)
        return parse_date_words(typed, moment=said_at, zone=self.zone, end=end, field=field)

    @cached_property
    def zone(self) -> str:
        """The time zone of dates: the line's, else the owner's own, else this machine's."""
        if self.given.zone is not None:
            return zone_named(self.given.zone).key
        chosen = self.book.zone
        return chosen if chosen != "UTC" else system_zone()  # UTC is also the default of a book

    # What goes out

    @property
    def program(self) -> str:
        """The words with which to call the program again for the same book."""
        return self.given.program()

    @cached_property
    def paper(self) -> Paper:
        return Paper(zone=lambda: self.zone, now=datetime.now(UTC), program=self.program)

    def answer(
        self,
        value: Value,
        show: Callable[Concatenate[Paper, Value, More], None],
        *args: More.args,
        **more: More.kwargs,
    ) -> None:
        """Write the answer of a command: as JSON, or laid out by `show`."""
        if self.as_json:
            self.json(value)
        else:
            show(self.paper, value, *args, **more)

    def json(self, value: Any) -> None:
        # Loaded here, because it loads the book's code.
        from keepbook.book.ground.to_json import to_json

        wide = (sys.stdout.encoding or "").lower().startswith("utf")
        sys.stdout.write(json.dumps(to_json(value), ensure_ascii=not wide, indent=2) + "\n")

    def note_rows_without_code(self) -> None:
        """Note the extensions that are off and have rows in this book."""
        for name in self.book.without_code():
            self.note(f"{name} is not on here: what it wrote in this book is kept, and treated as the rest of it")

    def note(self, text: str) -> None:
        """Write a remark to stderr."""
        sys.stderr.write(f"{visible(name_book(text, self.program))}\n")


def system_zone() -> str:
    """The IANA name of this machine's time zone; UTC if it cannot be found."""
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    for name in (os.environ.get("TZ", "").removeprefix(":"), linked):
        try:
            return zone_named(name).key
        except Invalid:
            continue
    return "UTC"


def home() -> Path:
    """The folder of settings and, by default, of the book."""
    # See Invocation.settings.
    from keepbook.settings import HOME

    return HOME.expanduser()


def _make_folder(folder: Path) -> None:
    """The default folder, readable by its person alone."""
    try:
        # See home().
        from keepbook.settings import private_folder

        private_folder(folder)
    except OSError as error:
        advice = "choose another place with --db or KEEPBOOK_DB"
        raise NotAllowed(f"cannot make the folder {folder} ({error.strerror}); {advice}", code="read_only") from None
