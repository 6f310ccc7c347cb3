"""Interactive Brokers: a Flex query, as CSV or as XML. Only executions are fills; sums of them are none.

The quantity has a sign. A query holds the columns that its owner chose: one that counts and was left out is named.
Options end by a row at price 0 with the code of the reason; splits stand among the corporate actions.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

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
BONDS, OF_A_BOND = ("BOND", "BILL"), 0.01
"""Bonds are quoted in percent of what they pay back."""
COMPARED = ("STK", "OPT", "FOP", "WAR", "FUND", *BONDS)
"""Of these what changed hands is the quantity times the price; of futures and contracts for difference it may be 0."""
_RATIO = regex(r"\bSPLIT\s+(\d+(?:\.\d+)?)\s+FOR\s+(\d+(?:\.\d+)?)", re.IGNORECASE)


def flex_codes(text: object) -> set[str]:
    return {code.strip() for code in str(text or "").replace(",", ";").split(";")}


def delivery(codes: set[str]) -> str | None:
    """Why shares changed hands, where an option did it."""
    return next((why for code, why in ENDINGS.items() if code in codes and why != "expired"), None)


def only_closes(codes: set[str], open_or_close: object = "") -> bool:
    """Whether a trade opens nothing, as its codes say: `C` without an `O`."""
    told = codes | {word.strip() for word in str(open_or_close or "").replace(",", ";").split(";")}
    return "C" in told and "O" not in told


def split_ratio(words: str) -> Decimal | None:
    """`4` of `Split 4 for 1`."""
    found = _RATIO.search(words)
    if found and Decimal(found[2]):
        return Decimal(found[1]) / Decimal(found[2])
    return None


def flex_table(line: FileRow) -> str:
    """What a row tells of: that of its table, else by the columns that it has."""
    if line.section:
        return SECTIONS.get(line.section, line.section)
    if "tradeprice" in line.cells and "ibcommission" in line.cells:
        return "Trade"
    told = line.cells.keys()
    if "actiondescription" in told or (told >= {"description", "quantity", "type"} and "direction" not in told):
        return "CorporateAction"
    if "transactiontype" in line.cells:
        return "OptionEAE"
    return "Transfer"


def read_query(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    trades = [line for line in table.lines if flex_table(line) in ("Trade", "Order")]
    others = [line for line in table.lines if flex_table(line) not in ("Trade", "Order")]
    sums = any(_detail(line) in ("EXECUTION", "TRADE") for line in trades)
    found = [((line.row,), or_wrong(line, read_fill, line, reader, sums)) for line in trades]
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
    way = str(line.cells.get("buy/sell") or line.cells.get("buysell") or "")
    return "Ca" in flex_codes(line.cells.get("notes/codes") or line.cells.get("notes")) or "(ca" in way.lower()


def _detail(line: FileRow) -> str:
    return str(line.cells.get("levelofdetail") or line.cells.get("datadiscriminator") or "EXECUTION").upper()


def read_fill(line: FileRow, reader: CellReader, sums: bool = True) -> Fill:
    """`sums`: the file has executions, of which its orders are the sums."""
    detail = _detail(line)
    if detail not in ("EXECUTION", "TRADE") and (sums or detail != "ORDER"):
        raise Invalid(f"{detail.lower()} is a sum of executions, no execution")
    symbol, size = _symbol_and_size(line, reader)
    quantity = reader.number(line, "quantity")
    way = str(line.cells.get("buy/sell") or line.cells.get("buysell") or ("buy" if quantity > 0 else "sell"))
    coin = str(line.cells.get("ibcommissioncurrency") or "").upper()
    quote = str(line.cells.get("currencyprimary") or line.cells.get("currency") or "").upper()
    price, told = reader.number(line, "tradeprice"), reader.optional(line, "fifopnlrealized")
    kind = next((name for name in IDS if line.cells.get(name)), "")
    id = line.cells.get(kind)
    account = next((str(line.cells[name]) for name in ACCOUNTS if line.cells.get(name)), "")
    codes = flex_codes(line.cells.get("notes/codes") or line.cells.get("notes"))
    if _class_of(line) in COMPARED:
        computed = -quantity * price * Decimal(str(size))
        reader.compare(line.row, "quantity × price", computed, reader.optional(line, "proceeds"))
    if price == 0 and parse_option(symbol) is not None:
        why = next((words for code, words in ENDINGS.items() if code in codes), "expired")
        profit = None
        if told and why == "expired":
            profit = float(told)
        return make_action(
            line, time=_time(line, reader), symbol=symbol, side=EXPIRY, quantity=quantity, id=id, reason=why,
            multiplier=size, quote=quote, account=account, id_kind=kind,
            profit=profit,
        )  # fmt: skip
    paid = [reader.optional(line, name) for name in ("ibcommission", "taxes")]
    fees = tuple((-one, coin or quote) for one in paid if one)
    side = values.parse_side(way.partition(" ")[0].partition("(")[0])
    closes = only_closes(codes, line.cells.get("opencloseindicator") or line.cells.get("open/closeindicator"))
    profit = None
    if told:
        profit = float(told)
    return make_fill(
        line, time=_time(line, reader), symbol=symbol, side=side, quantity=quantity, price=price, id=id,
        fees=paid_beside(fees, symbol, price), quote=quote, multiplier=size, profit=profit,
        account=account, reason=delivery(codes), id_kind=kind, from_holding=closes and side == "sell",
        closes_only=closes and side == "buy",
    )  # fmt: skip


def _class_of(line: FileRow) -> str:
    return str(line.cells.get("assetclass") or line.cells.get("assetcategory") or "").upper()


def _symbol_and_size(line: FileRow, reader: CellReader) -> tuple[str, float]:
    """What is traded, and how much of it one contract holds."""
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
    if (told := reader.told_multiplier(symbol)) is not None:
        return symbol, told
    if kind in ("FUT", "FOP"):
        raise Invalid("multiplier is missing: choose that column in the query, or say it", field="multiplier")
    return symbol, CONTRACT if contract or kind == "OPT" else 1.0


def _bond_size(line: FileRow, reader: CellReader) -> float:
    """Percent are a hundredth; where what changed hands is the quantity times the price, they are none."""
    paid = abs(reader.optional(line, "proceeds") or Decimal(0))
    worth = abs(reader.number(line, "quantity") * reader.number(line, "tradeprice"))
    if paid and abs(worth - paid) <= paid / 100:
        return 1.0
    return OF_A_BOND


def _time(line: FileRow, reader: CellReader) -> str:
    for name in ("datetime", "date/time"):
        if line.cells.get(name):
            return reader.moment(line, name)
    day, clock = line.cells[first_filled(line, "tradedate", "date", "reportdate")], line.cells.get("tradetime") or ""
    if clock:
        return reader.instant(f"{day};{clock}", "tradedate")
    return reader.instant(day, "tradedate")


def read_corporate_actions(lines: Sequence[FileRow], reader: CellReader) -> Iterator[ReadRow]:
    """A split stands in one row, or in two: the old shares out, the new ones in."""
    groups: dict[tuple[str, str], list[FileRow]] = {}
    for line in lines:
        words = _words_of(line)
        if line.wrong is not None or split_ratio(words) is None:
            what = str(line.cells.get("type") or "") or words[:80] or "it"
            yield (line.row,), Invalid(line.wrong or f"{what} is no trade and no split: enter what came of it by hand")
        elif "Ca" in flex_codes(line.cells.get("code")):
            yield (line.row,), Invalid("a cancelled corporate action")
        else:
            if words.rstrip().endswith(")"):
                head = words.rpartition(" (")[0]
            else:
                head = words
            groups.setdefault((head, str(line.cells.get("date/time") or line.cells.get("datetime"))), []).append(line)
    for some in groups.values():
        rows = tuple(line.row for line in some)
        found = or_wrong(some[0], _split, some[0], reader)
        if isinstance(found, Fill):
            yield rows, found
        else:
            yield from (((row,), found) for row in rows)


def _words_of(line: FileRow) -> str:
    told = (str(line.cells.get(name) or "") for name in ("actiondescription", "description"))
    return next((words for words in told if split_ratio(words)), str(line.cells.get("description") or ""))


def _split(line: FileRow, reader: CellReader) -> Fill:
    words = _words_of(line)
    if "(" in words:
        symbol = words.partition("(")[0].strip()
    else:
        symbol = str(line.cells.get("symbol") or "")
    if not symbol or " " in symbol:
        symbol = str(line.cells[first_filled(line, "symbol")]).removesuffix(".OLD")
    return make_action(
        line, time=_time(line, reader), symbol=symbol.upper(), side=SPLIT,
        quantity=split_ratio(words) or Decimal(0),
        quote=str(line.cells.get("currencyprimary") or line.cells.get("currency") or "").upper(),
        account=next((str(line.cells[name]) for name in ACCOUNTS if line.cells.get(name)), ""),
    )  # fmt: skip


def _ending(line: FileRow, reader: CellReader, ended: set[tuple[str, str]]) -> Fill:
    """An option's end that no trade tells of; the shares that change hands are among the trades."""
    kind = str(line.cells.get("transactiontype") or "").strip().lower()
    symbol, size = _symbol_and_size(line, reader)
    time = _time(line, reader)
    why = {"expiration": "expired", "assignment": "assigned", "exercise": "exercised"}.get(kind)
    if why is None or (symbol, time[:10]) in ended:
        raise Invalid(f"{kind or 'it'} is told by the trades already")
    return make_action(
        line, time=time, symbol=symbol, side=EXPIRY, quantity=reader.number(line, "quantity"), reason=why,
        id=line.cells.get("tradeid") or None, multiplier=size, id_kind="tradeid",
        quote=str(line.cells.get("currencyprimary") or line.cells.get("currency") or "").upper(),
        account=next((str(line.cells[name]) for name in ACCOUNTS if line.cells.get(name)), ""),
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
