"""Spanish, German, Norwegian, Chinese and Thai: the basics of the same reading.

Each language brings its word classes; the weighing is one. Lines stay in the person's own words: a
half-right translation or inflection would be worse than the sentence as it was said. Chinese is cut at
its commas, Thai at its spaces; what carries no fact of its own joins the piece before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from keepbook.models.offline.extract.clauses import sentences, tidy
from keepbook.models.offline.extract.other_languages_words import TONGUES, Tongue

BAR = 1.8


class Found(NamedTuple):
    text: str
    weight: float
    features: tuple[str, ...]


_ENGLISH = re.compile(
    r"\b(?:the|and|i|is|my|to|of|a|in|it|you|for|that|on|with|are|was|this|we|have|be|at|not|no|me|"
    r"so|what|your|do|just|i'm|don't|can|it's|from|but|if|all|out|up|they|he|she)\b",
    re.IGNORECASE,
)


def detect(text: str, before: str = "en") -> str:
    """The language of a text; in doubt that of the turn before."""
    letters = len(re.findall(r"\w", text)) or 1
    if len(re.findall(r"[\u4e00-\u9fff]", text)) / letters > 0.1:
        return "zh"
    if len(re.findall(r"[\u0e00-\u0e7f]", text)) / letters > 0.1:
        return "th"
    english = len(_ENGLISH.findall(text))
    if (
        before not in ("en", "zh", "th")
        and len(re.findall(rf"\b(?:{TONGUES[before].hints})\b", text, re.IGNORECASE)) >= english
    ):
        return before
    best, most = "en", max(english, 1)
    for code in ("es", "de", "nb"):
        hits = len(re.findall(rf"\b(?:{TONGUES[code].hints})\b", text, re.IGNORECASE))
        if hits > most and hits >= 2:
            best, most = code, hits
    return best


def sentences_of(text: str, tongue: str) -> list[str]:
    return sentences(text if tongue in ("zh", "th") else tidy(text))


def _weigh(text: str, pack: Tongue) -> tuple[float, tuple[str, ...]]:
    found = {
        name: weight for name, (weight, pattern) in pack.classes.items() if re.search(pattern, text, re.IGNORECASE)
    }
    return sum(found.values()), tuple(found)


def read(sentence: str, tongue: str, *, answering: bool = False) -> list[Found]:
    """The lasting facts of one sentence."""
    pack = TONGUES[tongue]
    if sentence.rstrip().endswith(("?", "？")):
        return []
    out: list[Found] = []
    open_piece = passing = False
    for n, part in enumerate(_parts(sentence, pack, tongue)):
        text = _trim(part, tongue)
        if not text:
            continue
        if re.search(pack.no, text, re.IGNORECASE):
            open_piece = False
            passing = True
            continue
        weight, features = _weigh(text, pack)
        weight += 1.0 if (answering and n == 0) or (answering and tongue in ("zh", "th")) else 0.0
        leans = bool(re.match(r"(?:所以|因为|但|而且|并且|用的|就是|ประมาณ|และ(?!ไม่)|แต่|เพราะ|ที่|ซึ่ง|ของ)", text))
        if passing and not set(features) & {"standing", "recurring", "first", "goal", "theme"}:
            continue  # what follows "today…" in one sentence is of today too
        if open_piece and out and (weight < BAR or leans):
            out[-1] = Found(out[-1].text + _glue(tongue) + text, out[-1].weight, out[-1].features)
            continue
        if weight < BAR or (
            tongue not in ("zh", "th")
            and len(text.split()) < 3
            and not re.search(r"\d", text)
            and "marital" not in features
        ):
            continue
        out.append(Found(text, weight, features))
        open_piece = True
    return [Found(f.text, f.weight, tuple(f.features)) for f in out] + _kin(sentence, tongue, out)


def _parts(sentence: str, pack: Tongue, tongue: str) -> list[str]:
    parts = [p.strip() for p in re.split(pack.cut, sentence) if p and p.strip()]
    if tongue != "th":
        return parts
    joined: list[str] = []
    for part in parts:
        unit = (
            bool(joined)
            and bool(re.search(r"\d\S*$", joined[-1]))
            and bool(re.match(r"(?:ดอลลาร์|บาท|ไม้|ตัว|ปี|คน|เดือน|เปอร์เซ็นต์|ของ|วัน|ครั้ง|นาที|ชั่วโมง|เสมอ)", part))
        )
        if joined and (re.match(r"[\dA-Za-z%.,]+$", part) or unit or part.startswith("ของ")):
            joined[-1] += " " + part
        else:
            joined.append(part)
    return joined


def _glue(tongue: str) -> str:
    return "，" if tongue == "zh" else " " if tongue == "th" else ", "


_LEAD = {
    "es": (
        r"^(?:(?:apunta|anota|recuerda|ten en cuenta)(?: que)?|que|también|hola|buenas|sí|bueno|y|pues|"
        r"te cuento|un par de cosas sobre mí|por cierto|además|ah|oye)\b[,:!.]*\s*"
    ),
    "de": (
        r"^(?:(?:merk dir|notier\w*|denk dran)(?: bitte)?(?:,? dass)?|guten tag|hallo|moin|kurz zu mir|"
        r"ja|nein|also|übrigens|und|bitte beachten|außerdem|dazu)\b[,:!.]*\s*"
    ),
    "nb": r"^(?:(?:husk|noter)(?: at)?|hei|ja|nei|og|forresten|men|jo)\b[,:!.]*\s*",
    "zh": r"^(?:你好|您好|嗯|好的|对了|另外|还有)[，,！!。]*",
    "th": r"^(?:สวัสดี)?(?:ครับ|ค่ะ|คะ)\s*$",
}


def _trim(text: str, tongue: str) -> str:
    text = text.strip(" .,!。！；;")
    for _ in range(3):
        text = re.sub(_LEAD[tongue], "", text, flags=re.IGNORECASE).strip()
    text = re.sub(r",?\s*(?:por favor|gracias|bitte|danke|takk)$", "", text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:] if text else text


def _kin(sentence: str, tongue: str, out: list[Found]) -> list[Found]:
    """A near person named in passing ("con mi pareja Ainhoa")."""
    pattern = {
        "es": (
            r"\b(?:con )mi (?P<rel>mujer|esposa|marido|pareja|novi[oa]|hij[oa]|madre|padre|"
            r"herman[oa]) (?P<name>[A-ZÁÉÍÓÚÑ]\w+)"
        ),
        "de": (
            r"\bmit meine[rm]? (?P<rel>frau|mann|partnerin|partner|freundin|freund|tochter|sohn|mutter|"
            r"vater) (?P<name>[A-ZÄÖÜ]\w+)"
        ),
        "nb": r"\bmed (?P<rel>kona|mannen|samboeren|kjæresten|sønnen|datteren) (?:min|mi) (?P<name>[A-ZÆØÅ]\w+)",
    }.get(tongue)
    if pattern is None or re.search(r"\?", sentence):
        return []
    return [
        Found(f"{m.group('rel').capitalize()}: {m.group('name')}", 2.4, ("kin",))
        for m in re.finditer(pattern, sentence, re.IGNORECASE)
        if not any(f.text.lower().startswith(m.group("rel").lower()) for f in out)
    ]
