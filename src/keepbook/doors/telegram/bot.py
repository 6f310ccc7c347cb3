"""The connection to Telegram: takes messages, passes them to the chat's `Correspondence`, and sends the answers.

Messages of one chat are taken in order, different chats at once; the book's operations run in threads. A chat that is
not on the list gets one polite answer, once, and its id is shown where the bot runs. What Telegram refuses for now is
sent again later; if it refuses the token, the bot ends. The token is part of every address, so no address is logged.
"""

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any
from weakref import WeakValueDictionary

# The library's own switch: without it every "retry after" comes with a warning about its next version.
os.environ.setdefault("PTB_TIMEDELTA", "1")

from telegram import (
    CallbackQuery,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    MessageEntity,
    Update,
)
from telegram.constants import ChatAction
from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, RetryAfter, TelegramError
from telegram.ext import Application, ApplicationBuilder, BaseRateLimiter, BaseUpdateProcessor, TypeHandler, filters
from telegram.request import HTTPXRequest

from keepbook.app import Keepbook
from keepbook.book.ground.one_line_log import get_logger
from keepbook.doors.telegram import replies
from keepbook.doors.telegram.correspondence import Correspondence
from keepbook.doors.telegram.letter import Letter
from keepbook.errors import Invalid, KeepbookError, NotAllowed
from keepbook.jobs import stay_known
from keepbook.patterns import regex

MOST_TRIES = 6  # of one request to Telegram
LONGEST_WAIT = 300.0
"""If Telegram asks us to wait longer than so many seconds, the message is given up: its chat would have to wait too."""
ENDING_SECONDS = 10.0
"""How long after the bot was told to end a request that fails is tried again, all requests together."""
TYPING_AFTER, TYPING_SECONDS = 0.3, 4.0
"""When "typing" is first shown, and how often again: Telegram shows it for five seconds."""
MOST_AT_ONCE = 256  # updates that are processed at a time
THREADS = 16

NoteFunction = Callable[[str], None]
HandlerFunction = Callable[..., Coroutine[Any, Any, Any]]

log: logging.Logger = get_logger(__name__)


_TOKEN = regex(r"[\w:-]+", re.ASCII)


class Bot:
    """The bot. `chats` has the owner for each chat id that it serves; `note` prints a line where it runs."""

    def __init__(
        self,
        keepbook: Keepbook,
        token: str,
        chats: Mapping[int, str],
        *,
        note: NoteFunction,
        base_url: str | None = None,
        first_wait: float = 1.0,
    ) -> None:
        if not _TOKEN.fullmatch(token):
            raise Invalid("telegram_token is not a token: copy it from @BotFather as it is", field="telegram_token")
        self._keepbook = keepbook
        self._served = {chat: Correspondence(keepbook, owner, chat) for chat, owner in chats.items()}
        self._note = note
        self._greeted: set[int] = set()
        self._albums: dict[int, str] = {}
        self._away = self._refused = False
        self._stop = asyncio.Event()
        self._patience = _Patience(first_wait)
        _keep_quiet()
        builder: Any = ApplicationBuilder().token(token).job_queue(None).concurrent_updates(_InOrder())
        builder = builder.rate_limiter(self._patience).get_updates_request(_Line(self._see_status))
        if base_url is not None:
            place = base_url.rstrip("/")
            builder = builder.base_url(f"{place}/bot").base_file_url(f"{place}/file/bot")
        self._app: Application[Any, Any, Any, Any, Any, Any] = builder.build()
        self._app.add_handler(TypeHandler(Update, self._take))
        self._app.add_error_handler(self._handle_error)

    # Running

    async def serve(self, stop: asyncio.Event) -> None:
        """Answer until told to stop; messages that came in by then are still answered."""
        self._stop = stop
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "telegram"))
        noting = asyncio.create_task(stay_known(self._keepbook.servers, stop))
        ending = asyncio.create_task(self._patience.end_after(stop))
        try:
            async with self._app, self._polling():
                self._welcome()
                sweeping = asyncio.create_task(self._sweep())
                await stop.wait()
                sweeping.cancel()
        except InvalidToken:
            self._refused = True
        except TelegramError as error:
            raise KeepbookError(
                f"Telegram cannot be reached ({type(error).__name__}); check the network, and telegram_base_url if set",
                code="unavailable",
            ) from None
        finally:
            stop.set()
            ending.cancel()
            await noting
            await self._app.bot.shutdown()  # the library leaves its connections open if the start fails
        if self._refused:  # raised here and not in `except`, because the library's error quotes the token
            raise NotAllowed(
                "Telegram refuses the token; copy it anew from @BotFather into telegram_token", field="telegram_token"
            )

    @asynccontextmanager
    async def _polling(self) -> AsyncIterator[None]:
        app = self._app
        assert app.updater is not None
        await app.bot.set_my_commands(list(replies.COMMANDS.items()))
        await app.start()
        try:
            kinds = [Update.MESSAGE, Update.CALLBACK_QUERY]
            await app.updater.start_polling(allowed_updates=kinds, error_callback=self._unheard)
            yield
        finally:
            if app.updater.running:
                await app.updater.stop()
            await app.stop()

    def _welcome(self) -> None:
        name = f"@{self._app.bot.username}"
        if self._served:
            if len(self._served) == 1:
                chats = "1 chat"
            else:
                chats = f"{len(self._served):,} chats"
            self._note(f"{name} serves {chats}; Ctrl-C ends it.")
        else:
            self._note(f"{name} runs, but telegram_chats is empty. Write to it: the chat's id is then shown here.")

    async def _sweep(self) -> None:
        """Sweep regularly, so that silent chats are closed even if nobody runs `keepbook jobs`."""
        every = self._keepbook.settings.jobs_every
        while every:
            try:
                await asyncio.to_thread(self._keepbook.sweep)
            except KeepbookError as error:
                self._note(f"A sweep failed, the next will try again: {error.message}")
            await asyncio.sleep(every)

    def _see_status(self, status: int) -> None:
        if status in (401, 404):  # the token is refused; the library would end its polling without an error
            self._refused = True
            self._stop.set()
        elif status == 200 and self._away:
            self._away = False
            self._note("Telegram answers again.")

    def _unheard(self, error: TelegramError) -> None:
        if not self._away:
            self._away = True
            if isinstance(error, Conflict):
                why = "another program asks with the same token; stop one of the two"
            else:
                why = f"it cannot be reached ({type(error).__name__})"
            self._note(f"Telegram does not answer: {why}. Trying again.")

    # Messages

    async def _take(self, update: Update, _: Any) -> None:
        if update.callback_query is not None:
            await self._take_press(update.callback_query)
            return
        message = update.message
        if message is None or (message.from_user is not None and message.from_user.is_bot):
            return
        if message.migrate_to_chat_id is not None:
            self._note(f"Chat {message.chat_id} has become {message.migrate_to_chat_id}; change it in telegram_chats.")
        if filters.StatusUpdate.ALL.check_update(update):  # somebody joined, a message was pinned
            return
        served = self._served.get(message.chat_id)
        if served is None:
            await self._turn_away(message)
        elif message.text is None:
            await self._ask_for_text(message)
        else:
            async with _typing(message):
                letter: Letter | None
                if message.forward_origin is not None:
                    letter = await served.answer_forwarded(message.text)
                else:
                    letter = await served.take(message.text, bot=self._app.bot.username)
            if letter is not None:
                await _send(message, letter)

    async def _take_press(self, query: CallbackQuery) -> None:
        """Do what a tapped button says, and remove the buttons of its message."""
        with suppress(TelegramError):  # Telegram refuses this if the tap was long ago
            await query.answer()
        message = query.message
        served = None
        if message is not None:
            served = self._served.get(message.chat.id)
        if served is None or not isinstance(message, Message) or not query.data:
            return
        letter = await served.press(query.data)
        with suppress(TelegramError):  # as above
            await query.edit_message_reply_markup(None)
        await _send(message, letter)

    async def _turn_away(self, message: Message) -> None:
        if message.chat_id in self._greeted:
            return
        self._greeted.add(message.chat_id)
        who = message.chat.effective_name or message.chat.type
        self._note(f"A chat on no list wrote: {message.chat_id} ({who}). To serve it, add its id to telegram_chats.")
        await _send(message, Letter(replies.STRANGER))

    async def _ask_for_text(self, message: Message) -> None:
        album = message.media_group_id
        if album is not None and self._albums.get(message.chat_id) == album:  # each picture of an album is a message
            return
        self._albums[message.chat_id] = album or ""
        await _send(message, Letter(replies.TEXT_ONLY))

    async def _handle_error(self, update: object, context: Any) -> None:
        """Report an error that nobody caught by its type alone: its text may quote the person."""
        message = None
        if isinstance(update, Update):
            message = update.message
        if message is None:
            chat = "a chat"
        else:
            chat = f"chat {message.chat_id}"
        error = context.error
        log.debug("answering %s", chat, exc_info=error)
        if isinstance(error, TelegramError):
            self._note(f"An answer to {chat} could not be sent ({type(error).__name__}).")
            return
        self._note(f"A message of {chat} was not answered: this should not happen ({type(error).__name__}).")
        if message is not None:
            await _send(message, Letter(replies.FAULT))


async def _send(message: Message, letter: Letter) -> None:
    """Send a letter in as many messages as it needs. Without a parse mode nothing in its text is markup; links get no
    preview."""
    pieces = list(letter.pieces())
    for number, (text, marks) in enumerate(pieces, 1):
        entities = [MessageEntity(mark.kind, mark.start, mark.length) for mark in marks]
        preview = LinkPreviewOptions(is_disabled=True)
        keyboard = None
        if number == len(pieces):
            keyboard = _keyboard(letter)
        await message.reply_text(
            text, entities=entities, link_preview_options=preview, do_quote=False, reply_markup=keyboard
        )
    for after in letter.after:
        await _send(message, after)


def _keyboard(letter: Letter) -> InlineKeyboardMarkup | None:
    """The buttons, one to a row, because their labels are long."""
    if not letter.buttons:
        return None
    return InlineKeyboardMarkup([[InlineKeyboardButton(one.label, callback_data=one.data)] for one in letter.buttons])


@asynccontextmanager
async def _typing(message: Message) -> AsyncIterator[None]:
    """Show "typing" above the chat for as long as the block lasts, and never after it."""
    done = asyncio.Event()

    async def show() -> None:
        wait = TYPING_AFTER
        while not await _within(wait, done):
            with suppress(TelegramError):  # not worth an error
                await message.reply_chat_action(ChatAction.TYPING)
            wait = TYPING_SECONDS

    showing = asyncio.create_task(show())
    try:
        yield
    finally:
        done.set()
        await showing


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        return await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False


def _keep_quiet() -> None:
    """Silence the logs of the library and its HTTP client: their tracebacks and addresses hold the token."""
    logging.getLogger("telegram").addHandler(logging.NullHandler())
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("httpcore").setLevel(logging.WARNING)


# Parts of the library that we replace


class _InOrder(BaseUpdateProcessor):
    """Processes the messages of one chat one after the other, in order."""

    def __init__(self) -> None:
        super().__init__(MOST_AT_ONCE)
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def do_process_update(self, update: object, coroutine: Awaitable[Any]) -> None:
        chat = None
        if isinstance(update, Update):
            chat = update.effective_chat
        async with self._locks.setdefault(chat.id if chat else 0, asyncio.Lock()):
            await coroutine

    async def initialize(self) -> None:
        """Nothing to prepare."""

    async def shutdown(self) -> None:
        """Nothing to give back."""


class _Patience(BaseRateLimiter[int]):
    """Repeats a request that Telegram refuses for now: after the time that it asks for, else after a wait that
    doubles. When the bot ends, what Telegram does not take is given up after `ENDING_SECONDS`."""

    def __init__(self, first_wait: float) -> None:
        self._first_wait = first_wait
        self._over = asyncio.Event()
        self._unreachable = False

    async def end_after(self, stop: asyncio.Event) -> None:
        """Wait for the stop, and from some time after it repeat nothing more."""
        await stop.wait()
        await asyncio.sleep(ENDING_SECONDS)
        self._over.set()

    async def process_request(
        self, callback: HandlerFunction, args: Any, kwargs: Any, endpoint: str, data: Any, rate_limit_args: int | None
    ) -> Any:
        if self._unreachable:
            raise NetworkError("given up, as the bot ends")
        for tried in range(1, MOST_TRIES + 1):
            try:
                return await callback(*args, **kwargs)
            except (RetryAfter, NetworkError) as error:
                wait = self._wait(error, tried)
                if wait is None or endpoint == "sendChatAction":
                    raise
                if await _within(wait, self._over):
                    self._unreachable = not isinstance(error, RetryAfter)
                    raise
        raise AssertionError  # the last try answered or raised

    def _wait(self, error: TelegramError, tried: int) -> float | None:
        """How long until the next try; None if there is none."""
        if tried == MOST_TRIES or isinstance(error, BadRequest):
            return None
        if not isinstance(error, RetryAfter):
            return self._first_wait * 2.0 ** (tried - 1)
        asked = error.retry_after
        if isinstance(asked, timedelta):
            seconds = asked.total_seconds()
        else:
            seconds = float(asked)
        if seconds <= LONGEST_WAIT:
            return seconds
        return None

    async def initialize(self) -> None:
        """Nothing to prepare."""

    async def shutdown(self) -> None:
        """Nothing to give back."""


class _Line(HTTPXRequest):
    """The library's connection for updates, which also passes the status of each answer to `see_status`."""

    def __init__(self, see_status: Callable[[int], None]) -> None:
        super().__init__(connection_pool_size=1)
        self._see_status = see_status

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        status, payload = await super().do_request(*args, **kwargs)
        self._see_status(status)
        return status, payload
