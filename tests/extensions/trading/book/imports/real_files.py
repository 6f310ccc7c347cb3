# ruff: noqa: E501 the lines of brokers are as long as they are
"""Files as brokers write them, small, each with what is hard about it; and beside it what must come of it, by hand."""

from typing import Any, NamedTuple


class RealFile(NamedTuple):
    """`closed`: what each symbol earned, net; `open`: what is left, with a sign; `no_trades`: words of refused rows."""

    format: str
    text: str
    closed: dict[str, float]
    open: dict[str, float]
    no_trades: tuple[str, ...] = ()
    told: dict[str, Any] = {}  # noqa: RUF012
    encoding: str = "utf-8"


STATEMENT = """\
\ufeffStatement,Header,Field Name,Field Value
Statement,Data,BrokerName,Interactive Brokers
Account Information,Header,Field Name,Field Value
Account Information,Data,Account,U1234567
Account Information,Data,Base Currency,USD
Trades,Header,DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds,Comm/Fee,Basis,Realized P/L,MTM P/L,Code
Trades,Data,Order,Stocks,USD,NVDA,"2026-01-05, 10:30:00","1,000",100,100,-100000,-5,100005,0,0,O
Trades,Data,Order,Stocks,USD,NVDA,"2026-01-20, 10:30:00",-2000,60,60,120000,-6,-50002.5,69991.5,0,C;P
Trades,Data,Order,Stocks,USD,NVDA,"2026-01-21, 10:00:00",10,70,70,-700,-1,701,0,0,O
Trades,Data,Order,Stocks,USD,NVDA,"2026-01-21, 10:05:00",-10,70,70,700,1,-701,0,0,Ca
Trades,SubTotal,,Stocks,USD,NVDA,,-1000,,,20000,-11,,69991.5,0,
Trades,Data,Order,Stocks,USD,TSLA,2026-01-06, 11:00:00,-5,200,200,1000,-1,-999,0,0,O
Trades,Data,ClosedLot,Stocks,USD,TSLA,2026-01-06,-5,200,,,,,0,,
Trades,Data,Order,Stocks,USD,TSLA,"2026-01-07, 11:00:00",5,180,180,-900,-1,999,98,0,C
Trades,Total,,Stocks,USD,,,,,,20100,-13,,70089.5,0,
Trades,Header,DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds,Comm/Fee,Basis,Realized P/L,MTM P/L,Code
Trades,Data,Order,Equity and Index Options,USD,AAPL 16JAN26 150 C,"2026-01-05, 10:30:15",2,1.5,1.5,-300,-1.4,301.4,0,0,O
Trades,Data,Order,Equity and Index Options,USD,AAPL 16JAN26 150 C,"2026-01-16, 16:20:00",-2,0,0,0,0,-301.4,-301.4,0,C;Ep
Trades,Data,Order,Equity and Index Options,USD,F 16JAN26 12 P,"2026-01-05, 10:31:00",-1,0.5,0.5,50,-0.7,-49.3,0,0,O
Trades,Data,Order,Equity and Index Options,USD,F 16JAN26 12 P,"2026-01-16, 16:20:00",1,0,0,0,0,49.3,49.3,0,A;C
Trades,Data,Order,Stocks,USD,F,"2026-01-16, 16:20:00",100,12,11,-1200,0,1200,0,0,A;O
Corporate Actions,Header,Asset Category,Currency,Report Date,Date/Time,Description,Quantity,Proceeds,Value,Realized P/L,Code
Corporate Actions,Data,Stocks,USD,2026-01-13,"2026-01-12, 20:25:00","NVDA(US67066G1040) Split 4 for 1 (NVDA, NVIDIA CORP, US67066G1040)",3000,0,0,0,
Dividends,Header,Currency,Date,Description,Amount
Dividends,Data,USD,2026-01-15,AAPL(US0378331005) Cash Dividend USD 0.25 per Share,2.5
Transfers,Header,Asset Category,Currency,Symbol,Date,Type,Direction,Xfer Company,Xfer Account,Qty,Xfer Price,Market Value,Realized P/L,Cash Amount,Code
Transfers,Data,Stocks,USD,MSFT,2026-01-15,ACATS,In,--,123,10,--,4000,0,0,
Financial Instrument Information,Header,Asset Category,Symbol,Description,Conid,Security ID,Underlying,Listing Exch,Multiplier,Type,Code
Financial Instrument Information,Data,Equity and Index Options,AAPL  260116C00150000,AAPL 16JAN26 150 C,1,,AAPL,CBOE,100,C,
"""
FLEX = """\
<FlexQueryResponse queryName="q" type="AF"><FlexStatements count="1"><FlexStatement accountId="U1"><Trades>
<Trade accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS" multiplier="1" tradeID="1" dateTime="20260105;103000" quantity="100" tradePrice="2" proceeds="-200" ibCommission="-1" ibCommissionCurrency="USD" buySell="BUY" notes="" levelOfDetail="EXECUTION"/>
<Trade accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS" multiplier="1" tradeID="2" dateTime="20260105;103100" quantity="50" tradePrice="2" proceeds="-100" ibCommission="-1" ibCommissionCurrency="USD" buySell="BUY" notes="" levelOfDetail="EXECUTION"/>
<Trade accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS" multiplier="1" tradeID="3" dateTime="20260105;104500" quantity="-50" tradePrice="2" proceeds="100" ibCommission="1" ibCommissionCurrency="USD" buySell="BUY (Ca.)" notes="Ca" levelOfDetail="EXECUTION"/>
<Trade accountId="U1" currency="USD" assetCategory="OPT" symbol="AAPL  260116P00150000" description="AAPL 16JAN26 150 P" underlyingSymbol="AAPL" multiplier="100" strike="150" expiry="20260116" putCall="P" tradeID="4" dateTime="20260106;100000" quantity="-1" tradePrice="2.5" proceeds="250" ibCommission="-0.7" ibCommissionCurrency="USD" buySell="SELL" notes="" levelOfDetail="EXECUTION"/>
<Trade accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS" multiplier="1" tradeID="5" dateTime="20260120;100000" quantity="-10" tradePrice="25" proceeds="250" ibCommission="-1" ibCommissionCurrency="USD" buySell="SELL" notes="" levelOfDetail="EXECUTION"/>
</Trades><CorporateActions>
<CorporateAction accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS.OLD" description="GRTS(US40638K1016) SPLIT 1 FOR 10 (GRTS.OLD, GRITSTONE BIO INC, US40638K1016)" reportDate="20260113" dateTime="20260112;202500" quantity="-100" proceeds="0" value="0" type="RS" transactionID="77"/>
<CorporateAction accountId="U1" currency="USD" assetCategory="STK" symbol="GRTS" description="GRTS(US40638K1016) SPLIT 1 FOR 10 (GRTS, GRITSTONE BIO INC, US40638K2006)" reportDate="20260113" dateTime="20260112;202500" quantity="10" proceeds="0" value="0" type="RS" transactionID="78"/>
</CorporateActions><OptionEAE>
<OptionEAE accountId="U1" currency="USD" assetCategory="OPT" symbol="AAPL  260116P00150000" multiplier="100" strike="150" expiry="20260116" putCall="P" date="20260116" transactionType="Expiration" quantity="1" tradePrice="0" realizedPnl="249.3" tradeID=""/>
</OptionEAE></FlexStatement></FlexStatements></FlexQueryResponse>
"""
SCHWAB = """\
"Transactions  for account Individual ...123 as of 01/31/2026 12:00:00 ET"
"Date","Action","Symbol","Description","Quantity","Price","Fees & Comm","Amount"
"01/30/2026","Sell","NFLX","NETFLIX INC","100","$20.00","$0.10","$1,999.90"
"01/28/2026","Reverse Split","PPCB","PROPANC BIOPHARMA INC","10","","",""
"01/28/2026","Reverse Split","74346N701","PROPANC BIOPHARMA INCXXXREVERSE SPLIT EFF: 01/28/26","-100","","",""
"01/26/2026 as of 01/23/2026","Expired","QQQ 01/23/2026 300.00 C","CALL INVESCO QQQ $300 EXP 01/23/26","1","","",""
"01/26/2026 as of 01/23/2026","Assigned","F 01/23/2026 12.00 P","PUT FORD MOTOR CO $12 EXP 01/23/26","1","","",""
"01/26/2026","Buy","F","FORD MOTOR CO","100","$12.00","","-$1200.00"
"01/20/2026 as of 01/16/2026","Stock Split","NFLX","NETFLIX INC","90","","",""
"01/15/2026","Cancel Buy","BRKB","BERKSHIRE HATHAWAY CLASS B","4","$477.40","","$1909.60"
"01/14/2026","Buy","BRKB","BERKSHIRE HATHAWAY CLASS B","4","$477.40","","-$1909.60"
"01/12/2026","Qualified Dividend","NFLX","NETFLIX INC","","","","$16.80"
"01/09/2026","Buy to Close","SPY 01/30/2026 284.00 P","PUT SPDR S&P 500 $284 EXP 01/30/26","2","$2.10","$1.30","-$421.30"
"01/09/2026","Sell to Open","SPY 01/30/2026 284.00 P","PUT SPDR S&P 500 $284 EXP 01/30/26","2","$5.30","$1.30","$1058.70"
"01/08/2026","Sell to Open","F 01/23/2026 12.00 P","PUT FORD MOTOR CO $12 EXP 01/23/26","1","$0.50","$0.66","$49.34"
"01/08/2026","Sell to Open","QQQ 01/23/2026 300.00 C","CALL INVESCO QQQ $300 EXP 01/23/26","1","$3.00","$0.65","$299.35"
"01/07/2026","Buy","PPCB","PROPANC BIOPHARMA INC","100","$0.034","","-$3.40"
"01/06/2026","Sell Short","TSLA","TESLA INC","5","$200.00","$0.05","$999.95"
"01/05/2026","Buy","NFLX","NETFLIX INC","10","$110.00","","-$1,100.00"
"01/02/2026","MoneyLink Transfer","","Tfr BANK","","","","$25,000.00"
"Transactions Total","","","","","","","$26,600.00"
"""
ROBINHOOD = """\
"Activity Date","Process Date","Settle Date","Instrument","Description","Trans Code","Quantity","Price","Amount"
"2/6/2026","2/6/2026","2/9/2026","NVDA","NVIDIA
CUSIP: 67066G104","Sell","30","$50.00","$1,499.98"
"1/30/2026","1/30/2026","2/2/2026","TSLA","Option Expiration for TSLA 1/30/2026 Put $435.00","OEXP","1S","",""
"1/30/2026","1/30/2026","2/2/2026","F","F 1/30/2026 Put $12.00","OASGN","1","",""
"1/30/2026","1/30/2026","2/2/2026","F","Ford
CUSIP: 345370860
1 F Option Assigned","Buy","100","$12.00","($1,200.00)"
"1/20/2026","1/20/2026","1/20/2026","NVDA","NVIDIA CUSIP: 67066G104","SPL","36","",""
"1/12/2026","1/12/2026","1/13/2026","HOOD","HOOD 1/16/2026 Call $104.00","STC","1","$1.50","$149.95"
"1/12/2026","1/12/2026","1/13/2026","HOOD","HOOD 1/16/2026 Call $104.00","BTO","1","$1.00","($100.04)"
"1/9/2026","1/9/2026","1/9/2026","NVDA","Cash Div: R/D 2026-01-08","CDIV","","","$0.40"
"1/8/2026","1/8/2026","1/9/2026","F","F 1/30/2026 Put $12.00","STO","1","$0.50","$49.95"
"1/8/2026","1/8/2026","1/9/2026","TSLA","TSLA 1/30/2026 Put $435.00","STO","1","$11.905","$1,190.50"
"1/6/2026","1/6/2026","1/8/2026","NVDA","NVIDIA
CUSIP: 67066G104","Buy","4","$130.00","($520.00)"
"1/5/2026","1/5/2026","1/5/2026","","ACH Deposit","ACH","","","$5,000.00"
"","","","","","","","",""
"","","","","","","","","","The data provided is for informational purposes only."
"""
BINANCE = """\
User_ID,UTC_Time,Account,Operation,Coin,Change,Remark
1,2026-01-02 10:00:00,Spot,Deposit,USDT,1000,
1,2026-01-03 11:00:00,Spot,Transaction Buy,SOL,2.00000000,
1,2026-01-03 11:00:00,Spot,Transaction Spend,USDT,-200,
1,2026-01-03 11:00:00,Spot,Transaction Buy,SOL,1,
1,2026-01-03 11:00:00,Spot,Transaction Spend,USDT,-100,
1,2026-01-03 11:00:00,Spot,Transaction Fee,SOL,-0.003,
1,26-01-04 12:00:00,Spot,Transaction Sold,SOL,-1.5,
1,26-01-04 12:00:00,Spot,Transaction Revenue,USDT,165,
1,26-01-04 12:00:00,Spot,Transaction Fee,USDT,-0.165,
1,2026-01-05 13:00:01,Spot,Binance Convert,SOL,-1,
1,2026-01-05 13:00:02,Spot,Binance Convert,USDT,120,
1,2026-01-06 14:00:00,Spot,Withdraw,USDT,-5,Withdraw fee is included
1,2026-01-07 15:00:00,Earn,Simple Earn Flexible Interest,USDT,0.12,
1,2026-01-08 15:00:00,USD-M Futures,Funding Fee,USDT,-0.12,
"""
LEDGERS = """\
"txid","refid","time","type","subtype","aclass","subclass","asset","wallet","amount","fee","balance"
"L1","D1","2026-01-02 10:00:00","deposit","","currency","fiat","ZEUR","spot / main",1000,0,1000
"L2","T1","2026-01-03 10:00:00","trade","tradespot","currency","crypto","XXBT","spot / main",0.0200000000,0,0.02
"L3","T1","2026-01-03 10:00:00","trade","tradespot","currency","fiat","ZEUR","spot / main",-1000,2.6,-2.6
"L4","T2","2026-01-04 10:00:00","trade","tradespot","currency","crypto","XXBT","spot / main",-0.0100000000,0,0.01
"L5","T2","2026-01-04 10:00:00","trade","tradespot","currency","fiat","ZEUR","spot / main",550,1.43,545.97
"L6","B1","2026-01-05 10:00:00","spend","","currency","fiat","EUR.HOLD","spot / main",-60,0.9,485.07
"L7","B1","2026-01-05 10:00:00","receive","","currency","crypto","ETH","spot / main",0.02,0,0.02
"L8","S1","2026-01-06 10:00:00","staking","","currency","crypto","ETH2.S","spot / main",0.0001,0,0.0001
"L9","M1","2026-01-07 10:00:00","margin","","currency","fiat","ZEUR","spot / main",-5,0.2,479.87
"""
COINBASE = """\
Transactions
User,Alice,5c0
ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,Total (inclusive of fees and/or spread),Fees and/or Spread,Notes
c4,2026-01-06 10:00:00 UTC,Sell,ADA,-2000,USD,$0.60,"$1,200.00","$1,190.50",$9.50,Sold 2000 ADA for 1190.50 USD
c3,2026-01-05 10:00:00 UTC,Convert,ETH,-0.5,USD,"$2,200.00","$1,090.00","$1,100.00",$10.00,Converted 0.5 ETH to 2180 ADA
c2,2026-01-04 10:00:00 UTC,Staking Income,ETH,0.01,USD,"$2,200.00",$22.00,$22.00,$0.00,
c1,2026-01-03 10:00:00 UTC,Buy,ETH,1,USD,"$2,000.00","$2,000.00","$2,020.00",$20.00,Bought 1 ETH for 2020 USD
"""


def page(*rows: str) -> str:
    return f"<!DOCTYPE html><html><body><table>{''.join(rows)}</table></body></html>"


def row(cells: str) -> str:
    """Cells with `|` between; `8*` before one makes it eight columns wide."""
    made = ""
    for cell in cells.split("|"):
        wide, mark, text = cell.partition("*")
        made += f'<td colspan="{wide}">{text}</td>' if mark else f"<td>{cell}</td>"
    return f"<tr>{made}</tr>"


REPORT5 = page(
    row("14*Trade History Report"), row("4*Account:|10*5012 (USD, Broker-Demo, demo, Hedge)"), row("14*Positions"),
    row("Time|Position|Symbol|Type|Volume|Price|S / L|T / P|Time|Price|Commission|Swap|Profit"),
    row("2026.01.05 10:00:00|100|EURUSD|buy|0.10|1.10000|||2026.01.07 10:00:00|1.11000|-0.70|-0.30|100.00"),
    row("2026.01.05 11:00:00|101|EURUSD|sell|0.10|1.10500|||2026.01.06 10:00:00|1.10700|-0.70|0.00|-20.00"),
    row("2026.01.05 12:00:00|102|USDJPY|buy|0.10|150.000|||2026.01.06 12:00:00|151.500|-0.70|0.00|99.01"),
    row("14*Deals"),
    row("Time|Deal|Symbol|Type|Direction|Volume|Price|Order|Commission|Fee|Swap|Profit|Balance|Comment"),
    row("2026.01.05 08:00:00|1||balance||||||0.00|0.00|10 000.00|10 000.00|deposit"),
    row("2026.01.05 10:00:00|2|EURUSD|buy|in|0.10|1.10000|100|-0.35|0.00|0.00|0.00|9 999.65|"),
    row("14*Open Positions"),
    row("Time|Position|Symbol|Type|Volume|Price|S / L|T / P|Market Price|Swap|Profit"),
    row("2026.01.08 10:00:00|103|EURUSD|sell|0.20|1.12000|||1.12100|-0.10|-20.00"),
    row("8*|-2.10|0.00|-0.30|179.01"),
)  # fmt: skip
NETTING5 = page(
    row("4*Account:|10*5013 (USD, Broker-Real, real, Netting)"), row("14*Positions"),
    row("Time|Position|Symbol|Type|Volume|Price|S / L|T / P|Time|Price|Commission|Swap|Profit"),
    row("2026.01.05 10:00:00|200|XAUUSD|buy|2|101|||2026.01.06 10:00:00|110|-4|0|1 800.00"),
    row("14*Deals"),
    row("Time|Deal|Symbol|Type|Direction|Volume|Price|Order|Commission|Fee|Swap|Profit|Balance|Comment"),
    row("2026.01.05 10:00:00|2|XAUUSD|buy|in|1|100|200|-1|0|0|0|0|"),
    row("2026.01.05 11:00:00|3|XAUUSD|buy|in|1|102|201|-1|0|0|0|0|"),
    row("2026.01.06 10:00:00|4|XAUUSD|sell|out|2|110|202|-2|0|0|1 800.00|0|"),
    row("8*|-4|0|0|1 800.00|0|"),
)  # fmt: skip
STATEMENT4 = page(
    row("2*Account: 179865|4*Name: Alice|2*Currency: USD|6*2026 January 31"), row("14*Closed Transactions:"),
    row("Ticket|Open Time|Type|Size|Item|Price|S / L|T / P|Close Time|Price|Commission|Taxes|Swap|Profit"),
    row("1000|2026.01.02 08:00|balance|10*Deposit|1 000.00"),
    row("1001|2026.01.05 10:00|buy|1.00|eurusd|1.1000|0.0000|0.0000|2026.01.06 10:00|1.1050|-7.00|0.00|-1.20|500.00"),
    row("1002|2026.01.05 11:00|sell|0.50|eurusd|1.1020|0.0000|0.0000|2026.01.05 12:00|1.1000|-3.50|0.00|0.00|100.00"),
    row("1003|2026.01.05 12:00|buy limit|0.50|eurusd|1.0900|0.0000|0.0000|2026.01.05 13:00|1.1000|4*cancelled"),
    row("10*&nbsp;|-10.50|0.00|-1.20|600.00"), row("12*Closed P/L:|2*588.30"), row("14*Open Trades:"),
    row("Ticket|Open Time|Type|Size|Item|Price|S / L|T / P||Price|Commission|Taxes|Swap|Profit"),
    row("1004|2026.01.07 10:00|sell|0.10|eurusd|1.1100|0.0000|0.0000||1.1120|-0.70|0.00|0.00|-20.00"),
    row("14*Working Orders:"), row("Ticket|Open Time|Type|Size|Item|Price|S / L|T / P|2*Market Price|4*"),
)  # fmt: skip
DEALS_OF_POSITIONS = """\
ticket,order,time,time_msc,type,entry,magic,position_id,reason,volume,price,commission,swap,profit,fee,symbol,comment,external_id
1,1,1767600000,1767600000000,2,0,0,0,0,0,0,0,0,1000,0,,deposit,
2,10,1767607200,1767607200000,0,0,0,10,3,1.0,100.0,-1,0,0,0,DE40,,
3,11,1767610800,1767610800000,1,0,0,11,3,1.0,102.0,-1,0,0,0,DE40,,
4,12,1767614400,1767614400000,1,1,0,10,3,0.5,104.0,-1,0,2.0,0,DE40,,
5,13,1767618000,1767618000000,0,1,0,11,3,1.0,101.0,-1,0,1.0,0,DE40,,
"""
BROKER_TIME = {"zone": "Europe/Nicosia"}
REAL = (
    RealFile(
        "ibkr-activity", STATEMENT,
        {"NVDA": 2000 * (60 - 25) - 2.5 - 6, "TSLA": 98.0, "AAPL 2026-01-16 150 C": -301.4, "F 2026-01-16 12 P": 49.3},
        {"NVDA": 2000, "F": 100}, ("cancels row", "cancelled by row", "closed lot", "transfer"),
    ),
    RealFile(
        "ibkr-flex", FLEX, {"GRTS": 10 * (25 - 20) - 2, "AAPL 2026-01-16 150 P": 249.3}, {},
        ("cancels row", "cancelled by row"),
    ),
    RealFile(
        "schwab", SCHWAB,
        {"NFLX": 100 * (20 - 11) - 0.1, "QQQ 2026-01-23 300 C": 299.35, "F 2026-01-23 12 P": 49.34,
         "SPY 2026-01-30 284 P": 1058.70 - 421.30},
        {"TSLA": -5, "F": 100, "PPCB": 10},
        ("cancels row", "cancelled by row", "qualified dividend", "moneylink transfer"),
    ),
    RealFile(
        "robinhood", ROBINHOOD,
        {"NVDA": 1499.98 - 30 * 13, "HOOD 2026-01-16 104 C": 49.91, "TSLA 2026-01-30 435 P": 1190.5,
         "F 2026-01-30 12 P": 49.95},
        {"NVDA": 10, "F": 100}, ("CDIV", "ACH"),
    ),
    RealFile(
        "binance-history", BINANCE,
        {"SOL/USDT": 165 - 0.165 + 120 - (1.5 + 1) * 300 / 2.997}, {"SOL/USDT": 0.497},
        ("deposit", "withdraw", "simple earn", "futures"),
    ),
    RealFile(
        "kraken-ledgers", LEDGERS, {"BTC/EUR": 550 - 1.43 - 500 - 1.3}, {"BTC/EUR": 0.01, "ETH/EUR": 0.02},
        ("deposit", "staking", "on margin"),
    ),
    RealFile(
        "coinbase-account", COINBASE,
        {"ETH/USD": 1100 - 1010, "ADA/USD": 1190.5 - 2000 / 2180 * 1100}, {"ETH/USD": 0.5, "ADA/USD": 180},
        ("staking income",),
    ),
    RealFile(
        "metatrader5-positions", REPORT5, {"EURUSD": 100 - 1 - 20 - 0.7, "USDJPY": 99.01 - 0.7}, {"EURUSD": -20000},
        told=BROKER_TIME, encoding="utf-16",
    ),
    RealFile("metatrader5-positions", NETTING5, {"XAUUSD": 1800.0 - 4}, {}, told=BROKER_TIME, encoding="utf-16"),
    RealFile(
        "metatrader4", STATEMENT4, {"EURUSD": 588.3}, {"EURUSD": -10000}, ("balance", "buy limit"),
        told=BROKER_TIME, encoding="cp1252",
    ),
    RealFile(
        "metatrader5", DEALS_OF_POSITIONS, {"DE40": 2 - 1.5 + 1 - 2}, {"DE40": 0.5}, ("balance",),
    ),
)  # fmt: skip
