"""A definition: a model, the places that its parts come from, and its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Literal, TypeVar

from airflow_provider_runtime.core.catalog.source_text import SourceText
from airflow_provider_runtime.core.catalog.spans import map_offsets
from airflow_provider_runtime.core.catalog.yaml_nodes import Node, Value
from airflow_provider_runtime.core.errors import Place
from airflow_provider_runtime.core.model.base import Model, PlainValue, to_plain

Kind = Literal["calendar", "datasource", "resolver", "dataset", "project"]
Path = tuple[str | int, ...]
T = TypeVar("T", bound=Model, covariant=True)
ALIASES = {"seq": "order", "order": "seq", "arguments": "parameters", "parameters": "arguments"}
CANONICAL = {"order": "seq", "parameters": "arguments"}
FREE_KEYS = frozenset({"selectors", "resolver_overrides", "options", "params"})
"""Mappings whose keys are the user's own."""


@dataclass(frozen=True)
class SourceMap:
    """Finds the place of every part of a definition."""

    source: SourceText
    root: Node | None = None
    kind_key: Node | None = None
    project: str | None = None
    _offsets: dict[int, list[int] | None] = field(default_factory=dict, repr=False, compare=False)
    """Of the node last asked for, by its start."""

    def find_node(self, path: Path, *, key: bool = False) -> tuple[Node | None, bool]:
        """Return the node at a path, or of its nearest known parent, and whether it is the very node asked for."""
        node, previous = self.root, self.kind_key
        for step, part in enumerate(path):
            found = _descend(node, part)
            if found is None:
                return (node if step or self.kind_key is None else self.kind_key), False
            previous, node = found
        if key and previous is not None:
            return previous, True
        if node is not None and node.style == "plain" and not node.text and previous is not None:
            return previous, True
        return node, True

    def locate(self, *path: str | int, key: bool = False) -> Place:
        """Return the place of the value at a path, or of its key; of the nearest parent that is there."""
        if not path and self.kind_key is not None:
            return self._fill(self._place(self.kind_key), path)
        node, _ = self.find_node(path, key=key)
        return self._fill(self._place(node), path)

    def locate_span(self, path: Path, start: int, end: int) -> Place:
        """Return the place of a stretch of the text at a path; start and end count its characters."""
        node, exact = self.find_node(path)
        if node is None or not exact or node.style == "none":
            return self.locate(*path)
        if node.start not in self._offsets:
            self._offsets.clear()
            self._offsets[node.start] = map_offsets(self.source.text, node)
        offsets = self._offsets[node.start]
        if offsets is None:
            return self.locate(*path)
        last = len(offsets) - 1
        first = offsets[max(0, min(start, last))]
        until = offsets[max(0, min(end, last))] if end > start else first
        if end > start and until <= first:
            until = offsets[min(end, last) - 1] + 1
        return self._fill(self.source.locate(first, until), path)

    def _place(self, node: Node | None) -> Place:
        if node is None:
            return Place(file=self.source.name)
        if node.style in {"plain", "single", "double"}:
            return self.source.locate(node.start, node.end)
        return self.source.locate(node.start)

    def _fill(self, location: Place, path: Path) -> Place:
        return replace(
            location, project=self.project, operation_seq=self._find_seq(path), field=format_path(path) or None
        )

    def _find_seq(self, path: Path) -> int | None:
        if len(path) < 2 or path[0] != "operations":
            return None
        node, exact = self.find_node((*path[:2], "seq"))
        return int(node.scalar) if exact and node is not None and isinstance(node.scalar, int) else None


def _descend(node: Node | None, part: str | int) -> tuple[Node | None, Node] | None:
    if node is None:
        return None
    if isinstance(part, int):
        if node.items is None or not 0 <= part < len(node.items):
            return None
        return None, node.items[part]
    if node.entries is None:
        return None
    entry = node.entries.get(part) or node.entries.get(ALIASES.get(part, ""))
    return entry or None


def format_path(path: Path) -> str:
    """Write a path as people do: operations[0].arguments.assignments[1].expression."""
    text = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        if position == 2 and path[0] == "operations":
            part = CANONICAL.get(part, part)
        text += f".{part}" if text else part
    return text


@dataclass(frozen=True)
class Definition(Generic[T]):
    """A model with the places of its parts; equal definitions have equal digests."""

    kind: Kind
    model: T
    source: SourceMap
    value: Value = field(default=None, repr=False)

    @classmethod
    def from_model(
        cls,
        kind: Kind,
        model: T,  # type: ignore[misc]  # nothing of a definition changes, so its type may be covariant
        file: str = "<built-in>",
    ) -> Definition[T]:
        """Return a definition that is in no file."""
        return cls(kind, model, SourceMap(SourceText(file, "")))

    @property
    def file(self) -> str:
        """File that holds the definition, relative to the catalog folder."""
        return self.source.source.name

    @cached_property
    def raw(self) -> PlainValue:
        """The definition as it was written, ready for JSON."""
        if self.value is not None:
            return to_plain(self.value)
        return dump_model(self.model)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the definition means: without its airflow block, descriptions and operation names."""
        dumped = _strip(dump_model(self.model))
        if isinstance(dumped, dict):
            dumped.pop("airflow", None)
            for operation in _list(dumped.get("operations")):
                if isinstance(operation, dict):
                    operation.pop("name", None)
        canonical = json.dumps(dumped, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()

    def locate(self, *path: str | int, key: bool = False) -> Place:
        """Return the place of the value at a path, or of its key."""
        return self.source.locate(*path, key=key)

    def locate_span(self, path: Path, start: int, end: int) -> Place:
        """Return the place of a stretch of the text at a path."""
        return self.source.locate_span(path, start, end)


def dump_model(model: Model) -> PlainValue:
    """Return a model as JSON can hold it, without what equals a default."""
    dumped: PlainValue = to_plain(model.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    return dumped


def _list(value: PlainValue) -> list[PlainValue]:
    return value if isinstance(value, list) else []


def _strip(value: PlainValue) -> PlainValue:
    if isinstance(value, list):
        return [_strip(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key: entry if key in FREE_KEYS else _strip(entry) for key, entry in value.items() if key != "description"}
