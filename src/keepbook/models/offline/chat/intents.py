"""What a message wants, sentence by sentence: an intent has a kind and its matter in the person's own words.

Pure. Pasted text, quotes and code are not the person's words and want nothing. A question, a supposition or a tale
about somebody else never becomes an intent that writes: those begin with a phrase that speaks to the memory.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from keepbook.models.offline.chat.matching import VERBS
from keepbook.models.offline.chat.phrases import TONGUES, Phrase, words
from keepbook.models.offline.extract import dialog, evidence, other_languages, speech_acts
from keepbook.models.offline.extract.clauses import own_words, sentences, tidy

READ_CHARS = 4_000
"""How much of a message is read; what is longer is pasted."""
ACTING = frozenset(
    {"save", "save_it", "forget", "drop", "erase", "ended", "correct", "decline", "undo", "aside", "remind"}
)
IDLE = frozenset({"greet", "thanks", "bye", "ack", "yes", "no", "statement", "other"})
"""What needs no word of its own where the same message wants something else too."""


class Intent(NamedTuple):
    kind: str
    matter: str = ""
    old: str = ""
    tongue: str = "en"
    all: bool = False
    """Of a wish to forget: everything that fits; of one to keep: what follows in the message too."""
    mistake: bool = False
    """Of a correction: the old wording was never right, as against a change in the world."""
    sentence: str = ""
    """Of trading: the whole sentence, to be read as anything else where it turns out to be about something else."""


KINDS_OF_CHANGE = ("correct", "contrast")
"""A contrast ("tea, not coffee", "my budget is now 600") corrects only what the book says; it is no new fact."""


# --- tests of a matter

_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|our|us)\b", re.IGNORECASE)
_INFORMS = re.compile(rf"{VERBS.pattern}|\b(?:called|named|never|always|only)\b|\d|[:=]", re.IGNORECASE)
_OTHER_THINGS = re.compile(
    r"\b(?:account|e-?mails?|messages?|files?|folders?|photos?|pictures?|chats?|conversations?|threads?|accounts?|orders?|"
    r"bookings?|appointments?|events?|meetings?|calendar|reminders?|alarms?|app|browser|cookies|cache|history|inbox|"
    r"draft|paragraph|sentence|code|repo|branch|data)\b",
    re.IGNORECASE,
)
_MISTAKE = re.compile(
    r"\b(?:wrong|mistake|meant|mean|correct(?:ion)?|incorrect|never|typo|mistyped|misspoke|false|not|rather)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:now|since|moved?|changed?|any ?more|no longer|these days|nowadays|new|switched|started|ahora|jetzt|nå)\b",
    re.IGNORECASE,
)
_TURN = re.compile(r",\s*(?:but |and |now )*(?=(?:i|i'm|we|we're|it's)\b)", re.IGNORECASE)


def _standing(matter: str) -> bool:
    """Of the person, or an order to us: "from now on rates will rise" is neither."""
    ordered = speech_acts.standing_order(matter) or speech_acts.one_off(matter)
    return not speech_acts.question(matter) and (bool(_OWN.search(matter)) or ordered)


def _errand(matter: str) -> bool:
    """A thing to do once; how to answer or to behave from now on is none."""
    return not speech_acts.standing_order(matter) and not re.match(r"(?:always|never|not)\b", matter, re.IGNORECASE)


_EDGE = " \t.!?…¡¿,;:"
_DEFINITION = re.compile(
    r"(?!.*\b(?:my|our|mine|ours)\b)(?:(?:can|could|would|will) you (?:please )?|please )?(?:"
    r"what(?:'s|s| is| are) (?:an?|(?:the )?(?:meaning|definition|formula|difference))\b|"
    r"(?:tell me |show me )?what (?:an? .+ (?:is|means)$|(?:do|does) .+ mean\b)|(?:explain|define)\b|"
    r"(?:tell me |show me )?how (?:(?:do|does|can|could|would|should) (?:i|we|you|one|people)|to|is|are)\b"
    r"(?:.* )?(?:compute|calculate|work out|measure|define|interpret|computed|calculated|measured|defined|read)\b)",
    re.IGNORECASE,
)
""" "What is a Sharpe ratio?" asks what a word means; whoever asks for a figure of their own names what is theirs."""


def _any(_: str) -> bool:
    return True


_TESTS: dict[str, Callable[[str], bool]] = {
    "": _any,
    "own": lambda matter: bool(_OWN.search(matter)),
    "informs": lambda matter: bool(_INFORMS.search(matter)) and not re.search(r"^\w+ me\b", matter),
    "standing": _standing,
    "errand": _errand,
    "kept_thing": lambda matter: not _OTHER_THINGS.search(matter) and not dialog.one_off_delete(f"delete {matter}"),
    "category": _any,
    "twofold": lambda matter: not speech_acts.question(matter) and not speech_acts.hypothetical(matter),
}


# --- what is of trading

NICKNAMES = {"bitcoin": "btc", "ether": "eth", "ethereum": "eth", "solana": "sol", "ripple": "xrp", "cardano": "ada"}
_TICKERS = frozenset(("btc", "eth", "sol", "xrp", "ada", "doge", "ltc", "bnb", "avax"))
"""Symbols that are known in small letters too; others stand in capitals."""
_NO_TICKERS = frozenset(
    ("pnl", "usd", "usdt", "usdc", "eur", "utc", "cpi", "ppi", "pce", "fomc", "fed", "ecb", "nfp", "gdp", "rsi")
)
"""What stands in capitals and is no symbol."""
ABOUT_TRADING = re.compile(
    r"\b(?:trad(?:e|es|ed|ing)|skills?|strateg\w+|deployments?|bots?|positions?|p&l|pnl|profits?\b|loss(?:es)?|losers?|"
    r"winners?|win ?rate|hit rate|drawdown|sharpe|profit factor|expectancy|performance|performing|returns?|results|"
    r"money|profitable|handel|operaci\w+|estrategia\w*|handler)\b",
    re.IGNORECASE,
)
_MARKETS = re.compile(
    r"\b(?:markets?|crypto|stocks?|prices?|risk|entr(?:y|ies)|exits?|stops?|targets?|longs?|shorts?|volatil\w+|regimes?|"
    r"trends?|portfolio|account|exposure|events?|news|calendar|cpi|ppi|pce|fomc|fed|ecb|nfp|gdp|inflation|payrolls?|"
    r"rates?|scalpers?|swing|desks?|halving|fork|upgrade|unlock|listing|expiry|wins?)\b|\b(?:this|that|it)\W*$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|soon|later|next|past|days?|hours?|weeks?|weekend|months?|year|quarter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|me|us)\b|\d",
    re.IGNORECASE,
)


def tickers(text: str) -> set[str]:
    """The symbols that a sentence names."""
    named = {NICKNAMES.get(word.lower(), word.lower()) for word in re.findall(r"[A-Za-z]+", text)}
    # Who writes everything in capitals names nothing by them.
    shouted = set() if text.isupper() else {word.lower() for word in re.findall(r"\b[A-Z]{3,6}\b", text)}
    return (named & _TICKERS) | shouted - _NO_TICKERS


def about_markets(text: str) -> bool:
    """Whether anything in it is of trading, a market or a time."""
    return bool(ABOUT_TRADING.search(text) or _MARKETS.search(text) or _WHEN.search(text) or tickers(text))


# --- reading a message


def read(text: str, before: str = "en", *, trading: bool = False) -> list[Intent]:
    """What a message wants, in order; never empty. `before` is the language of the turn before; `trading` says that
    there are tools that answer questions about it."""
    plain = tidy(text[:READ_CHARS])
    tongue = _tongue(plain, before)
    found: list[Intent] = []
    for sentence in sentences(_own(plain, tongue)):
        found.append(one(sentence, tongue, trading=trading))
        tongue = found[-1].tongue
    found = _joined(found)
    wanted = [intent for intent in found if intent.kind not in IDLE]
    return wanted or found[:1] or [Intent("other", tongue=tongue)]


def statements(text: str, before: str = "en") -> list[str]:
    """What a message tells, for "remember that" after it: what is lasting, else the last thing said."""
    plain = tidy(text[:READ_CHARS])
    tongue = _tongue(plain, before)
    told = [(one(sentence, tongue).kind, sentence) for sentence in sentences(own_words(plain))]
    lasting_ones = [sentence for kind, sentence in told if kind == "statement"]
    return lasting_ones or [sentence for kind, sentence in told if kind == "other"][-1:]


def one(sentence: str, tongue: str, *, trading: bool = False) -> Intent:
    """The intent of one sentence."""
    bare = sentence.strip(_EDGE)
    if trading and (found := _traded(sentence, bare, tongue)):
        return found
    asking = sentence.rstrip().endswith("?") or sentence.startswith("¿")
    for language in (tongue, *(other for other in TONGUES if other != tongue)):
        found = _phrase(bare, asking, language) or _slip(sentence, bare, language)
        if found is not None and trading and language == "en" and found.kind in ("performance", "upcoming"):
            break  # its own phrases did not take it for trading: it asks for something else
        if found is not None:
            return found
    asked_in = _asked_in(bare, tongue)
    exclaims = sentence.rstrip().endswith("!")  # "How nice!"
    if asking or (not exclaims and (asked_in or (tongue == "en" and speech_acts.question(sentence)))):
        return Intent("ask", bare, tongue=asked_in or tongue)
    return Intent("statement" if lasting(sentence, tongue) else "other", bare, tongue=tongue)


def _traded(sentence: str, bare: str, tongue: str) -> Intent | None:
    """A question about trading; all of it is the matter. What is said to the memory is never one."""
    if _DEFINITION.match(words("en").openers.sub("", bare, count=1)):
        return None
    for language in (tongue, *(other for other in TONGUES if other != tongue)):
        for phrase in words(language).trading:
            if phrase.pattern.fullmatch(bare):
                return Intent(phrase.kind, bare, tongue=language, sentence=sentence)
    return None


def _asked_in(bare: str, tongue: str) -> str | None:
    """The language whose question words open the sentence."""
    for language in (tongue, *TONGUES):
        told = words(language)
        if told.asking.match(told.openers.sub("", bare, count=1)):
            return language
    return None


def lasting(sentence: str, tongue: str) -> bool:
    """Whether a sentence tells something about the person that will still matter in a later chat."""
    if tongue == "en":
        return evidence.weigh(sentence, sentence).kept and not evidence.LOOSE_SUBJECT.match(
            speech_acts.opening(sentence)
        )
    return bool(other_languages.read(sentence, tongue))


def _phrase(bare: str, asking: bool, tongue: str) -> Intent | None:
    for phrase in words(tongue).phrases:
        fit = phrase.pattern.fullmatch(bare)
        if fit is None:
            continue
        told = fit.groupdict()
        if phrase.kind in ACTING and asking and not told.get("asks"):
            continue
        matter = " ".join(filter(None, [told.get("matter"), (told.get("more") or "").strip(" ,")])).strip(" .,;:!?")
        if _TESTS[phrase.needs](matter):
            return _intent(phrase, bare, matter, told, tongue)
    return None


def _intent(phrase: Phrase, bare: str, matter: str, told: dict[str, str | None], tongue: str) -> Intent:
    kind, old = phrase.kind, (told.get("old") or "").strip()
    if kind in ("about", "said") and re.fullmatch(r"(?:me|myself|us|mí|mich|meg|\W*)", matter, re.IGNORECASE):
        kind, matter = "list", ""
    if kind == "ended" and (turned := _TURN.split(matter, maxsplit=1))[1:]:
        # "I no longer work at Acme, I'm at Bolt now"
        return Intent("correct", turned[1], turned[0], tongue)
    mistake = kind in KINDS_OF_CHANGE and not _CHANGED.search(matter) and bool(_MISTAKE.search(bare))
    # "Remember the following:" goes on to the end of what is told.
    whole = bool(told.get("all")) or (kind == "save" and bare[: bare.find(matter)].rstrip().endswith(":"))
    return Intent(kind, matter, old, tongue, whole, mistake)


def _slip(sentence: str, bare: str, tongue: str) -> Intent | None:
    """ "Actually, …", "no, …": what follows decides; only something told is a correction."""
    found = words(tongue).slips.match(bare)
    if found is None:
        return None
    rest = one(sentence.lstrip(_EDGE)[found.end() :], tongue)
    if rest.kind in ("statement", "other", "save", "correct") and rest.matter:
        return rest._replace(kind="correct", mistake=not _CHANGED.search(rest.matter), tongue=tongue)
    return rest


def _joined(found: list[Intent]) -> list[Intent]:
    """ "Remember:" takes what stands after it; "remember that." what stands before it in the same message."""
    out: list[Intent] = []
    dictated = False
    for intent in found:
        tells = intent.kind in ("statement", "other")
        if dictated and tells:
            out.append(intent._replace(kind="save"))
            continue
        if intent.kind == "save_it":
            before = [earlier for earlier in out if earlier.kind == "statement"]
            before = before or [earlier for earlier in out if earlier.kind == "other"][-1:]
            if before:
                out = [earlier._replace(kind="save") if earlier in before else earlier for earlier in out]
                continue
            dictated = True
        elif not tells:
            dictated = intent.kind == "save" and intent.all
        out.append(intent)
    taken = any(intent.kind == "save" for intent in out)
    return [intent for intent in out if not (taken and intent.kind == "save_it")]


def _own(plain: str, tongue: str) -> str:
    """The person's own words. What follows "write down:" is dictated, though it looks like text to work on."""
    first = sentences(plain)[:1]
    for phrase in words(tongue).phrases if first and ":" in first[0] else ():
        fit = phrase.pattern.match(first[0]) if phrase.kind in ("save", "correct") else None
        if fit and fit.group("matter"):
            at = plain.find(fit.group("matter"))
            return plain[:at] + own_words(plain[at:])
    return own_words(plain)


def _tongue(plain: str, before: str) -> str:
    told = other_languages.detect(plain, before if before in TONGUES else "en")
    return told if told in TONGUES else "en"
