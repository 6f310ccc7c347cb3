"""The limits of a reply that nobody watches: what it may use, and when a request is tried again.

In a chat the person sees what happens, and can stop it or ask once more. A reply in the background has these limits
instead. Each ends it with an error code of its own, and the cost of a request counts whether it succeeds or not. A
request is repeated if waiting may help (a busy or failing server, a stream that broke off); finished steps are not
repeated, the wait is at least what the server asks for, and it ends before the time is over.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import TypeVar

from keepbook.errors import LimitReached, ModelFailed
from keepbook.models.model import Usage

Event = TypeVar("Event")

TRIES = 4
"""How often one request is made at most."""
BACKOFF_SECONDS, LONGEST_BACKOFF = 1.0, 60.0
"""The wait before the second try, which doubles with each further one, and the longest wait; in seconds."""
ANSWER_LIMIT = 200_000
"""How many characters one reply may have: far more than any form of an answer holds."""


@dataclass(slots=True)
class ReplyLimits:
    """The limits of one piece of work, over all its replies, and what it has used. `spent` is what the reply in
    progress has cost so far, `used` what the replies before it cost."""

    seconds: float
    tool_calls: int
    tokens: int | None = None
    calls_made: int = 0
    used: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.begun + self.seconds - time.monotonic())

    def out_of_time(self) -> LimitReached:
        return LimitReached(f"it took longer than its run_seconds, {self.seconds:g}", code="run_seconds")

    def count_call(self) -> None:
        """Count a tool call, before it is made; raises if it is one too many."""
        if self.calls_made >= self.tool_calls:
            why = f"it called tools more often than its run_tool_calls, {self.tool_calls}"
            raise LimitReached(why, code="run_tool_calls")
        self.calls_made += 1

    def check_tokens(self) -> None:
        """Raise if too many tokens are used; called before each request, and at the end."""
        total = self.used + self.spent
        count = total.tokens_in + total.tokens_out
        if self.tokens is not None and count > self.tokens:
            why = f"it used {count:,} tokens, more than its run_tokens, {self.tokens:,}"
            raise LimitReached(why, code="run_tokens")

    def finish_reply(self, usage: Usage) -> None:
        self.used += usage
        self.spent = Usage()

    def wait_before_retry(self, error: ModelFailed, tries: int) -> float | None:
        """The seconds to wait after this many failed tries; None if there is no further try."""
        if not error.details.get("again") or tries >= TRIES:
            return None
        backoff = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2 ** (tries - 1)) * random.uniform(1.0, 1.25)
        wait: float = max(backoff, float(error.details.get("retry_after") or 0.0))
        if wait >= self.seconds_left:
            error.add(f"the run has {self.seconds_left:.0f} seconds left, and the wait would be {wait:.0f}")
            return None
        return wait


async def within_time(events: AsyncIterator[Event], limits: ReplyLimits) -> AsyncGenerator[Event, None]:
    """Pass on the events of a piece of work; raises `LimitReached` when its time is over."""
    try:
        while True:
            try:
                event = await asyncio.wait_for(anext(events), limits.seconds_left)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise limits.out_of_time() from None
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]


def check_answer(text: str) -> None:
    """Raise if the text cannot be stored. The error names the reason and allows no retry, which would not help."""
    check_length(len(text))
    at = text.find("\x00")
    if at >= 0:
        raise ModelFailed(f"the answer holds a NUL character (character {at + 1:,})", cause="unreadable_text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        why = f"the answer holds half of a surrogate pair (character {error.start + 1:,})"
        raise ModelFailed(why, cause="unreadable_text") from None


def check_length(characters: int) -> None:
    """Raise if an answer is too long; also called while it comes in, because it may never end."""
    if characters > ANSWER_LIMIT:
        raise ModelFailed(f"the answer is longer than {ANSWER_LIMIT:,} characters", cause="answer_too_long")


def storable_text(text: str, most: int) -> str:
    """The text made storable: characters that cannot be stored are replaced, and it is cut after `most` characters."""
    readable = text.replace("\x00", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if len(readable) <= most:
        return readable
    return f"{readable[: most - 1]}…"
