"""The types of everything public, as a program meets them: `pyright --verifytypes` on the wheel must say 100 %.

The wheel is built and installed into an environment of its own, with every extra that somebody may take: of a checkout,
or of an environment it is not started in, pyright finds nothing. The frameworks that need an environment of their own
are laid beside it without what they need; they are looked at and not run.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from test_adapters import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "types"
ENVIRONMENT = FOLDER / "environment"
PYRIGHT = "pyright@1.1.414"
OURS = {"build", "dev", "docs"}
"""The extras of whoever works on Keepbook itself."""
UV = [sys.executable, "-m", "uv"]


def build_wheel() -> Path:
    shutil.rmtree(FOLDER / "wheel", ignore_errors=True)
    subprocess.run([*UV, "build", "--quiet", "--wheel", "--out-dir", FOLDER / "wheel", ROOT], check=True)
    return next((FOLDER / "wheel").glob("*.whl"))


def install(wheel: Path) -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    extras = ",".join(sorted(told.keys() - OURS))
    subprocess.run([*UV, "venv", "--quiet", "--clear", ENVIRONMENT], check=True)
    into = [*UV, "pip", "install", "--quiet", "--python", ENVIRONMENT]
    subprocess.run([*into, f"{wheel}[{extras}]"], check=True)
    subprocess.run([*into, "--no-deps", *PACKAGES.values()], check=True)


def verify() -> int:
    """Pyright takes the environment that it is started in, and no other: `--pythonpath` means nothing to it here."""
    started_in = {"VIRTUAL_ENV": str(ENVIRONMENT), "PATH": f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    asked = ["npm", "exec", "--yes", "--package", PYRIGHT, "--", "pyright", "--verifytypes", "keepbook"]
    ended = subprocess.run(
        [*asked, "--ignoreexternal"],
        cwd=FOLDER,
        env=os.environ | started_in,
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"Symbols exported by.*", ended.stdout, re.DOTALL)
    if ended.returncode != 0 or counted is None:
        print(ended.stdout + ended.stderr)
        return 1
    print(counted[0])
    return 0


if __name__ == "__main__":
    install(build_wheel())
    raise SystemExit(verify())
