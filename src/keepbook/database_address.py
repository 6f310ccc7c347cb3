"""Whether two addresses of PostgreSQL lead to the same database: the program has one login there, the administrator
another, and what is the administrator's must not be done to a database that nobody named."""

from urllib.parse import parse_qsl, urlsplit

_THIS_MACHINE = {"localhost", "127.0.0.1", "[::1]"}


def are_one_database(*addresses: str) -> bool:
    """Whether these addresses lead to one database of one server, whoever logs in."""
    return len({_database_at(address) for address in addresses}) == 1


def _database_at(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    named = dict(parse_qsl(parts.query))
    server = parts.netloc.rpartition("@")[2] or ":".join(filter(None, (named.get("host"), named.get("port"))))
    server = server.lower().removesuffix(":5432")
    if server in _THIS_MACHINE or server.startswith("/"):
        server = ""
    return server, parts.path.strip("/")
