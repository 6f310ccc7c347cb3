"""What the page tests take from the npm registry: fetched once, held against its checksum, never in the repository."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

AXE = (
    "axe-core",
    "4.14.0",
    "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ==",
)
DEJAVU = (
    "dejavu-fonts-ttf",
    "2.37.3",
    "f1hd7jJbeQa1VWcw+K2KrTXS50zTMaHpVC4XIKJpNcDeYR5ajMtj/iLlQDYNvLOKamUB3ARVVCf79lNwNVztSQ==",
)


def fetched(package: tuple[str, str, str], folder: Path) -> Path:
    """The package as it was packed. Two workers may fetch at once: each puts a whole file in place."""
    name, version, sha512 = package
    packed = folder / f"{name}-{version}.tgz"
    if not packed.exists():
        npm = shutil.which("npm")
        assert npm, f"these tests take {name} from the npm registry: install Node.js with npm, then run them again"
        with tempfile.TemporaryDirectory(dir=folder) as apart:
            ran = subprocess.run(
                [npm, "pack", f"{name}@{version}", "--pack-destination", apart, "--cache", f"{apart}/cache"],
                capture_output=True,
                text=True,
                check=False,
                cwd=apart,
            )
            assert ran.returncode == 0, f"npm could not fetch {name} {version}:\n{ran.stderr}"
            os.replace(Path(apart) / packed.name, packed)
    held = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    assert held == sha512, f"{packed} is not {name} {version}"
    return packed


def axe_script(folder: Path) -> str:
    with tarfile.open(fetched(AXE, folder)) as whole:
        script = whole.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


USUAL = r"DejaVu(SansCondensed|SerifCondensed|SansMono)(-\w+)?\.ttf"
"""What a machine of the tests has: letters about as wide as most machines'. The condensed faces belong to the families
DejaVu Sans and DejaVu Serif."""
WIDE = {name: f"DejaVu{name}-Bold.ttf" for name in ("Sans", "Serif", "SansMono")}
"""Wider than all that the stylesheet names."""

# What a page calls system-ui, Chromium asks for as `sans`; unnamed here, that would be whatever face comes first.
ONLY = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{folder}</dir>
  <cachedir>{folder}/cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>sans</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


def _faces(cache: Path, which: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fetched(DEJAVU, cache)) as whole:
        for member in whole.getmembers():
            name = Path(member.name).name
            if member.isfile() and re.fullmatch(which, name):
                held = whole.extractfile(member)
                assert held is not None
                yield name, held.read()


def wide_fonts(cache: Path) -> dict[str, bytes]:
    """For a page to take up."""
    return {name: dict(_faces(cache, file))[file] for name, file in WIDE.items()}


def fonts(cache: Path, folder: Path) -> Path:
    """The configuration of a machine that has the usual fonts and no other; for Chromium's `FONTCONFIG_FILE`.

    It holds where fonts are found by fontconfig. On macOS the browser takes what the system has.
    """
    for name, data in _faces(cache, USUAL):
        (folder / name).write_bytes(data)
    config = folder / "fonts.conf"
    config.write_text(ONLY.format(folder=folder), encoding="utf-8")
    return config
