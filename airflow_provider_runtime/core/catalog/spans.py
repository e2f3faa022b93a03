"""Offsets inside a scalar's value to offsets in the file, for every way in which YAML can write a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_provider_runtime.core.catalog.yaml_nodes import Node

BLANKS = re.compile(r"[ \t]*")
FOLD = re.compile(r"[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*[ \t]*")
BREAK = re.compile(r"\r\n|\n|\r")
CONTINUATION = re.compile(r"\\(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*[ \t]*")
ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def map_offsets(text: str, node: Node) -> list[int] | None:
    """Return the file offset of every character of the node's text, and of its end; None if they are not known."""
    if node.style == "plain" and text[node.start : node.end] == node.text:
        return list(range(node.start, node.end + 1))
    if node.style in {"literal", "folded"}:
        return _map_block(text, node)
    return _map_flow(text, node)


def _map_flow(text: str, node: Node) -> list[int] | None:
    quoted = node.style != "plain"
    position = node.start + 1 if quoted else node.start
    unfolded = position
    offsets: list[int] = []
    while len(offsets) < len(node.text):
        if position >= node.end:
            return None
        fold = FOLD.match(text, position, node.end) if position >= unfolded else None
        if not fold and position >= unfolded:
            unfolded = BLANKS.match(text, position, node.end).end()  # type: ignore[union-attr]  # it always matches
        if fold:
            position = _add_fold(offsets, fold, kept=True)
        elif node.style == "double" and text[position] == "\\":
            continuation = CONTINUATION.match(text, position, node.end)
            if continuation:
                breaks = len(BREAK.findall(continuation[0])) - 1
                offsets.extend([position] * breaks)
                position = continuation.end()
            else:
                escape = ESCAPE.match(text, position, node.end)
                offsets.append(position)
                position = escape.end() if escape else position + 1
        else:
            offsets.append(position)
            doubled = node.style == "single" and text.startswith("''", position)
            position += 2 if doubled else 1
    offsets = offsets[: len(node.text)]
    return [*offsets, min(position, node.end)]


def _add_fold(offsets: list[int], fold: re.Match[str], *, kept: bool) -> int:
    """Add what a line break and the blanks around it become: a space, or the empty lines."""
    breaks = len(BREAK.findall(fold[0]))
    if kept:
        offsets.extend([fold.start()] * max(1, breaks - 1))
    return fold.end()


def _map_block(text: str, node: Node) -> list[int] | None:
    lines = list(_block_lines(text, node))
    offsets: list[int] = []
    value = node.text
    for start, content in lines:
        if not content:
            continue
        while not value.startswith(content, len(offsets)) or (offsets and value[len(offsets) - 1] not in " \n"):
            if len(offsets) >= len(value) or value[len(offsets)] not in " \n":
                return None
            offsets.append(start)
        offsets.extend(range(start, start + len(content)))
    tail = offsets[-1] + 1 if offsets else node.start
    offsets.extend([tail] * (len(value) - len(offsets)))
    return [*offsets, tail]


def _block_lines(text: str, node: Node) -> Iterator[tuple[int, str]]:
    """Yield start and content, without the indentation, of each line below the block's header."""
    header = BREAK.search(text, node.start, node.end)
    if not header:
        return
    indicator = re.search(r"[1-9]", text[node.start : header.start()].split("#")[0])
    position, indent = header.end(), None
    while position < node.end:
        found = BREAK.search(text, position, node.end)
        end = found.start() if found else node.end
        line = text[position:end]
        if indent is None and line.strip(" "):
            indent = len(line) - len(line.lstrip(" "))
            if indicator:
                first = next((kept for kept in node.text.split("\n") if kept.strip(" ")), "")
                indent -= len(first) - len(first.lstrip(" "))
        width = len(line) if indent is None else min(indent, len(line) - len(line.lstrip(" ")))
        yield position + width, line[width:]
        position = found.end() if found else node.end
