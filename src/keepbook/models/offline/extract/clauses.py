"""From a turn's text to clauses in the person's own words.

Pasted mail, articles, quotes, code and logs are cut out first: they are never evidence, whatever they
say. The rest is cut into sentences, and each sentence into pieces that could each be one fact. A comma
starts a new piece only where something can stand alone; "when…", "which…", "unless…" stay with what
they belong to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# --- pasted text ------------------------------------------------------------------------------------

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_HEADER = re.compile(
    r"^\s*(?:subject|from|to|sent|date|cc|fwd?|re|betreff|von|an|asunto|de|para|emne|fra|til|主题|发件人)\s*:",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"forwarded message|original message|weitergeleitete nachricht|mensaje reenviado", re.IGNORECASE
)
_SALUTATION = re.compile(
    r"^\s*(?:dear|hello|hi|sehr geehrte\w*|estimad[oa]s?|kjære|尊敬的)\b[^.!?]{0,40},\s*$", re.IGNORECASE
)
_MACHINE = re.compile(
    r"^\s*(?:[{\[<].*[}\]>,;]?\s*$|traceback|\s+at \S+\(|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:error|warn|info|debug)\b|"
    r"(?:import|from|def|class|const|let|var|function|select|return|sudo|npm|pip|"
    r"git)\s+[\w*{(.\"'-]+.*[;:(){}=]|\$ )",
    re.IGNORECASE,
)
_TASK_VERB = (
    r"(?:translate|summari[sz]e|summary of|rewrite|reword|rephrase|proof-?read|paraphrase|shorten|polish|improve|"
    r"edit|reply to|respond to|tidy up|clean up|make (?:this|it) sound|turn this|"
    r"(?:fix|correct|answer|check|review|explain|analy[sz]e|read|look at|convert|format|grade|"
    r"critique|draft|write|table of)\b"
    r"[^.?!:\n]{0,40}\b(?:this|these|the following|below|(?:the|an?) (?:text|e-?mail|message|"
    r"letter|note|paragraph|sentence))|"
    r"übersetz\w*|fass\w*|korrigier\w*|traduce|resume|corrige|oversett|oppsummer|翻译|总结|润色|改写|แปล|สรุป)"
)
_SHOWS = re.compile(
    r"\b(?:this|these|following|below|e-?mail|mail|article|message|thread|post|letter|text|newsletter|note|page|"
    r"log|it says|they wrote|got this|says|wrote|dieser?|folgende\w*|este|esta|denne|dette)\b|这|以下|นี้",
    re.IGNORECASE,
)
_CUE_COLON = re.compile(rf"\b{_TASK_VERB}\b[^.?!\n]{{0,80}}:\s*(?=\S)", re.IGNORECASE)
_SAYS_COLON = re.compile(
    r"\b(?:says?|said|wrote|writes|reads|texted|emailed|replied|posted|quote|headline|caption|"
    r"schreibt|dice|skriver)\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = re.compile(
    r"“[^”]*(?:”|\Z)|„[^“”]*(?:[“”]|\Z)|«[^»]*(?:»|\Z)|\"[^\"]*(?:\"|\Z)|「[^」]*」|『[^』]*』|(?<!\w)'[^'\n]{25,}'(?!\w)"
)


# Nobody says a sentence of this length about themselves; bounds keep a huge paste from costing seconds.
_SENTENCE_MAX = 700
_TEXT_MAX = 20_000
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{60,}")


def squeezed(text: str) -> str:
    """The text within its bound, without blobs and long runs of blanks."""
    text = re.sub(r"[^\S\n]{2,}", " ", text[:_TEXT_MAX])
    return _BLOB.sub(" ", re.sub(r"\n{3,}", "\n\n", text))


def own_words(text: str, block: str | None = None) -> str:
    """The person's own words: without the injected block, code, quotes, mail and other pasted text."""
    if block:
        block = squeezed(block)
    text = squeezed(text)
    if block and block.strip() and block.strip() in text:
        text = text.replace(block.strip(), "\n")
    text = _INLINE_CODE.sub(" ", _FENCE.sub("\n", text))
    for cue in (_CUE_COLON, _SAYS_COLON):
        found = cue.search(text)
        if found:
            text = text[: found.start()] + "\n" + _after_quote(text[found.end() :])
    text = _QUOTES.sub(_short_quote, text)
    return "\n".join(_unpasted(text.split("\n"))).strip()


def _after_quote(rest: str) -> str:
    """What follows a closed quotation after "translate:" is the person's again; unquoted, all of it is pasted."""
    quote = re.match(r"\s*(?:\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»)(.*)", rest, re.DOTALL)
    return quote.group(1) if quote else ""


def _short_quote(found: re.Match[str]) -> str:
    inner = found.group(0).strip("\"“”„«»'「」『』 ")
    # A name or a word in quotes is the person's own; a quoted sentence is somebody else's.
    return inner if len(inner.split()) <= 4 and len(inner) <= 40 and not re.search(r"[.!?。]\s*$", inner) else " "


def _unpasted(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for n, line in enumerate(lines):
        if _HEADER.match(line) or _FORWARDED.search(line) or (n and _SALUTATION.match(line)):
            break
        if line.lstrip().startswith((">", "|")) or _MACHINE.match(line):
            continue
        if not line.strip() and any(k.strip() for k in kept):
            shown = " ".join(kept)
            after = [rest for rest in lines[n + 1 :] if rest.strip()]
            long = sum(len(rest) for rest in after) > 80
            if after and long and (_SHOWS.search(shown) or shown.rstrip().endswith((":", "?"))):
                break
        if kept and kept[-1].rstrip().endswith(":") and _SHOWS.search(kept[-1]) and len(line) > 60:
            break
        kept.append(line)
    return kept


# --- tidying ----------------------------------------------------------------------------------------

_TIDY = [
    (re.compile(p, re.IGNORECASE), r)
    for p, r in (
        (r"[’‘`´]", "'"),
        (r"\bim\b(?=\s+[a-z])", "I'm"),
        (r"\bive\b", "I've"),
        (r"\bid\b(?=\s+(?:rather|like|love|prefer|want))", "I'd"),
        (r"\b(do|ca|wo|did|does|is|are|was|have|has|would|could|should)nt\b", r"\1n't"),
        (r"\b(there|that|what|who|where)s\b", r"\1's"),
        (r"(?<=[\w%])\s+n\s+(?=\w)", " and "),
        (r"\bw/\s*(?=\w)", "with "),
        (r"\bwanna\b", "want to"),
        (r"\b(?:gonna|gunna)\b", "going to"),
        (r"\bgotta\b", "have to"),
        (r"\b(?:cos|cuz|coz|'?cause|bc|b/c)\b(?!\s+of\b)", "because"),
        (r"\b(?:cos|cuz|coz|'cause|cause|bc)\s+of\b", "because of"),
        (r"\bu\b(?=\s+[a-z])", "you"),
        (r"\b(?:pls|plz)\b", "please"),
        (r"\brn\b", "right now"),
        (r"\b(?:evry|evrey|eveyr|ev'ry)\b", "every"),
        (r"\b(?:alwyas|alwys|allways)\b", "always"),
        (r"\b(?:percnt|precent|per ?cent)\b", "percent"),
        (r"\b(?:nite)\b", "night"),
        (r"\bcall it (?=[£€$]?\d)", "about "),
        (r"\bnothin\b", "nothing"),
        (r",? give or take\b,?", ""),
        (r"\b(?:b-?day)\b", "birthday"),
        (r"\s*(?:\b(?:lol|lmao|haha+|hehe+|jaja+|tbh|imo|imho|smh|omg|lolz|ofc)\b|[\U0001F300-\U0001FAFF☀-➿])", ""),
        (r"[ \t]+", " "),
    )
]


def tidy(text: str) -> str:
    """Chat spelling brought closer to plain spelling, so that one rule reads both."""
    for pattern, plain in _TIDY:
        text = pattern.sub(plain, text)
    return text.strip()


# --- sentences --------------------------------------------------------------------------------------

_ABBREVIATION = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|no|nr|kl|vs|approx|ca|etc|e\.g|i\.e|z\.b|bzw|inkl|ltd|inc|"
    r"p\.m|a\.m|sr|sra|mt|ave|dept|min|max)\.$",
    re.IGNORECASE,
)
_STOP = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？；])|\n+|\s*;\s+|\s+[–—]\s*|\s+--?\s+|(?<=\.\.\.)\s*")


def sentences(text: str) -> list[str]:
    """Sentences with their end mark kept (a question must stay a question)."""
    out: list[str] = []
    for one in _lift_parentheses(text):
        out.extend(_split(one))
    return [s.strip(" \t–—-") for s in out if len(s) <= _SENTENCE_MAX and re.search(r"\w", s)]


def _split(text: str) -> list[str]:
    found: list[str] = []
    start = 0
    for stop in _STOP.finditer(text):
        head = text[start : stop.start()]
        if _ABBREVIATION.search(head.rstrip()) and not stop.group(0).count("\n"):
            continue
        found.append(head)
        start = stop.end()
    found.append(text[start:])
    return found


def _lift_parentheses(sentence: str) -> list[str]:
    """A whole clause in brackets is a sentence of its own; a short aside stays where it is."""
    aside = re.search(
        r"\s*\(((?:I|I'm|we|we're|my|he|she|it's|ich|jeg|soy|tengo)\b[^()]{12,})\)", sentence, re.IGNORECASE
    )
    if not aside:
        return [sentence]
    return [sentence[: aside.start()] + sentence[aside.end() :], aside.group(1)]


# --- pieces -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A clause that could be one fact; `joint` is the word that tied it to the one before."""

    text: str
    joint: str = ""
    sentence: str = ""
    first: bool = True


_NAME = r"[A-ZÀ-ÖØ-Þ][\w'À-ÿ-]+"
_SUBJECT = (
    r"(?:(?:I|i|we|We|he|she|they|it|there|my|our|My|Our|this|that|everyone|nobody|"
    r"[a-z]{3,}s (?=are\b))(?:'(?:m|ve|re|s|d|ll))?\b"
    r"|(?:the|The)\s+[a-z][\w'-]*(?:\s+[a-z]+)?\s+(?:is|are|was|has|have|goes?|needs?|starts?|will|"
    r"won't|can|can't|does)\b"
    r"|(?:his|her|their)\s+[a-z]+(?:\s+[A-Z][\w'-]+)?\s+(?:is|has|does|runs|approves|handles|"
    r"manages|works|needs|gets)\b"
    r"|(?:the|The|our|my|a|an)\s+[a-z][\w'-]*(?:,?\s+[A-Z][\w'-]+,?)?\s+(?:can|has|is|runs|does|"
    r"handles|manages|will|gets|needs|works)\b"
    rf"|(?:Dr\.?\s+)?{_NAME}(?:\s+{_NAME})?(?:\s+(?:in|at|from|on)\s+[\w]+)?(?:'s|\s+(?:and\s+I\b|"
    rf"is|are|was|has|does|will|can|wants|needs|works|signs|handles|runs|lives|goes|starts|manages|"
    rf"approves|drives|plays|takes|pays|owns|teaches|likes|hates|prefers|gets|comes|makes|keeps|"
    rf"thinks|says))\b)"
)
_ORDER = (
    r"(?:(?:please|pls|always|never|only|don't|dont|do not|stop|keep|no|nothing|not|avoid|skip|use|"
    r"give|make|put|send|call|"
    r"write|answer|reply|tell|ask|remember|note|also|just|book|find|schedule|move|set|add|remind|"
    r"check|order|reserve|draft|cancel)\b)"
)
_LINK = r"(?:and|but|so|also|then|yet|or|nor|though|while|whereas|n|because)"
_CUT = re.compile(
    rf"\s*,\s+(?:(?P<a>{_LINK}(?:\s+(?:also|then|now|please|so))?)\s+)?"
    rf"|\s+(?P<b>(?:and|but|so|because|though|while|whereas|nor)(?:\s+(?:also|then|now))?)\s+(?={_SUBJECT})"
    rf"|\s+(?P<c>so|and so|but)\s+(?={_ORDER})"
    rf"|\s+(?P<d>and)\s+(?=(?:never|always|at most|no|don't|please|max|skip|stop)\b)"
    r"|\s*(?P<e>:)\s+"
    r"|(?P<f>[，；]|(?<=[\u0e00-\u0e7f])\s+(?=[\u0e00-\u0e7fA-Z]))"
)
_TAIL = re.compile(
    r"^(?:when|which|who|whose|whom|that|unless|until|till|if|because|since|as|where|once|after|"
    r"before|except|including|"
    r"especially|not|or|with|without|at(?! (?:most|least))|in|on|from|for|to|by|of|around|about|"
    r"roughly|approximately|maybe|per|via|"
    r"starting|like|such as|never (?:above|over|more|below|less|under)|(?:the|my) (?:maximum|"
    r"minimum|rest|remainder|whole)|mostly|mainly|even|whatever|no matter|rather than|instead|than|"
    r"too|as well|though|(?:always|never|only|mostly|usually)\W*$|never (?:the|an?|in|on|at|by|"
    r"before|after|with|(?-i:[A-Z]))|"
    r"i think|i guess|i believe|i suppose|right|thanks?|please|ta|cheers|wenn|weil|damit|da|cuando|"
    r"porque|que|når|fordi|som)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:if|when|whenever|while|once|unless|since|because|as|after|before|until|although|even if|given|for|with|"
    r"on|in|at|during|from|by|wenn|falls|als|weil|seit|si|cuando|desde|hvis|når|siden)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(rf"^(?:(?:and|but|so|plus|also)\s+)*{_SUBJECT}")


def cut(sentence: str) -> list[tuple[str, str]]:
    """(joint, text) at every place where a new fact could begin."""
    parts: list[tuple[str, str]] = []
    start, joint, depth_free = 0, "", _brackets(sentence)
    for at in _CUT.finditer(sentence):
        if not depth_free[at.start()] or (
            re.search(r"\d$", sentence[: at.start()]) and re.match(r",\d", sentence[at.start() :])
        ):
            continue
        text = sentence[start : at.start()].strip()
        if text:
            parts.append((joint, text))
        joint = next((g for g in at.groups() if g), ",").lower()
        start = at.end()
    rest = sentence[start:].strip()
    if rest:
        parts.append((joint, rest))
    return parts


_DATED = re.compile(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def _listed(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """After a colon "Bea on 3 March and Otis on 22 July" are two entries."""
    out: list[tuple[str, str]] = []
    after_colon = False
    for joint, text in parts:
        after_colon = after_colon or joint == ":"
        halves = re.split(r" and (?=[\w' ]+ (?:on|at|by|is) )", text) if after_colon else [text]
        if len(halves) == 2 and all(_DATED.search(half) for half in halves):
            out += [(joint, halves[0]), ("and", halves[1])]
        else:
            out.append((joint, text))
    return out


_STATE = "live|work|have|own|rent|drive|speak|play|prefer|like|love|hate|study|teach|use|avoid|commute|volunteer"
_I_SAY = re.compile(rf"(?:(?:hi|hey|so|well|also|btw),? )?i(?:'m|'ve| am| (?:{_STATE}))\b(?! to\b)", re.IGNORECASE)
_I_ALSO = re.compile(rf"\band (?=(?:{_STATE})\b)")


def _coordinated(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """ "two losses and I'm done" is one rule, not a count and a mood."""
    out: list[tuple[str, str]] = []
    for joint, text in parts:
        if (
            out
            and joint == "and"
            and re.match(r"i\b", text, re.IGNORECASE)
            and re.fullmatch(r"(?:\d+|one|two|three|four|five) [a-z]+(?: [a-z]+)?", out[-1][1], re.IGNORECASE)
        ):
            out[-1] = (out[-1][0], f"{out[-1][1]} and {text}")
        else:
            out.append((joint, text))
    return out


_COUNTS = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|ten|no|never|max|noon|mon|tues?|wed|thurs?|fri|sat|"
    r"sun)\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
_HE = re.compile(r"^(?:he|she|they)(?:'s|'re)?\b", re.IGNORECASE)
_ABOUT_OTHER = re.compile(rf"^(?:(?i:and|but|so|also|oh) )*(?:{_NAME}\b(?! and I)|(?i:my|our|the) |(?i:dad|mom|mum))")
_ORDERED = re.compile(
    (
        r"^(?:and |also |please )*(?:keep|don't|always|never|use|give|no|skip|stop|avoid|british|"
        r"metric|call)\b"
    ),
    re.IGNORECASE,
)


def _elaborates(before: str, text: str, joint: str) -> bool:
    """The piece only says more about the one before: the same person, the same thing, the reason of an order."""
    if (
        joint in (",", "and", "and also")
        and _HE.match(text)
        and _ABOUT_OTHER.match(before)
        and not re.match(r"(?:I|we|my rule)\b", before, re.IGNORECASE)
    ):
        return True
    if (
        joint in (",", "and")
        and re.match(r"(?:I|we) (?:\w+ )?[a-z]+ (?:it|them)\b", text, re.IGNORECASE)
        and not re.match(r"(?:I|we)\b", before, re.IGNORECASE)
    ):
        return True
    if (
        joint == ","
        and _ORDERED.match(before)
        and re.match(r"(?:I|it|that)\b", text)
        and not re.search(r"\b(?:only|always|never)\b", text, re.IGNORECASE)
        and len(text.split()) <= 12
    ):
        return True
    if (
        joint == ","
        and re.match(r"(?:it|that)(?:'s|'ll| is| will| was)\b", text, re.IGNORECASE)
        and not re.match(r"(?:I|we)\b", before, re.IGNORECASE)
    ):
        return True
    if (
        joint == ","
        and re.match(r"only (?:the|what|my|an?|from|through)\b", text, re.IGNORECASE)
        and re.search(r"\b(?:no|not|never|none)\b|n't\b", before, re.IGNORECASE)
    ):
        return True
    if (
        joint.startswith("so")
        and re.match(r"(?:no|nothing) (?!need)(?:\w+ ){1,5}\w+\W*$", text, re.IGNORECASE)
        and len(text.split()) <= 6
    ):
        return True
    fragment = re.match(r"(?:\d|one |two |three |four )", text) and not re.search(
        (
            r"\b(?:kids?|children|sons?|daughters?|dogs?|cats?|positions|trades|and i'm|and i|every|each|"
            r"always|max)\b"
        ),
        text,
        re.IGNORECASE,
    )
    return bool(
        joint == "," and fragment and re.match(r"(?:I|we)\b", before, re.IGNORECASE) and not re.search(r"\d", before)
    )


def speech_head(text: str) -> str:
    return re.sub(r"^(?:well|so|and|i|we)\s+", "", text.strip(), flags=re.IGNORECASE)


def _brackets(sentence: str) -> list[bool]:
    free, depth = [], 0
    for mark in sentence + " ":
        depth += (mark == "(") - (mark == ")")
        free.append(depth <= 0)
    return free


def pieces(sentence: str, stands: re.Pattern[str]) -> list[Piece]:
    """Join what cannot stand alone; `stands` says (by word class) when a fragment without a verb can."""
    # "I live here and work there" are two facts: the second verb has the same subject, unsaid.
    said = _I_ALSO.sub("and I ", sentence) if _I_SAY.match(sentence) else sentence
    parts = _coordinated(_listed(cut(said)))
    out: list[Piece] = []
    held = ""
    listing = False
    for n, (joint, text) in enumerate(parts):
        bare = text.rstrip(".!?… ")
        if n + 1 < len(parts) and not out and _LEAD.match(bare) and (not held) and parts[n + 1][0] in (",", "then"):
            held = text + ", "
            continue
        if (
            out
            and re.fullmatch(r"(?:aged? )?\d\d(?: years(?: old)?)?", bare)
            and any(re.match(r"(?:i'm|i am|we're)\b", o.text, re.IGNORECASE) for o in out)
        ):
            out.append(Piece(f"I'm {re.sub(r'[^0-9]', '', bare)} years old", joint, sentence, False))
            continue
        listing = listing or (
            joint == ":"
            and bool(
                re.search(
                    r"\b(?:rules?|plan|schedule|limits?|routine|timetable|week|recap|birthdays|dates|deadlines|"
                    r"list)\b",
                    sentence[: sentence.find(":")],
                    re.IGNORECASE,
                )
            )
        )
        alone = bool(listing and _COUNTS.search(bare)) or bool(
            _FINITE.match(bare) or re.match(_ORDER, bare, re.IGNORECASE) or stands.search(bare)
        )
        if joint == "because" or _TAIL.match(bare):
            alone = alone and joint in ("and", "but", "so", "plus", "also") and bool(_FINITE.match(bare))
        if (
            n == 1
            and joint == "and"
            and re.match(r"i\b", bare, re.IGNORECASE)
            and re.fullmatch(rf"(?:{_NAME}|my \w+)(?: {_NAME})?", out[-1].text if out else "")
        ):
            alone = False  # "Nils and I want…" is one subject
        if bare.lower().startswith("plus "):
            alone = False
        if joint.startswith(("so", "but")) and len(bare.split()) >= 3 and not _TAIL.match(bare):
            alone = True
        if (
            re.match(r"now\b|these days\b", bare, re.IGNORECASE)
            and out
            and re.match(
                r"(?:ex-|spent|was|were|used|did|had|worked|started|after|years)",
                speech_head(out[-1].text),
                re.IGNORECASE,
            )
        ):
            alone = True
        if out and alone and _elaborates(out[-1].text, bare, joint):
            alone = False
        if out and not held and not alone:
            last = out[-1]
            glue = ": " if joint == ":" else (", " if joint == "," else f" {joint} ")
            if joint not in (",", ":", "because", "and", "or", "n") and joint:
                glue = f", {joint} "
            out[-1] = Piece(last.text + glue + text, last.joint, sentence, last.first)
            continue
        out.append(Piece(held + text, joint, sentence, not out))
        held = ""
    if held:
        out.append(Piece(held.strip(", "), "", sentence, not out))
    return out
