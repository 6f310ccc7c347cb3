"""An example body for each path that takes one."""

from typing import Any

BODIES: dict[str, Any] = {"POST /api/habits": {"name": "Walk"}}
