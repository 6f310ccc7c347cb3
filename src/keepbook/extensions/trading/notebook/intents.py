"""Recognises questions about trading by their words."""

import re
from typing import NamedTuple

from keepbook.book.text.sentences import sentences
from keepbook.extensions.trading.notebook.phrases import TRADED, phrases_of
from keepbook.patterns import regex


class Intent(NamedTuple):
    kind: str
    matter: str = ""
    tongue: str = "en"
    sentence: str = ""


NICKNAMES = {"bitcoin": "btc", "ether": "eth", "ethereum": "eth", "solana": "sol", "ripple": "xrp", "cardano": "ada"}
_TICKERS = frozenset(("btc", "eth", "sol", "xrp", "ada", "doge", "ltc", "bnb", "avax"))
"""Symbols that are recognised in small letters too; others only in capitals."""
_NO_TICKERS = frozenset(
    ("pnl", "usd", "usdt", "usdc", "eur", "utc", "cpi", "ppi", "pce", "fomc", "fed", "ecb", "nfp", "gdp", "rsi")
)
"""Words in capitals that are no symbols."""
ABOUT_TRADING = regex(
    r"\b(?:trad(?:e|es|ed|ing)|skills?|strateg\w+|deployments?|bots?|positions?|p&l|pnl|profits?\b|loss(?:es)?|losers?|"
    r"winners?|win ?rate|hit rate|drawdown|sharpe|profit factor|expectancy|performance|performing|returns?|results|"
    r"money|profitable|handel|operaci\w+|estrategia\w*|handler)\b",
    re.IGNORECASE,
)
_MARKETS = regex(
    r"\b(?:markets?|crypto|stocks?|prices?|risk|entr(?:y|ies)|exits?|stops?|targets?|longs?|shorts?|volatil\w+|regimes?|"
    r"trends?|portfolio|account|exposure|events?|news|calendar|cpi|ppi|pce|fomc|fed|ecb|nfp|gdp|inflation|payrolls?|"
    r"rates?|scalpers?|swing|desks?|halving|fork|upgrade|unlock|listing|expiry|wins?)\b|\b(?:this|that|it)\W*$",
    re.IGNORECASE,
)
_WHEN = regex(
    r"\b(?:today|tonight|tomorrow|yesterday|now|soon|later|next|past|days?|hours?|weeks?|weekend|months?|year|quarter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|me|us)\b|\d",
    re.IGNORECASE,
)


_WORD = regex(r"[A-Za-z]+")
_SHOUTED = regex(r"\b[A-Z]{3,6}\b")


def tickers(text: str) -> set[str]:
    """The symbols that a sentence names."""
    named = {NICKNAMES.get(word.lower(), word.lower()) for word in _WORD.findall(text)}
    shouted = set[str]()
    if not text.isupper():  # if everything is in capitals, they mean nothing
        shouted = {word.lower() for word in _SHOUTED.findall(text)}
    return (named & _TICKERS) | (shouted - _NO_TICKERS)


def about_markets(text: str) -> bool:
    """Whether a sentence has a word of trading, a market or a time."""
    return bool(ABOUT_TRADING.search(text) or _MARKETS.search(text) or _WHEN.search(text) or tickers(text))


_EDGE = " \t.!?…¡¿,;:"
_DEFINITION = regex(
    r"(?!.*\b(?:my|our|mine|ours)\b)(?:(?:can|could|would|will) you (?:please )?|please )?(?:"
    r"what(?:'s|s| is| are) (?:an?|(?:the )?(?:meaning|definition|formula|difference))\b|"
    r"(?:tell me |show me )?what (?:an? .+ (?:is|means)$|(?:do|does) .+ mean\b)|(?:explain|define)\b|"
    r"(?:tell me |show me )?how (?:(?:do|does|can|could|would|should) (?:i|we|you|one|people)|to|is|are)\b"
    r"(?:.* )?(?:compute|calculate|work out|measure|define|interpret|computed|calculated|measured|defined|read)\b)",
    re.IGNORECASE,
    anchored=True,
)
"""Matches a question about the meaning of a word ("What is a Sharpe ratio?"). A question for a figure of the person's
own has "my" or "our" in it."""


def trading_intents(text: str, tongue: str) -> list[Intent]:
    """The questions about trading in a message, sentence by sentence; the matter is the whole sentence."""
    found = (_intent_of(text[start:end], tongue) for start, end in sentences(text))
    return [intent for intent in found if intent is not None]


def _intent_of(sentence: str, tongue: str) -> Intent | None:
    bare = sentence.strip(_EDGE)
    if _DEFINITION.match(phrases_of("en").openers.sub("", bare, count=1)):
        return None
    for language in dict.fromkeys((tongue if tongue in TRADED else "en", *TRADED)):
        for phrase in phrases_of(language).trading:
            if phrase.pattern.fullmatch(bare):
                return Intent(phrase.kind, bare, language, sentence)
    return None
