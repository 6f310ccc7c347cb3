"""The figures of a training, written by it: per writer, trained on all the others."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS, TIES, KeepThresholds, TrainedChoice
from training.chats import Chat
from training.judge import Guess, Truth, taken

Scores = tuple[np.ndarray, np.ndarray]
"""What speaks for each output, and what is right."""


def write(
    every: dict[str, list[Chat]],
    read: dict[str, dict[str, list[Guess]]],
    given: dict[str, dict[str, Scores]],
    ties: list[Scores],
    chosen: dict[str, TrainedChoice],
    out: Path,
) -> None:
    """`figures.json` and, to read, `figures.md`, from each reader's guesses by writer."""
    found: dict[str, Any] = {}
    for reader, guesses in read.items():
        bars = chosen[reader].bars
        rows = {}
        groups = {one: [one] for one in guesses}
        written = [one for one in guesses if not one.startswith("moves/")]
        groups |= {"all chats": written, "all chats in English": [one for one in written if one != "g-languages"]}
        groups["all moves"] = [one for one in guesses if one not in written]
        for name, held in groups.items():
            truth = Truth(chat for writer in held for chat in every[writer])
            rows[name] = _row(truth, [guess for writer in held for guess in guesses[writer]], bars)
            rows[name] |= _given(*_joined([given[reader][writer] for writer in held]))
        found[reader] = {"bars": asdict(bars), "writers": rows}
    found["ties"] = _ties(*_joined(ties))
    (out / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "figures.md").write_text(_page(found))


def _joined(parts: list[Scores]) -> Scores:
    scores, right = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scores, right


def _row(truth: Truth, guesses: list[Guess], bars: KeepThresholds) -> dict[str, Any]:
    return {
        "chats": truth.chats,
        "kept": truth.figures(taken(guesses, bars)).as_dict(),
        "kept_and_proposed": truth.figures(taken(guesses, bars, proposed=True)).as_dict(),
    }


def _given(scores: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """How often the first guess is right on the writers' own parts: label, categories, act."""
    found, at = {}, 0
    names = ("label", *CATEGORIES, "act")
    for column, (name, size) in enumerate(zip(names, (len(LABELS), 4, 4, len(ACTS)), strict=True)):
        known = right[:, column] >= 0
        guessed = scores[known, at : at + size].argmax(1)
        found[f"{name}_right"] = round(float((guessed == right[known, column]).mean()), 3) if known.any() else 0.0
        at += size
    return found


def _ties(scores: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    guessed = scores.argmax(1)
    found: dict[str, Any] = {}
    for at, name in enumerate(TIES):
        said, true = (guessed == at) & (right >= 0), right == at
        both = int((said & true).sum())
        found[name] = {
            "precision": round(both / max(1, int(said.sum())), 3), "recall": round(both / max(1, int(true.sum())), 3),
            "pairs": int(true.sum()),
        }  # fmt: skip
    return found


INTRODUCTION = """# Figures

Written by `training/train_reader.py`. Each row: trained on other writers (four groups are left out in turn), read on
this one's chats with the reader's own cuts. A piece counts as what the part it lies in was labelled; a part is found
where half of it is taken. Harmed: chats of a hundred in which something `old`, `hush`, `if` or `other` was kept.
"""
COLUMNS = "| writer | chats | label right | kept: precision | recall | harmed | and proposed: precision | recall | F1 |"


def _page(found: dict[str, Any]) -> str:
    lines = [INTRODUCTION]
    for reader in ("encoder", "linear"):
        sure, risk, likely = found[reader]["bars"].values()
        lines += [
            f"## {reader}",
            "",
            f"Kept from {sure} on with a risk of at most {risk}, proposed from {likely} on.",
            "",
        ]
        lines += [COLUMNS, "|---" * 9 + "|"]
        for writer, row in found[reader]["writers"].items():
            kept, both = row["kept"], row["kept_and_proposed"]
            cells = [
                writer,
                row["chats"],
                row["label_right"],
                kept["precision"],
                kept["recall"],
                kept["harmed_per_100"],
            ]
            cells += [both["precision"], both["recall"], both["f1"]]
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines.append("")
    lines += ["## Ties of two statements", "", "| tie | pairs | precision | recall |", "|---|---|---|---|"]
    for name, row in found["ties"].items():
        lines.append(f"| {name} | {row['pairs']} | {row['precision']} | {row['recall']} |")
    return "\n".join(lines) + "\n"
