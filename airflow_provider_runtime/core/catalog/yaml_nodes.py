"""Trees of YAML whose every node knows where it begins and ends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from airflow_provider_runtime.core.catalog.scalars import ScalarValue
from airflow_provider_runtime.core.catalog.source_text import SourceText

Style = Literal["plain", "single", "double", "literal", "folded", "none"]
Value = ScalarValue | tuple["Value", ...] | dict[str, "Value"]


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
    """Values in it, with those that aliases stand for."""
    height: int = 0
    """Levels below it."""

    def to_value(self, text_keys: Collection[str] = ()) -> Value:
        """Return plain containers with scalars that remember their text; at `text_keys` an unquoted NULL is text."""
        if self.entries is not None:
            return {
                key: value.text
                if key in text_keys and value.scalar is None and value.text
                else value.to_value(text_keys)
                for key, (_, value) in self.entries.items()
            }
        if self.items is not None:
            return tuple(item.to_value(text_keys) for item in self.items)
        return self.scalar


@dataclass(slots=True)
class Document:
    """One document of a file; root is None where it is empty or could not be read."""

    source: SourceText
    root: Node | None
    broken: bool = False
