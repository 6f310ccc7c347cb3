"""Files of skills and deployments: each row adds one or changes the one that it names.

A row is kept whole or not at all, and what it leaves open stays as it is.
"""

from collections.abc import Callable
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.errors import Ambiguous, Conflict, Invalid, NotFound
from keepbook.extensions.trading.book.files import Layout, Progress, Source, load_file, refuse_missing
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.skills import (
    DEPLOYMENT_FIELDS,
    FIELDS,
    Deployment,
    Skill,
    change_deployment,
    create_deployment,
    create_skill,
    deployments_made,
    describe_skill,
    find_deployment,
    get_skill,
    living_skills,
    named_row,
    set_field,
    skill_id_by_name,
)
from keepbook.storage.bulk_rows import KeptCounts, RowValues
from keepbook.storage.database import Tx

SKILL_FILE = Layout("skills", ("id", "name", "description", *FIELDS), needed=("name",))
DEPLOYMENT_FILE = Layout("deployments", ("id", "skill", *DEPLOYMENT_FIELDS), needed=("name", "skill"))


def load_skills(book: OpenBook, source: Source, *, progress: Progress | None = None) -> LoadedFile:
    """Load the skills of a file. An existing one is updated; empty cells change nothing."""

    def put(tx: Tx, row: RowValues) -> tuple[Skill | None, Skill]:
        told = _row_texts(SKILL_FILE, row)
        now, id, name = stamp(tx.clock()), told.pop("id", None), told.pop("name")
        known = named_row(living_skills(tx), id, name)
        if known is None:
            return None, create_skill(tx, book.origin, now, name, id=id, **told)
        before = get_skill(tx, known.id)
        for field in FIELDS:
            if field in told:
                set_field(tx, book.origin, now, known.id, field, told[field])
        if "description" in told:
            describe_skill(tx, book.origin, known.id, told["description"])
        return before, get_skill(tx, known.id)

    return _load_one_by_one(book, source, SKILL_FILE, put, progress)


def load_deployments(book: OpenBook, source: Source, *, progress: Progress | None = None) -> LoadedFile:
    """Load the deployments of a file. An existing one is updated, but keeps its skill."""

    def put(tx: Tx, row: RowValues) -> tuple[Deployment | None, Deployment]:
        told = _row_texts(DEPLOYMENT_FILE, row)
        id, name, skill_id = told.pop("id", None), told.pop("name"), skill_id_by_name(tx, told.pop("skill"))
        known = named_row(deployments_made(tx), id, name)
        if known is None:
            return None, create_deployment(tx, book.origin, stamp(tx.clock()), name, skill_id, id=id, **told)
        before = find_deployment(tx, known.id)
        if before.skill_id != skill_id:
            raise Conflict(f"{before.name!r} runs the skill {before.skill!r}; give the new one a name of its own")
        return before, change_deployment(tx, book.origin, known.id, **({"name": name} if id else {}), **told)

    return _load_one_by_one(book, source, DEPLOYMENT_FILE, put, progress)


def _row_texts(layout: Layout, row: RowValues) -> dict[str, Any]:
    """What a row says, as text, without what it leaves open."""
    refuse_missing(layout, row)
    return {
        name: value if name in ("started_at", "ended_at", "capital") else str(value).strip()
        for name, value in zip(layout.columns, row, strict=True)
        if value not in (None, "")
    }


def _load_one_by_one(
    book: OpenBook, source: Source, layout: Layout, put: Callable[[Tx, RowValues], Any], progress: Progress | None
) -> LoadedFile:
    """A few rows, each kept whole or not at all."""

    def to_row(row: RowValues) -> RowValues:
        try:
            with book.writing() as (tx, _):
                before, after = put(tx, row)
        except (Conflict, NotFound, Ambiguous) as error:
            raise Invalid(error.message) from error
        if before is None:
            return ("added",)
        return ("unchanged" if before == after else "changed",)

    def count(rows: list[RowValues]) -> KeptCounts:
        words = [row[0] for row in rows]
        return KeptCounts(words.count("added"), words.count("changed"), words.count("unchanged"))

    return load_file(source, layout, {}, to_row, count, progress, limits_in(book.settings)).to_loaded()
