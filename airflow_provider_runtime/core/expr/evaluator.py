"""Evaluation in Python, with the meaning that the compiled SQL has in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial, reduce
from typing import TypeAlias, cast

from airflow_provider_runtime.core.errors import DataError, Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.exact import EXACT
from airflow_provider_runtime.core.expr.functions import FUNCTIONS, Function
from airflow_provider_runtime.core.expr.like import matches
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import DataType

Value: TypeAlias = "int | Decimal | str | bool | date | datetime | None"
Row = Mapping[tuple[str | None, str], Value]


class _Evaluator:
    def __init__(self, row: Row, run: RunConstants | None) -> None:
        self.row = row
        self.run = run

    def value(self, node: Typed) -> Value:
        """Return a node's value; the lazy ones look at no more arguments than they need."""
        function = FUNCTIONS.get(node.op)
        if function is not None:
            return self.call(function, node)
        lazy = _LAZY.get(node.op)
        if lazy is not None:
            return lazy(self, node)
        values = [self.value(argument) for argument in node.args]
        if any(value is None for value in values):
            return None
        return fit(_STRICT[node.op](node, values), node.type)

    def call(self, function: Function, node: Typed) -> Value:
        """Return a function's value; raise DataError for arguments that it has none for."""
        assert function.value is not None, function.name
        if function.is_of_run and self.run is None:
            raise DataError(Problem("DATA_003", f"{function.name} is not known before there is a run"))
        if function.is_of_run:
            return cast("Value", function.value(self.run))
        if function.null == "own":
            return cast("Value", function.value(*(partial(self.value, argument) for argument in node.args)))
        values = [self.value(argument) for argument in node.args]
        if any(value is None for value in values):
            return None
        try:
            return fit(cast("Value", function.value(*values)), node.type)
        except (ValueError, OverflowError) as error:
            raise DataError(Problem("DATA_003", f"{function.name}: {error}")) from None


@recurses_deeply
def evaluate(checked: Checked, row: Row, *, run: RunConstants | None) -> Value:
    """Return the value of an expression for a row; raise DataError where Spark would fail, or where a run is needed."""
    return _Evaluator(row, run).value(checked.node)


@recurses_deeply
def decide(checked: Checked, row: Row, *, run: RunConstants | None) -> bool | None:
    """Return whether a condition holds for a row of which these columns are known; None if that depends on others."""
    evaluator = _Evaluator(row, run)
    is_known = True
    for condition in split_conjunction(checked.node):
        if not find_columns(condition) <= row.keys():
            is_known = False
            continue
        try:
            holds = evaluator.value(condition) is True
        except DataError:
            return None
        if not holds:
            return False
    return True if is_known else None


def fit(value: Value, data_type: DataType) -> Value:
    """Return a number rounded half up to a type's scale; raise DataError when it does not fit."""
    if data_type.kind == "decimal" and isinstance(value, int | Decimal):
        exact = Decimal(value).quantize(Decimal(1).scaleb(-data_type.scale), context=EXACT)
        if abs(exact) >= Decimal(10) ** (data_type.precision - data_type.scale):
            raise _overflow(value, data_type)
        return exact
    if data_type.kind == "integer" and isinstance(value, int | Decimal):
        whole = int(Decimal(value).quantize(Decimal(1), context=EXACT))
        if not -(2**63) <= whole < 2**63:
            raise _overflow(value, data_type)
        return whole
    if data_type.kind == "timestamp" and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def _overflow(value: Value, data_type: DataType) -> DataError:
    return DataError(Problem("DATA_003", f"{value} does not fit {data_type}"))


def _number(value: Value) -> Decimal:
    assert isinstance(value, int | Decimal)
    return Decimal(value)


def _column(evaluator: _Evaluator, node: Typed) -> Value:
    assert isinstance(node.value, tuple)
    value = evaluator.row[node.value]
    return None if value is None else fit(value, node.type)


def _constant(_evaluator: _Evaluator, node: Typed) -> Value:
    value = node.value
    assert value is None or isinstance(value, int | Decimal | str | date)
    return value


def _all(evaluator: _Evaluator, node: Typed) -> Value:
    return _three_valued(evaluator, node, False)


def _any(evaluator: _Evaluator, node: Typed) -> Value:
    return _three_valued(evaluator, node, True)


def _three_valued(evaluator: _Evaluator, node: Typed, decisive: bool) -> Value:
    result: Value = not decisive
    for argument in node.args:
        value = evaluator.value(argument)
        if value is decisive:
            return decisive
        result = None if value is None else result
    return result


def _is_null(evaluator: _Evaluator, node: Typed) -> Value:
    return (evaluator.value(node.args[0]) is None) is not bool(node.value)


def _in(evaluator: _Evaluator, node: Typed) -> Value:
    value = evaluator.value(node.args[0])
    items = [evaluator.value(item) for item in node.args[1:]]
    if value is None:
        return None
    if value in [item for item in items if item is not None]:
        return not node.value
    return None if None in items else bool(node.value)


def _between(evaluator: _Evaluator, node: Typed) -> Value:
    value, low, high = (evaluator.value(argument) for argument in node.args)
    tests = [None if None in (one, two) else one <= two for one, two in ((low, value), (value, high))]  # type: ignore[operator]
    inside = False if False in tests else None if None in tests else True
    return inside if inside is None else inside is not bool(node.value)


def _case(evaluator: _Evaluator, node: Typed) -> Value:
    count = len(node.args) // 2
    compared, results = list(node.args[:count]), node.args[count:]
    decisive = evaluator.value(compared.pop(0)) if node.value else True
    for when, then in zip(compared, results, strict=False):
        if decisive is not None and evaluator.value(when) == decisive:
            return evaluator.value(then)
    return evaluator.value(results[-1])


_LAZY: dict[str, Callable[[_Evaluator, Typed], Value]] = {
    "literal": _constant,
    "column": _column,
    "and": _all,
    "or": _any,
    "case": _case,
    "is_null": _is_null,
    "in": _in,
    "between": _between,
}


def _add(node: Typed, values: Sequence[Value]) -> Value:
    assert isinstance(node.value, list)
    total = _number(values[0])
    for operator, value in zip(node.value, values[1:], strict=True):
        number = _number(value)
        total = EXACT.add(total, number) if operator == "+" else EXACT.subtract(total, number)
    return total


def _multiply(_node: Typed, values: Sequence[Value]) -> Value:
    return reduce(EXACT.multiply, map(_number, values))


def _divide(node: Typed, values: Sequence[Value]) -> Value:
    dividend, divisor = _number(values[0]), _number(values[1])
    if not divisor:
        return None
    # 400 digits of the quotient decide every tie: both operands have at most 38.
    return fit(EXACT.divide(dividend, divisor), node.type)


def _compare(node: Typed, values: Sequence[Value]) -> Value:
    left, right = values
    return bool(_COMPARE[str(node.value)](left, right))


_COMPARE: dict[str, Callable[[object, object], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,  # type: ignore[operator]
    "<=": lambda left, right: left <= right,  # type: ignore[operator]
    ">": lambda left, right: left > right,  # type: ignore[operator]
    ">=": lambda left, right: left >= right,  # type: ignore[operator]
}


_STRICT: dict[str, Callable[[Typed, Sequence[Value]], Value]] = {
    "add": _add,
    "multiply": _multiply,
    "divide": _divide,
    "negate": lambda _node, values: EXACT.minus(_number(values[0])),
    "cast": lambda _node, values: values[0],
    "not": lambda _node, values: not values[0],
    "compare": _compare,
    "like": lambda node, values: matches(str(values[0]), str(node.value)),
}
