"""An open session with a remote model. Only this module and `failures` know the provider library.

Messages are made by one function from our own values, in the loop of a reply and when the chat goes on later, so the
bytes of earlier messages never change and the provider can cache them: tools in the order given, arguments as canonical
JSON, call ids as they were, no times. The library retries nothing and traces nothing.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import httpx2
from pydantic_ai import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import InstructionPart, ModelResponsePart, PartDeltaEvent, PartStartEvent, TextPartDelta
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from keepbook.book.ground.limits import MOST_DEEP, clean_json
from keepbook.errors import Invalid, ModelFailed
from keepbook.models.model import BREAK, AnswerForm, Conversation, PromptMessage, ToolCall, Usage, with_hidden
from keepbook.models.providers.address import PORTS, Address
from keepbook.models.providers.failures import failing
from keepbook.models.providers.pinned_transport import PinnedTransport
from keepbook.patterns import regex

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
CONNECT_SECONDS = 10.0
NO_KEY = "none"
"""The key for an endpoint that needs none; without any key the libraries would look for one in the environment."""


@asynccontextmanager
async def open_session(
    address: Address, *, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator["ModelSession"]:
    """A session for one piece of work. Its connections are closed at the end, because they belong to one event loop. A
    `transport` is used in place of the network."""
    if address.key is None and address.base_url is None:
        variable = f"{address.kind.upper()}_API_KEY"
        raise ModelFailed(f"the model {address.name} needs a key; set {variable}", cause="key")
    with failing(address):
        if transport is None:
            outward = await _outward(address)
        else:
            outward = {"transport": transport}
    if address.kind == "anthropic":
        # Each provider's library takes a second to load, so only the one in use is.
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        async with AsyncAnthropic(
            api_key=address.key or NO_KEY, base_url=address.base_url or ANTHROPIC, max_retries=0,
            timeout=Timeout(address.timeout, connect=min(address.timeout, CONNECT_SECONDS)), open_telemetry=False,
            http_client=DefaultAsyncHttpxClient(**outward),
        ) as client:  # fmt: skip
            provider = AnthropicProvider(anthropic_client=client)
            # Anthropic caches a prefix only if it is asked to.
            yield ModelSession(address, AnthropicModel(address.model, provider=provider), ModelSettings(cache=True))
        return
    # As above: only the library in use is loaded.
    from openai import AsyncOpenAI
    from openai import DefaultAsyncHttpxClient as OpenAIHttpxClient
    from openai import Timeout as OpenAITimeout
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    async with AsyncOpenAI(
        api_key=address.key or NO_KEY, base_url=address.base_url or OPENAI, max_retries=0,
        timeout=OpenAITimeout(address.timeout, connect=min(address.timeout, CONNECT_SECONDS)),
        http_client=OpenAIHttpxClient(**outward),
    ) as client:  # fmt: skip
        compatible = OpenAICompatibleProvider("compatible", openai_client=client)
        own = OpenAIProvider(openai_client=client)
        # Without this a stream that ends in the middle would pass for a whole reply (see `finished_response`).
        profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
        yield ModelSession(
            address, OpenAIChatModel(address.model, provider=compatible if address.base_url else own, profile=profile)
        )


async def _outward(address: Address) -> dict[str, Any]:
    """The client's options for reaching the address. An address that somebody configured is resolved and checked first,
    and the connection is pinned to what was found; a provider's own address needs no check."""
    options: dict[str, Any] = {"verify": _ssl_context(), "follow_redirects": False}
    if address.base_url is None:
        return options
    async with asyncio.timeout(min(address.timeout, CONNECT_SECONDS)):
        addresses = await asyncio.to_thread(address.outward.find, address.base_url)
    if addresses:
        options["transport"] = PinnedTransport(addresses, _ssl_context())
    return options


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates. Cached, because loading them takes a tenth of a second."""
    return httpx2.create_ssl_context()


# What is sent


def to_library_messages(said: Sequence[PromptMessage]) -> list[ModelMessage]:
    """Messages in the library's types. Each round of calls in a reply is a message of its own, as when it was made."""
    messages: list[ModelMessage] = []
    for one in said:
        if one.role == "user":
            messages.append(ModelRequest(parts=[UserPromptPart(with_hidden(one))]))
            continue
        start = 0
        for _, group in groupby(one.calls, key=lambda call: call.round):
            calls = list(group)
            end = calls[0].at
            text = _between(one.text, start, end)
            messages.append(ModelResponse(parts=[*_text(text), *(_call(call) for call in calls)]))
            messages.append(tool_answers(calls))
            start = end
        rest = _between(one.text, start, len(one.text))
        if rest:
            messages.append(ModelResponse(parts=_text(rest)))
    return messages


def _between(text: str, start: int, end: int) -> str:
    """The part of a reply between two places, without the BREAK at its beginning."""
    if 0 < start < end:
        return text[start + len(BREAK) : end]
    return text[start:end]


def _text(text: str) -> list[ModelResponsePart]:
    if text:
        return [TextPart(text)]
    return []


def _call(call: ToolCall) -> ToolCallPart:
    return ToolCallPart(
        provider_safe_name(call.name), canonical_arguments(call.arguments), tool_call_id=provider_safe_name(call.id)
    )


def tool_answers(calls: Sequence[ToolCall]) -> ModelRequest:
    return ModelRequest(
        parts=[
            ToolReturnPart(
                provider_safe_name(call.name), call.answer or "No answer.", tool_call_id=provider_safe_name(call.id)
            )
            for call in calls
        ]
    )


def canonical_arguments(arguments: Mapping[str, Any]) -> str:
    """One JSON text for the same arguments, whoever wrote them; raises ValueError if they are not JSON."""
    text = json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    text.encode()  # raises for half of a surrogate pair, which could not be sent again
    return text


_UNFIT_FOR_TOOL = regex(r"[^A-Za-z0-9_-]")


def provider_safe_name(name: str) -> str:
    """A tool's name or a call's id, with every character replaced that some provider refuses: models invent names, and
    a chat may be continued with another model."""
    return _UNFIT_FOR_TOOL.sub("_", name)[:64] or "unknown"


def _definition(schema: Mapping[str, Any]) -> ToolDefinition:
    function = schema["function"]
    return ToolDefinition(
        name=function["name"],
        description=function["description"],
        parameters_json_schema=function["parameters"],
        strict=False,
    )


# Sessions


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call that the model asks for, with its arguments as it wrote them."""

    id: str
    name: str
    written: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as a dict; empty if they are not one, which the tool then reports."""
        try:
            read = json.loads(self.written)
            clean_json(read, "arguments", MOST_DEEP // 2)  # raises if the chat could not store them
            if isinstance(read, dict):
                return json.loads(canonical_arguments(read))  # type: ignore[no-any-return]
        except (Invalid, ValueError, RecursionError):
            pass
        return {}


class ModelSession:
    """An open connection to a model: `ask` gives one whole answer, `exchange` a reply with tools. `usage` is the cost
    of all requests so far; `takes_schema` turns False when the endpoint refuses one."""

    def __init__(self, address: Address, model: LibraryModel[Any], chatting: ModelSettings | None = None) -> None:
        self.address = address
        self.model = model
        self.chatting: ModelSettings = chatting or ModelSettings()
        self.usage: Usage = Usage()
        self.takes_schema: bool = True

    def exchange(self, conversation: Conversation, tools: Sequence[Mapping[str, Any]]) -> "ModelExchange":
        return ModelExchange(self, conversation, tools)

    async def ask(self, system: str, said: Sequence[PromptMessage], schema: Mapping[str, Any] | None = None) -> str:
        """One answer to these messages, as JSON of this schema if the endpoint can guarantee that."""
        messages = to_library_messages(said)
        parameters = ModelRequestParameters(instruction_parts=[InstructionPart(content=system)])
        try:
            if schema is None or not self.takes_schema:
                asking = parameters
            else:
                asking = self._bound(parameters, schema)
            response = await self._request(messages, asking)
        except ModelFailed as error:
            if error.details["cause"] != "rejected" or asking is parameters:
                raise
            # Not every endpoint accepts a schema. The prompt asks for the same form in words.
            self.takes_schema = False
            response = await self._request(messages, parameters)
        self.usage += usage_of(response, system, messages)
        return response.text or ""

    async def _request(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> ModelResponse:
        with failing(self.address):
            response = await model_request(
                self.model, messages, model_settings=ModelSettings(request_timeout=self.address.timeout),
                model_request_parameters=parameters, instrument=False,
            )  # fmt: skip
            return finished_response(response, self.address)

    def bound_to(
        self, parameters: ModelRequestParameters, form: AnswerForm | None, *, may_call: bool
    ) -> ModelRequestParameters:
        """The parameters with the form's schema, if there is one and the endpoint accepts it. Local model servers do
        not let a model call tools while its answer must fit a schema, so for them it is added only in the last
        request, when no tool may be called."""
        schema_stops_tools = may_call and parameters.function_tools and self.address.server in dict(PORTS)
        if form is None or schema_stops_tools or not self.takes_schema:
            return parameters
        return self._bound(parameters, form.schema)

    def _bound(self, parameters: ModelRequestParameters, schema: Mapping[str, Any]) -> ModelRequestParameters:
        return replace(
            parameters,
            output_mode="native" if self.model.profile.get("supports_json_schema_output", False) else "prompted",
            output_object=OutputObjectDefinition(json_schema=dict(schema), name="answer", strict=True),
            prompted_output_template=False,  # our own prompt describes the form
        )


class ModelExchange:
    """A reply in progress: what has been sent and answered so far."""

    def __init__(self, session: ModelSession, conversation: Conversation, tools: Sequence[Mapping[str, Any]]) -> None:
        self._session = session
        self._system = conversation.system
        self._messages = to_library_messages(conversation.said)
        self._parameters = ModelRequestParameters(
            function_tools=[_definition(schema) for schema in tools],
            instruction_parts=[InstructionPart(content=conversation.system)],
        )
        self._form = conversation.form
        self.asked: list[ToolRequest] = []

    async def round(self, *, may_call: bool) -> AsyncGenerator[str, None]:
        """Send one request and yield its text as it comes; afterwards `asked` has the calls that the model asks for."""
        asking = self._session.bound_to(self._parameters, self._form, may_call=may_call)
        try:
            async with aclosing(self._request(asking, may_call=may_call)) as heard:
                async for text in heard:
                    yield text
        except ModelFailed as error:
            if error.details["cause"] != "rejected" or asking is self._parameters:
                raise
            self._session.takes_schema = False  # see ask()
            async with aclosing(self._request(self._parameters, may_call=may_call)) as heard:
                async for text in heard:
                    yield text

    async def _request(self, parameters: ModelRequestParameters, *, may_call: bool) -> AsyncGenerator[str, None]:
        session = self._session
        settings = ModelSettings(**session.chatting, first_event_timeout=session.address.timeout)
        if not may_call:
            settings["tool_choice"] = "none"
        with failing(session.address):
            async with model_request_stream(
                session.model, self._messages, model_settings=settings,
                model_request_parameters=parameters, instrument=False,
            ) as stream:  # fmt: skip
                begun = False
                try:
                    async for event in stream:
                        text = _text_of_event(event)
                        if not begun:  # some providers refuse a message that begins with blanks
                            text = text.lstrip()
                        if text:
                            begun = True
                            yield text
                finally:
                    # A request that breaks off costs too.
                    session.usage += usage_of(stream.get(), self._system, self._messages)
                response = finished_response(stream.get(), session.address)
            self.asked = [_to_tool_request(part) for part in response.parts if isinstance(part, ToolCallPart)]
            # With all parts, as long as the reply lasts: some models need their own thinking back with the answers.
            parts = [_as_sent(part) for part in response.parts if not _blank(part)]
            self._messages.append(replace(response, parts=parts))

    def add_answers(self, calls: Sequence[ToolCall]) -> None:
        self._messages.append(tool_answers(calls))


def _text_of_event(event: object) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _to_tool_request(part: ToolCallPart) -> ToolRequest:
    if isinstance(part.args, str):
        written = part.args
    else:
        written = json.dumps(part.args or {})
    return ToolRequest(part.tool_call_id, part.tool_name, written)


def _blank(part: ModelResponsePart) -> bool:
    return isinstance(part, TextPart) and not part.content.strip()


def _as_sent(part: ModelResponsePart) -> ModelResponsePart:
    """The part as `to_library_messages` will make it from the stored reply, with the provider's own details added."""
    if isinstance(part, TextPart):
        return TextPart(part.content.lstrip())
    if isinstance(part, ToolCallPart):
        return ToolCallPart(
            provider_safe_name(part.tool_name),
            canonical_arguments(_to_tool_request(part).arguments),
            tool_call_id=provider_safe_name(part.tool_call_id),
            id=part.id,
            provider_name=part.provider_name,
            provider_details=part.provider_details,
        )
    return part


def finished_response(response: ModelResponse, address: Address) -> ModelResponse:
    """The response, if it is complete; raises if it has no finish reason, because then it was cut off."""
    if response.finish_reason is None and not (response.provider_details or {}).get("finish_reason"):
        raise ModelFailed(
            f"the model {address.name} broke off in the middle of its answer", cause="garbage", again=True
        )
    return response


def usage_of(response: ModelResponse, system: str, messages: Sequence[ModelMessage]) -> Usage:
    """The tokens that the provider counted, or characters / 4 if it counts none."""
    counted = response.usage
    if counted.input_tokens or counted.output_tokens:
        return Usage(counted.input_tokens, counted.output_tokens)
    written = len(system) + sum(_size(message) for message in messages)
    return Usage(-(-written // 4), -(-_size(response) // 4))


def _size(message: ModelMessage) -> int:
    return sum(len(str(getattr(part, "content", "") or getattr(part, "args", "") or "")) for part in message.parts)
