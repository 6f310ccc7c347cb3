"""Every command, with ids that are right, in two hands: the owner's of a book, and a stranger's on the same database.

`authority.toml` says on whose word a command acts. What the owner does leaves entries of that actor and nobody else's
row touched; the stranger, who knows every id, finds nothing and changes nothing but an own book. Bob's book is Alice's,
brought in: the same ids, so that a command that forgot its owner would be seen to hit hers.
"""

import io
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import DEEPER
from tests.contracts.contract_folders import shipped_lines
from tests.extensions.agents.deciding import WAIT
from tests.extensions.book.test_import_checks_fuzz import Rows
from tests.extensions.trading.traded import EVENTS, trade_lines
from tests.furnished import furnished

from keepbook import Keepbook

pytestmark = pytest.mark.both_engines  # each has guards of its own
Run = Any
WORD = {name: word for word, names in shipped_lines()["commands"].items() for name in names.split()}
HELD = "symbol,side,quantity,entry_time,entry_price"
THEN = "2026-10-20T09:00:00Z"

# As they are typed; {…} is an id or a file. In an order in which each finds what it needs.
OWN = """
list | show {memory} | recall tea | block | inject walked | history {memory} | as-of --known 2026-10-21 | ledger
recall-chats reed | timeline reed | export - | audit | verify | threads list | threads show {thread}
threads search reed | notes list | notes show {note} | proposals list
agent list | agent show {agent} | agent decisions {agent} | agent calibration
agent cards | run list | run due | run show {run} | trading skills | trading deployments | trading trades
trading performance --deployment {deployment} | trading events | trading lessons
agent create Walker --card drift-trade | agent create Seer --card forecast | agent create Sage --card forecast
 agent update {agent} --prompt Look
remember Walks_far | update {memory} Drinks_water | confirm {memory} | demote {memory} | promote {memory}
unlink {link} | link {memory} {other} | undo --last | forget {memory} | restore {memory} | delete {other}
configure --tier beginner | threads rename {thread} Sound | threads close {thread} | threads archive {thread}
threads delete {thread} | threads restore {thread} | threads out-of-view {thread}
notes write Walked | notes bookmark {thread} 2
notes edit {note} Rewritten | notes delete {note} | proposals accept {proposal} | proposals decline {second}
proposals reopen {second} | proposals answer {second} no
agent enable-memory {agent} | agent disable-memory {agent} | agent reset {agent} | agent disarm {agent}
agent arm {agent} | agent run Walker | agent record Walker {card} | agent bring-in Seer {forecasts}
agent check Seer --fail-if-worse Sage | run re-examine {run} | run resolve {open}
trading pin {lesson} | trading unpin {lesson} | trading retire {lesson} | trading restore {lesson}
trading reflect --deployment {deployment} | trading import skills {skills} | trading import deployments {deployments}
trading loads | trading undo {load} | trading import trades {trades} --deployment {deployment}
trading take-back {trade} --deployment {place} | trading split WALK 4:1 --on 2026-02-02
trading import positions {positions} --deployment {deployment}
trading import freqtrade {nothing} | extract {turns} --dry-run | chat | agent delete {agent} | quickstart | telegram
import {book} --merge | erase --confirm bob
"""
OPERATORS = """
backup {copy} | db upgrade | db check | db distribute | db repair-guards | db accept-clock
db mend {copy} --yes | reindex | jobs --once
token create --name walked | token list
token revoke {token} | people invite | people list | people end {invited}
trading import bars {bars} | trading import events {events} | embedder status
embedder install nonsense | doctor | serve --port 70000
"""
FAILING = (
    "telegram", "backup", "db distribute", "db mend", "embedder install", "serve", "proposals decline",
    "proposals reopen", "proposals answer", "run re-examine", "run resolve", "trading import freqtrade",
)  # fmt: skip
"""Which of them may end with a refusal here for a reason of their own: no bot, no file to copy, nothing open,
no cluster."""
FORECAST = {"question": "Did it rain?", "probability": 0.6, "made_at": "2025-01-01", "resolved_at": "2025-01-02"}
MARKET = {"batches", "bars", "former_bars", "market_events", "former_events", "event_symbols"}
SHARED = {*MARKET, "covers", "seals", "tokens", "identities", "leases", "page_sessions", "due"}
"""What an operator's command may touch that is no book: the market, keys and the links that cover them."""


def typed(lines: str, ids: dict[str, str]) -> Iterator[list[str]]:
    for line in lines.replace("\n", " | ").split("|"):
        if line.strip():
            yield [part.format_map(ids) for part in line.split()]


def named(words: list[str]) -> str:
    """The command that a line calls."""
    for count in (3, 2, 1):
        if (name := "-".join(words[:count])) in WORD:
            return name
    raise AssertionError(words)


def test_every_command_is_walked() -> None:
    ids: dict[str, str] = defaultdict(lambda: "x")
    walked = {named(words) for lines in (OWN, OPERATORS) for words in typed(lines, ids)}
    outside = {name for name, word in WORD.items() if word in ("agent", "nobody")}
    assert walked == set(WORD) - outside
    assert {name for name in map(named, typed(OWN, ids)) if WORD[name] != "person"} == set()
    assert {name for name in map(named, typed(OPERATORS, ids)) if WORD[name] != "operator"} == set()


class Walk:
    """A database with Alice's book, Bob's copy of it, and files to load."""

    def __init__(self, kb: Keepbook, clock: Any, folder: Path) -> None:
        clock.set(THEN)
        alice = furnished(kb)
        for one in filter(lambda one: one.schedule, alice.agents.list()):  # nobody here has a model
            alice.agents.update(one.id, card_type="drift-trade")
        del kb.__dict__["meaning"]
        out = io.StringIO()
        alice.export(out)
        bob = kb.book("bob")
        bob.import_(out.getvalue().split("\n")[:-1])
        extra = kb.tokens.create("bob", name="old")
        rows = [json.loads(line) for line in out.getvalue().split("\n")[:-1]]

        def of(kind: str, **like: Any) -> list[Any]:
            return [row for row in rows if row["kind"] == kind and all(row[name] == to for name, to in like.items())]

        told = {
            "card": json.dumps(WAIT), "turns": '{"role": "user", "text": "I live in Oslo"}\n',
            "nothing": "nothing", "forecasts": json.dumps(FORECAST | {"outcome": True}),
            "skills": "name\nWalked\n", "deployments": "name,skill\nWalked,Walked\n", "book": out.getvalue(),
            "trades": "\n".join(trade_lines()), "positions": f"{HELD}\nWALK,long,1,2026-01-05T10:00:00Z,3\n",
            "bars": "symbol,timeframe,time,open,high,low,close,volume\nWALK,1d,2026-01-01,1,1,1,1,1\n",
            "events": f"{EVENTS}\nwalk,cpi,*,2026-12-01T10:00:00Z,0.5,Walk\n",
        }  # fmt: skip
        self.ids = {name: str(folder / f"{name}.csv") for name in told} | {"copy": str(folder / "copy.db")}
        for name, text in told.items():
            Path(self.ids[name]).write_text(text)
        active = [row["id"] for row in of("memory", scope=None) if not (row["archived_at"] or row["purged_at"])]
        self.ids |= {
            "memory": active[0], "other": active[1], "link": of("link")[0]["id"], "thread": of("thread")[0]["id"],
            "note": of("note")[0]["id"], "proposal": of("proposal", status="waiting")[0]["id"],
            "second": of("proposal")[0]["id"], "agent": of("agent")[0]["id"], "token": extra.known.id,
            "invited": kb.identities.invite("bob").known.id,
            "run": of("run")[0]["id"], "open": (of("decision", state="open") or of("decision"))[0]["run_id"],
            "lesson": of("lesson")[0]["memory_id"], "deployment": of("deployment")[0]["id"],
            "load": str(max(row["nth"] for row in of("load", undone_at=None))),
            "trade": of("trade")[0]["key"], "place": of("trade")[0]["deployment_id"],
        }  # fmt: skip


@pytest.fixture
def walk(kb: Keepbook, clock: Any, tmp_path: Path) -> Walk:
    return Walk(kb, clock, tmp_path)


@pytest.fixture
def rows(kb: Keepbook, book_url: str) -> Iterator[Rows]:
    found = Rows(book_url)
    yield found
    found.close()


def test_the_owners_commands_act_on_their_word_and_on_their_book_alone(
    kb: Keepbook, run: Run, walk: Walk, rows: Rows
) -> None:
    before, wrong = rows.of(but="bob"), []
    for line in OWN.splitlines():
        for words in typed(line, walk.ids):
            last = kb.book("bob").ledger(limit=1)
            ran = run(*words, "--owner", "bob")
            if ran.code != 0 and not " ".join(words).startswith(FAILING):
                wrong.append((words, ran.code, ran.err))
            new = kb.book("bob").ledger(after=last[0].event if last else 0, limit=None)
            assert {entry.actor for entry in new} <= {"person", "extractor"}, (words, new)
        if DEEPER > 1:
            assert _others(rows, before) == before, line
    assert _others(rows, before) == before, "`make test-deep` says which line"
    assert not wrong, "\n".join(map(str, wrong))


def _others(rows: Rows, before: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """All but Bob's; with his book erased his keys open nothing any more, and are nobody's."""
    found = rows.of(but="bob")
    return found | {"tokens": [row for row in found["tokens"] if row in before["tokens"]]}


def test_a_stranger_who_knows_every_id_changes_nobodys_book(kb: Keepbook, run: Run, walk: Walk, rows: Rows) -> None:
    before, wrong = rows.of(but="carol"), []
    known = set(walk.ids.values())
    for line in OWN.splitlines():
        for words in typed(line, walk.ids):
            ran = run(*words, "--owner", "carol")
            ids = {word for word in words if word in known and not word.startswith("/")}
            if ran.code == 0 and ids:
                wrong.append((words, ran.out))
            assert "green tea" not in ran.out + ran.err, words
        if DEEPER > 1:
            assert rows.of(but="carol") == before, line
    assert rows.of(but="carol") == before, "`make test-deep` says which line"
    assert wrong == []


def test_the_operators_commands_write_in_nobodys_book(kb: Keepbook, run: Run, walk: Walk, rows: Rows) -> None:
    def books() -> dict[str, list[Any]]:
        return {name: found for name, found in rows.of().items() if name not in SHARED}

    before = books()
    for words in typed(OPERATORS, walk.ids):
        ran = run(*words, "--owner", "bob")
        assert ran.code == 0 or " ".join(words).startswith(FAILING), (words, ran.code, ran.err)
        if words[0] != "jobs":  # what the sweep does, it does for each owner on the jobs' word
            assert books() == before, words
        before = books()
    assert {entry.actor for entry in kb.book("bob").ledger(limit=None)} <= {"person", "job"}
