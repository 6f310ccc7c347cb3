"""Model servers on loopback that say what a test tells them to, in two wire formats, and keep the bytes they were sent.

    with Wire("openai") as wire:                      # or "anthropic"
        wire.script += [Say("Hello"), Say(calls=[Call("remember", {"content": "…"})]), Status(429), HANG]
        ...                                            # a model with base_url=wire.url
        wire.received[0].system                        # what was sent, in words that fit both formats
        wire.received[1].raw("messages")               # and to the byte

A step answers one request, streamed or whole as the request wants it. When the script is over, `wire.answer` (a
function from the request to a step) is asked; without one the test fails with a 500.
"""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LONGEST_HANG = 20.0


# What a server answers


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` as text goes out as it is, valid or not."""

    name: str
    arguments: dict[str, Any] | str
    id: str = "call_1"

    @property
    def written(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Say:
    """An ordinary answer. `pieces` are the deltas of a stream; `tokens` None is a server that counts nothing."""

    text: str = ""
    calls: Sequence[Call] = ()
    tokens: tuple[int, int] | None = (100, 10)
    thinking: str = ""

    @property
    def pieces(self) -> list[str]:
        step = max(7, len(self.text) // 20)
        return [self.text[at : at + step] for at in range(0, len(self.text), step)]


def answer(data: Any) -> Say:
    """A structured answer."""
    return Say(json.dumps(data))


@dataclass(frozen=True)
class Status:
    """An HTTP error, in the format's own dress."""

    code: int
    kind: str = "some_error"
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Something no server should do."""

    kind: str


GARBAGE = Fault("garbage")
"""200, and then no JSON."""
CUT = Fault("cut")
"""The connection ends in the middle of the answer."""
UNFINISHED = Fault("unfinished")
"""A stream ends in the middle of the answer, and properly so by the rules of HTTP."""
STALL = Fault("stall")
"""A stream stops in the middle of the answer and the connection stays open."""
DROP = Fault("drop")
"""The connection ends before any answer."""
HANG = Fault("hang")
"""No answer, ever."""
EMPTY = Fault("empty")
"""Valid JSON that is no answer at all."""

Step = Say | Status | Fault


# What a server was sent


class Received:
    """One request."""

    def __init__(self, kind: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.kind, self.path, self.headers, self.body = kind, path, headers, body
        self.json: dict[str, Any] = json.loads(body)

    def raw(self, key: str) -> bytes:
        """The exact bytes of one value of the request."""
        text, decoder = self.body.decode(), json.JSONDecoder()
        at = text.index("{") + 1
        while True:
            name, end = decoder.raw_decode(text, _skip(text, at, " \n,"))
            start = _skip(text, end, " \n:")
            _, at = decoder.raw_decode(text, start)
            if name == key:
                return text[start:at].encode()
            if text[_skip(text, at, " \n")] == "}":
                raise KeyError(key)

    @property
    def streamed(self) -> bool:
        return bool(self.json.get("stream"))

    @property
    def system(self) -> str:
        if self.kind == "openai":
            return "\n\n".join(_text(one["content"]) for one in self.json["messages"] if one["role"] == "system")
        return _text(self.json.get("system", ""))

    @property
    def said(self) -> list[tuple[str, str]]:
        """(role, text) of what the person and the assistant said, tool calls and their answers left out."""
        spoken = [(one["role"], _text(one["content"])) for one in self.json["messages"]]
        return [(role, text) for role, text in spoken if role in ("user", "assistant") and text]

    @property
    def last(self) -> str:
        return self.said[-1][1]

    @property
    def tools(self) -> list[str]:
        listed = self.json.get("tools", [])
        return [one["function"]["name"] if self.kind == "openai" else one["name"] for one in listed]

    @property
    def parameters(self) -> list[dict[str, Any]]:
        listed = self.json.get("tools", [])
        return [one["function"]["parameters"] if self.kind == "openai" else one["input_schema"] for one in listed]

    @property
    def may_call(self) -> bool:
        return self.json.get("tool_choice", "auto") not in ("none", {"type": "none"})

    @property
    def calls(self) -> list[tuple[str, str, dict[str, Any]]]:
        """(id, name, arguments) of every tool call that is sent back."""
        if self.kind == "openai":
            made = [call for one in self.json["messages"] for call in one.get("tool_calls") or []]
            return [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in made]
        return [(one["id"], one["name"], one["input"]) for one in self._blocks("tool_use")]

    @property
    def answers(self) -> list[tuple[str, str]]:
        """(id, text) of every answer to a tool call."""
        if self.kind == "openai":
            tools = [one for one in self.json["messages"] if one["role"] == "tool"]
            return [(one["tool_call_id"], _text(one["content"])) for one in tools]
        return [(one["tool_use_id"], _text(one["content"])) for one in self._blocks("tool_result")]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer is bound to, if any."""
        if self.kind == "openai":
            bound = self.json.get("response_format", {}).get("json_schema", {})
        else:
            bound = self.json.get("output_config", {}).get("format", {})
        schema: dict[str, Any] | None = bound.get("schema")
        return schema

    def extends(self, earlier: "Received") -> bool:
        """Whether the earlier request is, to the byte, the beginning of this one."""
        same = [key for key in ("model", "system", "tools") if key in earlier.json or key in self.json]
        return all(self.raw(key) == earlier.raw(key) for key in same) and self.raw("messages").startswith(
            earlier.raw("messages").removesuffix(b"]")
        )

    def _blocks(self, kind: str) -> list[dict[str, Any]]:
        contents = [one["content"] for one in self.json["messages"] if isinstance(one["content"], list)]
        return [block for content in contents for block in content if block["type"] == kind]


def _skip(text: str, at: int, over: str) -> int:
    while text[at] in over:
        at += 1
    return at


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n\n".join(block["text"] for block in content if block.get("type") == "text")
    return content or ""


# The server


class Wire:
    """A scripted server; `kind` is openai or anthropic."""

    def __init__(self, kind: str, answer: Callable[[Received], Step] | None = None) -> None:
        self.kind = kind
        self.answer = answer
        self.script: list[Step] = []
        self.received: list[Received] = []
        self.models: list[str] = []
        """What it answers to whoever asks for its models; a server without any has no such list."""
        self.wants_key = False
        """Whether it tells its models only with a key."""
        self.thinks = 0.0
        """Seconds before it tells its models."""
        self.over = threading.Event()
        wire = self

        class Handler(_Handler):
            def do_POST(self) -> None:
                wire.serve(self)

            def do_GET(self) -> None:
                wire.over.wait(wire.thinks)
                listed = [{"id": name, "object": "model"} for name in wire.models]
                if wire.wants_key and "Authorization" not in self.headers:
                    self.send({"error": {"message": "no key"}}, status=401)
                    return
                self.send({"object": "list", "data": listed}, status=200 if listed else 404)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        host = f"http://127.0.0.1:{self._server.server_address[1]}"
        return f"{host}/v1" if self.kind == "openai" else host

    def over_tls(self, certificate: Path) -> None:
        """From now on it speaks TLS, as whoever the certificate names."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def serve(self, handler: "_Handler") -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        request = Received(self.kind, handler.path, {k.lower(): v for k, v in handler.headers.items()}, body)
        self.received.append(request)
        if self.script:
            step = self.script.pop(0)
        else:
            step = self.answer(request) if self.answer else Status(500, message="the script is over")
        say = _openai if self.kind == "openai" else _anthropic
        match step:
            case Say():
                handler.send(say(step, request))
            case Status():
                error = {"type": "error", "error": {"type": step.kind, "code": step.kind, "message": step.message}}
                handler.send(error, status=step.code, headers=step.headers)
            case Fault("garbage"):
                handler.send(iter(["{not json"]) if request.streamed else "<html>Bad gateway</html>")
            case Fault("empty"):
                handler.send(iter([{}]) if request.streamed else {})
            case Fault("cut" | "unfinished" | "stall"):
                handler.send(_half(say(Say("a half-finished answer"), request)), end=step is UNFINISHED)
                if step is STALL:
                    self.over.wait(LONGEST_HANG)
            case Fault("hang"):
                self.over.wait(LONGEST_HANG)
                handler.close_connection = True
            case Fault("drop"):
                handler.connection.shutdown(socket.SHUT_RDWR)
                handler.close_connection = True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def refused() -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that no answer outlives its test

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def send(self, told: Any, *, status: int = 200, headers: dict[str, str] | None = None, end: bool = True) -> None:
        """JSON, plain text, or a stream of events: (name, data) pairs or data alone."""
        self.close_connection = True
        self.send_response(status)
        for name, value in {"Connection": "close", "request-id": "r1", **(headers or {})}.items():
            self.send_header(name, value)
        if isinstance(told, Iterator):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in told:
                self._chunk(_event(event))
            if end:
                self._chunk(b"")
            return
        body = told.encode() if isinstance(told, str) else json.dumps(told).encode()
        self.send_header("Content-Type", "text/html" if isinstance(told, str) else "application/json")
        self.send_header("Content-Length", str(len(body) + (0 if end else 100)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _half(told: Any) -> Any:
    if not isinstance(told, Iterator):
        return told
    events = list(told)
    return iter(events[: len(events) // 2])


def _event(event: Any) -> bytes:
    name, data = event if isinstance(event, tuple) else (None, event)
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{f'event: {name}' + chr(10) if name else ''}data: {text}\n\n".encode()


# The formats


def _openai(step: Say, request: Received) -> Any:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.written}}
        for call in step.calls
    ]
    why = "tool_calls" if calls else "stop"
    if request.streamed:
        return _openai_stream(step, calls, why, request.json["model"])
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if calls:
        message["tool_calls"] = calls
    if step.thinking:
        message["reasoning_content"] = step.thinking
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request.json["model"]}
    return whole | {"choices": [{"index": 0, "message": message, "finish_reason": why}]} | _openai_usage(step)


def _openai_stream(step: Say, calls: Sequence[dict[str, Any]], why: str, model: str) -> Iterator[Any]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}

    if step.thinking:
        yield chunk({"role": "assistant", "reasoning_content": step.thinking})
    for piece in step.pieces:
        yield chunk({"role": "assistant", "content": piece})
    for index, call in enumerate(calls):
        written = call["function"]["arguments"]
        half = len(written) // 2
        opening = call["function"] | {"arguments": written[:half]}
        yield chunk({"tool_calls": [call | {"index": index, "function": opening}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": written[half:]}}]})
    yield chunk({}, why)
    if step.tokens is not None:
        yield chunk({}) | {"choices": []} | _openai_usage(step)
    yield "[DONE]"


def _openai_usage(step: Say) -> dict[str, Any]:
    if step.tokens is None:
        return {}
    into, out = step.tokens
    return {"usage": {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}}


def _anthropic(step: Say, request: Received) -> Any:
    blocks: list[dict[str, Any]] = []
    if step.thinking:
        blocks.append({"type": "thinking", "thinking": step.thinking, "signature": "signed"})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.written} for call in step.calls]
    why = "tool_use" if step.calls else "end_turn"
    into, out = step.tokens or (0, 0)
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.json["model"], "content": []}
    whole |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": into, "output_tokens": out}}
    if request.streamed:
        return _anthropic_stream(step, blocks, whole, why)
    for block in blocks:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["input"])
    return whole | {"content": blocks, "stop_reason": why}


def _anthropic_stream(
    step: Say, blocks: Sequence[dict[str, Any]], whole: dict[str, Any], why: str
) -> Iterator[tuple[str, Any]]:
    def event(name: str, **told: Any) -> tuple[str, Any]:
        return name, {"type": name, **told}

    yield event("message_start", message=whole)
    for index, block in enumerate(blocks):
        opening, deltas = _anthropic_deltas(step, block)
        yield event("content_block_start", index=index, content_block=opening)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    usage = {"output_tokens": whole["usage"]["output_tokens"]}
    yield event("message_delta", delta={"stop_reason": why, "stop_sequence": None}, usage=usage)
    yield event("message_stop")


def _anthropic_deltas(step: Say, block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": piece} for piece in step.pieces]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return block | {"thinking": "", "signature": ""}, [thought, signed]
    written = block["input"]
    half = len(written) // 2
    parts = [{"type": "input_json_delta", "partial_json": part} for part in (written[:half], written[half:])]
    return block | {"input": {}}, parts
