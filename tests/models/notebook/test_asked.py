"""The open questions of a chat: which are put under their turns, in which order, and what a number answers."""

from typing import Any

from keepbook import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.models.notebook.open_questions import (
    OpenQuestion,
    Option,
    choice_of_number,
    choice_to_keep,
    choice_to_refuse,
    last_asked,
    open_questions,
)
from keepbook.models.notebook.values import Deed, deeds_to_parts

KEEP = (Option("keep", "Keep it"), Option("no", "Do not keep it"))
OVER = (Option("both", "Keep both"), Option("over", "It is over"))


def question(id: str, kind: str | None, choices: tuple[Option, ...], op: str = "add") -> OpenQuestion:
    return OpenQuestion(id, 1, kind, op, "I like tea", None, choices, "“I like tea”", "I drink tea")


def ask(book: Book, thread_id: str, content: str, turn: int) -> str:
    with book.writing() as (tx, _):
        where: dict[str, Any] = {"thread_id": thread_id, "turn_ids": (str(turn),)}
        left = proposals.ask_question(tx, stamp(tx.clock()), question="keep", op="add", content=content, **where)
    assert left is not None
    return left.id


def test_of_one_question_a_number_is_a_choice_and_of_several_a_yes_to_that_one() -> None:
    keep, over, which = question("a", "keep", KEEP), question("b", "over", OVER), question("c", "which", KEEP)
    assert choice_of_number([keep], 2) == (keep, "no")
    assert choice_of_number([keep], 3) is None
    assert choice_of_number([keep, over], 1) == (keep, "keep")
    assert choice_of_number([keep, over], 2) == (over, "over")
    assert choice_of_number([keep, which], 2) is None
    assert choice_of_number([], 1) is None


def test_to_keep_loses_nothing_and_to_refuse_leaves_all_as_it_is() -> None:
    assert choice_to_keep(question("a", "keep", KEEP)) == "keep"
    assert choice_to_keep(question("b", "over", OVER)) == "both"
    forget = question("c", None, (Option("yes", "Yes"), Option("no", "No")), "forget")
    assert choice_to_keep(forget) is None
    assert [choice_to_refuse(one) for one in (question("b", "over", OVER), forget)] == ["both", "no"]


def test_a_question_is_put_in_a_sentence_with_each_line_quoted_once() -> None:
    assert question("a", "keep", KEEP).text == "Keep this? “I like tea”"
    assert question("b", "over", OVER).text == "Your book says “I drink tea”. Is that over?"
    assert question("c", "change", OVER).text == "Your book says “I drink tea”. Change it to “I like tea”?"
    assert question("d", None, KEEP, "forget").text == "Forget this? “I like tea”"


def test_questions_stand_under_their_turns_as_these_put_them(kb: Keepbook, alice: Book) -> None:
    chat = alice.threads.start()
    first, second = ask(alice, chat.id, "I like tea", 1), ask(alice, chat.id, "My dog is called Bo", 1)
    waits = ask(alice, chat.id, "I sail on Sundays", 1)
    deeds = [
        Deed("offer", proposal=second, question="keep", asked=True),
        Deed("offer", proposal=first, question="keep", asked=True),
        Deed("offer", proposal=waits, question="keep"),
    ]
    chat.add("user", "I like tea, my dog is called Bo, I sail on Sundays", parts=deeds_to_parts(deeds, kept=True))
    found = open_questions(alice, chat.id)
    assert [one.id for one in found] == [second, first], "as asked; what waits in Review alone is not among them"
    assert [one.choice for one in found[0].choices] == ["keep", "no"]
    assert last_asked(found, chat.messages()) == found
    chat.add("user", "Hello", parts=deeds_to_parts([], kept=True))
    assert last_asked(open_questions(alice, chat.id), chat.messages()) == []
    alice.proposals.answer(first, "no")
    assert [one.id for one in open_questions(alice, chat.id)] == [second]


def test_what_nobody_asked_in_words_is_put_up_to_the_third(kb: Keepbook, alice: Book) -> None:
    chat = alice.threads.start()
    chat.add("user", "Hello")
    for content in ("I like tea", "My dog is called Bo", "I sail on Sundays", "I live in Graz"):
        ask(alice, chat.id, content, 1)
    ask(alice, chat.id, "I keep bees", 7)  # of a turn that is not there
    assert [one.content for one in open_questions(alice, chat.id)] == ["I like tea", "My dog is called Bo",
                                                                       "I sail on Sundays"]  # fmt: skip


def test_a_silent_preset_asks_nothing_in_a_chat(kb: Keepbook, alice: Book) -> None:
    chat = alice.threads.start(preset="coach")
    chat.add("user", "Hello")
    ask(alice, chat.id, "I like tea", 1)
    assert open_questions(alice, chat.id) == []
