"""Tell the story of the demo once and pack it, after a change of the schema or of what happens in the story.

Ids and salts, which are random otherwise, come from dice here: the same story is the same pack.
"""

import lzma
import random
import secrets
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from keepbook.demo.packed_story import PACK
from keepbook.demo.stage import ENDS
from keepbook.demo.story import tell

DICE = random.Random(1)


def pack() -> bytes:
    with (
        patch.object(secrets, "randbelow", DICE.randrange),
        patch.object(secrets, "token_hex", lambda size: DICE.randbytes(size).hex()),
        closing(tell(ENDS)) as kb,
    ):
        return lzma.compress(kb.image(), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    made = pack()
    Path(str(PACK)).write_bytes(made)
    print(f"{len(made):,} bytes written")
