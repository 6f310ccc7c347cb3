"""Labels as options: `--tag work --meta project=atlas`, given to a memory or looked for."""

from collections.abc import Sequence

from keepbook.errors import Invalid


def tags(given: Sequence[str] | None) -> list[str] | None:
    """The tags; none were given, or '' for an empty set."""
    if given is None:
        return None
    return [tag for tag in given if tag.strip()]


def parse_metadata(given: Sequence[str] | None) -> dict[str, str] | None:
    """The pairs; none were given, or '' for an empty map."""
    if given is None:
        return None
    found = {}
    for each in filter(None, given):
        key, middle, value = each.partition("=")
        if not middle:
            raise Invalid(f"metadata is written KEY=VALUE, not {each!r}", field="meta")
        found[key] = value
    return found
