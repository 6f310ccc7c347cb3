"""The figures of a run: scores by way and kind with intervals, costs, and paired differences of two ways or two runs.

A way is a method of finding a context, such as Keepbook or a baseline. The score of a question is the mean of its
points, that of a kind the mean of its questions. If all scores are 0 or 1, the 95 % interval is Wilson's, else that of
a bootstrap over questions. Questions about what nobody said count apart and in no total; the right answer to them says
that it was not mentioned.
"""

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keepbook.bench.answers.question_contexts import KEEPBOOK
from keepbook.bench.answers.stage_files import LineKey, StageFile
from keepbook.book.ground.by_days import wilson

ALL, NOT_TOLD_KIND = "all that was told", "not told"
DRAWS = 2000
"""How many samples a bootstrap draws."""


class AnswerScore(NamedTuple):
    """One judged answer, and the tokens and processor time of its context. `told`: somebody had said the answer."""

    id: str
    way: str
    kind: str
    told: bool
    score: float
    tokens: int
    cpu_ms: float


class PairedDifference(NamedTuple):
    """The mean difference in score of two ways or two runs over the same `n` questions, with its 95 % interval, and how
    many questions did better and worse."""

    name: str
    kind: str
    n: int
    difference: float
    low: float
    high: float
    better: int
    worse: int


# Rules


def share_interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean score."""
    if all(score in (0.0, 1.0) for score in scores):
        return wilson(sum(scores), len(scores))
    return bootstrap_interval(scores)


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean, by a bootstrap. The same values always give the same interval."""
    chance = random.Random(len(values))
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    outside = DRAWS // 40  # 2.5 % at each end
    return means[outside], means[-1 - outside]


def by_kind(scores: Iterable[AnswerScore]) -> dict[str, list[AnswerScore]]:
    """The scores by kind, after two totals: `ALL` of the questions that somebody had said the answer to, and
    `NOT_TOLD_KIND` of the others. A total without scores is left out."""
    totals: dict[str, list[AnswerScore]] = {ALL: [], NOT_TOLD_KIND: []}
    kinds: dict[str, list[AnswerScore]] = {}
    for one in scores:
        totals[ALL if one.told else NOT_TOLD_KIND].append(one)
        kinds.setdefault(one.kind, []).append(one)
    return {name: some for name, some in totals.items() if some} | dict(sorted(kinds.items()))


def figures_of(scores: Sequence[AnswerScore]) -> dict[str, Any]:
    """The figures of one line of the table."""
    low, high = share_interval([one.score for one in scores])
    return {
        "n": len(scores), "score": round(statistics.fmean(one.score for one in scores), 4),
        "low": round(low, 4), "high": round(high, 4), **cost_of([(one.tokens, one.cpu_ms) for one in scores]),
    }  # fmt: skip


def cost_of(taken: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """The cost of contexts, given (tokens, milliseconds) of each: median and 95th percentile of the tokens, and median
    of the processor's milliseconds."""
    tokens = sorted(one for one, _ in taken)
    return {
        "tokens": round(statistics.median(tokens)), "tokens_95": tokens[int((len(tokens) - 1) * 0.95)],
        "cpu_ms": round(statistics.median(ms for _, ms in taken), 2),
    }  # fmt: skip


def paired_differences(
    name: str, ours: Mapping[str, AnswerScore], theirs: Mapping[str, AnswerScore]
) -> Iterator[PairedDifference]:
    """The differences by kind, over the questions that are in both. The keys are ids of questions."""
    both = [one for one in ours.values() if one.id in theirs]
    for kind, some in by_kind(both).items():
        gaps = [one.score - theirs[one.id].score for one in some]
        low, high = bootstrap_interval(gaps)
        yield PairedDifference(
            name=name, kind=kind, n=len(gaps), difference=round(statistics.fmean(gaps), 4), low=round(low, 4),
            high=round(high, 4), better=sum(gap > 0 for gap in gaps), worse=sum(gap < 0 for gap in gaps),
        )  # fmt: skip


# The report


def read_scores(contexts: StageFile, verdicts: StageFile) -> dict[LineKey, AnswerScore]:
    """The scores of all verdicts. Verdicts without a context are left out: they are of another run."""
    found = {}
    for verdict in verdicts:
        id, way = str(verdict["id"]), str(verdict["way"])
        context = contexts.get((id, way))
        if context is not None:
            found[id, way] = AnswerScore(
                id=id, way=way, kind=context["kind"], told=context["told"],
                score=statistics.fmean(verdict["points"]), tokens=context["tokens"], cpu_ms=context["cpu_ms"],
            )  # fmt: skip
    return found


def scores_of_way(scores: Mapping[LineKey, AnswerScore], way: str) -> dict[str, AnswerScore]:
    return {id: one for (id, its_way), one in scores.items() if its_way == way}


def report(
    contexts: StageFile,
    answers: StageFile,
    verdicts: StageFile,
    stored: StageFile,
    book_bytes: int,
    *,
    against: Mapping[LineKey, AnswerScore] | None = None,
) -> dict[str, Any]:
    """All figures of a run. `against` are the scores of an earlier run, to compare each way with."""
    scores = read_scores(contexts, verdicts)
    ways = list(dict.fromkeys(way for _, way in scores))
    tables = {}
    for way in ways:
        kinds = by_kind(scores_of_way(scores, way).values())
        tables[way] = {kind: figures_of(some) for kind, some in kinds.items()}
    pairs = list(_pairs_within(scores, ways))
    if against is not None:
        for way in ways:
            before = scores_of_way(against, way)
            pairs += paired_differences(f"{way} now − before", scores_of_way(scores, way), before)
    spent = {"reader": _tokens_spent(answers), "judge": _tokens_spent(verdicts)}
    return {
        "ways": tables, "contexts": _context_costs(contexts), "paired": [pair._asdict() for pair in pairs],
        "ingestion": _ingestion(stored, book_bytes), "model_tokens": spent,
        "answers": len(answers), "verdicts": len(verdicts),
    }  # fmt: skip


def _pairs_within(scores: Mapping[LineKey, AnswerScore], ways: Sequence[str]) -> Iterator[PairedDifference]:
    """Keepbook against each other way of the same run."""
    ours = scores_of_way(scores, KEEPBOOK)
    for way in ways:
        if ours and way != KEEPBOOK:
            yield from paired_differences(f"{KEEPBOOK} − {way}", ours, scores_of_way(scores, way))


def _context_costs(contexts: StageFile) -> dict[str, Any]:
    taken: dict[str, list[tuple[int, float]]] = {}
    for line in contexts:
        taken.setdefault(line["way"], []).append((line["tokens"], line["cpu_ms"]))
    return {way: {"n": len(some), **cost_of(some)} for way, some in taken.items()}


def _tokens_spent(lines: StageFile) -> dict[str, int]:
    into = out = 0
    for line in lines:
        into += line.get("tokens_in", 0)
        out += line.get("tokens_out", 0)
    return {"in": into, "out": out}


def _ingestion(stored: StageFile, book_bytes: int) -> dict[str, Any]:
    """The cost of storing the conversations. One whose storing was interrupted counts, but its time does not."""
    lines = list(stored)
    timed = [line for line in lines if not line["resumed"]]
    timed_tokens = sum(line["tokens"] for line in timed)
    words_s, vectors_s = (sum(line[name] for line in timed) for name in ("words_cpu_s", "vectors_cpu_s"))
    per_1000_tokens = 1000 / timed_tokens if timed_tokens else 0.0
    return {
        "conversations": len(lines), "turns": sum(line["turns"] for line in lines),
        "tokens": sum(line["tokens"] for line in lines), "book_bytes": book_bytes, "model_calls": 0,
        "words_cpu_ms_per_1000_tokens": round(words_s * 1000 * per_1000_tokens, 2),
        "vectors_cpu_ms_per_1000_tokens": round(vectors_s * 1000 * per_1000_tokens, 2),
    }  # fmt: skip


# Showing


def answer_table(told: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the report: contexts, scores by way and kind, differences, and the cost of storing."""
    yield f"{'way':10}{'kind':28}{'n':>6}{'score':>8}{'95 %':>16}{'tokens':>8}{'95th':>7}{'CPU ms':>9}"
    for way, one in told["contexts"].items():
        yield f"{way:10}{'contexts':28}{one['n']:6}{'':24}{one['tokens']:8}{one['tokens_95']:7}{one['cpu_ms']:9.1f}"
    for way, kinds in told["ways"].items():
        for kind, one in kinds.items():
            interval = f"{one['low']:.3f} – {one['high']:.3f}"
            yield (
                f"{way:10}{kind:28}{one['n']:6}{one['score']:8.3f}{interval:>16}"
                f"{one['tokens']:8}{one['tokens_95']:7}{one['cpu_ms']:9.1f}"
            )
    for pair in told["paired"]:
        interval = f"{pair['low']:+.3f} … {pair['high']:+.3f}"
        yield (
            f"{pair['name']}, {pair['kind']}: {pair['difference']:+.3f} ({interval}) over {pair['n']}, "
            f"{pair['better']} better, {pair['worse']} worse"
        )
    kept = told["ingestion"]
    yield (
        f"kept {kept['turns']:,} turns, {kept['tokens']:,} tokens, in {kept['book_bytes']:,} bytes, no model called: "
        f"for 1,000 tokens {kept['words_cpu_ms_per_1000_tokens']} ms of a processor for words and "
        f"{kept['vectors_cpu_ms_per_1000_tokens']} ms for vectors"
    )
