"""Functions over a group of the rows that an update touches: each row keeps its place and learns of its group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.datatypes import to_decimal
from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.functions.numeric import fill_nulls
from airflow_provider_runtime.core.expr.quotient import absolute, divide_sql, shift
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, UNARY, Sql
from airflow_provider_runtime.core.expr.typed import GroupWindow, Typed, put_window
from airflow_provider_runtime.core.model.schema import INTEGER, MAX_PRECISION, NULL, make_decimal
from spark_jobs.contract.sql import TOUCHED

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

UNITS = make_decimal(MAX_PRECISION, 0)
QUOTIENT = make_decimal(MAX_PRECISION, 6)
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def _type_total(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    """TOTAL and RUNNING have the type of SUM."""
    (argument,) = fill_nulls(checker, arguments)
    data_type = argument.type
    if data_type.kind == "decimal":
        data_type = make_decimal(MAX_PRECISION, data_type.scale)
    return Typed(node.name, data_type, True, (argument,))


def _type_share(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (argument,) = fill_nulls(checker, arguments)
    total = _type_total(checker, node, [argument])
    total.op = "TOTAL"
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
    return writer.keep(0, node.type, writer.cast(f"sum({writer.mark}{value}) {over}", node.type))


def _write_total(writer: SqlWriter, node: Typed) -> Sql:
    return _write_total_of(writer, node, _write_over(writer, _get_window(node)))


def _write_running(writer: SqlWriter, node: Typed) -> Sql:
    over = _write_over(writer, _get_window(node), f"{_order_rows(writer, node)} {_ROWS}")
    return _write_total_of(writer, node, over)


def _order_rows(writer: SqlWriter, node: Typed) -> str:
    window = _get_window(node)
    assert window.order is not None
    return f"{_write_order(writer, window.order, window.descending)}, `@w`.`_row_id`"


def _write_rank(writer: SqlWriter, node: Typed) -> Sql:
    value, window = node.args[0], _get_window(node)
    over = _write_over(writer, window, _write_order(writer, value, window.descending))
    rank = f"IF({_mask(writer, value)} IS NULL, NULL, rank() {over})"
    return writer.keep(0, INTEGER, f"CAST({rank} AS BIGINT)")


def _write_previous(writer: SqlWriter, node: Typed) -> Sql:
    over = _write_over(writer, _get_window(node), _order_rows(writer, node))
    return writer.keep(0, node.type, f"lag({_mask(writer, node.args[0])}) {over}")


def _write_allocation(writer: SqlWriter, node: Typed) -> Sql:
    """Each row gets the whole units of its exact part, and the units that are left go to the largest remainders."""
    amount, weight = node.args[:2]
    over = _write_over(writer, _get_window(node))
    units = _write_units(writer, weight)
    weights = f"IF({TOUCHED}, coalesce({units}, 0BD), NULL)"
    total = writer.keep(0, UNITS, f"CAST({writer.mark}sum({writer.mark}{weights}) {over} AS DECIMAL(38,0))")[1]
    shared = writer.keep(0, UNITS, _write_shared_amount(writer, amount, weights, over))[1]
    product = writer.keep(1, UNITS, f"CAST({writer.mark}{shared} * {writer.mark}{weights} AS DECIMAL(38,0))")[1]
    remainder = writer.keep(2, UNITS, f"CAST(try_mod({product}, {total}) AS DECIMAL(38,0))")[1]
    whole = writer.keep(3, UNITS, f"CAST({writer.mark}{product} - {remainder} AS DECIMAL(38,0))")[1]
    quotient = divide_sql({"a": whole, "b": total}, UNITS, UNITS, QUOTIENT, writer.mark, is_safe=False)
    base = writer.keep(4, UNITS, f"CAST({writer.mark}{quotient} AS DECIMAL(38,0))")[1]
    order = f"IF({TOUCHED}, 0, 1), {remainder} DESC NULLS LAST, `@w`.`_row_id`"
    ranked = f"row_number() {_write_over(writer, _get_window(node), order)}"
    left = f"CAST({writer.mark}{shared} - sum({base}) {over} AS DECIMAL(38,0))"
    extra = writer.keep(5, UNITS, f"CAST(IF({ranked} <= {left}, 1, 0) AS DECIMAL(38,0))")[1]
    part = f"CAST({writer.mark}{base} + {writer.mark}{extra} AS DECIMAL(38,0))"
    parted = shift(part, MAX_PRECISION, UNITS, -amount.type.scale, node.type, writer.mark)
    value = f"IF({_mask(writer, amount)} < 0, 0 - {parted}, {parted})"
    return PRIMARY, f"CAST({value} AS {node.type.ddl.upper()})"


def _write_units(writer: SqlWriter, node: Typed) -> str:
    """Return a number in units of its last place."""
    return shift(
        writer.write(node, UNARY), node.type.precision or 19, to_decimal(node.type), node.type.scale, UNITS, ""
    )


def _write_shared_amount(writer: SqlWriter, amount: Typed, weights: str, over: str) -> str:
    """Return the group's amount in units, without its sign; a group that cannot be allocated fails."""
    value = _mask(writer, amount)
    known, rows = f"count({value}) {over}", f"count(IF({TOUCHED}, 1, NULL)) {over}"
    differs = f"{known} <> {rows} OR min({value}) {over} <> max({value}) {over}"
    useless = f"min({weights}) {over} < 0 OR sum({weights}) {over} = 0"
    units = absolute(_write_units(writer, amount), UNITS)
    return (
        f"CASE WHEN NOT {TOUCHED} OR {known} = 0 THEN NULL"
        f" WHEN {differs} THEN {writer.fail('the amount is not the same in the whole group', UNITS)}"
        f" WHEN {useless} THEN {writer.fail('weights are negative or add up to zero', UNITS)}"
        f" ELSE {units} END"
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
        doc="the place of x in its group: 1, 2, 2, 4; NULL where x is", example="RANK(amount DESC BY unit)",
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
        calls=("sum", "count", "min", "max", "row_number", "over", "coalesce", "try_mod", "decimal"),
        doc="the group's amount in proportion to weight; the parts add up to the last cent",
        example="ALLOCATE(100.00, amount BY unit)",
    ),
)  # fmt: skip
