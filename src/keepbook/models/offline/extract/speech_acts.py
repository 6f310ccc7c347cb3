"""What a piece of English does: state, ask, suppose, hedge, order, report, joke, tell of the past.

Only statements and standing orders can become memories. The tests are grammatical (inversion, modal,
tense, imperative) with word classes from `english`; exceptions are named where they are made.
"""

from __future__ import annotations

import re

from keepbook.models.offline.extract import english as w


def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_OPENERS = _rx(
    r"^(?:(?:and|also|oh|ok|okay|so|but|then|well|right|now|hey|hi|hello|yes|yeah|yep|yup|yea|ya|"
    r"sure|btw|by the (?:way|by)|hmm+|um+|ah|"
    r"plus|anyway|fyi|fwiw|honestly|look|listen|exactly|correct|cool|great|good|perfect|thanks?|ta|"
    r"cheers|nope|nah|no|god no|wait|"
    r"real quick|quick one|basically|actually|first|second|lastly|finally|one more (?:thing|"
    r"information)|another thing|a new thing|"
    r"otherwise|still|just|ugh|man|see|sweet|super|fair|fine|oh and|exactly|absolutely|definitely|"
    r"before i forget|for (?:heaven|god|pete)'s sake|for the love of god|well|"
    r"for the record|on the record|for context|context|some context|bit of (?:background|context)|"
    r"background|quick intro|"
    r"just so you know|note that|please note(?: that)?|remember(?: that)?|"
    r"you should know(?: that)?|you may as well know(?: that)?|"
    r"(?:what|things?) you (?:can|should|could) (?:note|keep|remember|save|know)(?: is|"
    r" are)?(?: that)?|as you know|for real(?: now)?|"
    r"being serious(?: for a sec)?|seriously|joking aside|in all honesty|to be (?:clear|honest|"
    r"fair)|to clear things up|"
    r"(?:please )?(?:save|note|store|log|jot(?: this| that)? down|write(?: this| that)? down|"
    r"make a note|take a note)(?: this| that| down)?(?= ?:| that\b)(?: that)?|"
    rf"(?:add|put in|put down|note|remind me (?:of|about)) (?=(?:my|"
    rf"our) (?:{w.KIN})(?:'s)? (?:birthday|anniversary|wedding|graduation|due date|name day|"
    rf"recital))|"
    r"keep in mind(?: that)?|don't forget(?: that)?|correction(?: to [^:]{0,50})?|update|news|"
    r"couple of changes|housekeeping|intro|about me|kurz zu mir|remind me(?: that)?|"
    r"the thing is|thing is|turns out|good news|bad news)\b\s*[,:.!–-]*\s*)+"
)
_KEEP_NO = _rx(r"^(?:no|nope|nah)\s+(?!,)(?:[a-z]+)")


def opening(text: str) -> str:
    """The piece without "oh and by the way", but with a "no" that belongs to its noun ("no crypto")."""
    bare = text.strip()
    found = _OPENERS.match(bare)
    if not found:
        return bare
    rest = bare[found.end() :]
    head = found.group(0)
    kept = re.search(r"\b(no|never)\s+$", head, re.IGNORECASE)
    if kept and rest:
        return f"{kept.group(1)} {rest}"
    return rest if re.search(r"\w", rest) else bare


QUESTION = _rx(
    r"\?\s*$|^(?:what(?:'s|s)?(?! an?\b)|whats|how(?:'s)?|who(?:'s)?|why|which one|what if)\b(?!ever)|"
    r"^(?:have|has|had|may|might)(?:n't)? (?:i|you|we|they|he|she|it|there|anyone|people)\b|"
    r"^(?:when|where|which)(?:'s)? (?:is|are|was|do|does|did|can|could|will|would|should|am)\b|"
    r"^(?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall)(?:n't)? "
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|a|an|my|your|our|anyone|people|somebody|both|any)\b|"
    r"^(?:any (?:idea|chance|news|thoughts|tips|word)|got any|got anything|wanna know|tell me|"
    r"think \w+ (?:comes|will|goes)|thoughts on)\b|"
    r"\b(?:do you (?:know|think|reckon)|what do you|i wonder (?:if|what|how)|wondering (?:if|whether|what|how)|"
    r"(?:is|was|are) (?:it|that|this|he|she|they) (?:true|right|ok|normal))\b|\bright\?\s*$|"
    r"^(?:time|price|weather)\??$"
)
HYPOTHETICAL = _rx(
    r"\b(?:what if|suppos(?:e|ing)|imagine|pretend|let's (?:say|assume)|hypothetical\w*|"
    r"theoretical\w*|in theory|thought experiment|"
    r"purely curious|just curious|just asking|say (?:i|we|you|somebody|someone)\b|assuming (?:i|we)|were i|were to|"
    r"if (?:i|we|somebody|someone|you|one|a person) (?:were|was|had|won|inherited|bought|could|"
    r"sold|got|ever|did|lost|moved|quit|invested)|"
    r"would (?:it|that|there|i) (?:be|matter|make|have|need)|i(?:'d| would) (?:have|need|"
    r"be able) .* if|in another life|dream scenario)\b"
)
_CONDITION = _rx(r"^(?:and |but |even |only )?(?:if|in case|should (?:i|we))\b")
_APPROX = _rx(
    r"\b(?:maybe|perhaps|probably|possibly|kinda|like)\s+(?=[~£€$¥]?\s?\d|"
    + w.NUMBER_WORD
    + r"\b|half|a (?:dozen|couple|few))"
)
_CAPACITY = _rx(
    r"\bcould (?:do|stretch to|put|save|spare|afford|manage|set aside|invest|contribute|"
    r"live on)\b(?=.*\d)"
)
HEDGE = _rx(
    r"\b(?:maybe|perhaps|might|probably|possibly|dunno|don't know|not sure|no idea|no clue|"
    r"who knows|some ?day|one day|at some point|"
    r"(?:thinking|thought|think) (?:of|about|maybe|i (?:might|may|could|should))|considering|"
    r"toying|wonder\w*|leaning|tempted|(?:kinda|sort of|kind of) (?:thinking|want|considering|"
    r"toying|tempted)|"
    r"could (?:see|try|imagine|stomach|go|be|do|also|maybe|always|well)|we'll see|will see|"
    r"i suppose|looking (?:more )?like|looks like|"
    r"(?:not|haven't) (?:yet )?decided|undecided|decide (?:later|another)|on the fence|sleep on it|"
    r"let me (?:think|check|sleep|see)|mulling|back (?:and|n) forth|"
    r"two minds|when i'm sure|if things|may have to|may end up|wouldn't mind|could be|"
    r"should probably|i should(?!n't)|ought to|"
    r"not (?:yet )?certain|haven't made up|playing with|half[- ]thinking|feeling like|will think|"
    r"i'll think|not this year|don't count on)\b"
)
SARCASM = _rx(
    r"^oh,? (?:great|fantastic|wonderful|brilliant|joy|lovely|perfect|good)\b|\b(?:great|fantastic|"
    r"wonderful|brilliant|lovely|perfect),? (?:another|just what)\b|"
    r"what could (?:possibly )?go wrong|"
    r"\b(?:oh sure|yeah right|(?:definitely|clearly|obviously|totally) (?:my|the|a|love|the best)|"
    r"my new fav\w*|genius|visionary|truly a|"
    r"obviously love|(?:just|really|so|simply|absolutely) (?:love|adore|enjoy) (?:losing|giving|"
    r"buying|paying|being|getting|burning|chasing|"
    r"when|how|it when|watching)|what a surprise|shocker|as if|because that (?:always|"
    r"never|totally)|wow great|so much fun|"
    r"brilliant (?:move|strategy|plan|idea) (?:by|from)? ?me|my (?:favou?rite|new) (?:hobby|"
    r"pastime|strategy)|sure, file|for fun\b.*love|"
    r"lucky me|just what i needed|slow clap|bravo me|hall of fame|nobel|medal|"
    r"living the dream|"
    r"nothing says .* like)\b|\s/s$|🙄"
)
EARNEST = _rx(
    r"\b(?:serious(?:ly)?|for real|joking aside|jokes aside|all jokes|in earnest|honestly though|"
    r"actually though|kidding aside)\b"
)
REPORTED = _rx(
    r"\b(?:he|she|they|people|everyone|analysts?|experts?|the (?:article|guy|email|news|report|"
    r"doctor|bank|paper|forum|book|video)|twitter|reddit|"
    rf"(?:my|our|a|the|some|wife|husband) (?:[\w-]+ )?(?:{w.LOOSE}|{w.KIN}|"
    rf"{w.ROLE})(?: (?-i:[A-Z])\w+)?(?: in (?-i:[A-Z])\w+)?|(?-i:[A-Z][a-z]+)) "
    r"(?:says?|said|thinks?|thought|tells?|told|swears?|claims?|claimed|reckons?|believes?|argues?|"
    r"writes?|wrote|asked|keeps? (?:saying|telling|going on|banging on|talking|moaning|nagging)|mentioned|"
    r"suggests?|suggested|recommends?|recommended|heard|is obsessed|insists?|joked|teases?|posted)\b|"
    r"\baccording to\b|\bapparently\b|\brumou?r|\bi(?:'ve)? (?:heard|read) (?:that|about)|"
    r"\bthey say\b|\bsupposedly\b|\basked me to keep\b"
)
USED_TO = _rx(
    r"\b(?:used to (?!it\b)|previously|formerly|back (?:when|then|in the day)|was with|were with|"
    r"until (?:they|he|she|it) |in the past|"
    r"as a (?:kid|child|teenager|student)|when i was|years ago|once upon|old days|did it once|"
    r"last time|that was (?:before|then)|"
    r"(?:i|we) was|had been|before (?:that|then)|ages ago)\b|^(?:was|were) "
)
EPHEMERAL = _rx(
    r"\btoday\b(?!'s money)|\b(?:tonight|yesterday|tomorrow|this (?:morning|afternoon|evening|"
    r"weekend|week|instant|minute|time|one|trip|booking)|"
    r"last (?:night|weekend|week|friday|monday|tuesday|wednesday|thursday|saturday|sunday)|"
    r"right now|at the mo(?:ment)?|just now|for now|"
    r"for this (?:one|trip|time|booking|order|meeting)|in a (?:bit|sec|second|minute|moment|while)|"
    r"(?:hours?|minutes?|mins) ago|"
    r"on hold|ten minutes|since (?:breakfast|lunch|this morning)|so far today|on the day|next (?:week|"
    r"weekend|monday|tuesday|wednesday|thursday|friday)|"
    r"another day|see you|gtg|gotta (?:go|run)|have to (?:go|run|leave|dash)|be right back|brb|"
    r"on my way|heading (?:out|home|to)|later on|"
    r"back to work|under the weather|this (?:log|form|document|file|email|stack|"
    r"screenshot|chart|regex|build))\b|^later\b"
)
THIS_ONCE = _rx(
    r"\b(?:for this (?:one|trip|time|booking|order|meeting|stay|visit)|this (?:one|once|"
    r"time)(?: only)?|just (?:this|for) (?:once|today|now)|this trip only)\b"
)
MOOD = _rx(
    rf"\b(?:i'm|i am|im|we're|feeling|felt|feel|so|bit|kinda|pretty|too|really|am)\s+(?:so |a bit |"
    rf"a little |kinda |pretty |too |really |very |just |all |"
    rf"totally |completely |bloody |still )*(?:{w.MOOD})\s*(?:$|[,.!;…]|right now|about|from|with|"
    rf"after|for (?:the|a|today)|lol|again|though|at (?:the|this)|now\b|tbh|that|it)"
)
BODY = _rx(rf"\b(?:{w.BODY})\b")
_HABIT = _rx(rf"\b(?:{w.RECUR}|{w.STANDING}|only|rule|limit|max(?:imum)?|cap)\b")
MARKET = _rx(
    rf"\b(?:{w.MARKET})\b(?:\s+\w+){{0,2}}?\s*(?:'s\b|\b(?:is|are|was|were|looks?|feels?|did|"
    rf"ripp\w+|rips?|jump\w*|pop(?:s|ped|ping)?|spik\w+|surg\w+|dump\w+|tank\w+|crash\w+|rall\w+|"
    rf"moon\w+|bounc\w+|"
    r"cut|cuts|hik\w+|up|down|red|green|wild|mess|choppy|garbage|crazy|dead|boring|waiting|hawkish|"
    r"dovish|higher|lower|at \d|closed|opened|"
    r"slid|slides|jumped|fell|drops?|dropped|rose)\b)"
)
POSITION = _rx(
    r"\b(?:long|short|bought|sold|buy|sell|added|trimmed|filled|in|out|entry|entered|exit|exited|"
    r"stopped(?: out)?|took|scaled|covered|holding|"
    r"am (?:in|out)|got (?:in|out|filled))\b[^.]{0,22}?(?:\b(?:from|at|@)\s*\d{2,}|\b\d+\s*(?:sh|"
    r"shares|lots?|contracts?)\b(?! max)|\b\d{2,}(?:\.\d+)?\b\s*$)|"
    r"^(?:in|out|flat|stopped|filled|trimmed|covered|done|back)\b|"
    r"\bstopped(?: out)?\b(?: \w+)?(?:$|[,.!]| twice| on)|"
    r"\b(?:down|up|made|lost|minus|plus|hit)\s+[-+]?[$£€]?\d[\d,.]*\b(?!\s*(?:%|percent|years?|"
    r"months?|weeks?|euro|a |per |in ))|"
    r"(?:^|\s)[+-]\s?[$£€]?\d[\d.,]*\s?(?:r|ticks|pips|points|%)?\b(?=\s*(?:$|[,.!]|on|today|this|so))|"
    r"\b(?:was|is|were|week|day|month) [+-]?\d[\d.,]*\s?r\b|\bopen (?:risk|position|trade)|"
    r"\b(?:reds?|greens?|wins?|losses|losers|stops?) in a row|"
    r"\b(?:broke|breaking|break of|bounced|holding)\b.*\d{2,}|\bspread is\b|\bthe (?:open|"
    r"close) (?:was|is)\b|\bre-?entry was\b|\bentry was\b"
)
IDLE_NO = _rx(
    r"^no (?:no|idea|clue|problem|thanks?|thank|rush|worries|worry|pressure|way|need|wait|sorry|"
    r"that|it|this|i\b|you|one|matter|offen[cs]e|"
    r"doubt|luck|joke|biggie|really|please|more questions|not|just|kidding|wonder|surprise|change|"
    r"but|he|she|they|we|longer needed)\b"
)
IDLE_DONT = _rx(
    r"^(?:please )?(?:don't|do not) (?:worry|forget|bother|get me|know|think|mind|panic|laugh|"
    r"ask me why|you (?:think|dare)|be|sweat|judge|wait|"
    r"remember|save|note|store|keep|record|write|log|put|rush|tell (?:anyone|me)|send (?:it|this|"
    r"that)|do (?:it|that|this)|need)\b"
)
_DEICTIC = _rx(
    r"^(?:\w+\s){0,2}(?:it|this|that|these|those|them|both|all|one|the (?:draft|form|email|text|"
    r"card|list|doc\w*|note|deck|sheet|parcel|file|invoice))\b"
)
_ORDER = _rx(rf"^(?:{w.ORDER_VERB})\b")
_POLITE = _rx(
    r"^(?:can|could|would|will|may|might) (?:you|i ask you to|we|u)(?: please| kindly| maybe|"
    r" just)* |^(?:i(?:'d| would) (?:like|love|want|appreciate)|i want|i need) you to |"
    r"^(?:i'd appreciate it if you|it would be great if you|would you mind) |^(?:make sure|be sure|"
    r"try) (?:to |that |you )?|^please |^just |^let's "
)
_STYLE = _rx(rf"\b(?:{w.STYLE})\b")
_STANDING = _rx(rf"\b(?:{w.STANDING})\b")
_RECUR = _rx(rf"\b(?:{w.RECUR})")
_NEGATIVE = _rx(r"^(?:don't|do not|never|no|nothing|avoid|skip|stop|not|without|cut the|drop the|leave out)\b")
_STOP_RULE = _rx(
    r"^stop(?:s|ped|\s+(?:after|at|is|loss|size|trading)|\s+\d)|^(?:risk|cut|hold|limit|start|plan|"
    r"target|close|keep|use|stick|go|run)\s+(?:\d|half|max|of)"
)
_FREE = _rx(r"\b(?:free|clear|blocked|in mind|under|below|within|to a minimum|away from|out of)\b")


_STYLE_PHRASE = _rx(
    r"\b(?:first|please|throughout|only|always|unless|not \w+|over|rather than|instead|by default|"
    r"at all times|everywhere)\b"
)


def style_phrase(body: str) -> bool:
    """ "numbers first, reasons after", "metric units please": a wish about replies without a verb."""
    return bool(
        _STYLE.search(body)
        and _STYLE_PHRASE.search(body)
        and len(body.split()) <= 12
        and not re.search(
            r"\b(?:i|we|he|she|it|they|is|are|was|my|the)\b",
            re.split(r"\bunless\b", body, flags=re.IGNORECASE)[0],
            re.IGNORECASE,
        )
        and not _ORDER.match(body)
    )


def question(text: str) -> bool:
    bare = opening(text)
    tag = (
        re.search(r"\b(?:right|yeah|correct|innit|isn't it)\W*$|\b(?:is|are|was) what\b", bare, re.IGNORECASE)
        and not re.search(r"\b(?:i|i'm|my|we|our)\b", bare, re.IGNORECASE)
        and len(bare.split()) > 2
    )
    return bool(QUESTION.search(bare) or text.rstrip().endswith("?") or tag) and not standing_order(text)


def without_approximation(text: str) -> str:
    """ "maybe 380 thousand" doubts a digit, not the statement."""
    return _CAPACITY.sub("can put", _APPROX.sub("about ", text))


def hedged(text: str) -> bool:
    bare = re.sub(
        r",? ?\b(?:i think|i guess|i believe|give or take)\b", "", without_approximation(text), flags=re.IGNORECASE
    )
    return bool(HEDGE.search(bare))


def hypothetical(text: str) -> bool:
    bare = re.sub(r",? (?:if|in case) (?:you|that|it|anyone)\b[^,]*$", "", opening(text), flags=re.IGNORECASE)
    if HYPOTHETICAL.search(bare):
        return True
    return bool(_CONDITION.match(bare)) and not (
        _STANDING.search(bare)
        or _RECUR.search(bare)
        or re.search(r",\s*(?:always|never|please|text|call|tell|use|ask|don't|remind)\b", bare, re.IGNORECASE)
    )


_WHENEVER = _rx(
    r"\b(?:when(?:ever)?|if|after|before|each time|every time) (?:i(?:'m)?|you(?:'re)?|"
    r"my)\b(?! (?:get (?:there|home|back|a chance)|can|have (?:time|a minute)|need|want to|done|"
    r"ready|arrive|land))"
)


def standing_order(text: str) -> bool:
    """An order for always ("never more than three options"), not a job for now ("book it")."""
    bare = opening(text).rstrip(" ?!.")
    polite = _POLITE.match(bare)
    body = bare[polite.end() :] if polite else bare
    body = (
        re.sub(r"^(?:also|just|please|always ask|then)\s+(?=\w)", "", body, flags=re.IGNORECASE)
        if not body.lower().startswith("always")
        else body
    )
    if IDLE_DONT.match(body) or IDLE_NO.match(body) or EPHEMERAL.search(body):
        return False
    imperative = (
        bool(_ORDER.match(body))
        or bool(_NEGATIVE.match(body))
        or bool(re.match(r"(?:opening|starting|using|calling|sending)\b", body, re.IGNORECASE))
    )
    if re.match(
        (
            r"(?:when(?:ever)?|if|unless|for|after|before) .+, (?:always|never|please|don't|use|give|ask|"
            r"keep|no|text|call|tell|remind|lead|start|begin|end|put|show|list|send|make|add|write|include)\b"
        ),
        body,
        re.IGNORECASE,
    ):
        return True
    if not imperative:
        return style_phrase(body) or bool(polite and _STANDING.search(body) and _STYLE.search(body))
    if re.match(
        (
            r"(?:mention|include|say|tell (?:him|her|them|it)|add (?:that|a|the|an|one)|find|book|search|"
            r"reserve|order|get|buy|look)\b"
        ),
        body,
        re.IGNORECASE,
    ):
        return bool(re.search(r"\b(?:always|never|from now on|every time)\b", body, re.IGNORECASE))
    if _STANDING.search(body) or (_FREE.search(body) and not _DEICTIC.match(body)):
        return True
    if re.match(r"assume (?:that |i|my|we)\b", body, re.IGNORECASE):
        return True
    if _WHENEVER.search(body) and not _DEICTIC.match(body):
        return True
    if re.match(r"keep (?:it|things|everything|them|replies|answers)\b", body, re.IGNORECASE) and _STYLE.search(body):
        return True
    if _DEICTIC.match(body) or re.search(r"\bof (?:these|this|those)\b", body, re.IGNORECASE):
        return False
    if polite and re.match(r"(?:can|could|would|will|may)", bare, re.IGNORECASE):
        return bool(_RECUR.search(body) or _NEGATIVE.match(body))
    if _STYLE.search(body) and not re.search(
        (
            r"\b(?:draft|translate|summari[sz]e|email|letter|card|this|that one|attached|remind|set|show|"
            r"send|tell me)\b"
        ),
        body,
        re.IGNORECASE,
    ):
        return True
    if re.match(r"(?:call|address|treat|speak to|talk to) (?:me|us)\b", body, re.IGNORECASE) and not re.search(
        r"\b(?:at \d|when|back|later|a taxi|tomorrow)\b", body, re.IGNORECASE
    ):
        return True
    if _RECUR.search(body) and not re.match(
        r"(?:show|pull|list|check|find|calculate|compare|remove|delete)\b", body, re.IGNORECASE
    ):
        return True
    return (
        bool(_NEGATIVE.match(body))
        and len(body.split()) >= 2
        and not re.match(r"stop\b(?! \w+ing)", body, re.IGNORECASE)
    )


def one_off(text: str) -> bool:
    """A job for now."""
    bare = opening(text).rstrip(" ?!.")
    polite = _POLITE.match(bare)
    body = bare[polite.end() :] if polite else bare
    if standing_order(text) or _STOP_RULE.match(body):
        return False
    if re.match(r"(?:move|switch|put|set|take) me (?:to|on|onto|off|down|up|over)\b", body, re.IGNORECASE):
        return False  # a setting of their own changes
    if re.match(r"(?:no|never|always|nothing|not)\b", body, re.IGNORECASE):
        return False
    return bool(polite or _ORDER.match(body)) and not re.match(
        r"(?:always|never|be(?:en|ing)\b|use[sd]\b|plan(?:s|ned)?\b(?= is)|let's do \w+\b(?! it))", body, re.IGNORECASE
    )


def past(text: str) -> bool:
    """A finished event, unless it changed how things are now."""
    bare = opening(text)
    if USED_TO.search(bare):
        return True
    if re.search(rf"\b(?:{w.CHANGE})", bare, re.IGNORECASE):
        return False
    return bool(
        re.match(
            (
                rf"(?:(?:i|we|he|she|they|it|that)\s+)?(?:just |also |only |already |then |"
                rf"never )?(?:{w.PAST})\b(?!'| (?:to be|at \d))"
            ),
            bare,
            re.IGNORECASE,
        )
        or re.match(
            r"(?:i|we|he|she|they|it) (?:just |also |only |already |then )?(?!need)[a-z]+ed\b", bare, re.IGNORECASE
        )
        or re.match(
            (
                r"(?:i've|we've|i have|we have|been|have|just) (?:just |already |always )?(?:been \w+ing|seen|"
                r"watched|read|heard|had (?:a|an|my)|done (?:it|that|this)|finished|spent|noticed|"
                r"tried)\b(?!.*\b(?:since|for \w+ (?:years|months)))"
            ),
            bare,
            re.IGNORECASE,
        )
    )


def passing(text: str) -> bool:
    """True now and gone tomorrow: today's mood, weather, market, trade."""
    bare = opening(text)
    changed = bool(re.search(rf"\b(?:{w.CHANGE})", bare, re.IGNORECASE))
    if (
        EPHEMERAL.search(bare)
        and not changed
        and not re.search(r"\bfrom (?:today|tomorrow|this|next|now)\b", bare, re.IGNORECASE)
    ):
        return True
    lasting = re.search(rf"\b(?:{w.STANDING}|{w.RECUR})", bare, re.IGNORECASE)
    if re.search(r"\bagain\W*$", bare, re.IGNORECASE) and not lasting:
        return True
    habit = bool(
        _HABIT.search(bare)
        or re.match(
            rf"(?:\d+|{w.NUMBER_WORD}) \w+ and i(?:'m| am)? (?:done|out|finished|stop|quit|walk)", bare, re.IGNORECASE
        )
    )
    if MOOD.search(bare) and not habit:
        return True
    if BODY.search(bare) and not habit and not re.search(rf"\b(?:{w.HEALTH})\b", bare, re.IGNORECASE):
        return True
    if re.search(r"\b(?:crazy|insane|nuts|wild|mental)\W*$", bare, re.IGNORECASE) and not re.search(
        r"\b(?:i|we|my)\b", bare, re.IGNORECASE
    ):
        return True
    if MARKET.search(bare) and not re.search(r"\b(?:i|we|my|our)\b", bare, re.IGNORECASE):
        return True
    return bool(POSITION.search(bare)) and not habit and not changed
