"""Running summary of a chat without a model: sentences chosen, never invented.

The summary keeps what was said in order and drops the lightest first when it grows past its bound, so that a long
chat costs
what a short one does. What the person asked to leave out, secrets and pasted text are not in it.
"""

import re
from collections.abc import Sequence

from keepbook.book.ground.patterns import regex
from keepbook.book.text.secrets import redact
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.models.lines.wording import bare, line, tongue
from keepbook.models.model import Turn
from keepbook.models.orders.hear import sentences, withdrawals

LIMIT = 1_000
READ = 4_000
"""How much of a turn is read; what is longer is pasted."""
_PIECE = 160
_QUOTED = regex(r"```.*?```|\"[^\"\n]{20,}\"|“[^”\n]{20,}”|^>.*$", re.DOTALL | re.MULTILINE)
_LIST_END = regex(r"(?<=[:：])\s*\n.*", re.DOTALL)
_TASK = regex(
    r"^(?:please|can you|could you|would you|help me|write|draft|make|give|find|show|explain|summari[sz]e|"
    r"translate|check|run|tell)\b",
    re.IGNORECASE,
)
_TALK = regex(
    r"^(?:hi|hello|hey|thanks|thank you|ok|okay|yes|no|sure|great|cool|lol|bye|good (?:morning|evening))\b[^.]{0,20}$",
    re.IGNORECASE,
)
_TELLS = regex(r"\b(?:i|i'm|im|my|we|our|ich|mein\w*|yo|mi|jeg|min)\b", re.IGNORECASE)


# --- summary


def summarise(previous: str | None, turns: Sequence[Turn]) -> str:
    """The earlier summary and what these turns add, in at most `LIMIT` characters."""
    weighed: list[tuple[float, str]] = []
    for number, old in enumerate(_cut(previous or "")):
        # What was kept before stays above small talk, and its beginning (what the chat is about) above its middle.
        weighed.append((2.5 if number == 0 else 1.9, old))
    left_out = _left_out(turns)
    for number, turn in enumerate(turns):
        if turn.role == "user" and number not in left_out:
            weighed += _of_person(turn)
        elif turn.role == "assistant" and number - 1 not in left_out:
            weighed += _of_assistant(turns, number)
    return redact(" ".join(_fit(weighed)))


def _cut(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


def own_words(text: str) -> str:
    """The person's own words: no code, no quotation, nothing after "summarise:"."""
    return _LIST_END.sub("", _QUOTED.sub(" ", text[:READ]))


def _left_out(turns: Sequence[Turn]) -> set[int]:
    """Turns the person asked to leave out, and the turns that say so."""
    out: set[int] = set()
    before: int | None = None
    for number, turn in enumerate(turns):
        if turn.role != "user":
            continue
        for heard in withdrawals(turn.text[:READ]):
            out.add(number)
            if before is not None and not heard.ahead and not heard.matter:
                out.add(before)
            out |= {
                at
                for at, other in enumerate(turns[:number])
                if heard.matter and other.role == "user" and _speaks(heard.matter, other.text)
            }
        before = number
    return out


def _speaks(matter: str, text: str) -> bool:
    wanted = {stem(word) for word in tokens(matter)} - {stem(word) for word in STOP_WORDS} - {"everyth", "my"}
    return bool(wanted) and wanted <= {stem(word) for word in tokens(text)}


def _of_person(turn: Turn) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    for sentence in _cut(own_words(turn.text)):
        if (len(sentence.split()) < 3 and tongue(sentence) != "other") or _TALK.match(sentence):
            continue
        if sentence.endswith("?"):
            found.append((1.6, f"Asked: {_short(bare(sentence)).rstrip('?')}?"))
        elif _TASK.match(bare(sentence)):
            found.append((1.2, f"Asked to {_lowered(bare(sentence))}"))
        else:
            found.append((2.2 if _TELLS.search(sentence) else 0.9, _ended(line(sentence))))
    return found


def _of_assistant(turns: Sequence[Turn], number: int) -> list[tuple[float, str]]:
    """The first sentence of an answer to a question."""
    if not number or turns[number - 1].role != "user" or not turns[number - 1].text.rstrip().endswith("?"):
        return []
    said = _cut(turns[number].text[:READ])
    return [(1.4, f"Answer: {_ended(_short(said[0]))}")] if said else []


def _fit(weighed: list[tuple[float, str]]) -> list[str]:
    """Drop repeats, then the lightest (of equals the latest), until the rest fits; the order stays."""
    kept: dict[str, tuple[float, str]] = {}
    for weight, text in weighed:
        key = " ".join(tokens(text))
        if key and key not in kept:
            kept[key] = (weight, _ended(_short(text)))
    rows = list(kept.values())
    total = sum(len(text) + 1 for _, text in rows) - 1
    for at in sorted(range(len(rows)), key=lambda at: (rows[at][0], -at)):
        if total <= LIMIT:
            break
        total -= len(rows[at][1]) + 1
        rows[at] = (0.0, "")
    return [text for _, text in rows if text]


def _short(text: str) -> str:
    return text if len(text) <= _PIECE else text[:_PIECE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _ended(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…。！？" else text + "."


def _lowered(text: str) -> str:
    text = re.sub(r"^(?:please|can you|could you|would you)\s+", "", text.strip(), flags=re.IGNORECASE).rstrip("?!.")
    return _ended(_short(text[:1].lower() + text[1:]))
