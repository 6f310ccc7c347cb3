"""A file that somebody sent to look at, kept with what they chose until it comes in: the page that shows it has an
address of its own, and a large file travels once.

It lies in this machine's folder for passing things, where every worker of the server finds it; nobody but who sent it
can name it. Each owner has a few, and none outlasts a day once another one comes.
"""

import hashlib
import json
import secrets
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepbook.errors import NotFound

EACH = 5
"""So many files of one owner are kept, the newest."""
SECONDS = 24 * 3600


def keep_upload(owner: str, sent: bytes) -> str:
    """The key under which the file is found again."""
    key = secrets.token_urlsafe(12)
    mine = sorted(_folder().glob(f"{_name(owner)}-*.file"), key=_age)
    old = [one for one in _folder().glob("keepbook-sent-*.file") if _age(one) > SECONDS]
    for gone in {*mine[EACH - 1 :], *old}:
        for one in (gone, gone.with_suffix(".chosen")):
            with suppress(OSError):  # another worker was faster, or it is another user's
                one.unlink(missing_ok=True)
    _write(_path_of(owner, key, "file"), sent)
    return key


def store_upload_choices(owner: str, key: str, chosen: Mapping[str, Any]) -> None:
    """What was chosen last, in place of what was before."""
    _write(_path_of(owner, key, "chosen"), json.dumps(chosen).encode())


def find_upload(owner: str, key: str) -> tuple[bytes, dict[str, Any]]:
    try:
        chosen = _path_of(owner, key, "chosen")
        return _path_of(owner, key, "file").read_bytes(), json.loads(chosen.read_bytes()) if chosen.exists() else {}
    except FileNotFoundError:
        raise NotFound("this file is not here any more; choose it again", field="file") from None


def _write(path: Path, content: bytes) -> None:
    """In one step: whoever reads finds the old or the new."""
    fresh = path.with_suffix(f".{secrets.token_hex(4)}")
    fresh.touch(mode=0o600, exist_ok=False)
    fresh.write_bytes(content)
    fresh.replace(path)


def _folder() -> Path:
    return Path(tempfile.gettempdir())


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _name(owner: str) -> str:
    return f"keepbook-sent-{hashlib.blake2b(owner.encode(), digest_size=8).hexdigest()}"


def _path_of(owner: str, key: str, what: str) -> Path:
    named = hashlib.blake2b(f"{owner}\n{key}".encode(), digest_size=16).hexdigest()
    return _folder() / f"{_name(owner)}-{named}.{what}"
