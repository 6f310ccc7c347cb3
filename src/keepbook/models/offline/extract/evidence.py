"""Is an English piece a lasting fact about the person? Evidence is added up, then compared with a bar.

Each feature is a broad grammatical or lexical class with a weight; no single word decides. What a piece
must not be (question, supposition, joke, one-off job…) is ruled out first, with the reason, so that a
dry run can say why something was not kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keepbook.models.offline.extract import english as w
from keepbook.models.offline.extract import speech_acts

BAR = 1.8


def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ADV = (
    r"(?:(?:also|usually|always|never|only|still|just|mostly|normally|generally|often|mainly|"
    r"really|do|currently|typically|basically|"
    r"actually|both|ever|even|already|now|tend to|each|all|have to|need to|get to|currently|"
    r"sometimes|rarely|hardly) )*"
)
_THEME_WORDS = f"{w.MONEY}|{w.TRADING}|{w.WORK}|{w.HEALTH}|{w.TRAVEL}|{w.LIFE}"
THEME = _rx(rf"\b(?:{_THEME_WORDS})\b")
STYLE = _rx(rf"\b(?:{w.STYLE})\b")
PEOPLE = _rx(
    rf"\b(?:my|our|his|her|the) (?:(?:new|old|eldest|oldest|youngest|little|big|late|elderly|dear|"
    rf"two|three|four|other|business|half|twin|own|only|\d) )*(?:{w.KIN}|{w.ROLE}|{w.PET})\b"
)
KIN_FRAGMENT = _rx(
    rf"\b(?:{w.NUMBER_WORD}|\d|no|a|an|the|with) (?:(?:young|small|little|grown|adult|new|rescue|"
    rf"old|teenage) )*(?:{w.KIN}|{w.PET})\b|^(?:{w.KIN}) [A-Z]"
)
AMOUNT = _rx(
    rf"[£€$¥]\s?\d|\d[\d.,' ]*\s?(?:%|percent|k\b|m\b|grand|thousand|million|euros?|dollars?|"
    rf"pounds?|francs?|kron\w+|bucks|zloty|usd|eur|gbp|chf|"
    rf"sek|nok|hours?|days?|weeks?|months?|years?|minutes?|mins?|am\b|pm\b|ticks?|pips?|points?|"
    rf"contracts?|trades?|positions?|lots?|r\b|kids|km|kg|lines|words|chars\w*)|"
    rf"\b{w.NUMBER_WORD} (?:percent|grand|thousand|million|\w+ )?(?:hours?|days?|weeks?|months?|"
    rf"years?|minutes?|ticks?|pips?|points?|contracts?|trades?|positions?|lots?|loss(?:es)?|"
    rf"options|kids|children|lines|times|flats|sessions)\b|\d{{3,}}|\b\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?: of)? {w.MONTH}\b|\b{w.MONTH} \d{{1,2}}\b|\b\d{{1,2}} ?(?:-|–|to) ?\d{{1,2}}\b|"
    rf"\b\d+ [a-z]+ (?:days|weeks|months|years|trades|times)\b|\b\d{{1,2}}[:.]\d\d\b|\b\d+(?:st|nd|"
    rf"rd|"
    rf"th)\b|\b(?:19|20)\d\d\b"
)
NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][a-zà-ÿ'-]{1,}\b|\b[A-Z]{2,}\b")

_FEATURES: list[tuple[str, float, re.Pattern[str]]] = [
    ("habit", 1.7, _rx(rf"\b(?:i|we) {_ADV}(?!(?:{w.MENTAL})\b(?!'))[a-z]{{2,}}\b")),
    (
        "not",
        1.9,
        _rx(
            r"\b(?:i|we) (?:not (?=have|want|like|own|need|eat|use)|don't|do not|dont|won't|shan't|"
            r"will not|can't|cannot|can not|never) (?:ever |really |even |personally )?(?!know|think|mind|"
            r"care|get it|remember|see|understand|want to (?:know|hear about it now)|believe|wait|help|say|"
            r"tell|read|worry|have time)[a-z]+"
        ),
    ),
    (
        "state",
        2.1,
        _rx(
            rf"\b(?:i|we) {_ADV}(?:live|work|own|have|has|use|rent|trade|teach|study|earn|make|pay|save|"
            rf"invest|hold|speak|file|drive|run|lead|manage|"
            r"eat|drink|play|cook|collect|follow|journal|share|receive|come from|report|answer to|fly|"
            r"commute|support|send|put|size|split|swim|sleep|shop|bank|journal|scalp|swing|risk)\b"
            r"|\b(?:i've|we've|i have|we have|i've got|we've got|have got) (?:never )?(?:got |had )?(?:a|"
            r"an|the|two|three|four|five|no|none|about|around|roughly|some|only|just|\d|[£€$]|my own)"
            r"|\b(?:i'm|i am|we're|we are) (?:\w+ )?(?:at|on|in|with|from|up in|down in|over in|near|based|"
            r"out of) (?!my way|the way|it\b|the middle|bed|a (?:hurry|rush|mess|meeting|call)|trouble|"
            r"the (?:office|car|train|bus|shower)|time|touch|charge of nothing|holiday)[\w£€$]+"
        ),
    ),
    (
        "identity",
        2.2,
        _rx(
            rf"\b(?:i'm|i am|we're|we are) (?:also |basically |actually |just |both |only |originally |"
            rf"still |now )*(?:an? |the (?!one\b|same|only|best|worst|first|last|opposite)(?=\w+ \w)|ex-|"
            rf"half |originally )?(?!(?:{w.MOOD})\b)(?:{w.JOB}|\d\d\b|"
            rf"from [A-Z]|allergic|intolerant|vegan|"
            r"vegetarian|diabetic|married|single|divorced|widowed|engaged|retired|pregnant|self|"
            r"left-handed|deaf|blind|autistic|dyslexic|colou?r-?blind|lactose|coeliac|celiac|muslim|jewish|"
            r"hindu|"
            r"christian|buddhist|catholic|canadian|american|british|german|french|spanish|italian|irish|"
            r"scottish|dutch|swedish|norwegian|danish|polish|indian|chinese|nigerian|brazilian|"
            r"nocturnal|an? )"
        ),
    ),
    ("called", 1.5, re.compile(r"\b(?:I'm|I am|i am|i'm) (?!I\b)[A-Z][a-z]+\b")),
    ("called", 2.2, _rx(r"\b(?:i'm called|my name(?:'s| is)|call me|i go by|(?:is|are) called|named|name is)\b")),
    (
        "ongoing",
        1.6,
        _rx(
            rf"\b(?:i'm|i am|we're|we are|been) (?:also |currently |still |now |only |just |"
            rf"slowly )*(?:{w.ONGOING})\b"
        ),
    ),
    (
        "kin named",
        0.6,
        re.compile(rf"\b(?:[Mm]y|[Oo]ur|[Tt]he|[Hh]er|[Hh]is)? ?(?i:{w.KIN}|{w.ROLE}|{w.PET}),? [A-Z][a-z]"),
    ),
    (
        "mine",
        1.5,
        _rx(
            r"\b(?:my|our|mine|ours) (?:[\w'&-]+ ){0,6}?(?:is|are|'s|isn't|aren't|has|have|goes|lands|ends|"
            r"runs|starts|will|needs?|works?|lives?|does|do|comes?)\b|\b(?:my|our) [\w-]+'s\b|^(?:mine|"
            r"ours) (?:is|are)\b|\bare my thing\b|\b(?:is|are) (?:mine|ours)\b|\bbelongs? to (?:me|us)\b"
        ),
    ),
    ("people", 1.6, PEOPLE),
    ("people", 1.2, KIN_FRAGMENT),
    (
        "preference",
        2.1,
        _rx(
            r"\b(?:prefer|(?:i|we) (?:really |absolutely |do )?(?:like|love|hate|dislike|avoid|refuse|"
            r"enjoy|loathe|adore)|can't stand|(?:'d| would) rather|rather have|fan of|allergic|"
            r"favou?rite|fond of|not into|into (?!it)|sensitive to|afraid of|scared of|don't (?:like|want|"
            r"eat|drink|do|touch|use|trade|short|care for)|won't|will not|not interested|"
            r"hates?|loves?|not comfortable|comfortable with|instead of|suits me|works (?:best )?for me|"
            r"write best|work best)\b"
        ),
    ),
    (
        "goal",
        2.0,
        _rx(
            r"\b(?:want(?:s)? (?!you\b|to (?:know|see|check|ask|understand|hear|make sure|say|discuss|talk|"
            r"go over|look|move|book|step)\b|me\b|it\b|that\b)|wanna|"
            r"(?:'d|would) (?:like|love|want) (?:to |a |an |my |our )(?!(?:know|see|check|ask|hear|"
            r"book)\b)|aim(?:ing)? (?:to|for|is)|goals?|hop(?:e|ing) to|plan(?:s|ning)? to|plan is|intend|"
            r"target(?:ing)? |dream (?:is|of)|saving (?:up )?for|save (?:up )?for|by the time|"
            r"before i turn|need it (?:in|by)|objective|until i(?:'ve| have)|"
            r"(?:retire|stop|quit|done|finish|work|working) (?:\w+ ){0,4}(?:at|by|until|till|when i'm) \d\d)"
        ),
    ),
    (
        "rule",
        1.6,
        _rx(
            (
                r"\b(?:my|our|the|hard|own|personal) (?:[\w-]+ )?(?:rule|limit|cap|max(?:imum)?|budget|target|"
                r"stop|policy)s?\b|\b(?:max(?:imum)?|at most|no more than|never (?:more|above|over)|"
                r"not more than|limit of|cap of|minimum|at least|within|under) (?:of )?[£€$]?(?:\d|"
            )
            + w.NUMBER_WORD
            + r"|a )|\b(?:\d[\d.,]*%?|"
            + w.NUMBER_WORD
            + r"|percent)(?: \w+){0,3} (?:max(?:imum)?|tops|cap|limit|minimum)\b|\brule\b|\bno-?go\b"
        ),
    ),
    ("rule", 1.6, _rx(rf"^(?:\d+|{w.NUMBER_WORD}) \w+ and i(?:'m| am)? (?:done|out|finished|stop|quit|walk)")),
    ("change", 2.0, _rx(rf"\b(?:{w.CHANGE})")),
    ("standing", 1.6, _rx(rf"\b(?:{w.STANDING})\b")),
    ("recurring", 1.3, _rx(rf"\b(?:{w.RECUR})")),
    (
        "none",
        1.5,
        _rx(
            rf"(?:^|,\s*|\b(?:i've|we've|have|has|there's|there is|with|and) )(?:no|none|zero|nothing|"
            rf"not any|never)\b(?! (?:wait|one cares|problem|idea))(?=.*\b(?:{_THEME_WORDS}|{w.KIN}|"
            rf"{w.STYLE})\b|ne\b)"
        ),
    ),
    (
        "only",
        1.2,
        _rx(
            r"\bonly\b|\bnothing (?:else|lower|higher|with|before|after|over|under)\b|\bjust (?:plain|the|"
            r"a)\b|\bexclusively\b|\bthat's (?:it|all)\b"
        ),
    ),
    (
        "now",
        0.8,
        _rx(
            r"\bnow\b|\bthese days\b|\bsince (?:\d{4}|the|last|"
            + w.MONTH
            + r"|[A-Z])|\bas of\b|\bfrom (?:the )?\d|\bnew\b|\bnowadays\b|\bcurrently\b|\bstill\b"
        ),
    ),
    ("theme", 0.9, THEME),
    ("amount", 0.8, AMOUNT),
    ("age", 0.9, _rx(r"\b(?:until|till|by|at|when i'm|turn(?:ing)?|aged?) (?:age )?\d\d\b(?![:%.,\d])")),
    (
        "route",
        1.4,
        _rx(
            r"\b(?:goes?|go) (?:to|through|via) (?!bed|sleep|the (?:gym|shop|store|beach)|work\b)|"
            r"^(?:anything|everything|all)\b"
        ),
    ),
    (
        "definite",
        1.0,
        _rx(
            r"^(?:the|my|our|his|her) [\w'& -]{2,30}? (?:is|are|'s) (?:in|at|on|with|under|behind|by|"
            r"called|from|for|always|never|only)\b"
        ),
    ),
    ("necessity", 1.3, _rx(r"^(?!i\b|we\b|you\b)[\w' -]{3,40}? (?:have to|has to|must|needs? to|are required to)\b")),
    (
        "quantified",
        0.8,
        _rx(
            r"^(?:nowadays |these days |now )?(?:anything|everything|all \w+|whatever) (?:is|goes|in|about|"
            r"to do with|related|for|that|on|with)\b"
        ),
    ),
    (
        "matter",
        1.2,
        _rx(
            r"^(?!(?:the )?(?:spread|price|vix|es|nq|dax|gold|oil|eurusd|market|week|day|time|it|that|this|"
            r"he|she)\b)(?:the |my |our )?[\w'-]+(?: [\w'-]+){0,2} (?:is|are) (?:about |around |now |"
            r"roughly |currently )?[£€$]?\d"
        ),
    ),
    ("matter", 1.2, _rx(rf"^(?:the |my |our )?(?:[\w-]+ )?(?:{_THEME_WORDS}) (?:is|are|'s)\b")),
    (
        "setting",
        1.0,
        _rx(
            r"\b(?:setup|stack|tooling|hardware|working (?:title|hours)|time ?zone|pacific|eastern|gmt|utc|"
            r"cet|est|pst|address|pronouns|birthday|anniversary|deadline|due|standup|stand-up)\b"
        ),
    ),
]
_NAMED_ACTS = re.compile(
    r"^(?:Dr\.? |the )?[A-ZÀ-ÖØ-Þ][\wÀ-ÿ'-]+(?: [A-ZÀ-ÖØ-Þ][\wÀ-ÿ'-]+)?(?: (?:in|from|"
    r"at) \w+)?(?:'s| (?:is|are|does|has|needs|wants|gets|works|lives|signs|runs|handles|approves|"
    r"manages|drives|starts|goes|plays|"
    r"takes|pays|owns|teaches|likes|hates|prefers|will|can|can't|won't|doesn't|only|always|usually|"
    r"never|keeps|comes|makes|gives|knows|checks|looks|cooks|deals|covers|leads|chairs|owes|sends|"
    r"brings|speaks|"
    r"trains|studies|sleeps|eats|drinks|reads|writes|sits|stays|reports|clears|opens|closes|"
    r"collects|picks|joins|retires|moves|leaves)\b|"
    r" (?!has)[a-z]{3,}s (?:a|an|the|my|our|me|us|everything|anything|all|in|on|at|for|with|every|to|off|out|\d))"
)
LOOSE_SUBJECT = _rx(
    rf"^(?:so |and |but )?(?:my|our|a|some|this|that|the) (?:[\w-]+ )?(?:{w.LOOSE})(?:'?s)?\b(?!.*\b(?:my|"
    rf"our|me|us)\b)"
)
_TOLD_TO_KEEP = _rx(
    r"\b(?:save|remember|note|store|keep in mind|don't forget|jot down|write down|"
    r"make a note)\b(?: this| that| down)?(?: that\b|\s*:| (?:my|i|we|our)\b)"
)
_STARTER = _rx(
    r"^(?:the|this|that|these|those|few|some|many|most|all|every\w*|each|any\w*|no\w*|not|it|he|"
    r"she|they|we|you|i|my|our|your|here|there|now|then|today|yes|so|and|but|or|also|"
    r"just|maybe|one|two|three|what|which|who|boring|being|market|stock|price|same|other|another|"
    r"people|things?|turns|looks|sounds|seems|feels)\b"
)
_SAID_OF_HIM = _rx(
    r"^(?:he|she|they)(?:'s| is| are|'re| has| does| needs| works| lives| likes| hates| gets|"
    r" manages| handles| owns| wants| starts| goes| drives| signs| runs| takes)\b"
)
_PLACE = re.compile(r"\b(?:in|near|at|from|outside|to|of)\s+(?:the\s+)?[A-ZÀ-ÖØ-Þ][\wÀ-ÿ'-]+")
CUED = _rx(
    r"\b(?:remember(?: that)?|note that|for the record|on the record|fyi|fwiw|by the (?:way|by)|"
    r"btw|just so you know|bear in mind|keep in mind|for context|context|background|intro|"
    r"you should know|as well know|you (?:can|should) (?:note|keep|remember)|about me|"
    r"worth knowing|to clear things up|correction|update|before i forget|"
    r"couple of (?:changes|things)|my rules?|my plan|remind me|one more (?:thing|information)|"
    r"new thing|housekeeping|(?:house|ground|my) rules|being serious|for real|a few things|"
    r"two things|overview)\b"
)
_CHATTER = _rx(
    r"^(?:(?:ok(?:ay)?|k|yes+|yeah|yep|yup|yea|no|nope|nah|sure|thanks?|thank you|thx|ta|cheers|"
    r"cool|great|good|nice|fine|perfect|perf|lovely|super|right|exactly|correct|true|fair|"
    r"got it|will do|go for it|do it|book|sweet|awesome|brilliant|marvellous|better|done|later|bye|"
    r"hi|hello|hey|morning|lol|haha|ugh|hmm|wow|ouch|grim|figured|please|all|"
    r"makes sense|sounds good|whatever|why not|of course|absolutely|indeed|agreed|deal|it is|"
    r"i know|i see|the|a|is|still|so|and|but|you're|a star|star|it's|that's|this|very|much|mate|"
    r"then|"
    r"there|now|too|well|oh|god|man|see|it|one|two|what|ur|lifesaver|you|are|"
    r"the best|best|legend|boring)\W*)+$"
)


@dataclass(frozen=True)
class Weighed:
    weight: float
    reason: str | None
    features: tuple[str, ...]

    @property
    def kept(self) -> bool:
        return self.reason is None and self.weight >= BAR


def stands_alone(text: str) -> bool:
    return bool(STANDS.search(text))


# A fragment without a verb that can be a fact of its own: a thing of a theme with an amount, a place,
# a name or a "no"; a relation with a name; a bare job with a place.
STANDS = re.compile(
    rf"^(?:(?:and|plus|also|dazu|only|just) )*(?:"
    rf"(?:at most|no more than|max(?:imum)?) (?:\d|{w.NUMBER_WORD})"
    rf"|(?:\d+|{w.NUMBER_WORD}) \w+ and (?:i'm|i)\b"
    rf"|(?:no|zero|never|max|at most|only) (?:[\w-]+ ){{0,3}}?(?:{_THEME_WORDS}|{w.KIN}|{w.STYLE})\b"
    rf"|(?:(?:an?|the|one|two|three|four|five|small|about|around|roughly|"
    rf"[£€$]?\d[\d.,]*k?) )*(?:[\w-]+ ){{0,3}}?(?:{w.MONEY}|{w.TRADING})\b(?=.*(?:\d|\b(?:at|with|"
    rf"in|on) [A-Z]))"
    rf"|(?:[\w-]+ )?(?:{w.TRADING}) (?:is |of |at |after )?\d"
    rf"|(?:an?|two|three|one|four|five|\d) (?:small |new |little |traditional )?(?:{w.KIN}|{w.PET}|hsa|ira|isa)\b"
    rf"|(?:an? )(?:[\w-]+ ){{0,2}}(?:nurse|chef|pilot|vet|student|widow(?:er)?|\w{{3,}}(?:er|or|"
    rf"ist|ian|ess|ant))(?: (?:in|at|for|from|with|by) |\W*$)"
    rf"|(?:trading|working|living|saving|renting|studying|driving|teaching|paying) [a-z]"
    rf"|(?:married|divorced|single|widowed|separated|retired|self-employed|freelance|engaged|vegan|"
    rf"vegetarian|ex-\w+)\b"
    rf"|(?:the |with )?(?:{w.KIN}) (?-i:[A-Z])"
    rf"|(?:due|launching|shipping|deadline|manuscript|release)\b.*(?:\d|{w.MONTH})"
    rf"|(?:\d+|{w.NUMBER_WORD}) (?:[\w-]+ )?(?:{w.TRADING}|tries|sessions|calls|meetings) (?:a|per|each|every) "
    rf"|[\w'-]+ (?:is|are) (?:about |around |now )?[£€$]?\d"
    rf"|\d+x? \w+ (?:max|tops|cap)\b|(?:done|out|off|flat|finished) (?:by|before|after) "
    rf"|stops? (?:after|at) |target (?:is )?\d|british spelling|metric|bullet"
    rf")",
    re.IGNORECASE,
)


_POINTERS = _rx(
    r"\b(?:yes|yeah|yep|ok|okay|nope|nah|i|we|you|he|she|it|they|me|us|him|her|them|my|our|your|"
    r"their|this|that|these|those|there|here|one|ones|both|all|any|some|none|same|such|"
    r"is|are|am|was|be|been|being|'s|'m|'re|'ve|do|does|did|don't|doesn't|have|has|had|will|won't|"
    r"would|can|can't|not|no|never|always|ever|now|then|too|so|"
    r"and|or|but|if|for|to|of|in|on|at|by|with|about|from|as|the|a|an|just|only|really|very|still|"
    r"also|please|want|wants|need|keep|hold|bear|mind|let|make|"
    r"every|single|time|times|thing|things|rule|over|dead|exceptions?|exception|matter|what|wat|"
    r"whatever|happens|circumstances|under|serious|sec|real|quick|"
    r"planning|bad|meh|note|noted|either|neither|radar|negotiable|skip|talk|how|two|three|few|"
    r"couple|changes?|changed|good|fine|best|way|know|see|use|got|get|first|second|again|later|"
    r"else|nothing|like|"
    r"wait|sorry|actually|forget|remember|note|before|after|correction|something|implied|last|"
    r"update|context|background|bit|since|asked|out|up|down|em)\b|[^\w]"
)


def hollow(text: str) -> bool:
    """Nothing left to know once pointing and little words are gone: "hold me to that", "I've none"."""
    bare = speech_acts.opening(text).strip(" .!")
    if re.fullmatch(
        (
            r"(?:(?:my|our|the) )?\w+(?: has| have)? changed(?: too)?|(?:so |please |and )*(?:keep|bear|"
            r"have|take) (?:that|this|it) (?:in mind|into account).*"
        ),
        bare,
        re.IGNORECASE,
    ):
        return True
    left = _POINTERS.sub("", bare).strip()
    return len(left) < 3 and not left.isdigit()


def ruled_out(text: str, sentence: str, *, answering: bool = False) -> str | None:
    """Why a piece cannot be a fact, or None. An answer may look like an order ("Put spreads on SPX")."""
    bare = speech_acts.opening(text).strip(" .!,")
    if not bare or _CHATTER.match(bare):
        return "chatter"
    if re.search(
        r"\b(?:as you know|as i (?:said|told you)|(?:like|as) (?:always|usual|ever|before))\b", text, re.IGNORECASE
    ):
        return "told before"
    if (
        CUED.search(text)
        and len(bare.split()) <= 7
        and not re.search(r"\d|\b(?:is|are|i'm|we're|i|we|my|our|no|never|always|do|don't)\b", bare, re.IGNORECASE)
    ):
        return "announcement"
    if re.fullmatch(r"[~+-]?[\d.,:]+(?: even|ish)?", bare):
        return "bare number"
    if speech_acts.standing_order(text) and not speech_acts.hypothetical(text):
        return (
            "passing"
            if speech_acts.passing(text) and not re.search(r"\b(?:always|never)\b", text, re.IGNORECASE)
            else None
        )
    if speech_acts.question(text) or (
        sentence.rstrip().endswith("?") and text.rstrip(" ?") in sentence[-len(text) - 2 :]
    ):
        return "question"
    if speech_acts.hypothetical(text):
        return "hypothetical"
    if speech_acts.SARCASM.search(text):
        return "sarcasm"
    if speech_acts.hedged(text):
        return "hedged"
    if speech_acts.REPORTED.search(bare):
        return "somebody else's words"
    if speech_acts.one_off(text) and not (
        answering and len(bare.split()) > 2 and not re.search(r"\b(?:it|that|this|them|me)\b", bare, re.IGNORECASE)
    ):
        return "one-off request"
    if speech_acts.past(text):
        return "past"
    if speech_acts.passing(text):
        return "passing"
    return None


def weigh(text: str, sentence: str, *, bonus: float = 0.0, answering: bool = False) -> Weighed:
    """Add up the evidence for a piece; `bonus` is what the conversation around it gives."""
    reason = ruled_out(text, sentence, answering=answering)
    bare = speech_acts.without_approximation(speech_acts.opening(text))
    found: dict[str, float] = {}
    for name, weight, pattern in _FEATURES:
        if pattern.search(bare):
            found[name] = max(found.get(name, 0.0), weight)
    if "state" in found:
        found.pop("habit", None)
    if speech_acts.standing_order(text):
        found["order"] = 2.2 if re.search(rf"\b(?:{w.STANDING}|{w.STYLE}|{_THEME_WORDS})", bare, re.IGNORECASE) else 1.8
    if _NAMED_ACTS.match(bare):
        found["named"] = 1.9 if not _STARTER.match(bare) else 0.8
    if _SAID_OF_HIM.match(bare):
        found["pronoun"] = 0.9
    if _PLACE.search(bare):
        found["place"] = 0.5
    if NAME.search(bare):
        found["name"] = 0.3
    if re.search(rf"\b(?:{w.MONEY})\b", bare, re.IGNORECASE) and "amount" in found:
        found["holding"] = 0.4
    if re.match(r"(?:if|when(?:ever)?)\b", bare, re.IGNORECASE) and "standing" in found:
        found["conditional rule"] = 0.8
    if _TOLD_TO_KEEP.search(sentence):
        found["told to keep"] = 1.6
    if CUED.search(sentence):
        found["cued"] = 0.8
    if re.search(r"\bthing\b(?!s)", bare, re.IGNORECASE) and "mine" not in found:
        found["vague"] = -1.2
    ongoing = re.match(
        (
            r"(?:living|renting|working (?:at|as|in|for|on)|studying|teaching|saving|training (?:for|as)|"
            r"paying|contributing|investing|trading)\b"
        ),
        bare,
        re.IGNORECASE,
    )
    if ongoing:
        found["ongoing"] = 1.6
    elif (
        not answering
        and re.match(r"(?:just |still )?(?!even|every|any|no|some)[a-z]+ing\b", bare, re.IGNORECASE)
        and not found.keys() & {"state", "identity", "goal", "rule", "standing", "change"}
    ):
        found["under way"] = -1.2
    if STYLE.search(bare) and bonus >= 0.9 and not found.keys() & {"state", "habit"}:
        found["style"] = 1.2
    if STYLE.search(bare) and (
        found.keys() & {"order", "preference", "standing"} or re.search(r"\bplease\b", sentence, re.IGNORECASE)
    ):
        found["style"] = 1.2
    return Weighed(sum(found.values()) + bonus, reason, tuple(found))
