"""Recognises questions that ask for an overview: what happened when, or how a matter developed.

Many turns answer such a question, each a little. Its matter is found by removing the words that ask: "List the order in
which I brought up my wedding" is about the wedding.
"""

import re

from keepbook.book.text.words import STOP_WORDS, tokens, word_set
from keepbook.patterns import regex

_WHAT = r"(?:how|what|my|our|everything|all|the|where|\w+['’]s)"
_OVERVIEW = regex(
    rf"""\b(?:
    (?:in|by)[ ](?:what|which|the[ ]right|chronological|time)[ ](?:order|sequence)(?![ ](?:should|shall|must|do)\b)
  | (?:order|sequence)[ ](?:in[ ]which|of[ ](?:events|things|what|the|my|our)|that[ ](?:i|we|things))
  | in[ ]order(?![ ]to\b|[ ]for\b) | chronolog\w* | time[ ]?line[ ]of | what[ ](?:came|happened)[ ]when
  | walk[ ]me[ ]through[ ](?:how|what|my|our|everything|the[ ](?:order|events|history|story|course))
  | (?:summari[sz]e|sum[ ]up|recap)[ ](?:for[ ]\w+[ ])?{_WHAT}
  | (?:give|provide|write|make|show|tell|have|need|want|like|get|offer|^)[ ]?(?:me[ ]|us[ ])?(?:an?[ ]|the[ ])?
      (?:\w+[ ])?(?:summary|overview|recap|rundown)[ ](?:of|on|about)[ ]{_WHAT}
  | how[ ](?:did|has|have|was|is)[ ](?:\w+[ ]){{1,8}}?
      (?:progress(?:ed)?|evolved?|unfold(?:ed)?|develop(?:ed)?|changed?|come[ ]along|gone|go)
      (?=[ ](?:over|across|through|from|since|so[ ]far|and[ ]what)|[?.]?$)
  | (?:across|throughout)[ ](?:all[ ](?:of[ ])?)?(?:my|our|the|these)[ ](?:\w+[ ])?
      (?:chats|conversations|sessions|discussions|talks)
    )(?!\w)""",
    re.VERBOSE,
)
_COUNT = r"(?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|a few|some)"
_HOW_MANY = regex(
    rf"[,.;:!?]\s*(?:(?:mention|name|list|give|only|exactly|just|and|me)\b\s*)+{_COUNT}\b"
    r"(?:[ ](?:items|things|steps))?",
    re.IGNORECASE,
)
"""Matches the end of many such questions: "Mention only five items"."""
_ASKING = word_set("""
    across altogether approach aspect aspects beginning bring brings brought chat chats chronological chronologically
    complete comprehensive conversation conversations course covering describe described detail detailed develop
    developed different discussed discussion discussions end event events evolve evolved exactly finish first full
    happened history including item items last list listed mention mentioned name narrate only order outline overview
    progress progressed raised recap rundown sequence session sessions short stage stages start step steps story
    summarise summarised summarize summarized summary talked telling thing things throughout timeline told topic topics
    unfold unfolded various walk
""")


# Rules


def asks_for_overview(question: str) -> bool:
    return _OVERVIEW.search(" ".join(question.lower().split())) is not None


def usual_order(question: str) -> str:
    """The order of passages if the caller names none: by time for an overview, else by relevance."""
    if asks_for_overview(question):
        return "time"
    return "relevance"


def matter_of_overview(question: str) -> str:
    """What a question for an overview is about; the whole question if nothing else is left of it."""
    said = _HOW_MANY.sub("", question).split()
    kept = [word for word in said if not _ASKING.intersection(tokens(word))]
    names_something = any(one not in STOP_WORDS for one in tokens(" ".join(kept)))
    if names_something:
        return " ".join(kept)
    return question
