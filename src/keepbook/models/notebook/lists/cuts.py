"""Decides where a sentence may be cut: only where nothing that is left behind can govern what is kept.

The reader proposes cuts. Negations, hedges, conditions, reports and jokes come in more words than any list has, so cuts
are taken only between statements, before or behind a question or a task, and beside fillers, and not where one of the
usual governing words begins a part. Everywhere else a sentence stays whole.
"""

from keepbook.book.text.words import fold_text, word_set
from keepbook.models.reader.values import ReaderPiece

_ASKS = ("question", "task")
_FILLERS = word_set("""
    and but so also plus then actually oh ooh ah well ok okay um umm uh er hmm hm btw anyway anyways yeah yes yep lol
    haha hey hi hello thanks thx cool great nice just fyi
""")
_LEADS = frozenset(
    """
    by the way|for the record|just so you know|good morning|good evening|one more thing|quick note|heads up|fun fact
    remember that|please remember|please remember that|note that|please note|just to let you know|thank you|thanks a lot
    oh and|and also|so yeah|okay so|ok so|also fyi|hi there|hey there|i forgot to mention|i should mention
    """.replace("\n", "|").split("|")
)
_JOINS = word_set("and but plus also then so y und og et aber pero men mais")
_GOVERNS = word_set("""
    not never no none nor or maybe perhaps possibly probably almost hardly barely rarely if unless until till whether
    only except supposedly allegedly apparently was wasn't were weren't used would could might may
""")
"""Words behind "and" that turn what stands before: "my sister and not I"."""
_TURNS = word_set("or nor if unless until till not never maybe perhaps")
"""Words that turn what stands before, also where they begin a question."""
_GOES_ON = word_set("and or with in of at on for from to by du de la le von van")
"""Small words with which a sentence goes on behind an abbreviation: "an appt. with"."""
_SUBJECTS = word_set("""
    i i'm im i've ive i'd i'll we we're we've we'd we'll my our mine he he's she she's they they're his her
    their the a an this that these those there there's that's both all some most every everyone each one you your who
    which whose
""")
_LEANS = word_set("it it's its")
"""How a part begins that says nothing without the one before: "and it has to be done by June"."""
_CONDITIONS = word_set("""
    if unless until till when whenever while once since because although though provided providing assuming supposing
    suppose imagine picture pretend say given in without with as after before even whether unlike despite besides
    according apparently allegedly supposedly maybe perhaps possibly probably hopefully theoretically technically almost
    only not never no what let let's wish
""")
"""How a sentence begins whose first part governs the rest."""


def may_cut(before: ReaderPiece, piece: ReaderPiece) -> bool:
    """Whether a sentence may be cut between two pieces of it."""
    if "hush" in (before.label, piece.label):
        return True  # what must not be kept is left out by others
    if _inside_word(before.text, piece.text):
        return False
    left, right = _words(before.text), _words(piece.text)
    if not left or not right or _is_filler(left) or _is_filler(right):
        return True
    if before.text.rstrip().endswith(":") or right[0] in _TURNS:
        return False  # "Picture this: I'm the mayor", "I'm allergic, or so they say"
    if piece.label in _ASKS and before.label not in _ASKS:
        return _begins_plainly(left) and _ends_clause(before.text, right)
    if before.label in _ASKS and piece.label not in _ASKS:
        return _begins_plainly(_behind_joins(right)) and _ends_clause(before.text, right)
    return _begins_plainly(left) and _begins_anew(before.text, right)


def may_begin(before: str, text: str) -> bool:
    """Whether a sentence begins here. A name goes on with a number behind its dot ("Bahnhofstr. 7a"), or with a small
    letter behind its mark ("Yahoo! since"), and an abbreviation with a small word, where its writer uses capitals; a
    subject begins something."""
    first, last = text.lstrip()[:1], before[-1:]
    words = _words(text)
    if last == "." and first.islower() and before != before.lower() and words[:1] and words[0] in _GOES_ON:
        return len(words) > 1 and words[1] in _SUBJECTS
    named = before.rpartition(" ")[2][:1].isupper()
    if not named or not (first.isdecimal() if last == "." else last in "!?" and first.islower()):
        return True
    rest = _behind_joins(words)
    return bool(rest) and rest[0] in _SUBJECTS


def _inside_word(before: str, piece: str) -> bool:
    return before[-1:].strip() != "" and piece[:1].strip() != "" and not (before[-1] in ",;:" or piece[0] in ",;:")


def _words(text: str) -> list[str]:
    found = []
    for part in text.split():
        word = fold_text(part).strip(' \t.,;:!?…-–—*()[]"“”‘«»').replace("’", "'")
        if word:
            found.append(word)
    return found


def _is_filler(words: list[str]) -> bool:
    return " ".join(words) in _LEADS or all(word in _FILLERS for word in words)


def _behind_joins(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) - 1 and words[at] in _FILLERS:
        at += 1
    return words[at:]


def _begins_plainly(words: list[str]) -> bool:
    """Whether a part begins as a statement, a question or a task does, and not as what governs another part."""
    first = _behind_joins(words)
    return bool(first) and first[0] not in _CONDITIONS and len(first) > 1


def _ends_clause(before: str, right: list[str]) -> bool:
    """Whether a clause ends before the words that follow: by a mark, or since they join another."""
    return before.rstrip()[-1:] in ",;:.!?)–—-" or right[0] in _JOINS


def _begins_anew(before: str, right: list[str]) -> bool:
    """Whether the second part is a statement of its own: joined by "and", or behind a mark with a subject."""
    behind = _behind_joins(right)
    if behind[0] in _LEANS:
        return False
    if right[0] in _JOINS:
        return behind[0] not in _GOVERNS
    return before.rstrip()[-1:] in ",;.!?–—-" and behind[0] in _SUBJECTS
