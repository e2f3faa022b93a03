"""Conditions that can never be TRUE, or always are, found without data by what each part can evaluate to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from airflow_provider_runtime.core.errors import DataError, Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.evaluator import Value, evaluate
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.recursion import walks_deep
from airflow_provider_runtime.core.expr.typed import Typed, find_columns
from airflow_provider_runtime.core.planning.check.checked import CheckedProject, Path
from airflow_provider_runtime.core.planning.check.warning import make_warning

Outcomes = frozenset[bool | None]
ANY: Outcomes = frozenset((True, False, None))
UNKNOWN: Outcomes = frozenset((None,))
_OWN_NULL = frozenset(("and", "or", "is_null", "in", "between", "case", "column"))
"""Operators that may have a value although a part of it is NULL."""


def list_condition_warnings(checked: CheckedProject) -> Iterator[Problem]:
    """Yield conditions of selectors, joins, IF, CASE and checks that do not depend on any row."""
    for path, condition in _list_conditions(checked):
        outcomes = find_outcomes(condition)
        verdict = "can never be TRUE" if True not in outcomes else "is always TRUE" if outcomes == {True} else None
        if verdict is not None:
            shown = "a condition in this expression" if path[-1] == "expression" else f"`{path[-1]}`"
            hint = "NULL equals nothing: write IS NULL" if _holds_null(condition) else "correct it, or leave it out"
            yield make_warning("WARN_004", f"{shown} {verdict}", hint, checked.definition, path)


def _list_conditions(checked: CheckedProject) -> Iterator[tuple[Path, Typed]]:
    for operation in checked.operations:
        base: Path = ("operations", operation.index)
        is_append = operation.operation.type == "append"
        if operation.where is not None and (is_append or getattr(operation.operation, "selector", None) is not None):
            where: Path = ("arguments", "source_selector") if is_append else ("selector",)
            yield (*base, *where), operation.where.node
        for join in operation.joins:
            if join.path:
                yield (*base, *join.path), join.condition.node
        for item in operation.expressions:
            for condition in _find_choices(item.checked):
                yield (*base, *item.path), condition
    for check in checked.checks:
        if check.where is not None:
            yield (*check.path, "where"), check.where.node


def _find_choices(checked: Checked) -> Iterator[Typed]:
    pending = [checked.node]
    while pending:
        node = pending.pop()
        if node.op == "IF":
            yield node.args[0]
        elif node.op == "case" and not node.value:
            yield from node.args[: len(node.args) // 2]
        pending.extend(node.args)


def _holds_null(node: Typed) -> bool:
    return is_always_null(node) or any(_holds_null(argument) for argument in node.args)


@walks_deep
def find_outcomes(node: Typed) -> Outcomes:
    """Return what a condition can come to for any row: TRUE, FALSE and NULL, as far as its text tells."""
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node)
    if is_always_null(node):
        return UNKNOWN
    value = _compute(node)
    return frozenset((value,)) if isinstance(value, bool) else ANY


def _and(node: Typed) -> Outcomes:
    combined = _combine(node.args, lambda values: False if False in values else None if None in values else True)
    return combined - {True} if _contradicts(node.args) else combined


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
    function = FUNCTIONS.get(node.op)
    has_own_rule = node.op in _OWN_NULL or (function is not None and function.null == "own")
    return not has_own_rule and any(is_always_null(argument) for argument in node.args)


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
    """Whether a column would have to be two values, or above one that it has to be below."""
    equal: dict[object, Value] = {}
    least: dict[object, Value] = {}
    most: dict[object, Value] = {}
    for column, operator, value in filter(None, map(_read_comparison, arguments)):
        if operator == "=" and equal.setdefault(column, value) != value:
            return True
        if operator in (">", ">=", "="):
            least[column] = max(least.get(column, value), value)  # type: ignore[type-var]
        if operator in ("<", "<=", "="):
            most[column] = min(most.get(column, value), value)  # type: ignore[type-var]
    return any(column in most and value > most[column] for column, value in least.items())  # type: ignore[operator]


def _covers_all(arguments: Iterable[Typed]) -> bool:
    """Whether a column has to differ from one value or from another: it always does."""
    different: dict[object, Value] = {}
    for column, operator, value in filter(None, map(_read_comparison, arguments)):
        if operator in ("!=", "<>") and different.setdefault(column, value) != value:
            return True
    return False
