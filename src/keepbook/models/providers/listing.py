"""Lists the models that an address has for the owner of a key.

Providers list them in OpenAI's way or in Anthropic's. The key is sent to that address alone, through `OutwardDoor`,
which follows no redirect.
"""

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

from keepbook.errors import ModelFailed
from keepbook.models.providers.address import Address

MOST_BYTES = 8_000_000  # of an answer
MOST_MODELS = 1_000  # that are listed
OWN = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
NOT_FOR_CHATS = ("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "image")
"""Parts of the names of models that cannot chat; those are listed last."""


def list_models(address: Address, *, timeout: float = 10.0) -> Sequence[str]:
    """The names of the models at an address; raises `ModelFailed` if it lists none."""
    try:
        with address.outward.open(_request(address), timeout=timeout) as answer:
            told = json.loads(answer.read(MOST_BYTES))
    except HTTPError as error:
        error.close()  # else the connection stays open
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
    headers = {"Accept": "application/json"}
    if address.kind == "anthropic":
        url = f"{base}/v1/models?limit={MOST_MODELS}"
        headers["anthropic-version"] = "2023-06-01"
        if address.key:
            headers["x-api-key"] = address.key
    else:
        url = f"{base}/models"
        if address.key:
            headers["Authorization"] = f"Bearer {address.key}"
    return Request(url, headers=headers)  # noqa: S310 as the form has checked


def _refusal(address: Address, status: int) -> str:
    if status in (401, 403):
        return f"{address.server} does not take this key" if address.key else f"{address.server} wants a key first"
    return f"{address.server} has no list of its models (HTTP {status}); write the name as it calls it"


def _names(told: Any) -> Sequence[str]:
    """The names in an answer, sorted, those of models that cannot chat last; empty if the answer is no list."""
    listed = told.get("data") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        return []
    ids = [one.get("id") for one in listed if isinstance(one, dict)]
    names = {id.removeprefix("models/") for id in ids if isinstance(id, str) and id.isprintable()}
    in_order = sorted(filter(None, names), key=lambda name: (any(part in name for part in NOT_FOR_CHATS), name))
    return in_order[:MOST_MODELS]
