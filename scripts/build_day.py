"""Writes the day of the build into the wheel: before it, no clock can be right (see book/ground/system_clock.py).

Hatch calls it (`pyproject.toml`). An editable installation is a checkout, and gets none.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildDayHook(BuildHookInterface):  # type: ignore[type-arg, unused-ignore]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # Builds that are to come out alike say their instant: reproducible-builds.org/specs/source-date-epoch.
        built = time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        self._folder = tempfile.TemporaryDirectory(prefix="keepbook-build-")
        file = Path(self._folder.name, "build_day.txt")
        file.write_text(time.strftime("%Y-%m-%d\n", built), encoding="ascii")
        build_data["force_include"][str(file)] = "keepbook/build_day.txt"

    def finalize(self, *_: Any) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
