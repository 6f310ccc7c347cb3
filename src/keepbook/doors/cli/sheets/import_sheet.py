"""What an import did, or would do: for each book what came in, what was there, what stays out and why."""

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from keepbook.doors.cli.sheets.chats import all_closed
from keepbook.doors.cli.terminal.paper import AMBER, HEAD, META, Paper, columns, ink, pluralise

if TYPE_CHECKING:
    from keepbook.book.upkeep.import_answer import Imported
    from keepbook.book.upkeep.importers.write import ImportedItem

SHOWN = 50
"""Lines of each table; --json has all."""
OUTCOMES = {"new": "comes in", "changed": "reworded", "there": "there already", "trash": "in the trash"}


def imported_and_read(paper: Paper, answer: dict[str, Any], owner: str) -> None:
    import_sheet(paper, answer["imported"], owner, read=True)
    all_closed(paper, answer["read"])


def import_sheet(paper: Paper, answer: "Imported | tuple[Imported, ...]", owner: str, *, read: bool = False) -> None:
    """`owner` is whose book the next command is about, unless it says otherwise."""
    if isinstance(answer, tuple):
        answers = answer
    else:
        answers = (answer,)
    for one in answers:
        if len(answers) > 1:
            paper.put(ink(one.owner, HEAD))
        if one.dry_run:
            _dry_run_sheet(paper, one)
        else:
            whose = [] if one.owner in (owner, None) else ["--owner", shlex.quote(one.owner)]
            _taken_sheet(paper, one, whose, read=read)
        _refused_table(paper, one)


def _dry_run_sheet(paper: Paper, answer: "Imported") -> None:
    chats = ""
    if answer.chats:
        chats = f" and {pluralise(answer.chats, 'chat')}"
    paper.put(
        "Only looked; nothing was kept. It would bring ", pluralise(answer.memories, "memory", "memories"), chats, ".",
        f" {answer.unchanged:,} are in the book already." if answer.unchanged else "",
    )  # fmt: skip
    _arming(paper, answer)
    if answer.came:
        table = columns("", "from", "category", "what", text=3)
        for one in answer.came[:SHOWN]:
            table.add_row(ink(OUTCOMES[one.outcome], META), _since(one), ink(one.category, META), _words(one))
        paper.sheet(table, indent=2)
        _more_line(paper, len(answer.came))


def _taken_sheet(paper: Paper, answer: "Imported", whose: list[str], *, read: bool) -> None:
    _arming(paper, answer)
    chats = ""
    if answer.chats:
        chats = f" and {pluralise(answer.chats, 'chat')}"
    if not answer.memories and not answer.chats and answer.unchanged:
        paper.put("Nothing new: all ", pluralise(answer.unchanged, "memory", "memories"), " were in the book already.")
        return
    already = ""
    if answer.unchanged:
        already = f" {answer.unchanged:,} were in the book already."
    taken = pluralise(answer.memories, "memory", "memories")
    paper.put("Imported ", taken, chats, ".", already, " See: ", paper.hint("list", *whose))
    if answer.load is not None:
        paper.put("Take it back: ", paper.hint("undo", "--load", answer.load, *whose))
    if answer.chats and not read:
        close = paper.hint("threads close --all --offline", *whose)
        paper.put("The chats are open. Read them for memories on this machine: ", close)


def take_back_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    gone = [pluralise(len(answer["memories"]), "line"), pluralise(len(answer["chats"]), "chat")]
    paper.put("Taken back: ", gone[0], " and ", gone[1], ". The same file can be imported anew.")
    if answer["stayed"]:
        paper.put(ink(f"{answer['stayed']:,} stayed: something newer touched them.", AMBER))


def take_back_other_sheet(paper: Paper, answer: dict[str, Any], what: str) -> None:
    """The same for a load of an extension; `what` it brought is named in the plural."""
    number = pluralise(answer[what], what.removesuffix("s"), what)
    paper.put("Taken back: ", number, ". The same file can be loaded anew.")


def _arming(paper: Paper, answer: "Imported") -> None:
    for agent in answer.to_arm:
        paper.put(ink(f"{agent} rests until you say that it may run here: "), paper.hint("agent", "arm", agent))


def _refused_table(paper: Paper, answer: "Imported") -> None:
    if not answer.refused:
        return
    if answer.dry_run:
        verb = "would stay out"
    else:
        verb = "stayed out"
    paper.put(ink(f"{pluralise(len(answer.refused), 'thing')} {verb}:", AMBER))
    shown = answer.refused[:SHOWN]
    heads = ("where", "why", "what") if any(one.text for one in shown) else ("where", "why")
    table = columns(*heads, text=len(heads) - 1)
    for one in shown:
        table.add_row(*[ink(one.where, META), ink(one.why), ink(one.text, META)][: len(heads)])
    paper.sheet(table, indent=2)
    _more_line(paper, len(answer.refused))


def _since(one: "ImportedItem") -> Text:
    return ink((one.since or "")[:10], META)


def _words(one: "ImportedItem") -> Text:
    return ink(f"{'chat: ' if one.what == 'chat' else ''}{one.text}")


def _more_line(paper: Paper, number: int) -> None:
    if number > SHOWN:
        paper.put(ink(f"  … and {number - SHOWN:,} more; --json has all of them", META))
