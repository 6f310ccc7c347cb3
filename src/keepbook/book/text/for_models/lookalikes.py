"""A text as a reader takes it who does not look at code points: a Cyrillic letter inside a Latin word passes for Latin.

The table has the letters that Unicode's list of confusables (UTS 39) takes for one Latin letter, of the scripts that
keyboards of our languages stand beside: Cyrillic, Greek, Armenian and rare Latin ones. That list takes a capital I for
an l; here it is an i. Wide, styled and joined letters are folded by Unicode's compatibility forms.
"""

import unicodedata

from keepbook.patterns import regex

LOOKALIKES = {
    "a": "\u0251\u0391\u03b1\u0410\u0430",
    "b": "\u0184\u0392\u0412\u042c\ua7b4",
    "c": "\u03f2\u03f9\u0421\u0441\u1d04",
    "d": "\u0501",
    "e": "\u0395\u0415\u0435\u04bd\uab32",
    "f": "\u03dc\u0584\u1e9d\ua798\ua799\uab35",
    "g": "\u018d\u0261\u050c\u0581\u1d83",
    "h": "\u0397\u041d\u04bb\u0570",
    "i": "\u0131\u0196\u0269\u026a\u0399\u03b9\u0406\u0456\u04c0\u04cf\u1fbe\ua647",
    "j": "\u037f\u03f3\u0408\u0458\ua7b2",
    "k": "\u039a\u041a",
    "l": "\u01c0",
    "m": "\u039c\u03fa\u041c",
    "n": "\u039d\u0578\u057c",
    "o": "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u1d0f\u1d11\uab3d",
    "p": "\u03a1\u03c1\u03f1\u0420\u0440",
    "q": "\u051b\u0563\u0566",
    "r": "\u01a6\u0433\u1d26\uab47\uab48",
    "s": "\u01bd\u0405\u0455\u054f\ua731",
    "t": "\u03a4\u0422",
    "u": "\u028b\u03c5\u054d\u057d\u1d1c\ua79f\uab4e\uab52",
    "v": "\u03bd\u0474\u0475\u1d20",
    "w": "\u026f\u0461\u051c\u051d\u0561\u1d21",
    "x": "\u03a7\u0425\u0445\ua7b3",
    "y": "\u0263\u028f\u03a5\u03b3\u03d2\u0423\u0443\u04ae\u04af\u1d8c\u1eff\uab5a",
    "z": "\u0396\u1d22",
}

_AS_LATIN = str.maketrans({sign: latin for latin, signs in LOOKALIKES.items() for sign in signs})
_WORD = regex(r"[^\W\d_]+")
_ANOTHER_SCRIPT = regex(r"[\u0370-\u058f]")


def as_latin(text: str) -> str:
    """The text with every word of look-alikes as the Latin word that it passes for. Words that have a letter of their
    own script beside stay as they are."""
    if text.isascii():
        return text
    return _WORD.sub(lambda word: _word_as_latin(word[0]), unicodedata.normalize("NFKC", text))


def _word_as_latin(word: str) -> str:
    latin = word.translate(_AS_LATIN)
    return word if _ANOTHER_SCRIPT.search(latin) else latin
