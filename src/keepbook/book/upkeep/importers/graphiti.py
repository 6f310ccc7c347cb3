"""Zep and Graphiti: edges are facts with the time they held, episodes are what was said or read.

A fact that was superseded keeps its end. Episodes of messages become the chat of their group, in their order; other
episodes are documents, from which the facts were taken already. Entities are named in the facts.
"""

import re
from collections.abc import Mapping
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingChat,
    IncomingMemory,
    IncomingTurn,
    LeftOut,
    content_key,
    names_left_out,
    parse_source_time,
    parse_texts,
    plain_values,
    without_place,
)  # fmt: skip
from keepbook.book.upkeep.importers.source_file import LISTS, SourceFile
from keepbook.errors import Invalid
from keepbook.patterns import regex

SOURCE = "graphiti"
_SPEAKS = regex(
    r"^\s*+(?P<name>[^:\n]{1,60}?)\s{0,20}(?:\((?P<role>[a-z]{1,40})\))?:\s*(?P<text>.+)$", re.DOTALL, anchored=True
)
OF_ZEP = (
    "uuid", "source_node_uuid", "target_node_uuid", "episodes", "fact_embedding", "name_embedding", "group_id",
    "graph_id", "user_id", "created_at", "valid_at", "invalid_at", "expired_at", "score", "relevance",
)  # fmt: skip
"""Keys of facts and nodes that have been read, or are of use only in Zep."""
NO_KIND = "neither `source` nor `role_type` says whether it is a message"
ASSISTANTS = {"assistant", "ai", "agent", "bot", "system"}


def read(found: SourceFile) -> Incoming | None:
    edges, episodes, strange = _parts(found)
    nodes, refused = _nodes_of(found.value)
    if not edges and not episodes and not nodes:
        return None
    memories = []
    for node in nodes:
        if summary := _summary(node):
            memories.append(summary)
            refused += without_place(f"node {node['uuid']}", node, [summary], *OF_ZEP)
        else:
            why = "it has no summary; its facts come in"
            refused.append(LeftOut(f"node {node.get('uuid')}", why, who=_owner_of(node)))
    refused += strange
    for where, edge in edges:
        try:
            fact = _fact(edge)
        except Invalid as error:
            refused.append(LeftOut(where, error.message, who=_owner_of(edge)))
            continue
        memories.append(fact)
        refused += without_place(where, edge, [fact], *OF_ZEP)
    talks: dict[str | None, list[tuple[str, IncomingTurn]]] = {}
    for where, episode in episodes:
        try:
            turn = _turn(episode)
        except Invalid as error:
            refused.append(LeftOut(where, error.message, who=_owner_of(episode)))
            continue
        if turn is None:
            why = "it is a document; the facts taken from it come in"
            refused.append(LeftOut(where, why, who=_owner_of(episode)))
        else:
            talks.setdefault(_owner_of(episode), []).append((turn.at or "", turn))
    refused += names_left_out(found.value, "edges", "nodes", "episodes", *LISTS)
    return Incoming(SOURCE, tuple(memories), tuple(_talk(who, said) for who, said in talks.items()), tuple(refused))


Rows = list[tuple[str, Mapping[str, Any]]]
"""Rows of one kind, each with its place in the file."""


def _parts(found: SourceFile) -> tuple[Rows, Rows, list[LeftOut]]:
    """The edges and the episodes of a file, and what among them is neither: an object that names them, or a list of
    either, of which each row has Graphiti's own keys."""
    value = found.value
    if isinstance(value, Mapping) and ("edges" in value or "episodes" in value):
        edges, no_edges = _rows(value.get("edges"), "edge", "fact")
        episodes, no_episodes = _rows(value.get("episodes"), "episode", "content")
        if edges or any(_is_episode(row) for _, row in episodes):
            return edges, episodes, no_edges + no_episodes
        return [], [], [*no_edges, *no_episodes, *(LeftOut(where, NO_KIND) for where, _ in episodes)]
    rows = [record for _, record in found.records]
    if not rows or not all(isinstance(row, Mapping) and "uuid" in row for row in rows):
        return [], [], []
    edges = [(f"edge {row['uuid']}", row) for row in rows if "fact" in row and "source_node_uuid" in row]
    episodes = [(f"episode {row['uuid']}", row) for row in rows if "fact" not in row and _is_episode(row)]
    if len(edges) + len(episodes) == len(rows):
        return edges, episodes, []
    return [], [], []


def _rows(rows: Any, kind: str, needed: str) -> tuple[Rows, list[LeftOut]]:
    """The rows that have the key they are there for, and those that have not."""
    known: Rows = []
    strange = []
    for number, row in enumerate(rows if isinstance(rows, list) else (), 1):
        named = number
        if isinstance(row, Mapping):
            named = row.get("uuid") or number
        where = f"{kind} {named}"
        if isinstance(row, Mapping) and needed in row:
            known.append((where, row))
        else:
            strange.append(LeftOut(where, f"it has no `{needed}`"))
    return known, strange


def _is_episode(row: Mapping[str, Any]) -> bool:
    return "content" in row and bool({"source", "role_type"} & set(row))


def _nodes_of(value: Any) -> tuple[list[Mapping[str, Any]], list[LeftOut]]:
    """The nodes, and entries among them that are no nodes."""
    nodes = None
    if isinstance(value, Mapping):
        nodes = value.get("nodes")
    if not isinstance(nodes, list):
        return [], []
    known = [node for node in nodes if isinstance(node, Mapping) and "uuid" in node]
    strange = [number for number, node in enumerate(nodes, 1) if node not in known]
    return known, [LeftOut(f"node {number}", "it is no node of Graphiti") for number in strange]


def _summary(node: Mapping[str, Any]) -> IncomingMemory | None:
    """What is known of one person or thing, in short."""
    text = node.get("summary")
    if not isinstance(text, str) or not text.strip():
        return None
    subject = None
    if node.get("name"):
        subject = str(node["name"])
    return IncomingMemory(
        text=text,
        key=str(node["uuid"]),
        who=_owner_of(node),
        since=parse_source_time(node.get("created_at")),
        subject=subject,
        tags=("summary", *parse_texts(node.get("labels"))),
        metadata=plain_values(node.get("attributes")),
    )


def _owner_of(row: Mapping[str, Any]) -> str | None:
    found = next((row[name] for name in ("user_id", "group_id", "graph_id") if row.get(name)), None)
    if found is None:
        return None
    return str(found)


def _fact(edge: Mapping[str, Any]) -> IncomingMemory:
    if not isinstance(edge["fact"], str):
        raise Invalid("its fact is no text")
    return IncomingMemory(
        text=edge["fact"],
        key=str(edge.get("uuid") or content_key(edge["fact"])),
        who=_owner_of(edge),
        since=parse_source_time(edge.get("valid_at") or edge.get("created_at")),
        until=parse_source_time(edge.get("invalid_at") or edge.get("expired_at")),
        tags=(str(edge["name"]).lower(),) if edge.get("name") else (),
        metadata=plain_values(edge.get("attributes")),
    )


def _turn(episode: Mapping[str, Any]) -> IncomingTurn | None:
    said, at = episode["content"], parse_source_time(episode.get("valid_at") or episode.get("created_at"))
    if not isinstance(said, str) or not said.strip():
        raise Invalid("it holds no text")
    if not _is_episode(episode):
        raise Invalid(NO_KIND)
    if episode.get("role_type"):  # Zep's own
        return IncomingTurn("assistant" if str(episode["role_type"]).lower() in ASSISTANTS else "user", said, at)
    if str(episode.get("source")).rsplit(".", 1)[-1] != "message":
        return None
    spoken = _SPEAKS.match(said)
    if spoken is None:
        return IncomingTurn("user", said, at)
    speaker = (spoken["role"] or spoken["name"]).lower()
    if speaker in ASSISTANTS:
        role = "assistant"
    else:
        role = "user"
    return IncomingTurn(role, spoken["text"].strip(), at)


def _talk(who: str | None, said: list[tuple[str, IncomingTurn]]) -> IncomingChat:
    turns = tuple(turn for _, turn in sorted(said, key=lambda one: one[0]))
    return IncomingChat(key=who or content_key(turns[0].text), who=who, title="Episodes", turns=turns)
