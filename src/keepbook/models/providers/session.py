"""One open session with a remote model, and the only module that uses the provider library's types.

What is sent is made by one function from our own values, in the loop of a reply and when the chat goes on later, so the
bytes of what came before never change: tools in the order given, arguments as one canonical JSON, call ids as they
were, no times. Nothing is retried by the library, and nothing is traced.
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
"""What is sent to an endpoint that wants no key; without it the libraries would look for one in the environment."""


@asynccontextmanager
async def open_session(
    address: Address, *, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator["ModelSession"]:
    """A session for one piece of work. Its connections end with it: they belong to the event loop that made them. With
    a `transport` nothing else is connected to."""
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
            # Anthropic caches a prefix only where it is asked to.
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
    """How the library's client reaches the address. A provider's own was named by nobody, and needs no finding."""
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
    """Whom to trust on the network. Reading that list anew for each piece of work would cost a tenth of a second."""
    return httpx2.create_ssl_context()


# What is sent


def to_library_messages(said: Sequence[PromptMessage]) -> list[ModelMessage]:
    """Messages in the library's types; an assistant's rounds of calls are separate messages, as they were made."""
    messages: list[ModelMessage] = []
    for one in said:
        if one.role == "user":
            messages.append(ModelRequest(parts=[UserPromptPart(with_hidden(one))]))
            continue
        start = 0
        for _, group in groupby(one.calls, key=lambda call: call.round):
            calls = list(group)
            text, start = _between(one.text, start, calls[0].at), calls[0].at
            messages.append(ModelResponse(parts=[*_text(text), *(_call(call) for call in calls)]))
            messages.append(tool_answers(calls))
        if text := _between(one.text, start, len(one.text)):
            messages.append(ModelResponse(parts=_text(text)))
    return messages


def _between(text: str, start: int, end: int) -> str:
    """What was said from one place to the next, without the break that parts it from what came before."""
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
    text.encode()  # half of a surrogate pair could be written as an escape, and never be sent again
    return text


_UNFIT_FOR_TOOL = regex(r"[^A-Za-z0-9_-]")


def provider_safe_name(name: str) -> str:
    """A tool's name or a call's id in the letters that all providers accept: models invent names, and a chat may go on
    with another model."""
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
        """The arguments as a mapping; empty if they are not one, which the tool itself reports."""
        try:
            read = json.loads(self.written)
            clean_json(read, "arguments", MOST_DEEP // 2)  # the chat keeps them with its reply
            return json.loads(canonical_arguments(read)) if isinstance(read, dict) else {}
        except (Invalid, ValueError, RecursionError):
            return {}


class ModelSession:
    """An open model. `ask` for one whole answer, `exchange` for a reply with tools; `usage` is the cost of all of
    it."""

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
            # Not every endpoint takes a schema; the words of the prompt ask for the same.
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
        """The parameters with the form's schema. The servers of one's own machine keep a model that is bound to a
        schema from calling tools, so there it is asked for in words until no tool may be called."""
        held_back = may_call and parameters.function_tools and self.address.server in dict(PORTS)
        if form is None or held_back or not self.takes_schema:
            return parameters
        return self._bound(parameters, form.schema)

    def _bound(self, parameters: ModelRequestParameters, schema: Mapping[str, Any]) -> ModelRequestParameters:
        return replace(
            parameters,
            output_mode="native" if self.model.profile.get("supports_json_schema_output", False) else "prompted",
            output_object=OutputObjectDefinition(json_schema=dict(schema), name="answer", strict=True),
            prompted_output_template=False,  # our own words have said it
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
        """One request: yields its text as it comes; afterwards `asked` has the calls it asks for."""
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
                        # Blanks before the first word say nothing, and some providers refuse to be sent them back.
                        if text := _text_of_event(event) if begun else _text_of_event(event).lstrip():
                            begun = True
                            yield text
                finally:
                    # One that breaks off is paid for too.
                    session.usage += usage_of(stream.get(), self._system, self._messages)
                response = finished_response(stream.get(), session.address)
            self.asked = [_to_tool_request(part) for part in response.parts if isinstance(part, ToolCallPart)]
            # Kept whole for this reply: some models must be given their own thinking back with a call's answer.
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
    """The part as `to_library_messages` would make it from what is stored, with whatever else the provider put on
    it."""
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
    """The response, if it is complete: one that stops without a reason was cut off."""
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
