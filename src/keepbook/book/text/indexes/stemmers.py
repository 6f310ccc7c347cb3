"""The modules of `snowballstemmer`, each by itself: `from …indexes.stemmers.english_stemmer import EnglishStemmer`.

That package loads all its thirty-seven languages when it is imported, which takes as long as reading a book does. Its
modules are found from here instead: a module with a `__path__` is a package, and only what is named of it is loaded.
"""

from importlib.util import find_spec

_found = find_spec("snowballstemmer")  # looks for it and does not run it
if _found is None or _found.submodule_search_locations is None:
    raise ModuleNotFoundError("snowballstemmer is missing; install keepbook anew", name="snowballstemmer")
__path__ = list(_found.submodule_search_locations)
