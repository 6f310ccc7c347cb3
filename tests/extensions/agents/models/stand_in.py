"""A program in the manner of Claude's command line, for tests: it keeps its sessions, and says what it is told to.

    python stand_in.py FOLDER --print --output-format json [--resume=SESSION] …

What it would have sent to a model (system prompt, session, prompt) goes to FOLDER/sent.jsonl. Its next answer is the
first line of FOLDER/script.jsonl: {"text": …}, {"exit": …} or {"raw": …}; with "until" it first waits for that file in
FOLDER. A session is a file of FOLDER/sessions; resuming one that is not there is an error, as with the real one.
"""

import fcntl
import json
import sys
import time
import uuid
from pathlib import Path
from typing import TextIO

LONGEST_WAIT = 30.0


def main() -> int:
    folder = Path(sys.argv[1])
    sessions = folder / "sessions"
    sessions.mkdir(exist_ok=True)
    flags = sys.argv[2:]
    prompt = sys.stdin.read()
    resumed = next((flag.partition("=")[2] for flag in flags if flag.startswith("--resume=")), None)
    said = []
    if resumed is not None:
        known = sessions / f"{resumed}.json"
        if not known.exists() or json.loads(known.read_text())["cwd"] != str(Path.cwd()):
            return out(sys.stderr, f"No conversation found with session ID: {resumed}", 1)
        said = json.loads(known.read_text())["said"]
    said.append(["user", prompt])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (folder / "sent.jsonl").open("a") as log:
            system = Path(value(flags, "--append-system-prompt-file")).read_text()
            mcp = json.loads(Path(value(flags, "--mcp-config")).read_text())
            told = {"system": system, "said": said, "mcp": mcp, "flags": flags, "resumed": resumed}
            log.write(json.dumps(told) + "\n")
        script = folder / "script.jsonl"
        first, _, rest = script.read_text().partition("\n")
        script.write_text(rest)
    step = json.loads(first)
    return answer(folder, sessions, said, step)


def answer(folder: Path, sessions: Path, said: list[list[str]], step: dict[str, str]) -> int:
    end = time.monotonic() + LONGEST_WAIT
    while "until" in step and not (folder / step["until"]).exists() and time.monotonic() < end:
        time.sleep(0.01)
    if "exit" in step:
        return out(sys.stderr, step["exit"], 1)
    if "raw" in step:
        return out(sys.stdout, step["raw"])
    new = str(uuid.uuid4())
    kept = {"cwd": str(Path.cwd()), "said": [*said, ["assistant", step["text"]]]}
    (sessions / f"{new}.json").write_text(json.dumps(kept))
    usage = {"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 10}
    told = {"type": "result", "is_error": False, "result": step["text"], "session_id": new, "usage": usage}
    return out(sys.stdout, json.dumps(told))


def out(stream: TextIO, text: str, code: int = 0) -> int:
    stream.write(text + "\n")
    return code


def value(flags: list[str], name: str) -> str | None:
    return flags[flags.index(name) + 1] if name in flags else None


if __name__ == "__main__":
    sys.exit(main())
