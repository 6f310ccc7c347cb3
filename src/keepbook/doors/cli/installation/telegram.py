"""`keepbook telegram`: a bot for the chats on the list, until it is told to stop.

SIGTERM and Ctrl-C let it answer what has come in; a second one stops that too.
"""

import asyncio
import signal
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from keepbook.doors.cli.terminal.command import CHATS, Invocation, command
from keepbook.errors import Invalid, NotAllowed

if TYPE_CHECKING:
    from keepbook.doors.telegram.bot import Bot


def register(app: typer.Typer) -> None:
    command(app, "telegram", telegram, panel=CHATS, writes=True)


def telegram(call: Invocation) -> None:
    """Run a Telegram bot for the chats that telegram_chats lists, until Ctrl-C."""
    times_told = asyncio.run(_until_told(call, _make_bot(call)))
    if times_told > 1:
        raise typer.Exit(130)
    call.note("Ended.")


def _make_bot(call: Invocation) -> "Bot":
    if find_spec("telegram") is None:
        raise NotAllowed("Telegram needs its library; install it with: pip install 'keepbook[telegram]'")
    token = call.settings.telegram_token
    if token is None or not token.reveal():
        advice = "ask @BotFather in Telegram for a bot and set KEEPBOOK_TELEGRAM_TOKEN to the token it gives you"
        raise Invalid(f"the bot has no token: {advice}", field="telegram_token")
    # Loaded here, as the library is an extra, and slow.
    from keepbook.doors.telegram.bot import Bot

    keepbook = call.keepbook
    keepbook.models  # noqa: B018  a name that is no model is refused before anybody is served
    return Bot(
        keepbook,
        token.reveal().strip(),
        call.settings.telegram_chats,
        note=call.note,
        base_url=call.settings.telegram_base_url,
    )


async def _until_told(call: Invocation, bot: "Bot") -> int:
    """Serve, and answer how often it was told to stop."""
    stop, loop, told = asyncio.Event(), asyncio.get_running_loop(), 0

    def tell() -> None:
        nonlocal told
        told += 1
        stop.set()
        if told == 1:
            call.note("Ending, once what has come in is answered. The same again ends it at once.")
            return
        for task in asyncio.all_tasks(loop):
            task.cancel()

    for each in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows, where Ctrl-C ends it at once
            loop.add_signal_handler(each, tell)
    try:
        await bot.serve(stop)
    except asyncio.CancelledError:
        pass
    except Exception:
        if told < 2:  # ended at once, it may break off anywhere; that is no news then
            raise
    return told
