"""Renders messages as HTML: paragraphs, lists, tables, quotes, code and links, as models write them.

All text is escaped, so that tags come from this module alone; links may only lead to the web or to a mailbox. What is
not recognised stays as it was written.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup, escape

from keepbook.models.notebook.reply.phrases import without_lines
from keepbook.patterns import regex

_FENCE = regex(r"^ {0,3}(?P<ticks>`{3,})[ \t]*(?P<name>[^`\n]*)$")
_QUOTED = regex(r"“(?P<words>[^“”]*)”(?: \(said [^()]{1,20}\))?$")
_ITEM = regex(r"^(?P<indent> *)(?:[-*+•]|(?P<number>\d{1,9})[.)])[ \t]+(?P<text>.*)$")
_HEADING = regex(r"^#{1,6}[ \t]+(?P<text>.*)$")
_RULE = regex(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DASHES = regex(r"^[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?$")
_INLINE = regex(
    r"(?P<code>`[^`\n]+`)"
    r"|\[(?P<words>[^\[\]\n]{1,500})\]\((?P<to>[^()\s]{1,2000}(?:\([^()\s]{0,200}\))?)\)"
    r"|(?P<bare>https?://[^\s<>\"'`|]{1,2000})"
    r"|\*\*(?P<strong>[^\s*](?:[^*\n]{0,2000}[^\s*])?)\*\*"
    r"|(?<![\w*])\*(?P<em>[^\s*](?:[^*\n]{0,2000}[^\s*])?)\*(?![\w*])"
)
_SAFE = regex(r"^(?:https?://|mailto:)\S+$", re.IGNORECASE)
_TRAILING = ".,;:!?)"
_CELLS = {
    ("th", False): Markup("<th>{}</th>"),
    ("th", True): Markup('<th class="n">{}</th>'),
    ("td", False): Markup("<td>{}</td>"),
    ("td", True): Markup('<td class="n">{}</td>'),
}
_SET_ASIDE = {ord(mark): 0xE000 + at for at, mark in enumerate("*`[")}
"""Replaces the characters of emphasis, code and links by private ones, so that they are not read as markup."""
_PUT_BACK = {aside: Markup.escape(chr(mark)) for mark, aside in _SET_ASIDE.items()}
EARLIER = regex(r"earlier chats? speaks? of .{0,1000}?\): I (?:will not|quote)")
"""The sentence in which the notebook names chats that speak of what is to be forgotten."""
CHOICES = regex(r" \d\. [^\n]{1,80}?  \d\. [^\n]+")
"""The numbered answers after a question of the notebook. They have two blanks between them, which a person's text never
has."""
LISTED_CHOICES = regex(r"(?:\n\d{1,3}\. [^\n]+)++(?:\n[^\n]+)?")
"""Numbered lines to choose from, and the line after them, which says how to answer in words."""
WAITING = Markup("Is this right?")
"""The name of the page with what waits for a yes or no."""
WIDEST = 20
"""A short row of a table is filled up to this many columns."""
DEEPEST = 6
"""How deep lists and quotes may be nested."""


# Inline


def inline(text: str) -> Markup:
    """Code, links, strong and emphasised words of one line; the rest as it is."""
    made, at = list[Markup](), 0
    for found in _INLINE.finditer(text):
        made += escape(text[at : found.start()]), _piece(found)
        at = found.end()
    return Markup().join([*made, escape(text[at:])])


def _piece(found: re.Match[str]) -> Markup:
    if found["code"]:
        return Markup("<code>{}</code>").format(found["code"][1:-1])
    if found["strong"]:
        return Markup("<strong>{}</strong>").format(inline(found["strong"]))
    if found["em"]:
        return Markup("<em>{}</em>").format(inline(found["em"]))
    if found["bare"]:
        link = found["bare"].rstrip(_TRAILING)
        return _link(link, link) + escape(found["bare"][len(link) :])
    if _SAFE.match(found["to"]):
        return _link(found["to"], found["words"])
    return escape(found[0])


def _link(to: str, words: str) -> Markup:
    return Markup('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>').format(to, words)


# Blocks


def prose(text: str) -> Markup:
    """A whole reply."""
    return Markup().join(_blocks(text.strip("\n").split("\n")))


def notebook_markup(text: str, chat: str, chats: Sequence[tuple[str, str]] = ()) -> Markup:
    """A reply of the notebook as HTML. Quotations are not read as markup. "Settings → Model" is a link, and so are the
    list of topics in Settings, the page of what waits, and the earlier chats that it names (`chats`: title and id)."""
    said = Markup(prose(text.translate(_SET_ASIDE)).translate(_PUT_BACK))  # noqa: S704 prose escapes
    words = Markup("Settings → Model")
    said = said.replace(words, Markup('<a href="/settings/model?back=/chat/{}">{}</a>').format(chat, words))
    said = said.replace(Markup("Settings lists"), Markup('<a href="/settings#never">Settings</a> lists'))
    said = said.replace(WAITING, Markup('<a href="/review">{}</a>').format(WAITING))
    found = EARLIER.search(said)
    if not found or not chats:
        return said
    told = Markup(found[0])  # noqa: S704 a piece of what was escaped
    for title, id in chats:
        told = told.replace(escape(f"“{title}”"), Markup('<a href="/chat/{}">“{}”</a>').format(id, title))
    return said[: found.start()] + told + said[found.end() :]


def without_choices(text: str) -> str:
    """A reply of the notebook without its numbered answers, because the page shows them as buttons."""
    return LISTED_CHOICES.sub("", CHOICES.sub("", text))


def without_kept(text: str) -> str:
    """A reply of the notebook that says that something was kept without the lines, because they stand in the margin."""
    return without_lines(text, "kept")


def without_marks(line: str) -> str:
    """A quotation without its marks, and without the day on which it was said."""
    return _QUOTED.sub(r"\g<words>", line)


def person_markup(text: str) -> Markup:
    """A person's message as HTML: as it is, except that files and code in it are rendered as code."""
    lines, made, held = text.strip().split("\n"), list[Markup](), list[str]()
    at, unclosed = 0, len(text)
    while at < len(lines):
        ticks = _ticks_of_fence(lines[at])
        end = None
        if 0 < ticks < unclosed:
            end = _closing(lines, at)
        if end is not None:
            made += escape("\n".join(held).strip("\n")), _code(lines[at : end + 1])
            held, at = [], end + 1
            continue
        if 0 < ticks < unclosed:
            unclosed = ticks  # no later line has so many ticks, so a longer fence cannot be closed either
        held.append(lines[at])
        at += 1
    return Markup().join([*made, escape("\n".join(held).strip("\n"))])


def _ticks_of_fence(line: str) -> int:
    fence = _FENCE.match(line)
    if fence:
        return len(fence["ticks"])
    return 0


def _blocks(lines: Sequence[str], depth: int = 0) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end, made = _block(lines, at, depth)
        yield made
        at = end


def _block(lines: Sequence[str], at: int, depth: int) -> tuple[int, Markup]:
    """The index after a block, and the block as HTML. What is nested deeper than DEEPEST is a paragraph."""
    line = lines[at]
    if _FENCE.match(line):
        closing = _closing(lines, at)
        end = len(lines) if closing is None else closing + 1
        return end, _code(lines[at:end])
    heading = _HEADING.match(line)
    if heading:
        return at + 1, Markup("<p><strong>{}</strong></p>").format(inline(heading["text"].rstrip(" \t#")))
    if _RULE.match(line):
        return at + 1, Markup("<hr>")
    if _is_table(lines, at):
        end = _while(lines, at + 2, lambda one: "|" in one)
        return end, _table(lines[at:end])
    if line.startswith(">") and depth < DEEPEST:
        end = _while(lines, at, lambda one: one.startswith(">"))
        inside = [one[1:].removeprefix(" ") for one in lines[at:end]]
        return end, Markup("<blockquote>{}</blockquote>").format(Markup().join(_blocks(inside, depth + 1)))
    if _ITEM.match(line) and depth < DEEPEST:
        end = _while(lines, at, _of_list)
        return end, _list(lines[at:end], depth)
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _begins(lines, end):
        end += 1
    return end, Markup("<p>{}</p>").format(Markup("\n").join(inline(one) for one in lines[at:end]))


def _of_list(line: str) -> bool:
    return bool(_ITEM.match(line)) or (line.startswith("  ") and bool(line.strip()))


def _begins(lines: Sequence[str], at: int) -> bool:
    """Whether a block other than a paragraph begins at this line."""
    line = lines[at]
    started = (_FENCE, _HEADING, _ITEM, _RULE)
    return any(one.match(line) for one in started) or line.startswith(">") or _is_table(lines, at)


def _while(lines: Sequence[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def _closing(lines: Sequence[str], at: int) -> int | None:
    """The line that closes the fence opened at `at`: one of as many ticks or more; None if there is none."""
    ticks = _FENCE.match(lines[at])["ticks"]  # type: ignore[index]
    return next((n for n in range(at + 1, len(lines)) if lines[n].strip().strip("`") == "" and ticks in lines[n]), None)


def _code(lines: Sequence[str]) -> Markup:
    opened = _FENCE.match(lines[0])
    name = ""
    if opened:
        name = opened["name"].strip()
    if len(lines) > 1 and lines[-1].strip().startswith("```"):
        body = lines[1:-1]
    else:
        body = lines[1:]
    return Markup(
        '<div class="code"><header><span>{}</span><button class="btn small quiet" type="button" data-copy-code data-js>'
        '<svg class="ico" aria-hidden="true"><use href="#i-copy"/></svg>Copy</button></header>'
        '<pre tabindex="0" role="region" aria-label="{}">{}</pre></div>'
    ).format(name or "text", name or "text", "\n".join(body))


def _is_table(lines: Sequence[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(_DASHES.match(lines[at + 1]))


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _table(lines: Sequence[str]) -> Markup:
    head = _cells(lines[0])
    figures = [one.endswith(":") for one in _cells(lines[1])]

    def row(cells: Sequence[str], tag: str) -> Markup:
        made = []
        missing = [""] * (min(len(head), WIDEST) - len(cells))  # limited, so that HTML grows no faster than the text
        for nth, cell in enumerate([*cells[: len(head)], *missing]):
            made.append(_CELLS[tag, nth < len(figures) and figures[nth]].format(inline(cell)))
        return Markup("<tr>{}</tr>").format(Markup().join(made))

    body = Markup().join(row(_cells(one), "td") for one in lines[2:])
    return Markup(
        '<div class="tbl-wrap" tabindex="0" role="region" aria-label="Table"><table class="tbl"><thead>{}</thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(row(head, "th"), body)


def _list(lines: Sequence[str], depth: int) -> Markup:
    """A list. Its items have the indent of the first one; lines that are indented more belong to the item before."""
    first = _ITEM.match(lines[0])
    assert first is not None
    indent, items = len(first["indent"]), list[tuple[str, list[str]]]()
    for line in lines:
        item = _ITEM.match(line)
        if (item and len(item["indent"]) <= indent + 1) or not items:
            items.append((item["text"] if item else line, []))
        else:
            items[-1][1].append(line)
    made = list[Markup]()
    for text, inside in items:
        width = min((len(one) - len(one.lstrip()) for one in inside), default=0)
        further = Markup().join(_blocks([one[width:] for one in inside], depth + 1))
        made.append(Markup("<li>{}{}</li>").format(inline(text), further))
    items_made = Markup().join(made)
    if first["number"] is None:
        return Markup("<ul>{}</ul>").format(items_made)
    if int(first["number"]) != 1:
        start = Markup(' start="{}"').format(int(first["number"]))
    else:
        start = Markup()
    return Markup("<ol{}>{}</ol>").format(start, items_made)


FILTERS: Mapping[str, Callable[..., object]] = {
    "without_choices": without_choices,
    "without_kept": without_kept,
    "without_marks": without_marks,
    "prose": prose,
    "plain": person_markup,
    "notebook_markup": notebook_markup,
}
"""What templates call these."""
