"""Stores an uploaded file, and what was chosen for it, until it is imported: so the page of its preview has an address
of its own, and a large file is sent only once.

It is in the system's folder for temporary files, in a folder of this installation (0700, its files 0600), where every
worker of the server finds it. Only its owner, with its key, can find it. Each owner has a few files, and files older
than a day are removed when another comes.
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
"""How many files of one owner are kept: the newest."""
SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a file: an owner, and the installation, of which a machine may have several."""

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
    """Store a file. Returns the key by which it is found again."""
    key = secrets.token_urlsafe(12)
    folder = _folder(sender)
    mine = sorted(folder.glob(f"{_digest(sender.owner)}-*.file"), key=_age)
    old = [one for one in folder.glob("*.file") if _age(one) > SECONDS]
    for gone in {*mine[EACH - 1 :], *old}:
        for one in (gone, gone.with_suffix(".chosen")):
            with suppress(OSError):  # another worker has removed it, or it belongs to another user
                one.unlink(missing_ok=True)
    _write(_path_of(sender, key, "file"), sent)
    return key


def store_upload_choices(sender: Sender, key: str, chosen: Mapping[str, Any]) -> None:
    """Store what was chosen for a file, in place of what was chosen before."""
    _write(_path_of(sender, key, "chosen"), json.dumps(chosen).encode())


def find_upload(sender: Sender, key: str) -> tuple[bytes, dict[str, Any]]:
    try:
        chosen = _path_of(sender, key, "chosen")
        return _path_of(sender, key, "file").read_bytes(), json.loads(chosen.read_bytes()) if chosen.exists() else {}
    except FileNotFoundError:
        raise NotFound("this file is not here any more; choose it again", field="file") from None


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step, so that a reader finds the old content or the new."""
    fresh = path.with_suffix(f".{secrets.token_hex(4)}")
    fresh.touch(mode=0o600, exist_ok=False)
    fresh.write_bytes(content)
    fresh.replace(path)


def _folder(sender: Sender) -> Path:
    """The folder of an installation and this user. Raises if another user has made something in its place."""
    user = os.getuid() if hasattr(os, "getuid") else 0
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
