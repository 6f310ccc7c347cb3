"""What is written at once with the preset's own tools: "remember that …", "from now on …", a yes to "shall I
remember that?"

`force` is used only after the person, shown the similar line, says that it is another fact.
"""

import re
from collections.abc import Sequence
from typing import Any

from keepbook.book.ground.patterns import regex
from keepbook.book.text.secrets import find_secrets
from keepbook.models.lines.categories import category_of
from keepbook.models.lines.matters import meant, same_matter
from keepbook.models.lines.people import subject
from keepbook.models.lines.wording import line
from keepbook.models.offline.notebook.phrases import asks
from keepbook.models.offline.notebook.talk import Talk, why
from keepbook.models.orders.answers import agrees, refuses
from keepbook.models.orders.asked import ONCE, REMEMBER, parts
from keepbook.models.orders.hear import sentences, withdrawals

_STANDING = regex(
    r"^\W*(?:(?:and|so|ok(?:ay)?|please|pls|actually|oh|hey|btw|just|also|but)\b[\s,]*)*"
    r"(?:from (?:now|today) on|going forward|in future|always|never(?! mind| again\W)|my rule(?: from today)? is|"
    r"(?:don'?t|do not|dont|stop) (?:ever )?(?:suggest|recommend|show|offer|send|call|propose|use|end|start|begin|"
    r"suggesting|recommending|using|sending|showing)\b|(?:keep|make) (?:your|all|the) (?:answers?|repl(?:y|ies)|"
    r"responses?|"
    r"messages?|summar(?:y|ies)|explanations?)\b|(?:answer|reply|respond|talk|speak|write) (?:to me )?(?:in|with|more|"
    r"less|only)\b|"
    r"i(?: really| would|'d)? (?:only (?:do|buy|use|eat|drink|want|trade|invest)|prefer|rather)\b|"
    r"ab jetzt|de ahora en adelante|fra nå av)(?!.*\b(?:today|tonight|this (?:time|one|once|text|mail|email|page)|for "
    r"now)\b)",
    re.IGNORECASE,
)
_ASKS_FIRST = regex(r"\bi(?: really| would|'d)? (?:only|prefer|rather)\b", re.IGNORECASE)
"""A statement of one's own, not an order: where the preset asks first, it is offered."""
_ANOTHER = regex(
    r"\b(?:another|different|separate|both|new|as well|too|other|keep it|andere|otro|beide|annen|begge)\b",
    re.IGNORECASE,
)
_UPDATE = regex(
    r"\b(?:update|replace|change|same|overwrite|correct|instead|änder\w*|actualiza|oppdater)\b", re.IGNORECASE
)
_STILL = regex(
    r"^\W*(?:(?:yes|yeah|yep|no|ja|sí)\W+)*(?:(?:i|we|it|that|my \w+)\b.{0,20}\bstill\b|(?:i'?m |we'?re |it'?s "
    r")?still\b|nothing(?:'s| "
    r"has)? changed|that still (?:holds|stands))",
    re.IGNORECASE,
)


def resume(talk: Talk) -> str | None:
    """The person's word on what our last message asked: keep it, or what to do about something similar."""
    if talk.last is None:
        return None
    if asks(talk.last.text, "offer"):
        return _accepted(talk)
    if asks(talk.last.text, "similar"):
        return _settled(talk)
    return None


def explicit(talk: Talk) -> str | None:
    """An explicit or standing statement, saved at once; None where there is none."""
    if not talk.tools.keeps:
        return None
    told = _told(talk.text)
    matters = [(at, what) for at, one in enumerate(told) if (what := _matter(one, talk)) is not None]
    if not matters:
        return None
    found = [what or _pointed_to(talk, told[:at]) for at, what in matters]
    lines = [line(what[start:end]) for what in found if what for start, end in parts(what)]
    return "\n".join(dict.fromkeys(keep(talk, one) for one in lines)) or talk.say("matter")


def _pointed_to(talk: Talk, before: Sequence[str]) -> str | None:
    """What "remember that" is said of: the sentence before it, else the last one of the turn before. What was refused,
    taken back or asked there is not meant."""
    previous = talk.previous or ""
    earlier = [] if refuses(previous) or withdrawals(previous) else _told(previous)
    told = [one for one in (before or earlier) if not one.endswith("?")]
    return told[-1] if told else None


def _told(text: str) -> list[str]:
    """The sentences of a message; what follows "remember the following:" belongs to it."""
    return [text[start:end].strip() for start, end in sentences(text)]


def _matter(sentence: str, talk: Talk) -> str | None:
    found = REMEMBER.match(sentence)
    if found is not None and not sentence.endswith("?") and not ONCE.match(found["what"]):
        what = found["what"].strip(" .!")
        return "" if re.fullmatch(r"(?:that|this|it|please|all that)?", what, re.IGNORECASE) else what
    if _MEANS_SO.fullmatch(sentence):
        return ""
    stands = _STANDING.match(sentence)
    if stands is None or len(sentence.split()) < 3 or sentence.endswith("?"):
        return None
    return None if talk.tools.asks_first and _ASKS_FIRST.search(stands[0]) else _PLEASE.sub("", sentence)


_MEANS_SO = regex(
    r"\W*(?:(?:and|so|please|i mean|that'?s) )*(?:from (?:now|today) on|going forward|in future|always|every time)"
    r"(?:,? (?:i mean|please|pls|that is|ok(?:ay)?|thanks?|always))*\W*",
    re.IGNORECASE,
)
""" "Print double sided. From now on I mean": it is said of the sentence before."""
_PLEASE = regex(
    r"^\W*(?:(?:and|so|ok(?:ay)?|please|pls|actually|oh|hey|btw|also|but)\b[\s,]*)+|[\s,]*\bplease\W*$", re.IGNORECASE
)


def keep(talk: Talk, content: str, *, force: bool = False) -> str:
    """Save one line with the preset's tool; what is in the book already is not said twice."""
    if find_secrets(content):
        return talk.say("secret")
    old = next((one for one in reversed(talk.conversation.known) if same_matter(content, one.content)), None)
    if old is not None and talk.tools.can("update"):
        return _answered(talk, talk.tools.do("update", memory=old.id, content=content), "updated")
    told: dict[str, Any] = {
        "content": content,
        "category": _category(talk, content),
        "confidence": "asserted",
        "subject": _subject(content),
    }
    answer = talk.tools.do("remember", **told, force=True if force else None)
    if answer.error == "similar":
        close = [one["content"] for one in answer.data["similar"]]
        return talk.say("similar", lines=talk.quote(close[:1]))
    return _answered(talk, answer, "saved")


def _subject(content: str) -> str | None:
    first = content.split(" ", 1)[0].removesuffix("'s")
    return first if subject(content) is not None and first.lower()[:3] == (subject(content) or "")[:3] else None


def _category(talk: Talk, content: str) -> str | None:
    """The category that the same line was noted with, else that of its matter, else the preset's own choice."""
    preset = talk.conversation.preset
    given = talk.conversation.categories.get(content) or (category_of(content, preset.categories) if preset else None)
    if given is not None or preset is None or not preset.categories:
        return given
    wish = next((name for name in _WISHES if name in preset.categories), None) if _WISH.match(content) else None
    return wish or preset.default_category


_WISHES = ("response_style", "preference")
_WISH = regex(
    r"(?:from (?:now|today) on|always|never|don'?t|do not|please|keep|make|use|prefers?|likes?|wants?|going forward|"
    r"in future)\b",
    re.IGNORECASE,
)
"""How a line begins that says how the person wants things."""


def _answered(talk: Talk, answer: Any, key: str) -> str:
    if answer.error:
        return talk.say("refused", why=why(answer)) if answer.error != "never_topic" else why(answer)
    if talk.tools.silent:
        return talk.say("understood")
    content = answer.data["content"]
    return talk.say("known" if answer.data.get("unchanged") else key, lines=talk.quote([content]))


def offer(talk: Talk, lines: Sequence[str]) -> str:
    return talk.say("offer", lines=talk.quote(lines))


def _accepted(talk: Talk) -> str | None:
    if refuses(talk.text):
        return talk.say("not_kept")
    if not agrees(talk.text) or talk.last is None:
        return None
    offered = re.findall(r"“([^”]+)”", talk.last.text)
    return "\n".join(keep(talk, one) for one in offered) or None


def _settled(talk: Talk) -> str | None:
    """Update the one that is stored, or keep both: `force` only now."""
    assert talk.last is not None
    conflict = next(
        (call for call in reversed(talk.last.calls) if (call.answer or "").startswith("Not saved. Close")), None
    )
    if conflict is None:
        return None
    content = next((str(value) for value in conflict.arguments.values() if isinstance(value, str) and " " in value), "")
    if _UPDATE.search(talk.text) and talk.tools.can("update"):
        shown = re.findall(r"“([^”]+)”", talk.last.text)
        old = next((one for one in talk.conversation.known if one.content in shown), None)
        return _answered(talk, talk.tools.do("update", memory=old.id, content=content), "updated") if old else None
    if _ANOTHER.search(talk.text) or agrees(talk.text):
        return keep(talk, content, force=True)
    return talk.say("not_kept") if refuses(talk.text) else None


_AFFIRMS = regex(r"\b(?:yes|yeah|yep|no|still|only|it'?s|i'?m|that|holds|stands)\b", re.IGNORECASE)


def still(talk: Talk) -> str | None:
    """ "Yes, still …": the memory it speaks of stays fresh."""
    if not talk.tools.can("confirm") or not _STILL.match(talk.text):
        return None
    shown = talk.last.text if talk.last else ""
    known = talk.conversation.known
    spoken = [one for one in known if one.content.rstrip(".") in shown]
    named = meant(_AFFIRMS.sub("", talk.text), known)
    chosen = (named or spoken)[:1]
    return _answered(talk, talk.tools.do("confirm", memory=chosen[0].id), "confirmed") if chosen else None
