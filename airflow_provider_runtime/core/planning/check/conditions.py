"""Conditions that can never be TRUE, or always are, found without data by what each part can evaluate to."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from airflow_provider_runtime.core.errors import DataError, Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.evaluator import Value, evaluate
from airflow_provider_runtime.core.expr.operators import get_null_rule
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import BOOLEAN
from airflow_provider_runtime.core.planning.check.checked import CheckedJoin, CheckedProject, Path
from airflow_provider_runtime.core.planning.check.nullness import find_needed
from airflow_provider_runtime.core.planning.check.warning import make_warning

Outcomes = frozenset[bool | None]
ANY: Outcomes = frozenset((True, False, None))
UNKNOWN: Outcomes = frozenset((None,))
_ORDERS: dict[str, Callable[..., bool]] = {"<": python.lt, "<=": python.le, ">": python.gt, ">=": python.ge}


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, and its place: as a whole, or somewhere inside an expression."""

    path: Path
    node: Typed
    is_whole: bool = True


def list_condition_warnings(checked: CheckedProject) -> Iterator[Problem]:
    """Yield conditions of selectors, joins, IF, CASE, COUNT_IF, SUM_IF and checks that do not depend on any row."""
    for join, path in _list_joins_of_all(checked):
        message = f"`on` does not name the alias '{join.alias}': every row of the dataset matches, or none"
        hint = f"compare a column of it, such as {join.alias}.…"
        yield make_warning("WARN_004", message, hint, checked.definition, path)
    for condition in _list_conditions(checked):
        outcomes = find_outcomes(condition.node)
        verdict = "can never be TRUE" if True not in outcomes else "is always TRUE" if outcomes == {True} else None
        if verdict is not None:
            shown = f"`{condition.path[-1]}`" if condition.is_whole else "a condition in this expression"
            hint = (
                "NULL equals nothing: write IS NULL" if _holds_null(condition.node) else "correct it, or leave it out"
            )
            yield make_warning("WARN_004", f"{shown} {verdict}", hint, checked.definition, condition.path)


def _list_joins_of_all(checked: CheckedProject) -> Iterator[tuple[CheckedJoin, Path]]:
    """Yield the joins whose condition says nothing of the joined row."""
    for operation in checked.operations:
        for join in operation.joins:
            if join.path and join.alias not in {alias for alias, _ in find_columns(_find_own_condition(join))}:
                yield join, ("operations", operation.index, *join.path)


def _find_own_condition(join: CheckedJoin) -> Typed:
    """Return `on` as it was written: where each row has its own day, that follows it."""
    return join.condition.node.args[0] if join.table.is_read_whole else join.condition.node


def _list_conditions(checked: CheckedProject) -> Iterator[_Condition]:
    for operation in checked.operations:
        base: Path = ("operations", operation.index)
        if operation.where is not None and operation.operation.selector is not None:
            yield _Condition((*base, "selector"), operation.where.node)
            yield from _find_choices(operation.where, (*base, "selector"))
        if operation.source_where is not None:
            yield _Condition((*base, "arguments", "source_selector"), operation.source_where.node)
            yield from _find_choices(operation.source_where, (*base, "arguments", "source_selector"))
        for join in operation.joins:
            if join.path and join.alias in {alias for alias, _ in find_columns(_find_own_condition(join))}:
                yield _Condition((*base, *join.path), join.condition.node)
        # `on: TRUE` of an append is how every source row is paired with every working row.
        if operation.expand is not None and True not in find_outcomes(operation.expand.condition.node):
            yield _Condition((*base, *operation.expand.path), operation.expand.condition.node)
        for item in (*operation.expressions, *operation.filled):
            yield from _find_choices(item.checked, (*base, *item.path))
    for check in checked.checks:
        if check.where is not None:
            yield _Condition((*check.path, "where"), check.where.node)
        if check.rows is not None:
            yield _Condition((*check.path, "rows"), check.rows.node)
            yield from _find_choices(check.rows, (*check.path, "rows"))
        for value in check.values:
            yield from _find_choices(value.value, value.path)
            if value.where is not None:
                yield _Condition(value.where_path, value.where.node)


def _find_choices(checked: Checked, path: Path) -> Iterator[_Condition]:
    """Yield the conditions inside an expression."""
    pending = [checked.node]
    while pending:
        node = pending.pop()
        for condition in _list_own_conditions(node):
            yield _Condition(path, condition, is_whole=False)
        pending.extend(node.args)


def _list_own_conditions(node: Typed) -> Sequence[Typed]:
    count = len(node.args) // 2
    if node.op == "IF" or node.op == "COUNT_IF":
        return node.args[:1]
    if node.op == "SUM_IF":
        return node.args[1:]
    if node.op != "case":
        return ()
    if not node.value:
        return node.args[:count]
    operand, *values = node.args[:count]
    return [Typed("compare", BOOLEAN, True, (operand, value), "=") for value in values]


def _holds_null(node: Typed) -> bool:
    return is_always_null(node) or any(_holds_null(argument) for argument in node.args)


@recurses_deeply
def find_outcomes(node: Typed) -> Outcomes:
    """Return the values that a condition can have for any row: TRUE, FALSE and NULL, as far as its text says."""
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node)
    if is_always_null(node):
        return UNKNOWN
    value = _compute(node)
    return frozenset((value,)) if isinstance(value, bool) else ANY


def _and(node: Typed) -> Outcomes:
    combined = _combine(node.args, lambda values: False if False in values else None if None in values else True)
    parts = split_conjunction(node)
    return combined - {True} if _contradicts(parts) or _asks_for_null_and_value(parts) else combined


def _asks_for_null_and_value(parts: Sequence[Typed]) -> bool:
    """Whether a column has to be NULL, and another part needs a value of it."""
    nulls = {
        part.args[0].value for part in parts if part.op == "is_null" and not part.value and part.args[0].op == "column"
    }
    return any(column in nulls for part in parts for column in find_needed(part))


def _or(node: Typed) -> Outcomes:
    if _covers_all(node.args):
        return frozenset((True,))
    return _combine(node.args, lambda values: True if True in values else None if None in values else False)


def _combine(arguments: Iterable[Typed], meet: Callable[[tuple[bool | None, ...]], bool | None]) -> Outcomes:
    found: Outcomes = frozenset()
    for argument in arguments:
        outcomes = find_outcomes(argument)
        found = outcomes if not found else frozenset(meet(pair) for pair in product(found, outcomes))
    return found


def _not(node: Typed) -> Outcomes:
    return frozenset(None if value is None else not value for value in find_outcomes(node.args[0]))


def _is_null(node: Typed) -> Outcomes:
    if is_always_null(node.args[0]):
        return frozenset((not node.value,))
    return frozenset((bool(node.value),)) if node.args[0].op == "literal" else frozenset((True, False))


def _in(node: Typed) -> Outcomes:
    operand, *items = node.args
    nulls = [is_always_null(item) for item in items]
    if is_always_null(operand) or all(nulls):
        return UNKNOWN
    # A NULL in the list leaves only what is found: x NOT IN (1, NULL) is never TRUE.
    return frozenset((not node.value, None)) if any(nulls) else ANY


def _between(node: Typed) -> Outcomes:
    operand, low, high = node.args
    if is_always_null(operand) or (is_always_null(low) and is_always_null(high)):
        return UNKNOWN
    if is_always_null(low) or is_always_null(high):
        return frozenset((bool(node.value), None))
    first, last = _compute(low), _compute(high)
    is_empty = first is not None and last is not None and first > last  # type: ignore[operator]
    return frozenset((bool(node.value), None)) if is_empty else ANY


_RULES: dict[str, Callable[[Typed], Outcomes]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "in": _in,
    "between": _between,
}


def is_always_null(node: Typed) -> bool:
    """Whether a value is NULL for every row."""
    if node.op == "literal":
        return node.value is None
    return get_null_rule(node.op) != "own" and any(is_always_null(argument) for argument in node.args)


def _compute(node: Typed) -> Value:
    """Return the value of what is constant in every run; None when it is not."""
    if find_columns(node):
        return None
    try:
        checked = Checked(node, node.type, node.nullable, frozenset(), frozenset(), False)
        return evaluate(checked, {}, run=None)
    except DataError:
        return None


def _read_comparison(node: Typed) -> tuple[object, str, Value] | None:
    """Return column, operator and constant of a comparison between the two."""
    if node.op != "compare" or not isinstance(node.value, str):
        return None
    left, right = (_strip_cast(argument) for argument in node.args)
    operator = node.value
    if right.op == "column":
        left, right = right, left
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    value = _compute(right)
    return (left.value, operator, value) if left.op == "column" and value is not None else None


def _strip_cast(node: Typed) -> Typed:
    return node.args[0] if node.op == "cast" and node.args[0].op in ("column", "literal") else node


def _contradicts(arguments: Iterable[Typed]) -> bool:
    """Whether no value of a column fulfils all that is said of it: one of these, and above or below those."""
    allowed: dict[object, set[Value]] = {}
    bounds: dict[object, list[tuple[str, Value]]] = {}
    for argument in arguments:
        column, values = _read_values(argument)
        if values:
            allowed[column] = allowed.get(column, values) & values
        elif found := _read_comparison(argument):
            bounds.setdefault(found[0], []).append((found[1], found[2]))
    for column, limits in bounds.items():
        if _is_empty(limits):
            return True
        if column not in allowed:
            # Between the greatest of the lower limits and the least of the upper ones there may be a value.
            allowed[column] = {value for operator, value in limits if operator not in ("!=", "<>")} or {None}
            limits = [(operator + "=" if operator in ("<", ">") else operator, value) for operator, value in limits]
        allowed[column] = {value for value in allowed[column] if all(_holds(value, *limit) for limit in limits)}
    return not all(allowed.values())


def _is_empty(limits: Sequence[tuple[str, Value]]) -> bool:
    """Whether something has to be above a value and below the same one."""
    above = {value for operator, value in limits if operator == ">"}
    below = {value for operator, value in limits if operator == "<"}
    return bool(above & {value for operator, value in limits if operator in ("<", "<=")}) or bool(
        below & {value for operator, value in limits if operator == ">="}
    )


def _read_values(node: Typed) -> tuple[object, set[Value]]:
    """Return the column and the values that an equality or an IN allows; no values for anything else."""
    if node.op == "in" and not node.value:
        operand, *items = (_strip_cast(argument) for argument in node.args)
        values = [_compute(item) for item in items]
        if operand.op == "column" and None not in values:
            return operand.value, set(values)
    found = _read_comparison(node)
    return (found[0], {found[2]}) if found is not None and found[1] == "=" else (None, set())


def _holds(value: Value, operator: str, limit: Value) -> bool:
    if value is None or operator not in _ORDERS:
        return value is None or operator == "=" or value != limit
    return bool(_ORDERS[operator](value, limit))


def _covers_all(arguments: Iterable[Typed]) -> bool:
    """Whether a column has to differ from one value or from another: it always does."""
    different: dict[object, Value] = {}
    for column, operator, value in filter(None, map(_read_comparison, arguments)):
        if operator in ("!=", "<>") and different.setdefault(column, value) != value:
            return True
    return False
