"""The same book in the same five places as in the tests of the client."""

from tests.client.conftest import book, loop, owner, places, serve, served, there

__all__ = ["book", "loop", "owner", "places", "serve", "served", "there"]
