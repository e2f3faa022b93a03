"""Evaluation in Python, with the meaning that the compiled SQL has in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import TypeAlias

from airflow_provider_runtime.core.errors import DataError, Problem
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.recursion import walks_deep
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import DataType

Value: TypeAlias = "int | Decimal | str | bool | date | datetime | None"
Row = Mapping[tuple[str | None, str], Value]
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


class _Evaluator:
    def __init__(self, row: Row, run_timestamp: datetime) -> None:
        self.row = row
        self.now = run_timestamp.astimezone(UTC)

    def value(self, node: Typed) -> Value:
        """Return a node's value; the lazy ones look at no more arguments than they need."""
        lazy = _LAZY.get(node.op)
        if lazy is not None:
            return lazy(self, node)
        values = [self.value(argument) for argument in node.args]
        if any(value is None for value in values):
            return None
        return fit(_STRICT[node.op](node, values), node.type)


@walks_deep
def evaluate(checked: Checked, row: Row, *, run_timestamp: datetime) -> Value:
    """Return the value of an expression for a row; raise DataError where Spark would fail."""
    return _Evaluator(row, run_timestamp).value(checked.node)


@walks_deep
def decide(checked: Checked, row: Row, *, run_timestamp: datetime) -> bool | None:
    """Return whether a condition holds for a row of which these columns are known; None if that depends on others."""
    evaluator = _Evaluator(row, run_timestamp)
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
        exact = Decimal(value).quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
        if abs(exact) >= Decimal(10) ** (data_type.precision - data_type.scale):
            raise _overflow(value, data_type)
        return exact
    if data_type.kind == "integer" and isinstance(value, int | Decimal):
        whole = int(Decimal(value).quantize(Decimal(1), context=_EXACT))
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
    return evaluator.row[node.value]


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


def _if(evaluator: _Evaluator, node: Typed) -> Value:
    condition, then, otherwise = node.args
    return evaluator.value(then if evaluator.value(condition) is True else otherwise)


def _coalesce(evaluator: _Evaluator, node: Typed) -> Value:
    return next((value for value in map(evaluator.value, node.args) if value is not None), None)


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


_LAZY: dict[str, Callable[[_Evaluator, Typed], Value]] = {
    "literal": _constant,
    "column": _column,
    "and": _all,
    "or": _any,
    "if": _if,
    "coalesce": _coalesce,
    "is_null": _is_null,
    "in": _in,
    "between": _between,
    "today": lambda evaluator, _node: evaluator.now.date(),
    "now": lambda evaluator, _node: evaluator.now,
}


def _add(node: Typed, values: Sequence[Value]) -> Value:
    assert isinstance(node.value, list)
    total = _number(values[0])
    for operator, value in zip(node.value, values[1:], strict=True):
        number = _number(value)
        total = _EXACT.add(total, number if operator == "+" else -number)
    return total


def _multiply(_node: Typed, values: Sequence[Value]) -> Value:
    return reduce(_EXACT.multiply, map(_number, values))


def _divide(node: Typed, values: Sequence[Value]) -> Value:
    dividend, divisor = _number(values[0]), _number(values[1])
    if not divisor:
        return None
    # 400 digits of the quotient decide every tie: both operands have at most 38.
    return fit(_EXACT.divide(dividend, divisor), node.type)


def _mod(_node: Typed, values: Sequence[Value]) -> Value:
    dividend, divisor = _number(values[0]), _number(values[1])
    return _EXACT.remainder(dividend, divisor) if divisor else None


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


def _left(_node: Typed, values: Sequence[Value]) -> Value:
    text, count = str(values[0]), int(_number(values[1]))
    return text[: max(count, 0)]


def _right(_node: Typed, values: Sequence[Value]) -> Value:
    text, count = str(values[0]), int(_number(values[1]))
    return text[max(len(text) - count, 0) :] if count > 0 else ""


def _replace(_node: Typed, values: Sequence[Value]) -> Value:
    text, old, new = map(str, values)
    return text.replace(old, new) if old else text


def _date_add(_node: Typed, values: Sequence[Value]) -> Value:
    start = values[0]
    assert isinstance(start, date)
    try:
        return start + timedelta(days=int(_number(values[1])))
    except OverflowError:
        raise DataError(Problem("DATA_003", f"{values[1]} days from {start} is out of range")) from None


def _date_difference(_node: Typed, values: Sequence[Value]) -> Value:
    end, start = values
    assert isinstance(end, date)
    assert isinstance(start, date)
    return (end - start).days


def _part(name: str) -> Callable[[Typed, Sequence[Value]], Value]:
    def part(_node: Typed, values: Sequence[Value]) -> Value:
        found: int = getattr(values[0], name)
        return found

    return part


def _least(_node: Typed, values: Sequence[Value]) -> Value:
    return min(values)  # type: ignore[type-var]


def _greatest(_node: Typed, values: Sequence[Value]) -> Value:
    return max(values)  # type: ignore[type-var]


_STRICT: dict[str, Callable[[Typed, Sequence[Value]], Value]] = {
    "add": _add,
    "multiply": _multiply,
    "divide": _divide,
    "mod": _mod,
    "negate": lambda _node, values: -_number(values[0]),
    "cast": lambda _node, values: values[0],
    "not": lambda _node, values: not values[0],
    "compare": _compare,
    "abs": lambda _node, values: abs(_number(values[0])),
    "round": lambda _node, values: values[0],
    "floor": lambda _node, values: _number(values[0]).quantize(Decimal(1), rounding=ROUND_FLOOR, context=_EXACT),
    "ceil": lambda _node, values: _number(values[0]).quantize(Decimal(1), rounding=ROUND_CEILING, context=_EXACT),
    "min": _least,
    "max": _greatest,
    "concat": lambda _node, values: "".join(map(str, values)),
    "upper": lambda _node, values: str(values[0]).upper(),
    "lower": lambda _node, values: str(values[0]).lower(),
    "trim": lambda _node, values: str(values[0]).strip(" "),
    "left": _left,
    "right": _right,
    "len": lambda _node, values: len(str(values[0])),
    "contains": lambda _node, values: str(values[1]) in str(values[0]),
    "replace": _replace,
    "dateadd": _date_add,
    "datediff": _date_difference,
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
}
