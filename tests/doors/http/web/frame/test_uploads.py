"""Files kept between two pages: each installation has its own, and nobody else reads them."""

import stat
import tempfile
from pathlib import Path

import pytest

from keepbook.doors.http.web.frame.uploads import EACH, Sender, find_upload, keep_upload
from keepbook.errors import NotFound


def test_installations_on_one_machine_do_not_push_each_others_files_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here, there = Sender("/srv/keepbook.db", "alice"), Sender("postgresql://db/b", "alice")
    key = keep_upload(here, b"mine")
    for nth in range(EACH + 2):
        last = keep_upload(there, b"theirs %d" % nth)
    assert find_upload(here, key) == (b"mine", {})
    assert find_upload(there, last)[0] == b"theirs %d" % (EACH + 1)
    with pytest.raises(NotFound):
        find_upload(there, key)
    kept = list(tmp_path.rglob("*"))
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept if one.is_dir()} == {0o700}
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept if one.is_file()} == {0o600}
    assert sum(one.is_file() for one in kept) == 1 + EACH
