"""Opens the story from a file in the package, which takes a hundredth of the time of performing it.

A ledger cannot be moved to another day, because every link of its chain contains an instant. So the story stays on its
day, and the clock of each visitor begins where it ends. `scripts/story.py` writes the file. If the schema was changed
since, the file cannot be used; then the story is performed anew, with the same words and on the same day.
"""

import lzma
from importlib.resources import files

from keepbook.app import Keepbook
from keepbook.demo.stage import ENDS, demo_settings, from_the_end

PACK = files(__package__).joinpath("story.db.xz")


def open_story() -> Keepbook:
    """The whole story in a book in memory, as it stands at its end."""
    kb = Keepbook(":memory:", clock=from_the_end(), settings=demo_settings(), demo=True)
    if kb.become(lzma.decompress(PACK.read_bytes())):
        return kb
    kb.close()
    # Loaded only if the file cannot be used: it is most of the demo's code.
    from keepbook.demo.story import tell

    return tell(ENDS)
