"""The adapters of frameworks whose pins are not ours to settle: each in an environment of its own, with a real program.

    python3 scripts/test_adapters.py [NAME …]

An environment is made once under `build/adapters` and used again. The program fails if it does not end well.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "adapters" / "apart"
PACKAGES = {
    "llama_index": "llama-index-core>=0.14",
    "google_adk": "google-adk>=2.0",
    "crewai": "crewai>=1.15",
    "agent_framework": "agent-framework-core>=1.0",
}
"""Each adapter, and what its program needs beside Keepbook."""
VERCEL = "vercel_ai"
"""Its program is a test of the TypeScript package, which has its environment already."""


def environment(name: str) -> Path:
    """The Python of an adapter's environment."""
    folder = ROOT / "build" / "adapters" / name
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    subprocess.run([*uv, "-e", ROOT, PACKAGES[name]], check=True)
    return python


def run(name: str) -> int:
    if name == VERCEL:
        return subprocess.run([sys.executable, ROOT / "scripts" / "typescript.py"], check=False).returncode
    told = {**os.environ, "KEEPBOOK_TEST_PYTHON": sys.executable}
    try:
        python = environment(name)
    except subprocess.CalledProcessError as failed:  # what it needs cannot be had here; the others can
        return failed.returncode
    return subprocess.run([python, PROGRAMS / f"{name}_agent.py"], env=told, check=False).returncode


def main(names: list[str]) -> int:
    failed = []
    for name in names or [*PACKAGES, VERCEL]:
        ended = run(name)
        print(f"{name}: {'works' if ended == 0 else 'FAILED'}")
        failed += [name] if ended else []
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
