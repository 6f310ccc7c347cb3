"""The setting of the story: whose book it is, on which day it ends, and the settings of a visitor's book."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keepbook.settings import Settings

OWNER = "Ines Varga"
ENDS = datetime(2026, 11, 12, 9, 40, tzinfo=UTC)
"""The moment at which the story ends."""
NOWHERE = Path("/nonexistent")


def demo_settings() -> Settings:
    """Settings that use nothing of this machine (no environment, file, key or folder), with limits for strangers."""
    return Settings.of_nobody(
        db=":memory:", owner=OWNER, preset="advisor", model="offline", cheap_model=None, embedder="none",
        monthly_tokens=200_000, max_memories=2_000, max_chats=500, max_bytes=5_000_000, jobs_every=0,
        presets=NOWHERE, cards=NOWHERE, agent_folder=NOWHERE,
    )  # fmt: skip


def from_the_end() -> Callable[[], datetime]:
    """A clock that begins at the end of the story, now."""
    begun = time.monotonic()
    return lambda: ENDS + timedelta(seconds=time.monotonic() - begun)
