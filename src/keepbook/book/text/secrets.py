"""Finds secrets in a text: words that may occur in a conversation but must never be remembered.

A secret is recognised in one of three ways: by itself (a card's check digit, an IBAN's remainder, the prefix of a key);
by the words around it ("the alarm code's 5518", "Passwort ist …"); or as a string that only a machine writes. Everyday
numbers, ids and talk about passwords are no secrets. The span of a secret covers only the secret, so that the rest
stays readable when it is redacted.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from keepbook.book.text.words import STOP_WORDS
from keepbook.patterns import regex

MARK = "[secret]"


class FoundSecret(NamedTuple):
    kind: str  # card, iban, ssn, key, password, code, seed_phrase, random
    start: int
    end: int


def find_secrets(text: str) -> list[FoundSecret]:
    """Every secret of the text, in order; none overlaps another."""
    found: list[FoundSecret] = []
    for secret in sorted(_candidates(text), key=lambda secret: (secret.start, -secret.end)):
        if found and secret.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, secret.end))
        else:
            found.append(secret)
    return found


def redact(text: str) -> str:
    """The text with a mark in place of each secret."""
    for secret in reversed(find_secrets(text)):
        text = text[: secret.start] + MARK + text[secret.end :]
    return text


def _candidates(text: str) -> Iterator[FoundSecret]:
    # Most texts hold nothing that could be one. A cheap look at each sort spares them the slow patterns.
    folded = text.casefold()
    if _DIGIT.search(text):
        yield from _cards(text)
        yield from _ibans(text)
        yield from _ssns(text)
        yield from _find_by_shape("ssn", _CALLED_SSNS, text)
    if "://" in text or "PRIVATE KEY" in text or _LONG_RUN.search(text):
        yield from _find_by_shape("key", _KEYS, text)
        yield from _find_by_shape("password", _IN_ADDRESSES, text)
        yield from _random_strings(text)
    if any(hint in folded for hint in _HINTS):
        yield from _find_stated(text)
    if any(hint in folded for hint in ("seed", "phrase", "mnemonic", "recovery", "wallet")):
        yield from _seed_phrases(text)


_DIGIT = regex("[0-9]")
_LONG_RUN = regex(r"[\w=?&.:/@%-]{13}", re.ASCII)
_HINTS = (
    "pass", "kennwort", "pw", "contrase", "clave", "key", "schlüssel", "token", "secret",
    "pin", "code", "kode", "código", "combination", "zahl", "cvv", "cvc", "otp",
)  # fmt: skip


def _split_words(words: str) -> list[str]:
    return words.split()


# Numbers that prove themselves

_DIGITS = regex(r"(?<![\w+])(?<!\d[.,])\d+(?!\w|[.,]\d)", re.ASCII)
_DIVIDER = regex(r"[ \u00a0\u2013-]{1,3}")
_CARD_GROUPS = regex(r"4 4 4 [1-7]|4 4 4 4 3|4 6 [45]")
_ISSUERS = [  # how a card number begins, how long it may then be
    (regex(r"4"), {13, 16, 19}),
    (regex(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),
    (regex(r"3[47]"), {15}),
    (regex(r"30[0-5]|3[689]"), {14, 16}),
    (regex(r"35|5[06-8]|6"), {16, 17, 18, 19}),
]
_CALLED_CARD = regex(
    r"(?:card|visa|amex|american express|mastercard|kort(?:et)?|karte|tarjeta)"
    r"(?:[\s:#.-]|['’]s|\b(?:number|no|nr|nummer|número|is|ist|er|es)\b)*$",
    re.IGNORECASE,
)
_CALLED_OTHERWISE = regex(
    r"\b(?:order|invoice|tracking|parcel|shipment|ticket|booking|reservation|reference|ref|case|serial|imei|isbn)"
    r"(?:[\s:#.-]|\b(?:number|no|nr|id|code|is)\b)*$",
    re.IGNORECASE,
)
_CARD_REST = regex(
    r"[\s,;/(]{0,10}\b(?:exp(?:iry|ires|iration)?|valid (?:thru|until|to)|cv[vc]2?|security code)\b"
    r"[\s.:]{0,10}(?:date|is)?[\s.:]{0,10}(?:\d\d ?/ ?\d{2,4}|\d{3,4})\b",
    re.IGNORECASE,
    anchored=True,
)


def _cards(text: str) -> Iterator[FoundSecret]:
    for groups in _card_shaped(text):
        digits = "".join(group[0] for group in groups)
        start, end = groups[0].start(), groups[-1].end()
        if 13 <= len(digits) <= 19 and _is_card(digits, text[max(0, start - 40) : start], len(groups) > 1):
            while rest := _CARD_REST.match(text, end):
                end = rest.end()
            yield FoundSecret("card", start, end)


_THOUSANDS = regex("[123](?: 3)+")


def _card_shaped(text: str) -> Iterator[list[re.Match[str]]]:
    """Groups of digits that may be a card number: whole runs, unless they are grouped like an amount, and parts of runs
    that are grouped like a card."""
    for run in _digit_runs(text):
        if not _THOUSANDS.fullmatch(_lengths(run)):
            yield run
        parts = (run[i:j] for i in range(len(run)) for j in range(i + 3, i + 6))
        yield from (part for part in parts if _CARD_GROUPS.fullmatch(_lengths(part)))


def _lengths(groups: list[re.Match[str]]) -> str:
    return " ".join(str(len(group[0])) for group in groups)


def _digit_runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Groups of digits with no more than a space or a dash between them."""
    run: list[re.Match[str]] = []
    for group in _DIGITS.finditer(text):
        if run and not _DIVIDER.fullmatch(text, run[-1].end(), group.start()):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def _is_card(digits: str, before: str, grouped: bool) -> bool:
    if _CALLED_CARD.search(before):
        return True  # mistyped, perhaps, but a card
    if not grouped and _CALLED_OTHERWISE.search(before):
        return False
    if not any(issuer.match(digits) and len(digits) in lengths for issuer, lengths in _ISSUERS):
        return False
    # A command that meets no such number should not wait for it.
    from stdnum import luhn

    return luhn.is_valid(digits)


_IBAN = regex(r"(?<!\w)(?=([A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,31}))", re.ASCII | re.IGNORECASE)
_END = regex(r"[A-Z0-9](?![A-Z0-9])", re.ASCII | re.IGNORECASE)


def _ibans(text: str) -> Iterator[FoundSecret]:
    for found in _IBAN.finditer(text):
        # It reads the register of countries, which few texts need.
        from stdnum import iban

        # What follows an account may look like more of it: of the ends it could have, one fits its country.
        ends = (end.end() for end in _END.finditer(text, found.start() + 14, found.end(1)))
        for end in ends:
            if iban.is_valid(text[found.start() : end], check_country=False):
                yield FoundSecret("iban", found.start(), end)
                break


_SSN = regex(r"(?<![\w-])\d{3}-\d\d-\d{4}(?![\w-])", re.ASCII)


def _ssns(text: str) -> Iterator[FoundSecret]:
    for found in _SSN.finditer(text):
        # See _is_card.
        from stdnum.us import ssn

        if ssn.is_valid(found[0]):
            yield FoundSecret("ssn", *found.span())


# Shapes that give themselves away. Where a pattern has a group, that is the secret.


def _compile_all(*patterns: str) -> list[re.Pattern[str]]:
    return [regex(pattern) for pattern in patterns]


_CALLED_SSNS = _compile_all(
    r"(?i:\bssn|social security number)\W{1,3}(?:is\W)?(\d{3} ?\d\d ?\d{4})\b",
    r"(?i:\bssn|\bsocial(?: security)?(?: number)?)(?:\W{1,3}|\Wis\W)(\d{3}-\d\d-\d{4})(?![\w-])",
)
_KEYS = _compile_all(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    r"\bsk-(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{16,}",
    r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9]{16,}",
    r"\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
    r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}",
    r"\b(?:hf|npm|gsk|shpat|dop_v1|sbp)_[A-Za-z0-9]{20,}|\b(?:pypi|xai|pplx|tvly)-[A-Za-z0-9_-]{20,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}",  # a Telegram bot
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # a JSON web token
    r"\b(?:[Bb]earer|[Aa]uthorization: Basic)\s+((?=[A-Za-z._~+/-]{0,99}\d)[A-Za-z0-9._~+/-]{16,}=*)",
    r"[?&](?:access_token|api_?key|auth|key|secret|sig|signature|token)=([A-Za-z0-9._~%+/-]{8,})",
)
_IN_ADDRESSES = _compile_all(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:(?!\[secret\])([^\s:/@]{1,100})@")


def _find_by_shape(kind: str, patterns: list[re.Pattern[str]], text: str) -> Iterator[FoundSecret]:
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield FoundSecret(kind, *found.span(pattern.groups))


# What is said to be a password or a code

_PLACE = "alarm|door|gate|garage|entry|entrance|lock|locker|safe|vault|keypad|lift|elevator"
_NOUN = rf"""(?:
    (?P<key> passwords | (?<![a-z])(?: clave | (?:wi-?fi|wlan)[ -](?:key|schlüssel)
      | (?:api|secret|access|private|license|encryption)[ _-]?(?:access[ _-]?)?key
      | (?:access|auth|api|refresh|session|bearer|bot)[ _-]?token
      | (?:client|app|api|shared)[ _-]?secret ))
  | (?P<password> passwor[dt] | passord(?:et)? | kennwort | (?<![a-z])(?: passwd | pwd | pw | pass(?=\s*[:=])
      | (?:wi-?fi|wlan)\ pass | pass[ -]?phrase | contrase[nñ]a | mot\ de\ passe ))
  | (?P<code> (?<![a-z])(?: pin(?:[ -]?(?:code|kode|number|nummer))? | pinkoden | geheimzahl | pass[ -]?code
      | cv[vc]2? | otp
      | (?:{_PLACE}|access|security|unlock|log-?in|sign-?in|verification|authentication|auth|one[ -]time|2fa|sms
          |backup|recovery|reset|zugangs|sicherheits|tür|dør|port)[ -]?(?:codes?|kode|koden|password)
      | your\ (?:\w+\ ){{0,2}}code
      | (?:code|kode|koden|código|combination)\ (?:for|to|of|on|til|på|für|zu|zur|zum|de|del)\ (?:\w+\ )?
          (?:{_PLACE}|building|house|flat|cabin|office|tür|dør|puerta|alarma)\w* ))
)"""
_VALUE = r"""(?= ["'“”‘’„«`] (?P<quoted>[^"“”‘’„»`\n]{3,80}) ["'“”‘’»`] | (?P<value>\S{3,300}) )"""
_STATED = regex(
    rf"""{_NOUN}
    (?: \ (?:for|to|of|at|on|in|from|für|zum|zur|vom|im|am|de|del|para|til|på|i)  # "for the wifi at the cabin"
        \ (?:[\w'’.&-]{{1,30}}\ ){{0,4}}? [\w.&-]{{1,30}} )?
    (?: (?:['’]s|\ (?:is|are|was|be|ist|lautet|war|es|er|var))
        (?:\ (?:now|still|just|currently|jetzt|ahora|nå))? \s*[:=]?\s
      | ["']?\s*(?:[:=]|->|=>)\s* )
    {_VALUE}""",
    re.VERBOSE | re.IGNORECASE,
)
_BESIDE = regex(rf"{_NOUN} \ (?:(?:to|auf|a|til|with)\ )? {_VALUE}", re.VERBOSE | re.IGNORECASE)
_BACKWARD = regex(
    rf"""
    (?<!\S)(?P<value>\S{{3,100}})\ (?:is|as|ist|es|er)\ (?:my|the|our|your|his|her|mein|das|mi|la|mitt)
    \ (?:[\w-]{{1,30}}\ ){{0,2}}? {_NOUN}
    (?= \s* (?: [.,;:!?)] | $ | \b(?:and|but|for|to|on|at|of|und|für|y|og)\b ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DIGITAL = regex(r"[#*]?\d(?:[ -]?\d){2,9}[#*]?(?!\w)")
_ANOTHER = regex(rf"(?:,| and| or| und| y| og)\s*({_DIGITAL.pattern})")
_CLAUSE_ENDS = regex(
    r"""["'”’]?\s*(?:$|[.,;:!?)\n/]|(?:and|but|or|so|und|aber|y|pero|og|men|for|if)\b)""", anchored=True
)
_PLACEHOLDER = regex(r"[*•x.…_-]+$|<|\$\{?[A-Z_]|\{\{|%[A-Z_]|\[secret|https?://", re.IGNORECASE, anchored=True)
_KEEPERS = _split_words("1password lastpass keepass keepassxc")
_ORDINARY = STOP_WORDS.union(
    _split_words("""
        weak strong stronger secure insecure safe safer unsafe wrong right correct incorrect invalid valid long longer
        short shorter old older new newer simple complex easy hard unique different identical similar secret private
        public lost forgotten stolen gone broken written hidden known unknown set reset fine ok okay good better bad
        worse terrible awful ridiculous enough important mandatory optional missing empty blank useless common obvious
        stupid silly below above case random impossible never always nothing something mine
        falsch richtig sicher unsicher schwach stark lang kurz neu alt weg vergessen geheim nicht noch
        feil riktig svakt sterkt langt kort nytt gammelt glemt borte hemmelig ikke
        incorrecta correcta segura insegura débil fuerte larga corta nueva vieja secreta fácil difícil
    """)
)


def _find_stated(text: str) -> Iterator[FoundSecret]:
    for pattern in (_STATED, _BESIDE):
        for found in pattern.finditer(text):
            if found["quoted"]:
                start = found.start("quoted")
            else:
                start = found.start("value")
            value = (found["quoted"] or found["value"]).rstrip(".,;:)]}\"'`”’")
            stated = pattern is _STATED
            if found["code"] and (digits := _DIGITAL.match(text, start)):
                # "the pin 4321" is a secret, "pin 2024 goals" is not.
                if stated or _CLAUSE_ENDS.match(text, digits.end()):
                    yield FoundSecret("code", start, digits.end())
                    yield from _more_codes(text, digits.end())
            elif _looks_made_up(value) or (found["password"] and stated and _could_be(found, value)):
                yield FoundSecret(_kind(found), start, start + len(value))
    for found in _BACKWARD.finditer(text):
        value = found["value"].strip("\"'“”‘’`(")
        if _looks_made_up(value) or (found["code"] and _DIGITAL.fullmatch(value)):
            start = found.start() + found["value"].index(value)
            yield FoundSecret(_kind(found), start, start + len(value))


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in ("key", "password", "code") if found[kind])


def _more_codes(text: str, end: int) -> Iterator[FoundSecret]:
    while found := _ANOTHER.match(text, end):
        yield FoundSecret("code", found.start(1), found.end())
        end = found.end()


_SIGN = regex(r"[^\w\s'’.,/-]")


def _looks_made_up(value: str) -> bool:
    """Whether a value looks like no word: it has digits among letters, or a sign or a capital in the middle."""
    if len(value) < 4 or value.casefold() in _KEEPERS or _PLACEHOLDER.match(value):
        return False
    letters, digits = any(map(str.isalpha, value)), sum(map(str.isdecimal, value))
    signs = bool(_SIGN.search(value))
    capitals = any(one.islower() and two.isupper() for one, two in pairwise(value))
    return digits >= 4 or capitals or (letters and (signs or digits > 0))


def _could_be(found: re.Match[str], value: str) -> bool:
    """Whether a word may be a password: it stands in quotes, or ends its clause ("… is swordfish"), and is no ordinary
    word ("… is weak", "… is hard to guess")."""
    word = value.casefold()
    if word in _ORDINARY or word.endswith(("ed", "ing")) or _PLACEHOLDER.match(word):
        return False
    return bool(found["quoted"]) or (
        word.isalpha() and bool(_CLAUSE_ENDS.match(found.string, found.start("value") + len(value)))
    )


# Words that open a wallet

_SEED = regex(
    r"\b(?:seed|recovery|mnemonic|backup|wallet)[ -]?(?:phrase|words?|seed|key)\b(?: phrase| words)?|\bmnemonic\b",
    re.IGNORECASE,
)
_SEED_WORD = (
    r"(?:\d{1,2}[.):]?\s*)?(?!(?:the|and|for|was|were|are|not|but|from|has|had|have|your|our|her|his|she)\b)[a-z]{3,8}"
)
_SEED_WORDS = regex(rf"(?<![\w'’]){_SEED_WORD}(?:[\s,;]+{_SEED_WORD}){{11,23}}(?![\w'’])")


def _seed_phrases(text: str) -> Iterator[FoundSecret]:
    for found in _SEED.finditer(text):
        if words := _SEED_WORDS.search(text, found.end(), found.end() + 400):
            yield FoundSecret("seed_phrase", words.start(), words.end())


# Strings no person makes up

_LONG = regex(r"(?<![\w+/=-])[A-Za-z0-9_+/-]{28,}={0,2}(?![\w+/=-])")
_ADDRESS = regex(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_UUID = regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DIGEST = regex(
    r"\b(?:commit|sha-?(?:1|256|512)?|md5|hash|digest|checksum|revision|etag)\W{1,3}(?:is\W)?$", re.IGNORECASE
)


def _random_strings(text: str) -> Iterator[FoundSecret]:
    addresses = [found.span() for found in _ADDRESS.finditer(text)]
    for found in _LONG.finditer(text):
        start, end = found.span()
        public = _UUID.fullmatch(found[0]) or _DIGEST.search(text[max(0, start - 20) : start])
        if not public and _is_random(found[0]) and not any(first <= start < after for first, after in addresses):
            yield FoundSecret("random", start, end)


_NOT_PLAIN = regex(r"[^A-Za-z0-9]")
_FIGURE = regex("[0-9]+")


def _is_random(string: str) -> bool:
    """Whether a string looks random: letters and digits alternate as in no word, name or date, and no character is
    frequent."""
    plain = _NOT_PLAIN.sub("", string)
    changes = sum(one.isdigit() != two.isdigit() or (one.islower() and two.isupper()) for one, two in pairwise(plain))
    shares = [count / len(plain) for count in Counter(plain).values()]
    entropy = -sum(share * math.log2(share) for share in shares)
    return len(plain) >= 24 and changes >= 0.22 * len(plain) and entropy >= 3.3 and len(_FIGURE.findall(plain)) >= 3
