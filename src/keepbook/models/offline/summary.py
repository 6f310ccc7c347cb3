"""Running summary and title of a chat without a model: sentences chosen, never invented.

The summary keeps what was said in order and drops the lightest first when it grows past its bound, so that
a long chat costs what a short one does. What the person asked to leave out, secrets and pasted text are not
in it. The title is the keyphrase of the first exchange.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.text.secrets import redact
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.models.closing import rules
from keepbook.models.model import Turn
from keepbook.models.offline.extract import dialog, evidence, other_languages, speech_acts
from keepbook.models.offline.extract.clauses import own_words, sentences, squeezed, tidy
from keepbook.models.offline.extract.english import word_set
from keepbook.models.offline.extract.third_person import line

LIMIT = 1_000
_PIECE = 160
_WORDS = (3, 5)
_UNTITLED = "New chat"


# --- summary ----------------------------------------------------------------------------------------


def summarise(previous: str | None, turns: Sequence[Turn]) -> str:
    """The earlier summary and what these turns add, in at most `LIMIT` characters."""
    turns = [replace(turn, text=squeezed(turn.text)) for turn in turns]
    weighed: list[tuple[float, str]] = []
    for n, old in enumerate(_stored(previous)):
        # What was kept before stays above small talk, and its beginning (what the chat is about) above its middle.
        weighed.append((2.5 if n == 0 else 1.9, old))
    left_out = _left_out(turns)
    for number, turn in enumerate(turns):
        if turn.role == "user" and number not in left_out:
            weighed += _of_person(turn)
        elif turn.role == "assistant" and number - 1 not in left_out:
            weighed += _of_assistant(turns, number)
    return redact(" ".join(_fit(weighed)))


def _stored(previous: str | None) -> list[str]:
    return [s for s in sentences(previous or "") if s.strip()]


def _left_out(turns: Sequence[Turn]) -> set[int]:
    """Turns the person asked to leave out, and the turns that say so."""
    out: set[int] = set()
    before: int | None = None
    for number, turn in enumerate(turns):
        if turn.role != "user":
            continue
        asked = turns[number - 1].text if number and turns[number - 1].role == "assistant" else ""
        refused = dialog.asks_to_keep(asked) and dialog.NO.match(turn.text)
        if dialog.ALL.search(turn.text) and rules.DECLINE.search(turn.text):
            out.update(range(number + 1))
        elif rules.DECLINE.search(turn.text) or dialog.AHEAD.search(turn.text) or refused:
            out.add(number)
            if before is not None and not dialog.AHEAD.search(turn.text):
                out.add(before)
        before = number
    return out


def _of_person(turn: Turn) -> list[tuple[float, str]]:
    own = own_words(turn.text)
    if other_languages.detect(own) != "en":
        return [(2.0, _ended(s)) for s in sentences(own) if len(s) > 3]
    found: list[tuple[float, str]] = []
    for sentence in sentences(tidy(own)):
        weighed = evidence.weigh(sentence, sentence)
        if weighed.reason == "chatter" or len(sentence.split()) < 3:
            continue
        if speech_acts.question(sentence):
            found.append((1.6, f"Asked: {_short(speech_acts.opening(sentence)).rstrip('?')}?"))
        elif speech_acts.one_off(sentence):
            found.append((1.2, f"Asked to {_lowered(speech_acts.opening(sentence))}"))
        else:
            found.append((min(weighed.weight, 4.0) if weighed.reason is None else 0.8, _ended(line(sentence))))
    return found


def _of_assistant(turns: Sequence[Turn], number: int) -> list[tuple[float, str]]:
    """The first sentence of an answer to a question."""
    if not number or turns[number - 1].role != "user" or not turns[number - 1].text.rstrip().endswith("?"):
        return []
    said = sentences(turns[number].text)
    return [(1.4, f"Answer: {_ended(_short(said[0]))}")] if said else []


def _fit(weighed: list[tuple[float, str]]) -> list[str]:
    """Drop repeats, then the lightest (of equals the latest), until the rest fits; the order stays."""
    kept: list[tuple[float, str]] = []
    seen: set[str] = set()
    for weight, text in weighed:
        key = " ".join(tokens(text))
        if key and key not in seen:
            seen.add(key)
            kept.append((weight, _ended(_short(text))))
    while kept and sum(len(text) + 1 for _, text in kept) - 1 > LIMIT:
        lightest = min(range(len(kept)), key=lambda n: (kept[n][0], -n))
        del kept[lightest]
    return [text for _, text in kept]


def _short(text: str) -> str:
    if len(text) <= _PIECE:
        return text
    return text[:_PIECE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _ended(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…。！？" else text + "."


def _lowered(text: str) -> str:
    text = re.sub(r"^(?:please|can you|could you|would you)\s+", "", text.strip(), flags=re.IGNORECASE).rstrip("?!.")
    return _ended(_short(text[:1].lower() + text[1:]))


# --- title ------------------------------------------------------------------------------------------


def title(turns: Sequence[Turn]) -> str:
    """Three to five words on what the first exchange is about, in sentence case."""
    turns = [replace(turn, text=squeezed(turn.text)) for turn in turns[:12]]
    person = next((t for t in turns if t.role == "user" and re.search(r"\w", t.text)), None)
    if person is None:
        return _UNTITLED
    answer = next((t.text for t in turns if t.role == "assistant"), "")
    own = own_words(person.text) or person.text.split("\n", 1)[0]
    if other_languages.detect(own) in ("zh", "th"):
        return _unspaced(own)
    said = [redact(speech_acts.opening(s)) for s in sentences(tidy(own))]
    best = max((_best_span(s, answer, n) for n, s in enumerate(said[:4])), default=(0.0, ""), key=lambda b: b[0])[1]
    words = best.split() or " ".join(said).split()[: _WORDS[1]]
    if len(words) < _WORDS[0]:
        words += [w for w in _content(answer) if w.lower() not in {x.lower() for x in words}][: _WORDS[0] - len(words)]
    return _cased(" ".join(words[: _WORDS[1]])) or _UNTITLED


def _unspaced(text: str) -> str:
    parts = [p for p in re.split(r"[，。！？,.!?\s]+", text) if len(p) > 2 and not re.match(r"你好|您好|สวัสดี", p)]
    return (parts[0] if parts else text.strip())[:20]


def _content(text: str) -> list[str]:
    found = re.findall(r"[\w€£$%'’-]+", text)
    return [w for w in found if w.lower() not in STOP_WORDS and len(w) > 2]


def _best_span(sentence: str, answer: str, number: int) -> tuple[float, str]:
    """The densest run of three to five words; words that the answer takes up weigh more, later sentences less."""
    words = re.findall(r"[\w€£$%'’:/-]+", sentence)
    echoed = {stem(t) for t in tokens(answer)}
    best = (0.0, "")
    for size in range(_WORDS[0], _WORDS[1] + 1):
        for start in range(len(words) - size + 1):
            span = words[start : start + size]
            if _light(span[0]) or _light(span[-1]):
                continue
            heavy = [w for w in span if not _light(w)]
            score = sum(
                1.0 + 0.6 * (stem(w.lower()) in echoed) + 0.7 * (w[0].isupper() and n > 0) for n, w in enumerate(heavy)
            )
            score = score / size**0.5 - 0.1 * start - 0.3 * number
            if score > best[0]:
                best = (score, " ".join(span))
    return best


def _light(word: str) -> bool:
    return word.lower() in STOP_WORDS or word.lower() in _FILLER or len(word) < 2


_FILLER = word_set(
    """
    planning thinking looking trying wondering sorting
    can could please help want need like today just really quick hey hi hello morning evening afternoon ugh ok
    okay thanks got get i'm i've i'd it's that's what's don't let's one thing things bit lot way also going know
    tell make would should there's we're we've something someone somebody say put give look see
    """
)


def _cased(text: str) -> str:
    text = text.strip(" '’-:/")
    return text[:1].upper() + text[1:]
