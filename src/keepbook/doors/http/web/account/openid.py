"""Signing in at the operator's OpenID provider: the authorization code flow with PKCE.

The browser is sent to the provider and comes back with a code, which the server exchanges for an ID token. The token is
checked against the provider's discovery document, which is fetched from the issuer's address, and against the state,
nonce and verifier that this browser was sent away with. All requests of the server go through `OutwardDoor`.
"""

import base64
import hashlib
import json
import secrets
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.client import HTTPException
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from keepbook.book.owners.identities import LONGEST
from keepbook.doors.auth import is_local
from keepbook.errors import Invalid, KeepbookError, NotAllowed
from keepbook.models.outward import OutwardDoor
from keepbook.settings import SecretSetting, Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The accepted signatures: only asymmetric ones, which nobody but the provider can make."""
AWAY_SECONDS = 600
"""How long a person may take at the provider."""
ASKED_ANEW_SECONDS = 3600.0
"""How long the discovery document is cached."""
LEEWAY_SECONDS = 60
"""How far the provider's clock may differ from ours."""
WAIT_SECONDS = 10.0
LONGEST_ANSWER = 1_000_000


def refused(why: str) -> NotAllowed:
    return NotAllowed(f"{why}; begin again, or ask whoever runs this server", code="sign_in_refused")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to sign in. The browser keeps it in a cookie while it is at the provider."""

    to: str
    invitation: str | None = None
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    begun: float = field(default_factory=time.time)

    def as_cookie(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def from_cookie(cls, held: str | None) -> Self:
        """The attempt in a cookie; raises if there is none, or if it is too old."""
        try:
            made = cls(**json.loads(base64.urlsafe_b64decode(held or "")))
            is_late = not 0 <= time.time() - made.begun <= AWAY_SECONDS
        except (ValueError, TypeError):
            raise refused("this browser did not begin to sign in here") from None
        if is_late:
            raise refused("signing in took more than ten minutes")
        return made


@dataclass(frozen=True, slots=True)
class Discovery:
    """What we use of a provider's discovery document."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    algorithms: tuple[str, ...]
    names_itself: bool
    """Whether its answers always name the issuer."""
    secret_in_form: bool
    """Whether it accepts the client's secret only in the form, and not in a header."""


class OpenIdProvider:
    """The provider that the settings name. Its discovery document and keys are cached."""

    def __init__(self, settings: Settings, outward: OutwardDoor) -> None:
        self.issuer: str = _clean_issuer(settings.oidc_issuer)
        if not settings.oidc_client_id:
            raise Invalid("say what this server is called at the provider: oidc_client_id", field="oidc_client_id")
        self._client_id: str = settings.oidc_client_id
        self._client_secret: SecretSetting | None = settings.oidc_client_secret
        self._outward = outward
        self._discovered: tuple[float, Discovery] | None = None
        self._keys: KeySet | None = None

    @property
    def name(self) -> str:
        return urlsplit(self.issuer).netloc

    def address_for(self, attempt: Attempt, come_back: str) -> str:
        """The address of the provider to which the browser is sent."""
        found = self._discover()
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": come_back,
            "scope": "openid",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": _challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        if urlsplit(found.authorization_endpoint).query:
            join = "&"
        else:
            join = "?"
        return found.authorization_endpoint + join + urlencode(asked)

    def subject_of(self, attempt: Attempt, answer: Mapping[str, str], come_back: str) -> str:
        """The subject that has signed in; raises if any check fails."""
        if not secrets.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise refused("the answer is to another question than this browser's")
        found = self._discover()
        named = answer.get("iss")
        if named != self.issuer and (named is not None or found.names_itself):
            raise refused("the answer comes from another provider")
        if "error" in answer:
            raise refused(f"{self.name} says: {answer.get('error_description') or answer['error']:.200}")
        token = self._exchange(found, answer.get("code", ""), attempt.verifier, come_back)
        return self._check(token, found, attempt.nonce)

    def _exchange(self, found: Discovery, code: str, verifier: str, come_back: str) -> str:
        if not code:
            raise refused(f"{self.name} sent no code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": come_back,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self._client_secret is None:
            form["client_id"] = self._client_id
        elif found.secret_in_form:
            form |= {"client_id": self._client_id, "client_secret": self._client_secret.reveal()}
        else:
            headers["Authorization"] = _basic(self._client_id, self._client_secret.reveal())
        token = self._fetch(found.token_endpoint, urlencode(form).encode(), headers).get("id_token")
        if not isinstance(token, str):
            raise refused(f"{self.name} sent no ID token")
        return token

    def _check(self, token: str, found: Discovery, nonce: str) -> str:
        claims = self._verified(token, found)
        wanted = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self._client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            wanted.validate(claims)
        except JoseError as error:
            raise refused(f"the ID token of {self.name} does not hold: {error.description}") from None
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self._client_id) != self._client_id:
            raise refused(f"the ID token of {self.name} was made for another program")
        subject: str = claims["sub"]
        if not 0 < len(subject) <= LONGEST:
            raise refused(f"the ID token of {self.name} names nobody")
        return subject

    def _verified(self, token: str, found: Discovery) -> dict[str, Any]:
        """The claims of a token, after its signature was checked. If its key is not among the cached ones, it may be
        new: the keys are fetched again, once."""
        algorithms = [each for each in ALGORITHMS if each in found.algorithms]
        were_cached = self._keys is not None
        if self._keys is None:
            self._keys = self._fetch_keys(found)
        try:
            try:
                return dict(jwt.decode(token, self._keys, algorithms).claims)
            except InvalidKeyIdError:
                if not were_cached:
                    raise
            self._keys = self._fetch_keys(found)
            return dict(jwt.decode(token, self._keys, algorithms).claims)
        except (JoseError, ValueError) as error:
            raise refused(f"the ID token of {self.name} is not signed as it says it signs: {error}") from None

    def _fetch_keys(self, found: Discovery) -> KeySet:
        told: Any = self._fetch(found.jwks_uri)
        try:
            return KeySet.import_key_set(told)
        except (JoseError, ValueError, KeyError, TypeError):
            raise refused(f"{self.name} shows no keys") from None

    def _discover(self) -> Discovery:
        now = time.monotonic()
        if self._discovered is None or now - self._discovered[0] > ASKED_ANEW_SECONDS:
            told = self._fetch(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            self._discovered, self._keys = (now, _read_discovery(told, self.issuer)), None
        return self._discovered[1]

    def _fetch(
        self, url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        request = urllib.request.Request(url, form, {"Accept": "application/json", **(headers or {})})  # noqa: S310
        try:
            with self._outward.open(request, timeout=WAIT_SECONDS) as answer:
                told = json.loads(answer.read(LONGEST_ANSWER))
        except KeepbookError as error:
            raise refused(error.message) from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise refused(f"{urlsplit(url).netloc} does not answer as a provider does: {error}") from None
        if not isinstance(told, dict):
            raise refused(f"{urlsplit(url).netloc} does not answer as a provider does")
        return told


def _read_discovery(told: Mapping[str, Any], issuer: str) -> Discovery:
    if told.get("issuer") != issuer:
        raise refused(f"the provider calls itself {str(told.get('issuer'))[:200]!r}, and not {issuer!r}")
    methods = _texts(told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]))
    return Discovery(
        _clean_endpoint(told, "authorization_endpoint"),
        _clean_endpoint(told, "token_endpoint"),
        _clean_endpoint(told, "jwks_uri"),
        algorithms=tuple(_texts(told.get("id_token_signing_alg_values_supported", ["RS256"]))),
        names_itself=told.get("authorization_response_iss_parameter_supported") is True,
        secret_in_form="client_secret_post" in methods and "client_secret_basic" not in methods,
    )


def _clean_endpoint(told: Mapping[str, Any], name: str) -> str:
    address = told.get(name)
    if not isinstance(address, str) or not is_private(address):
        raise refused(f"the provider names no {name} that can be trusted")
    return address


def _clean_issuer(issuer: str | None) -> str:
    parts = urlsplit(issuer or "")
    if issuer is None or not is_private(issuer) or parts.query or parts.fragment:
        raise Invalid(f"{issuer!r} is no issuer: give its https address, as it writes it itself", field="oidc_issuer")
    return issuer


def is_private(address: str) -> bool:
    """Whether nobody can listen on the way to an address: it uses TLS, or is on this machine."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_local(host)))


def _texts(told: Any) -> Sequence[str]:
    if isinstance(told, list):
        return [each for each in told if isinstance(each, str)]
    return []


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _basic(name: str, secret: str) -> str:
    both = f"{quote(name, safe='')}:{quote(secret, safe='')}"
    return f"Basic {base64.b64encode(both.encode()).decode()}"
