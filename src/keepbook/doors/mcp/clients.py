"""The config files of well-known MCP clients: where each is, its format, and how to add to it.

Adding changes one entry and keeps all else. The old file is copied beside it first, and the new one replaces it in one
step, with the same permissions. A file that cannot be parsed for sure (broken, or with comments, which a rewrite would
lose) is left alone: then the person adds the lines.
"""

import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.patterns import regex

NAME = "keepbook"
_MAC = "~/Library/Application Support"


@dataclass(frozen=True, slots=True)
class Client:
    """One program: its config file, and the key under which the file lists servers."""

    name: str
    title: str
    file: str
    mac: str | None = None
    """The path on a Mac, if it is another one."""
    key: str = "mcpServers"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What its entries say besides the command."""
    note: str = "Restart it."

    @property
    def path(self) -> Path:
        if self.mac is not None and sys.platform == "darwin":
            place = self.mac
        else:
            place = self.file
        return Path(place).expanduser()

    @property
    def is_toml(self) -> bool:
        return self.file.endswith(".toml")

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        return {**self.fixed, "command": command[0], "args": list(command[1:])}

    def snippet(self, command: Sequence[str]) -> str:
        """What to add by hand."""
        entry = self.entry(command)
        if self.is_toml:
            return f"[{self.key}.{NAME}]\n{_assignments(entry)}"
        return json.dumps({self.key: {NAME: entry}}, ensure_ascii=False, indent=2) + "\n"


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            "~/.config/Claude/claude_desktop_config.json",
            mac=f"{_MAC}/Claude/claude_desktop_config.json",
            note="Quit it entirely and start it again.",
        ),
        Client("claude-code", "Claude Code", "~/.claude.json", fixed={"type": "stdio"}, note="Start a new session."),
        Client("cursor", "Cursor", "~/.cursor/mcp.json"),
        Client(
            "vscode",
            "VS Code",
            "~/.config/Code/User/mcp.json",
            mac=f"{_MAC}/Code/User/mcp.json",
            key="servers",
            fixed={"type": "stdio"},
            note="Start the server in the list of MCP servers, or restart it.",
        ),
        Client("windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json"),
        Client("zed", "Zed", "~/.config/zed/settings.json", key="context_servers", note="It notices by itself."),
        Client("codex", "Codex CLI", "~/.codex/config.toml", key="mcp_servers", note="Start a new session."),
        Client("gemini", "Gemini CLI", "~/.gemini/settings.json", note="Start a new session."),
    )
}


def client_named(name: str) -> Client:
    if name not in CLIENTS:
        raise Invalid(f"there is no config for {name[:40]!r}; known are {', '.join(CLIENTS)}", field="client")
    return CLIENTS[name]


# Adding


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """What was done to the file; `backup` is where the old one is, if there was one."""

    file: Path
    changed: bool
    backup: Path | None = None


def add_to_client(client: Client, command: Sequence[str]) -> ConfigChange:
    """Add the server to the client's config, or update its entry."""
    path = Path(os.path.realpath(client.path))  # a link stays one: what it points to is replaced
    old = _read(path)
    new = (_toml_with if client.is_toml else _json_with)(old or "", client, client.entry(command), path)
    if new is None:
        return ConfigChange(path, changed=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if old is not None:
            backup = _back_up(path, old)
        _replace(path, old, new)
    except OSError as error:
        raise NotAllowed(f"cannot write {path} ({error.strerror}); add the lines by hand") from None
    return ConfigChange(path, changed=True, backup=backup)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _left_alone(path, f"cannot be read ({error})") from None


def _left_alone(path: Path, why: str) -> Invalid:
    return Invalid(f"{path} {why}; it was left alone, add the lines by hand", field="client")


_INDENT = regex(r"^\s*\{[ \t]*\r?\n([ \t]+)")


def _json_with(old: str, client: Client, entry: Mapping[str, Any], path: Path) -> str | None:
    """The file with the entry; None where it says so already."""
    try:
        if old.strip():
            config = json.loads(old.removeprefix("\ufeff"), object_pairs_hook=_each_once)
        else:
            config = {}
    except (ValueError, RecursionError) as error:
        where = ""
        if isinstance(error, json.JSONDecodeError):
            where = f", line {error.lineno}"
        raise _left_alone(path, f"is not plain JSON, or has comments{where}") from None
    if not _put_entry(config, client, entry, path):
        return None
    indent = _INDENT.search(old)
    return json.dumps(config, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"


def _put_entry(config: Any, client: Client, entry: Mapping[str, Any], path: Path) -> bool:
    """Put the entry into what was read; False where it says so already. What else it says about the command stays."""
    servers = None
    if isinstance(config, dict):
        servers = config.setdefault(client.key, {})
    present = None
    if isinstance(servers, dict):
        present = servers.get(NAME, {})
    if not isinstance(servers, dict) or not isinstance(present, dict):
        raise _left_alone(path, f"has something unexpected where {client.key} should be")
    kept = present if "command" in present else {}  # an address of a server has no place beside a command
    servers[NAME] = {**kept, **entry}
    return bool(servers[NAME] != present)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # a rewrite would drop all but the last
        raise ValueError("a key stands twice")
    return found


def _toml_with(old: str, client: Client, entry: Mapping[str, Any], path: Path) -> str | None:
    """The same for TOML, line by line: what people wrote around the entry stays as they wrote it."""
    wanted = _parse_toml(old)
    if wanted is None:
        raise _left_alone(path, "is not valid TOML")
    if not _put_entry(wanted, client, entry, path):
        return None
    head = f"[{client.key}.{NAME}]"
    before, found, section = _split_at_entry(old, client.key)
    if found:
        body, after = section
        new = f"{before}{head}\n{_assignments(entry)}{_without(body, entry)}{after}"
    else:
        if not old or old.endswith("\n\n"):
            gap = ""
        elif old.endswith("\n"):
            gap = "\n"
        else:
            gap = "\n\n"
        new = f"{old}{gap}{head}\n{_assignments(entry)}"
    if _parse_toml(new) != wanted:  # the entry is written in some other way than as a table
        raise _left_alone(path, f"has {client.key} in a form that is not safe to change")
    return new


_OUR_TABLE = regex(
    rf"^[ \t]*+\[[ \t]*+(?P<key>[\w-]++)[ \t]*+\.[ \t]*+(?:{NAME}|\"{NAME}\"|'{NAME}')[ \t]*+\][^\n]*\n?", re.MULTILINE
)
_TABLE_BEGIN = regex(r"^[ \t]*\[", re.MULTILINE)


def _split_at_entry(text: str, key: str) -> tuple[str, bool, tuple[str, str]]:
    """What stands before the entry's table, whether there is one, and what it holds and what follows it."""
    table = next((found for found in _OUR_TABLE.finditer(text) if found["key"] == key), None)
    if table is None:
        return text, False, ("", "")
    rest = text[table.end() :]
    following = _TABLE_BEGIN.search(rest)
    if following:
        end = following.start()
    else:
        end = len(rest)
    return text[: table.start()], True, (rest[:end], rest[end:])


def _without(body: str, entry: Mapping[str, Any]) -> str:
    """The statements of a table that say something else than the entry does, with their comments."""
    kept, statement = [], ""
    for line in body.splitlines(keepends=True):
        statement += line
        said = _parse_toml(statement)
        if said is None:  # an array goes on in the next line
            continue
        if not said.keys() & entry.keys():
            kept.append(statement)
        statement = ""
    return "".join(kept) + statement


def _parse_toml(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _assignments(entry: Mapping[str, Any]) -> str:
    # TOML reads JSON's strings and lists, but wants the one control character escaped that JSON does not.
    said = {key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for key, value in entry.items()}
    return "".join(f"{key} = {value}\n" for key, value in said.items())


# Files


def _back_up(path: Path, old: str) -> Path:
    """The old file beside the new one, under a name that nothing has yet."""
    number = 1
    while True:
        copy = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        try:
            with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(old.encode("utf-8"))
            copy.chmod(path.stat().st_mode & 0o777)
        except FileExistsError:
            number += 1
        else:
            return copy


def _replace(path: Path, old: str | None, new: str) -> None:
    handle, made = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)  # readable by its person alone
    draft = Path(made)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            draft.chmod(path.stat().st_mode & 0o777)
        if _read(path) != old:
            raise Conflict(f"{path} was changed by another program just now; try again")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
