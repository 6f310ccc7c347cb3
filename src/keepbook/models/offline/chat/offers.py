"""What our last message left open, and the person's word on it.

An open question is found again in that message: its last sentence, the numbers it listed, the calls it made. A word
that does not fit the question is read as anything else.
"""

import re
from collections.abc import Iterable, Sequence

from keepbook.models.offline.chat import keeping, matching, trading
from keepbook.models.offline.chat.intents import Intent, lasting, one, read, statements
from keepbook.models.offline.chat.known_here import Held, told_in
from keepbook.models.offline.chat.phrases import asks
from keepbook.models.offline.chat.turn import Talk, why
from keepbook.models.offline.chat.wording import Fact, facts_of, reworded
from keepbook.models.offline.extract import dialog

_EDIT = re.compile(
    r"^\W*(?:the )?(?:person|user) wants to (?:change|edit|update|correct)(?: the| this)? memory\W{0,4}(?:id:)?"
    r"(?P<id>[A-Za-z0-9]{8})\b\W*(?P<content>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
"""How a page says, in hidden context, that a chat was opened to edit a memory."""
_ONLY_WISH = re.compile(
    r"\W*(?:(?:i(?:'d| would)? (?:want|like|need)(?: to)?|please|can (?:we|you|i)|could you|let's|help me|hi)\W+)*"
    r"(?:change|edit|update|correct|fix|revise|adjust|about|cambiar|cambia|ändern?|ändere|endre)?"
    r"(?:\W+(?:this|that|it|the|my|a|one|memory|memories|entry|fact|something|here|esto|das|dette))*\W*",
    re.IGNORECASE,
)
_DROP = re.compile(
    r"\W*(?:please )?(?:delete|remove|forget|erase|drop)(?: (?:it|this|that|this one|the memory))?\W*", re.IGNORECASE
)
_DICTATED = re.compile(
    r"\W*(?:(?:please|change|update|correct|edit|make|set)\W+)*(?:it|that|this)"
    r"(?:'s|(?: (?:is|should|must|to|be|now|say|says|read|reads|instead))*)\s*:\s*(?P<content>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
""" "It should say: …": what follows is the new wording itself."""
_LEFT = re.compile(
    r"(?:.*\b)?(?:leave|keep) (?:it|that|this)(?: (?:as|how|the way) (?:it )?(?:is|was))?\W*", re.IGNORECASE
)
_BOTH = re.compile(r"\b(?:both|as well|separate(?:ly)?|ambos|los dos|beide[sn]?|begge)\b", re.IGNORECASE)
_REPLACE = re.compile(
    r"\b(?:update|replace|change|overwrite|instead|new one|actualiza\w*|cambia\w*|änder\w*|aktualisier\w*|oppdater\w*|"
    r"endre)\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"\b(?:none|neither|nothing|no one|ninguno|keine[srn]?|nichts|ingen)\b", re.IGNORECASE)
_ALL = re.compile(
    r"\W*(?:(?:yes|please|forget|delete|remove|change|they're|sí|ja)\W+)*"
    r"(?:all|both|everything|todos|ambos|alle|beide|begge)(?: (?:of )?(?:them|these|those|it))?(?: please)?\W*",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|don't|do not|except|but|keep|leave|nicht|außer|ikke|unntatt|excepto)\b", re.IGNORECASE)
_ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            "first 1st primero primera erste ersten første",
            "second 2nd segundo segunda zweite zweiten andre",
            "third 3rd tercero tercera dritte dritten tredje",
            "fourth 4th cuarto vierte fjerde",
            "fifth 5th quinto fünfte femte",
        ),
        1,
    )
    for word in words.split()
}


def resume(talk: Talk) -> str | None:
    """What the person's word on an open question does; None where nothing is open, or it is about something else."""
    wanted = _wanted_edit([talk.hidden])
    if wanted and not (talk.last and asks(talk.last.text, "edit_end")):
        return _begin_edit(talk, wanted)
    if talk.last is None:
        return None
    for key, act in (
        ("similar_end", _settle),
        ("close_end", _drop_close),
        ("which_forget", _forget_picked),
        ("which_confirm", _confirm_picked),
        ("which_correct", _correct_picked),
        ("offer_end", _accept),
        ("edit_end", _edit),
        ("matter_end", _dictated),
        ("which_end", trading.chosen),
    ):
        if asks(talk.last.text, key):
            return act(talk)
    return None


# --- yes and no


def yes(talk: Talk) -> bool:
    short = len(talk.text.split()) <= 6 and not _NOT.search(talk.text)
    return one(talk.text, talk.tongue).kind == "yes" or (short and bool(dialog.YES.match(talk.text)))


def no(talk: Talk) -> bool:
    short = len(talk.text.split()) <= 4
    kind = one(talk.text, talk.tongue).kind
    return kind in ("no", "cancel", "decline", "drop") or (short and bool(dialog.NO.match(talk.text)))


# --- something close is stored


def _settle(talk: Talk) -> str | None:
    """Update the one that is stored, or keep both."""
    calls = talk.last.calls if talk.last else ()
    conflict = next((call for call in reversed(calls) if (call.answer or "").startswith("Not saved. Close")), None)
    if conflict is None:
        return None
    if _BOTH.search(talk.text):
        answer = talk.kit.use(conflict.name, **{**conflict.arguments, "force": True})
        return talk.say("refused", why=why(answer)) if answer.error else talk.say("saved", line=answer.data["content"])
    if _REPLACE.search(talk.text) or yes(talk):
        content = str(conflict.arguments.get("content") or conflict.arguments.get("fact"))
        close = told_in(conflict.answer)
        chosen = _picked(talk.text, close) or sorted(close, key=lambda held: -matching.kinship(content, held.content))
        return keeping.change(talk, chosen[0], content) if chosen else None
    return talk.say("not_kept") if no(talk) or _NONE.search(talk.text) else None


def _drop_close(talk: Talk) -> str | None:
    """The one that a new line was saved beside: is it out of date?"""
    if dialog.NO.match(talk.text) or _NOT.search(talk.text):
        return talk.say("cancelled")
    if not (_DROP.search(talk.text) or yes(talk)):
        return None
    calls = talk.last.calls if talk.last else ()
    looked = {held.id for call in calls for held in told_in(call.answer)}
    written = {call.memory_event["id"] for call in calls if call.memory_event}
    old = [held for held in talk.quoted() if held.id in looked - written]
    return keeping.forget_these(talk, old[:1]) if old else None


# --- which one


def _picked(text: str, choices: Sequence[Held]) -> list[Held]:
    """The choices that a word points to: by number, by place, by what they say."""
    if _ALL.fullmatch(text):
        return list(choices)
    numbers = [int(number) for number in re.findall(r"\b\d\b", text)]
    numbers += [_ORDINALS[word] for word in re.findall(r"\w+", text.lower()) if word in _ORDINALS]
    if re.search(r"\b(?:last|último|última|letzte[nrs]?|siste)\b", text, re.IGNORECASE):
        numbers.append(len(choices))
    if numbers:
        return [choices[number - 1] for number in dict.fromkeys(numbers) if 0 < number <= len(choices)]
    return matching.meant(text, choices)


def _pick(talk: Talk) -> list[Held] | str | None:
    """The choice made; a text where none is wanted; None where the message is about something else."""
    if one(talk.text, talk.tongue).kind in ("no", "cancel") or _NONE.search(talk.text):
        return talk.say("cancelled")
    if talk.text.rstrip().endswith("?") or _NOT.search(talk.text):
        return None  # "not the first" does not say which
    return _picked(talk.text, talk.numbered()) or None


def _forget_picked(talk: Talk) -> str | None:
    chosen = _pick(talk)
    return keeping.forget_these(talk, chosen) if isinstance(chosen, list) else chosen


def _confirm_picked(talk: Talk) -> str | None:
    chosen = _pick(talk)
    return keeping.confirm_these(talk, chosen) if isinstance(chosen, list) else chosen


def _correct_picked(talk: Talk) -> str | None:
    chosen = _pick(talk)
    if not isinstance(chosen, list) or len(chosen) != 1:
        return chosen if isinstance(chosen, str) else None
    before = read(talk.previous.text, talk.tongue) if talk.previous else []
    meant = next((intent for intent in before if intent.kind in ("correct", "contrast")), None)
    content = _said_anew(talk, chosen[0], meant) if meant else None
    if content is None:
        return keeping.ask_edit(talk, chosen[0])
    return keeping.change(talk, chosen[0], content, mistake=bool(meant and meant.mistake))


def _said_anew(talk: Talk, held: Held, intent: Intent) -> str | None:
    """What a memory should say after a correction: a value in its place, or a sentence of its own."""
    if matching.fragment(intent.matter, talk.tongue):
        return matching.with_value(held.content, matching.value_of(intent.matter), intent.old)
    return reworded(intent.matter, talk.tongue)


# --- shall I remember that?


def offer(talk: Talk) -> str | None:
    """Where a new fact waits for a yes: the question, if something lasting was said that is not known."""
    if not talk.kit.asks_first:
        return None
    fresh = [fact for fact in _offered(talk, talk.text) if not _known(talk, fact)]
    if not fresh:
        return None
    return f"{talk.say('offer', line='; '.join(fact.content for fact in fresh))} {talk.say('offer_end')}"


def _offered(talk: Talk, text: str) -> list[Fact]:
    told = [sentence for sentence in statements(text, talk.tongue) if lasting(sentence, talk.tongue)]
    return [fact for sentence in told for fact in facts_of(sentence, talk.tongue, talk.kit.categories)][:3]


def _known(talk: Talk, fact: Fact) -> bool:
    return any(matching.same(fact.content, held.content) for held in talk.search(fact.content))


def _accept(talk: Talk) -> str | None:
    if no(talk):
        return talk.say("not_kept")
    if not yes(talk) or talk.last is None or talk.previous is None:
        return None
    offered = [fact for fact in _offered(talk, talk.previous.text) if fact.content in talk.last.text]
    return keeping.say_all(keeping.keep_fact(talk, fact, talk.previous.text) for fact in offered) or None


def _dictated(talk: Talk) -> str | None:
    """What should be remembered, once it has been asked for."""
    if no(talk):
        return talk.say("cancelled")
    told = one(talk.text, talk.tongue)
    if told.kind not in ("statement", "other"):
        return None
    return keeping.keep(talk, Intent("save", talk.text, tongue=talk.tongue))


# --- edit in chat


def _wanted_edit(hidden: Iterable[str | None]) -> Held | None:
    found = (_EDIT.search(context or "") for context in hidden)
    return next((Held(told["content"].strip(), told["id"]) for told in found if told), None)


def _begin_edit(talk: Talk, held: Held) -> str | None:
    """The page asks to change a memory: the person is asked how, unless they have said it already."""
    own = talk.text.replace(held.content, "") if held.content else talk.text
    if _ONLY_WISH.fullmatch(own) or one(own, talk.tongue).kind in ("greet", "help", "yes", "ack", "wrong"):
        return keeping.ask_edit(talk, held)
    return _change_to(talk, held)


def _edit(talk: Talk) -> str | None:
    """The person's word on what a memory should say."""
    spoken = talk.quoted()
    asked = _wanted_edit([talk.hidden, *(said.hidden for said in reversed(talk.earlier))])
    held = asked or (spoken[0] if len(spoken) == 1 else None)
    return _change_to(talk, held) if held else None


def _change_to(talk: Talk, held: Held) -> str | None:
    if _DROP.fullmatch(talk.text):
        return keeping.forget_these(talk, [held])
    if _LEFT.fullmatch(talk.text):
        return talk.say("left", line=held.content)
    if dictated := _DICTATED.fullmatch(talk.text):
        return keeping.change(talk, held, dictated["content"].strip(' \n"“”'))
    intent = read(talk.text, talk.tongue)[0]
    match intent.kind:
        case "no" | "cancel" | "decline" | "ack" | "thanks":
            return talk.say("left", line=held.content)
        case "confirm" | "right":
            return keeping.confirm_these(talk, [held])
        case "correct" | "contrast" | "save" | "statement" | "other" | "ended":
            if intent.kind == "ended":
                intent = intent._replace(matter=talk.text)
            content = _said_anew(talk, held, intent)
            if not content:
                return keeping.ask_edit(talk, held)
            return keeping.change(talk, held, content, mistake=intent.mistake)
    return None
