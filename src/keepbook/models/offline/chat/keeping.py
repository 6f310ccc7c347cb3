"""What is done to the book: keep, change, forget, confirm, take back. Each answers with what to say about it.

Before something is added the book is looked at: what it says already is not said twice, and a new value of the same
matter takes the place of the old one. Where several memories may be meant, nothing is touched and the person is asked.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.words import fold, polarity
from keepbook.models.offline.chat import matching
from keepbook.models.offline.chat.intents import Intent, lasting, statements
from keepbook.models.offline.chat.known_here import Held, of_data
from keepbook.models.offline.chat.turn import Talk, listed, why
from keepbook.models.offline.chat.wording import Fact, facts_of, reworded
from keepbook.models.offline.extract import evidence
from keepbook.tools.definition import Answer

_CHANGED = re.compile(
    r"\b(?:now|moved|changed|switched|no longer|any ?more|instead|these days|nowadays)\b", re.IGNORECASE
)
_UNSURE = {"question", "hypothetical", "hedged", "sarcasm", "somebody else's words", "chatter"}
_ALL = re.compile(r"\b(?:all|both|everything|each|todo|todos|ambos|alles|beide|alt|begge)\b", re.IGNORECASE)


# --- keeping


def keep(talk: Talk, intent: Intent) -> str:
    if refused := talk.off():
        return refused
    if find_secrets(intent.matter):
        return secret(talk)
    found = facts_of(intent.matter, talk.tongue, talk.kit.categories)
    return say_all(keep_fact(talk, fact, intent.matter) for fact in found) or talk.say("matter_end")


def keep_before(talk: Talk, _: Intent) -> str:
    """ "Remember that": what the person said last."""
    if refused := talk.off():
        return refused
    told = statements(talk.previous.text, talk.tongue) if talk.previous else []
    if not told:
        return talk.say("matter_end")
    return say_all(keep(talk, Intent("save", one, tongue=talk.tongue)) for one in told)


def secret(talk: Talk) -> str:
    return talk.say("secret")


def keep_fact(talk: Talk, fact: Fact, matter: str) -> str:
    """Keep one fact, in the place of what it repeats or replaces."""
    near = talk.search(fact.content)
    known = next((held for held in near if matching.same(fact.content, held.content)), None)
    if known is not None and not known.automatic:
        return _told(talk, "known", known.content)
    old = known or matching.replaced(fact.content, near, changed=bool(_CHANGED.search(matter)))
    return change(talk, old, fact.content) if old else _add(talk, fact, near)


def _add(talk: Talk, fact: Fact, near: Sequence[Held]) -> str:
    """Save a new line. A conflict with something close is settled by judgement, or asked about."""
    answer = save(talk, fact)
    if answer.error == "similar":
        close = [of_data(memory) for memory in answer.data["similar"]]
        if all(matching.kinship(fact.content, held.content) <= 0.5 for held in close):
            answer = save(talk, fact, force=True)  # the same person or project, another matter
        else:
            return f"{talk.say('similar')}\n{listed(close)}\n{talk.say('similar_end')}"
    if answer.error:
        return talk.say("refused", why=why(answer))
    if answer.data.get("unchanged"):
        return _told(talk, "known", answer.data["content"])
    said = _told(talk, "saved", answer.data["content"])
    rivals = [held for held in near if matching.kinship(fact.content, held.content) >= 1.0]
    if talk.kit.quiet or len(rivals) != 1:
        return said
    return f"{said}\n{talk.say('also_close', line=_bare(rivals[0].content))} {talk.say('close_end')}"


def save(talk: Talk, fact: Fact, *, force: bool = False) -> Answer:
    told = {"content": fact.content, "category": fact.category, "subject": fact.subject, "confidence": "asserted"}
    forced = True if force else None
    answer = talk.kit.do("save", **told, since=fact.since, force=forced)
    if answer.error and fact.since and answer.error != "similar":
        answer = talk.kit.do("save", **told, force=forced)  # words that are no date after all
    return answer


# --- changing


def change(talk: Talk, held: Held, content: str, *, mistake: bool = False) -> str:
    """Say a memory anew; where there is no such tool, forget the old line and keep the new one."""
    if find_secrets(content):
        return secret(talk)
    kit = talk.kit
    if kit.can("update"):
        answer = kit.do("update", memory=held.ref, content=content, correction=mistake or None)
        if answer.error == "not_found" and held.id:
            answer = kit.do("update", memory=held.content, content=content, correction=mistake or None)
    elif kit.can("forget") and kit.keeps:
        gone = kit.do("forget", memory=held.ref, reason="user_corrected")
        if gone.error:
            return talk.say("refused", why=why(gone))
        answer = save(talk, facts_of(content, talk.tongue, kit.categories)[0]._replace(content=content))
        if answer.error:  # the old line must not be lost for a new one that cannot be kept
            save(talk, Fact(held.content, held.category))
    else:
        return talk.off() or talk.say("cannot_change")
    if answer.error:
        return talk.say("refused", why=why(answer))
    if answer.data.get("unchanged"):
        return _told(talk, "known", answer.data["content"])
    return _told(talk, "updated", answer.data["content"], old=_bare(held.content))


def mend(talk: Talk, intent: Intent) -> str | None:
    """ "Actually, …": the memory it corrects says it anew; without one it is a new fact, if it is a fact at all."""
    if refused := talk.off():
        return refused
    matter, old = intent.matter, intent.old
    if find_secrets(matter):
        return secret(talk)
    if matching.fragment(matter, talk.tongue):
        return _mend_value(talk, intent)
    if talk.tongue == "en" and evidence.ruled_out(matter, matter) in _UNSURE:
        return None
    content = reworded(matter, talk.tongue)
    targets = _narrowed(talk, matching.corrected(content, old, talk.search(f"{old} {content}")))
    if len(targets) > 1:
        return _which(talk, "which_correct", targets)
    if targets:
        return change(talk, targets[0], content, mistake=intent.mistake)
    if intent.kind == "contrast" or not lasting(matter, talk.tongue):
        return None
    return keep(talk, intent)


def _mend_value(talk: Talk, intent: Intent) -> str | None:
    """ "It's Rex", "700": a value for the memory just spoken of, or for the one that is named."""
    value, old = matching.value_of(intent.matter), intent.old
    if not value:
        return None
    targets = matching.corrected(value, old, talk.search(old)) if old else talk.quoted()
    if old and len(targets) != 1:
        targets = _narrowed(talk, targets) or targets
    if len(targets) > 1:
        return _which(talk, "which_correct", targets)
    if targets:
        content = matching.with_value(targets[0].content, value, old)
        return change(talk, targets[0], content, mistake=intent.mistake) if content else ask_edit(talk, targets[0])
    told = f"{old} is {value}"
    if intent.kind == "contrast":
        return None
    if old and re.match(r"(?:my|our)\b", old, re.IGNORECASE) and lasting(told, talk.tongue):
        return keep(talk, Intent("save", told, tongue=talk.tongue))
    return talk.say("missing", matter=old) if old else None


def wrong(talk: Talk, _: Intent) -> str | None:
    """ "That's wrong": what should it say?"""
    spoken = talk.quoted()
    if not spoken:
        return None
    return ask_edit(talk, spoken[0]) if len(spoken) == 1 else _which(talk, "which_correct", spoken)


def stale(talk: Talk, intent: Intent) -> str | None:
    """ "My address has changed": to what?"""
    found = matching.meant(intent.matter, talk.search(intent.matter)) if talk.kit.keeps else []
    return ask_edit(talk, found[0]) if len(found) == 1 else None


def ask_edit(talk: Talk, held: Held) -> str:
    return f"{talk.say('edit', line=held.content)} {talk.say('edit_end')}"


# --- forgetting


def forget(talk: Talk, intent: Intent) -> str:
    if refused := talk.off():
        return refused
    targets = matching.meant(intent.matter, talk.search(intent.matter))
    if not targets and talk.kit.quiet and " " in reworded(intent.matter, talk.tongue):
        return _forget_unseen(talk, intent)
    if not targets:
        return talk.say("missing", matter=intent.matter)
    if len(targets) > 1 and not intent.all:
        return _which(talk, "which_forget", targets)
    return forget_these(talk, targets)


def forget_these(talk: Talk, targets: Sequence[Held]) -> str:
    if not talk.kit.can("forget"):
        return "\n".join(talk.say("cannot_forget", line=held.content, id=held.id or "–") for held in targets)
    return say_all(_forget_one(talk, held) for held in targets)


def _forget_one(talk: Talk, held: Held) -> str:
    answer = talk.kit.do("forget", memory=held.ref, reason="user_deleted")
    if answer.error == "not_found" and held.id:
        answer = talk.kit.do("forget", memory=held.content, reason="user_deleted")
    if answer.error:
        return talk.say("refused", why=why(answer))
    return talk.say("forgotten", line=_bare(answer.data["content"]))


def _forget_unseen(talk: Talk, intent: Intent) -> str:
    """Where nothing can be looked up, the tool may still know what is meant: it takes a piece of the text. One word
    would be too small a piece: "cat" is also in a certificate."""
    answer = talk.kit.do("forget", memory=reworded(intent.matter, talk.tongue), reason="user_deleted")
    if answer.error == "ambiguous":
        return _which(talk, "which_forget", [Held(one["content"], one["id"]) for one in answer.data["candidates"]])
    if answer.error:
        return talk.say("missing", matter=intent.matter)
    return talk.say("forgotten", line=_bare(answer.data["content"]))


def ended(talk: Talk, intent: Intent) -> str | None:
    """ "I no longer …": what says that it is so goes; where nothing can go, it says that it is over."""
    if refused := talk.off():
        return refused
    found = matching.meant(intent.matter, talk.search(intent.matter))
    targets = [held for held in found if polarity(held.content) == polarity(intent.matter)]
    if not targets:
        return None
    if len(targets) > 1:
        return _which(talk, "which_forget", targets)
    if talk.kit.can("forget"):
        return forget_these(talk, targets)
    content = targets[0].content
    verb = re.match(r"(?:Is|Has|[A-Z][a-z]+s)\b", content)
    over = f"No longer {content[0].lower()}{content[1:]}" if verb else f"No longer true: {content}"
    return change(talk, targets[0], over)


def take_back(talk: Talk, intent: Intent) -> str:
    """Undo what our last message wrote; "don't remember that" means only what it kept."""
    written = [call.memory_event for call in talk.last.calls if call.memory_event] if talk.last else []
    events = [event for event in written if intent.kind == "undo" or event["op"] in ("remember", "update")]
    said = say_all(_reverted(talk, event) for event in reversed(events)) or talk.off()
    if said or intent.kind == "undo":
        return said or talk.say("nothing_back")
    # "Don't store my address" is said of something that is stored already, or of nothing.
    stored = matching.meant(intent.matter, talk.search(intent.matter)) if intent.matter else []
    return forget_these(talk, stored) if len(stored) == 1 else talk.say("declined")


def drop(talk: Talk, intent: Intent) -> str:
    """ "Delete that": what was just kept, else what was just told."""
    written = any(call.memory_event for call in talk.last.calls) if talk.last else False
    spoken = [] if written else talk.quoted()
    if not spoken:
        return take_back(talk, intent)
    return forget_these(talk, spoken) if len(spoken) == 1 else _which(talk, "which_forget", spoken)


def _reverted(talk: Talk, event: dict[str, Any]) -> str:
    before, after = event.get("before") or {}, event.get("after") or {}
    held = Held(after.get("content", ""), event["id"])
    match event["op"]:
        case "remember":
            said = forget_these(talk, [held])
        case "update":
            said = change(talk, held, before["content"], mistake=True)
        case "forget":
            said = why(save(talk, Fact(before["content"], before.get("category"), before.get("subject")), force=True))
        case _:
            return ""
    if not (talk.kit.made and talk.kit.made[-1].memory_event):
        return said
    gone = event["op"] == "remember"
    return talk.say("taken_back" if gone else "back", line=_bare(held.content if gone else before["content"]))


# --- confirming


def confirm(talk: Talk, intent: Intent) -> str | None:
    """ "Yes, still …": the memory it speaks of stays fresh. Without one it is only talk."""
    if refused := talk.off():
        return refused
    if intent.matter:
        found = matching.meant(intent.matter, talk.search(intent.matter))
        targets = [held for held in found if polarity(held.content) == polarity(intent.matter)]
        targets = _narrowed(talk, targets)
    else:
        targets = talk.quoted()
    if not targets:
        return None if intent.matter else talk.say("ack")
    if len(targets) > 1 and not _ALL.search(talk.text):
        return _which(talk, "which_confirm", targets)
    return confirm_these(talk, targets)


def confirm_these(talk: Talk, targets: Sequence[Held]) -> str:
    return say_all(_confirm_one(talk, held) for held in targets)


def _confirm_one(talk: Talk, held: Held) -> str:
    if not talk.kit.can("confirm"):
        return talk.say("still", line=_bare(held.content))
    answer = talk.kit.do("confirm", memory=held.ref)
    return talk.say("refused", why=why(answer)) if answer.error else talk.say("confirmed", line=_bare(held.content))


# --- what they share


def _narrowed(talk: Talk, targets: list[Held]) -> list[Held]:
    """Of several, the ones just spoken of, if any."""
    if len(targets) < 2:
        return targets
    spoken = {fold(held.content) for held in talk.quoted()}
    return [held for held in targets if fold(held.content) in spoken] or targets


def _which(talk: Talk, question: str, targets: Sequence[Held]) -> str:
    return f"{talk.say('several')}\n{listed(targets[:9])}\n{talk.say(question)}"


def _told(talk: Talk, key: str, content: str, **told: str) -> str:
    """What was done, or only that it was heard where keeping is silent."""
    return talk.say("understood") if talk.kit.quiet else talk.say(key, line=_bare(content), **told)


def _bare(content: str) -> str:
    """Without an end mark, since the sentence around it has one."""
    return content.rstrip(" .")


def say_all(said: Iterable[str]) -> str:
    """Every line once, and what asks last: only there is a question found again."""
    lines = dict.fromkeys(line for line in said if line)
    return "\n".join(sorted(lines, key=lambda line: line.endswith("?")))
