"""Ask a real Prometheus for every figure of the dashboard and of the alarms, while it scrapes a server of two workers.

    python3 scripts/prometheus_check.py        # needs Debian's prometheus

An alarm is asked without what it is compared with: in a server that is well it would be silent.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.models.wire import Received, Say, Wire, answer  # noqa: E402  # of the tests, which are not installed

DEPLOY = ROOT / "deploy"
PATIENCE = 300
COMPARED = re.compile(r"\s(?:>|==)\s[\d.]+$")


def asked() -> list[str]:
    """Every expression of the dashboard, and of the alarms without what they are compared with."""
    panels = json.loads((DEPLOY / "grafana" / "keepbook.json").read_text(encoding="utf-8"))["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    return found + [COMPARED.sub("", rule["expr"].replace('status=~"5.."', 'status=~"4.."')) for rule in rules]


def reads(received: Received) -> Say:
    if received.schema is None:
        return Say("I hear you.")
    return answer({"candidates": [], "summary": "A chat."})


def keepbook(*words: str, **settings: str) -> "subprocess.Popen[str]":
    told = {**os.environ, **{f"KEEPBOOK_{name.upper()}": value for name, value in settings.items()}}
    command = [sys.executable, "-m", "keepbook", "--json", *words]
    return subprocess.Popen(command, env=told, stdout=subprocess.PIPE, text=True)


def make_token(**settings: str) -> str:
    said, _ = keepbook("token", "create", "--kind", "service", "--scopes", "metrics", **settings).communicate()
    return str(json.loads(said)["token"])


def make_person(**settings: str) -> str:
    said, _ = keepbook("token", "create", **settings).communicate()
    return str(json.loads(said)["token"])


def use(client: httpx.Client, nth: int) -> None:
    """What a person does in a moment: writes, asks, chats, and once in vain."""
    client.post("/api/memory/", json={"content": f"Fact {nth} about boats", "force": True}).raise_for_status()
    client.get("/api/memory/recall", params={"q": "ships"}).raise_for_status()
    client.get("/api/memory/nobodyxx")
    chat = client.post("/api/chat/threads", json={"session": f"chat {nth}"}).json()["id"]
    said = client.post(
        f"/api/chat/threads/{chat}/messages", json={"text": "Hello"}, headers={"Accept": "application/json"}
    )
    said.raise_for_status()


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wire = stack.enter_context(Wire("openai", reads))
        settings = {
            "db": str(folder / "book.db"), "model": "openai:m", "openai_base_url": wire.url, "openai_key": "k",
            "model_hosts": "127.0.0.1", "jobs_every": "4", "close_after_hours": "0.0005", "price_in": "3",
            "price_out": "9", "embedder": "auto",
        }  # fmt: skip
        person, scraper = make_person(**settings), make_token(**settings)
        server = keepbook("serve", "--port", "0", "--no-open", "--workers", "2", **settings)
        stack.callback(server.wait)
        stack.callback(server.terminate)
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        place = f"http://127.0.0.1:{_start_prometheus(stack, folder, address, scraper)}"
        waiting, until, nth = asked(), time.monotonic() + PATIENCE, 0
        key = {"Authorization": f"Bearer {person}"}
        apart = httpx.Limits(max_keepalive_connections=0)  # so that both workers are met
        with httpx.Client(base_url=address, headers=key, timeout=180, limits=apart) as client:
            while waiting and time.monotonic() < until:
                use(client, nth := nth + 1)
                waiting = [one for one in waiting if not _answers(place, one)]
    for one in waiting:
        print(f"EMPTY: {one}")
    print(f"{len(asked()) - len(waiting)} of {len(asked())} expressions have an answer")
    sys.exit(1 if waiting else 0)


def _start_prometheus(stack: ExitStack, folder: Path, address: str, token: str) -> int:
    scrape = {
        "job_name": "keepbook", "scrape_interval": "1s", "authorization": {"credentials": token},
        "static_configs": [{"targets": [address.removeprefix("http://")]}],
    }  # fmt: skip
    told = {"scrape_configs": [scrape], "rule_files": [str(DEPLOY / "prometheus" / "alerts.yml")]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(told))
    port = _free_port()  # never one at which another Prometheus of this machine would answer in its place
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
               f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(running.wait)
    stack.callback(running.terminate)
    return port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(place: str, expression: str) -> bool:
    try:
        said = httpx.get(f"{place}/api/v1/query", params={"query": expression}, timeout=30, trust_env=False).json()
    except httpx.TransportError:  # not up yet
        return False
    values = [float(one["value"][1]) for one in said["data"]["result"]]
    return any(value == value for value in values)  # NaN is no answer


if __name__ == "__main__":
    main()
