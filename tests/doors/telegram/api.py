"""A Bot API on loopback that behaves like Telegram's where a bot can tell the difference.

    with BotApi() as api:
        api.write(12345, "/memory")            # a person writes; the bot gets it from getUpdates
        answer = api.answer(12345)             # what the bot sends next to that chat, as a reader sees it
        api.press(12345, answer, "Keep it")    # a person taps a button under that answer
        api.troubles["sendMessage"] += [too_many(1), broken()]

It refuses what Telegram refuses: wrong tokens, empty and overlong texts (counted in UTF-16), markup that does not
parse, marks that lie outside the text or within a character, two programs that poll at once.
"""

import json
import re
import threading
from collections import defaultdict
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs

TOKEN = "4242:stand-in-for-a-token"
BOT = {"id": 4242, "is_bot": True, "first_name": "Keepbook", "username": "keepbook_bot"}
PATIENCE = 60.0
LONGEST = 4096
MOST_DATA = 64
RESERVED = r"_*[]()~`>#+-=|{}.!"
TAGS = {"b", "strong", "i", "em", "u", "s", "code", "pre", "a", "tg-spoiler", "blockquote"}


class Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


def too_many(seconds: int) -> Refusal:
    return Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def broken() -> Refusal:
    return Refusal(502, "Bad Gateway")


class Sent(NamedTuple):
    """A message of the bot, as its reader sees it: `marked` are the stretches that look different."""

    chat: int
    text: str
    marked: tuple[tuple[str, str], ...]
    given: dict[str, Any]
    id: int = 0

    @property
    def buttons(self) -> dict[str, str]:
        """By their words, what tapping them sends."""
        rows = json.loads(self.given.get("reply_markup", "{}")).get("inline_keyboard", [])
        return {one["text"]: one["callback_data"] for row in rows for one in row}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A bot that ends leaves its long poll unanswered."""


class BotApi:
    """The server, the people who write, and what they are answered."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.sent: list[Sent] = []
        self.troubles: dict[str, list[Refusal]] = defaultdict(list)
        self.token = TOKEN
        self._read: dict[int, int] = defaultdict(int)
        self._updates: list[dict[str, Any]] = []
        self._last_id = 0
        self._polls = 0
        self._closed = False
        self._changed = threading.Condition()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            api = self

            def do_POST(self) -> None:
                self.api._serve(self)

            def log_message(self, *_: Any) -> None:
                """Into no test's output."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # People

    def write(self, chat: int, text: str | None = None, *, field: str = "message", **more: Any) -> None:
        """Somebody writes in a chat: a text, or whatever `more` says of the message."""
        kind = {"type": "private", "first_name": "Ann"} if chat > 0 else {"type": "supergroup", "title": "Team"}
        with self._changed:
            self._last_id += 1
            sender = {"id": abs(chat), "is_bot": False, "first_name": "Ann"}
            message = {"message_id": self._last_id, "date": 1772355600, "chat": {"id": chat, **kind}, "from": sender}
            if text is not None:
                more["text"] = text
            self._updates.append({"update_id": self._last_id, field: message | more})
            self._changed.notify_all()

    def press(self, chat: int, sent: Sent, label: str) -> None:
        """Somebody taps a button under a message of the bot."""
        with self._changed:
            self._last_id += 1
            place = {"id": chat, "type": "private", "first_name": "Ann"}
            message = {"message_id": sent.id, "date": 1772355600, "chat": place, "text": sent.text, "from": BOT}
            sender = {"id": abs(chat), "is_bot": False, "first_name": "Ann"}
            query = {"id": str(self._last_id), "from": sender, "chat_instance": "1", "message": message,
                     "data": sent.buttons[label]}  # fmt: skip
            self._updates.append({"update_id": self._last_id, "callback_query": query})
            self._changed.notify_all()

    def answer(self, chat: int) -> Sent:
        """What the bot sends next to a chat."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self._to(chat)) > self._read[chat], PATIENCE)
            assert arrived, f"the bot sends nothing more to {chat}; so far: {[each.text for each in self._to(chat)]}"
            self._read[chat] += 1
            return self._to(chat)[self._read[chat] - 1]

    def ask(self, chat: int, text: str) -> str:
        self.write(chat, text)
        return self.answer(chat).text

    def unread(self, chat: int) -> list[str]:
        with self._changed:
            return [each.text for each in self._to(chat)[self._read[chat] :]]

    def wait(self, method: str, times: int = 1) -> None:
        """Until a method was called so often."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.times(method) >= times, PATIENCE), f"{method} was not called"

    def wait_until_fetched(self) -> None:
        """Until the bot has everything that was written, and has said so."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._updates, PATIENCE), "the bot does not fetch its updates"

    def times(self, method: str) -> int:
        return sum(name == method for name, _ in self.calls)

    def _to(self, chat: int) -> list[Sent]:
        return [each for each in self.sent if each.chat == chat]

    # The server

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0)).decode()
        given = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
        token, _, method = request.path.removeprefix("/bot").partition("/")
        try:
            answer: dict[str, Any] = {"ok": True, "result": self._call(token, method, given)}
            status = 200
        except Refusal as refusal:
            answer, status = refusal.body, refusal.code
        payload = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(payload)))
        request.end_headers()
        request.wfile.write(payload)

    def _call(self, token: str, method: str, given: dict[str, Any]) -> Any:
        if token != self.token:
            raise Refusal(401, "Unauthorized")
        with self._changed:
            self.calls.append((method, given))
            self._changed.notify_all()
            if self.troubles[method]:
                raise self.troubles[method].pop(0)
        match method:
            case "getMe":
                return BOT
            case "getUpdates":
                return self._poll(given)
            case "sendMessage":
                return self._send(given)
            case "sendChatAction":
                if given.get("action") not in ("typing", "upload_photo"):
                    raise Refusal(400, "Bad Request: wrong parameter action in request")
                return True
            case "setMyCommands" | "deleteWebhook" | "answerCallbackQuery" | "editMessageReplyMarkup":
                return True
        raise Refusal(404, "Not Found")

    def _poll(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        """Waits for updates as long as asked; what lies before `offset` is confirmed and gone."""
        offset, seconds = int(given.get("offset", 0)), float(given.get("timeout", 0))
        with self._changed:
            self._polls += 1
            mine = self._polls
            self._updates = [update for update in self._updates if update["update_id"] >= offset]
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._updates or self._closed or self._polls != mine, seconds)
            if self._polls != mine and not self._updates:
                raise Refusal(409, "Conflict: terminated by other getUpdates request")
            return list(self._updates)

    def _send(self, given: dict[str, Any]) -> dict[str, Any]:
        text = shown(given.get("text", ""), given.get("parse_mode"))
        if not text.strip():
            raise Refusal(400, "Bad Request: message text is empty")
        if _units(text) > LONGEST:
            raise Refusal(400, "Bad Request: message is too long")
        marked = tuple(_marked(text, each) for each in json.loads(given.get("entities", "[]"))[:100])
        chat = int(given["chat_id"])
        with self._changed:
            self._last_id += 1
            sent = Sent(chat, text.strip(), marked, given, self._last_id)
            if any(len(data.encode()) > MOST_DATA for data in sent.buttons.values()):
                raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
            self.sent.append(sent)
            self._changed.notify_all()
            kind = {"id": chat, "type": "private", "first_name": "Ann"}
            return {"message_id": self._last_id, "date": 1772355600, "chat": kind, "text": text}


# What a reader sees


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _marked(text: str, entity: dict[str, Any]) -> tuple[str, str]:
    start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
    raw = text.encode("utf-16-le")
    try:
        if not 0 <= start < end <= len(raw):
            raise ValueError
        return entity["type"], raw[start:end].decode("utf-16-le")
    except ValueError:  # half of a pair cannot be decoded
        raise Refusal(400, "Bad Request: ENTITY_BOUNDS_INVALID") from None


def shown(text: str, parse_mode: str | None) -> str:
    """The text without its markup, or a refusal where that is not well-formed."""
    match parse_mode:
        case None:
            return text
        case "HTML":
            return _Html().read(text)
        case "MarkdownV2":
            return _markdown(text)
    raise Refusal(400, "Bad Request: unsupported parse_mode")


def _markdown(text: str) -> str:
    plain, opened = "", list[str]()
    for mark in re.findall(r"\\[\x21-\x7e]|__|\|\||.", text, re.DOTALL):
        if len(mark) == 2 and mark[0] == "\\":
            plain += mark[1]
        elif mark in ("*", "_", "__", "~", "||", "`"):
            if opened and opened[-1] == mark:
                opened.pop()
            else:
                opened.append(mark)
        elif mark in RESERVED:
            words = f"Character '{mark}' is reserved and must be escaped with the preceding '\\'"
            raise Refusal(400, f"Bad Request: can't parse entities: {words}")
        else:
            plain += mark
    if opened:
        raise Refusal(400, f"Bad Request: can't parse entities: Can't find end of the entity at {opened[-1]}")
    return plain


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._plain, self._opened = "", list[str]()

    def read(self, text: str) -> str:
        self.feed(text)
        self.close()
        if self._opened or re.search(r"<(?![a-z/])", text):
            raise Refusal(400, "Bad Request: can't parse entities: Unclosed start tag")
        return self._plain

    def handle_data(self, data: str) -> None:
        self._plain += data

    def handle_starttag(self, tag: str, _: Any) -> None:
        if tag not in TAGS:
            raise Refusal(400, f'Bad Request: can\'t parse entities: Unsupported start tag "{tag}"')
        self._opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._opened or self._opened.pop() != tag:
            raise Refusal(400, "Bad Request: can't parse entities: Unexpected end tag")
