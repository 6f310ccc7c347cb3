"""The command line: `keepbook remember … recall … verify …`.

`commands` work on one's book, `installation` on what is around it; `terminal` is what they share, `sheets` what people
see. Whatever goes wrong ends here as one line on stderr that says what to do: exit code 1 when the book refuses, 2 when
the command was written wrongly, never a traceback unless --verbose asks for it.
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
from keepbook.doors.cli.terminal.paper import visible
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
"""The modules of this door in the order of `--help`, with the commands of each: a line loads only what it names. Those
of extensions come after them."""

# What typer raises for a line it cannot read: it names only the leaves of that tree in public.
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
"""Where to look when the book has no such thing; the engine does not know the commands of this door. An extension has
its own in `NEXT` of a module with commands."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code."""
    if argv is None:
        args = list(sys.argv[1:])
    else:
        args = list(argv)
    if "--" in args:
        said = args[: args.index("--")]
    else:
        said = args
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without the letter shows a mark in its place
    report = _Report(as_json="--json" in said, verbose="--verbose" in said)
    try:
        with _told_to_end():
            code = _run(args, report)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        _hush()
        return 1
    return code


@contextmanager
def _told_to_end() -> Iterator[None]:
    """A command that is told to end, or whose terminal goes, closes the book on its way out, as with Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # a line run inside another program, which has the signals
        return

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [each for each in known if signal.getsignal(each) is signal.SIG_DFL]
    for each in heard:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, signal.SIG_DFL)


def command_line(*parts: str) -> typer.Typer:
    """These parts of the command line; all of them, where none is named: the core's and those of extensions."""
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
    """An extension may register more than it says; the later of two commands would silently take the name."""
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

    Extensions are looked at only where the core has no such command: it takes the settings to know them.
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
        brought = _extension_parts(shipped().values())  # --help and --version answer whatever the settings say
    for part, names in brought.items():
        if word in names:
            return [part], word
    return [*_PARTS, *brought], None


def _extension_parts(extensions: Iterable[Extension]) -> dict[str, tuple[str, ...]]:
    """Their modules with commands, and the commands of each; none may bring one that is there already."""
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
    # A line that names a command of the core does not need the settings for this.
    from keepbook.settings import load_settings

    return find_extensions(load_settings().extensions)


def _where_to_look(field: str) -> str:
    if field in _NEXT:
        return _NEXT[field]
    try:
        parts = _extension_parts(_extensions_on())
    except KeepbookError:  # one error is being told
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
    except Exception as error:  # noqa: BLE001  the last net: a person never sees a traceback unasked
        return report.report_crash(error)
    if code == 130:  # Ctrl-C
        return report.say(130, "stopped", "stopped; a write that was under way was not kept")
    if isinstance(code, int):
        return code
    return 0


class _Report:
    """Errors on stderr: one line for people, one object for programs."""

    def __init__(self, *, as_json: bool, verbose: bool) -> None:
        self.as_json = as_json
        self.verbose = verbose

    def say(self, exit_code: int, code: str, message: str, **details: Any) -> int:
        if self.verbose and sys.exc_info()[0] is not None:
            sys.stderr.write(traceback.format_exc())
        if self.as_json:
            answer = {"error": {"code": code, "message": message, **details}}
            sys.stderr.write(json.dumps(answer, ensure_ascii=False) + "\n")
        else:
            sys.stderr.write(f"keepbook: {' '.join(visible(message).split())}\n")
        return exit_code

    def report_refusal(self, error: KeepbookError, exit_code: int = 1) -> int:
        # The engine is loaded in most cases by now; --help must not load it.
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
            return 2  # the help is the answer, and has been written
        if "unexpected extra argument" in message:
            message += "; put a text of several words in quotes"
        context = getattr(error, "ctx", None)
        if context is None:
            place = "keepbook"
        else:
            place = context.command_path
        return self.say(2, "usage", f"{message}. See: {place} --help")

    def report_crash(self, error: Exception) -> int:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("psycopg"):
            advice = "PostgreSQL needs its driver; install it with: pip install 'keepbook[postgres]'"
            return self.say(1, "no_driver", advice)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        if self.verbose:
            advice = ""
        else:
            advice = "; run it again with --verbose and report what that shows"
        return self.say(1, "internal", f"this should not happen: {what[:300]}{advice}")


def _hush() -> None:
    """Python flushes stdout once more on its way out; let that go nowhere."""
    with suppress(OSError, ValueError):  # where stdout is no real file there is nothing to hush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
