"""A file that somebody sent to look at, kept with what they chose until it comes in: the page that shows it has an
address of its own, and a large file travels once.

It lies in this machine's folder for passing things, in one of this installation's own (0700, its files 0600), where
every worker of the server finds it; nobody but who sent it can name it. Each owner has a few, and none outlasts a day
once another one comes.
"""

import hashlib
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepbook.doors.http.web.frame.visit import Visit
from keepbook.errors import NotAllowed, NotFound

EACH = 5
"""So many files of one owner are kept, the newest."""
SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a file: an owner, of one installation of those that share a machine."""

    book: str
    """The address of the installation's books."""
    owner: str

    @classmethod
    def of(cls, visit: Visit) -> "Sender":
        address = visit.kb.settings.db
        if "://" in address:
            return cls(address, visit.caller.owner)
        return cls(os.path.abspath(address), visit.caller.owner)


def keep_upload(sender: Sender, sent: bytes) -> str:
    """The key under which the file is found again."""
    key = secrets.token_urlsafe(12)
    folder = _folder(sender)
    mine = sorted(folder.glob(f"{_digest(sender.owner)}-*.file"), key=_age)
    old = [one for one in folder.glob("*.file") if _age(one) > SECONDS]
    for gone in {*mine[EACH - 1 :], *old}:
        for one in (gone, gone.with_suffix(".chosen")):
            with suppress(OSError):  # another worker was faster, or it is another user's
                one.unlink(missing_ok=True)
    _write(_path_of(sender, key, "file"), sent)
    return key


def store_upload_choices(sender: Sender, key: str, chosen: Mapping[str, Any]) -> None:
    """What was chosen last, in place of what was before."""
    _write(_path_of(sender, key, "chosen"), json.dumps(chosen).encode())


def find_upload(sender: Sender, key: str) -> tuple[bytes, dict[str, Any]]:
    try:
        chosen = _path_of(sender, key, "chosen")
        return _path_of(sender, key, "file").read_bytes(), json.loads(chosen.read_bytes()) if chosen.exists() else {}
    except FileNotFoundError:
        raise NotFound("this file is not here any more; choose it again", field="file") from None


def _write(path: Path, content: bytes) -> None:
    """In one step: whoever reads finds the old or the new."""
    fresh = path.with_suffix(f".{secrets.token_hex(4)}")
    fresh.touch(mode=0o600, exist_ok=False)
    fresh.write_bytes(content)
    fresh.replace(path)


def _folder(sender: Sender) -> Path:
    """The installation's own, of this user. What somebody else has put in its place is not used."""
    if hasattr(os, "getuid"):
        user = os.getuid()
    else:
        user = 0
    folder = Path(tempfile.gettempdir()) / f"keepbook-sent-{user}-{_digest(sender.book)}"
    folder.mkdir(mode=0o700, exist_ok=True)
    there = folder.lstat()
    if not stat.S_ISDIR(there.st_mode) or (hasattr(os, "getuid") and there.st_uid != user):
        raise NotAllowed(f"{folder} is somebody else's; remove it, or set TMPDIR to a folder of your own")
    if stat.S_IMODE(there.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _path_of(sender: Sender, key: str, what: str) -> Path:
    named = hashlib.blake2b(f"{sender.owner}\n{key}".encode(), digest_size=16).hexdigest()
    return _folder(sender) / f"{_digest(sender.owner)}-{named}.{what}"
