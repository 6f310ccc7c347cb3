"""Make sure that there is a Chromium for the browser tests: what `make test` does after `.venv` is ready.

A Chromium of the system is taken where there is one, first its headless shell, which does half the work for the same
pages. On Debian and its kin, as root, the shell is installed; anywhere else Playwright fetches the one it was made for.
Where nothing works this says what to do and fails: the tests of the web app are not skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELL = Path("/usr/bin/chromium-headless-shell")
CHROMIUM = Path("/usr/bin/chromium")


def main() -> None:
    if system() == SHELL or installed(SHELL):
        return
    if system() or fetched():
        return
    print("Setting up a Chromium for the browser tests (once; needs the network) ...", flush=True)
    if asked("update") and (installed(SHELL) or installed(CHROMIUM)):
        return
    if subprocess.call([sys.executable, "-m", "playwright", "install", "chromium"]) != 0 or not fetched():
        sys.exit("No Chromium could be had. Install one (Debian: apt install chromium), then run this again.")


def system() -> Path | None:
    """The system's own; None if it has none."""
    return next((one for one in (SHELL, CHROMIUM) if one.exists()), None)


def fetched() -> bool:
    """Whether Playwright's own is there."""
    ask = "from playwright.sync_api import sync_playwright as p\nwith p() as play: print(play.chromium.executable_path)"
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()
    return bool(found) and Path(found).exists()


def installed(program: Path) -> bool:
    """Debian's own, by Debian's own means: whether it is there now."""
    return asked("install", "-y", "--no-install-recommends", program.name) and program.exists()


def asked(*command: str) -> bool:
    """Whether Debian's installer did as it was asked."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.call(["apt-get", *command], env=environment, **silent) == 0


if __name__ == "__main__":
    main()
