"""The models that an address has for whoever shows its key, as its provider lists them.

OpenAI's way and Anthropic's are known; whoever speaks OpenAI's way lists in it too. The key goes to that address alone,
through the one outward door, which follows no redirect.
"""

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

from keepbook.errors import ModelFailed
from keepbook.models.providers.address import Address

MOST_BYTES = 8_000_000
MOST_MODELS = 1_000
OWN = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
NOT_FOR_CHATS = ("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "image")
"""Parts of the names of models that do something else: those are listed last."""


def list_models(address: Address, *, timeout: float = 10.0) -> Sequence[str]:
    """The names of the models at an address; raises `ModelFailed` where it lists none."""
    try:
        with address.outward.open(_request(address), timeout=timeout) as answer:
            told = json.loads(answer.read(MOST_BYTES))
    except HTTPError as error:
        error.close()  # it holds the connection
        raise ModelFailed(_refusal(address, error.code), cause="key" if error.code in (401, 403) else "list") from None
    except (OSError, HTTPException):
        raise ModelFailed(f"{address.place} cannot be reached", cause="unreachable") from None
    except ValueError:
        told = None
    names = _names(told)
    if not names:
        raise ModelFailed(f"{address.server} has no list of its models; write the name as it calls it", cause="list")
    return names


def _request(address: Address) -> Request:
    base = (address.base_url or OWN[address.kind]).rstrip("/")
    if address.kind == "anthropic":
        where = f"{base}/v1/models?limit={MOST_MODELS}"
        headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": address.key} if address.key else {})
    else:
        where = f"{base}/models"
        if address.key:
            headers = {"Authorization": f"Bearer {address.key}"}
        else:
            headers = {}
    return Request(where, headers={"Accept": "application/json", **headers})  # noqa: S310 as the form has checked


def _refusal(address: Address, status: int) -> str:
    if status in (401, 403):
        return f"{address.server} does not take this key" if address.key else f"{address.server} wants a key first"
    return f"{address.server} has no list of its models (HTTP {status}); write the name as it calls it"


def _names(told: Any) -> Sequence[str]:
    listed = None
    if isinstance(told, dict):
        listed = told.get("data")
    if isinstance(listed, list):
        found = [one.get("id") for one in listed if isinstance(one, dict)]
    else:
        found = []
    names = {name.removeprefix("models/") for name in found if isinstance(name, str) and name.isprintable()}
    return sorted(filter(None, names), key=lambda name: (any(part in name for part in NOT_FOR_CHATS), name))[
        :MOST_MODELS
    ]
