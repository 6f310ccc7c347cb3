"""The extensions of this package: they stand beside the core, which reaches them through `keepbook.extension` alone."""

SHIPPED = {
    "agents": "keepbook.extensions.agents:AGENTS",
    "trading": "keepbook.extensions.trading:TRADING",
}
"""The extensions by name; all of them are on unless the settings say otherwise."""
