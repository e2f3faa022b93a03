"""Conditions of joins without an equality for all cases, split into alternatives that have one each.

Spark finds equal rows by hashing and tries every pair for anything else, `a = x.b OR a = x.c` included. A condition is
TRUE where one of its alternatives is, which is all that a join asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.operators import node_may_fail
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import BOOLEAN

NULL_SAFE = "<=>"
_TRUE = Typed("literal", BOOLEAN, False, (), True)
_NULL = Typed("literal", BOOLEAN, True)
_CONDITIONALS = frozenset({"IF", "case", "COALESCE", "in", "not"})


@recurses_deeply
def find_alternatives(checked: Checked, alias: str) -> list[Typed]:
    """Return the alternatives of a condition; none when it has an equality for all cases, or cannot be split."""
    if find_equalities(checked.node, alias):
        return []
    ways = _merge(_split(checked.node, alias) or [], alias)
    if len(ways) > 1:
        common = [part for part in ways[0] if _find_sides(part, alias) and _is_in_all(part, ways)]
        ways = [[*common, checked.node]] if common else ways
    return [_connect("and", conditions) for conditions in ways]


def _is_in_all(condition: Typed, ways: list[list[Typed]]) -> bool:
    return all(any(_is_same(condition, part) for part in way) for way in ways)


def find_equalities(node: Typed, alias: str) -> list[tuple[Typed, Typed]]:
    """Return the equalities of a condition connected by AND: the side over the row, the side over the alias."""
    sides = (_find_sides(condition, alias) for condition in split_conjunction(node))
    return [found for found in sides if found is not None]


def _find_sides(node: Typed, alias: str) -> tuple[Typed, Typed] | None:
    if node.op != "compare" or node.value not in ("=", NULL_SAFE):
        return None
    first, second = node.args
    if _find_aliases(first) == {alias}:
        first, second = second, first
    is_equality = _find_aliases(second) == {alias} and alias not in _find_aliases(first)
    return (first, second) if is_equality else None


def _find_aliases(node: Typed) -> set[str | None]:
    return {alias for alias, _ in find_columns(node)}


def _split(node: Typed, alias: str) -> list[list[Typed]] | None:
    """Return conditions to be connected by AND, and those lists by OR; None when one has no equality."""
    node = _write_with_and_or(node)
    if node.op == "or":
        branches = [_split(branch, alias) for branch in node.args]
        return None if None in branches else [way for branch in branches for way in branch or ()]
    conditions = _make_null_keys(_drop_implied(split_conjunction(node)), alias)
    if any(_find_sides(condition, alias) for condition in conditions):
        return [conditions]
    best: list[list[Typed]] | None = None
    for index, condition in enumerate(conditions if len(conditions) > 1 else ()):
        ways = _split(condition, alias)
        if ways is not None and (best is None or len(ways) < len(best)):
            others = conditions[:index] + conditions[index + 1 :]
            best = [_make_null_keys(_drop_implied([*way, *others]), alias) for way in ways]
    return best


def _write_with_and_or(node: Typed) -> Typed:
    """Return a condition that is TRUE for the same rows, with AND and OR in place of other words where it can be."""
    if node.op not in _CONDITIONALS or node_may_fail(node):
        return node
    if node.op == "not":
        return _compare("=", *node.args[0].args) if node.args[0].value == "!=" else node
    if node.op == "IF":
        return _choose(*node.args)
    if node.op == "case":
        return _write_case(node)
    if node.op == "COALESCE":
        first, *others = node.args
        rest = _connect_coalesce(others)
        return first if not first.nullable else _either(first, _both(_is_null(first), rest))
    if node.value:
        return node
    operand, *items = node.args
    return _connect("or", [_compare("=", operand, item) for item in items])


def _connect_coalesce(values: Sequence[Typed]) -> Typed:
    return values[0] if len(values) == 1 else Typed("COALESCE", BOOLEAN, values[-1].nullable, tuple(values))


def _write_case(node: Typed) -> Typed:
    # With an operand there are as many compared values as results, without one there is an ELSE more.
    count = len(node.args) // 2
    compared, results = list(node.args[:count]), list(node.args[count:])
    if node.value:
        compared = [_compare("=", compared[0], value) for value in compared[1:]]
    *results, chosen = results
    for condition, result in reversed(list(zip(compared, results, strict=True))):
        chosen = Typed("IF", BOOLEAN, True, (condition, result, chosen))
    return _write_with_and_or(chosen)


def _choose(condition: Typed, then: Typed, otherwise: Typed) -> Typed:
    if _is_true(then):
        return _either(condition, otherwise)
    return _either(_both(condition, then), _both(_is_not_true(condition), otherwise))


def _both(first: Typed, second: Typed) -> Typed:
    never = next((part for part in (first, second) if _is_never_true(part)), None)
    return never or _connect("and", [part for part in (first, second) if not _is_true(part)] or [_TRUE])


def _either(first: Typed, second: Typed) -> Typed:
    return _connect("or", [part for part in (first, second) if not _is_never_true(part)] or [_NULL])


def _connect(word: str, conditions: Sequence[Typed]) -> Typed:
    if len(conditions) == 1:
        return conditions[0]
    return Typed(word, BOOLEAN, any(condition.nullable for condition in conditions), tuple(conditions))


def _compare(operator: str, left: Typed, right: Typed) -> Typed:
    is_nullable = operator != NULL_SAFE and (left.nullable or right.nullable)
    return Typed("compare", BOOLEAN, is_nullable, (left, right), operator)


def _is_null(node: Typed) -> Typed:
    return Typed("is_null", BOOLEAN, False, (node,), False)


def _is_not_true(node: Typed) -> Typed:
    if node.op == "is_null":
        return replace(node, value=not node.value)
    certain = node
    if node.nullable:
        certain = Typed("COALESCE", BOOLEAN, False, (node, replace(_TRUE, value=False)))
    return Typed("not", BOOLEAN, False, (certain,))


def _is_true(node: Typed) -> bool:
    return node.op == "literal" and node.value is True


def _is_never_true(node: Typed) -> bool:
    inner = node.args[0] if node.op == "cast" else node
    return inner.op == "literal" and inner.value in (False, None)


def _drop_implied(conditions: list[Typed]) -> list[Typed]:
    """Leave out what the other conditions say: that a compared value is not NULL, or a comparison of a NULL is NULL."""
    parts = [part for condition in conditions for part in split_conjunction(condition)]
    compared = [_strip(side) for part in parts if part.op == "compare" for side in part.args]
    empty = [_strip(part.args[0]) for part in parts if part.op == "is_null" and not part.value]

    def is_implied(part: Typed) -> bool:
        if part.op != "is_null":
            return False
        inner = _strip(part.args[0])
        if part.value:
            return any(_is_same(inner, value) for value in compared)
        sides = [_strip(side) for side in inner.args] if inner.op == "compare" else []
        return any(_is_same(side, value) for side in sides for value in empty)

    return [part for part in parts if not is_implied(part)]


def _make_null_keys(conditions: list[Typed], alias: str) -> list[Typed]:
    """Add an equality where a value of the row and one of the alias are both NULL, and nothing else is equal."""
    if any(_find_sides(condition, alias) for condition in conditions):
        return conditions
    tested = [part.args[0] for part in conditions if part.op == "is_null" and not part.value]
    of_row = [value for value in tested if (found := _find_aliases(value)) and alias not in found]
    of_alias = [value for value in tested if _find_aliases(value) == {alias}]
    if not of_row or not of_alias:
        return conditions
    sides = [Typed("IF", BOOLEAN, True, (_is_null(value), _TRUE, _NULL)) for value in (of_row[0], of_alias[0])]
    return [*conditions, _compare("=", *sides)]


def _merge(ways: list[list[Typed]], alias: str) -> list[list[Typed]]:
    """Return one null-safe equality for an equality and the case that both of its sides are NULL."""
    for one, other in combinations(ways, 2):
        joined = _join_null_safe(one, other, alias) or _join_null_safe(other, one, alias)
        if joined is not None:
            return _merge([joined if way is one else way for way in ways if way is not other], alias)
    return ways


def _join_null_safe(equal: list[Typed], empty: list[Typed], alias: str) -> list[Typed] | None:
    given = [_strip_tested(part) for part in empty if not _is_null_key(part)]
    for comparison in equal:
        if _find_sides(comparison, alias) is None or comparison.value == NULL_SAFE:
            continue
        rest = [part for part in equal if part is not comparison]
        wanted = [*(_is_null(_strip(side)) for side in comparison.args), *rest]
        if len(given) == len(wanted) and all(any(_is_same(one, other) for other in given) for one in wanted):
            return [_compare(NULL_SAFE, *comparison.args), *rest]
    return None


def _strip_tested(node: Typed) -> Typed:
    return _is_null(_strip(node.args[0])) if node.op == "is_null" and not node.value else node


def _is_null_key(node: Typed) -> bool:
    return node.op == "compare" and all(
        side.op == "IF" and side.args[0].op == "is_null" and side.args[2] == _NULL for side in node.args
    )


def _strip(node: Typed) -> Typed:
    """Return the value that a conversion to a wider type converts: both are NULL together."""
    while node.op == "cast" and node.value is None:
        node = node.args[0]
    return node


def _is_same(one: Typed, other: Typed) -> bool:
    """Whether two nodes are the same text but for blanks."""
    return (
        (one.op, one.type, one.value) == (other.op, other.type, other.value)
        and len(one.args) == len(other.args)
        and all(_is_same(a, b) for a, b in zip(one.args, other.args, strict=True))
    )
