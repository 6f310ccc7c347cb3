"""Trading: what one trades by, what was traded, what came of it, and what was learnt from that."""

from keepbook.extension import Extension

_HERE = "keepbook.extensions.trading"

TRADING = Extension(
    name="trading",
    about="skills, deployments, trades and their figures, lessons, and prices that everybody shares",
    gives="trading figures",
    tables=(f"{_HERE}.market_tables", f"{_HERE}.tables"),
    guards=_HERE,
    operations=f"{_HERE}.authority:OPERATIONS",
    rows=f"{_HERE}.authority:ROWS",
    faces={"trading": f"{_HERE}.book.face:Trading"},
    house={"market": f"{_HERE}.house:market"},
    upkeep=f"{_HERE}.upkeep",
    offers={"bars": f"{_HERE}.book.market.offer"},
    tools=f"{_HERE}.tools:trading_tools",
    answers=(f"{_HERE}.notebook.answer:answer_trading",),
    asks=(f"{_HERE}.notebook.answer:asks_trading",),
    commands={f"{_HERE}.commands": ("trading",)},
    api=(f"{_HERE}.api.trading", f"{_HERE}.api.figures", f"{_HERE}.api.files"),
    # The forms before the pages: /trading/load is no deployment.
    pages=(f"{_HERE}.pages.trade_import_form", f"{_HERE}.pages.forms", f"{_HERE}.pages.pages"),
    templates=f"{_HERE}.pages",
    menu=f"{_HERE}.pages.menu",
    remote_faces={"trading": f"{_HERE}.client:TRADING_ROOM"},
    remote_house={"market": f"{_HERE}.client:remote_market"},
)
