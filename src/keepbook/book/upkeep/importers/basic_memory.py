"""basic-memory: a folder of Markdown notes with a front, observations and relations.

`- [category] words #tag (context)` is an observation and becomes a memory about its note; `- relation [[Other note]]`
becomes the sentence it stands for. If a note has other text, its title becomes a memory with that text as the body.
"""

import re
from collections.abc import Iterator

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingMemory,
    LeftOut,
    content_key,
    files_left_out,
    parse_source_time,
    parse_texts,
    without_place,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid
from keepbook.patterns import regex

SOURCE = "basic-memory"
DATES = ("created", "created_at", "date", "modified", "updated")
_FRONT = regex(r"\A---\r?\n(?P<front>.*?)\r?\n---\r?\n?(?P<rest>.*)\Z", re.DOTALL)
_OBSERVED = regex(r"^\s*[-*]\s+\[(?P<category>[^\[\]\n]{2,40})\]\s+(?P<text>.+)$")
_RELATED = regex(r"^\s*+[-*]\s++(?P<how>[^\[\]\n]{1,60}?)\s{1,20}\[\[(?P<other>[^\[\]\n]+)\]\]")
_CONTEXT = regex(r"\((?P<context>[^()]*+)\)$")
_HEADING = regex(r"^\s*#{1,6}\s")
_TAG = regex(r"(?<!\w)#(?P<tag>[\w/-]+)")


def read(found: SourceFile) -> Incoming | None:
    notes = {path: one for path, one in found.members.items() if path.endswith(".md")}
    if not notes or any(path.startswith(".obsidian/workspace.md") for path in notes):
        return None
    memories: list[IncomingMemory] = []
    refused = files_left_out(SOURCE, found.names, notes)
    for path, note in notes.items():
        try:
            said = list(_of_note(path, note.text))
        except Invalid as error:
            refused.append(LeftOut(path, error.message))
            continue
        memories += said
        refused += without_place(path, _front_of(note.text)[0], said, "title", "permalink", "type", *DATES)
        if not said:
            refused.append(LeftOut(path, "it holds nothing but headings"))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _of_note(path: str, text: str) -> Iterator[IncomingMemory]:
    front, rest = _front_of(text)
    title = front.get("title") or path.rsplit("/", 1)[-1].removesuffix(".md")
    key = front.get("permalink") or path
    since = parse_source_time(next((front[name] for name in DATES if front.get(name)), None))
    own = parse_texts(front.get("tags", "").strip("[]").replace('"', ""))
    prose = []
    for line in rest.splitlines():
        if seen := _OBSERVED.match(line):
            said, context = _apart(seen["text"])
            tags = (*own, *(mark["tag"] for mark in _TAG.finditer(said)))
            said = _TAG.sub("", said).strip()
            if context:
                metadata = {"context": context}
            else:
                metadata = {}
            yield IncomingMemory(
                text=said, key=f"{key}/{content_key(said)}", since=since, category=seen["category"], subject=title,
                tags=(seen["category"], *tags), metadata=metadata,
            )  # fmt: skip
        elif seen := _RELATED.match(line):
            said = f"{title} {seen['how'].strip().replace('_', ' ')} {seen['other'].strip()}"
            metadata = {}
            if behind := line[seen.end() :].strip():
                metadata["context"] = behind.removeprefix("(").removesuffix(")")
            yield IncomingMemory(
                text=said, key=f"{key}/{content_key(said)}", since=since, subject=title, tags=(*own, "relation"),
                metadata=metadata,
            )  # fmt: skip
        else:
            prose.append(line)
    if any(line.strip() and not _HEADING.match(line) for line in prose):
        body = "\n".join(prose).strip()
        yield IncomingMemory(text=title, key=key, since=since, subject=title, body=body, tags=own)


def _apart(text: str) -> tuple[str, str | None]:
    """The words, and the context in brackets at their end."""
    text = text.rstrip()
    behind = _CONTEXT.search(text)
    if behind:
        return text[: behind.start()].rstrip(), behind["context"].strip()
    return text, None


def _front_of(text: str) -> tuple[dict[str, str], str]:
    """The front of a note, and what follows."""
    whole = _FRONT.match(text)
    if whole:
        return _front(whole["front"]), whole["rest"]
    return {}, text


def _front(text: str) -> dict[str, str]:
    """The plain lines of a front: `name: value`, and lists under a name."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(("- ", "  - ")) and name:
            item = line.strip()[2:].strip().strip("'\"")
            if found.get(name):
                found[name] = f"{found[name]},{item}"
            else:
                found[name] = item
        elif ":" in line and not line.startswith(" "):
            name, _, value = line.partition(":")
            name, found[name.strip()] = name.strip(), value.strip().strip("'\"")
    return found
