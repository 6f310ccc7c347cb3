"""The category of a line: one for each matter, whenever it is said."""

from collections.abc import Sequence

from keepbook.models.lines.matters import matters
from keepbook.models.lines.people import is_of_somebody, whose

OF_PEOPLE = "person"


def category_of(line: str, vocabulary: Sequence[str]) -> str | None:
    """The category that lines of this matter have, where the preset has it; that of lines about somebody else is
    "person"."""
    if whose(line) is not None:
        return OF_PEOPLE if OF_PEOPLE in vocabulary and is_of_somebody(line) else None
    names = (name for matter in matters() if matter.says.search(line) for name in matter.categories)
    return next((name for name in names if name in vocabulary), None)
