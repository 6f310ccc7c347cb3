"""The coach with the offline model: questions about trading find the right tool and the right figures, and no others.

A whole chat as people have it (`kb.talk`), over a market that was made up once: what is said is held against what the
engine computes, and every call against the tool that should have been asked.
"""

import asyncio
from typing import Any

import pytest
from tests.conftest import Clock
from tests.extensions.trading.desks import DESKS, SCALPER, learn, market, traded, world

from keepbook import Book, Keepbook
from keepbook.demo.market import StrategyDesk, position_lines
from keepbook.extensions.trading.tools import TOOLS
from keepbook.models.model import TextDelta, ToolCalled
from keepbook.models.offline.model import OfflineModel

WORLD = world()
BTC, ETH = (desk.name for desk in DESKS)
LONE = (StrategyDesk("BTC scalper main", SCALPER, 10_000.0, ("BTC/USDT",)),)


class Coach:
    """A chat with the coach; `tell` is a turn, `calls` what the last reply asked of which tool."""

    def __init__(self, kb: Keepbook, book: Book, **told: Any) -> None:
        self.book = book
        self._kb = kb
        self.chat = book.threads.start(preset="coach", **told)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def tell(self, text: str) -> str:
        async def heard() -> str:
            said, self.calls = "", []
            async for event in self._kb.talk(self.chat).say(text):
                if isinstance(event, ToolCalled):
                    self.calls.append((event.call.name, dict(event.call.arguments)))
                elif isinstance(event, TextDelta):
                    said += event.text
            return said

        return asyncio.run(heard())

    @property
    def tools_asked(self) -> list[str]:
        """The tools that were called; what the notebook wrote by itself is none."""
        return [name for name, _ in self.calls if name != "order"]

    def asked(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.calls if called == name]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Keepbook(tmp_path_factory.mktemp("coach") / "book.db", clock=Clock()) as kb:
        market(kb, WORLD)
        traded(kb.book("alice"), WORLD)
        learn(kb.book("alice"))
        yield kb


@pytest.fixture
def coach(shelf: Keepbook) -> Coach:
    """Alice's, who has two skills with an open position each; nothing here writes but what a test says."""
    return Coach(shelf, shelf.book("alice"))


@pytest.fixture
def alice(shelf: Keepbook) -> Any:
    return shelf.book("alice").trading


def money(value: float) -> str:
    return f"{value:+,.2f} USDT".replace("-", "−")


def share(value: float) -> str:
    return f"{100 * value:+.2f} %".replace("-", "−")


# --- results


@pytest.mark.parametrize(
    "question",
    [
        "how is my BTC scalper doing this week?",
        "How's the scalper doing this week",
        "how did my bitcoin scalper do this week?",
        "Hey, how has the BTC scalper been performing this week?",
        "what are the results of the BTC scalper this week?",
        "show me the pnl of my BTC scalper this week",
        "how much did the BTC scalper make this week?",
        "is my BTC scalper making money this week?",
        "HOW IS MY BTC SCALPER DOING THIS WEEK",
    ],
)
def test_how_a_skill_does_this_week_is_told_with_its_trades(coach: Coach, alice: Any, question: str) -> None:
    said = coach.tell(question)
    skill = alice.skill("BTC scalper")
    assert coach.asked("get_skill_performance") == [{"skill_id": skill.id, "detail": "trades"}]
    whole = alice.performance(skill=skill.id)
    week = whole.periods["this_week"]
    assert week.trades > 5
    assert (
        f"this week: closed trades {week.trades}, won {week.wins}, net {money(week.pnl)} ({share(week.return_pct)})"
        in said
    )
    assert f"closed trades {whole.trades}, won {whole.wins}" in said
    assert f"net {money(whole.pnl)} ({share(whole.return_pct)}) after fees" in said
    assert "Open now: BTC/USDT long" in said


@pytest.mark.parametrize(
    ("question", "name", "figure"),
    [
        ("what is the win rate of the ETH swing?", "ETH swing", "win_rate"),
        ("win rate of my BTC scalper?", "BTC scalper", "win_rate"),
        ("what's my max drawdown on the BTC scalper?", "BTC scalper", "max_drawdown_pct"),
        ("how deep is the drawdown of the ETH swing?", "ETH swing", "max_drawdown_pct"),
        ("what's the sharpe of my ETH swing?", "ETH swing", "sharpe"),
        ("show me the profit factor of the BTC scalper", "BTC scalper", "profit_factor"),
        ("what was the worst trade of the BTC scalper?", "BTC scalper", "worst"),
        ("what's my biggest losing trade on ETH swing?", "ETH swing", "worst"),
        ("what was the biggest winning trade of the ETH swing?", "ETH swing", "best"),
        ("which was the best trade of my ETH swing?", "ETH swing", "best"),
        ("what's the expectancy of the ETH swing?", "ETH swing", "expectancy"),
    ],
)
def test_a_figure_that_is_asked_for_is_told(coach: Coach, alice: Any, question: str, name: str, figure: str) -> None:
    said = coach.tell(question)
    assert [one["skill_id"] for one in coach.asked("get_skill_performance")] == [alice.skill(name).id]
    value = getattr(alice.performance(skill=name), figure)
    shown = f"{100 * value:.2f} %" if figure in ("win_rate", "max_drawdown_pct") else f"{abs(value):,.2f}"
    assert name in said
    assert shown in said


def test_the_worst_trade_is_named_where_it_is_among_the_last(coach: Coach, alice: Any) -> None:
    said = coach.tell("what was the worst trade of the BTC scalper?")
    worst = min(alice.trades(skill="BTC scalper", limit=30), key=lambda one: one.pnl)
    assert worst.pnl == alice.performance(skill="BTC scalper").worst
    assert f"{worst.entry_price:.10g} → {worst.exit_price:.10g}" in said


def test_without_a_name_everything_is_told(coach: Coach, alice: Any) -> None:
    said = coach.tell("how am I doing this week?")
    for deployment in alice.deployments():
        week = alice.performance(deployment=deployment.id).periods["this_week"]
        assert (
            f"{deployment.name} this week: closed trades {week.trades}, won {week.wins}, net {money(week.pnl)}" in said
        )


def test_a_deployment_can_be_named_too(coach: Coach, alice: Any) -> None:
    said = coach.tell("how is the ETH swing paper doing?")
    assert "ETH swing" in said
    said = coach.tell("how's the paper desk doing?")
    assert coach.asked("get_my_deployments") == [
        {"deployment_id": alice.deployment("ETH swing paper").id, "detail": "trades"}
    ]
    assert money(alice.performance(deployment="ETH swing paper").pnl) in said


@pytest.mark.parametrize("question", ["how's scalper main going?", "How is BTC scalper main doing?"])
def test_a_name_is_enough_without_saying_whose_it_is(coach: Coach, alice: Any, question: str) -> None:
    said = coach.tell(question)
    assert money(alice.performance(deployment=BTC).pnl) in said
    assert "ETH" not in said


@pytest.mark.parametrize("question", ["list my deployments", "which deployments do I have?"])
def test_deployments_are_listed_with_their_results(coach: Coach, alice: Any, question: str) -> None:
    said = coach.tell(question).splitlines()
    assert coach.asked("get_my_deployments") == [{}]
    assert len(said) == len(DESKS)
    for line, name in zip(said, (BTC, ETH), strict=True):
        assert line.startswith(f"{name}: closed trades ")
        assert money(alice.performance(deployment=name).pnl) in line


def test_of_a_single_day_there_are_no_figures_and_that_is_said(coach: Coach, alice: Any) -> None:
    first, *said = coach.tell("How did we do yesterday?").splitlines()
    assert "this week, the last 7 and the last 30 days" in first
    for line, name in zip(said, (BTC, ETH), strict=True):
        days = alice.performance(deployment=name).periods["last_7_days"]
        assert line.startswith(f"{name} in the last 7 days: closed trades {days.trades}, won {days.wins}")


def test_a_name_that_no_skill_has_is_said_to_be_none(coach: Coach) -> None:
    for question in ("how is my XRP scalper doing?", "how is my momentum strategy doing?"):
        said = coach.tell(question)
        assert said == "None of your skills fits that. There is: BTC scalper, ETH swing."
        assert coach.asked("get_skill_performance") == []


def test_where_several_fit_they_are_named_and_the_answer_is_understood(kb: Keepbook) -> None:
    book = kb.book("bob")
    traded(book, WORLD, LONE)
    book.trading.create_skill("ETH scalper")
    coach = Coach(kb, book)
    said = coach.tell("how is my scalper doing?")
    assert said == "Several of your skills fit: BTC scalper, ETH scalper. Which one do you mean?"
    assert coach.asked("get_skill_performance") == []
    said = coach.tell("the BTC one")
    assert coach.asked("get_skill_performance") == [{"skill_id": book.trading.skill("BTC").id, "detail": "trades"}]
    assert money(book.trading.performance(skill="BTC scalper").pnl) in said


@pytest.mark.parametrize(
    "question",
    [
        "how is my BTC scalper doing this week?",
        "what did we learn from the last losses?",
        "list my skills",
        "what's my win rate?",
        "draft closing my ETH position",
    ],
)
def test_without_skills_that_is_said(kb: Keepbook, question: str) -> None:
    coach = Coach(kb, kb.book("carol"))
    assert coach.tell(question).startswith("There are no skills in your book yet")
    assert coach.book.ledger() == []


# --- lessons


@pytest.mark.parametrize(
    "question",
    [
        "what did we learn from the last losses?",
        "What have we learned from the losses?",
        "any lessons from the BTC scalper?",
        "why does the BTC scalper keep losing?",
        "what went wrong with the BTC scalper?",
        "which lessons do I have?",
    ],
)
def test_what_was_learned_is_told_in_the_words_of_the_lessons(coach: Coach, alice: Any, question: str) -> None:
    said = coach.tell(question)
    asked = coach.asked("get_skill_performance")
    assert {one["detail"] for one in asked} == {"lessons"}
    assert alice.skill("BTC scalper").id in {one["skill_id"] for one in asked}
    lost, paid = (
        [one.text for one in alice.lessons(skill="BTC scalper") if (one.mean_pct < 0) is below]
        for below in (True, False)
    )
    assert lost
    assert paid
    assert all(text in said for text in lost)
    about_losses = any(word in question for word in ("loss", "losing", "wrong"))
    assert [text in said for text in paid] == [not about_losses] * len(paid)


def test_where_nothing_was_learned_from_losses_that_is_said(kb: Keepbook) -> None:
    book = kb.book("hanna")
    traded(book, WORLD, LONE)
    learn(book)
    for lesson in book.trading.lessons(skill="BTC scalper"):
        if lesson.mean_pct < 0:
            book.trading.retire(lesson.id)
    assert book.trading.lessons(skill="BTC scalper")
    said = Coach(kb, book).tell("what did we learn from the last losses?")
    assert said == "The trades of BTC scalper support no lesson about losses so far."


def test_lessons_that_read_alike_say_where_they_are_from(kb: Keepbook) -> None:
    book = kb.book("ines")
    traded(book, WORLD, LONE)
    coach = Coach(kb, book)
    learn(book)
    assert f"({BTC})" not in coach.tell("which lessons do I have?")
    book.trading.reflect(deployment=BTC)
    said = coach.tell("which lessons do I have?").splitlines()
    texts = {lesson.text for lesson in book.trading.lessons(deployment=BTC)}
    assert texts
    assert all(f"- {text}" in said and f"- {text} ({BTC})" in said for text in texts)


def test_where_the_trades_teach_nothing_that_is_said(coach: Coach) -> None:
    said = coach.tell("what did we learn from the ETH swing?")
    assert "The trades of ETH swing support no lesson so far." in said


# --- what is coming


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("what is coming up and how exposed am I?", 24),
        ("What's coming up, and how exposed are we?", 24),
        ("how exposed am I?", 24),
        ("what's my exposure to upcoming events?", 24),
        ("could anything on the calendar hurt my positions?", 24),
        ("what is coming up in the next days and how exposed am I?", 72),
        ("any events this week that could move my positions?", 72),
        ("what's ahead in the next 48 hours?", 48),
        ("what's coming up tomorrow?", 48),
        ("anything coming up in the next 2 days?", 48),
    ],
)
def test_what_is_coming_is_told_with_every_open_position(coach: Coach, alice: Any, question: str, hours: int) -> None:
    said = coach.tell(question)
    ids = [deployment.id for deployment in alice.deployments()]
    expected = [{"lookahead_hours": hours, "deployment_id": id} for id in ids]
    assert coach.asked("get_upcoming_events") == expected
    for id in ids:
        found = alice.events(lookahead_hours=hours, deployment=id)
        assert found.your_exposure
        for row in found.your_exposure:
            assert f"{row.symbol} {row.position_side}, {row.notional_usd:,.2f} USD" in said
            assert f"median move was {100 * row.median_abs_move_pct:.2f} %" in said
            assert f"the worst for you {share(row.worst_move_pct)}" in said
        assert all(event.title in said for event in found.events)


def test_asked_about_one_symbol_only_that_is_told(coach: Coach, alice: Any) -> None:
    said = coach.tell("anything on the calendar that could hit my ETH position?")
    (asked,) = coach.asked("get_upcoming_events")
    assert (asked["symbols"], asked["deployment_id"]) == (["ETH"], alice.deployment("ETH swing paper").id)
    assert "BTC/USDT" not in said


def test_of_a_deployment_with_several_symbols_only_the_asked_one_is_told(kb: Keepbook) -> None:
    market(kb, WORLD)
    book = kb.book("jana")
    traded(book, WORLD, LONE)
    assert book.trading.load("positions", [line.replace(ETH, BTC) for line in position_lines(WORLD, DESKS)]).wrong == 0
    held = {one.symbol for one in book.trading.positions()}
    assert len(held) == 2
    for one in ("BTC/USDT", "ETH/USDT"):
        said = Coach(kb, book).tell(f"what events are coming for {one.split('/')[0]}?")
        assert (f": {one} " in said) is (one in held)
        assert all(f": {other} " not in said for other in held - {one})


def test_a_symbol_that_is_not_held_is_not_exposed(coach: Coach) -> None:
    said = coach.tell("what events are coming for SOL?")
    assert coach.asked("get_upcoming_events") == [{"lookahead_hours": 24, "symbols": ["SOL"]}]
    assert "You have no open position in SOL." in said
    assert "/USDT" not in said


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Is CPI coming up?", ["cpi"]),
        ("how exposed am I to CPI?", ["cpi"]),
        ("how exposed am I to the FOMC meeting?", ["fomc"]),
        ("when is the next NFP?", ["nfp"]),
        ("is there a halving coming up?", ["halving"]),
    ],
)
def test_a_kind_of_event_that_is_not_coming_is_said_not_to_be(coach: Coach, question: str, kinds: list[str]) -> None:
    said = coach.tell(question)
    assert [one["types"] for one in coach.asked("get_upcoming_events")] == [kinds] * len(DESKS)
    assert said.startswith(f"{kinds[0].upper()}: No event of note is known for the next 72 hours.")


def test_a_kind_of_event_that_is_coming_is_told_alone(coach: Coach, alice: Any) -> None:
    said = coach.tell("how exposed am I to the jobs report in the next 72 hours?")
    assert [row["types"] for row in coach.asked("get_upcoming_events")] == [["nfp", "jobs"]] * len(DESKS)
    titles = {one.title: one.kind for one in alice.events(lookahead_hours=72).events}
    assert {title for title in titles if title in said} == {title for title, kind in titles.items() if kind == "jobs"}
    assert len(titles) > 1


@pytest.mark.parametrize(
    "question", ["what is coming up in the next 100 hours?", "next 100 hours", "what's ahead in the next 2 weeks?"]
)
def test_no_further_than_can_be_seen_and_that_is_said(coach: Coach, question: str) -> None:
    said = coach.tell(question)
    assert {one["lookahead_hours"] for one in coach.asked("get_upcoming_events")} == {72}
    assert said.startswith("72 hours is as far as I look ahead.")
    assert "as far as" not in coach.tell("what is coming up in the next 72 hours?")


def test_with_nothing_open_nothing_is_exposed(kb: Keepbook) -> None:
    market(kb, WORLD)
    book = kb.book("dora")
    book.trading.create_deployment("Idle main", book.trading.create_skill("Idle").id)
    coach = Coach(kb, book)
    said = coach.tell("what is coming up and how exposed am I?")
    assert coach.asked("get_upcoming_events") == [{"lookahead_hours": 24}]
    assert "Jobs report" in said
    assert "no open position" in said


# --- what there is, and drafts


@pytest.mark.parametrize(
    "question",
    [
        "list my skills",
        "what strategies do I have?",
        "show me my strategies",
        "which skills do I run?",
        "what skills are there?",
    ],
)
def test_skills_are_listed(coach: Coach, question: str) -> None:
    said = coach.tell(question)
    assert coach.calls == [("list_my_skills", {})]
    assert "- BTC scalper: Follows moves of 8 bars (BTC scalper main)" in said
    assert "- ETH swing" in said


@pytest.mark.parametrize(
    "question",
    [
        "what are my open positions?",
        "what do I hold right now?",
        "show me my positions",
        "what am I holding over the weekend?",
    ],
)
def test_what_is_open_is_listed(coach: Coach, alice: Any, question: str) -> None:
    said = coach.tell(question)
    assert coach.calls == [("get_my_deployments", {})]
    assert all(f"{one.symbol} {one.side} {one.quantity:.10g}" in said for one in alice.positions())


@pytest.mark.parametrize(
    ("order", "kind", "deployment", "more"),
    [
        ("draft closing my ETH position", "close", ETH, {"symbol": "ETH/USDT"}),
        ("prepare to close my ETH short because rates are due", "close", ETH, {"reason": "Rates are due."}),
        ("close my BTC position", "close", BTC, {"symbol": "BTC/USDT"}),
        ("reduce my BTC long by half", "reduce", BTC, {"symbol": "BTC/USDT", "details": "by half"}),
        ("draft closing half of my ETH position", "reduce", ETH, {"symbol": "ETH/USDT", "details": "half"}),
        ("pause the BTC scalper", "pause", BTC, {}),
        ("please pause the ETH swing", "pause", ETH, {}),
        ("could you please pause ETH swing paper until Monday?", "pause", ETH, {}),
        ("can you draft pausing the ETH swing before the fork?", "pause", ETH, {"reason": "Before the fork."}),
        ("draft changing the BTC scalper to a stop of 2 %", "change", BTC, {}),
    ],
)
def test_an_order_becomes_a_draft_and_nothing_else(
    coach: Coach, alice: Any, order: str, kind: str, deployment: str, more: dict[str, str]
) -> None:
    before = (alice.positions(), alice.deployments(), coach.book.ledger(limit=1000))
    said = coach.tell(order)
    (asked,) = coach.asked("prepare_action")
    assert (asked["kind"], asked["deployment_id"]) == (kind, alice.deployment(deployment).id)
    assert {name: asked[name] for name in more} == more
    assert "nothing was carried out" in said
    assert deployment in said
    assert (alice.positions(), alice.deployments(), coach.book.ledger(limit=1000)) == before


@pytest.mark.parametrize("order", ["close my XRP position", "reduce my ETH long by half"])
def test_what_is_not_open_cannot_be_closed(coach: Coach, order: str) -> None:
    said = coach.tell(order)
    assert "no open position" in said
    assert coach.asked("prepare_action") == []


# --- ordinary chat is as it was


@pytest.mark.parametrize(
    "told",
    [
        "I trade BTC in the mornings",
        "I never risk more than 1 % per trade",
        "My BTC scalper loses money on Mondays",
        "I want to pause trading in August",
    ],
)
def test_what_a_person_says_of_themselves_is_no_question(coach: Coach, told: str) -> None:
    coach.tell(told)
    assert coach.tools_asked == []


@pytest.mark.parametrize(
    "question",
    [
        "what's coming up for dinner?",
        "what did we learn in school about Rome?",
        "What is a Sharpe ratio?",
        "How do I compute the win rate?",
        "explain the profit factor",
        "how's it going?",
        "stop saying that",
    ],
)
def test_what_only_sounds_like_trading_asks_no_tool(coach: Coach, question: str) -> None:
    coach.tell(question)
    assert coach.calls == []


@pytest.mark.parametrize("text", ["how is John doing?", "stop the music", "plan moving house"])
def test_what_has_no_name_of_ours_is_ordinary_chat(kb: Keepbook, text: str) -> None:
    book = kb.book("kim")
    traded(book, WORLD, LONE)
    coach = Coach(kb, book)
    said = coach.tell(text)
    assert coach.asked("prepare_action") == coach.asked("get_skill_performance") == []
    assert "BTC" not in said


def test_a_fact_about_trading_is_kept_in_the_persons_own_words_when_it_is_said(kb: Keepbook) -> None:
    book = kb.book("erik")
    traded(book, WORLD, LONE)
    coach = Coach(kb, book)
    assert coach.tell("remember that I live in Oslo").startswith("Understood.")
    assert coach.calls == [("order", {})]
    coach.tell("I never risk more than 1 % per trade")
    kept = [(memory.content, memory.quoted, memory.source) for memory in book.list()]
    own = "I never risk more than 1 % per trade"
    assert kept == [("I live in Oslo", True, "chat"), (own, True, "extracted")]
    assert coach.chat.close().written == ()
    assert len(book.list()) == 2


@pytest.mark.parametrize(
    "question",
    [
        "what do you know about me?",
        "what have you learned about me?",
        "what did I say about my BTC scalper?",
        "what is my max drawdown limit?",
        "how much do I risk per trade?",
        "do you remember my goals?",
        "hello",
        "how are you?",
        "thanks",
        "forget my BTC rule",
    ],
)
def test_what_is_asked_of_the_memory_goes_to_the_memory(coach: Coach, question: str) -> None:
    coach.tell(question)
    assert coach.tools_asked == []


def test_a_question_that_only_sounds_alike_is_answered_from_the_book(kb: Keepbook) -> None:
    book = kb.book("fred")
    traded(book, WORLD, LONE)
    book.under(book.preset("coach")).remember("Dog is called Bo")
    coach = Coach(kb, book)
    said = coach.tell("how is my dog doing?")
    assert "Dog is called Bo" in said
    assert coach.asked("get_skill_performance") == coach.asked("get_my_deployments") == []


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("Wie läuft mein BTC scalper diese Woche?", "get_skill_performance"),
        ("¿Qué estrategias tengo?", "list_my_skills"),
        ("Hva kommer og hvor eksponert er jeg?", "get_upcoming_events"),
        ("Was haben wir aus den Verlusten gelernt?", "get_skill_performance"),
    ],
)
def test_other_languages_have_the_basics(coach: Coach, question: str, tool: str) -> None:
    said = coach.tell(question)
    assert coach.asked(tool)
    assert said


def test_in_authoring_the_writers_are_among_the_tools_of_the_chat(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = kb.book("gina")
    seen: list[list[str]] = []
    reply = OfflineModel.reply

    def watched(self: Any, conversation: Any, tools: Any) -> Any:
        seen.append([schema["function"]["name"] for schema in tools.schemas("openai")])
        return reply(self, conversation, tools)

    monkeypatch.setattr(OfflineModel, "reply", watched)
    Coach(kb, book).tell("hello")
    Coach(kb, book, mode="authoring").tell("hello")
    assert set(seen[1]) - set(seen[0]) == {function.__name__ for function, may in TOOLS if not may.read_only}


def test_both_desks_are_at_work(alice: Any) -> None:
    """What the questions above rest on."""
    assert [one.name for one in alice.deployments()] == [desk.name for desk in DESKS]
    assert len(alice.positions()) == 2
