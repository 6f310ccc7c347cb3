"""What came of trade files that a stranger made; see docs/security.md. With KEEPBOOK_HEAVY_FILES=1 in full size."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from keepbook.book.upkeep.reading_apart import ReadingLimits, resident_bytes
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.files import read_rows
from keepbook.extensions.trading.book.imports.freqtrade_file import NEEDED, read_freqtrade
from keepbook.extensions.trading.book.imports.trade_table import read_trade_file
from keepbook.extensions.trading.book.market.bars import COLUMNS, LAYOUT

HEAVY = os.environ.get("KEEPBOOK_HEAVY_FILES") == "1"
LIMITS = ReadingLimits(512, 60) if HEAVY else ReadingLimits(160, 10)
TOLD = {"symbol": "BTC/USD", "timeframe": "1h"}


def test_a_small_parquet_file_of_endless_rows_ends_at_a_limit(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = 100_000_000 if HEAVY else 400_000
    one = arrow.array(["2026-01-01T00:00:00Z"]).dictionary_encode()
    times = arrow.DictionaryArray.from_arrays(arrow.repeat(arrow.scalar(0, arrow.int32()), rows // 10), one.dictionary)
    figures = arrow.repeat(arrow.scalar(1.0), rows // 10)
    part = arrow.table({"time": times} | dict.fromkeys(COLUMNS[3:], figures))
    with parquet.ParquetWriter(tmp_path / "bomb.parquet", part.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(part)
    assert (tmp_path / "bomb.parquet").stat().st_size < rows // 10
    before = resident_bytes(os.getpid())
    with pytest.raises(Invalid, match=r"more than \d+ (MB|s) .*(import_memory_mb|import_cpu_seconds)"):
        for _ in read_rows(tmp_path / "bomb.parquet", LAYOUT, TOLD, LIMITS, "rows"):
            pass
    assert resident_bytes(os.getpid()) - before < 50_000_000


@pytest.mark.skipif(not HEAVY, reason="takes a gigabyte to make")
def test_one_huge_value_in_a_parquet_file_ends_at_the_memory_limit(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    value = arrow.array(["x" * (1_000_000_000)])
    figures = {name: arrow.array([1.0]) for name in COLUMNS[3:]}
    parquet.write_table(arrow.table({"time": value} | figures), tmp_path / "wide.parquet", compression="zstd")
    assert (tmp_path / "wide.parquet").stat().st_size < 1_000_000
    with pytest.raises(Invalid, match="import_memory_mb"):
        list(read_rows(tmp_path / "wide.parquet", LAYOUT, TOLD, LIMITS))


def _database(path: Path, *statements: str) -> Path:
    file = sqlite3.connect(path)
    for statement in statements:
        file.execute(statement)
    file.commit()
    file.close()
    return path


def test_a_trade_database_with_views_triggers_and_logs_computes_and_changes_nothing(tmp_path: Path) -> None:
    columns = ", ".join(sorted(NEEDED))
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    view = _database(
        tmp_path / "view.sqlite",
        f"CREATE VIEW trades ({columns}) AS {endless} SELECT {', '.join('i' * len(NEEDED))} FROM n",
    )
    with pytest.raises(Invalid, match="no trade database"):
        list(read_freqtrade(view, LIMITS))
    table = f"CREATE TABLE trades ({columns})"
    names = "i AS ft_trade_id, 'buy' AS ft_order_side, 1 AS filled, i AS price"
    orders = f"CREATE VIEW orders AS {endless} SELECT {names} FROM n"
    row = f"INSERT INTO trades VALUES ({', '.join('1' * len(NEEDED))})"
    trigger = "CREATE TRIGGER t AFTER INSERT ON trades BEGIN DELETE FROM trades; END"
    real = _database(tmp_path / "real.sqlite", table, orders, row, trigger)
    before = real.read_bytes()
    assert _trades(real) == [(1, {})]
    (tmp_path / "real.sqlite-wal").write_bytes(os.urandom(4096))
    assert _trades(real) == [(1, {})]  # a log of nobody's is left alone
    (tmp_path / "real.sqlite-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + os.urandom(4096))
    with suppress(Invalid):  # it looks as if the bot had crashed, and may be refused
        assert _trades(real) == [(1, {})]
    assert real.read_bytes() == before


def _trades(file: Path) -> list[tuple[int, dict[str, object]]]:
    return [(trade["id"], dict(found)) for trade, found in read_freqtrade(file, LIMITS)]


FILLINGS = ["<a ", "<!--", "<![CDATA[", "<tr><td>", "&#x", "</"]


@pytest.mark.parametrize("filling", FILLINGS if HEAVY else FILLINGS[:1])
def test_a_report_in_html_is_read_apart_and_ends_at_a_limit(filling: str) -> None:
    size = 5_000_000 if HEAVY else 100_000
    page = b"<html><table><tr><td>x</td></tr>" + filling.encode() * (size // len(filling))
    with pytest.raises(Invalid, match=r"no table of trades|import_cpu_seconds|import_memory_mb"):
        read_trade_file(page, None, None, LIMITS)


@pytest.mark.skipif(not HEAVY, reason="the core's tests do the same with a smaller one")
def test_megabytes_of_newlines_are_no_table() -> None:
    with pytest.raises(Invalid, match="empty"):
        read_trade_file(b"\n" * 20_000_000, None, None, LIMITS)
