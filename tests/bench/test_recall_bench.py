"""The recall bench: it reads any file of LoCoMo's shape, judges rightly, and goes through the product."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepbook import Invalid, NotFound
from keepbook.bench import recall, recall_peers, recall_scale
from keepbook.bench.recall_sets import EvaluationQuestion, conversations


def sample(pet: str) -> dict[str, Any]:
    return {
        "conversation": {
            "speaker_a": "Caroline", "speaker_b": "Melanie",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel! How have you been?"},
                {"speaker": "Melanie", "dia_id": "D1:2", "text": f"Fine, I adopted a {pet} from the shelter."},
            ],
            "session_2_date_time": "9:00 am on 3 July, 2023",
            "session_2": [{"speaker": "Caroline", "dia_id": "D2:1", "text": "I repaired the bicycle of my uncle."}],
            "session_3": [],
        },
        "qa": [
            {"question": f"Where did Melanie get the {pet}?", "category": 4, "evidence": ["D:1:02"]},
            {"question": "Who repaired a bicycle?", "category": 1, "evidence": ["D2:1; D1:2"]},
            {"question": "Nothing to find?", "category": 2, "evidence": ["D9:9"]},
            {"question": "Adversarial?", "category": 5, "evidence": ["D1:1"]},
        ],
    }  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "told.json"
    path.write_text(json.dumps([sample("puppy"), sample("parrot")]), encoding="utf-8")
    return str(path)


def test_evidence_is_read_in_all_its_spellings(data: str) -> None:
    first = conversations(data)[0]
    assert [question.evidence for question in first.questions] == [
        {("session 1", 2)},
        {("session 2", 1), ("session 1", 2)},
    ]
    assert [len(turns) for turns in first.sessions.values()] == [2, 1, 0]


def test_our_questions_stand_beside_the_chats_of_their_writers(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "parts": [{"t": "Always answer ", "l": "keep"}, {"t": "in metric.", "l": "keep"}]},
        {"role": "assistant", "text": "I will."},
        {"role": "user", "parts": [{"t": "Thanks.", "l": "talk"}]},
    ]
    (tmp_path / "chats").mkdir()
    lines = [json.dumps({"id": id, "turns": turns}) for id in ("X1", "X2", "X3")]
    (tmp_path / "chats" / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
    about = {"half": "report", "writer": "x", "chat": "X2", "turn": 1}
    path = tmp_path / "recall.jsonl"
    path.write_text(json.dumps({**about, "kind": "instruction", "question": "Which units?"}), encoding="utf-8")
    (written,) = conversations(str(path))
    assert written.reports
    assert [turn.text for turn in written.sessions["X2"]] == ["Always answer in metric.", "I will.", "Thanks."]
    assert written.questions == [EvaluationQuestion("Which units?", "instruction", frozenset({("X2", 1)}))]
    (letters,) = conversations(str(path), joined=2)
    assert {id: len(turns) for id, turns in letters.sessions.items()} == {"X1": 2, "X3": 2}
    assert letters.sessions["X3"][0].text == "Always answer in metric.\n\nThanks."
    assert letters.questions[0].evidence == {("X1", 1)}


def test_every_question_of_ours_has_its_turn() -> None:
    told = conversations(str(Path(__file__).parents[2] / "training" / "recall.jsonl"))
    assert sum(len(one.questions) for one in told if not one.reports) >= 150
    assert sum(len(one.questions) for one in told if one.reports) >= 150
    for one in told:
        for question in one.questions:
            said_by = {one.sessions[chat][turn - 1].speaker for chat, turn in question.evidence}
            assert said_by == {"assistant" if question.kind == "assistant" else "user"}, question


def test_judging_counts_what_was_found_and_how_high_up() -> None:
    question = EvaluationQuestion("?", "multi-hop", frozenset({("a", 1), ("a", 2)}))
    perfect = recall.score_question(question, [("a", 2), ("a", 1)])
    half = recall.score_question(question, [("b", 1)] * 7 + [("a", 1)])
    none = recall.score_question(question, [])
    assert (perfect.recall, perfect.hit, perfect.ndcg) == ((1, 1, 1), 1, 1)
    assert half.recall == (0, 0.5, 0.5)
    assert half.hit == 1
    assert 0 < half.ndcg < perfect.ndcg
    assert (none.recall, none.hit, none.ndcg) == ((0, 0, 0), 0, 0)


def test_the_product_and_the_baselines_are_measured_on_both_halves(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recall.main(data, json=True, scale=False)
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"words", "hybrid", "baselines"}
    assert set(told["baselines"]) == {"fts5", "dense"}
    for way in (told["words"], told["hybrid"], *told["baselines"].values()):
        for half in ("tuning", "report"):
            assert set(way[half]) == {"recall@5", "recall@10", "recall@20", "hit@10", "ndcg@10", "n", "by_category"}
            assert way[half]["n"] == 2
            assert set(way[half]["by_category"]) == {"single-hop", "multi-hop"}
    assert told["words"]["report"]["hit@10"] == 1


def test_without_an_embedder_the_table_says_what_is_missing(data: str) -> None:
    lines = list(recall.score_table(recall.measure(data, embedder="none")))
    assert any("keepbook[embed]" in line for line in lines)
    assert not any(line.startswith("hybrid") for line in lines)


def test_a_missing_or_strange_file_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="--data"):
        recall.main(str(tmp_path / "no.json"), json=False, scale=False)
    strange = tmp_path / "strange.json"
    strange.write_text('[{"talk": 1}]', encoding="utf-8")
    with pytest.raises(Invalid, match="LoCoMo"):
        recall.main(str(strange), json=False, scale=False)


def test_the_growth_is_measured_on_a_book_that_finds_its_facts() -> None:
    told = recall_scale.scale_report(recall_scale.measure((50, 200), ()))
    assert set(told["ms"]) == set(told["cpu_ms"]) == {"words", "hybrid", recall_scale.FIRST}
    assert set(told["growth"]) == {"words", "hybrid"}
    assert all(set(sizes) == {50, 200} for sizes in told["ms"].values())


def test_a_peer_is_measured_beside_us_and_named_where_it_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    @contextmanager
    def instant(filled: recall_peers.PeerData) -> Iterator[Any]:
        assert len(filled.texts) == len(filled.rows) == 60
        assert [len(some) for some in filled.batches()] == [60]
        yield asked.append

    peers = {"instant": (instant, ("json",)), "absent": (instant, ("no_such_module.here",))}
    monkeypatch.setattr(recall_scale, "PEERS", peers)
    told = recall_scale.scale_report(recall_scale.measure((30, 60), (60,)))
    assert asked
    assert told["slower_than_a_peer"] == ["words is slower than instant at 60", "hybrid is slower than instant at 60"]
    assert told["peers_not_installed"] == ["absent"]
