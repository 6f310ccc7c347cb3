"""Which group of the preset's vocabulary a line belongs to.

A line has a kind (style, kin, self, money, work, taste, other); each kind names the groups it fits, best
first, and the first one the vocabulary has is taken. An open vocabulary gets the kind's topic tag.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from keepbook.models.offline.extract import english as w

_FITS: dict[str, tuple[str, ...]] = {
    "style": ("response_style", "preference", "fact"),
    "kin": ("person", "profile", "fact"),
    "self": ("profile", "context", "fact"),
    "money": ("finance_context", "context", "profile", "fact"),
    "limit": ("finance_context", "preference", "fact"),
    "work": ("project", "fact", "context"),
    "taste": ("preference", "fact"),
    "other": ("fact", "context"),
}
_OTHER_TONGUES = {
    "kin": (
        r"hija|hijo|hijos|mujer|marido|pareja|madre|padre|frau|mann|tochter|sohn|kinder|verheiratet|"
        r"kone|datter|sønn\w*|samboer\w*|妻|丈夫|女儿|儿子|妈|爸|孩子|已婚|ภรรยา|สามี|ลูก|แม่|พ่อ"
    ),
    "style": (
        r"antwort\w*|per sie|duzen|hables|háblame|tutea\w*|responde\w*|svar\w*|kurz|auf deutsch|"
        r"en español|på norsk|回答|回复|ตอบ"
    ),
    "money": (
        r"euro\w*|euros|kroner|depot|pension|rente|restschuld|kredit|aktie\w*|aksje\w*|gan[oa]|"
        r"verdiene?\w*|cuenta|bolsa|invert\w*|hipoteca|spar\w*|riskier\w*|handle?r?|新币|月薪|年薪|房贷|定投|股|"
        r"เทรด|พอร์ต|โบรก|หุ้น|ขาดทุน|ไม้"
    ),
    "taste": r"siempre|nunca|immer|nie|aldri|alltid|prefiero|mag|liker|过敏|不要|不喜欢|alérgic\w*|allerg\w*",
}


def _has(pattern: str, text: str) -> bool:
    return bool(
        re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
        or (re.search(rf"(?:{pattern})", text) and not text.isascii())
    )


def kind(content: str, features: Collection[str]) -> str:
    elsewhere = _has(f"{w.TRADING}|{w.TRAVEL}|meetings?|calls?", content)
    if _has(w.STYLE, content) and set(features) & {"order", "style", "standing"} and not elsewhere:
        return "style"
    if _has(_OTHER_TONGUES["style"], content):
        return "style"
    if _has(_OTHER_TONGUES["kin"], content):
        return "kin"
    money = _has(f"{w.MONEY}|{w.TRADING}", content) or _has(_OTHER_TONGUES["money"], content)
    sums = re.search(r"[£€$%]|\d[\d.,']*\s?(?:k|grand|thousand|million|euros?|kroner|francs?|quid)\b|\d{3,}", content)
    money = money or bool(sums) or _has(r"(?:work|retire|stop|done)\b.{0,30}\b\d\d", content)
    if re.match(r"(?:Works?|Is an?)\b", content):
        return "self"  # one's own job, though its name may be another's role ("works as a nurse")
    person = _has(f"(?:{w.KIN}|{w.ROLE})s?", content) and not _has("(?:business|gp) partner", content)
    if person and not re.search(r"[£€$]|\d{3}", content):
        return "kin"
    if money:
        return "limit" if set(features) & {"rule", "order", "standing", "preference", "none", "not"} else "money"
    if "named" in features and not _has(w.WORK, content):
        return "kin"
    if set(features) & {"work", "home", "age", "marital", "health"} or _has(
        rf"^(?:an? )?{w.JOB} (?:in|at|for) .*", content
    ):
        return "self"
    if set(features) & {"preference", "order", "standing", "not", "route", "quantified"}:
        return "taste"
    if set(features) & {"identity", "called"} or _has("lives?|born|moved|years old|age", content):
        return "self"
    if _has(w.WORK, content):
        return "work"
    if _has(_OTHER_TONGUES["taste"], content):
        return "taste"
    return "self" if set(features) & {"state", "change", "ongoing", "first"} else "other"


def category(content: str, features: Collection[str], vocabulary: Sequence[str]) -> str | None:
    """The best group in the vocabulary; the kind's own name where the vocabulary is open (empty)."""
    found = kind(content, frozenset(features))
    if not vocabulary:
        return None if found == "other" else found
    for name in _FITS[found]:
        if name in vocabulary:
            return name
    return "fact" if "fact" in vocabulary else vocabulary[-1]
