"""Finds model servers on this machine: Ollama, LM Studio and llama.cpp, each by its port.

All three list their models at the address that OpenAI's clients ask, so one request finds any of them. Nothing but that
list is asked for, no redirect is followed, and any other answer counts as none.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from keepbook.models.providers.address import OLLAMA, PORTS, ollama_address

WAIT_SECONDS = 1.0
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered, its models, and the address for a model's settings."""

    name: str
    base_url: str
    models: tuple[str, ...]


def find_servers(ollama_host: str | None) -> list[Server]:
    """The servers that answer: at the address of Ollama's own variable if it is set, else at the usual ports."""
    if ollama_host:
        places = [(OLLAMA, ollama_address(ollama_host))]
    else:
        places = [(name, f"http://127.0.0.1:{port}") for name, port in PORTS]
    with ThreadPoolExecutor(len(places)) as apart:
        answers = apart.map(_models, [place for _, place in places])
        return [
            Server(name, f"{place}/v1", tuple(models))
            for (name, place), models in zip(places, answers, strict=True)
            if models
        ]


def answers_at(base_url: str) -> bool:
    """Whether a model server answers at this address."""
    return bool(_models(base_url.rstrip("/").removesuffix("/v1")))


def _models(place: str) -> Sequence[str]:
    """The names of the models there, those that only make vectors last; nothing where nobody answers so."""
    parts = urlsplit(place)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        return ()
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        with closing(kind(parts.hostname, parts.port, timeout=WAIT_SECONDS)) as line:
            line.request("GET", "/v1/models", headers={"Accept": "application/json"})
            answer = line.getresponse()
            told = json.loads(answer.read(MOST_BYTES)) if answer.status == 200 else None
    except (OSError, HTTPException, ValueError):
        return ()
    listed = told.get("data") if isinstance(told, dict) else None
    names = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return sorted((name for name in names if isinstance(name, str) and name), key=lambda name: "embed" in name)
