"""The adapter that starts another program: what it is started with, and every way in which that can go wrong."""

import asyncio
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.models.house import House

from keepbook.book.owners.authority import Actor
from keepbook.errors import Invalid, NotAllowed
from keepbook.extensions.agents.models.claude_cli import _absolute_db

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    return build("claude-cli")


def program(house: House, body: str, **told: Any) -> House:
    """The same house with a command of this body."""
    file = house.folder / "program.py"
    file.write_text(body)
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}"
    changed = house.kb.settings.but(agent_command=command, **told)
    house.kb.settings = changed
    return house


def test_it_is_started_with_its_own_tools_and_nothing_that_others_could_read(house: House) -> None:
    agent = house.agent(model="opus", instructions="Be brief.", use_block=True)
    house.book.remember("Has a secret plan", category="fact")
    house.answers("ok")
    house.run("The prompt itself.")
    (sent,) = house.sent
    flags = sent.told["flags"]
    assert flags[:3] == ["--print", "--output-format", "json"]
    assert "--model=opus" in flags
    assert not [flag for flag in flags if flag.startswith("--resume")]
    assert not [flag for flag in flags if "secret plan" in flag or "prompt itself" in flag]
    assert "Has a secret plan" in sent.system
    server = sent.told["mcp"]["mcpServers"]["keepbook"]
    assert server["args"][-4:] == ["--owner", "alice", "--agent", agent.id]
    assert Path(server["env"]["KEEPBOOK_DB"]).is_absolute()
    assert not Path(flags[flags.index("--mcp-config") + 1]).exists()
    assert (house.folder / "agents" / agent.id).stat().st_mode & 0o077 == 0


def test_the_config_really_opens_the_agents_tools(house: House) -> None:
    """What stands in it is started and asked, as the command would."""
    agent = house.agent()
    house.answers("ok")
    ran = house.run("Go.")
    server = house.sent[0].told["mcp"]["mcpServers"]["keepbook"]

    async def names(*more: str) -> list[str]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        environment = {
            name: os.environ[name] for name in os.environ if name.startswith(("KEEPBOOK_", "PYTHON", "HOME"))
        }
        source = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
        started = StdioServerParameters(
            command=server["command"], args=[*server["args"], *more], env=environment | source | server["env"]
        )
        async with Client(stdio_client(started)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            if "get_my_decisions" in tools:
                called = await client.call_tool("get_my_decisions", {})
                assert [one["run_id"] for one in called.structured_content["decisions"]] == [ran.id]
            return tools

    assert asyncio.run(names()) == ["get_my_decisions", "get_calibration", "get_bars"]
    assert asyncio.run(names("--blind")) == ["get_bars"]
    assert agent.id in server["args"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('plain words')", "did not answer in JSON"),
        ("print('[]')", "did not answer with one JSON object"),
        ('print(\'{"result": "x"}\')', "did not say which session"),
        ('print(\'{"session_id": "s"}\')', "gave an empty answer"),
        ('print(\'{"is_error": true, "result": "credit is low", "session_id": "s"}\')', "credit is low"),
        ("import sys; print('no such flag', file=sys.stderr); sys.exit(2)", "ended with 2: no such flag"),
        ("import os; os.kill(os.getpid(), 9)", "ended with -9"),
    ],
)
def test_what_is_no_answer_fails_the_run_and_says_why(house: House, body: str, why: str) -> None:
    program(house, body).agent(memory_enabled=True)
    run = house.run("Go.")
    assert run.status == "failed"
    assert why in str(run.error)
    assert house.memory.status == "fresh"


def test_a_program_that_never_ends_is_ended_with_all_that_it_started(house: House) -> None:
    body = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(house.folder / "pids")!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    program(house, body, agent_timeout=2.0).agent()
    run = house.run("Go.")
    assert "did not answer within 2 s" in str(run.error)
    child = int((house.folder / "pids").read_text())
    end = time.monotonic() + 10
    while _lives(child):
        assert time.monotonic() < end, "what it started lives on"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_run_that_is_stopped_fails_and_gives_its_turn_back(house: House) -> None:
    program(house, "import time; time.sleep(60)").agent(memory_enabled=True)

    async def stopped() -> None:
        runner = house.kb.runner(house.book)
        task = asyncio.create_task(runner.run("Desk", "Go."))
        while not house.book.runs.list(status="running"):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    (run,) = house.book.runs.list()
    assert (run.status, run.error) == ("failed", "it was stopped before it was done")
    assert house.book.agents.claim(run.agent_id, lease_seconds=5) is not None


def test_a_whole_course_ends_in_its_result(house: House) -> None:
    told = [{"type": "system"}, {"type": "result", "result": "done", "session_id": "s1", "usage": {"output_tokens": 3}}]
    program(house, f"print({json.dumps(json.dumps(told))})").agent(memory_enabled=True)
    run = house.run("Go.")
    assert (run.status, run.session_after, run.tokens_out) == ("succeeded", "s1", 3)


def test_a_command_that_cannot_be_read_is_refused(house: House) -> None:
    house.agent()
    for command in ("", "claude 'half"):
        house.kb.settings = house.kb.settings.but(agent_command=command)
        with pytest.raises(Invalid, match="agent_command"):
            house.run("Go.")


def test_the_place_of_the_book_holds_from_any_folder(engine_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert _absolute_db("a/book.db") == "/a/book.db"
    assert _absolute_db("sqlite:///a/book.db") == "/a/book.db"
    assert _absolute_db("postgresql://x/y") == "postgresql://x/y"
    assert _absolute_db(":memory:") == ":memory:"


# What may be started, and for whom


def test_no_program_starts_that_the_operator_has_not_named(house: House) -> None:
    for programs in ((), ("claude",), (str(Path(sys.executable).parent),)):
        house.kb.settings = house.kb.settings.but(agent_programs=programs)
        agent = house.agent(f"Desk {len(house.book.agents.list())}")
        with pytest.raises(NotAllowed) as refused:
            house.run(agent=agent.id)
        assert refused.value.code == "programs"
    assert house.sent == []


def test_an_agent_that_is_not_armed_starts_nothing(house: House, clock: Any) -> None:
    agent = house.agent(schedule="* * * * *")
    assert agent.armed
    house.book.agents.disarm(agent.id)
    with pytest.raises(NotAllowed, match="keepbook agent arm"):
        house.run()
    clock.forward(days=1)
    assert house.kb.sweep().done.get("run") is None
    assert house.sent == []
    house.answers("ok", "ok")
    house.book.agents.arm(agent.id)
    assert house.kb.sweep().done.get("run") is None, "what was due while it rested is not caught up"
    clock.forward(days=1)
    assert house.kb.sweep().done["run"] == 1
    assert len(house.sent) == 1


def test_a_person_without_admin_sets_up_a_program_and_does_not_start_it(house: House) -> None:
    weaker = house.kb.book("alice", hand=Actor("person", frozenset(("read", "write"))))
    agent = weaker.agents.create("Desk", adapter="claude-cli")
    assert not agent.armed
    with pytest.raises(NotAllowed):
        weaker.agents.arm(agent.id)
    with pytest.raises(NotAllowed) as refused:
        house.kb.runner(weaker).queue(agent.id)
    assert refused.value.code == "scope"
    assert house.book.agents.arm(agent.id).armed
    assert not weaker.agents.update(agent.id, instructions="Something else").armed


@pytest.mark.parametrize("kind", ["agent", "service", "host", "visitor"])
def test_nobody_but_the_person_starts_a_program(house: House, kind: str) -> None:
    agent = house.agent()
    book = house.kb.book("alice", hand=Actor(kind))
    with pytest.raises(NotAllowed) as refused:
        house.kb.runner(book).queue(agent.id)
    assert refused.value.code == "programs"
    assert house.sent == []


def test_a_program_sees_what_it_needs_and_what_is_listed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator")
    monkeypatch.setenv("KEEPBOOK_OPENAI_KEY", "sk-operator")
    monkeypatch.setenv("DESK_LAMP", "on")
    body = "import json, os; print(json.dumps({'result': json.dumps(dict(os.environ)), 'session_id': 's-1'}))"
    program(house, body, agent_env=("DESK_LAMP",)).agent()
    seen = json.loads(house.book.runs.transcript(house.run().id)[-1].text)
    assert "sk-operator" not in seen.values()
    assert not [name for name in seen if name.startswith("KEEPBOOK_")]
    assert seen["DESK_LAMP"] == "on"
    assert {"HOME", "PATH"} <= set(seen)


def test_a_program_that_says_too_much_is_not_listened_to(house: House) -> None:
    program(house, "print('x' * 3_000_000)", agent_output_bytes=10_000).agent()
    ran = house.run()
    assert "10,000 bytes" in str(ran.error)


def test_a_session_that_is_an_option_is_not_passed_on(house: House) -> None:
    told = {"result": "ok", "session_id": "--dangerously-skip-permissions"}
    program(house, f"print({json.dumps(json.dumps(told))})").agent(memory_enabled=True)
    assert house.run().status == "succeeded"
    assert "no session is called" in str(house.run().error)


def test_folders_that_a_run_makes_are_the_persons_alone(house: House, tmp_path: Path) -> None:
    home = tmp_path / "fresh" / ".keepbook"
    house.kb.settings = house.kb.settings.but(agent_folder=home / "agents")
    agent = house.agent()
    house.answers("ok")
    house.run()
    for folder in (home, home / "agents", home / "agents" / agent.id):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
