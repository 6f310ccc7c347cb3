"""The command line: `keepbook remember … recall … verify …`.

`commands` has the commands for a book, `installation` those for the installation, `terminal` what they share, and
`sheets` the layouts of answers. Every error is caught here and printed as one line on stderr that says what to do: exit
code 1 if the book refuses, 2 if the command is wrong. There is no traceback unless --verbose asks for it.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import typer

from keepbook.doors.cli.terminal import command
from keepbook.doors.cli.terminal.paper import name_book, visible
from keepbook.errors import Conflict, Invalid, KeepbookError, NotFound
from keepbook.extension import Extension, find_extensions, load_part, shipped

_PARTS = {
    "installation.quickstart": ("quickstart",),
    "installation.demo": ("demo",),
    "installation.doctor": ("doctor",),
    "installation.mcp": ("mcp",),
    "commands.memory_write": (
        "remember", "update", "forget", "delete", "restore", "confirm", "promote", "demote", "link", "unlink", "undo",
    ),
    "commands.memory_read": ("list", "show", "recall", "block", "inject", "history", "as-of", "ledger"),
    "commands.chat": ("chat",),
    "commands.chats": ("threads", "recall-chats", "timeline", "notes", "proposals"),
    "commands.extract": ("extract",),
    "commands.transfer": ("export", "import", "backup", "erase"),
    "commands.audit": ("audit",),
    "commands.care": ("verify", "configure", "db"),
    "installation.bench": ("bench",),
    "commands.reindex": ("reindex", "embedder"),
    "installation.jobs": ("jobs",),
    "installation.serve": ("serve",),
    "installation.tokens": ("token",),
    "installation.invitations": ("people",),
    "installation.telegram": ("telegram",),
}  # fmt: skip
"""The modules with commands, in the order of `--help`, and the commands of each: only the module of the command is
loaded. Modules of extensions come after them."""

# The base class of typer's errors for a wrong command line; only its subclasses are public.
_Misuse: Any = typer.BadParameter.mro()[2]

_NEXT = {
    "id": "; `keepbook list` shows what there is",
    "ref": "; `keepbook list` shows what there is",
    "event": "; `keepbook ledger` lists the entries",
    "link_id": "; `keepbook show MEMORY` lists its links",
    "thread": "; `keepbook threads list` shows what there is",
    "turn": "; `keepbook threads show CHAT` numbers its turns",
    "note": "; `keepbook notes list` shows what there is",
    "proposal": "; `keepbook proposals list` shows what waits",
}
"""The command that lists what there is, by the field of a `NotFound`. It is added here because the book does not know
the commands. An extension has its own in `NEXT` of a module with commands."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    options = args[: args.index("--")] if "--" in args else args
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a character that the terminal does not have is shown as a mark
    program = command.typed_before(options).program()
    report = _Report(as_json="--json" in options, verbose="--verbose" in options, program=program)
    try:
        with _exit_on_signal():
            code = _run(args, report)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has ended, as `| head` does
        _discard_stdout()
        return 1
    return code


@contextmanager
def _exit_on_signal() -> Iterator[None]:
    """On SIGTERM and SIGHUP, exit as with Ctrl-C, so that the book is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals; another program runs us in a thread
        return

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    unhandled = [each for each in known if signal.getsignal(each) is signal.SIG_DFL]
    for each in unhandled:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in unhandled:
            signal.signal(each, signal.SIG_DFL)


def command_line(*parts: str) -> typer.Typer:
    """The command line with these modules; without any named, with all of the core and of extensions."""
    app = typer.Typer(
        name="keepbook",
        help="The memory of an AI agent, kept like a ledger.",
        epilog="Begin with: keepbook quickstart",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    command.global_options(app, root=True)
    for part in dict.fromkeys(parts) or (*_PARTS, *_extension_parts(_extensions_on())):
        if part in _PARTS:
            import_module(f"{__name__}.{part}").register(app)
        else:
            load_part(part).register(app)
    _refuse_twins(app)
    return app


def _refuse_twins(app: typer.Typer) -> None:
    """Raise if two commands have one name: typer would silently take the later. An extension may register commands that
    it does not declare."""
    names = [one.name for one in app.registered_commands] + [one.name for one in app.registered_groups]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(f"an extension brings a command {name!r}, and there is one already", field="extensions")


@cache
def _tree(*parts: str, only: str | None = None) -> Any:
    """Typer reads the signature of each command for it: a line that names one grows that branch, and once a process.

    What `app(...)` does besides is to mend how tracebacks look, and no traceback leaves this door.
    """
    app = command_line(*parts)
    if only is not None:
        app.registered_commands = [one for one in app.registered_commands if one.name == only]
        app.registered_groups = [one for one in app.registered_groups if one.name == only]
    tree = typer.main.get_command(app)
    command.leave_as_they_are(tree)
    return tree


def _needed_parts(args: list[str]) -> tuple[list[str], str | None]:
    """The part that the command on this line is in, and the command. `--help`, and a word that is none, need them all.

    Extensions are searched only if the core has no such command, because that needs the settings.
    """
    word = command.first_word(args)
    for part, names in _PARTS.items():
        if word in names:
            return [part], word
    try:
        brought = _extension_parts(_extensions_on())
    except KeepbookError:
        if word is not None:
            raise
        brought = _extension_parts(shipped().values())  # --help and --version work with any settings
    for part, names in brought.items():
        if word in names:
            return [part], word
    return [*_PARTS, *brought], None


def _extension_parts(extensions: Iterable[Extension]) -> dict[str, tuple[str, ...]]:
    """The modules of extensions that have commands, and the commands of each. Raises if a command exists already."""
    found: dict[str, tuple[str, ...]] = {}
    taken = {name for names in _PARTS.values() for name in names}
    for one in extensions:
        for part, names in one.commands.items():
            for name in names:
                if name in taken:
                    raise Invalid(
                        f"extension {one.name!r}: there is a command {name!r} already; call yours otherwise",
                        field="extensions",
                    )
                taken.add(name)
            found[part] = names
    return found


def _extensions_on() -> Sequence[Extension]:
    # Loaded here, because a command of the core gets along without.
    from keepbook.settings import load_settings

    return find_extensions(load_settings().extensions)


def _where_to_look(field: str) -> str:
    if field in _NEXT:
        return _NEXT[field]
    try:
        parts = _extension_parts(_extensions_on())
    except KeepbookError:  # an error is being reported already
        return ""
    for part in parts:
        hints: Mapping[str, str] = getattr(load_part(part), "NEXT", {})
        if field in hints:
            return hints[field]
    return ""


def _run(args: list[str], report: "_Report") -> int:
    try:
        parts, word = _needed_parts(args)
        code = _tree(*parts, only=word)(args, prog_name="keepbook", standalone_mode=False)
    except typer.Abort:
        return report.say(1, "stopped", "stopped")
    except _Misuse as error:
        return report.usage(error)
    except BrokenPipeError:
        raise
    except command.RefusedOtherwise as refused:
        return report.report_refusal(refused.error, refused.exit_code)
    except KeepbookError as error:
        return report.report_refusal(error)
    except OSError as error:
        what = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        return report.say(1, "system", f"the system refuses: {what}; check the permissions, or name another place")
    except Exception as error:  # noqa: BLE001  a person must never see a traceback that they did not ask for
        return report.report_crash(error)
    if code == 130:  # Ctrl-C
        return report.say(130, "stopped", "stopped; a write that was under way was not kept")
    if isinstance(code, int):
        return code
    return 0


class _Report:
    """Writes errors to stderr: one line for people, or with --json one object for programs."""

    def __init__(self, *, as_json: bool, verbose: bool, program: str) -> None:
        self.as_json = as_json
        self.verbose = verbose
        self.program = program
        """How the same book is opened again, for the commands that an error names."""

    def say(self, exit_code: int, code: str, message: str, **details: Any) -> int:
        if self.verbose and sys.exc_info()[0] is not None:
            sys.stderr.write(traceback.format_exc())
        message = name_book(message, self.program)
        if self.as_json:
            answer = {"error": {"code": code, "message": message, **details}}
            sys.stderr.write(json.dumps(answer, ensure_ascii=False) + "\n")
        else:
            sys.stderr.write(f"keepbook: {' '.join(visible(message).split())}\n")
        return exit_code

    def report_refusal(self, error: KeepbookError, exit_code: int = 1) -> int:
        # Loaded here, because --help must not load it; a command that fails mostly has.
        from keepbook.book.ground.to_json import to_json

        details = to_json(error.details)
        if isinstance(error, Conflict) and error.similar:
            details["similar"] = to_json(error.similar)
        following = ""
        if isinstance(error, NotFound) and error.field:
            following = _where_to_look(error.field)
        return self.say(exit_code, error.code, error.message + following, field=error.field, **details)

    def usage(self, error: Any) -> int:
        message = " ".join(str(error.format_message()).split()).rstrip(".")
        if error.__class__.__name__ == "NoArgsIsHelpError":
            return 2  # typer has printed the help
        if "unexpected extra argument" in message:
            message += "; put a text of several words in quotes"
        if not message.endswith("?"):
            message += "."
        context = getattr(error, "ctx", None)
        place = "keepbook" if context is None else context.command_path
        return self.say(2, "usage", f"{message} See: {place} --help")

    def report_crash(self, error: Exception) -> int:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("psycopg"):
            advice = "PostgreSQL needs its driver; install it with: pip install 'keepbook[postgres]'"
            return self.say(1, "no_driver", advice)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        advice = "" if self.verbose else "; run it again with --verbose and report what that shows"
        return self.say(1, "internal", f"this should not happen: {what[:300]}{advice}")


def _discard_stdout() -> None:
    """Redirect stdout to nowhere, because Python flushes it once more when it ends, which would raise again."""
    with suppress(OSError, ValueError):  # if stdout is no real file, there is nothing to redirect
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
