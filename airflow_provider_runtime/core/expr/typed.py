"""The checked tree: every conversion is written out, every node has its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_runtime.core.model.schema import DataType

_SHORT = frozenset({"column", "literal", "TOTAL", "RUNNING", "PREVIOUS_VALUE", "RANK"})
"""What is written as a name or a constant: group functions are computed into columns before."""


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """The group of a row, and the order of the rows in it."""

    keys: tuple[Typed, ...] = ()
    order: Typed | None = None
    descending: bool = False


@dataclass(slots=True)
class Typed:
    """A node of the checked tree; `op` names what it does and `value` holds what is constant in it."""

    op: str
    type: DataType
    nullable: bool
    args: Sequence[Typed] = ()
    value: object = None
    start: int = 0
    end: int = 0
    window: GroupWindow | None = None
    """Of a group function: the rows that it is over."""

    @property
    def is_simple(self) -> bool:
        """Whether its SQL is short enough to be repeated."""
        inner = self
        while inner.op in ("cast", "negate") and inner.args:
            inner = inner.args[0]
        return inner.op in _SHORT


def put_window(node: Typed, window: GroupWindow) -> Typed:
    """Return a group function's node with its window, whose parts are arguments too, for all that walk over trees."""
    order = () if window.order is None else (window.order,)
    node.args, node.window, node.value = (*node.args, *window.keys, *order), window, window.descending
    return node


def split_conjunction(node: Typed) -> list[Typed]:
    """Return the conditions that AND connects."""
    pending, found = [node], []
    while pending:
        current = pending.pop()
        if current.op == "and":
            pending.extend(reversed(current.args))
        else:
            found.append(current)
    return found


def find_columns(node: Typed) -> set[tuple[str | None, str]]:
    """Return the columns that an expression names, each with its alias: None for the working rows."""
    pending, found = [node], set()
    while pending:
        current = pending.pop()
        if current.op == "column":
            assert isinstance(current.value, tuple)
            found.add(current.value)
        pending.extend(current.args)
    return found


def has_window(node: Typed) -> bool:
    """Whether a value depends on other rows of its group."""
    return any(part.window is not None for part in _list_parts(node))


def has_column(node: Typed) -> bool:
    """Whether a value may differ from row to row."""
    return any(part.op == "column" for part in _list_parts(node))


def _list_parts(node: Typed) -> Iterator[Typed]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(current.args)
