"""Columns whose NULL decides: it makes a value NULL, or keeps a condition from being TRUE."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.typed import Typed, find_columns

Column = tuple[str | None, str]


@recurses_deeply
def find_strict(node: Typed) -> set[Column]:
    """Return the columns whose NULL makes the value NULL, or leaves it out of a sum."""
    if node.op == "column":
        assert isinstance(node.value, tuple)
        return {node.value}
    if node.op in ("COALESCE", "is_null"):
        return set()
    if node.op == "NULLIF":
        return find_strict(node.args[0])
    if node.op in ("IF", "case"):
        return _find_strict_choice(node)
    return {column for argument in node.args for column in find_strict(argument)}


@recurses_deeply
def find_needed(node: Typed) -> set[Column]:
    """Return the columns whose NULL keeps a condition from being TRUE."""
    if node.op == "and":
        return {column for argument in node.args for column in find_needed(argument)}
    if node.op == "or":
        return set.intersection(*(find_needed(argument) for argument in node.args))
    if node.op == "is_null":
        return find_strict(node.args[0]) if node.value else set()
    # What stands under NOT is TRUE where this is not: it has to have a value.
    inner = node.args[0] if node.op == "not" else node
    return set() if inner.op in ("and", "or") else find_strict(inner)


def _find_strict_choice(node: Typed) -> set[Column]:
    """Return the columns whose NULL makes the value of an IF or a CASE NULL: of branches that it does not rule out."""
    *branches, otherwise = _list_results(node)
    asked = {column for part in _list_null_tests(node) for column in find_columns(part)}
    found = find_strict(otherwise)
    for needed, value in zip(_list_conditions(node), branches, strict=True):
        # Without a match all columns of an alias are NULL together.
        aliases = {alias for alias, _ in needed} - {None}
        columns = find_strict(value)
        if not _is_null(otherwise):
            columns = {column for column in columns - needed if column[0] not in aliases}
        found |= columns
    return found - asked


def _is_null(node: Typed) -> bool:
    while node.op == "cast":
        node = node.args[0]
    return node.op == "literal" and node.value is None


def _list_conditions(node: Typed) -> list[set[Column]]:
    if node.op == "IF":
        return [find_needed(node.args[0])]
    count = len(node.args) // 2
    if not node.value:
        return [find_needed(condition) for condition in node.args[:count]]
    operand, *values = node.args[:count]
    return [find_strict(operand) | find_strict(value) for value in values]


def _list_results(node: Typed) -> list[Typed]:
    """Return the values that an IF or a CASE may have, after what its conditions compare."""
    return list(node.args[1:]) if node.op == "IF" else list(node.args[len(node.args) // 2 :])


def _list_null_tests(node: Typed) -> Iterator[Typed]:
    pending = list(node.args)
    while pending:
        part = pending.pop()
        if part.op == "is_null":
            yield part
        pending.extend(part.args)
