"""Interactive Brokers: a Flex query, as CSV or as XML. Only executions are fills; rows that sum them up are refused.

The quantity has a sign. A query has the columns that its owner chose; the error names a needed one that is missing. An
option ends in a row at price 0 with a code for the reason; splits stand among the corporate actions.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.parts.options import CONTRACT, parse_option
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_action,
    make_fill,
    or_wrong,
    paid_beside,
    without_cancelled,
)
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, SPLIT, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.patterns import regex

IDS = ("ibexecid", "tradeid", "transactionid")
ACCOUNTS = ("clientaccountid", "accountid")
ENDINGS = {"A": "assigned", "Ex": "exercised", "Ep": "expired", "AEx": "exercised", "GEA": "exercised"}
"""Why an option ended, by the code of its row."""
SECTIONS = {"CORP": "CorporateAction", "OPTT": "OptionEAE", "TRFR": "Transfer", "TRNT": "Trade"}
"""The tables of a query, by the code that a CSV file has for them."""
BONDS, BOND_SIZE = ("BOND", "BILL"), 0.01
"""The asset classes of bonds, and their multiplier: they are quoted in percent of what they pay back."""
COMPARED = ("STK", "OPT", "FOP", "WAR", "FUND", *BONDS)
"""Asset classes whose proceeds are the quantity times the price; those of futures and of CFDs may be 0."""
_RATIO = regex(r"\bSPLIT\s+(\d+(?:\.\d+)?)\s+FOR\s+(\d+(?:\.\d+)?)", re.IGNORECASE)


def flex_codes(text: object) -> set[str]:
    """The codes of a row: `{"C", "Ep"}` for `C;Ep`."""
    return {code.strip() for code in str(text or "").replace(",", ";").split(";")}


def delivery(codes: set[str]) -> str | None:
    """`assigned` or `exercised`, if shares changed hands because of an option; else None."""
    return next((why for code, why in ENDINGS.items() if code in codes and why != "expired"), None)


def only_closes(codes: set[str], open_or_close: object = "") -> bool:
    """Whether a trade closes and does not open: it has the code `C`, and no `O`."""
    told = codes | flex_codes(open_or_close)
    return "C" in told and "O" not in told


def split_ratio(words: str) -> Decimal | None:
    """The ratio that a description names, 4 for `Split 4 for 1`; None if it names none."""
    found = _RATIO.search(words)
    if found and Decimal(found[2]):
        return Decimal(found[1]) / Decimal(found[2])
    return None


def flex_table(line: FileRow) -> str:
    """The table that a row belongs to: as the file says, or else guessed by the row's columns."""
    if line.section:
        return SECTIONS.get(line.section, line.section)
    if "tradeprice" in line.cells and "ibcommission" in line.cells:
        return "Trade"
    names = line.cells.keys()
    if "actiondescription" in names or (names >= {"description", "quantity", "type"} and "direction" not in names):
        return "CorporateAction"
    if "transactiontype" in line.cells:
        return "OptionEAE"
    return "Transfer"


def read_query(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills, endings of options and splits of a query, table by table."""
    trades = [line for line in table.lines if flex_table(line) in ("Trade", "Order")]
    others = [line for line in table.lines if flex_table(line) not in ("Trade", "Order")]
    has_executions = any(_detail(line) in ("EXECUTION", "TRADE") for line in trades)
    found = [((line.row,), or_wrong(line, read_fill, line, reader, has_executions)) for line in trades]
    cancels = {line.row for line in trades if is_cancel(line)}
    yield from without_cancelled(found, cancels)
    ended = {(one.symbol, one.time[:10]) for _, one in found if isinstance(one, Fill) and one.side == EXPIRY}
    yield from read_corporate_actions([line for line in others if flex_table(line) == "CorporateAction"], reader)
    for line in others:
        if flex_table(line) == "OptionEAE":
            yield (line.row,), or_wrong(line, _ending, line, reader, ended)
        elif flex_table(line) != "CorporateAction":
            yield (line.row,), Invalid(f"{line.cells.get('type') or 'a transfer'} is no trade")


def is_cancel(line: FileRow) -> bool:
    """Whether a row cancels an earlier one."""
    way = str(line.cells.get("buy/sell") or line.cells.get("buysell") or "")
    return "Ca" in _codes_of(line) or "(ca" in way.lower()


def _codes_of(line: FileRow) -> set[str]:
    return flex_codes(line.cells.get("notes/codes") or line.cells.get("notes"))


def _detail(line: FileRow) -> str:
    return str(line.cells.get("levelofdetail") or line.cells.get("datadiscriminator") or "EXECUTION").upper()


def _quote_of(line: FileRow) -> str:
    return str(line.cells.get("currencyprimary") or line.cells.get("currency") or "").upper()


def _account_of(line: FileRow) -> str:
    return next((str(line.cells[name]) for name in ACCOUNTS if line.cells.get(name)), "")


def read_fill(line: FileRow, reader: CellReader, has_executions: bool = True) -> Fill:
    """An execution, or the end of an option. An order is read only if the file has no executions, which it sums up."""
    detail = _detail(line)
    is_only_order = detail == "ORDER" and not has_executions
    if detail not in ("EXECUTION", "TRADE") and not is_only_order:
        raise Invalid(f"{detail.lower()} is a sum of executions, no execution")
    symbol, size = _symbol_and_size(line, reader)
    quantity = reader.number(line, "quantity")
    price = reader.number(line, "tradeprice")
    stated_profit = reader.optional(line, "fifopnlrealized")
    profit = float(stated_profit) if stated_profit else None
    id_column = next((name for name in IDS if line.cells.get(name)), "")
    codes = _codes_of(line)
    if _class_of(line) in COMPARED:
        computed = -quantity * price * Decimal(str(size))
        reader.compare(line.row, "quantity × price", computed, reader.optional(line, "proceeds"))
    shared: dict[str, Any] = {
        "time": _time(line, reader), "symbol": symbol, "quantity": quantity, "id": line.cells.get(id_column),
        "id_kind": id_column, "multiplier": size, "quote": _quote_of(line), "account": _account_of(line),
    }  # fmt: skip
    if price == 0 and parse_option(symbol) is not None:
        why = next((words for code, words in ENDINGS.items() if code in codes), "expired")
        return make_action(line, side=EXPIRY, reason=why, profit=profit if why == "expired" else None, **shared)
    way = str(line.cells.get("buy/sell") or line.cells.get("buysell") or ("buy" if quantity > 0 else "sell"))
    side = values.parse_side(way.partition(" ")[0].partition("(")[0])
    closes = only_closes(codes, line.cells.get("opencloseindicator") or line.cells.get("open/closeindicator"))
    return make_fill(
        line, side=side, price=price, fees=paid_beside(_fees(line, reader), symbol, price), profit=profit,
        reason=delivery(codes), from_holding=closes and side == "sell", closes_only=closes and side == "buy", **shared,
    )  # fmt: skip


def _fees(line: FileRow, reader: CellReader) -> tuple[tuple[Decimal, str], ...]:
    """Commission and taxes, with their currency. In the file what was paid has a minus."""
    coin = str(line.cells.get("ibcommissioncurrency") or "").upper() or _quote_of(line)
    paid = [reader.optional(line, name) for name in ("ibcommission", "taxes")]
    return tuple((-one, coin) for one in paid if one)


def _class_of(line: FileRow) -> str:
    return str(line.cells.get("assetclass") or line.cells.get("assetcategory") or "").upper()


def _symbol_and_size(line: FileRow, reader: CellReader) -> tuple[str, float]:
    """The symbol in the book's spelling, and its multiplier."""
    named = str(line.cells[first_filled(line, "symbol")])
    contract = parse_option(named) or parse_option(str(line.cells.get("description") or ""))
    kind = _class_of(line)
    if kind == "CASH":
        return values.symbol(named), 1.0
    if contract and kind in ("OPT", "FOP", ""):
        symbol = contract.symbol
    else:
        symbol = " ".join(named.upper().split())[:40]
    size = reader.optional(line, "multiplier") or Decimal(0)
    if kind in BONDS:
        return symbol, reader.told_multiplier(symbol) or _bond_size(line, reader) * float(size or 1)
    if size:
        return symbol, float(size)
    told = reader.told_multiplier(symbol)
    if told is not None:
        return symbol, told
    if kind in ("FUT", "FOP"):
        raise Invalid("multiplier is missing: choose that column in the query, or say it", field="multiplier")
    return symbol, CONTRACT if contract or kind == "OPT" else 1.0


def _bond_size(line: FileRow, reader: CellReader) -> float:
    """The multiplier of a bond: 1 if the proceeds show that its price is no percentage."""
    paid = abs(reader.optional(line, "proceeds") or Decimal(0))
    worth = abs(reader.number(line, "quantity") * reader.number(line, "tradeprice"))
    if paid and abs(worth - paid) <= paid / 100:
        return 1.0
    return BOND_SIZE


def _time(line: FileRow, reader: CellReader) -> str:
    """The time of a row, from one column or from two."""
    for name in ("datetime", "date/time"):
        if line.cells.get(name):
            return reader.moment(line, name)
    day, clock = line.cells[first_filled(line, "tradedate", "date", "reportdate")], line.cells.get("tradetime") or ""
    if clock:
        return reader.instant(f"{day};{clock}", "tradedate")
    return reader.instant(day, "tradedate")


def read_corporate_actions(lines: Sequence[FileRow], reader: CellReader) -> Iterator[ReadRow]:
    """The splits among corporate actions. A split has one row, or two: the old shares out, and the new ones in."""
    groups: dict[tuple[str, str], list[FileRow]] = {}
    for line in lines:
        words = _words_of(line)
        if line.wrong is not None or split_ratio(words) is None:
            what = str(line.cells.get("type") or "") or words[:80] or "it"
            yield (line.row,), Invalid(line.wrong or f"{what} is no trade and no split: enter what came of it by hand")
        elif "Ca" in flex_codes(line.cells.get("code")):
            yield (line.row,), Invalid("a cancelled corporate action")
        else:
            about = words
            if words.rstrip().endswith(")"):  # the end in brackets names old or new shares: "(AAPL, APPLE INC, US0…)"
                about = words.rpartition(" (")[0]
            groups.setdefault((about, str(line.cells.get("date/time") or line.cells.get("datetime"))), []).append(line)
    for of_split in groups.values():
        rows = tuple(line.row for line in of_split)
        found = or_wrong(of_split[0], _split, of_split[0], reader)
        if isinstance(found, Fill):
            yield rows, found
        else:
            yield from (((row,), found) for row in rows)


def _words_of(line: FileRow) -> str:
    """The description of a corporate action; of the two that a row may have, the one with the ratio of a split."""
    descriptions = (str(line.cells.get(name) or "") for name in ("actiondescription", "description"))
    return next((words for words in descriptions if split_ratio(words)), str(line.cells.get("description") or ""))


def _split(line: FileRow, reader: CellReader) -> Fill:
    words = _words_of(line)
    symbol = str(line.cells.get("symbol") or "")
    if "(" in words:  # the description begins with the symbol: "AAPL(US0378331005) SPLIT 4 FOR 1"
        symbol = words.partition("(")[0].strip()
    if not symbol or " " in symbol:
        symbol = str(line.cells[first_filled(line, "symbol")]).removesuffix(".OLD")
    return make_action(
        line, time=_time(line, reader), symbol=symbol.upper(), side=SPLIT,
        quantity=split_ratio(words) or Decimal(0), quote=_quote_of(line), account=_account_of(line),
    )  # fmt: skip


def _ending(line: FileRow, reader: CellReader, ended: set[tuple[str, str]]) -> Fill:
    """The end of an option, from a table that has only such ends. Raises `Invalid` if a trade in `ended` (symbol, day)
    has it already. The shares that change hands are among the trades."""
    kind = str(line.cells.get("transactiontype") or "").strip().lower()
    symbol, size = _symbol_and_size(line, reader)
    time = _time(line, reader)
    why = {"expiration": "expired", "assignment": "assigned", "exercise": "exercised"}.get(kind)
    if why is None or (symbol, time[:10]) in ended:
        raise Invalid(f"{kind or 'it'} is told by the trades already")
    return make_action(
        line, time=time, symbol=symbol, side=EXPIRY, quantity=reader.number(line, "quantity"), reason=why,
        id=line.cells.get("tradeid") or None, multiplier=size, id_kind="tradeid", quote=_quote_of(line),
        account=_account_of(line),
    )  # fmt: skip


TRADES = FileFormat(
    "ibkr-flex",
    "Interactive Brokers, Flex trades",
    (frozenset({"symbol", "quantity", "tradeprice", "ibcommission", "datetime|date/time|tradedate",
                "currencyprimary|currency"}),),
    frozenset({*IDS, *ACCOUNTS, "symbol", "quantity", "tradeprice", "ibcommission", "ibcommissioncurrency",
               "currencyprimary", "currency", "multiplier", "fifopnlrealized", "buy/sell", "buysell", "datetime",
               "date/time", "tradedate", "tradetime", "levelofdetail", "taxes", "datadiscriminator", "trademoney",
               "proceeds", "netcash", "cost", "closeprice", "conid", "settledatetarget", "reportdate", "isin", "cusip",
               "assetclass", "assetcategory", "description", "notes", "notes/codes", "date", "actiondescription",
               "code", "type", "transactiontype", "strike", "expiry", "put/call", "putcall", "fxratetobase",
               "mtmpnl", "underlyingsymbol", "underlyingconid", "iborderid", "ordertime", "holdingperioddatetime",
               "opendatetime", "amount", "value", "markprice", "realizedpnl", "costbasis", "commisionsandtax",
               "actionid", "securityid", "figi", "brokerageorderid", "origtradeid"}),
    read_query,
    (
        '"ClientAccountID","CurrencyPrimary","AssetClass","Symbol","Description","Multiplier","DateTime","Quantity",'
        '"TradePrice","Proceeds","IBCommission","IBCommissionCurrency","FifoPnlRealized","Buy/Sell","Notes/Codes",'
        '"TradeID","LevelOfDetail"',
        "accountId,currency,assetCategory,symbol,description,multiplier,dateTime,quantity,tradePrice,proceeds,"
        "ibCommission,ibCommissionCurrency,fifoPnlRealized,buySell,notes,tradeID,levelOfDetail",
    ),
    "ibflex (attributes of Trade, CorporateAction, OptionEAE); queries in the readmes of public importers",
)  # fmt: skip
