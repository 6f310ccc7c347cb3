"""Make `.venv` ready: what `make run` and `make test` do first.

Needs nothing but python3. Installs with uv, which takes seconds; where uv cannot be had or fails, plain
pip does the same in a minute or two. What comes over the network, uv itself and what builds the project among
it, is taken by its hash in `requirements.lock`. A stamp says for which place, Python and requirements `.venv`
was made; when one of them changes it is made anew, since a copied or half-updated one would run other code
than the code beside it. Old Pythons must be able to read this file, to be told that they are too old.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "keepbook-ready"
OLDEST = (3, 11)
LOCK = ROOT / "requirements.lock"
BY_HASH = ["install", "--quiet", "--require-hashes", "--requirement"]
PROJECT = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."]


def main() -> None:
    if sys.version_info < OLDEST:
        start_again_with_a_newer_python()
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted and (VENV / "bin" / "python").exists():
        return
    began = time.monotonic()
    print("Setting up .venv (once; needs the network) ...", flush=True)
    create()
    install()
    STAMP.write_text(wanted)
    print("Ready in {:.0f} s.".format(time.monotonic() - began), flush=True)  # noqa: UP032


def start_again_with_a_newer_python() -> None:
    for minor in (13, 12, 11, 14):  # the PostgreSQL of the tests does not come for 3.14
        newer = shutil.which("python3.%d" % minor)  # noqa: UP031
        # A version manager puts a stand-in on the path for each Python it knows, chosen or not.
        if newer and subprocess.call([newer, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(newer, [newer, *sys.argv])
    give_up(
        "Keepbook needs Python 3.11 or newer; this one is {}.{}.".format(*sys.version_info[:2]),
        "Install a newer Python, or name one you have: make test PYTHON=/path/to/python3.12",
    )


def fingerprint() -> str:
    import tomllib  # unknown to the old Pythons that must get as far as the word above

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = LOCK.read_text(encoding="utf-8")
    parts = [str(ROOT), sys.version, repr(project["project"]), repr(project["build-system"]), pins]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def create() -> None:
    try:
        import ensurepip  # noqa: F401  Debian and Ubuntu ship it apart from Python
    except ImportError:
        python = "python{}.{}".format(*sys.version_info[:2])
        give_up(
            f"{python} cannot make a virtual environment here: its venv part is not installed.",
            f"On Debian or Ubuntu: apt install {python}-venv (as root), then run this again.",
        )
    run([sys.executable, "-m", "venv", "--clear", str(VENV)], or_else="The virtual environment failed.")


def install() -> None:
    python = str(VENV / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    uv = [str(VENV / "bin" / "uv"), "pip"]
    alone = VENV / "uv.lock"
    alone.write_text(locked("uv"), encoding="utf-8")
    # uv does not read pip's configuration: behind a company mirror only pip may find the packages.
    if (
        quietly([*pip, *BY_HASH, str(alone)])
        and quietly([*uv, *BY_HASH, str(LOCK), "--python", python])
        and quietly([*uv, *PROJECT, "--python", python])
    ):
        return
    print("uv does not work here; using pip, which takes a minute or two ...", flush=True)
    run([*pip, *BY_HASH, str(LOCK)], or_else="The packages could not be installed; is the network there?")
    run([*pip, *PROJECT], or_else="The project itself could not be installed.")


def locked(name: str) -> str:
    """The lines of one package in `requirements.lock`: its version and its hashes."""
    lines = LOCK.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if line.startswith(name + "=="))
    after = (at for at, line in enumerate(lines) if at > first and not line.startswith(" "))
    return "".join(lines[first : next(after, len(lines))])


def quietly(command: "list[str]") -> bool:
    return subprocess.call(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def run(command: "list[str]", or_else: str) -> None:
    if subprocess.call(command, cwd=ROOT) != 0:
        give_up(or_else, "The lines above say why. Put it right and run this again.")


def give_up(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
