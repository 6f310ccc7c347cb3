"""Keepbook inside other frameworks: each adapter needs only the framework it serves.

Adapters only translate: what they store are memories and chats of the book like any other, with versions, a ledger
entry for every write, and undo. If a framework is not installed, the error says how to install it.
"""


def missing_framework(framework: str, extra: str | None = None, *, package: str | None = None) -> ImportError:
    """The error for a framework that cannot be imported. It names the extra that installs it, or the package if its
    pins and ours are for each program to settle."""
    if package is None:
        wanted = f"'keepbook[{extra}]'"
    else:
        wanted = package
    return ImportError(f"this adapter needs {framework}; install it with: pip install {wanted}")
