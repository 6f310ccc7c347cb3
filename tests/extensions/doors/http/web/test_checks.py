"""Every page held against the visual language: names, contrast, targets, focus, widths; and against axe-core.

A page is added to `PAGES` with its address and what to press before looking. `{chat}` and `{memory}` are of `lived`.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page
from starlette.responses import Response
from tests.conftest import DEEPER, Clock, nobodys, prepared_on
from tests.doors.http.web.conftest import SAME_EVERYWHERE, serving, settled_as_alice, talking
from tests.doors.http.web.registry import WIDE, axe_script, wide_fonts
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, WAIT, busy_desk, ran
from tests.extensions.trading.traded import exposed, taught, traded

from keepbook.book.upkeep import chat_reading
from keepbook.doors.http.web.frame.assets import FOLDER

WIDTHS = (1440, 820, 390, 360)
PHONE, NARROWEST = WIDTHS[-2:]
"""The two have the same colours, names and headings, and only the room is another."""
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
WORDS = (Path(__file__).parent / "words.js").read_text(encoding="utf-8")
AVOIDED = (
    r"entr(y|ies) №|extract(ed|ion|s)?|entit(y|ies)|asserted|inferred|notebook|offline|OpenAI-compatible|"
    r"valid (from|until)|in pencil|in ink|second looks?|conviction|deployments?|bars|are you sure"
)
"""Words that people stumbled over: a page says them more plainly."""
FIGURES = r"ledger|categor(y|ies)|sources?|scores?|tokens?|UTC|proposals?|proposed|noted"
"""Words that only a page of figures and agents may say."""
TECHNICAL = ("api", "settings", "erase", "a model", "first steps")
"""Pages that say what is meant by its exact name."""
LAST_PLAIN = "a chat from elsewhere"
"""Behind it come the pages of extensions."""


class Shown(NamedTuple):
    path: str
    press: tuple[str, ...] = ()
    """What is pressed first, if it is there to be pressed at this width."""
    file: str = ""
    """What is chosen first, and looked at."""


TO_BRING_IN = json.dumps(
    [
        {"id": str(nth), "memory": text, "user_id": who, "created_at": "2026-03-01T08:00:00Z"}
        for nth, (text, who) in enumerate(
            [("Is allergic to peanuts", "ines"), ("Is allergic to peanuts.", "ines"), ("Looks for work", "jonas")]
            + [("The card is 4111 1111 1111 1111", "ines")]
            + [(f"Has visited the place number {nth} on the way from Vienna to Trieste", "ines") for nth in range(210)]
        )
    ]
)
"""New lines on two pages, one twice, one refused, and two people."""
TO_TRADE = """when,coin,way,how many,in,out,gain,remark
2026-03-01 10:00,BTC/USDT,long,0.5,60000,61000,500,first
2026-03-02 10:00,ETH/USDT,short,1,3000,3100,-100,second
"""

PAGES = {
    "new chat": Shown("/chat"),
    "incognito": Shown("/chat?incognito=1"),
    "chat": Shown("/chat/{chat}"),
    "chat, with questions": Shown("/chat/{asked}"),
    "chat, what its tools wrote": Shown("/chat/{chat}"),
    "chat, a message edited": Shown("/chat/{chat}", (".edit > summary", ".attach > summary")),
    "chat menu": Shown("/chat/{chat}", (".chat-head [data-manage]",)),
    "drawer": Shown("/chat", ("[aria-label='Open menu']", "#chats [data-manage]")),
    "what it was given": Shown("/chat/{chat}", (".chat-more summary", "a[href='#given'] >> nth=0")),
    "what it saw": Shown("/chat/{chat}", ("[data-saw] >> nth=0",)),
    "what it saw, by its address": Shown("/chat/{chat}?saw=2"),
    "as it was sent": Shown("/chat/{answered}/turns/{turn}/sent?left=1", (".sent-part > summary",)),
    "said before, to begin with": Shown("/chat?once={chat}&turn=1"),
    "closing failed": Shown("/chat/{failed}"),
    "chat in the trash": Shown("/chat/{trashed}"),
    "rename": Shown("/chat/{chat}/manage"),
    "search": Shown("/search?q=cash"),
    "find anything": Shown("/search?q=cash", ("a[data-palette]:visible, input[data-palette]:visible",)),
    "all chats": Shown("/search?all=1"),
    "archived": Shown("/search?archived=1"),
    "trash": Shown("/search?trash=1"),
    "a chat for good": Shown("/chat/{trashed}/purge"),
    "toast": Shown("/chat?undo=1"),
    "api": Shown("/docs"),
    "nothing": Shown("/no-such-page"),
    "keyboard": Shown("/search?archived=1", ("body", "keys")),
    "memory": Shown("/profile/facts", ("details.menu > summary >> nth=0",)),
    "a line folded out": Shown("/profile/facts?show=said", (".sentences summary >> nth=0",)),
    "what was taken out": Shown("/profile/facts?show=out", (".sentences summary >> nth=0",)),
    "review": Shown("/review"),
    "review, other words": Shown("/review?edit=1"),
    "all that waits": Shown("/review?all=1", (".sentences summary >> nth=0",)),
    "one memory": Shown("/memory/{memory}"),
    "a memory for good": Shown("/memory/{memory}/purge"),
    "time travel": Shown("/time"),
    "notes": Shown("/journal"),
    "settings": Shown("/settings"),
    "erase": Shown("/settings/erase"),
    "a model": Shown("/settings/model", ("input[value=openai]",)),
    "bring in memories": Shown("/import"),
    "a file of memories": Shown("/import", file=TO_BRING_IN),
    "what came in": Shown("/import/{load}"),
    "a chat from elsewhere": Shown("/chat/{imported}"),
    "first steps": Shown("/welcome", ("#model summary", "input[value=openai]")),
    "results": Shown("/results/trade-decisions", ("a[href*='exit=']",)),
    "forecasts": Shown("/results/forecasts"),
    "record a forecast": Shown("/results/forecasts?record=1"),
    "resolve a forecast": Shown("/results/forecasts", ("a[href*='resolve=']",)),
    "bring in trades": Shown("/trading/import"),
    "a file of trades": Shown("/trading/import", file=TO_TRADE),
    "agents": Shown("/agents", (".agent .menu > summary",)),
    "agent": Shown("/agents/{agent}"),
    "new agent": Shown("/agents/new?template=research", ("details.more > summary", "button[value=try]")),
    "edit agent": Shown("/agents/{agent}/edit"),
    "run": Shown("/runs/{run}", (".transcript details > summary", ".exit > summary")),
    "failed run": Shown("/runs/{lost}"),
    "second look": Shown("/runs/{look}"),
    "trading": Shown("/trading"),
    "deployment": Shown(
        "/trading/{deployment}?reflected=22.13.new2&events=1-1",
        (".put-away > summary", "summary:has-text('More figures')"),
    ),
    "where it comes from": Shown("/trading/{deployment}?parts=1"),
    "skill": Shown("/trading/skills/{skill}", (".more > summary",)),
    "load trades of any": Shown("/trading/load"),
    "closed trades": Shown("/trading/{deployment}/trades"),
    "load trades": Shown("/trading/{deployment}/load"),
    "new deployment": Shown("/trading/new"),
}


PLAIN = list(PAGES)[: list(PAGES).index(LAST_PLAIN) + 1]


def _avoided_on(name: str) -> re.Pattern[str]:
    words = f"{AVOIDED}|{FIGURES}" if name in PLAIN else AVOIDED
    return re.compile(rf"\b({words})\b|!", re.IGNORECASE)


@pytest.fixture(scope="module")
def lived_in(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, npm: Path
) -> Iterator[tuple[str, Any]]:
    """One server for all these pages, which are only looked at: its address, and the addresses of what is in it."""
    from keepbook import Keepbook
    from keepbook.doors.http.app import create_app

    clock, house = Clock(), tmp_path_factory.mktemp("house")
    with pytest.MonkeyPatch.context() as patch:
        nobodys(patch, house)
        settled_as_alice(patch)
        with (
            prepared_on("sqlite", pytestconfig, house)("lived", live, clock) as (url, known),
            closing(Keepbook(url, clock=clock)) as kb,
            serving(_beside(create_app(kb), npm)) as address,
        ):
            yield address, known


def _beside(app: Any, npm: Path) -> Any:
    """The application, and beside it what its pages are looked at with: a page that asks for it keeps it."""
    files = {"axe.js": ("text/javascript", axe_script(npm).encode())}
    files |= {name: ("font/ttf", face) for name, face in wide_fonts(npm).items()}

    async def both(scope: Any, receive: Any, send: Any) -> None:
        _, beside, name = scope.get("path", "").partition("/beside/")
        kind, data = files.get(name, ("", b""))
        answer = Response(data, media_type=kind, headers={"Cache-Control": "max-age=86400"}) if beside else app
        await answer(scope, receive, send)

    return both


@pytest.fixture
def lived(lived_in: tuple[str, dict[str, str]]) -> dict[str, str]:
    return lived_in[1]


@pytest.fixture
def site(lived_in: tuple[str, Any]) -> str:
    return lived_in[0]


def live(kb: Any, clock: Any) -> dict[str, str]:
    from keepbook.book.chats import threads
    from keepbook.book.ground.when import stamp

    alice, talk = kb.book("alice"), partial(talking, kb)
    clock.set("2026-08-14T09:00:00Z")
    alice.configure(zone="Europe/Vienna")
    memory = alice.remember("Keeps three months of expenses in cash", category="finance_context")
    alice.threads.archive(talk("First talk: who I am", close=True).id)
    clock.set("2026-11-02T19:00:00Z")
    alice.remember("Gets uneasy when a position is down more than 8 %", category="profile", confidence="inferred")
    alice.forget(alice.remember("Is saving for a camper van", category="finance_context").id)
    alice.delete(alice.remember("Drinks tea", category="fact").id)
    talk("I work as a structural engineer, four days a week.", close=True)
    failed = talk("I live in Vienna.")
    with alice.writing() as (tx, _):
        held = threads.claim_closing(tx, failed.id, stamp(tx.clock()), lease_seconds=60)
        assert held is not None
        threads.release_closing(tx, held, stamp(tx.clock()), "the model answered badly", retry_minutes=15)
        threads.keep_compression(tx, failed.id, 1, "They said where they live.")
    clock.set("2026-11-12T08:16:00Z")
    chat = talk("Remember that my dog is called Rex.", "Thanks")
    alice.notes.bookmark(chat.id, 2)
    kept = alice.acting(thread_id=chat.id).remember("Likes tea", category="fact")
    event = {"op": "remember", "id": kept.id, "before": None, "after": {"content": "Likes tea"}, "event": kept.event}
    call = {"id": "1", "name": "remember", "arguments": {}, "answer": "", "memory_event": event, "round": 0, "at": 0}
    chat.add("assistant", "Tea it is.", parts=[call])
    asked = _asked(alice, talk, memory.id)
    trashed = talk("A word " + "averyveryverylongword" * 12)
    alice.threads.delete(trashed.id)
    known = {
        "memory": memory.id,
        "chat": chat.id,
        "failed": failed.id,
        "trashed": trashed.id,
        "asked": asked,
        "turn": "2",
    }
    known |= {"answered": _answered_by_a_model(alice)} | _brought_in(alice)
    _foretold(alice, clock)
    return known | _worked(alice) | _traded(kb, alice)


def _asked(alice: Any, talk: Any, memory_id: str) -> str:
    """A chat that asks whether to keep a line, whether one is over, and which one is meant."""
    from keepbook.book.ground.when import stamp
    from keepbook.book.memory import proposals

    chat = talk("I live in Vienna and keep four months of expenses in cash.", preset="assistant")
    where = {"thread_id": chat.id, "turn_ids": ("1",)}
    with alice.writing() as (tx, _):
        now = stamp(tx.clock())
        words = "Keeps four months of expenses in cash"
        proposals.ask_question(tx, now, question="over", op="update", content=words, memory_id=memory_id, **where)
        lines = [(memory_id, "Keeps three months of expenses in cash"), (memory_id[::-1], "Keeps a diary")]
        proposals.ask_question(tx, now, question="which", op="forget", content="cash", lines=lines, **where)
    return str(chat.id)


def _answered_by_a_model(alice: Any) -> str:
    """A chat in which a model has answered that is not here any more."""
    from keepbook.book.chats import adding
    from keepbook.book.ground.when import stamp

    chat = alice.threads.start()
    chat.add("user", "How much cash do I keep?")
    chat.inject()
    with alice.writing() as (tx, _):
        made = adding.ModelUse("openai:some-model", 400, 12)
        adding.add_message(tx, chat.id, "assistant", "Three months of expenses.", stamp(tx.clock()), made=made)
    return str(chat.id)


def _brought_in(alice: Any) -> dict[str, str]:
    """Chats from elsewhere: one was read, of the other nobody knows what is in it."""
    said = ["I work as a nurse, four nights a week.", "I think I might be allergic to walnuts."]
    talks = [
        {
            "uuid": str(nth),
            "name": f"Plans for the year {nth}",
            "chat_messages": [
                {"sender": sender, "text": text, "created_at": f"2024-03-1{nth}T09:00:00Z"}
                for one in said
                for sender, text in (("human", one), ("assistant", "I see."))
            ],
        }
        for nth in range(2)
    ]
    load = alice.import_([json.dumps(talks)]).load
    first = chat_reading.unread(alice, load)[0].id
    alice.close_thread(first, offline=True)
    return {"load": str(load), "imported": first}


def _foretold(alice: Any, clock: Any) -> None:
    """Forecasts from outside: answered, due, open, and one that was looked at again."""
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    begun = clock.now
    clock.set("2026-10-01T08:00:00Z")
    for nth in range(24):
        card = {"question": f"Does number {nth} come up?", "probability": 0.05 + nth / 30, "resolves_by": "2026-11-30"}
        made = alice.decisions.record("Oracle", card)
        if nth < 21:
            came = None if nth == 20 else nth % 2 == 0
            alice.decisions.answer(made.run_id, came, note="seen in the paper", settled_early="it was drawn")
        elif nth == 21:
            look = {"conviction_score": 55, "notes": "Less so.", "suggested_action": "LOWER", "probability": 0.4}
            alice.decisions.record_second_look(made.run_id, look)
            alice.decisions.record_second_look(made.run_id, look | {"conviction_score": 70, "probability": 0.6})
    due = {"question": "Does the bank cut by a quarter point?", "probability": 0.78, "resolves_by": "2026-11-11"}
    alice.decisions.record("Oracle", due)
    clock.set(begun)


def _worked(alice: Any) -> dict[str, str]:
    """A desk with everything, past its twentieth run, and one open decision that was looked at again."""
    desk = busy_desk(alice)
    for _ in range(20):
        ran(alice, desk, WAIT, "scheduled")
    run = ran(alice, desk, LONG)
    look = ran(alice, desk, SECOND_LOOK, "re-examination", parent_run=run.id)
    alice.agents.create("Fresh", memory_enabled=True, schedule="0 9 1 * *")
    lost = next(one for one in alice.runs.list(desk.id) if one.status == "failed")
    return {"agent": desk.id, "run": run.id, "look": look.id, "lost": lost.id}


def _traded(kb: Any, alice: Any) -> dict[str, str]:
    """A deployment with everything, one lesson pinned and one put away, beside one without capital that has ended."""
    main, now = taught(alice), datetime(2026, 11, 12, 8, 16, tzinfo=UTC)
    traded(alice, name="First try", capital=None, ended_at="2026-11-03T00:00:00Z")
    exposed(kb, alice, main, now)
    alice.trading.set_field("Range breakout", "strategy", "Buy strength, but not in chop.")
    pinned, retired = (one.lesson.id for one in alice.trading.reflect(deployment=main.id).outcomes)
    alice.trading.reflect(skill="Range breakout")
    alice.trading.pin(pinned)
    alice.trading.retire(retired)
    return {"deployment": main.id, "skill": main.skill_id}


def show(person: Page, page: Shown, lived: dict[str, str]) -> None:
    answer = person.goto(page.path.format_map(lived), wait_until="load")
    assert answer is not None
    assert answer.status in (200, 404)
    if page.file:
        person.locator("#file").set_input_files(
            {"name": "file.txt", "mimeType": "text/plain", "buffer": page.file.encode()}
        )
        person.locator(".drop.has").wait_for()
        for whose in person.locator(".whose select").all()[:1]:
            whose.select_option("me")
            person.locator("table.import").wait_for()
    for what in page.press:
        if what == "keys":
            person.keyboard.press("?")
        elif what == "body":
            person.evaluate("document.activeElement.blur()")
        elif person.locator(what).first.is_visible():
            person.locator(what).first.click()
    if page.press:
        person.wait_for_load_state("networkidle")


@pytest.fixture(scope="session")
def axe(npm: Path) -> str:
    return axe_script(npm)


WIDER = """async names => {
  for (const name of names) {
    const bytes = await (await fetch(`/beside/${name}`)).arrayBuffer();
    document.fonts.add(await new FontFace(`Wide ${name}`, bytes, { weight: "100 900" }).load());
  }
}"""
IN_FONTS = f"""([wide, only]) => {{
  if (wide !== document.adoptedStyleSheets.length > 0) {{
    const wider = new CSSStyleSheet();
    wider.replaceSync(`:root {{ --sans: "Wide Sans"; --serif: "Wide Serif"; --mono: "Wide SansMono" }}`);
    document.adoptedStyleSheets = wide ? [wider] : [];
  }}
  return ({AUDIT})(only);
}}"""


RUN = """async without => {
  const counts = rule => rule.enabled && ["serious", "critical"].includes(rule.impact)
    && !["experimental", "deprecated"].some(tag => rule.tags.includes(tag)) && !(without || []).includes(rule.id);
  const values = axe._audit.rules.filter(counts).map(rule => rule.id);
  const asked = { resultTypes: ["violations"], runOnly: { type: "rule", values }, preload: false };
  const found = await axe.run(document, asked);
  return found.violations.filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 120)).join(" | ")}`);
}"""


AXED = ((1440, "light"), (390, "dark"))
COLOURS = [] if DEEPER > 1 else ["color-contrast", "link-in-text-block"]
"""The contrast of every text is the audit's, by day and night and at each width: axe takes as long for it as for all
the rest, and is asked by `make test-deep`."""


@pytest.fixture(scope="module")
def one_window(chromium: Browser, lived_in: tuple[str, Any]) -> Iterator[Page]:
    """The browser knows the scripts, and axe, from the page before; a new window would compile all of it anew."""
    with chromium.new_context(base_url=lived_in[0], **SAME_EVERYWHERE) as context:
        context.set_default_timeout(60_000)
        yield context.new_page()


@pytest.fixture
def window(one_window: Page) -> Iterator[Page]:
    """A window that remembers nothing of the page before."""
    yield one_window
    one_window.evaluate("sessionStorage.clear(); localStorage.clear()")
    one_window.context.clear_cookies()


def _at_each_width(name: str, person: Page, lived: dict[str, str]) -> Iterator[tuple[int, bool]]:
    """The page opened once and made narrower: the server does not know of widths. Where something is pressed first,
    which depends on what is there to be pressed, it is opened on a phone too: the width, and whether it was opened."""
    opened = {1440, 390} if PAGES[name].press else {1440}
    for width in WIDTHS:
        person.set_viewport_size({"width": width, "height": 900 if width > 800 else 844})
        if width in opened:
            show(person, PAGES[name], lived)
        yield width, width in opened


def _by_day_and_night(window: Page, width: int, schemes: list[str]) -> Iterator[str]:
    for scheme in schemes:
        window.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        only = None if scheme == "light" else "colours"
        yield from (f"{scheme}: {found}" for found in window.evaluate(IN_FONTS, [False, only]))
        if (width, scheme) in AXED:
            yield from (f"{scheme}: axe: {found}" for found in window.evaluate(RUN, COLOURS))


NO_PAGES = {
    "/", "/api/memory", "/memory", "/results", "/sign-in", "/openapi.json", "/settings/export",
    "/memory/{id}/times.txt", "/chat/list", "/chat/{id}/pencil", "/chat/{id}/turns", "/chat/{id}/turns/{turn}/saw",
    "/sign-in/provider", "/sign-in/provider/back", "/sign-in/provider/done",
}  # fmt: skip
"""What leads elsewhere, is looked at below, or is a file or a piece of a page."""


def test_no_page_is_forgotten(kb: Any) -> None:
    from keepbook.doors.http.app import create_app

    def addresses(routes: Any) -> Iterator[str]:
        for route in routes:
            if "GET" in (getattr(route, "methods", None) or ()) and not route.include_in_schema:
                yield route.path
            yield from addresses(getattr(route, "routes", None) or ())

    def plain(address: str) -> str:
        return re.sub(r"\{\w+\}", "{}", address.partition("?")[0])

    looked_at = {plain(page.path) for page in PAGES.values()}
    assert {one for one in addresses(create_app(kb).routes) if plain(one) not in looked_at} == NO_PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_keeps_to_the_visual_language(name: str, window: Page, lived: dict[str, str]) -> None:
    """Every width, light and dark, with the usual fonts and with wide ones; on a desk by day and on a phone by night
    axe looks too."""
    wrong, schemes, fonts = [], ["light", "dark"], ["usual", "wide"]
    for width, opened in _at_each_width(name, window, lived):
        if opened and width == 1440 and name not in TECHNICAL:
            wrong += [f"says: {said}" for said in window.evaluate(WORDS) if _avoided_on(name).search(said)]
        if opened:
            window.add_script_tag(url="/beside/axe.js")
            window.evaluate(WIDER, list(WIDE))
            fonts = ["usual", "wide"]
        # The next width begins as this one ends: to show a page otherwise takes longer than to look at it.
        for worn in fonts:
            if worn == "wide" or width == NARROWEST:
                found_here = window.evaluate(IN_FONTS, [worn == "wide", "widths"])
                wrong += [f"{worn} fonts {width}: {found}" for found in found_here]
            else:
                wrong += [f"{width}: {found}" for found in _by_day_and_night(window, width, schemes)]
                schemes.reverse()
        fonts.reverse()
    assert not wrong, "\n".join(wrong[:40])


def test_on_the_narrowest_screen_only_the_room_is_another() -> None:
    sheets = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.css")]
    asked = {float(width) for css in sheets for width in re.findall(r"@[^{]*?\bwidth: ([\d.]+)px", css)}
    assert len(asked) > 3
    assert not [width for width in asked if NARROWEST - 1 <= width <= PHONE]


def test_the_browser_has_the_fonts_of_the_tests_and_no_other(opens: Any) -> None:
    """`i` and `M` in each family that the stylesheet names come out alike: none of them is here, whatever this machine
    has. The wide fonts are wider."""
    measure = """families => families.map(family => {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `20px "${family}", sans-serif`;
      return pen.measureText("iM".repeat(20)).width;
    })"""
    page = opens().new_page()
    page.goto("/no-such-page")
    page.evaluate(WIDER, list(WIDE))
    usual = page.evaluate(measure, ["Inter", "JetBrains Mono", "Charis SIL", "sans-serif"])
    assert len(set(usual)) == 1, usual
    for wider in page.evaluate(measure, [f"Wide {name}" for name in WIDE]):
        assert wider > usual[0] * 1.05


@pytest.mark.parametrize(("width", "scheme"), AXED)
def test_axe_finds_nothing_where_one_signs_in(width: int, scheme: str, opens: Any, kb: Any, app: Any, axe: str) -> None:
    kb.tokens.create("alice")
    with serving(app) as address:
        person = opens(width=width, color_scheme=scheme).new_page()
        person.goto(f"{address}/chat")
        person.evaluate(axe)
        assert person.get_by_label("Token").is_visible()
        assert person.evaluate(RUN) == []


BROKEN = """() => {
  const made = document.createElement("div");
  made.innerHTML = `<button></button><p id="one" class="pale">pale</p><p id="one">twice</p><h5>deep</h5><input>
    <a class="btn bare" href="#">seen</a><p class="wide">wide</p>`;
  const main = document.querySelector("main");
  main.append(made);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.pale { color: #ccc; background: #fff } .wide { width: 3000px }
    .bare:focus-visible { outline: none }`);
  document.adoptedStyleSheets = [sheet];
  main.setAttribute("style", "color: red");
}"""


def test_the_checks_see_what_is_wrong(opens: Any, axe: str) -> None:
    person = opens().new_page()
    person.goto("/chat")
    assert person.evaluate(AUDIT) == []
    person.evaluate(BROKEN)
    found = "\n".join(person.evaluate(AUDIT))
    for wrong in ("wide in 1440", "contrast 1.6", "no name", "no label", "the id one twice", "style attribute",
                  "focus not seen: a.btn.bare"):  # fmt: skip
        assert wrong in found
    person.evaluate(axe)
    assert any(one.startswith("button-name") for one in person.evaluate(RUN))


# The tokens of the stylesheet


def _tokens() -> dict[str, tuple[str, str]]:
    css = (FOLDER / "keepbook.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {name: (light, dark) for name, light, dark in found}


def _lightness(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_lightness(one), _lightness(other)))
    return (high + 0.05) / (low + 0.05)


MEANING = ("accent", "gain", "loss", "amber", "pencil")
GROUNDS = ("paper", "leaf", "lift", "wash")
PAIRS = [
    *((front, back, 4.5) for front in ("ink", "ink-2", "ink-3", *MEANING) for back in GROUNDS),
    *((front, f"{front}-wash", 4.5) for front in MEANING),
    *((front, f"{back}-wash", 4.5) for front in ("ink", "ink-2", "ink-3") for back in MEANING),
    *((front, back, 4.5) for front, back in (("on-accent", "accent"), ("on-accent", "loss"), ("ink", "said"))),
    *((front, back, 3.0) for front in ("control", "accent") for back in GROUNDS[:3]),
]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_tokens_can_be_read_on_each_other(scheme: int) -> None:
    known = _tokens()
    low = {
        f"{front} on {back}": round(_contrast(known[front][scheme], known[back][scheme]), 2)
        for front, back, floor in PAIRS
        if _contrast(known[front][scheme], known[back][scheme]) < floor
    }
    assert low == {}
