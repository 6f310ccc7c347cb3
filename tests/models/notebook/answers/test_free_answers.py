"""Answers in free words: taken where they mean one choice for sure, and nothing is done where they do not."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted, Sentences
from tests.models.notebook.talking import holding, moved_by, read_by, say

from keepbook import Keepbook
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import choices_for
from keepbook.models.notebook.answers.free_answer import free_answer
from keepbook.models.notebook.read import understand
from keepbook.models.notebook.values import NOTEBOOK, ChatTurn, Scene
from keepbook.presets import load_preset

NOW = datetime(2026, 10, 9, 12, tzinfo=UTC)
CAR, MOSS, DOG = "I drive a red Volvo", "I live in [Moss] with Kari", "My dog is called Rex"
LINES = [("a", "My blue kayak is in the shed"), ("b", "My red kayak needs paint"), ("c", "I paddle on Sundays")]


def question(id: str, kind: str | None, op: str, content: str) -> Proposal:
    memory = None if kind in ("keep", "which") else "m1"
    choices = choices_for(kind, op, content, memory, LINES if kind == "which" else ()) if kind else ()
    return Proposal(
        id=id, nature="proposal", status="waiting", op=op, memory_id=memory, category=None, subject=None,
        content=content, score=None, made_by=None, thread_id="chat", turn_ids=("1",), valid_from=None, reason=None,
        created_at=NOW, decided_at=None, question=kind, choices=choices,
    )  # fmt: skip


ASKED = {
    "over": [question("q", "over", "end", CAR)],
    "over or change": [question("q", "over", "update", MOSS)],
    "change": [question("q", "change", "update", "I work at [Aker]")],
    "keep": [question("q", "keep", "add", DOG)],
    "which": [question("q", "which", "forget", LINES[0][1])],
    "forget": [question("q", None, "forget", "My bike is in the shed")],
    "offers": [question(f"o{at}", "keep", "add", words) for at, words in enumerate(["My shed is red", "I row a boat"])],
}


PUT = {
    "over": f"Your book says “{CAR}”. Is that over?",
    "over or change": "Your book says “I live in Oslo with Kari”. Is that over?",
    "change": "Shall I change “I work at Equinor” to “I work at [Aker]”?",
    "keep": f"“{DOG}” — shall I keep that?",
    "which": "Which one do you mean?",
    "forget": "Shall I forget “My bike is in the shed”?",
    "offers": "Shall I keep one of these?",
}


def chosen(asked: str, text: str) -> str | None:
    turns = (ChatTurn(1, "assistant", PUT[asked], NOTEBOOK, NOW), ChatTurn(2, "user", text, None, NOW))
    scene = Scene(turns, "chat", "UTC", NOW, load_preset("general"), questions=tuple(ASKED[asked]))
    found = free_answer(scene, understand(scene))
    if found is None:
        return None
    return f"{found.question.id} {found.step.choice}" if asked == "offers" else found.step.choice


@pytest.mark.parametrize(
    ("asked", "text", "choice"),
    [
        ("over", "yeah since june", "over"),
        ("keep", "no, 15 June", None),
        ("over", "yep, sold it in May", "over"),
        ("over", "nope, still there", "both"),
        ("over", "no I still drive it", "both"),
        ("over", "I still drive it", "both"),
        ("over", "nah still got it", "both"),
        ("over", "that's over", "over"),
        ("over", "no it's not over", "both"),
        ("over", "keep both please", "both"),
        ("over", "keep it", "both"),
        ("over", "yes. my dog is called Rex", "over"),
        ("over or change", "change it", "change"),
        ("over or change", "yes change it", "change"),
        ("change", "aker", "change"),
        ("change", "no leave it as it is", "no"),
        ("change", "don't change it", "no"),
        ("keep", "yeah rex is a good boy", "keep"),
        ("keep", "no, that was a joke", "no"),
        ("which", "the blue one", "a"),
        ("which", "I meant the red kayak", "b"),
        ("which", "paddling", "c"),
        ("which", "the one in the shed please", "a"),
        ("which", "yes the red one", "b"),
        ("which", "yes, everything", "all"),
        ("which", "yes, all of them", "all"),
        ("forget", "yes forget it", "yes"),
        ("forget", "yes, delete that please", "yes"),
        ("forget", "keep it", "no"),
        ("forget", "no, I still need it", "no"),
        ("over", "both are true", "both"),
        ("keep", "sure, keep it", "keep"),
        ("keep", "Yes keep that please, thanks a lot", "keep"),
        ("keep", "ja, bitte behalten", "keep"),
        ("keep", "sí, guárdalo por favor", "keep"),
        ("keep", "oui, garde-le", "keep"),
        ("forget", "ja, vergiss das", "yes"),
        ("forget", "nein, das brauche ich noch", "no"),
        ("forget", "nei, la det stå", "no"),
        ("offers", "the boat one", "o1 keep"),
        ("offers", "only the shed", "o0 keep"),
    ],
)
def test_words_that_mean_one_choice_take_it(asked: str, text: str, choice: str) -> None:
    assert chosen(asked, text) == choice


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("over", "yes but not that one"),
        ("over", "maybe"),
        ("over", "yes, I think"),
        ("over", "yes, I may sell it"),
        ("over", "yes and no"),
        ("over", "yes?"),
        ("over", "not yet"),
        ("over", "no idea"),
        ("over", "no more bikes please"),
        ("over", "yeah right"),
        ("over", "over the weekend I drove to Oslo"),
        ("over", "ok. my dog is called Rex"),
        ("over", "the volvo is in the garage"),
        ("over", "yes unless my brother buys it back"),
        ("change", "what is aker"),
        ("keep", "no problem"),
        ("keep", "sure thing is my horse"),
        ("keep", "yes but call him Max"),
        ("keep", "yes, no, wait"),
        ("which", "yes"),
        ("which", "yes, that's all"),
        ("which", "the kayak"),
        ("which", "not the blue one"),
        ("which", "the blue one or the red one"),
        ("which", "the green one"),
        ("which", "everything but the red one"),
        ("forget", "yes I parked it there"),
        ("forget", "yes, and my car is in the garage"),
        ("forget", "ja, mein Rad ist im Schuppen"),
        ("over", "ja, aber nicht das"),
        ("offers", "yes"),
        ("offers", "yes to the boat, no to the shed"),
    ],
)
def test_what_may_mean_something_else_answers_nothing(asked: str, text: str) -> None:
    assert chosen(asked, text) is None


@pytest.fixture
def spoken(kb: Keepbook) -> Any:
    """Says an answer to "Is that over?" of a line; answers the book."""

    def said(*texts: str) -> Any:
        alice = kb.book("alice")
        alice.remember("I live in Oslo with Kari", valid_from="2020-01-01", force=True)
        chat = alice.threads.start(preset="general")
        script = {
            "Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen", "surely": 0.6},
            "yeah": "answer", "nope": "answer", "no ": "answer",
        }  # fmt: skip
        with moved_by(Scripted(script)), read_by(Sentences({"Bergen": "keep"})):
            for text in texts:
                say(kb, chat, text)
        return alice

    return said


@pytest.mark.both_engines
def test_an_end_is_when_the_answer_says(spoken: Any) -> None:
    book = spoken("I live in Bergen now", "yeah since 3 May 2024")
    assert holding(book) == ["I live in Bergen now"]
    (ended,) = [one for one in book.list(limit=9) if not one.current]
    assert str(ended.valid_until)[:10] == "2024-05-03"


def test_a_line_is_left_where_the_answer_says_so(spoken: Any) -> None:
    book = spoken("I live in Bergen now", "nope, still there")
    assert set(holding(book)) == {"I live in Bergen now", "I live in Oslo with Kari"}
    assert not book.proposals.list()


def test_keep_it_never_ends_a_line(spoken: Any) -> None:
    assert "I live in Oslo with Kari" in holding(spoken("I live in Bergen now", "keep it"))
