"""YAML text to trees whose every node knows its place.

The parser is libyaml's; scalars, anchors, merge keys and the limits that keep hostile files harmless are here.
A document that is no YAML does not take its neighbours with it: the file is then read again, document by document.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]

from airflow_provider_runtime.core.catalog.scalars import ScalarValue, resolve_plain
from airflow_provider_runtime.core.errors import Location, Problem

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100
LONGEST_TAG = 60
MAX_ALIAS_NODES = 200_000
"""Nodes that aliases may add to a document once they are expanded."""
UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DOCUMENT_MARKER = re.compile(r"^---(?=\s|$)|^\.\.\.(?=\s|$)", re.MULTILINE)
LINE_BREAK = re.compile(r"\r\n|\n|\r")

Style = Literal["plain", "single", "double", "literal", "folded", "none"]
STYLES: dict[str | None, Style] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}

Value = ScalarValue | tuple["Value", ...] | dict[str, "Value"]


class SourceText:
    """The text of a file and the arithmetic from offsets to lines."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in LINE_BREAK.finditer(self.text))]
        return self._starts

    def locate(self, start: int, end: int | None = None) -> Location:
        """Return the place of a stretch of the text."""
        starts = self._line_starts()
        start = min(start, len(self.text))
        line = bisect_right(starts, start) - 1
        first = starts[line]
        limit = starts[line + 1] if line + 1 < len(starts) else len(self.text)
        shown = self.text[first:limit].rstrip("\r\n")
        column = start - first + 1
        end_column = None if end is None or end <= start else min(end - first, len(shown)) + 1
        if end_column is not None and end_column <= column:
            end_column = None
        return Location(file=self.name, line=line + 1, column=column, end_column=end_column, source_line=shown)


@dataclass(slots=True)
class Node:
    """A piece of a document: a scalar, a list, or a mapping with its key nodes."""

    start: int
    end: int
    style: Style = "none"
    scalar: ScalarValue = None
    text: str = ""
    items: list[Node] | None = None
    entries: dict[str, tuple[Node, Node]] | None = None
    size: int = 1

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping."""
        return self.entries is not None

    def to_value(self) -> Value:
        """Return plain Python containers with scalars that remember their text."""
        if self.entries is not None:
            return {key: value.to_value() for key, (_, value) in self.entries.items()}
        if self.items is not None:
            return tuple(item.to_value() for item in self.items)
        return self.scalar


@dataclass(slots=True)
class Document:
    """One document of a file; root is None where it is empty or could not be read."""

    source: SourceText
    root: Node | None
    broken: bool = False


@dataclass(slots=True)
class ParsedFile:
    """All documents of a file and what is wrong with them as YAML."""

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _UnreadableError(Exception):
    """Stops the reading of a document."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.offset, self.hint = message, offset, hint


def parse_bytes(data: bytes, name: str) -> ParsedFile:
    """Read the documents of a file."""
    if len(data) > MAX_FILE_BYTES:
        return _refuse_file(name, f"file is larger than {MAX_FILE_BYTES // 2**20} MiB", "split it into several files")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(
            "CATALOG_001", "file is not UTF-8", "save it in the encoding UTF-8", Location(file=name, line=line)
        )
        return ParsedFile(problems=[problem])
    return parse_text(text, name)


def parse_text(text: str, name: str) -> ParsedFile:
    """Read the documents of a text."""
    source = SourceText(name, text)
    parsed = ParsedFile()
    try:
        parsed.documents = _read_documents(source, 0, len(text), parsed.problems)
        return parsed
    except _UnreadableError:
        parsed = ParsedFile()
    for start, end in _split_documents(text):
        try:
            parsed.documents += _read_documents(source, start, end, parsed.problems)
        except _UnreadableError as error:
            location = source.locate(error.offset)
            parsed.problems.append(Problem("CATALOG_001", error.message, error.hint, location))
            parsed.documents.append(Document(source, None, broken=True))
    return parsed


def _refuse_file(name: str, message: str, hint: str) -> ParsedFile:
    return ParsedFile(problems=[Problem("CATALOG_001", message, hint, Location(file=name))])


def _split_documents(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches between document markers, directives and comments together with what follows them."""
    bounds = [match.start() for match in DOCUMENT_MARKER.finditer(text)]
    start = 0
    for bound in bounds:
        lines = text[start:bound].splitlines()
        if all(not line.strip() or line.startswith(("#", "%")) for line in lines):
            continue
        yield start, bound
        start = bound
    yield start, len(text)


def _read_documents(source: SourceText, start: int, end: int, problems: list[Problem]) -> list[Document]:
    chunk = source.text if (start, end) == (0, len(source.text)) else source.text[start:end]
    bad = UNPRINTABLE.search(chunk)
    if bad:
        raise _UnreadableError(
            f"character U+{ord(bad[0]):04X} is not allowed in YAML", start + bad.start(), "remove it"
        )
    found: list[Problem] = []
    try:
        documents = list(_Composer(source, chunk, start, found).compose())
    except yaml.MarkedYAMLError as error:
        raise _translate_yaml_error(error, source, start, chunk) from error
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise _UnreadableError("not valid YAML", start) from error
    problems.extend(found)
    return documents


def _translate_yaml_error(error: yaml.MarkedYAMLError, source: SourceText, start: int, chunk: str) -> _UnreadableError:
    last = max(0, len(chunk.rstrip()) - 1)
    mark = error.problem_mark or error.context_mark
    place = mark.index if mark else 0
    message = _describe_yaml_error(error)
    if place > last and error.context_mark:
        # Something is not closed: where it begins says more than the end of the text.
        return _UnreadableError(message, start + min(error.context_mark.index, last), "what begins here is not closed")
    offset = start + min(place, last)
    return _UnreadableError(message, offset, _hint_yaml_error(source.text, offset))


def _describe_yaml_error(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return "not valid YAML: " + (", ".join(parts) or "cannot be parsed")


def _hint_yaml_error(text: str, offset: int) -> str:
    following = text[offset : offset + 1]
    if following == "\t":
        return "indent with spaces, not with tabs"
    if following in {"@", "`", "%", "*", "&", "!", "{", "["}:
        return f"put a text that begins with '{following}' into quotes"
    return "check indentation, quotes and brackets here and in the line above"


class _Composer:
    """Builds the trees of a text from the parser's events."""

    def __init__(self, source: SourceText, chunk: str, offset: int, problems: list[Problem]) -> None:
        self._source, self._offset, self._problems = source, offset, problems
        self._parser = CParser(chunk)
        self._anchors: dict[str, Node | None] = {}
        self._alias_nodes = 0
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
            return self._follow_alias(event)
        start = self._offset + event.start_mark.index
        if event.tag is not None:
            tag = self._source.text[start : start + LONGEST_TAG].split(None, 1)[0]
            raise _UnreadableError(f"tag '{tag}' is not allowed", start, "remove the tag; write plain values")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._make_scalar(event, start)
        elif depth >= MAX_DEPTH:
            raise _UnreadableError(f"nested deeper than {MAX_DEPTH} levels", start)
        elif isinstance(event, yaml.MappingStartEvent):
            node = self._compose_mapping(start, depth)
        else:
            node = self._compose_list(start, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _make_scalar(self, event: Any, start: int) -> Node:
        style = STYLES[event.style]
        text = event.value
        value = resolve_plain(text) if style == "plain" else text
        return Node(start, self._offset + event.end_mark.index, style, value, text)

    def _follow_alias(self, event: Any) -> Node:
        start = self._offset + event.start_mark.index
        if event.anchor not in self._anchors:
            raise _UnreadableError(f"alias '*{event.anchor}' has no anchor", start, f"define &{event.anchor} before it")
        node = self._anchors[event.anchor]
        if node is None:
            raise _UnreadableError(f"alias '*{event.anchor}' stands inside what it stands for", start)
        self._alias_nodes += node.size
        if self._alias_nodes > MAX_ALIAS_NODES:
            raise _UnreadableError(
                f"aliases expand to more than {MAX_ALIAS_NODES} values", start, "write fewer aliases"
            )
        return node

    def _end_of(self, event: Any) -> int:
        return self._offset + int(event.end_mark.index)

    def _compose_list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        size = 1
        while not isinstance(event := self._next_event(), yaml.SequenceEndEvent):
            item = self._compose_node(event, depth + 1)
            items.append(item)
            size += item.size
        return Node(start, self._end_of(event), items=items, size=size)

    def _compose_mapping(self, start: int, depth: int) -> Node:
        entries: dict[str, tuple[Node, Node]] = {}
        merges: list[Node] = []
        size = 1
        while not isinstance(event := self._next_event(), yaml.MappingEndEvent):
            key = self._compose_node(event, depth + 1)
            value = self._compose_node(self._next_event(), depth + 1)
            size += 1 + value.size
            if key.style == "plain" and key.text == "<<":
                merges.append(value)
            else:
                self._add_entry(entries, key, value)
        for merge in merges:
            self._merge(entries, merge)
        return Node(start, self._end_of(event), entries=entries, size=size)

    def _add_entry(self, entries: dict[str, tuple[Node, Node]], key: Node, value: Node) -> None:
        if key.style == "none":
            raise _UnreadableError("a key must be a text, not a list or a mapping", key.start)
        if key.text not in entries:
            entries[key.text] = (key, value)
            return
        first = self._source.locate(entries[key.text][0].start)
        self._broken = True
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
                raise _UnreadableError("a merge key '<<' takes a mapping or a list of mappings", node.start)
            for key, entry in node.entries.items():
                entries.setdefault(key, entry)
