"""The address of a server, and which addresses are allowed."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from keepbook.errors import Invalid


def check_address(address: str) -> str:
    """An address without its last slash; unencrypted only on this machine."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid(f"{address!r} is no address of a server: https://host", field="db")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Invalid("give the address of the server alone, and the key as token=…", field="db")
    if parts.scheme == "http" and not _loopback(parts.hostname):
        raise Invalid(f"http:// sends your book in the clear; use https://{parts.netloc}", field="db", code="insecure")
    if parts.scheme == "https":
        _check_authority(os.environ.get("SSL_CERT_FILE"))
    return address.rstrip("/")


def _check_authority(file: str | None) -> None:
    """Refuse a file of authorities that is not there: what reads it later says neither its name nor who named it."""
    if file and not Path(file).is_file():
        raise Invalid(f"SSL_CERT_FILE names {file}, and there is no such file", field="SSL_CERT_FILE")


def _loopback(host: str) -> bool:
    # A file or a database asks none of this.
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_address(place: object) -> bool:
    return isinstance(place, str) and place.lower().startswith(("http://", "https://"))
