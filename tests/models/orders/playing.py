"""Playing a written dialogue: the person's turns one by one, offline, and what must hold after each and after
closing."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepbook import Book, Keepbook
from keepbook.book.chats.face import Chat
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.changes import Statement
from keepbook.doors.http.web.chat.chat import EDITING, QUESTION
from keepbook.models.model import TextDelta
from keepbook.models.orders.obey import at_hand
from keepbook.models.orders.values import of_parts

HERE = Path(__file__).parent
JUDGED = HERE.parents[2] / "training" / "judged"
PROMISES = ("withdraw", "correct", "edit", "never", "ask")


def cases(promise: str) -> list[dict[str, Any]]:
    lines = (JUDGED / f"{promise}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


@dataclass
class Play:
    """One dialogue over one book. `wrong` gathers what did not hold."""

    kb: Keepbook
    case: dict[str, Any]
    owner: str
    wrong: list[str] = field(default_factory=list)
    asked_in_vain: int = 0

    def __post_init__(self) -> None:
        self.book: Book = self.kb.book(self.owner)
        self.ids = [self._kept(one) for one in self.case["book"]]
        if self.case.get("never"):
            self.book.choose(never=self.case["never"])
        self.chat: Chat = self.book.threads.start(preset=self.case["preset"])

    def _kept(self, one: dict[str, str]) -> str:
        if one["by"] == "person":
            return self.book.remember(one["content"], force=True).id
        with self.book.writing() as (tx, preset):
            found = Origin("extractor", "close", source="extracted")
            return changes.remember(tx, found, preset, Statement(one["content"], force=True, score=0.9)).id

    def say(self, text: str) -> str:
        async def heard() -> str:
            said = ""
            async for event in self.kb.talk(self.chat).say(text):
                said += event.text if isinstance(event, TextDelta) else ""
            return said

        return asyncio.run(heard())

    def lines(self, *, closed: bool = False) -> list[str]:
        """Everything that is active: kept in the book, or noted in this chat; in ask-first presets also what waits."""
        kept = [memory.content for memory in self.book.list(limit=1000)]
        waiting = [one.content for one in self.book.proposals.list() if one.op != "forget"]
        noted = [] if closed else [one.content for one in at_hand(self.book, self.chat)[1]]
        return [*kept, *noted, *waiting]

    def check(self, then: dict[str, Any], reply: str, when: str, *, closed: bool = False) -> None:
        lines = self.lines(closed=closed)
        for pattern in then.get("holds", ()):
            if not any(re.search(pattern, line, re.IGNORECASE) for line in lines):
                self.wrong.append(f"{when}: nothing says {pattern!r} in {lines}")
        for pattern in then.get("gone", ()):
            for line in lines:
                if re.search(pattern, line, re.IGNORECASE):
                    self.wrong.append(f"{when}: {line!r} should not be there ({pattern!r})")
        for pattern in then.get("reply", ()):
            if not re.search(pattern, reply, re.IGNORECASE):
                self.wrong.append(f"{when}: the reply lacks {pattern!r}: {reply!r}")
        for pattern in then.get("reply_not", ()):
            if re.search(pattern, reply, re.IGNORECASE):
                self.wrong.append(f"{when}: the reply has {pattern!r}: {reply!r}")
        for topic in then.get("never", ()):
            if topic.lower() not in [one.lower() for one in self.book.choices.never]:
                self.wrong.append(f"{when}: {topic!r} is not among {self.book.choices.never}")
        self._check_asking(then, reply, when)

    def _check_asking(self, then: dict[str, Any], reply: str, when: str) -> None:
        if "asks" not in then:
            return
        last = [message for message in self.chat.messages() if message.role == "user"][-1:]
        asks = any(deed.question is not None for message in last for deed in of_parts(message.parts))
        if then["asks"] and not asks:
            self.wrong.append(f"{when}: it should ask, and says {reply!r}")
        if not then["asks"] and asks:
            self.asked_in_vain += 1
            self.wrong.append(f"{when}: it could have known, and asks {reply!r}")

    def play(self) -> list[str]:
        if self.case["promise"] == "edit":
            return self._edited()
        for number, turn in enumerate(self.case["turns"], 1):
            reply = self.say(turn["say"])
            if "then" in turn:
                self.check(turn["then"], reply, f"turn {number}")
        self.chat.close()
        self.check(self.case["closed"], "", "closed", closed=True)
        return self.wrong

    def _edited(self) -> list[str]:
        """A chat that the page opened to edit one memory: the answer, and where it asks, the word on that."""
        memory = self.book.get(self.ids[self.case["edit"]])
        self.chat.add(
            "assistant",
            QUESTION.format(content=memory.content),
            hidden=EDITING.format(id=memory.id, content=memory.content),
        )
        reply = self.say(self.case["answer"])
        then = self.case["then"]
        self._check_asking(then, reply, "answer")
        last = [message for message in self.chat.messages() if message.role == "user"][-1]
        deeds = of_parts(last.parts)
        shown = [
            one
            for deed in deeds
            for one in (*(deed.question.lines if deed.question else ()), *(c.new for c in deed.changes if c.new))
        ]
        for pattern in then["proposes"] or ():
            if not any(re.search(pattern, one, re.IGNORECASE) for one in shown):
                self.wrong.append(f"answer: nothing proposed says {pattern!r}: {shown}")
        for pattern in then.get("gone", ()):
            self.wrong += [
                f"answer: {one!r} is proposed ({pattern!r})" for one in shown if re.search(pattern, one, re.IGNORECASE)
            ]
        if self.case["confirm"]:
            self.say(self.case["confirm"])
        self.chat.close()
        self.check(self.case["after"], "", "after", closed=True)
        return self.wrong
