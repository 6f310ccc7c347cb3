"""Running summary and title of a chat without a model: sentences chosen, never invented.

The summary keeps what was said in order and drops the lightest first when it grows past its bound, so that a long
chat costs
what a short one does. What the person asked to leave out, secrets and pasted text are not in it. The title is the
matter of
the first exchange in three to five words.
"""

import re
from collections.abc import Sequence

from keepbook.book.text.secrets import redact
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.models.lines.wording import bare, line, tongue
from keepbook.models.model import Turn
from keepbook.models.orders.hear import sentences, withdrawals

LIMIT = 1_000
READ = 4_000
"""How much of a turn is read; what is longer is pasted."""
_PIECE = 160
_LONGEST = 24
_WORDS = (3, 5)
_UNTITLED = "New chat"
_QUOTED = re.compile(r"```.*?```|\"[^\"\n]{20,}\"|“[^”\n]{20,}”|^>.*$", re.DOTALL | re.MULTILINE)
_LIST_END = re.compile(r"(?<=[:：])\s*\n.*", re.DOTALL)
_TASK = re.compile(
    r"^(?:please|can you|could you|would you|help me|write|draft|make|give|find|show|explain|summari[sz]e|"
    r"translate|check|run|tell)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"^(?:hi|hello|hey|thanks|thank you|ok|okay|yes|no|sure|great|cool|lol|bye|good (?:morning|evening))\b[^.]{0,20}$",
    re.IGNORECASE,
)
_TELLS = re.compile(r"\b(?:i|i'm|im|my|we|our|ich|mein\w*|yo|mi|jeg|min)\b", re.IGNORECASE)


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


def _own(text: str) -> str:
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
    for sentence in _cut(_own(turn.text)):
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


# --- title


def title(turns: Sequence[Turn]) -> str:
    """The matter of the first exchange in three to five words, in sentence case; never a cut sentence."""
    person = next((t for t in turns[:12] if t.role == "user" and re.search(r"\w", t.text)), None)
    if person is None:
        return _UNTITLED
    answer = next((t.text[:READ] for t in turns[:12] if t.role == "assistant"), "")
    own = _own(person.text).strip() or person.text.split("\n", 1)[0][:READ]
    if re.search(r"[぀-ヿ㐀-鿿฀-๿]", own):
        return _unspaced(own)
    said = [redact(bare(one)) for one in _cut(own)]
    words = _matter(said, answer)
    if len(words) < _WORDS[0]:
        known = {word.lower() for word in words}
        words += [word for word in _heavy(answer) if word.lower() not in known][: _WORDS[0] - len(words)]
    text = " ".join(map(_no_longer, words[: _WORDS[1]])).strip(" '’-:/")
    return text[:1].upper() + text[1:] or _UNTITLED


def _no_longer(word: str) -> str:
    """A word that no title has room for, such as an address, shows how it begins."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _unspaced(text: str) -> str:
    parts = [p for p in re.split(r"[，。！？,.!?\s]+", text) if len(p) > 2 and not re.match(r"你好|您好|สวัสดี", p)]
    return (parts[0] if parts else text.strip())[:20]


def _heavy(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w€£$%'’:/-]+", text) if not _light(word)]


def _matter(said: Sequence[str], answer: str) -> list[str]:
    """The heaviest words of the first sentences, in their order: names, figures, and what the answer takes up."""
    echoed = {stem(word) for word in tokens(answer)}
    scored: list[tuple[float, int, str]] = []
    seen: set[str] = set()
    for number, sentence in enumerate(said[:3]):
        words = re.findall(r"[\w€£$%'’:/-]+", sentence)
        for at, word in enumerate(words):
            if _light(word) or stem(word.lower()) in seen:
                continue
            seen.add(stem(word.lower()))
            weight = (
                1.0
                + 0.6 * (stem(word.lower()) in echoed)
                + 0.7 * (word[0].isupper() and at > 0)
                - 0.04 * at
                - 0.5 * number
            )
            scored.append((weight, len(scored), word))
    best = sorted(scored, key=lambda one: -one[0])[:4]
    return [word for _, _, word in sorted(best, key=lambda one: one[1])]


def _light(word: str) -> bool:
    low = word.lower()
    return low in STOP_WORDS or low in _FILLER or len(word) < 2 or low.endswith("n't")


_FILLER = frozenset(
    [
        "planning",
        "thinking",
        "looking",
        "trying",
        "wondering",
        "sorting",
        "can",
        "could",
        "please",
        "help",
        "want",
        "need",
        "like",
        "today",
        "just",
        "really",
        "quick",
        "hey",
        "hi",
        "hello",
        "morning",
        "evening",
        "afternoon",
        "ugh",
        "ok",
        "okay",
        "thanks",
        "got",
        "get",
        "i'm",
        "i've",
        "i'd",
        "it's",
        "that's",
        "what's",
        "don't",
        "let's",
        "one",
        "thing",
        "things",
        "bit",
        "lot",
        "way",
        "also",
        "going",
        "know",
        "tell",
        "make",
        "would",
        "should",
        "there's",
        "we're",
        "we've",
        "something",
        "someone",
        "somebody",
        "say",
        "put",
        "give",
        "look",
        "see",
        "im",
        "ive",
        "dont",
        "whats",
        "thats",
        "remember",
        "note",
        "forget",
    ]
)
