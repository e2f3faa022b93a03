"""Functions over a group of the rows that an update touches: each row keeps its place and learns of its group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.datatypes import to_decimal
from airflow_provider_runtime.core.expr.functions.aggregates import type_sum
from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.functions.numeric import fill_nulls
from airflow_provider_runtime.core.expr.quotient import absolute, divide_sql, shift
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, UNARY, Sql
from airflow_provider_runtime.core.expr.typed import GroupWindow, Typed, has_column, put_window
from airflow_provider_runtime.core.model.schema import (
    INTEGER,
    INTEGER_DIGITS,
    MAX_PRECISION,
    NULL,
    DataType,
    make_decimal,
)
from spark_jobs.contract.sql import TOUCHED, write_column

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

UNITS = make_decimal(MAX_PRECISION, 0)
QUOTIENT = make_decimal(MAX_PRECISION, 6)
SUM_DIGITS = 10
"""How many digits more Spark gives a sum than what is added."""
_ROW_ID = write_column(None, "_row_id")
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def _type_total(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    """TOTAL and RUNNING have the type of SUM."""
    total = type_sum(checker, node, arguments)
    total.op = node.name
    return total


def _type_share(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (argument,) = fill_nulls(checker, arguments)
    total = _type_total(checker, node, [argument])
    total.op = "TOTAL"
    if total.type.kind == "decimal":
        # As narrow as Spark's own sum: dividing by 38 digits takes several steps.
        total.type = make_decimal(min(argument.type.precision + SUM_DIGITS, MAX_PRECISION), total.type.scale)
    return checker.divide(argument, put_window(total, checker.window), node)


def _type_rank(_checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    return Typed(node.name, INTEGER, arguments[0].nullable, tuple(arguments))


def _type_previous(_checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (argument,) = arguments
    if argument.type == NULL:
        return argument
    return Typed(node.name, argument.type, True, (argument,))


def _type_allocation(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    amount, weight = fill_nulls(checker, arguments)
    return Typed(node.name, amount.type, amount.nullable, (amount, weight))


def _get_window(node: Typed) -> GroupWindow:
    assert node.window is not None
    return node.window


def _mask(writer: SqlWriter, node: Typed) -> str:
    """Return a value of touched rows only: what the selector leaves out is not evaluated."""
    return f"IF({TOUCHED}, {writer.write(node, OR)}, NULL)"


def _write_over(writer: SqlWriter, window: GroupWindow, order: str = "") -> str:
    keys = [writer.write(key, OR) if key.op == "column" else _mask(writer, key) for key in window.keys]
    parts = [f"PARTITION BY {', '.join(keys)}"] if keys else []
    return f"OVER ({' '.join([*parts, *([f'ORDER BY {order}'] if order else [])])})"


def _write_order(writer: SqlWriter, value: Typed, descending: bool) -> str:
    """Return an order with untouched rows and NULLs last."""
    return f"IF({TOUCHED}, 0, 1), {_mask(writer, value)} {'DESC' if descending else 'ASC'} NULLS LAST"


def _write_total_of(writer: SqlWriter, node: Typed, over: str) -> Sql:
    value = _mask(writer, node.args[0])
    if node.type.kind == "integer":
        value = f"CAST({value} AS DECIMAL(20,0))"
    return writer.precompute(0, node.type, writer.cast(f"sum({writer.mark}{value}) {over}", node.type))


def _write_total(writer: SqlWriter, node: Typed) -> Sql:
    return _write_total_of(writer, node, _write_over(writer, _get_window(node)))


def _write_running(writer: SqlWriter, node: Typed) -> Sql:
    over = _write_over(writer, _get_window(node), f"{_order_rows(writer, node)} {_ROWS}")
    return _write_total_of(writer, node, over)


def _order_rows(writer: SqlWriter, node: Typed) -> str:
    window = _get_window(node)
    assert window.order is not None
    return f"{_write_order(writer, window.order, window.descending)}, {_ROW_ID}"


def _write_rank(writer: SqlWriter, node: Typed) -> Sql:
    value, window = node.args[0], _get_window(node)
    over = _write_over(writer, window, _write_order(writer, value, window.descending))
    rank = f"IF({_mask(writer, value)} IS NULL, NULL, rank() {over})"
    return writer.precompute(0, INTEGER, f"CAST({rank} AS BIGINT)")


def _write_previous(writer: SqlWriter, node: Typed) -> Sql:
    over = _write_over(writer, _get_window(node), _order_rows(writer, node))
    return writer.precompute(0, node.type, f"lag({_mask(writer, node.args[0])}) {over}")


def _write_allocation(writer: SqlWriter, node: Typed) -> Sql:
    """Each row gets the whole units of its exact part, and the units that are left go to the largest remainders."""
    amount, weight = node.args[:2]
    over = _write_over(writer, _get_window(node))
    units = make_decimal(amount.type.precision or INTEGER_DIGITS, 0)
    found = _plan_parts(units, to_decimal(weight.type))
    weights = f"IF({TOUCHED}, coalesce({_write_weight(writer, weight, found.weight)}, 0BD), NULL)"
    total = writer.precompute(0, found.total, writer.cast(f"sum({writer.mark}{weights}) {over}", found.total))[1]
    shared = writer.precompute(0, units, _write_shared_amount(writer, amount, weights, over, units))[1]
    product = writer.cast(f"{shared} * {writer.mark}{weights}", found.product)
    rest = writer.precompute(1, found.rest, writer.cast(f"try_mod({product}, {total})", found.rest))[1]
    whole = f"{product} - {rest}"
    if found.is_narrow:
        quotient = f"try_divide({whole}, {total})"
    else:
        whole = writer.precompute(2, UNITS, writer.cast(whole, UNITS))[1]
        quotient = divide_sql({"a": whole, "b": total}, UNITS, UNITS, QUOTIENT, writer.mark, is_safe=False)
    step = 2 if found.is_narrow else 3
    base = writer.precompute(step, units, writer.cast(quotient, units))[1]
    order = f"IF({TOUCHED}, 0, 1), {rest} DESC NULLS LAST, {_ROW_ID}"
    ranked = f"row_number() {_write_over(writer, _get_window(node), order)}"
    left = f"CAST({writer.mark}{shared} - sum({base}) {over} AS DECIMAL(38,0))"
    extra = writer.precompute(step + 1, INTEGER, f"CAST(IF({ranked} <= {left}, 1, 0) AS BIGINT)")[1]
    part = writer.cast(f"{base} + {extra}", units)
    parted = shift(part, units.precision, units, -amount.type.scale, to_decimal(node.type), writer.mark)
    value = f"IF({_mask(writer, amount)} < 0, 0 - {parted}, {parted})"
    return PRIMARY, f"CAST({value} AS {node.type.ddl.upper()})"


@dataclass(frozen=True, slots=True)
class _Parts:
    """The types in which an amount is split: narrow where they can be, as decimals of 38 digits cost more."""

    weight: DataType
    total: DataType
    product: DataType
    rest: DataType
    is_narrow: bool


def _plan_parts(units: DataType, weight: DataType) -> _Parts:
    """Return the types for an amount of so many units: weights count as they are where no product needs more digits."""
    total = make_decimal(min(weight.precision + SUM_DIGITS, MAX_PRECISION), weight.scale)
    if max(units.precision, SUM_DIGITS) + weight.precision + 2 > MAX_PRECISION:
        return _Parts(UNITS, UNITS, UNITS, UNITS, False)
    return _Parts(weight, total, make_decimal(units.precision + weight.precision + 1, weight.scale), total, True)


def _write_weight(writer: SqlWriter, node: Typed, target: DataType) -> str:
    return _write_units(writer, node) if target == UNITS else writer.cast(writer.write(node, UNARY), target)


def _write_units(writer: SqlWriter, node: Typed, target: DataType = UNITS) -> str:
    """Return a number in units of its last place."""
    data_type = to_decimal(node.type)
    return shift(
        writer.write(node, UNARY), node.type.precision or INTEGER_DIGITS, data_type, data_type.scale, target, ""
    )


def _write_shared_amount(writer: SqlWriter, amount: Typed, weights: str, over: str, units: DataType) -> str:
    """Return the group's amount in units, without its sign; a group that cannot be allocated fails."""
    value = _mask(writer, amount)
    useless = f"min({weights}) {over} < 0 OR sum({weights}) {over} = 0"
    known, differs = f"NOT ({value} IS NULL)", ""
    if has_column(amount):
        known, rows = f"count({value}) {over} > 0", f"count(IF({TOUCHED}, 1, NULL)) {over}"
        differs = f"count({value}) {over} <> {rows} OR min({value}) {over} <> max({value}) {over}"
        differs = f" WHEN {differs} THEN {writer.fail('the amount is not the same in the whole group', units)}"
    return (
        f"CASE WHEN NOT {TOUCHED} OR NOT ({known}) THEN NULL{differs}"
        f" WHEN {useless} THEN {writer.fail('weights are negative or add up to zero', units)}"
        f" ELSE {absolute(_write_units(writer, amount, units), units)} END"
    )


_Group = partial(Function, null="own", can_fail=True)
FUNCTIONS = (
    _Group(
        name="TOTAL", signature="TOTAL(x BY k, …)", takes=("number",), type=_type_total, group_form="BY",
        sql=_write_total, calls=("sum", "over"),
        doc="the sum of x in the group, on each of its rows", example="TOTAL(amount BY unit)",
    ),
    _Group(
        name="SHARE", signature="SHARE(x BY k, …)", takes=("number",), type=_type_share, group_form="BY",
        calls=("sum", "over"),
        doc="x divided by the sum of x in the group", example="SHARE(amount BY unit)",
    ),
    _Group(
        name="RANK", signature="RANK(x [DESC] BY k, …)", takes=("any",), type=_type_rank, group_form="DESC BY",
        sql=_write_rank, calls=("rank", "over"), known_as=("ROW_NUMBER",),
        doc="the rank of x in its group: 1, 2, 2, 4; NULL where x is", example="RANK(amount DESC BY unit)",
    ),
    _Group(
        name="RUNNING", signature="RUNNING(x ORDER o [DESC] BY k, …)", takes=("number",), type=_type_total,
        group_form="ORDER BY", breaks_ties=True, sql=_write_running, calls=("sum", "over"),
        doc="the sum of x in the group up to and including the row", example="RUNNING(amount ORDER booked BY unit)",
    ),
    _Group(
        name="PREVIOUS_VALUE", signature="PREVIOUS_VALUE(x ORDER o [DESC] BY k, …)", takes=("any",),
        type=_type_previous, group_form="ORDER BY", breaks_ties=True, sql=_write_previous,
        calls=("lag", "over"), known_as=("LAG",),
        doc="x on the row before in the group's order", example="PREVIOUS_VALUE(amount ORDER booked BY unit)",
    ),
    _Group(
        name="ALLOCATE", signature="ALLOCATE(amount, weight BY k, …)", takes=("number", "number"),
        type=_type_allocation, group_form="BY", breaks_ties=True, sql=_write_allocation,
        known_as=("SPLIT", "APPORTION", "DISTRIBUTE"),
        calls=("sum", "count", "min", "max", "row_number", "over", "coalesce", "try_mod", "try_divide", "decimal"),
        doc="the group's amount in proportion to weight; the parts add up to the last cent",
        example="ALLOCATE(100.00, amount BY unit)",
    ),
)  # fmt: skip
