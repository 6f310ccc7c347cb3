"""Connects to addresses that a person, a page or a file names: models, their lists, vectors, OpenID providers.

It protects against requests into the server's own network (SSRF). The name is resolved once, and the connection goes to
the addresses that were found and checked, while TLS still checks the name: a second lookup cannot give another answer.
No redirect is followed. A server does not connect to an inner address (its own machine, a private network, a cloud's
metadata service), unless its operator has named the host. The command line, and a program that opens a book, act for
the person who runs them, and may connect anywhere. If the environment names a proxy, the proxy resolves the name again
and decides what it connects to; a name that resolves to an inner address here is refused before that.
"""

import socket
import ssl
import urllib.request
from collections.abc import Collection, Sequence
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from keepbook.errors import ModelFailed
from keepbook.settings import Settings, from_environment, ollama_host

RELAYS = IPv4Network("192.88.99.0/24")
"""Takes packets on to whoever is near (RFC 7526), and passes for public."""
ISATAP = 0x5EFE
"""Before an older address in the lower half of a newer one: a network's own way to that machine (RFC 5214)."""
METADATA = (IPv4Network("168.63.129.16"), IPv4Network("192.0.0.0/24"))
"""Metadata services of clouds at addresses that count as public."""
SCHEMES = ("http", "https")
WHOLE_NETWORK = 64
"""The bits of an IPv6 address that a provider assigns. The rest its user chooses freely."""
NAT64 = IPv6Network("64:ff9b::/96")
NAMED_BY = ("openai_base_url", "anthropic_base_url")
"""Settings that name a host if they are set in the environment."""


class OutwardDoor:
    """Decides where an installation may connect to. All parts of the installation share it, so a server can restrict
    them with `narrow`."""

    def __init__(self) -> None:
        self._named: frozenset[str] | None = None
        self._loopback = True

    def narrow(self, named: Collection[str], *, loopback: bool) -> None:
        """From now on allow inner addresses only for the named hosts, and with `loopback` for this machine's own
        names."""
        self._named = frozenset(map(_plain, named))
        self._loopback = loopback

    def find(self, url: str) -> Sequence[str]:
        """The addresses to connect to for a URL; none if the environment's proxy will resolve it. Raises `OSError` if
        the name is not known, and `ModelFailed` if this is no web address, or an inner one that was not named."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:  # ftp:// would resolve the name once more, and file:// reads this machine
            raise ModelFailed(f"{url[:20]!r} … is not asked: give an http or https address", cause="unreachable")
        host, proxied = _plain(parts.hostname or ""), _has_proxy(url)
        try:
            found = socket.getaddrinfo(host, parts.port or _usual_port(parts.scheme), type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            if proxied:
                return ()
            raise
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not self._is_named(host) and any(map(is_inside, addresses)):
            raise ModelFailed(
                f"{host[:100]} is an address inside a network, which is asked only where Keepbook was started with "
                f"KEEPBOOK_MODEL_HOSTS={host[:100]}",
                cause="inside",
            )
        if proxied:
            return ()
        return addresses

    def open(self, request: urllib.request.Request, *, timeout: float) -> HTTPResponse:
        """The answer to a request. Raises `HTTPError` for any status but a good one, also for a redirect."""
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        addresses = self.find(request.full_url)
        if addresses:
            handlers += [urllib.request.ProxyHandler({}), _Pinned(addresses), _PinnedOverTls(addresses)]
        opener = urllib.request.build_opener(*handlers)
        return cast("HTTPResponse", opener.open(request, timeout=timeout))

    def _is_named(self, host: str) -> bool:
        if self._named is None or host in self._named:
            return True
        return self._loopback and _is_loopback(host)


def named_hosts(settings: Settings) -> set[str]:
    """The hosts that the operator has named. Of the settings that a page can write, only what the environment says
    counts."""
    set_by_environment = from_environment()
    addresses = [set_by_environment[name] for name in NAMED_BY if name in set_by_environment]
    addresses.append(settings.oidc_issuer or "")
    ollama = ollama_host()
    if ollama:
        if "://" in ollama:
            addresses.append(ollama)
        else:
            addresses.append(f"//{ollama}")
    return {*settings.model_hosts, *filter(None, map(_host_of, addresses))}


def is_inside(address: str) -> bool:
    """Whether an address is this machine's, a private network's, link-local, or a cloud's metadata service."""
    found = _embedded_address(ip_address(address.partition("%")[0]))
    if isinstance(found, IPv6Address) and found.is_site_local:  # an older kind of private networks
        return True
    if isinstance(found, IPv6Address) and (int(found) >> 32) & 0xFCFFFFFF == ISATAP:
        return True
    passes = found.is_global and not found.is_multicast and not found.is_reserved
    return not passes or any(found in net for net in (RELAYS, *METADATA))


def _embedded_address(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address embeds; else the address itself."""
    if isinstance(found, IPv4Address):
        return found
    if found in NAT64:
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found.ipv4_mapped or found.sixtofour or found


def network_of(address: str) -> str:
    """The address by which a client is counted. Of an IPv6 address it is the network, because one machine may use all
    addresses in it."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found), WHOLE_NETWORK), strict=False))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _plain(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").lower()


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _usual_port(scheme: str) -> int:
    if scheme == "https":
        return 443
    return 80


def _has_proxy(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_loopback(host) or parts.scheme not in urllib.request.getproxies():
        return False
    return not urllib.request.proxy_bypass(host)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _Connection(HTTPConnection):
    """Connects to the first of these addresses that answers; the name is not resolved again."""

    def __init__(self, host: str, *, addresses: Sequence[str], **more: Any) -> None:
        super().__init__(host, **more)
        self._addresses = addresses

    def connect(self) -> None:
        self.sock = _reach(self._addresses, self.port, self.timeout)


class _ConnectionOverTls(HTTPSConnection):
    def __init__(self, host: str, *, addresses: Sequence[str], **more: Any) -> None:
        super().__init__(host, **more)
        self._addresses = addresses

    def connect(self) -> None:
        plain = _reach(self._addresses, self.port, self.timeout)
        self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)


def _reach(addresses: Sequence[str], port: int, timeout: float | None) -> socket.socket:
    for address in addresses[:-1]:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError:
            continue
    return socket.create_connection((addresses[-1], port), timeout)


class _Pinned(urllib.request.HTTPHandler):
    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self._addresses = addresses

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Connection, req, addresses=self._addresses)  # type: ignore[arg-type]


class _PinnedOverTls(urllib.request.HTTPSHandler):
    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self._addresses = addresses

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_ConnectionOverTls, req, addresses=self._addresses)  # type: ignore[arg-type]
