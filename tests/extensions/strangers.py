"""Extensions of strangers in a test: afterwards this process knows nothing of them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

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
        strangers = extension._AT_WORK.keys() - known - extension.shipped().keys()
        for name in strangers:
            del extension._AT_WORK[name]
        for name in metadata.tables.keys() - declared:
            metadata.remove(metadata.tables[name])
        if strangers:
            for name in sys.modules.keys() - modules:
                if not name.startswith(("keepbook.", "tests.")) and not _is_installed(sys.modules[name]):
                    del sys.modules[name]
            extension.load_part.cache_clear()
            tables.tables_of.cache_clear()


def _is_installed(module: ModuleType) -> bool:
    """Whether it belongs to this Python. What is built in cannot be loaded twice, nor can much of what is compiled."""
    file = getattr(module, "__file__", None)
    return file is None or file.startswith((sys.prefix, sys.base_prefix))
