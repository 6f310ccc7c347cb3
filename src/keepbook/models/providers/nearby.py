"""Finds model servers on this machine: Ollama, LM Studio and llama.cpp, each by its port.

All three list their models at the path of OpenAI's API, so the same request finds any of them. Nothing else is asked,
and any other answer counts as no server.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request

from keepbook.errors import ModelFailed
from keepbook.models.outward import OutwardDoor
from keepbook.models.providers.address import OLLAMA, PORTS, ollama_address

WAIT_SECONDS = 1.0
"""How long a look around waits for each usual port."""
CHOSEN_WAIT_SECONDS = 5.0
"""How long a server that was chosen has: one that is busy answers late, and is not down."""
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered, its models, and the address for a model's settings."""

    name: str
    base_url: str
    models: tuple[str, ...]


def find_servers(ollama_host: str | None, outward: OutwardDoor) -> list[Server]:
    """The servers that answer: at the address of Ollama's own variable if it is set, else at the usual ports."""
    if ollama_host:
        places = [(OLLAMA, ollama_address(ollama_host))]
    else:
        places = [(name, f"http://127.0.0.1:{port}") for name, port in PORTS]
    with ThreadPoolExecutor(len(places)) as apart:
        answers = apart.map(partial(_models, outward=outward), [place for _, place in places])
        return [
            Server(name, f"{place}/v1", tuple(models))
            for (name, place), models in zip(places, answers, strict=True)
            if models
        ]


def answers_at(base_url: str, outward: OutwardDoor) -> bool:
    """Whether a model server answers at this address. One that asks for a key does: it is not sent one here."""
    try:
        return bool(_ask_models(base_url.rstrip("/").removesuffix("/v1"), outward, CHOSEN_WAIT_SECONDS))
    except HTTPError as error:
        error.close()  # else the connection stays open
        return error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def _models(place: str, outward: OutwardDoor) -> Sequence[str]:
    """The names of the models there; empty if no model server answers, or none without a key."""
    try:
        return _ask_models(place, outward, WAIT_SECONDS)
    except HTTPError as error:
        error.close()
        return ()


def _ask_models(place: str, outward: OutwardDoor, wait: float) -> Sequence[str]:
    """The names of the models there, those that only make vectors last; empty if no model server answers. Raises
    HTTPError if the server refuses."""
    parts = urlsplit(place)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        return ()
    at = parts.netloc.rpartition("@")[2]  # without the password: nobody knows yet which server this is
    asked = Request(f"{parts.scheme}://{at}/v1/models", headers={"Accept": "application/json"})  # noqa: S310 as checked
    try:
        with outward.open(asked, timeout=wait) as answer:
            told = json.loads(answer.read(MOST_BYTES))
    except HTTPError:
        raise
    except (OSError, HTTPException, ValueError, ModelFailed):
        return ()
    listed = told.get("data") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        return ()
    names = [one.get("id") for one in listed if isinstance(one, dict)]
    return sorted((name for name in names if isinstance(name, str) and name), key=lambda name: "embed" in name)
