"""The tokens of a book on a server: made, listed and revoked with a token that may."""

from typing import Any
from urllib.parse import quote

from keepbook.book.owners.tokens import NewToken, Token, Tokens
from keepbook.client.connection import Request, Steps
from keepbook.client.faces import RemoteFace, remote_face_of
from keepbook.client.values import to_json_argument, value_of


def _create(_: RemoteFace, owner: str | None = None, **wanted: Any) -> Steps[NewToken]:
    """Make a token. The request is never repeated: a first answer that was lost would leave a token that nobody has."""
    made = yield Request(
        "POST", "/api/tokens", body=to_json_argument(wanted), headers=_owner_header(owner), again=False
    )
    known = yield Request("GET", "/api/tokens", headers=_owner_header(owner))
    kept = next(one for one in known["tokens"] if one["id"] == made["id"])
    return NewToken(made["token"], value_of(Token, kept))


def _list(_: RemoteFace, owner: str | None = None) -> Steps[list[Token]]:
    told = yield Request("GET", "/api/tokens", headers=_owner_header(owner))
    return value_of(list[Token], told["tokens"])  # type: ignore[no-any-return]


def _revoke(_: RemoteFace, id: str, owner: str | None = None) -> Steps[Token]:
    told = yield Request("DELETE", f"/api/tokens/{quote(id, safe='')}", headers=_owner_header(owner))
    return value_of(Token, told)  # type: ignore[no-any-return]


def _owner_header(owner: str | None) -> dict[str, Any]:
    if owner is None:
        return {}
    return {"X-Keepbook-Owner": owner.encode()}


TOKENS = remote_face_of(Tokens, {"create": _create, "list": _list, "revoke": _revoke})
