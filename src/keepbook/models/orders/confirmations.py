"""What is said about an order: to the person by the notebook, to a remote model in hidden context.

One short line each. A question lists what could be meant, or shows the new sentence in full; what could not be done
says why.
"""

from collections.abc import Sequence

from keepbook.models.lines.wording import joined
from keepbook.models.orders.values import Deed

EVERYTHING = "everything about "
NAMED = 3
"""So many chats are named."""
NOTHING_FOUND = "I find nothing about {matter}. If it is said again in this chat, I leave it out."


def told(deeds: Sequence[Deed]) -> str:
    """What the person is told."""
    return "\n".join(dict.fromkeys(filter(None, map(_told, deeds))))


def asks(deeds: Sequence[Deed]) -> bool:
    return any(deed.question is not None for deed in deeds)


def _told(deed: Deed) -> str:
    if deed.failed:
        return deed.failed
    if deed.question is not None:
        return _question(deed)
    if deed.dropped:
        return "All right, I leave it as it is."
    match deed.kind:
        case "never":
            topics = " and ".join(deed.topics)
            return (
                f"You asked never to keep anything about {topics}: I never will, in this chat or any other. "
                "The settings page lists your topics."
            )
        case "undo" if deed.changes:
            return f"Put back: {joined([deed.matter])}."
        case "undo":
            return f"Taken back: {joined([deed.matter])}." if deed.matter else "Taken back: that order holds no longer."
        case "withdraw":
            return _withdrawn(deed)
    return _changed(deed)


def _withdrawn(deed: Deed) -> str:
    gone = [change.old for change in deed.changes if change.old is not None and change.new is None]
    left = [change.new for change in deed.changes if change.new is not None]
    about = f" ({deed.matter.removeprefix(EVERYTHING)})" if deed.matter else ""
    stays = f"Taken out{about}. It says now: {joined(left)}." if left else ""
    if not gone and left:
        return stays
    if not gone:
        if deed.matter and deed.chats:
            return f"Your book says nothing about “{deed.matter.removeprefix(EVERYTHING)}”. {_in_chats(deed)}"
        if deed.matter:
            return NOTHING_FOUND.format(matter=f"“{deed.matter.removeprefix(EVERYTHING)}”")
        return "All right, I keep nothing of that."
    lines = joined(dict.fromkeys(one.content for one in gone))
    kept = any(one.memory for one in gone)
    told = f"{'Forgotten, and not kept from this chat' if kept else 'I will not keep'}{about}: {lines}."
    return "\n".join(filter(None, [told, stays, _in_chats(deed)]))


def _in_chats(deed: Deed) -> str:
    """What earlier chats say stays there, and is quoted no more."""
    if not deed.chats:
        return ""
    some, more = [f"“{title}”" for title in deed.chats[:NAMED]], len(deed.chats) - NAMED
    listed = (
        f"{', '.join(some)} and {more} more"
        if more > 0
        else " and ".join(filter(None, [", ".join(some[:-1]), some[-1]]))
    )
    chats = "An earlier chat speaks" if len(deed.chats) == 1 else f"{len(deed.chats)} earlier chats speak"
    return (
        f"{chats} of it ({listed}): I will not bring that up again, and nothing of it is kept. "
        "To be rid of the words themselves, delete the chat."
    )


def _changed(deed: Deed) -> str:
    lines = []
    for change in deed.changes:
        if change.new is None:
            lines.append(f"I will not keep: {joined([change.old.content])}." if change.old else "")
        elif change.old is None:
            lines.append(f"Noted: {joined([change.new])}.")
        else:
            lines.append(f"Corrected: {joined([change.new])}. Before, it said {joined([change.old.content])}.")
    return "\n".join(filter(None, lines))


def _question(deed: Deed) -> str:
    asked = deed.question
    assert asked is not None
    if asked.kind == "which":
        listed = "\n".join(f"{number}. {one.content}" for number, one in enumerate(asked.options, 1))
        return f"Several things fit:\n{listed}\nWhich one shall I forget?"
    old = asked.options[0].content
    if not asked.lines:
        return f"It says: {joined([old])}. What should the whole sentence be?"
    if len(asked.lines) == 1:
        return f"Before: {joined([old])}\nThen: {joined(asked.lines)}\nShall I change it?"
    listed = "\n".join(f"{number}. {one}" for number, one in enumerate(asked.lines, 1))
    several = len(asked.options) == len(asked.lines)
    return f"{'Several things fit.' if several else f'It says: {joined([old])}.'} Which is right?\n{listed}"


def for_model(deeds: Sequence[Deed]) -> str | None:
    """Hidden context for a model that answers: it is done, or it is to be asked; never done again with a tool."""
    if not deeds:
        return None
    said = told(deeds)
    if asks(deeds):
        return (
            "The person's message is an order to their memory. Nothing is changed before they answer. Ask them "
            "this, in their "
            f"language, and call no tool for it:\n{said}"
        )
    return (
        "The person's message is an order to their memory. It has been carried out already; do not call a tool "
        "for it. Tell "
        f"them in half a sentence, in their language:\n{said}"
    )
