"""An OpenID provider that says what a test wants it to say, true or not."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "keepbook", "a secret of both"
Claims = dict[str, Any]


class ScriptedProvider:
    """It keeps to the standard but for what a test changes: `discovery`, `claims`, `header`, `sign`, `shown`."""

    def __init__(self) -> None:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                provider.asked.append(self.path)
                found = {"/.well-known/openid-configuration": provider.document, "/keys": provider.keys}
                self._send(200, found[self.path]()) if self.path in found else self._send(404, {})

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                told = {name: values[0] for name, values in form.items()}
                self._send(*provider.exchange(told, self.headers.get("authorization", "")))

            def _send(self, status: int, told: Any) -> None:
                body = json.dumps(told).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{provider.issuer}/elsewhere")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.asked: list[str] = []
        self.signs_with = "first"
        self.shows = ["first"]
        """Its keys, by name."""
        self.discovery: dict[str, Any] = {}
        self.claims: Claims = {}
        self.header: dict[str, Any] = {}
        self.sign: Callable[[dict[str, Any], Claims], str] = lambda header, claims: jwt.encode(
            header, claims, new_key(self.signs_with)
        )
        self.refuses = 200
        self._codes: dict[str, tuple[dict[str, str], str]] = {}

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def document(self) -> dict[str, Any]:
        usual = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return usual | self.discovery

    def keys(self) -> Any:
        return KeySet([new_key(each) for each in self.shows]).as_dict()

    def let_in(self, location: str, subject: str) -> dict[str, str]:
        """What the browser brings back, after a person was let in here."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        code = secrets.token_hex(8)
        self._codes[code] = asked, subject
        return {"code": code, "state": asked["state"]}

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        asked, subject = self._codes.pop(form["code"])
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        known = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        honest = (
            (asked["code_challenge"], asked["redirect_uri"]) == (proof.decode(), form["redirect_uri"])
            and asked["code_challenge_method"] == "S256"
            and authorization == f"Basic {known}"
        )
        if not honest:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": subject, "iat": now, "exp": now + 300, "nonce": asked["nonce"],
        }  # fmt: skip
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        header = {"alg": "RS256", "kid": self.signs_with} | self.header
        return self.refuses, {"id_token": self.sign(header, claims), "access_token": "x", "token_type": "Bearer"}


_MADE: dict[str, RSAKey] = {}


def new_key(kid: str) -> RSAKey:
    """A key of that name: made once, since making one takes a moment."""
    if kid not in _MADE:
        _MADE[kid] = RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})
    return _MADE[kid]


def unsigned(header: dict[str, Any], claims: Claims) -> str:
    """A token that says of itself that nobody signed it."""
    return f"{_part(header | {'alg': 'none'})}.{_part(claims)}."


def signed_with_the_shown_key(header: dict[str, Any], claims: Claims) -> str:
    """A token whose signature anybody can make: what is public serves as the secret."""
    text = f"{_part(header | {'alg': 'HS256'})}.{_part(claims)}"
    made = hmac.digest(new_key(header["kid"]).as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def _part(told: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()
