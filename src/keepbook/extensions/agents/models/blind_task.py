"""The task of a specialist: a run's prompt without sentences about a position or an earlier decision.

A specialist should form a view of its own. A prompt may say what is held ("I'm long from 1,850, stop 1,700: what
now?"): such sentences are left out, and only the symbols in them are kept. If nothing is left, the task is the agent's
name. For a card that is followed as a trade, the check is strict. Other prompts may contain code or documents, so there
only sentences are left out that speak explicitly of somebody's own holding.
"""

from collections.abc import Sequence

from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.models.card_rules import symbols_in
from keepbook.patterns import regex

_ENDS = regex(r"(?<=[.!?;:…])[ \t]+|\n")
_OWN = regex(
    r"(?i)\b(?:my|our|your|meine[nr]?|unsere[nr]?|mi|nuestra|ma|notre|min|vår)\s{1,3}"
    r"(?:(?:open|current|existing|offene|aktuelle)\s{1,3})?"
    r"(?:positions?|positionen|posición|posisjon|holdings?|exposure|entry|entries|stop(?:[- ]loss)?|trades?)\b"
)
_HOLDS = regex(
    r"(?i)\b(?:i|we|you|ich|wir)(?:['’](?:m|re|ve))?(?: (?:am|are|have|had|still|bin|sind|habe|haben|went|got))?"
    r"(?: [\w'’]{1,20}){0,2}? (?:hold|holding|held|owned?|bought|sold|long|short|halte|halten|gekauft|verkauft)\b"
)
_OPEN = regex(
    r"(?i)\b(?:open|current|existing|offene|aktuelle)\s{1,3}(?:positions?|positionen|trades?|holdings?|exposure)\b"
)
_DECIDED = regex(
    r"(?i)\b(?:your|the|my|our)\s{1,3}(?:last|earlier|previous|latest)\s{1,3}(?:decision|card|call|trade|run|verdict)s?\b"
)
_SIDE = regex(
    r"(?i)(?<!in )(?<!how )(?<!as )(?<!so )\b(long|short)\b(?![- ]?(?:terms?|runs?|dated|time|lived|answer)\b)"
)
_LEVEL = regex(
    r"(?i)\b(?:entry|entered|stop(?:ped)?|stop[- ]loss|target|take[- ]profit|bought|sold|position|p&l|pnl)\b"
)
_FIGURE = regex(r"\d")


def blind_task(prompt: str, agent: Agent, card: CardType, figures: Sequence[float] = ()) -> str:
    """The prompt as a specialist may see it. `figures` are the prices of the agent's open decisions; a sentence with
    one of them is left out."""
    known = {f"{figure:.10g}" for figure in figures}
    strict = card.follow is not None
    kept, dropped = list[str](), list[str]()
    for sentence in filter(str.strip, _ENDS.split(prompt)):
        if _tells_of_position(sentence, known, strict=strict):
            dropped.append(sentence)
        else:
            kept.append(sentence)
    if not dropped:
        return prompt
    text = "\n".join(kept).strip()
    named = [symbol for symbol in symbols_in(" ".join(dropped)) if symbol not in text]
    return "\n".join(filter(None, [", ".join(named), text])) or agent.name


def _tells_of_position(sentence: str, known: set[str], *, strict: bool) -> bool:
    if known & set(sentence.replace(",", "").split()):
        return True
    if not strict:
        own = _OWN.search(sentence) or _HOLDS.search(sentence)
        return bool(own and symbols_in(sentence))
    if any(pattern.search(sentence) for pattern in (_OWN, _HOLDS, _OPEN, _DECIDED)):
        return True
    sides = {side.lower() for side in _SIDE.findall(sentence)}
    return len(sides) == 1 or bool(_LEVEL.search(sentence) and _FIGURE.search(sentence))
