"""Recall: a question in any words finds the memories that answer it, and never one it must not."""

import io
import random
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Invalid
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.recall import memories, word_scores
from keepbook.presets import load_preset
from keepbook.storage.prepared_statement import PreparedStatement

_numbers = count()

FACTS = {
    "allergy": "Anna is allergic to peanuts",
    "cello": "Daughter Mathilda plays the cello in a youth orchestra",
    "flat": "Rents a flat of 62 square metres in Grünerløkka",
    "funds": "Prefers broad index funds over picking single stocks",
    "rent": "Pays 14,500 kroner rent on the first of every month",
    "boss": "Reports to Siobhan Kowalczyk in the finance department",
    "train": "Takes the night train to Bergen twice a year",
    "dog": "The dog is called Bamse and is afraid of fireworks",
    "coffee": "Drinks espresso without sugar, never after noon",
    "project": "The website relaunch is due in September",
    "doctor": "Dr. Haugen is the family's dentist",
    "language": "Answers should be short and in British English",
    "run": "Runs ten kilometres on Sundays",
    "car": "Sold the car in 2024 and cycles to work",
}
BODIES = {
    "garden": ("The garden has a plan", "Tomatoes along the south wall, lavender by the gate, compost behind the shed"),
    "will": ("The testament lies with the notary", "Kept by Ms Thorvaldsen, opened in the presence of both sons"),
}
SUMMARIES = {"trip": ("Has tickets for the crossing in July", "Ferry to Iceland")}

QUESTIONS = [
    # the question, the fact that answers it best
    ("peanuts", "allergy"),
    ("peanut", "allergy"),
    ("what is Anna allergic to?", "allergy"),
    ("Who must not eat peanuts?", "allergy"),
    ("Which instrument does Mathilda play?", "cello"),
    ("orchestras", "cello"),
    ("how big is the flat?", "flat"),
    ("grunerlokka", "flat"),
    ("stock picking", "funds"),
    ("Does she like an index fund?", "funds"),
    ("how much is the rent per month", "rent"),
    ("14500", "rent"),
    ("14 500 kroner", "rent"),
    ("Siobhan", "boss"),
    ("Siobahn", "boss"),
    ("Kowalczik", "boss"),
    ("who is Kowalzcyk?", "boss"),
    ("When did I last take a train to bergen?", "train"),
    ("nightly trains", "train"),
    ("what's the dog's name", "dog"),
    ("is the dog afraid of firework", "dog"),
    ("Bames", "dog"),
    ("can I offer an espresso with sugar?", "coffee"),
    ("when is the relaunch of the website due", "project"),
    ("dentists", "doctor"),
    ("Hauugen", "doctor"),
    ("should the answer be in English?", "language"),
    ("running on a Sunday", "run"),
    ("kilometre", "run"),
    ("do I still have a car", "car"),
    ("tomato", "garden"),
    ("where is the lavender?", "garden"),
    ("who keeps the testament", "will"),
    ("Thorvaldson", "will"),
    ("Iceland", "trip"),
    ("ferries", "trip"),
]


def keep_facts(book: Any) -> dict[str, str]:
    """The ids of all facts, by their names."""
    with book.transaction():
        ids = {name: book.remember(content).id for name, content in FACTS.items()}
        ids |= {name: book.remember(content, body=body).id for name, (content, body) in BODIES.items()}
        ids |= {name: book.remember(content, summary=short).id for name, (content, short) in SUMMARIES.items()}
    return ids


def extract(kb: Any, owner: str, content: str, score: float) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules")
        )


def found(book: Any, query: str, **how: Any) -> list[str]:
    return [hit.content for hit in book.recall(query, **how)]


# --- what is found


def test_a_question_finds_its_answer_first(alice: Any) -> None:
    ids = keep_facts(alice)

    missed = {}
    for question, answer in QUESTIONS:
        hits = alice.recall(question)
        if not hits or hits[0].id != ids[answer]:
            missed[question] = [hit.content for hit in hits[:2]]
    assert missed == {}


def test_the_past_answers_by_the_same_rules(alice: Any, clock: Any) -> None:
    keep_facts(alice)
    at = clock.now
    clock.forward(days=1)
    for question, _ in QUESTIONS:
        now = [(hit.id, hit.relevance, hit.reasons) for hit in alice.recall(question)]
        then = [(hit.id, hit.relevance, hit.reasons) for hit in alice.recall(question, known=at, valid=at)]
        assert then == now


def test_a_hit_says_how_well_and_why(alice: Any) -> None:
    keep_facts(alice)

    exact = alice.recall("peanuts")[0]
    assert 0 < exact.relevance <= 1
    assert "peanut" in " ".join(exact.reasons)
    typo = alice.recall("Kowalczik")[0]
    assert "kowalcz" in " ".join(typo.reasons).casefold()
    hits = alice.recall("who takes the night train to work")
    assert len(hits) > 1
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)
    assert all(hit.reasons for hit in hits)


def test_what_nobody_wrote_finds_nothing(alice: Any) -> None:
    keep_facts(alice)

    for query in ("submarine", "zzzz", "18200", "14,501", "?!", "文字"):
        assert found(alice, query) == []


def test_a_number_is_never_guessed(alice: Any) -> None:
    alice.remember("The code of the gate is 48213")

    assert found(alice, "48213")
    assert found(alice, "48214") == []


@pytest.mark.parametrize("query", ["", "   ", None, 5])
def test_a_question_must_say_something(alice: Any, query: Any) -> None:
    with pytest.raises(Invalid) as refused:
        alice.recall(query)
    assert refused.value.field == "query"


def test_a_limit_cuts_the_weakest(alice: Any) -> None:
    with alice.transaction():
        for number in range(30):
            alice.remember(f"Likes tea of sort {number}" + " and cake" * (number == 7))

    everything = alice.recall("tea and cake", limit=100)
    assert len(everything) == 30
    assert everything[0].content.endswith("cake")
    assert [hit.id for hit in alice.recall("tea and cake")] == [hit.id for hit in everything[:10]]
    assert [hit.id for hit in alice.recall("tea and cake", limit=3)] == [hit.id for hit in everything[:3]]
    for limit in (0, -1, "3", True):
        with pytest.raises(Invalid) as refused:
            alice.recall("tea", limit=limit)
        assert refused.value.field == "limit"


def test_other_scripts_and_accents_are_found(alice: Any) -> None:
    alice.remember("Работает в Осло")
    alice.remember("東京に住んでいる")
    alice.remember("Bor på Ålesund hver sommer")
    alice.remember("Mange un café crème à midi")

    assert found(alice, "осло") == ["Работает в Осло"]
    assert found(alice, "東京") == ["東京に住んでいる"]
    assert found(alice, "alesund") == found(alice, "ÅLESUND") == ["Bor på Ålesund hver sommer"]
    assert found(alice, "cafe creme") == ["Mange un café crème à midi"]


def test_the_rarer_word_decides(alice: Any) -> None:
    with alice.transaction():
        for number in range(20):
            alice.remember(f"Likes the music of composer {number}")
        alice.remember("Likes the harpsichord")

    assert found(alice, "Which music for harpsichord?")[0] == "Likes the harpsichord"


def test_common_words_are_looked_up_only_where_they_decide_and_that_changes_nothing(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (memories, word_scores):
        monkeypatch.setattr(module, "CANDIDATES", 6)
    chance = random.Random(5)
    words = ["tea", "cake", "music", "river", "garden", "winter", "harp", "boat", "chess", "opera"]
    with alice.transaction():
        for number in range(120):
            said = " ".join(chance.choices(words, cum_weights=range(10, 110, 10), k=chance.randint(3, 6)))
            alice.remember(f"{said} number{number}", importance=chance.choice([0.3, 0.5]), force=True)
    questions = [" ".join(chance.sample(words, chance.randint(1, 4))) + " number7" for _ in range(25)]

    def answers() -> list[Any]:
        return [[(hit.id, hit.relevance, hit.reasons) for hit in alice.recall(asked, 4)] for asked in questions]

    quick = answers()
    monkeypatch.setattr(memories, "leading", lambda scores, *_: list(scores))
    monkeypatch.setattr(memories, "_foremost", lambda found, _: dict(found))
    assert answers() == quick


def test_memories_of_other_scopes_do_not_crowd_out_the_ones_asked_for(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (memories, word_scores):
        monkeypatch.setattr(module, "CANDIDATES", 8)
    with alice.transaction():
        for number in range(40):
            alice.remember(f"Likes tea of sort {number}", scope="cook", force=True)
        alice.remember("Likes tea with honey")
        alice.remember("Sells tea in Bergen", category="profile", scope="cook")

    assert found(alice, "tea") == ["Likes tea with honey"]
    assert found(alice, "tea", category="profile", scope="cook") == ["Sells tea in Bergen"]
    assert len(found(alice, "tea", scope="*", limit=100)) >= 8


def test_the_time_a_question_names_counts_more_than_a_word(alice: Any, clock: Any) -> None:
    clock.set("2026-04-10T09:00:00Z")
    alice.remember("Bought a bicycle, and with it a helmet, a lock, two lights, a bell and a basket for the children")
    clock.set("2026-09-10T09:00:00Z")
    alice.remember("Bought a bicycle")
    clock.set("2026-11-10T09:00:00Z")

    assert "helmet" not in alice.recall("Which bicycle did I buy?")[0].content
    spring = alice.recall("Which bicycle did I buy last spring?")[0]
    assert "helmet" in spring.content
    assert spring.reasons[-1] == "time: last spring"


# --- what is never found


def test_what_is_forgotten_deleted_or_superseded_is_not_found(alice: Any) -> None:
    archived = alice.remember("Plays the trombone", body="a brass instrument").id
    trashed = alice.remember("Plays the bassoon").id
    purged = alice.remember("Plays the oboe").id
    changed = alice.remember("Plays the tuba", summary="tuba", body="tuba lessons", subject="Tuba").id
    alice.forget(archived), alice.delete(trashed), alice.delete(purged, forever=True)
    alice.update(changed, "Plays the horn", body="", subject="")

    for word in ("trombone", "brass", "bassoon", "oboe", "tuba", "tubas"):
        assert found(alice, word) == []
    assert found(alice, "horn") == ["Plays the horn"]
    alice.restore(archived), alice.restore(trashed)
    assert found(alice, "brass") == ["Plays the trombone"]
    assert found(alice, "bassoon") == ["Plays the bassoon"]
    alice.undo(alice.ledger(memory=changed)[0].event)
    assert found(alice, "tuba") == ["Plays the tuba"]
    assert found(alice, "horn") == []


def test_another_owners_words_are_not_found_and_change_no_rank(kb: Any, alice: Any) -> None:
    keep_facts(alice)
    before = {question: [(hit.id, hit.relevance) for hit in alice.recall(question)] for question, _ in QUESTIONS}
    bob = kb.book("bob")
    with bob.transaction():
        for number in range(30):
            bob.remember(f"Anna and Mathilda rent flat {number} by the train to Bergen")

    assert before == {
        question: [(hit.id, hit.relevance) for hit in alice.recall(question)] for question, _ in QUESTIONS
    }
    assert found(kb.book("carol"), "Anna") == []


def test_a_category_and_a_scope_limit_what_is_found(alice: Any) -> None:
    alice.remember("Likes tea in the morning", category="preference")
    alice.remember("Sells tea in Bergen", category="profile")
    alice.remember("Waters the tea plants", category="preference", scope="gardener")

    assert set(found(alice, "tea")) == {"Likes tea in the morning", "Sells tea in Bergen"}
    assert found(alice, "tea", category="profile") == ["Sells tea in Bergen"]
    assert found(alice, "tea", category="person") == []
    assert set(found(alice, "tea", category="preference", scope="gardener")) == {
        "Likes tea in the morning",
        "Waters the tea plants",
    }
    assert len(found(alice, "tea", scope="cook")) == 2


def test_recall_is_a_pure_read(alice: Any) -> None:
    keep_facts(alice)

    def exported() -> str:
        file = io.StringIO()
        alice.export(file)
        return file.getvalue()

    before = exported()
    alice.recall("peanuts"), alice.recall("peanuts", known="2030")
    assert exported() == before


# --- what is not in the block, or not true now


def test_what_is_too_faint_or_cut_from_the_block_is_still_found(kb: Any, alice: Any) -> None:
    extract(kb, "alice", "Might play the lute", 0.3)
    with alice.transaction():
        for number in range(30):
            alice.remember(f"Long fact {number} " + "word " * 80, importance=0.9)
    alice.remember("Plays the harp", importance=0.0)

    assert found(alice, "lute") == ["Might play the lute"]
    assert found(alice, "harp") == ["Plays the harp"]
    assert "harp" not in alice.block()


def test_what_is_not_true_now_is_found_and_marked(alice: Any, clock: Any) -> None:
    alice.remember("Lived in Rome", valid_from="2010", valid_until="2020")
    alice.remember("Lives in Oslo")

    rome, oslo = alice.recall("Rome")[0], alice.recall("Oslo")[0]
    assert (rome.current, oslo.current) == (False, True)
    assert len(rome.reasons) > len(oslo.reasons)


def test_the_past_is_recalled_as_it_was_known_and_true(alice: Any) -> None:
    first = alice.remember("Works at the bank in Oslo", valid_from="2020")
    second = alice.update(first.id, "Works at the museum in Oslo")
    alice.forget(first.id)
    tick = timedelta(microseconds=1)

    assert found(alice, "Oslo") == []
    assert found(alice, "Oslo", known=second.recorded_at) == ["Works at the museum in Oslo"]
    assert found(alice, "bank", known=second.recorded_at, valid=second.recorded_at) == []
    assert found(alice, "bank", known=second.recorded_at, valid="2021") == ["Works at the bank in Oslo"]
    assert found(alice, "Oslo", known=second.recorded_at - tick) == ["Works at the bank in Oslo"]
    assert found(alice, "Oslo", known=second.recorded_at, valid="2019") == []
    assert found(alice, "Oslo", known=first.recorded_at - tick) == []


# --- the same on both engines


WORDS = st.sampled_from(
    ["tea", "teas", "Oslo", "Åse", "straße", "14,500", "14500", "run", "running", "東京", "café", "the", "Kowalczyk"]
)
texts = st.lists(WORDS, min_size=3, max_size=8).map(" ".join)
books = st.lists(
    st.tuples(texts, st.none() | texts, st.none() | texts, st.sampled_from([0.2, 0.5])), min_size=1, max_size=15
)


def test_of_the_past_what_did_not_change_is_found_by_the_index(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ferries = [f"Ferry {name} sails from Moss" for name in ("Anna", "Berta", "Clara", "Dora")]
    ids = [alice.remember(ferry, force=True).id for ferry in ferries]
    for nth in range(40):
        alice.remember(f"Jar {nth} holds plums", force=True)
    then = alice.get(alice.remember("The last jar is empty").id).recorded_at
    before = [(hit.id, hit.relevance, hit.reasons) for hit in alice.recall("ferry from Moss")]
    alice.update(ids[0], "Ferry Anna was scrapped in Horten")
    alice.forget(ids[1])
    alice.delete(ids[2])
    later = alice.remember("Ferry Emma sails from Moss", force=True).id
    read: list[int] = []
    past_memories = memories.past_memories

    def past(*given: Any) -> Any:
        read.append(len(given[3]))
        return past_memories(*given)

    monkeypatch.setattr(memories, "past_memories", past)
    assert [(hit.id, hit.relevance) for hit in alice.recall("ferry from Moss", known=then, valid=then)] == [
        (id, relevance) for id, relevance, _ in before
    ]
    assert sum(read) <= 8, "three changed, and what is found"
    assert later not in {hit.id for hit in alice.recall("Emma", known=then, valid=then)}
    assert alice.recall("scrapped", known=then, valid=then) == []
    first = alice.recall("ferry from Moss", known=then, valid=then, limit=2)
    others = alice.recall("ferry from Moss", known=then, valid=then, limit=2, cursor=first[-1].id)
    assert [hit.id for hit in (*first, *others)] == [id for id, _, _ in before]
    assert [hit.id for hit in alice.recall("ferry from Moss", known=then - timedelta(days=9))] == []


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    books,
    st.lists(st.lists(WORDS | st.just("Kowalczik"), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=4),
)
def test_both_engines_give_the_same_hits_in_the_same_order(both_kbs: Any, book: Any, queries: list[str]) -> None:
    sqlite, postgresql = both_kbs
    for kb in both_kbs:
        kb._database.clock.set("2026-03-01T09:00:00Z")
    owner = f"walker {next(_numbers)}"
    one, other = sqlite.book(owner), postgresql.book(owner)
    with one.transaction():
        ids = list(
            {
                one.remember(text, summary=summary, body=body, importance=weight).id
                for text, summary, body, weight in book
            }
        )
    file = io.StringIO()
    one.export(file)
    other.import_(io.StringIO(file.getvalue()))
    for kb, side in ((sqlite, one), (postgresql, other)):
        kb._database.clock.set("2026-03-01T10:00:00Z")
        side.forget(ids[0])
        side.restore(ids[0])
        side.update(ids[-1], "tea in Oslo with Åse")
    for query in queries:
        for how in ({}, {"limit": 3}, {"known": "2026-03-02", "valid": "2026-03-02"}):
            for kb in both_kbs:
                kb._database.clock.set("2026-03-03T09:00:00Z")
            assert one.recall(query, **how) == other.recall(query, **how)


@pytest.mark.parametrize(
    "asked",
    ["é" * 9999, " ".join(f"unternehmenszweck{chr(0x430 + n % 32) * 3}{chr(97 + n // 32)}" for n in range(300))],
)
def test_a_question_of_any_length_asks_the_database_a_bounded_number_of_times(alice: Any, asked: str) -> None:
    alice.remember("Die Krankenversicherung ist bei der Techniker")
    alice.recall("Versicherung")
    run: list[str] = []
    through = PreparedStatement.tuples
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PreparedStatement, "tuples", lambda *given: run.append("") or through(*given))  # type: ignore[func-returns-value]
        alice.recall(asked[:2000])
    assert len(run) < 1000


LANGUAGES = {
    "a compound by its last word": ("Die Krankenversicherung ist bei der Techniker", "Wo ist meine Versicherung?"),
    "its last word by a compound": ("Versicherung fürs Auto gekündigt", "Haftpflichtversicherung"),
    "a Norwegian compound": ("Leser alltid avisen på hytteturen i fjellheimen", "Når var turen sist?"),
    "Chinese": ("我每天早上喝绿茶", "喜欢绿茶吗"),
    "one character that ends a text": ("我每天早上喝绿茶", "茶"),
    "one character within it": ("我每天早上喝绿茶", "喝"),
    "Thai": ("ฉันแพ้อาหารทะเลทุกชนิด", "อาหารทะเล"),
    "Japanese": ("猫の名前はタマです", "猫"),
}


@pytest.mark.parametrize(("said", "asked"), LANGUAGES.values(), ids=LANGUAGES)
def test_words_are_found_in_languages_that_write_them_together(alice: Any, said: str, asked: str) -> None:
    for content in (
        said,
        "Has a bicycle with a trailer",
        "Die Zeitung kommt freitags",
        "他住在上海",
        "彼は東京にいます",
    ):
        alice.remember(content)
    alice.thread("one").add("user", said)

    assert alice.recall(asked)[0].content == said
    assert alice.recall(asked, known="2030")[0].content == said
    assert alice.recall_chats(asked)[0].text == said
    assert alice.threads.search(asked)[0].text.replace("⟦", "").replace("⟧", "") == said
