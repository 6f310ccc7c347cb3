"""Python sources as trees, for tests that read the code."""

import ast
from functools import cache


@cache
def tree(source: str) -> ast.Module:
    """CPython 3.11 now and then miscounts how deep it is while it builds a tree, and says so with a SystemError."""
    for _ in range(5):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)
