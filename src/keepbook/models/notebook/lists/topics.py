"""The topic that an order names: a shipped group if it names one, else the person's own words."""

import re

from keepbook.book.recall.people import RELATIONS
from keepbook.book.text.topics import group_named, topics_named_in
from keepbook.book.text.words import STOP_WORDS, stem, tokens, word_set
from keepbook.patterns import regex

LONGEST = 80
_LEADS = word_set("""
    about on of regarding concerning anything everything nothing something any all my our the his her their a an to do
    with that this stuff things thing what else said word words information info details related down again ever please
    über alles nichts etwas mein meine meinen sobre nada todo mi mis om noe alt min mitt mine sur rien tout mon ma mes
""")
_WHOSE = word_set("my our his her their the a an mein meine meinen mi mis min mitt mine mon ma mes")
"""What a topic of the person's own keeps, so that it reads as it was said: "my ex"."""
_TAILS = word_set("please ever again anymore at all thanks ok okay in any chat this now on from for good bitte igjen")
_ABOUT = ("about", "regarding", "concerning", "on")
_INSIDE = _WHOSE | word_set("of and or all any")
"""Light words that may stand within what is named."""
_NO_MATTER = frozenset(map(stem, word_set("""
    put note keep kept save saved store stored write written record recorded go goes get gets come comes ever again
""")))  # fmt: skip
_OF_ONES_OWN = regex(r"\b(?:my|our)(?:\s[\w'’-]{1,30}){1,3}", re.IGNORECASE)
_POINTS = word_set("it that this them those these everything anything all me")


def topics_of(matter: str) -> tuple[str, ...]:
    """The topics that a matter names: groups by their names, else the words themselves; none if it only points."""
    groups = tuple(dict.fromkeys(filter(None, [group_named(bare(matter)), *topics_named_in(matter)])))
    if groups:
        return groups
    own = bare(matter, leads=_LEADS - _WHOSE)
    names = bare(own)
    if len(names) > 1 and len(own) <= LONGEST and names.lower() not in _POINTS:
        return (own,)
    return ()


def topics_spoken_of(text: str) -> tuple[str, ...]:
    """The topics that a ban in other words than those of the lists names: a shipped group, else what stands behind
    "about" ("And nothing about her office troubles, ever"), else what is called the person's own."""
    groups = topics_named_in(text)
    if groups:
        return tuple(groups)
    words = [word.strip("“”\"'()") for word in text.split()]
    folded = [_first_token(word) for word in words]
    at = next((folded.index(one) for one in _ABOUT if one in folded), len(words))
    named: list[str] = []
    for word in words[at + 1 :]:
        token = _first_token(word)
        if not token or stem(token) in _NO_MATTER or (token in STOP_WORDS and token not in _INSIDE):
            break
        named.append(word)
        if word[-1] in ",.;:!?":
            break
    return topics_of(" ".join(named)) or own_topic_in(text)


def topic_groups_of(matter: str) -> tuple[str, ...]:
    """The shipped group that a matter names as a whole: "my health", not "where I live"."""
    group = group_named(bare(matter))
    if group:
        return (group,)
    return ()


def own_topic_in(text: str) -> tuple[str, ...]:
    """What of the person's a clause names that is read as a ban, in whatever words: "my ex" of "never talk about my
    ex"."""
    found = [one for one in map(_named_thing, _OF_ONES_OWN.findall(text)) if one]
    if found:
        return (found[-1],)
    return ()


def _named_thing(words: str) -> str:
    """The words up to the first that names nothing; somebody is named by one."""
    whose, *rest = words.split()
    named: list[str] = []
    for word in rest:
        if word.lower() in STOP_WORDS | _TAILS:
            break
        named.append(word)
        if word.lower() in RELATIONS:
            break
    if named:
        return " ".join([whose.lower(), *named])
    return ""


def bare(matter: str, leads: frozenset[str] = _LEADS) -> str:
    """A matter without its leading and trailing function words."""
    words = matter.strip(" .,!?:;\"“”'").split()
    while words and _first_token(words[0]) in leads:
        words.pop(0)
    while words and _first_token(words[-1]) in _TAILS:
        words.pop()
    return " ".join(words).strip(' .,!?:;"“”')


def _first_token(word: str) -> str:
    found = tokens(word)
    if found:
        return found[0]
    return ""
