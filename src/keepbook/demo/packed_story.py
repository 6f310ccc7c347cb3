"""The story as it was told once, in one small file beside this one; opening it costs a hundredth of telling it.

A ledger cannot be moved to another day: every link of its chain holds its instant. So the day stays, and it is the
clock that follows: for every visitor the present begins where the story ends. `scripts/story.py` tells and packs it. A
pack from before a change of the schema is no book of this program; then the story is told here and now, in the same
words and on the same day.
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
    # Loaded only where the pack is of no use: it is most of what a demo would have to load.
    from keepbook.demo.story import tell

    return tell(ENDS)
