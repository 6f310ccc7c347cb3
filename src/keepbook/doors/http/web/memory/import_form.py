"""`/import`: what another program kept, looked at before it comes in.

Nothing is written by choosing a file. The page shows whose lines it holds, what would come in and what stays out; each
person in it is me, somebody I know, whose lines come in with their name as subject, or left out. The file and what was
chosen wait under an address of their own (`uploads`), so that Back and a reload show them again. While it loads
the page is sent piece by piece, so that the count moves without script, and "Stop here" ends it: what has come in
stays. A few chats are read for what to remember in the same step. It ends by leading to the page of the load
(`import_page`), where one button takes it back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from keepbook.book.memory.proposals import FORGOTTEN
from keepbook.book.upkeep import chat_reading
from keepbook.book.upkeep.import_answer import Imported
from keepbook.book.upkeep.importers.incoming import Incoming, IncomingChat, IncomingMemory, LeftOut, program_name
from keepbook.book.upkeep.importers.read_file import ReadImport
from keepbook.book.upkeep.importing import import_read, read_for
from keepbook.doors.http.web.frame import uploads
from keepbook.doors.http.web.frame.extension_pages import load_pages
from keepbook.doors.http.web.frame.loading import LoadUnderWay, stop_load
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, templates
from keepbook.doors.http.web.memory.import_page import HERE, address, earlier_loads, readers
from keepbook.errors import Conflict, Invalid, KeepbookError, NotFound
from keepbook.presets.group_names import group_name

router: APIRouter = APIRouter(include_in_schema=False)

PATH = "/import"
READ_AT_ONCE = 20
"""How many chats are read for memories with the load, unless the person says no; more are read when they ask for it."""
ROWS = 200
"""How many lines a page shows, each to be taken or left."""
OPEN = ("new", "alike", "changed", "forgotten")
UNTICKED = ("alike", "forgotten")
"""What comes in only if the person ticks it."""
ME, KNOWN, OUT = "me", "known", "out"
ShortField = Annotated[str, Form(max_length=400)]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the file, and who that is here."""

    at: int
    who: str | None
    lines: int
    example: str
    role: str
    name: str


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One line or chat of the file and what would become of it: new, alike (new, but nearly what stands in the book),
    forgotten (the person asked for that), changed, there (a chat may lie in the trash) or refused."""

    at: int
    what: str
    text: str
    since: str | None
    category: str | None
    outcome: str
    why: str = ""
    about: str | None = None
    taken: bool = True
    repeats: str | None = None
    """What stands in the book already."""

    @property
    def open(self) -> bool:
        """Whether it is for the person to take it or leave it."""
        return self.outcome in OPEN


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """What stands in the form: the file, and by number who is who, what is left out and as what a line is taken."""

    key: str = ""
    name: str = ""
    sent: bytes = b""
    told: Mapping[str, str] = field(default_factory=dict)
    left: frozenset[int] = frozenset()
    page: int = 1
    fresh: bool = False
    """Whether nobody has chosen anything yet: then what is nearly in the book, or was forgotten, stays out."""

    def takes(self, at: int) -> bool:
        return at not in self.left

    @property
    def ticked(self) -> bool:
        """Whether the tick for reading the chats is set: as the person left it, and set at first."""
        return self.reads or "read-shown" not in self.told

    @property
    def reads(self) -> bool:
        """Whether the chats are read for what to remember: never without a tick that was seen."""
        return "read-chats" in self.told

    @property
    def read_here(self) -> bool:
        return self.told.get("read-by", HERE) == HERE


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """A file that was looked at."""

    source: str
    people: list[Person]
    rows: list[ImportRow]
    refused: Sequence[LeftOut]
    undecided: int
    memories: int
    """How many lines the file holds beside its chats."""

    def count(self, *outcomes: str) -> int:
        return sum(row.outcome in outcomes for row in self.rows)

    @property
    def loads(self) -> int:
        return sum(row.taken and row.open for row in self.rows)

    @property
    def chats(self) -> int:
        """How many chats would come in."""
        return sum(row.taken and row.open and row.what == "chat" for row in self.rows)

    @property
    def pages(self) -> int:
        return max(-(-len(self.rows) // ROWS), 1)

    def on(self, page: int) -> list[ImportRow]:
        return self.rows[(page - 1) * ROWS : page * ROWS]


@router.get(PATH)
def choose(visit: Visiting, file: str = "", restored: str = "") -> Response:
    """A file to choose, or the one that was."""
    if not file:
        came = None
        if restored.isascii() and restored.isdecimal() and len(restored) < 10:
            came = int(restored)
        return visit.page("import.html", **_form_context(visit, ImportChoices(), None) | {"restored": came})
    visit.caller.ask("book.import")
    try:
        sent, known = uploads.find_upload(uploads.Sender.of(visit), file[:40])
    except NotFound as error:
        return _page(visit, ImportChoices(), wrong=error)
    act = known.pop("act")
    return _preview_response(visit, ImportChoices(file, sent=sent, **known | {"left": frozenset(known["left"])}), act)


@router.post(PATH)
async def look_or_load(
    visit: Visiting,
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    key: ShortField = "",
    name: ShortField = "",
    shown: Annotated[str, Form(max_length=4000)] = "",
    left: Annotated[str, Form()] = "",
    take: Annotated[list[int] | None, Form()] = None,
    page: Annotated[int, Form(ge=1, le=10**6)] = 1,
    act: ShortField = "look",
) -> Response:
    """Look at a file, turn to another page of it, tick all or none of its lines, or load it."""
    visit.caller.ask("book.import")
    fresh = file is not None and bool(file.filename)
    if not (fresh or key):
        return await run_in_threadpool(
            _page, visit, ImportChoices(), wrong=Invalid("choose a file first", field="file")
        )
    if file is not None and fresh:
        sent = await file.read()
    else:
        sent = b""
    name = (file.filename or "" if file is not None and fresh else name)[:200]
    form = {key: str(value)[:200] for key, value in (await request.form()).items() if "-" in key}
    out = (_numbers(left) - _numbers(shown)) | (_numbers(shown) - frozenset(take or ()))
    if fresh:
        chosen = ImportChoices("", name, sent, fresh=True)
    else:
        chosen = ImportChoices(key, name, sent, form, frozenset() if act == "all" else out, page)
    return await run_in_threadpool(_chosen, visit, chosen, act)


def _chosen(visit: Visit, chosen: ImportChoices, act: str) -> Response:
    """Load it, or go to where it is shown with what was chosen."""
    sender = uploads.Sender.of(visit)
    if chosen.fresh:
        key = uploads.keep_upload(sender, chosen.sent)
    else:
        key = chosen.key
    try:
        if chosen.fresh:
            sent = chosen.sent
        else:
            sent = uploads.find_upload(sender, key)[0]
    except NotFound as error:
        return _page(visit, ImportChoices(), wrong=error)
    if act == "load" and not chosen.fresh:
        return _preview_response(visit, replace(chosen, sent=sent), act)
    known = {"name": chosen.name, "told": chosen.told, "page": chosen.page, "fresh": chosen.fresh}
    uploads.store_upload_choices(
        sender, key, known | {"left": sorted(chosen.left), "act": "none" if act == "none" else "look"}
    )
    return RedirectResponse(f"{PATH}?{urlencode({'file': key})}", 303)


def _preview_response(visit: Visit, chosen: ImportChoices, act: str) -> Response:
    try:
        read = read_for(visit.book, chosen.sent, chosen.name or "file")
        if read.incoming is None:
            return _ours(visit, chosen, read, act)
        incoming = read.incoming
        seen = _preview(visit, chosen, incoming)
        if act == "none" or chosen.fresh:
            out = frozenset(row.at for row in seen.rows if row.open and (act == "none" or row.outcome in UNTICKED))
            chosen = replace(chosen, left=out)
            seen = replace(seen, rows=[replace(row, taken=row.at not in out) for row in seen.rows])
        chosen = replace(chosen, page=min(chosen.page, seen.pages))
        if act != "load" or not seen.loads:
            return _page(visit, chosen, seen)
        if seen.undecided:
            raise Invalid("say of each person who they are, or leave them out", field="people")
    except KeepbookError as error:
        return _page(visit, chosen, wrong=error)
    wanted = _incoming_chosen(chosen, incoming)
    things, chats = len(wanted.memories) + len(wanted.chats), len(wanted.chats)
    reads = chosen.reads and 0 < chats <= READ_AT_ONCE and visit.book.choices.memory

    def work(progress: Callable[[int], None]) -> Imported:
        taken = visit.book.bring_in(wanted, progress=progress)
        if reads and taken.load is not None and not load.stopped:
            progress_of = partial(_shifted_progress, progress, things)
            chat_reading.read_chats(visit.book, taken.load, offline=chosen.read_here, progress=progress_of)
        return taken

    load = LoadUnderWay(visit.caller.owner, things + chats * reads, work)
    return StreamingResponse(_loading(visit, chosen, seen, load, things), media_type="text/html")


def _ours(visit: Visit, chosen: ImportChoices, read: ReadImport, act: str) -> Response:
    """An export of Keepbook itself: an empty book becomes what it was, to another one its memories are added."""
    book, merge = visit.book, False
    try:
        found = import_read(book, read, dry_run=True)
    except Conflict as full:
        if full.code != "not_empty":
            raise
        merge, found = True, import_read(book, read, merge=True, dry_run=True)
    if act != "load" or not found.memories:
        return visit.page(
            "import.html", **_form_context(visit, chosen, None) | {"ours": found, "merge": merge, "earlier": []}
        )
    taken = import_read(book, read, merge=merge)
    if taken.load is None:
        return visit.back(PATH, restored=taken.memories)
    return visit.back(address(taken.load))


def _shifted_progress(progress: Callable[[int], None], by: int, done: int) -> None:
    progress(by + done)


def _page(
    visit: Visit, chosen: ImportChoices, seen: ImportPreview | None = None, wrong: KeepbookError | None = None
) -> Response:
    return visit.page("import.html", 422 if wrong else 200, **_form_context(visit, chosen, seen, wrong))


def _form_context(
    visit: Visit, chosen: ImportChoices, seen: ImportPreview | None, wrong: KeepbookError | None = None
) -> dict[str, Any]:
    preset = visit.book.preset()
    remote, memory = readers(visit)
    if not seen:
        earlier = earlier_loads(visit)
    else:
        earlier = []
    return {
        "chosen": chosen, "seen": seen, "wrong": wrong, "categories": preset.categories,
        "group_name": group_name, "preset": preset, "default": preset.default_category,
        "steps": None, "stopped": None, "stopping": False,
        "most": ROWS, "most_bytes": visit.request.state.max_import, "at_once": READ_AT_ONCE, "remote": remote,
        "ours": None, "merge": False, "restored": None, "memory": memory, "named": program_name,
        "earlier": earlier, "other_files": load_pages(visit).values(),
    }  # fmt: skip


# Reading


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in text.split(",") if one.isascii() and one.isdecimal())


def _people(chosen: ImportChoices, incoming: Incoming) -> list[Person]:
    """Whose things they are. One person alone is taken for me, which the page says; of several none is guessed."""
    alone, found = len(incoming.people) <= 1, []
    for at, who in enumerate(incoming.people):
        of_them = incoming.only_of([who])
        example = next((one.text for one in of_them.memories), next((one.title or "" for one in of_them.chats), ""))
        if alone:
            role = chosen.told.get(f"whose-{at}", ME)
        else:
            role = chosen.told.get(f"whose-{at}", "")
        name = " ".join(chosen.told.get(f"called-{at}", "").split()) or (who or "")
        lines = len(of_them.memories) + len(of_them.chats)
        found.append(Person(at, who, lines, example, role if role in (ME, KNOWN, OUT) else "", name))
    return found


def _person_of(one: IncomingMemory | IncomingChat, people: Sequence[Person]) -> Person | None:
    if len(people) == 1:  # where one person is named, what names nobody is theirs too
        return people[0]
    return next((person for person in people if person.who == one.who), None)


def _steps(
    chosen: ImportChoices, incoming: Incoming
) -> Iterator[tuple[int, IncomingMemory | IncomingChat, Person | None]]:
    """What is mine or about somebody I know, by its number in the file; a chat is only ever my own."""
    people = _people(chosen, incoming)
    things: list[IncomingMemory | IncomingChat] = [*incoming.memories, *incoming.chats]
    for at, one in enumerate(things):
        person = _person_of(one, people)
        if person is not None:
            role = person.role
        else:
            role = ME
        if role == ME or (role == KNOWN and isinstance(one, IncomingMemory)):
            yield at, one, person


def _as_chosen(
    chosen: ImportChoices, at: int, one: IncomingMemory | IncomingChat, person: Person | None
) -> IncomingMemory | IncomingChat:
    """As it would come in, under its number, so that the answer can be told apart."""
    if isinstance(one, IncomingChat):
        return replace(one, who=None, where=str(at))
    about = person.name if person is not None and person.role == KNOWN and person.name else one.subject
    category = chosen.told.get(f"category-{at}") or one.category
    return replace(one, who=None, where=str(at), subject=about, category=category)


def _incoming_chosen(chosen: ImportChoices, incoming: Incoming) -> Incoming:
    taken = [_as_chosen(chosen, at, one, person) for at, one, person in _steps(chosen, incoming) if chosen.takes(at)]
    return _only(incoming, [replace(one, wanted=True) if isinstance(one, IncomingMemory) else one for one in taken])


def _only(incoming: Incoming, things: Sequence[IncomingMemory | IncomingChat]) -> Incoming:
    notes = tuple(one for one in things if isinstance(one, IncomingMemory))
    chats = tuple(one for one in things if isinstance(one, IncomingChat))
    return replace(incoming, memories=notes, chats=chats, refused=())


def _preview(visit: Visit, chosen: ImportChoices, incoming: Incoming) -> ImportPreview:
    steps = list(_steps(chosen, incoming))
    tried = visit.book.bring_in(_only(incoming, [_as_chosen(chosen, *step) for step in steps]), dry_run=True)
    out = {one.where: one.why for one in tried.refused}
    came = iter(tried.came)
    rows = []
    for at, one, person in steps:
        if isinstance(one, IncomingMemory):
            what = "memory"
        else:
            what = "chat"
        about = None
        if person is not None and person.role == KNOWN:
            about = person.name
        why, taken = out.get(str(at)), chosen.takes(at)
        if why == FORGOTTEN and isinstance(one, IncomingMemory):
            rows.append(ImportRow(at, what, one.text, one.since, one.category, "forgotten", "", about, taken))
            continue
        if why is not None:
            told = next(one.text for one in tried.refused if one.where == str(at))  # a secret is not told again
            rows.append(ImportRow(at, what, told or one.where or "not shown", None, None, "refused", why, about, False))
            continue
        got = next(came)
        if got.outcome == "new" and got.repeats:
            outcome = "alike"
        else:
            outcome = got.outcome
        rows.append(ImportRow(at, what, got.text, got.since, got.category, outcome, "", about, taken, got.repeats))
    people = _people(chosen, incoming)
    return ImportPreview(
        incoming.source, people, rows, incoming.refused, sum(not one.role for one in people), len(incoming.memories)
    )


# Loading


def _loading(
    visit: Visit, chosen: ImportChoices, seen: ImportPreview, load: LoadUnderWay, things: int
) -> Iterator[str]:
    """The page, as far as it has come: the count moves while the load writes, then while its chats are read."""
    load.begin()
    page = templates.get_template("import.html")
    known = _form_context(visit, chosen, seen) | {"steps": load.steps(), "things": things, "load": load}
    yield from page.generate(visit=visit, zone=visit.zone, now=visit.now, **known)


@router.post(f"{PATH}/stop")
def stop(visit: Changing, key: ShortField = "", load: Annotated[int, Form(ge=0, le=10**9)] = 0) -> Response:
    """End a load, or the reading of its chats, where it is: what has come in stays, and one Undo takes it out."""
    visit.caller.ask("book.import")
    stopped = stop_load(visit.caller.owner, key)
    nth = load or (None if stopped is None else getattr(stopped.outcome, "load", None))
    if nth and (stopped is None or stopped.ended.is_set()):
        return visit.back(address(nth))
    return visit.page(
        "import.html", **(_form_context(visit, ImportChoices(), None) | {"stopped": stopped, "stopping": True})
    )
