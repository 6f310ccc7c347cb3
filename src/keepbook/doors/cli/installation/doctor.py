"""`keepbook doctor`: what is configured, what works, what to do.

Each check answers for itself, so that a broken part hides no other: a book that cannot be opened still shows
which settings led there. Nothing is made or changed, not even an empty book. With --model the model is tried instead:
it is asked for a sentence and for a reading, as a chat and its closing would, and says what that took.
"""

import os
import platform
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from keepbook.doors.cli.commands.reindex import embedder_in_words, in_force
from keepbook.doors.cli.terminal.command import BEGIN, Invocation, command, home, version
from keepbook.doors.cli.terminal.paper import AMBER, META, Paper, grid, ink, name_book, pluralise
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import KeepbookError, ModelFailed
from keepbook.extension import find_extensions, missing_extensions

if TYPE_CHECKING:
    from keepbook.models.choose import Models
    from keepbook.models.model import Model, Usage
    from keepbook.settings import Settings

LOW_DISK = 500_000_000
REACH_SECONDS = 3.0
"""How long somebody may take to open the door at a model's address."""
SAID = "I live in Oslo, and I prefer short answers."
"""What a model on trial is to read."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing looked at; `advice` says what to do where it is not as it should be. What would cost something to try
    was only looked at: `tried` says so, and then nobody says that all is well."""

    name: str
    value: str
    ok: bool = True
    advice: str | None = None
    tried: bool = True


def register(app: typer.Typer) -> None:
    command(app, "doctor", doctor, panel=BEGIN)


def doctor(
    call: Invocation,
    model: Annotated[
        bool, typer.Option("--model", help="Try the configured model instead; costs a few tokens.")
    ] = False,
) -> None:
    """Tell what is configured, what works and what to do."""
    checks = list(_model_checks(call) if model else _checks(call))
    ok = all(check.ok for check in checks)
    call.answer({"ok": ok, "checks": checks}, _doctor_sheet)
    if not ok:
        raise typer.Exit(1)


def _checks(call: Invocation) -> Iterator[DoctorCheck]:
    yield DoctorCheck("keepbook", version())
    yield DoctorCheck("python", f"{platform.python_version()} at {sys.executable}")
    yield DoctorCheck("sqlite", sqlite3.sqlite_version)
    try:
        settings = call.settings
    except KeepbookError as error:
        yield DoctorCheck("settings", error.message, False, "correct it, then run `keepbook doctor` again")
        return
    yield from _misspelt()
    yield _config_file()
    yield DoctorCheck("owner", settings.owner)
    yield from _models(call)
    yield from _extensions(call)
    yield from _presets(call)
    yield from _unsafe(call)
    yield from _database(call)


def _models(call: Invocation) -> Iterator[DoctorCheck]:
    """The models that the settings name, as far as one can see without asking them anything."""
    settings = call.settings
    named = {"model": settings.model}
    if settings.cheap_model not in (None, settings.model):
        named["cheap model"] = str(settings.cheap_model)
    if settings.reader_model not in (None, settings.model):
        named["reader model"] = str(settings.reader_model)
    try:
        models = call.open(":memory:").models
    except KeepbookError as error:
        yield DoctorCheck("model", error.message, False, "correct it in KEEPBOOK_MODEL or the config file")
        return
    for kind, name in named.items():
        model = models.named(name)
        if model is models.offline:
            yield DoctorCheck(kind, name)
        elif (cause := _missing(model)) is not None:
            place = _place(model, models, settings)
            yield DoctorCheck(kind, place, False, _what_to_do(cause, name.partition(":")[0].upper(), settings))
        else:
            yield DoctorCheck(kind, f"{name}; not tried", True, "try it: `keepbook doctor --model`", tried=False)


def _missing(model: "Model") -> str | None:
    """What a remote model lacks for sure: the packages, a key for its provider, somebody at its address."""
    # As in _place.
    from keepbook.models.providers.remote import RemoteModel

    assert isinstance(model, RemoteModel)
    if find_spec("pydantic_ai") is None:
        return "missing"
    if model.address.base_url is None:
        return None if model.address.key else "key"
    parts = urlsplit(model.address.base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=REACH_SECONDS).close()
    except (OSError, UnicodeError):
        return "unreachable"
    return None


def _unsafe(call: Invocation) -> Iterator[DoctorCheck]:
    """Choices that open more than a person may think."""
    settings = call.settings
    if settings.agent_programs:
        named = ", ".join(settings.agent_programs)
        yield DoctorCheck(
            "programs",
            f"agents may start {named}",
            True,
            "Keepbook does not see what they do; name none you doubt",
        )
    if settings.allow_bypass_login:
        yield DoctorCheck(
            "login", "allow_bypass_login is set: a login that could see all owners is accepted", True,
            "give the server a login that is only a member of keepbook_app",
        )  # fmt: skip
    folder = home()
    if os.name == "posix" and folder.is_dir() and folder.stat().st_mode & 0o077:  # Windows keeps rights elsewhere
        yield DoctorCheck("folder rights", f"{folder} can be read by others", True, f"chmod 700 {folder}")


def _keys(call: Invocation) -> Iterator[DoctorCheck]:
    """Whether others could come in without one."""
    if call.settings.allowed_hosts and not call.keepbook.tokens.asked_for():
        names = ", ".join(call.settings.allowed_hosts)
        yield DoctorCheck(
            "tokens", f"none, and the server answers to {names}", False, "make one: `keepbook token create`"
        )


def _misspelt() -> Iterator[DoctorCheck]:
    """Variables that look like settings, and are none."""
    # With the settings by now; at the top of the module it would slow --help.
    from keepbook.settings import misspelt_variables

    for name, meant in misspelt_variables().items():
        if meant:
            advice = f"did you mean {meant}?"
        else:
            advice = "take it out; docs/reference.md lists all settings"
        yield DoctorCheck("environment", f"{name} is no setting, and changes nothing", False, advice)


def _config_file() -> DoctorCheck:
    path = Path(os.environ.get("KEEPBOOK_CONFIG", home() / "config.toml")).expanduser()
    return DoctorCheck("config file", str(path) if path.is_file() else f"none (it would be {path})")


def _presets(call: Invocation) -> Iterator[DoctorCheck]:
    # With the settings by now; at the top of the module it would slow --help.
    from keepbook.presets import load_preset, preset_names

    folder = call.settings.presets
    if not folder.is_dir():
        yield DoctorCheck("presets folder", f"none (it would be {folder})")
    else:
        own = sorted(set(preset_names((folder,))) - set(preset_names()))
        yield DoctorCheck("presets folder", f"{folder}: {', '.join(own) or 'no preset in it'}")
    for name in preset_names((folder,)):
        try:
            load_preset(name, (folder,))
        except KeepbookError as error:
            yield DoctorCheck(f"preset {name}", error.message, False, "correct the file, or move it away")


def _extensions(call: Invocation) -> Iterator[DoctorCheck]:
    try:
        found = find_extensions(call.settings.extensions)
    except KeepbookError as error:
        yield DoctorCheck(
            "extensions", error.message, False, "correct extensions in KEEPBOOK_EXTENSIONS or the config file"
        )
        return
    if not found:
        yield DoctorCheck("extensions", "none is on")
    for one in found:
        about = ""
        if one.about:
            about = f": {one.about}"
        yield DoctorCheck(f"extension {one.name}", f"version {one.version}{about}")


def _without_code(call: Invocation) -> Iterator[DoctorCheck]:
    """Extensions whose rows the book keeps, and whose code is not here."""
    # Loaded with the book by now.
    from keepbook.app import not_compared

    if call.place == ":memory:":  # made a moment ago, by this program
        return
    for name in not_compared(call.place if call.file is None else str(call.file)):
        yield DoctorCheck(
            f"extension {name}", "has tables in this book, and is not on here", True,
            "its rows are kept, exported and erased as ever; to use them, install it and add it to extensions",
        )  # fmt: skip


def _database(call: Invocation) -> Iterator[DoctorCheck]:
    file = call.file
    if file is not None and not file.exists():
        yield _no_book(file)
        return
    try:
        facts = call.keepbook.facts()
    except (KeepbookError, ImportError) as error:
        place = call.place if file is not None else call.place.partition("://")[0]
        yield DoctorCheck("database", f"{place}: {error}", False, "correct that, or name another place with --db")
        return
    yield DoctorCheck("database", f"{facts['engine']} at {facts['place']}")
    yield DoctorCheck("size", f"{facts['size']}, schema {facts['schema']}")
    if file is not None:
        yield _disk(file)
    try:
        yield from _without_code(call)
        yield from _keys(call)
        yield from _book(call)
    except KeepbookError as error:
        yield DoctorCheck("book", error.message, False, "correct that, then run `keepbook doctor` again")


def _no_book(file: Path) -> DoctorCheck:
    """There is none yet: could there be?"""
    folder = next(parent for parent in file.absolute().parents if parent.exists())
    if not os.access(folder, os.W_OK) or not folder.is_dir():
        return DoctorCheck(
            "database", f"none at {file}, and {folder} cannot be written to", False, "name another place with --db"
        )
    made = "" if folder == file.absolute().parent or file.parent == home() else f"; make the folder {file.parent} first"
    return DoctorCheck("database", f"none at {file} yet", not made, f'begin with: `keepbook remember "…"`{made}')


def _disk(file: Path) -> DoctorCheck:
    free = shutil.disk_usage(file.parent).free
    advice = None if free > LOW_DISK else "make room: a full disk refuses every write"
    return DoctorCheck("free disk", f"{free / 1e9:.1f} GB", advice is None, advice)


def _book(call: Invocation) -> Iterator[DoctorCheck]:
    book = call.book
    preset = book.preset()
    missing = missing_extensions(preset.name, preset.extensions, call.keepbook.extensions)
    yield DoctorCheck("preset", preset.name, True, "; ".join(missing) or None)
    yield DoctorCheck("time zone", call.zone)
    try:
        with book.transaction():
            pass
        yield DoctorCheck("writing", "works")
    except KeepbookError as error:
        yield DoctorCheck("writing", error.message, False, "the book can be read only until that is corrected")
    trouble = call.keepbook.clock_trouble(book.owner)
    if trouble is not None:
        yield DoctorCheck("clock", trouble, False, "set the clock right, or see `keepbook db accept-clock --help`")
    totals = {state: book.list(scope="*", state=state, limit=1).total for state in ("active", "archived", "trash")}
    yield DoctorCheck(
        "memories", f"{totals['active']:,} active, {totals['archived']:,} archived, {totals['trash']:,} in the trash"
    )
    yield from _embedder(call)
    result = book.verify()
    holds = f"holds, {pluralise(result.entries, 'entry', 'entries')}"
    if result.since is not None:
        holds = f"{holds}; {result.since}"
    broken = f"broken at {result.where}: {result.why}"
    if result.ok:
        value = holds
    else:
        value = broken
    yield DoctorCheck("ledger", value, result.ok, None if result.ok else "compare with a backup")


def _embedder(call: Invocation) -> Iterator[DoctorCheck]:
    found = dict(embedder_in_words(in_force(call)))
    meaning = call.keepbook.meaning
    failure = None
    if meaning is not None:
        try:
            meaning.embedder.ask("hello")
        except ModelFailed as error:
            failure = error.message
    if meaning is None:
        tried = ""
    elif failure is None:
        tried = "; works"
    else:
        tried = f"; {failure}"
    advice = None if failure is None else "correct that, or set embedder to none; words alone answer until then"
    yield DoctorCheck("embedder", found.pop("embedder") + tried, failure is None, advice)
    for name, value in found.items():
        yield DoctorCheck(name, value)


# The model


def _model_checks(call: Invocation) -> Iterator[DoctorCheck]:
    """Whether the models that the settings name do what a chat and its closing ask of them."""
    try:
        settings = call.settings
        keepbook = call.open(":memory:")  # the models need no book, and one that is broken says nothing about them
        models, preset = keepbook.models, keepbook.book(settings.owner).preset()
    except KeepbookError as error:
        yield DoctorCheck("settings", error.message, False, "correct it, then run `keepbook doctor --model` again")
        return
    yield DoctorCheck("chat model", _place(models.chat, models, settings))
    if models.cheap is not models.chat:
        yield DoctorCheck("cheap model", _place(models.cheap, models, settings))
    answering = _try_model("answering", models.chat, settings, _ask_reply)
    yield answering
    if answering.ok:  # else it would only fail again
        yield _try_model("reading chats", models.chat, settings, lambda model: _read(model, preset.categories))
    if models.cheap is not models.chat:
        yield _try_model("titles", models.cheap, settings, _ask_title)


def _place(model: "Model", models: "Models", settings: "Settings") -> str:
    if model is models.offline:
        return "the notebook: rules on this machine, no key, no network"
    # Loaded with the models by now.
    from keepbook.models.providers.remote import RemoteModel

    assert isinstance(model, RemoteModel)
    key = "with a key" if model.address.key else "without a key"
    return f"{model.address.called} at {model.address.place}, {key}, at most {settings.model_timeout:g} s for an answer"


def _try_model(
    name: str, model: "Model", settings: "Settings", ask: "Callable[[Model], tuple[str, Usage]]"
) -> DoctorCheck:
    began = time.monotonic()
    try:
        with show_progress("Asking the model"):
            told, usage = ask(model)
    except ModelFailed as error:
        words = _what_to_do(error.details.get("cause"), model.name.partition(":")[0].upper(), settings)
        return DoctorCheck(name, error.message, False, words)
    took = f"{time.monotonic() - began:.1f} s"
    tokens = f", {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out" if usage.tokens_in or usage.tokens_out else ""
    return DoctorCheck(name, f"{told} ({took}{tokens})")


def _ask_reply(model: "Model") -> "tuple[str, Usage]":
    # As in _place.
    from keepbook.models.closing.close import run_model
    from keepbook.models.model import Conversation, PromptMessage, ReplyFinished

    async def reply() -> ReplyFinished:
        asked = Conversation("This is a test. Answer with one short sentence.", (PromptMessage("user", "Hello!"),))
        return [event async for event in model.reply(asked, None) if isinstance(event, ReplyFinished)][-1]

    replied = run_model(reply())
    words = " ".join(replied.text.split())
    return f"works: “{words[:60]}{'…' if len(words) > 60 else ''}”", replied.usage


def _read(model: "Model", categories: tuple[str, ...]) -> "tuple[str, Usage]":
    # As in _place.
    from keepbook.models.closing.close import run_model
    from keepbook.models.model import ClosingChat, DialogueTurn

    now = datetime.now(UTC)
    asked = ClosingChat(
        turns=(DialogueTurn(1, "user", SAID, now),), known=(), categories=categories, zone="UTC", now=now
    )
    answer = run_model(model.extract(asked))
    found = [candidate.content for candidate in answer.candidates if candidate.op == "add"]
    if not found:
        return (
            f"answers in the right form, but found nothing in “{SAID}”; a stronger model remembers more",
            answer.usage,
        )
    return f"works: found “{'”, “'.join(found)[:100]}”", answer.usage


def _ask_title(model: "Model") -> "tuple[str, Usage]":
    # As in _place.
    from keepbook.models.closing.close import run_model
    from keepbook.models.model import DialogueTurn

    title, usage = run_model(model.title((DialogueTurn(1, "user", SAID), DialogueTurn(2, "assistant", "Noted."))))
    return f"works: “{title}”", usage


def _what_to_do(cause: str | None, provider: str, settings: "Settings") -> str:
    """What helps against each cause of a failure."""
    address = f"KEEPBOOK_{provider}_BASE_URL"
    known = {
        "missing": "install what remote models need: pip install 'keepbook[models]'",
        "key": f"put a valid key into KEEPBOOK_{provider}_KEY; for the provider itself {provider}_API_KEY counts too",
        "unreachable": f"start the server, or correct its address in {address}",
        "unknown": f"check the name in KEEPBOOK_MODEL, and the address in {address}: it often ends in /v1",
        "timeout": f"choose a smaller model, or wait longer than {settings.model_timeout:g} s: KEEPBOOK_MODEL_TIMEOUT",
        "rate_limit": "wait a moment, then try again",
        "quota": "add credit with the provider, or choose another model in KEEPBOOK_MODEL",
        "too_long": "choose a model with a larger context in KEEPBOOK_MODEL",
        "rejected": "choose a model for chats, with tools and JSON answers, in KEEPBOOK_MODEL",
        "unavailable": "try again later, or choose another model in KEEPBOOK_MODEL",
        "server": "try again later; the server's own log says more",
        "garbage": f"choose a stronger model in KEEPBOOK_MODEL; check that {address} leads to its API, often at /v1",
    }
    return known.get(cause or "", known["server"])


def _doctor_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    table = grid(text=1)
    for check in answer["checks"]:
        table.add_row(ink(check.name, META), ink(check.value, "" if check.ok else AMBER))
        if check.advice:
            table.add_row("", ink(f"To do: {name_book(check.advice, paper.program)}"))
    paper.sheet(table)
    paper.gap()
    wrong = sum(not check.ok for check in answer["checks"])
    if wrong:
        paper.put(f"{pluralise(wrong, 'thing')} to put right, marked with: To do.")
    elif all(check.tried for check in answer["checks"]):
        paper.put("All is well.")
    else:
        paper.put("Nothing wrong was found, but the model was not tried.")
