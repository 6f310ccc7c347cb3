"""What the turn before lends to this one: questions, proposals, refusals, declines, corrections.

An answer often makes sense only with its question ("Around 48k" after "annual spending?"); an
assistant's proposal counts only when the person takes it; "leave that out" reaches back; "make that
58, not 60" changes what was said before.
"""

from __future__ import annotations

import re

from keepbook.models.offline.extract import english as w
from keepbook.models.offline.extract.evidence import THEME
from keepbook.models.offline.extract.third_person import third


def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


YES = _rx(
    r"^\W*(?:yes+|yep|yup|yeah|yea|ya|sure|ok(?:ay)?,? (?:do|yes|let's)|please do|go ahead|"
    r"go for it|correct|right|exactly|do it|do that|put (?:that|it) down|deal|agreed|"
    r"that works|perfect|absolutely|definitely|of course|sounds (?:good|right)|let's do (?:that|"
    r"it)|i like (?:that|it|the)|good idea|spot on|that's right|aye|fine by me|"
    r"sí|si|claro|ja|jepp|genau|stimmt|好的?|可以|是的?|对|ใช่|ได้|ตกลง)(?!\w)"
)
NO = _rx(
    r"^\W*(?:no+|nope|nah|not really|not yet|never|don't|please don't|please no|god no|hell no|"
    r"no thanks?|i'd rather not|rather not|negative|you should not|absolutely not|"
    r"nein|nei|nein danke|不|不用|ไม่)(?!\w)"
)
_KEEP_ASK = _rx(
    r"\b(?:(?:should|shall|can|may|could|do you want me to|would you like me to|want me to|"
    r"do i)\s*(?:i )?(?:please )?"
    r"(?:note|remember|save|store|keep|record|write|put|log|add (?:that|this|it)|jot|make a note|take)\b|in memory\b|"
    r"soll ich (?:mir )?\w+ merken|skal jeg (?:huske|notere|lagre))|¿(?:lo )?(?:recuerdo|apunto|guardo)|要我记|ให้จำ"
)
AHEAD = _rx(
    r"\b(?:off the record|between you and me|(?<!\w )(?:just )?between (?:us|ourselves)(?! two)|"
    r"(?:stays|is) between (?:us|ourselves)|between (?:us|ourselves)(?=\W*$)|in confidence|"
    r"confidentially|don't (?:write|note) this down,? but|entre nosotros|unter uns|mellom oss)\b"
)
ON_RECORD = _rx(
    r"\b(?:on the record|for the record|what you (?:can|should|could|may) (?:note|keep|remember|"
    r"save|store)|you can (?:note|remember|keep)|do (?:note|remember))\b"
)
ALL = _rx(
    r"\b(?:any|all|none|everything|anything) (?:of )?(?:this|that|it|i said|we)\b|\bany of (?:this|"
    r"that|it)\b|\beverything\b|nada de esto|nichts davon|ingenting av dette"
)
MEMORY_WORD = _rx(
    r"\b(?:memory|memories|notes?|file|records?|list|profile|what you (?:know|keep|have)|"
    r"your (?:book|head|notes)|remember|know about me|on me|from your|saved|stored|goal|gedächtnis|"
    r"memoria|notas|minne)\b|记忆|ความจำ"
)

_QUESTION = re.compile(r"[^.!?]*\?")
_ASKS_NOW = _rx(
    r"\b(?:what time|which day|what date|for when|how many (?:people|nights|guests)|occasion|"
    r"reason|today|tonight|tomorrow|this (?:week|morning|trip|time)|right now|happened|which one|"
    r"hotel|flights?|when do you (?:travel|leave|fly)|what happened|feel|feeling|warm or|"
    r"(?:want|need|like) (?:to|me|a|an|some)\b|shall i|should i|anything else|correct|done|ready|"
    r"mean|per plan|were|did you|was it|how soon|how long until|how can i help|going|how was)\b"
)
_ASKS_LASTING = _rx(
    rf"\b(?:{w.MONEY}|{w.TRADING}|{w.HEALTH}|{w.LIFE}|goals?|aims?|aiming|objectives?|plans?|"
    rf"situation|background|income|incomes|jobs?|work|family|household|budget|horizon|commitments|"
    rf"term|outstanding|"
    r"risk|rules?|market|markets|names|tools?|platform|timezone|zone|diet|hobb\w+|live|based|"
    r"spending|retire\w*|airline|window|hours|use|vet|provider|pets?|kids|children|names?|"
    r"structure|no-go|times|allow|achieve|who is|know about|journal|follow|instruments?|"
    r"old are you|do for a living|deductible|beneficiary|currency|school|stack|language)\b"
)


def last_question(text: str) -> str | None:
    asked = _QUESTION.findall(text)
    return asked[-1].strip() if asked else None


def lasting_question(question: str) -> bool:
    lasting = _ASKS_LASTING.search(question) or re.search(
        (
            r"\b(?:do|are|have) you\b|\byour\b|^who should\b|^\W*(?:what(?:'s)?|which|how (?:much|many|often)|any|"
            r"and)\b(?: [\w'-]+){1,3}\?$|preference|budget|seat"
        ),
        question,
        re.IGNORECASE,
    )
    return bool(lasting) and not _ASKS_NOW.search(question)


def topic(question: str) -> str | None:
    """The thing asked about, as a short heading: "Which broker for the spreads?" → "Broker for the spreads"."""
    q = re.sub(
        (
            r"^(?:and|so|ok|okay|great|good|solid|clear|understood|thanks|got it|nice|welcome|then|also|"
            r"now|helpful)[,:.!]*\s+"
        ),
        "",
        question.strip(" ?"),
        flags=re.IGNORECASE,
    )
    does = re.match(
        (
            r"^what (?:else )?do you (use|trade|drive|eat|drink|follow|play|study|teach|hold|own|allow|"
            r"invest in)\b"
        ),
        q,
        re.IGNORECASE,
    )
    who = re.match(r"^who (?:should|does|gets?|can|do|handles?|has to) (?:be |get |you )?([^,?]+)$", q, re.IGNORECASE)
    if who:
        return who.group(1)[:1].upper() + who.group(1)[1:]
    if does:
        return third(does.group(1)).capitalize()
    for pattern in (
        r"^(?:what|which)(?:'s| is| are| was)? (?:your |the |a )?(?P<t>(?!do\b|does\b|are\b|else\b|"
        r"should\b|would\b|brings\b|happened\b|is\b)[^,?]+?)(?: (?:do|are|did|would|have|can|will|"
        r"should) you\b.*)?$",
        r"^(?:do you have|have you got|is there|are there|do you|any|anything)(?: a| an|"
        r" any)?(?: rough| specific| particular)? (?:number|figure|idea|amount|range|"
        r"thought)s?(?: in mind)? (?:for|about|on|of) (?P<t>[^,?]+)$",
        r"^how (?:much|many|often|long|big|old)(?P<t> [^,?]+)$",
        r"^(?:any|and the|and your|and|your|the|how about(?: the| your)?|what about(?: the| your)?) (?P<t>[^,?]+)$",
        r"^(?:do|can) you (?:have|use|keep|own|know|allow|follow|get|see)? ?(?:a |an |any )?(?P<t>[^,?]+)$",
        r"^(?:are|is|have) (?:you|there|the)(?: any)? (?P<t>[^,?]+)$",
        r"^(?P<t>[\w' -]{3,25})$",
    ):
        found = re.match(pattern, q, re.IGNORECASE)
        if found:
            head = found.group("t").strip()
            head = re.sub(
                r"\b(?:do|are|is|did|does|would|have|will) (?:you|it|they|there)\b ?", "", head, flags=re.IGNORECASE
            )
            head = re.sub(r"\byou\b ?|\b(?:your|the) |^(?:is|are|do|of|to) ", "", head, flags=re.IGNORECASE)
            head = re.sub(
                r"\s+(?:have|so far|then|now|like|today|in mind|got|on|use|usually|used|expect)$",
                "",
                head,
                flags=re.IGNORECASE,
            ).strip(" ,")
            return head[:1].upper() + head[1:] if 2 <= len(head) <= 60 else None
    return None


def fragment(text: str) -> bool:
    """No subject with a verb: it leans on the question."""
    return not re.search(
        r"\b(?:i|we|he|she|they|it|there|that|this)(?:'\w+)? ?\b(?:[a-z]+)|\b(?:is|are|was|goes|has|"
        r"have|does|needs|lands|am)\b|^(?:always|never|please|don't|no)\b",
        text,
        re.IGNORECASE,
    )


def as_statement(question: str, yes: bool) -> str | None:
    """A lasting yes/no question turned into what its bare answer says: "Do you rent?" + no → "Doesn't rent"."""
    q = re.sub(r"^(?:and|so|ok|great|good|also)[,:]?\s+", "", question.strip(" ?"), flags=re.IGNORECASE)
    found = re.match(
        (
            r"do you (?:still |also |currently |usually )?(?!want|need|mean|think|plan|know|remember|see|"
            r"feel|prefer .* or|have (?:time|a minute|a moment)|like me)([a-z]+)\b(.*)$"
        ),
        q,
        re.IGNORECASE,
    )
    if found and " or " not in q:
        verb, rest = found.group(1), found.group(2)
        return (third(verb) if yes else f"Doesn't {verb.lower()}").capitalize() + rest.replace(" your ", " their ")
    found = re.match(
        r"(?:any|have you got|do you have)(?: any)? (?P<t>(?:other |more )?[\w' -]{3,30})$", q, re.IGNORECASE
    )
    if (
        found
        and not yes
        and lasting_theme(found.group("t"))
        and not re.match(r"plans?|idea|chance|thought|question", found.group("t"), re.IGNORECASE)
    ):
        return "No " + found.group("t").strip()
    return None


def completed(question: str, answer: str) -> str | None:
    """ "Two are." after "Are all three mortgaged?" → "Two are mortgaged"."""
    asked = re.search(
        r"\b(?:are|is|were) (?:all |both |the |any |they |your |of )*[\w ]*?(\w+)\?\s*$", question, re.IGNORECASE
    )
    said = re.match(r"^((?:the |only |just )?[\w ]{2,20}?) (are|is|aren't|isn't)[.! ]*$", answer.strip(), re.IGNORECASE)
    return f"{said.group(1).capitalize()} {said.group(2)} {asked.group(1).lower()}" if asked and said else None


def proposal(text: str) -> str | None:
    """What the assistant offered to keep, as a statement about the person; None if it only asks "shall I keep it?"."""
    lone = re.search(
        (
            r"(?P<said>[^.!?]+)[.!] (?:should|shall|may|can|do you want me to|want me to|"
            r"would you like me to) ?(?:i )?(?:note|remember|save|store|record|log|add|keep) (?:it|that|"
            r"this)(?: down)?\?"
        ),
        text,
        re.IGNORECASE,
    )
    if lone and re.search(
        r"\b(?:rule|limit|guard|cap|no|never|only|always|might|could|consider|suggest|pause)\b",
        lone.group("said"),
        re.IGNORECASE,
    ):
        rule = re.sub(
            (
                r"^.{0,40}?:\s*|^(?:then )?(?:you|we|i)(?:'d| would)? (?:might|could|should|may|"
                r"suggest)(?: want to| also)? "
            ),
            "",
            lone.group("said").strip(),
            count=1,
            flags=re.IGNORECASE,
        )
        return "Rule: " + rule.replace("your ", "their ").replace(" you ", " they ")
    found = re.search(
        r"\b(?:note|remember|save|store|record|write|put|log|jot|keep|add|set|make)(?: down)?(?: it|"
        r" this)?(?: down)? (?:that|:|as) (?P<what>[^?]+)\?",
        text,
        re.IGNORECASE,
    )
    if not found:
        return None
    what = found.group("what").strip(" .,")
    if re.match(
        (
            r"(?:as )?(?:your|a|the|my) (?:\w+ )?(?:rule|limit|goal|preference|default|plan|routine|"
            r"setting|policy)$"
        ),
        what,
        re.IGNORECASE,
    ):
        before = re.split(r"(?<=[.!?])\s+", text[: found.start()])
        said = [s for s in before if len(s.split()) > 4]
        if not said:
            return None
        rule = re.sub(
            r"^.*?\b(?:help|rule|idea|about|this|consider|be|simple|suggest\w*)\s*:\s*",
            "",
            said[-1].strip(" ?."),
            flags=re.IGNORECASE,
        )
        rule = re.sub(
            r"^(?:then )?(?:you|we|i)(?:'d| would)? (?:might|could|should|may)(?: want to| also)? ",
            "",
            rule,
            flags=re.IGNORECASE,
        )
        return "Rule: " + rule.replace("your ", "their ").replace(" you ", " they ")
    return about_person(what)


def about_person(what: str) -> str:
    """ "you prefer mornings" → "Prefers mornings"."""
    what = re.sub(r"^you(?:'re| are)\b", "is", what, flags=re.IGNORECASE)
    what = re.sub(r"^you've\b|^you have\b", "has", what, flags=re.IGNORECASE)
    what = re.sub(
        r"^you ((?:always|never|only|usually|mostly|also) )?([a-z']+)",
        lambda m: (m.group(1) or "") + third(m.group(2)),
        what,
        flags=re.IGNORECASE,
    )
    what = re.sub(r"\byour\b", "their", what, flags=re.IGNORECASE)
    what = re.sub(r"\byou\b", "they", what, flags=re.IGNORECASE)
    return what[:1].upper() + what[1:]


_STRONG_YES = _rx(
    r"\b(?:let'?s do (?:that|it|this)|do (?:that|it|this)|deal|agreed|sounds good|works for me|"
    r"i'm in|good rule)\b"
)
_RULEISH = _rx(r"\b(?:no|never|only|max(?:imum)?|at most|cap|limit|pause|rule|minimum|stop after|wait)\b")


def agreed_rule(text: str, answer: str) -> str | None:
    """A rule the assistant put forward and the person took with more than a nod ("yeah, let's do that")."""
    if not _STRONG_YES.search(answer) or re.search(r"\b(?:but|except|not|no)\b", answer, re.IGNORECASE):
        return None
    said = [s for s in re.split(r"(?<=[.!?])\s+", text) if _RULEISH.search(s) and len(s.split()) >= 4]
    if not said or re.search(r"\b(?:shall|should) i\b", said[-1], re.IGNORECASE):
        return None
    rule = re.sub(
        (
            r"^[^:]{0,40}:\s*|^(?:then )?(?:how about|what about|would|you (?:could|might|should)|"
            r"i'd (?:suggest|set|try)|maybe|perhaps|let's) "
        ),
        "",
        said[-1].strip(" ?."),
        flags=re.IGNORECASE,
    )
    return "Rule: " + rule.replace("your ", "their ").replace(" you ", " they ")


def offers_habit(text: str) -> str | None:
    """An offered standing service ("Would you like a checklist every Sunday?"): what was offered."""
    found = re.search(
        rf"(?:would you like|do you want|shall i|should i|want me to|i (?:can|could)|"
        rf"skal jeg)(?: me to)? (?P<what>[^.?!]*\b(?:{w.RECUR}|always|from now on|in future|"
        rf"automatically)[^.?!]*)\?",
        text,
        re.IGNORECASE,
    )
    return found.group("what").strip() if found else None


def asks_to_keep(text: str) -> bool:
    return bool(_KEEP_ASK.search(text))


# --- corrections ------------------------------------------------------------------------------------

CORRECTS = _rx(
    r"\b(?:actually|wait|hang on|scratch(?: that)?|sorry|correction|i mean|i meant|make (?:that|"
    r"it)|misread|mistyped|typo|my mistake|i was wrong|wrong|on second thought|change of plan|"
    r"no,? (?:it's|its|that's|not)|not \w+,? (?:but|it's)|instead|oops|mixed up|hold on|"
    r"let me check|quatsch|nein,? |besser|mejor dicho|perdón|eller nei|beklager|不对|应该是|更正|"
    r"ไม่ใช่)\b"
)
VALUE = re.compile(
    rf"[£€$]?\d[\d.,']*(?:st|nd|rd|th|%|k|m)?(?!\w)|\b{w.NUMBER_WORD}\b|\b(?:{w.WEEKDAY}|"
    rf"{w.MONTH})\b|(?<![.!?] )(?<!^)\b[A-Z][a-z]+\b",
    re.IGNORECASE,
)
_NOT_OLD = re.compile(
    r"(?P<new>[£€$]?[\w.%'-]+(?: \w+)?),? (?:and )?not (?:the )?(?P<old>[£€$]?[\w.%:'-]+)\b", re.IGNORECASE
)
_INLINE = re.compile(
    r"(?P<old>[£€$]?\d[\d.,]*\s?\w{0,6}|\b[A-Z]\w+)\s*[,.…-]*\s*\b(?:no wait|no sorry|no,? sorry|"
    r"sorry|no,? wait|wait no|wait|i mean|i meant|actually|or rather|scratch that|make that|er|"
    r"no)\b[\s,]+"
    r"(?:sorry,? |no,? |wait,? |it's |its |make that )*(?P<new>[£€$]?\d[\d.,]*\s?\w{0,6}|[A-Z]\w+)\b"
)


def kind(value: str) -> str:
    low = value.lower()
    if re.fullmatch(rf"{w.WEEKDAY}", low):
        return "weekday"
    if re.fullmatch(rf"{w.MONTH}", low):
        return "month"
    if low.endswith("%"):
        return "percent"
    if low[:1] in "£€$" or (low.endswith(("k", "m")) and low[:1].isdigit()):
        return "money"
    if re.search(r"\d|^(?:" + w.NUMBER_WORD + r")$", low):
        return "number"
    return "name"


def mend_inside(sentence: str) -> str:
    """ "4.2, no sorry, 4.7" → "4.7": a slip mended in the same breath."""
    return _INLINE.sub(lambda m: m.group("new"), sentence)


def not_old(text: str) -> tuple[str, str] | None:
    """("58", "60") for "make that 58, not 60"; both must be values of one kind, else "can not to" would count."""
    for found in _NOT_OLD.finditer(text):
        new, old = found.group("new").split()[-1].rstrip(".,"), found.group("old").rstrip(".,")
        named = new[:1].isupper() and old[:1].isupper()
        counted = VALUE.fullmatch(new) and VALUE.fullmatch(old) and "name" not in (kind(new), kind(old))
        if named or counted:
            return new, old
    return None


def lasting_theme(text: str) -> bool:
    return bool(THEME.search(text))


def one_off_delete(sentence: str) -> bool:
    """Deleting a mail or an entry is a job, not a wish about memory."""
    return bool(
        re.search(
            (
                r"\b(?:delete|remove|archive|clear|drop)\b.{0,20}\b(?:e-?mails?|messages?|invites?|meetings?|"
                r"events?|reminders?|rows?|columns?|files?|both|block|slots?|afternoon|calendar)\b"
            ),
            sentence,
            re.IGNORECASE,
        )
    )
