"""What a reader would quote of sentences that tempt to cut a statement from what governs it.

    python -m training.judge_cuts FILE [--show]

Each line has a text, and in it: pairs of a governor and what it governs (a stretch with the second must have the
first), names and numbers inside which nothing may begin or end, and fillers that a stretch should be without. Counted
are the texts of which a kept, or a kept or offered, stretch breaks one of these.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keepbook.models.notebook.decide import decide_steps
from keepbook.models.notebook.read import shared_moves, understand
from keepbook.models.notebook.values import ChatTurn, Scene
from keepbook.presets import load_preset

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def stretches(text: str) -> Iterator[tuple[str, int, int]]:
    """What is kept or offered of a text: keep or offer, and its letters."""
    scene = Scene((ChatTurn(1, "user", text, None, NOW),), "chat", "UTC", NOW, load_preset("general"))
    moves = shared_moves()
    for step in decide_steps(scene, understand(scene), moves.bars):
        for span in step.quotation.spans if step.quotation else ():
            if span.kind != "question":
                yield step.act, span.start, span.end


def broken(case: dict[str, Any], start: int, end: int) -> list[str]:
    """Which rules one stretch breaks."""
    text, found = case["text"], []
    words = text[start:end]
    for governor, governed in case.get("governed", ()):
        if governed in words and governor not in words:
            found.append("governed")
    for whole in case.get("whole", ()):
        first = text.index(whole)
        last = first + len(whole)
        if first < start < last or first < end < last:
            found.append("whole")
    found += ["filler" for filler in case.get("fillers", ()) if filler in words]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    cases = [json.loads(line) for line in chosen.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    counts: Counter[str] = Counter()
    for case in cases:
        found = {(act, rule) for act, start, end in stretches(case["text"]) for rule in broken(case, start, end)}
        counts.update(f"{act} {rule}" for act, rule in found)
        counts.update({act for act, _, _ in stretches(case["text"])})
        if chosen.show and any(rule != "filler" for _, rule in found):
            print(case["id"], sorted(found), [case["text"][a:b] for _, a, b in stretches(case["text"])])
    print(f"{len(cases)} texts:", dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
