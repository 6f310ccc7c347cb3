"""Keepbook inside other people's frameworks: each adapter needs only the framework it serves.

Adapters translate and decide nothing: what they keep are memories and chats of the book like any other, with versions,
a ledger entry for every write, and undo. A framework that is not installed is named, with the line that installs it.
"""


def missing_framework(framework: str, extra: str | None = None, *, package: str | None = None) -> ImportError:
    """The error for a framework that cannot be imported. It names the extra that installs it, or the package if its
    pins and ours are for each program to settle."""
    if package is None:
        wanted = f"'keepbook[{extra}]'"
    else:
        wanted = package
    return ImportError(f"this adapter needs {framework}; install it with: pip install {wanted}")
