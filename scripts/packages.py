"""Build what is published, and prove it: `make packages` leaves the wheel and the source in `dist/`.

Both are built twice from a clean copy of the last commit, and must come out the same, byte for byte. The wheel is held
against its own rules, and then installed alone into an empty environment, where the first command of the README runs
in a folder that knows nothing of this one. With `DOCS_ADDRESS=https://…`, where the site will be, the README that is
published has its pictures and links there.
"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_site import ADDRESS, readme_for_elsewhere

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
UV = str(Path(sys.executable).parent / "uv")
MOST_MEGABYTES, MOST_PACKAGES = 62, 30
"""What somebody installs who wants the library alone, without what Python compiles of it."""


def main() -> None:
    if _output("git", "status", "--porcelain"):
        sys.exit("Commit or put away what is changed: packages are built from the last commit.")
    with tempfile.TemporaryDirectory(prefix="keepbook-packages-") as name:
        folder = Path(name)
        built = [_build(folder / "first"), _build(folder / "second")]
        _check_alike(*built)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(built[0], DIST)
        packages = sorted(str(one) for one in DIST.iterdir())
        _run(UV, "tool", "run", "twine", "check", "--strict", *packages)
        _run(UV, "tool", "run", "check-wheel-contents", *(one for one in packages if one.endswith(".whl")))
        _try_alone(next(DIST.glob("*.whl")), folder / "alone")
    print(*(f"{one.name}: {one.stat().st_size / 1e6:.1f} MB" for one in sorted(DIST.iterdir())), sep="\n")


def _build(folder: Path) -> Path:
    tree = folder / "tree"
    _run("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(tree))
    if ADDRESS:
        readme = tree / "README.md"
        readme.write_text(readme_for_elsewhere(readme.read_text(encoding="utf-8"), ADDRESS), encoding="utf-8")
    committed = _output("git", "log", "-1", "--format=%ct")
    _run(UV, "build", "--quiet", "--out-dir", str(folder / "dist"), str(tree), SOURCE_DATE_EPOCH=committed)
    (folder / "dist" / ".gitignore").unlink(missing_ok=True)
    return folder / "dist"


def _check_alike(first: Path, second: Path) -> None:
    names = sorted(one.name for one in first.iterdir())
    alike, different, missing = filecmp.cmpfiles(first, second, names, shallow=False)
    if different or missing or len(alike) != 2:
        sys.exit(f"Built twice, these are not the same: {', '.join([*different, *missing])}")


def _try_alone(wheel: Path, folder: Path) -> None:
    _run(UV, "venv", "--quiet", str(folder))
    python = str(folder / "bin" / "python")
    _run(UV, "pip", "install", "--quiet", "--python", python, str(wheel))
    installed = _output(UV, "pip", "list", "--quiet", "--format", "freeze", "--python", python).splitlines()
    megabytes = sum(one.stat().st_size for one in (folder / "lib").rglob("*") if one.is_file()) / 2**20
    print(f"The library alone: {len(installed)} packages, {megabytes:.0f} MB")
    if megabytes > MOST_MEGABYTES or len(installed) > MOST_PACKAGES:
        sys.exit(f"That is more than {MOST_PACKAGES} packages or {MOST_MEGABYTES} MB.")
    home = folder / "home"
    home.mkdir()
    subprocess.run([folder / "bin" / "keepbook", "quickstart"], cwd=home, env={"HOME": str(home)}, check=True)


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _run(*command: str, **more: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | more)


if __name__ == "__main__":
    main()
