"""Which steps of one turn can be done together."""

from collections.abc import Sequence

from keepbook.book.text.topics import find_topics
from keepbook.models.notebook.values import Scene, TurnStep


def compatible_steps(steps: Sequence[TurnStep], scene: Scene) -> list[TurnStep]:
    """The steps of a turn, without those that another step makes needless or forbids."""
    return [step for step in _once_each(steps) if _may_stand_beside(step, steps, scene)]


def _once_each(steps: Sequence[TurnStep]) -> list[TurnStep]:
    """The steps, without an offer of words that another step keeps, or an earlier one offers."""
    kept = [one.quotation.content for one in steps if one.act != "offer" and one.quotation is not None]
    found: list[TurnStep] = []
    for step in steps:
        if step.act == "offer" and step.quotation is not None:
            if any(step.quotation.content in other for other in kept):
                continue
            kept.append(step.quotation.content)
        found.append(step)
    return found


def _may_stand_beside(step: TurnStep, steps: Sequence[TurnStep], scene: Scene) -> bool:
    """Nothing is kept of words that the same turn takes back, of a topic it forbids, or while it asks for no memory."""
    if step.quotation is None:
        return True
    if any(other.act == "off" for other in steps):
        return False
    words = step.quotation.content
    if any(find_topics(words, other.topics, scene.sense) for other in steps if other.act == "never"):
        return False
    number = scene.turn.number
    taken = [span for other in steps if other is not step for span in other.withdrawn if span[0] == number]
    return not any(step.start < end and start < step.end for _, start, end in taken)
