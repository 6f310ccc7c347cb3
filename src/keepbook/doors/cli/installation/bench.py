"""`keepbook bench …`: Keepbook measured on this machine, against the bars it has set itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import Paper, ink, pluralise
from keepbook.errors import Invalid, NotFound
from keepbook.extension import shipped


def register(app: typer.Typer) -> None:
    bench = group(app, "bench", panel=CARE, words="Measure Keepbook on this machine.")
    command(bench, "memory", bench_memory)
    command(bench, "extraction", bench_extraction)
    command(bench, "closing", bench_closing)
    command(bench, "recall", bench_recall)
    command(bench, "answers", bench_answers)
    command(bench, "http", bench_http)
    # These two measure what extensions of this package bring, which may not be here.
    if "trading" in shipped():
        command(bench, "trading", bench_trading)
    if {"agents", "trading"} <= shipped().keys():
        command(bench, "pages", bench_pages)
    command(bench, "scale", bench_scale)
    command(bench, "growth", bench_growth)


def bench_memory(
    call: Invocation,
    owners: Annotated[int, typer.Option("--owners", min=1, help="Grow to this many owners.")] = 100_000,
    postgres: Annotated[
        str | None, typer.Option("--postgres", metavar="URL", help="Measure the growth on this server too.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller, for a first look.")] = False,
) -> None:
    """Measure remember, block, list and the growth in owners against bare sqlite3; exit code 1 over a bar."""
    # The bench reaches down everywhere and is loaded only when asked for.
    from keepbook.bench.memory import main as run

    if not run(owners=owners, postgres=postgres, json=call.as_json, quick=quick):
        raise typer.Exit(1)


def bench_extraction(
    call: Invocation,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where the predictions go.", show_default=False)],
    data: Annotated[
        str, typer.Option("--data", metavar="FILE", help="Chats, one a line.")
    ] = "../shared/data/extraction-dev.jsonl",
) -> None:
    """Run the offline extractor over a file of chats and write what it would do, for the scorer."""
    # See bench_memory.
    from keepbook.bench.extraction import predict

    _require_file(data)
    try:
        chats = predict(data, out)
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(f"{data} is not a file of chats for this bench: {error!r}", field="data") from None
    call.answer({"chats": chats, "out": out}, _prediction_sheet)


def bench_closing(
    call: Invocation,
    turns: Annotated[int, typer.Option("--turns", min=2, help="Turns of the chat.")] = 200,
    characters: Annotated[int, typer.Option("--characters", min=400, help="Length of the long texts.")] = 200_000,
) -> None:
    """Measure what reading a closing chat costs, as ratios; exit code 1 over a bar."""
    # See bench_memory.
    from keepbook.bench.closing import main as run

    if not run(json=call.as_json, turns=turns, characters=characters):
        raise typer.Exit(1)


def bench_recall(
    call: Invocation,
    data: Annotated[
        str, typer.Option("--data", metavar="FILE", help="Conversations with questions and their evidence.")
    ] = "../shared/data/locomo10.json",
    joined: Annotated[
        int, typer.Option("--joined", min=0, metavar="N", help="Make one long message of N chats, each side.")
    ] = 0,
    scale: Annotated[bool, typer.Option("--scale", help="Measure its growth and its peers instead.")] = False,
) -> None:
    """Measure how well and how fast recall finds what answers."""
    # See bench_memory.
    from keepbook.bench.recall import main as run

    if not scale:
        _require_file(data)
    if not run(data, call.as_json, scale, joined):
        raise typer.Exit(1)


def bench_answers(
    call: Invocation,
    data: Annotated[
        str | None, typer.Option("--data", metavar="PATH", help="Conversations and questions, in one of three formats.")
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="FOLDER", help="Where book and stages are kept.")] = "answers",
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Who answers; else the model.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="NAME", help="Who judges; else who answers.")] = None,
    until: Annotated[str, typer.Option("--until", metavar="STAGE", help="The last one made.")] = "verdicts",
    contexts: Annotated[str | None, typer.Option("--contexts", metavar="FILE", help="What readers are shown.")] = None,
    answers: Annotated[str | None, typer.Option("--answers", metavar="FILE", help="What they answered.")] = None,
    verdicts: Annotated[str | None, typer.Option("--verdicts", metavar="FILE", help="What was judged.")] = None,
    way: Annotated[
        list[str] | None, typer.Option("--way", help="keepbook, fts5, embedder or full; may be repeated.")
    ] = None,
    places: Annotated[
        int | None, typer.Option("--places", min=1, max=200, help="So many turns are recalled at most.")
    ] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", min=1, help="The most a context takes.")] = None,
    full: Annotated[int, typer.Option("--full", min=0, help="The most tokens shown in full.")] = 100_000,
    half: Annotated[str | None, typer.Option("--half", help="LoCoMo's halves: tuning or report.")] = None,
    questions: Annotated[int | None, typer.Option("--questions", min=1, help="At most so many of a kind.")] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=64, help="Requests at once.")] = 4,
    against: Annotated[str | None, typer.Option("--against", metavar="FOLDER", help="Compare with this run.")] = None,
) -> None:
    """Measure whether a model answers right from what recall brings; exit code 1 where a stage is not complete."""
    # See bench_memory.
    from keepbook.bench.answers.answer_run import STAGES, AnswerRun
    from keepbook.bench.answers.answer_run import main as run
    from keepbook.bench.answers.question_contexts import WAYS, ContextLimits
    from keepbook.bench.recall_sets import HALVES

    _require_one_of(STAGES, until, "until")
    _require_one_of((None, *HALVES), half, "half")
    for one in way or ():
        _require_one_of(WAYS, one, "way")
    asked = AnswerRun(
        data=data, out=Path(out), files={"contexts": contexts, "answers": answers, "verdicts": verdicts}, until=until,
        model=model, judge=judge, ways=way or WAYS, limits=ContextLimits(places, tokens, full), half=half,
        questions=questions, at_once=at_once, against=against,
    )  # fmt: skip
    if not run(asked, call.settings, call.as_json):
        raise typer.Exit(1)


def bench_http(
    call: Invocation,
    rounds: Annotated[int, typer.Option("--rounds", min=10, help="How often each request is sent.")] = 200,
) -> None:
    """Requests a second for block, list, remember, recall and each page, beside an empty route."""
    # See bench_memory.
    from keepbook.bench.http import main as run

    run(call.as_json, rounds)


def bench_trading(
    call: Invocation,
    bars: Annotated[
        str, typer.Option("--bars", metavar="N,M", help="Load so many, each into a new book.")
    ] = "100000,1000000",
    trades: Annotated[int, typer.Option("--trades", min=0, help="And so many trades.")] = 100_000,
) -> None:
    """Measure loading, its memory, and exposure as bars grow; exit code 1 over a bar."""
    # See bench_memory.
    from keepbook.bench.trading import main as run

    try:
        sizes = [int(size.replace("_", "")) for size in bars.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise Invalid(f"--bars takes numbers like 100000,10000000, not {bars!r}", field="bars")
    if not run(call.as_json, sizes, trades):
        raise typer.Exit(1)


def bench_pages(
    call: Invocation,
    trades: Annotated[int, typer.Option("--trades", min=1, help="Closed trades of a deployment.")] = 1_000_000,
    decisions: Annotated[int, typer.Option("--decisions", min=1, help="Decisions, a fifth of them open.")] = 10_000,
) -> None:
    """Measure the pages of a large deployment and of many decisions; exit code 1 over a second of the processor."""
    # See bench_memory.
    from keepbook.bench.pages import main as run
    from keepbook.doors.http.app import create_app

    if not run(call.as_json, create_app, trades, decisions):
        raise typer.Exit(1)


def bench_scale(
    call: Invocation,
    owners: Annotated[int, typer.Option("--owners", min=1, help="Grow to this many owners.")] = 100_000,
    memories: Annotated[int, typer.Option("--memories", min=1, help="And one owner to this many memories.")] = 100_000,
    messages: Annotated[int, typer.Option("--messages", min=1, help="And to this many messages.")] = 1_000_000,
    full: Annotated[bool, typer.Option("--full", help="A million of each: hours.")] = False,
    postgres: Annotated[
        str | None, typer.Option("--postgres", metavar="URL", help="Measure on this server too.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="URL", help="And in this empty database of a Citus cluster.")
    ] = None,
    pictures: Annotated[
        str | None, typer.Option("--pictures", metavar="FOLDER", help="Write the curves there, as SVG.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=1, help="Keep and ask a history of so many wordpieces instead.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="FOLDER", help="Leave that history there, and go on with it.")
    ] = None,
) -> None:
    """Measure how block, remember, list, recall, verify, export and closing grow, as ratios."""
    if tokens is not None:
        # See bench_memory.
        from keepbook.bench.history.history_scale import main as run_history

        if not run_history(tokens, keep, call.as_json):
            raise typer.Exit(1)
        return
    # See bench_memory.
    from keepbook.bench.scale import main as run

    sizes = {"owners": owners, "memories": memories, "messages": messages}
    if full:
        sizes = dict.fromkeys(sizes, 1_000_000)
    if not run(sizes, postgres=postgres, cluster=cluster, folder=pictures, json=call.as_json):
        raise typer.Exit(1)


def bench_growth(
    call: Invocation,
    memories: Annotated[int, typer.Option("--memories", min=1000, help="Grow to this many memories.")] = 100_000,
    postgres: Annotated[
        str | None, typer.Option("--postgres", metavar="URL", help="Measure on this server too.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="FOLDER", help="Leave the books there, and measure them again.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Measure this alone; may be repeated.")] = None,
) -> None:
    """Measure how the processor time of each read grows with the memories of one owner, as slopes."""
    # See bench_memory.
    from keepbook.bench.growth import SIZES
    from keepbook.bench.growth import main as run

    sizes = [*(size for size in SIZES if size < memories), memories]
    if not run(sizes, postgres=postgres, keep=keep, only=only or (), json=call.as_json):
        raise typer.Exit(1)


def _require_one_of(known: Sequence[str | None], given: str | None, field: str) -> None:
    if given not in known:
        raise Invalid(f"--{field} is one of {', '.join(filter(None, known))}, not {given!r}", field=field)


def _require_file(data: str) -> None:
    if not Path(data).is_file():
        raise NotFound(f"there is no file {data}; name the data with --data FILE", field="data")


def _prediction_sheet(paper: Paper, answer: dict[str, Any]) -> None:
    paper.put(f"Read {pluralise(answer['chats'], 'chat')}; what would be kept is in ", ink(answer["out"]), ".")
