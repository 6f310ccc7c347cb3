"""Which preset is in force when nobody names one in the call."""

from typing import Any

from keepbook.book import owners
from keepbook.presets import Preset
from keepbook.storage.database import Tx


class Presets:
    """Which preset is in force: the call's, else the installation's, else the owner's own, else `general`."""

    def __init__(self, load: Any, chosen: str | None) -> None:
        self._load = load
        self.chosen = chosen

    def of(self, tx: Tx, asked: str | None = None) -> Preset:
        preset: Preset = self._load(asked or self.chosen or owners.preset_name(tx) or "general")
        return preset
