"""`/review`: what waits, one card at a time; and everything under All, with one answer for what an import left."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.doors.http.web.memory.test_memory import propose, shown

from keepbook import NotAllowed
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals

REVIEW = "/review"


def said(client: Any, page: str, say: str, **told: str) -> str:
    """Answer the card of a page, as its form does."""
    fields = dict(re.findall(r'<input type="hidden" name="(id|place)" value="([^"]*)"', page))
    place = fields["place"].replace("&amp;", "&")
    return str(client.post(f"{REVIEW}/answer", data={"id": fields["id"], "place": place, "say": say, **told}).text)


def undone(client: Any, page: str) -> str:
    place = re.findall(r'/review/back"><input type="hidden" name="place" value="([^"]*)"', page)[0]
    return str(client.post(f"{REVIEW}/back", data={"place": place.replace("&amp;", "&")}).text)


def test_at_most_five_are_asked_and_what_changes_a_line_comes_first(client: Any, alice: Any) -> None:
    kept = alice.remember("Keeps six months of expenses in cash")
    for nth in range(6):
        propose(alice, f"Has {nth + 2} dogs called Rex")
    propose(alice, "Keeps two months of expenses in cash", op="update", nature="conflict", memory_id=kept.id)
    page = client.get(REVIEW).text
    assert "1 of 5" in page
    assert "You said otherwise before" in page
    assert re.search(r"<del>six</del> <ins>two</ins>", page)
    page = said(client, page, "no")
    assert alice.get(kept.id).version == 1
    for _ in range(4):
        page = said(client, page, "yes")
    assert "That was all. Thank you." in page
    assert "5 are in your book now" in shown(page)
    assert "2 others wait for another time." in shown(page)
    assert alice.list().total == 5


def test_a_card_names_the_agent_that_asks_and_what_a_yes_does(client: Any, kb: Any, alice: Any) -> None:
    kept = alice.remember("Lives in Bergen")
    agent = kb.book("alice", by="agent", name="Helper")
    with pytest.raises(NotAllowed):
        agent.forget(kept.id)
    page = client.get(REVIEW).text
    assert "Helper asks to forget this line. You can put it back:" in page
    assert "Take it out" in page
    assert "You said otherwise" not in page
    assert "Helper asks to forget this line." in client.get(f"{REVIEW}?all=1").text
    said(client, page, "yes")
    assert alice.get(kept.id).state == "archived"
    alice.restore(kept.id)
    with pytest.raises(NotAllowed):
        agent.update(kept.id, "Lives in Oslo")
    assert "Helper asks to change this line. Your word stands unless you say yes:" in client.get(REVIEW).text


def test_an_answer_is_undone_under_the_next_card_and_brings_its_card_back(client: Any, alice: Any) -> None:
    propose(alice, "Has a dog called Rex")
    read = alice.remember("Dislikes risk", confidence="inferred")
    first = client.get(REVIEW).text
    second = said(client, first, "yes")
    assert "In your book: Has a dog called Rex" in shown(second)
    assert alice.list().total == 2
    again = undone(client, second)
    assert "1 of 2" in again
    assert alice.list().total == 1
    third = said(client, said(client, again, "no"), "yes")
    assert alice.get(read.id).confidence == "asserted"
    assert alice.list().total == 1
    assert "2 of 2" in undone(client, third)
    assert alice.get(read.id).confidence == "inferred"


def test_what_takes_a_line_out_is_answered_by_its_name_and_says_what_it_did(client: Any, alice: Any) -> None:
    kept = alice.remember("Is allergic to peanuts")
    propose(alice, "Is allergic to [walnuts]", op="forget", memory_id=kept.id)
    page = client.get(REVIEW).text
    assert "Shall I take this line out of your book? Is allergic to peanuts Take it out" in shown(page)
    assert "btn primary" not in page.partition('class="four')[2].partition("</form>")[0]
    stays = said(client, page, "no")
    assert "Stays in your book: Is allergic to peanuts" in shown(stays)
    assert "1 is in your book now" in shown(stays)
    alice.forget(kept.id)
    assert "Nothing waits for you." in client.get(REVIEW).text
    alice.restore(kept.id)
    gone = said(client, undone(client, stays), "yes")
    assert "Taken out: Is allergic to peanuts" in shown(gone)
    assert "1 not in it, as you said" in shown(gone)


@pytest.mark.parametrize("listed", [False, True], ids=["card", "list"])
def test_a_choice_of_several_names_what_it_takes_out_and_one_undo_brings_all_back(
    listed: bool, client: Any, alice: Any
) -> None:
    lines = [alice.remember(words) for words in ("Is allergic to peanuts", "Has asthma", "Sleeps badly")]
    with alice.writing() as (tx, _):
        named = [(line.id, line.content) for line in lines]
        told = {"content": lines[0].content, "lines": named}
        asked = proposals.ask_question(tx, stamp(tx.clock()), question="which", op="forget", **told)
    page = client.get(f"{REVIEW}?all=1" if listed else REVIEW).text
    for words in ("Which of these shall I take out of your book?", "Take out 2", "Take them all out"):
        assert words in shown(page)
    if listed:
        address = f"{REVIEW}/proposal/{asked.id}/answer?choice=all"
        done = client.post(address, data={"back": f"{REVIEW}?all=1"}).text
    else:
        done = said(client, page, "all")
    assert "Taken out: 3 lines." in shown(done)
    assert not alice.list().total
    if listed:
        (events,) = re.findall(r'name="events" value="([^"]*)"', done)
        client.post(f"{REVIEW}/proposal/{asked.id}/reopen", data={"events": events})
    else:
        undone(client, done)
    assert alice.list().total == len(lines)
    assert len(alice.proposals.list()) == 1


def test_later_comes_at_the_end_of_the_next_visit(client: Any, alice: Any) -> None:
    for nth in range(2):
        propose(alice, f"Has {nth + 2} dogs called Rex")
    first = client.get(REVIEW).text
    second = said(client, first, "later")
    assert "1 can wait" in shown(said(client, second, "no"))
    propose(alice, "Sails on Sundays")
    asked = [re.findall(r'id="asked-h">(.*?)</h2>', page)[0] for page in (first, client.get(REVIEW).text)]
    assert asked[1] == "Sails on Sundays"  # before the one that was put off, which waits since yesterday
    assert asked[0] in said(client, client.get(REVIEW).text, "yes")


def test_other_words_are_kept_instead_and_it_is_not_asked_again(client: Any, alice: Any) -> None:
    propose(alice, "Has a dog called Rex")
    read = alice.remember("Dislikes risk", confidence="inferred")
    page = client.get(REVIEW).text
    edit = client.get(re.findall(r'href="([^"]*edit=1)"', page)[0].replace("&amp;", "&")).text
    assert ">Has a dog called Rex</textarea>" in edit
    page = said(client, edit, "words", words="Has a cat called Rex")
    page = said(client, page, "words", words="Dislikes risk with the rent money")
    assert {memory.content for memory in alice.list()} == {"Has a cat called Rex", "Dislikes risk with the rent money"}
    assert alice.get(read.id).confidence == "asserted"
    assert "Nothing waits for you." in client.get(REVIEW).text


def test_a_question_with_choices_is_answered_by_one_of_them(client: Any, alice: Any) -> None:
    old, new = alice.remember("Works at Equinor"), alice.remember("Works at a bakery")
    with alice.writing() as (tx, _):
        proposals.ask_question(
            tx, stamp(tx.clock()), question="over", op="end", content=new.content, memory_id=old.id, beside=new.id
        )
    page = client.get(REVIEW).text
    assert "Is the first of these over?" in page
    over = said(client, page, "over")
    assert not alice.get(old.id).current
    undone(client, over)
    assert alice.get(old.id).current


def test_two_lines_that_do_not_go_together_both_hold_or_one(client: Any, alice: Any) -> None:
    likes, likes_not = alice.remember("Likes opera"), alice.remember("Does not like opera")
    page = client.get(REVIEW).text
    assert "These two do not go together" in page
    both = said(client, page, "both")
    assert "Both lines stay in your book." in both
    assert alice.list().total == 2
    one = said(client, undone(client, both), likes.id)
    assert "Taken out: Likes opera" in shown(one)
    assert [memory.id for memory in alice.list()] == [likes_not.id]


@pytest.mark.parametrize("say", ["yes", "no"])
def test_what_an_import_left_is_answered_at_once_and_taken_back(client: Any, alice: Any, say: str) -> None:
    messages = [{"sender": "human", "text": "Hello", "created_at": "2024-03-10T09:00:00Z"}]
    alice.import_([json.dumps([{"uuid": "1", "name": "Plans", "chat_messages": messages}])])
    (chat,) = alice.threads.list()
    with alice.writing() as (tx, _):
        for nth in range(3):
            told = {"nature": "proposal", "op": "add", "turn_ids": ["1"], "thread_id": chat.id}
            proposals.propose(tx, stamp(tx.clock()), content=f"Has {nth + 2} dogs called Rex", **told)
    propose(alice, "Sails on Sundays")
    page = client.get(f"{REVIEW}?all=1").text
    assert "3 lines come from Claude." in shown(page)
    done = client.post(f"{REVIEW}/from", data={"source": "Claude", "say": say}).text
    assert alice.list().total == (3 if say == "yes" else 0)
    assert len(alice.proposals.list()) == 1
    fields = dict(re.findall(r'name="(ids|events)" value="([^"]*)"', done))
    client.post(f"{REVIEW}/from/undo", data=fields)
    assert alice.list().total == 0
    assert len(alice.proposals.list()) == 4


def test_the_cards_are_answered_by_letters(person: Page, alice: Any) -> None:
    propose(alice, "Has a dog called Rex")
    propose(alice, "Has a cat called Tom")
    person.goto(REVIEW)
    for place, letter in (("1 of 2", "y"), ("2 of 2", "u"), ("1 of 2", "l"), ("2 of 2", "u"), ("1 of 2", "n")):
        expect(person.locator("html.js .deck-head")).to_contain_text(place)  # from then on letters are heard
        person.keyboard.press(letter)
    expect(person.locator(".back")).to_contain_text("Left out:")
