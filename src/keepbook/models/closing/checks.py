"""The checks of every candidate at closing, whichever model read the chat: rules in code, no transaction.

A candidate is refused if no turn of the person is evidence for it, if it holds a secret or a topic never to be kept, if
it was declined or taken back, or if it is known already. If a model's words say more than the person did, it becomes a
proposal.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.chats.learned_memories import TakenBack
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.memory.proposals import alike
from keepbook.book.text.block_lines import LINE, BlockLine
from keepbook.book.text.for_models.safe_line import without_writer_mark
from keepbook.book.text.language import same_language
from keepbook.book.text.opposites import same_saying
from keepbook.book.text.quotation import text_without_marks
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import content_words, fold_text, polarity, sharing, stem, tokens, word_set
from keepbook.models.closing.grounding import is_grounded
from keepbook.models.closing.rules import asks_to_forget, overlap
from keepbook.models.model import Candidate, ClosingChat, DialogueTurn, Extraction, KnownMemory
from keepbook.models.notebook.values import Deed
from keepbook.patterns import regex

OFFLINE = "offline"
"""The name of the model in `made_by` if the reader found the candidates: they are the person's own clauses."""
KNOWN = "it is known already"
TAKEN_BACK = 0.5
"""A candidate counts as taken back if at least this share of its words is in what was taken back."""


def strip_injected(
    turns: Sequence[DialogueTurn], block: Sequence[BlockLine], *hidden: str | None
) -> tuple[DialogueTurn, ...]:
    """Remove lines that only repeat the prompt (the block, hidden context), so that they are not learned again. A line
    that repeats a quotation counts as copied only with its marks; without them, the person says the same again."""
    given = [*(line.text for line in block), *(text or "" for text in hidden)]
    lines = [line for text in given for line in text.splitlines()]
    notes = {_bare(line) for line in lines if "“" not in line} - {""}
    quotations = {_bare(line) for line in lines if "“" in line} - {""}

    def is_copy(line: str) -> bool:
        bare = _bare(line)
        return bare in notes or ("“" in line and bare in quotations)

    return tuple(
        replace(turn, text="\n".join(line for line in turn.text.splitlines() if not is_copy(line))) for turn in turns
    )


_BLOCK_MARKS = regex(r"[-*>#\s]*+(?:\[[^\]]*\] )*", anchored=True)


def _bare(line: str) -> str:
    """The words of a line, folded, without the marks that a block or a quoting person puts around them."""
    marks = _BLOCK_MARKS.match(line)
    words = line
    if marks:
        words = line[marks.end() :]
    words = without_writer_mark(words.rstrip(".! ")).removesuffix("(inferred)").rstrip()
    return fold_text(text_without_marks(words)).rstrip(".!")


def refuse_candidate(candidate: Candidate, reading: ClosingChat, declined: Sequence[str]) -> str | None:
    """The reason why a candidate may not be kept, or None if it passes."""
    if candidate.op not in ("add", "update", "forget"):
        return candidate.reason or "not worth keeping"
    evidence = [turn.text for turn in _evidence(candidate, reading)]
    if not evidence:
        return "no turn of the person says it"
    known = {memory.id: memory for memory in reading.known}
    if candidate.op != "add" and candidate.target not in known:
        return "it names a memory that was not shown"
    target = known.get(candidate.target or "")
    if reading.elsewhere and target is not None and (target.since or "") > said_at(candidate, reading):
        return proposals.OUTDATED
    if candidate.op == "forget":
        return None  # whether the person's words show the wish is checked by `check_candidate`
    text = candidate_text(candidate)
    if find_secrets(text):
        return "it holds a secret"
    topic = next(iter(find_topics(text, reading.never, reading.sense)), None)
    if topic is not None:
        return f"you asked never to keep anything about {topic}"
    if any(alike(candidate.content, one) for one in declined):
        return "the person declined it"
    if _is_taken_back(candidate, reading):
        return "you asked not to keep it"
    if line_made_of(candidate, reading) or _is_known(candidate, reading):
        return KNOWN
    return None


def line_made_of(candidate: Candidate, reading: ClosingChat) -> KnownMemory | None:
    """If a candidate is an addition, the memory that was made of a turn it cites and has all its content words: then
    the addition is a repeat."""
    cited, words = set(map(str, candidate.turn_ids)), set(content_words(candidate.content))
    if candidate.op != "add" or not words:
        return None
    here = (one for one in reading.known if one.thread_id == reading.thread_id and cited & one.turn_ids)
    return next((one for one in here if words <= set(content_words(one.content))), None)


def candidate_text(candidate: Candidate) -> str:
    return f"{candidate.subject or ''} {candidate.content}"


def _is_taken_back(candidate: Candidate, reading: ClosingChat) -> bool:
    """Whether the person took back the words of which a candidate is made, or asked to forget their matter."""
    deeds = [deed for some in reading.deeds.values() for deed in some]
    said = set(content_words(candidate.content))
    if any(_is_hushed(deed, said) for deed in deeds):
        return True
    texts = {str(turn.id): turn.text for turn in reading.turns}
    cited = {str(turn) for turn in candidate.turn_ids}
    for turn, start, end in (span for deed in deeds for span in deed.withdrawn):
        if candidate.spans and any(one.turn == turn and one.start < end and start < one.end for one in candidate.spans):
            return True
        words = ""
        if str(turn) in cited:
            words = texts.get(str(turn), "")[start:end]
        if words and not candidate.spans and overlap(candidate.content, words) >= TAKEN_BACK:
            return True
    return False


def _is_hushed(deed: Deed, said: set[str]) -> bool:
    """Whether these words have all words of the matter that a deed asks to forget."""
    matter = set(content_words(deed.hushed))
    return bool(matter) and matter <= said


def check_candidate(candidate: Candidate, reading: ClosingChat, made_by: str) -> Candidate:
    """Make a model's candidate unsure, so that it becomes a proposal, if the cited turns do not say it, or if they do
    not show a wish to forget."""
    if made_by == OFFLINE or candidate.op == "skip":
        return candidate
    if candidate.op == "forget":
        line = next((one.content for one in reading.known if one.id == candidate.target), "")
        # In another language the words show that something is to be forgotten, but not what.
        sure = any(
            asks_to_forget(turn.text) and same_language(turn.text, line) for turn in _evidence(candidate, reading)
        )
    else:
        sure = is_grounded(candidate, reading)
    return replace(candidate, sure=candidate.sure and sure)


def _evidence(candidate: Candidate, reading: ClosingChat) -> list[DialogueTurn]:
    """The turns of the person that a candidate cites, without those of which nothing was left by `strip_injected`."""
    named = {str(turn) for turn in candidate.turn_ids}
    return [turn for turn in reading.turns if turn.role == "user" and turn.text.strip() and str(turn.id) in named]


def said_at(candidate: Candidate, reading: ClosingChat) -> str:
    """When the person said it: the time of the last turn that the candidate cites."""
    return max((stamp(turn.at) for turn in _evidence(candidate, reading) if turn.at), default="")


def _is_known(candidate: Candidate, reading: ClosingChat) -> bool:
    """Whether the book says it already, or the block of this chat did: what is missing in the book was taken out."""
    old = None
    if candidate.op == "update":
        old = next((one for one in reading.known if one.id == candidate.target), None)
    if old is not None and tokens(old.content) == tokens(candidate.content) and candidate.valid_until is None:
        return True
    if known_line(candidate, reading) is not None:
        return True
    shown = (line.text for line in reading.block if line.kind == LINE)
    return candidate.op == "add" and any(alike(_bare(line), _bare(candidate.content)) for line in shown)


def known_line(candidate: Candidate, reading: ClosingChat) -> KnownMemory | None:
    """The memory that says the same as a candidate, except the one that the candidate would change."""
    others = {one.content: one for one in reading.known if candidate.op != "update" or one.id != candidate.target}
    found = (line for line in sharing(candidate.content, others) if _says_so(others[line], candidate))
    return next((others[line] for line in found), None)


def _says_so(line: KnownMemory, candidate: Candidate) -> bool:
    """Whether a memory says the same as a candidate. If both are about the owner, "I" and "you" make no difference."""
    own = line.subject is None and candidate.subject is None
    if alike(line.content, candidate.content):
        return True
    return own and (same_saying(line.content, candidate.content) or _says_again(line.content, candidate.content))


_AGAIN = frozenset(map(stem, word_set("like told tell said say before already again know mentioned remember earlier")))


def _says_again(line: str, words: str) -> bool:
    """Whether the words add to a line only that it was said before, as "Like I told you before, I keep bees" does."""
    every = set(content_words(words))
    rest = every - _AGAIN
    only_repeats = bool(rest) and rest != every and rest <= set(content_words(line))
    return only_repeats and polarity(line) == polarity(words)


def was_taken_back(candidate: Candidate, gone: Sequence[TakenBack]) -> bool:
    """Whether the same turns gave the same memory before, and it was undone, forgotten or deleted."""
    turns = {str(turn) for turn in candidate.turn_ids}
    return any(
        bool(turns & one.turn_ids) and (one.content is None or overlap(candidate.content, one.content) >= TAKEN_BACK)
        for one in gone
        if not one.changed
    )


def was_changed(candidate: Candidate, gone: Sequence[TakenBack]) -> bool:
    """Whether the same turns, and no others, gave a memory that said all of this before its words were changed."""
    turns, words = {str(turn) for turn in candidate.turn_ids}, set(content_words(candidate.content))
    return bool(words) and any(
        one.changed and turns <= one.turn_ids and words <= set(content_words(one.content or "")) for one in gone
    )


def judge_candidates(
    reading: ClosingChat, extraction: Extraction, declined: Sequence[str] = (), gone: Sequence[TakenBack] = ()
) -> list[tuple[Candidate, str | None]]:
    """Each candidate, checked, with the reason why it is skipped, or None if it is kept. A dry run shows this too."""
    judged: list[tuple[Candidate, str | None]] = []
    for candidate in (check_candidate(one, reading, extraction.made_by) for one in extraction.candidates):
        reading.go_on()
        why = refuse_candidate(candidate, reading, declined)
        if why is None and candidate.op != "forget" and was_taken_back(candidate, gone):
            why = "it was taken back"
        if why is None and candidate.op != "forget" and was_changed(candidate, gone):
            why = "it was changed since"
        earlier = [one.content for one, skipped in judged if skipped is None and one.op == "add"]
        if why is None and candidate.op == "add" and any(alike(candidate.content, text) for text in earlier):
            why = "it was found twice"
        judged.append((candidate, why))
    return judged
