"""Extensions of strangers in a test: afterwards this process knows nothing of them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from keepbook import extension
from keepbook.storage import tables
from keepbook.storage.tables.declare import metadata


@contextmanager
def forgetting_strangers() -> Iterator[None]:
    """What is loaded inside is forgotten at the end: extensions, their tables, their modules."""
    tables.shipped_tables()
    known, declared, modules = set(extension._AT_WORK), set(metadata.tables), set(sys.modules)
    try:
        yield
    finally:
        strangers = extension._AT_WORK.keys() - known
        for name in strangers:
            del extension._AT_WORK[name]
        for name in metadata.tables.keys() - declared:
            metadata.remove(metadata.tables[name])
        if strangers:
            for name in sys.modules.keys() - modules:
                if _is_strange(name):
                    del sys.modules[name]
            extension.load_part.cache_clear()
            tables.tables_of.cache_clear()


def _is_strange(name: str) -> bool:
    """Whether a module is neither ours nor installed: what others hold on to must stay the module that it is."""
    place = getattr(sys.modules[name], "__file__", None)
    installed = (sys.prefix, sys.base_prefix)
    return place is not None and not name.startswith(("keepbook.", "tests.")) and not place.startswith(installed)
