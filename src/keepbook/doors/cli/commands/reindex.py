"""Commands for what recall looks things up in: reindex, embedder status, embedder install.

A program that writes and ends leaves its vectors to others: to a server, to `keepbook jobs`, to the next `recall` if
there are few of them, or to `keepbook reindex`, which does all that is left and says how far it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import META, Paper, grid, ink, name_book, pluralise
from keepbook.doors.cli.terminal.streams import show_progress

_TEXTS = ("memory or turn", "memories and turns")


def register(app: typer.Typer) -> None:
    command(app, "reindex", reindex, panel=CARE)
    embedder = group(app, "embedder", panel=CARE, words="See or install what finds the same in other words.")
    command(embedder, "status", status)
    command(embedder, "install", install)


def reindex(call: Invocation) -> None:
    """Build the word index anew and embed what waits, for every owner or the one of --owner; it can be resumed."""
    keepbook = call.keepbook
    if call.given.owner is None:
        owners = keepbook.owners()
    else:
        owners = [call.settings.owner]
    mended = embedded = 0
    with show_progress("Reindexing") as told:
        for number, owner in enumerate(owners, 1):
            book = keepbook.book(owner, door="cli")
            if len(owners) > 1:
                whose = f"{number:,} of {len(owners):,} books"
            else:
                whose = "words"
            mended += book.index.rebuild(lambda done, whose=whose: told.say(f"{whose}, {done:,} read"))  # type: ignore[misc]
            left = book.index.left()
            embedded += book.reindex(
                lambda done, left=left: told.say(f"{done:,} of {max(done, left):,} embedded")  # type: ignore[misc]
            )
    meaning = keepbook.meaning
    space = None
    if meaning is not None:
        space = meaning.embedder.space
    call.answer({"owners": len(owners), "mended": mended, "embedded": embedded, "embedder": space}, _reindex_sheet)


def status(call: Invocation) -> None:
    """Tell which embedder is in force, where it is and what waits for it."""
    call.answer(in_force(call), _status)


def install(
    call: Invocation,
    wanted: Annotated[
        str, typer.Argument(metavar="DIR|NAME", help="A folder with model.onnx and tokenizer.json, or a known model.")
    ] = "minilm-l6",
    hub: Annotated[
        str | None, typer.Option("--hub", metavar="URL", help="Where to download from; else the public hub.")
    ] = None,
) -> None:
    """Install an embedder: download a known one by its name, or take the one in a folder; checksums are verified."""
    # Slow to load, and only this command needs it.
    from keepbook.models.embedders.install import HUB, place
    from keepbook.models.embedders.install import install_embedder as put_in_place

    with show_progress("Installing") as told:
        made = put_in_place(
            wanted, hub=hub or HUB, progress=lambda done, of: told.say(f"{done / 1e6:,.0f} of {of / 1e6:,.0f} MB")
        )
    used = call.settings.embedder == "auto"
    call.answer({"installed": wanted, "place": str(place()), "space": made.space, "in_force": used}, _install_sheet)


def in_force(call: Invocation) -> dict[str, Any]:
    """The embedder that the settings lead to, and this owner's backlog."""
    # See install.
    from keepbook.models.embedders import place_of_embedder

    setting, meaning = call.settings.embedder, call.keepbook.meaning
    if meaning is None:
        return {"setting": setting, "embedder": None, "place": None, "waiting": 0}
    place = place_of_embedder(meaning.embedder)
    return {
        "setting": setting, "embedder": meaning.embedder.space, "place": place, "waiting": call.book.index.left(),
    }  # fmt: skip


@contextmanager
def asking(call: Invocation) -> Iterator[None]:
    """Around a question: a small backlog is embedded first, and where meaning had no part in the answer a note says so.

    That is said beside the answer too, since an answer without a hit has no reasons.
    """
    left = call.book.index.catch_up()
    yield
    meaning = call.book.meaning
    if meaning is not None and meaning.failure is not None:
        call.note(f"Words alone answered: {meaning.failure}.")
    elif left:
        call.note(f"Some memories or turns are not embedded yet, so words alone find them. Run: {call.program} reindex")


# What people see


def _reindex_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    books = pluralise(answer["owners"], "book")
    if answer["mended"]:
        mended = f"put right the words of {pluralise(answer['mended'], *_TEXTS)}"
    else:
        mended = "all words are right"
    if answer["embedded"]:
        embedded = f"embedded {pluralise(answer['embedded'], *_TEXTS)}"
    else:
        embedded = "nothing waited"
    if answer["embedder"] is None:
        embedded = "there is no embedder"
    paper.put(f"Reindexed {books}: {mended}; {embedded}.")
    if answer["embedder"] is None:
        paper.put(ink("Recall goes by words alone. See: ", META), paper.hint("embedder", "status"))


def _status(paper: Paper, answer: dict[str, Any]) -> None:
    table = grid(text=1)
    for name, value in embedder_in_words(answer):
        table.add_row(ink(name, META), ink(name_book(value, paper.program)))
    paper.sheet(table)


def embedder_in_words(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What `in_force` found, in words."""
    setting = answer["setting"]
    if answer["embedder"] is None:
        if setting == "none":
            why = "set to none"
        else:
            why = "auto, and none is installed: pip install 'keepbook[embed]'"
        yield "embedder", f"words alone ({why})"
        return
    yield "embedder", f"{answer['embedder']} ({setting}) at {answer['place']}"
    waits = f"{pluralise(answer['waiting'], *_TEXTS)}; to embed them now: `keepbook reindex`"
    yield "waiting for it", waits if answer["waiting"] else "nothing"


def _install_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    paper.put("Installed ", ink(answer["installed"]), " in ", ink(answer["place"]), "; its checksums are right.")
    if answer["in_force"]:
        paper.put("From now on it is in force. To embed what is there already: ", paper.hint("reindex"))
    else:
        paper.put('To put it in force, set embedder = "auto". See: ', paper.hint("embedder", "status"))
