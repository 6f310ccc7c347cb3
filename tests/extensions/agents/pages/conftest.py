"""Pages are looked at as those of the core are."""

from tests.extensions.page_fixtures import *  # noqa: F403  pytest looks for fixtures here
