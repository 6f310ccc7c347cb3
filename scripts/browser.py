"""Make sure that there is a Chromium for the browser tests: what `make test` does after `.venv` is ready.

A Chromium of the system is taken where there is one. On Debian and its kin, as root, the system's own is installed;
anywhere else Playwright fetches the one it was made for. Where nothing works this says what to do and fails: the tests
of the web app are not skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SYSTEM = Path("/usr/bin/chromium")


def main() -> None:
    if SYSTEM.exists() or fetched():
        return
    print("Setting up a Chromium for the browser tests (once; needs the network) ...", flush=True)
    if os.geteuid() == 0 and shutil.which("apt-get") and installed():
        return
    if subprocess.call([sys.executable, "-m", "playwright", "install", "chromium"]) != 0 or not fetched():
        sys.exit("No Chromium could be had. Install one (Debian: apt install chromium), then run this again.")


def fetched() -> bool:
    """Whether Playwright's own is there."""
    ask = "from playwright.sync_api import sync_playwright as p\nwith p() as play: print(play.chromium.executable_path)"
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()
    return bool(found) and Path(found).exists()


def installed() -> bool:
    """Debian's own, by Debian's own means."""
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        if subprocess.call(["apt-get", *command], **quiet) != 0:  # type: ignore[call-overload]
            return False
    return SYSTEM.exists()


if __name__ == "__main__":
    main()
