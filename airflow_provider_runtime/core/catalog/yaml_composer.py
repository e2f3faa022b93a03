"""Events of libyaml to trees: anchors, merge keys, and the limits that keep hostile files harmless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]

from airflow_provider_runtime.core.catalog.scalars import resolve_plain
from airflow_provider_runtime.core.catalog.source_text import SourceText
from airflow_provider_runtime.core.catalog.yaml_nodes import Document, Node, Style
from airflow_provider_runtime.core.errors import Problem

ANCHOR = re.compile(r"&[^\s\[\]{},]+(?:\s+|#[^\n]*)*")
MAX_DEPTH = 100
MAX_NODES = 1_000_000
"""Values in one file."""
MAX_ALIAS_NODES = 200_000
"""Nodes that aliases may add to a document once they are expanded."""
MAX_PROBLEMS = 100
"""Duplicate keys that are reported of one file."""
STYLES: dict[str | None, Style] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}


class UnreadableError(Exception):
    """Stops the reading of a document."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.offset, self.hint = message, offset, hint


class Composer:
    """Builds the trees of a text from the parser's events."""

    def __init__(self, source: SourceText, chunk: str, offset: int, problems: list[Problem]) -> None:
        self._source, self._offset, self._problems = source, offset, problems
        self._parser = CParser(chunk)
        self._anchors: dict[str, Node | None] = {}
        self._alias_nodes = 0
        self._nodes = 0
        self._broken = False

    def compose(self) -> Iterator[Document]:
        """Yield every document."""
        while True:
            event = self._next_event()
            if isinstance(event, yaml.StreamEndEvent) or event is None:
                return
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors, self._alias_nodes, self._broken = {}, 0, False
                root = self._compose_node(self._next_event(), 0)
                empty = root.entries is None and root.items is None and root.scalar is None
                yield Document(self._source, None if empty else root, self._broken)

    def _next_event(self) -> Any:
        """Return libyaml's next event; its stubs know neither marks nor anchors."""
        return self._parser.get_event()

    def _compose_node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self._follow_alias(event, depth)
        start = self._offset + event.start_mark.index
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnreadableError(f"file has more than {MAX_NODES} values", start, "split it into several files")
        if event.tag is not None:
            # The value may be a secret that begins with `!`, and an alias one that begins with `*`.
            raise UnreadableError("tags are not allowed", start, "remove the tag, or put the text into quotes")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
            start = self._skip_anchor(start, self._offset + event.end_mark.index)
        if isinstance(event, yaml.ScalarEvent):
            node = self._make_scalar(event, start)
        elif depth >= MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH} levels", start)
        elif isinstance(event, yaml.MappingStartEvent):
            node = self._compose_mapping(start, depth)
        else:
            node = self._compose_list(start, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _skip_anchor(self, start: int, end: int) -> int:
        """Return where the value after an anchor begins; to the parser the anchor is part of the value."""
        found = ANCHOR.match(self._source.text, start)
        is_collection = end <= (found.end() if found else start)
        return found.end() if found and not is_collection else start

    def _make_scalar(self, event: Any, start: int) -> Node:
        style = STYLES[event.style]
        text = event.value
        value = resolve_plain(text) if style == "plain" else text
        return Node(start, self._offset + event.end_mark.index, style, value, text)

    def _follow_alias(self, event: Any, depth: int) -> Node:
        start = self._offset + event.start_mark.index
        if event.anchor not in self._anchors:
            hint = "define its anchor before it, or put the text into quotes"
            raise UnreadableError("this alias has no anchor", start, hint)
        node = self._anchors[event.anchor]
        if node is None:
            raise UnreadableError("this alias is part of what it refers to", start)
        if depth + node.height > MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {MAX_DEPTH} levels", start)
        self._alias_nodes += node.size
        if self._alias_nodes > MAX_ALIAS_NODES:
            raise UnreadableError(f"aliases expand to more than {MAX_ALIAS_NODES} values", start, "write fewer aliases")
        return node

    def _end_of(self, event: Any) -> int:
        return self._offset + int(event.end_mark.index)

    def _compose_list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        while not isinstance(event := self._next_event(), yaml.SequenceEndEvent):
            items.append(self._compose_node(event, depth + 1))
        size = 1 + sum(item.size for item in items)
        height = 1 + max((item.height for item in items), default=0)
        return Node(start, self._end_of(event), items=items, size=size, height=height)

    def _compose_mapping(self, start: int, depth: int) -> Node:
        entries: dict[str, tuple[Node, Node]] = {}
        merges: list[Node] = []
        size, height = 1, 1
        while not isinstance(event := self._next_event(), yaml.MappingEndEvent):
            key = self._compose_node(event, depth + 1)
            value = self._compose_node(self._next_event(), depth + 1)
            size += 1 + value.size
            height = max(height, 1 + value.height)
            if key.style == "plain" and key.text == "<<":
                merges.append(value)
            else:
                self._add_entry(entries, key, value)
        for merge in merges:
            self._merge(entries, merge)
        return Node(start, self._end_of(event), entries=entries, size=size, height=height)

    def _add_entry(self, entries: dict[str, tuple[Node, Node]], key: Node, value: Node) -> None:
        if key.style == "none":
            hint = "put a text that begins with '{' or '[' into quotes, such as '{{NAME}}'"
            raise UnreadableError("a key must be a text, not a list or a mapping", key.start, hint)
        if key.text not in entries:
            entries[key.text] = (key, value)
            return
        self._broken = True
        if len(self._problems) >= MAX_PROBLEMS:
            return
        first = self._source.locate(entries[key.text][0].start)
        self._problems.append(
            Problem(
                "CATALOG_001",
                f"key '{key.text}' is given twice",
                f"the first one is in line {first.line}; keep one of them",
                self._source.locate(key.start, key.end),
            )
        )

    def _merge(self, entries: dict[str, tuple[Node, Node]], merged: Node) -> None:
        for node in merged.items if merged.items is not None else [merged]:
            if node.entries is None:
                raise UnreadableError("a merge key '<<' takes a mapping or a list of mappings", node.start)
            for key, entry in node.entries.items():
                entries.setdefault(key, entry)
