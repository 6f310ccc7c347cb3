"""Trading memory: skills, deployments, positions, trades, lessons, and the events of the market.

The bars lose their second index: what followed time alone is merged from the timeframes, and ten million load faster.
"""

from keepbook.storage.migrations import run_frozen

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_frozen(revision)
