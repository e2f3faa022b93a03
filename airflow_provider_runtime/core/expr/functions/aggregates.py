"""Functions over the rows of a group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.datatypes import quotient_type, to_decimal
from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.functions.numeric import fill_nulls
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, UNARY, Sql
from airflow_provider_runtime.core.expr.totals import can_split, split_sum
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER, MAX_PRECISION, NULL, make_decimal

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter


def _type_count(_checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    return Typed("COUNT_ALL" if node.star else node.name, INTEGER, False, tuple(arguments))


def _type_extreme(_checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    return Typed(node.name, arguments[0].type, True, tuple(arguments))


def type_sum(checker: Checker, _node: nodes.Call, arguments: list[Typed]) -> Typed:
    """Type a sum: a decimal has all digits that there can be."""
    (argument,) = fill_nulls(checker, arguments)
    data_type = argument.type
    if data_type.kind == "decimal":
        data_type = make_decimal(MAX_PRECISION, data_type.scale)
    return Typed("SUM", data_type, True, (argument,))


def _type_mean(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (argument,) = fill_nulls(checker, arguments)
    argument = checker.cast(argument, to_decimal(argument.type))
    result = quotient_type(make_decimal(MAX_PRECISION, argument.type.scale), INTEGER)
    if result is None:
        message = f"the mean has {argument.type.scale + 4} decimal places, at most {MAX_PRECISION} are possible"
        return checker.report("type", message, node, "ROUND what is averaged to fewer decimal places")
    return Typed("AVG", result, True, (argument,))


def _write_sum(writer: SqlWriter, node: Typed) -> Sql:
    """Integers are added as decimals, so that only the total must fit, in whatever order they come."""
    argument = node.args[0]
    if argument.is_simple and can_split(argument.type, is_total=writer.is_total):
        return PRIMARY, writer.cast(split_sum(writer.write(argument, UNARY), argument.type), node.type)
    values = writer.write(argument, OR)
    if node.type.kind == "integer":
        values = f"CAST({values} AS DECIMAL(20,0))"
    return PRIMARY, writer.cast(f"sum({writer.mark}{values})", node.type)


def _write_mean(writer: SqlWriter, node: Typed) -> Sql:
    """The quotient of sum and count is rounded once."""
    argument = node.args[0]
    total = Typed("SUM", make_decimal(MAX_PRECISION, argument.type.scale), True, (argument,))
    count = Typed("cast", make_decimal(20, 0), False, (Typed("COUNT", INTEGER, False, (argument,)),))
    return PRIMARY, writer.divide(total, count, node.type, is_safe=False)


def _type_sum_if(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (value,), condition = fill_nulls(checker, arguments[:1]), arguments[1]
    return type_sum(checker, node, [_choose(checker, condition, value)])


def _type_count_if(checker: Checker, _node: nodes.Call, arguments: list[Typed]) -> Typed:
    counted = _choose(checker, arguments[0], Typed("literal", BOOLEAN, False, (), True))
    return Typed("COUNT", INTEGER, False, (counted,))


def _choose(checker: Checker, condition: Typed, value: Typed) -> Typed:
    nothing = checker.cast(Typed("literal", NULL, True), value.type)
    return Typed("IF", value.type, True, (condition, value, nothing))


_Aggregate = partial(Function, is_aggregate=True, null="own")
FUNCTIONS = (
    _Aggregate(
        name="SUM", signature="SUM(x)", takes=("number",), type=type_sum, can_fail=True,
        sql=_write_sum, calls=("sum",),
        doc="the sum of what is not NULL", example="SUM(amount)",
    ),
    _Aggregate(
        name="COUNT", signature="COUNT(x), COUNT(*)", takes=("any",), type=_type_count, sql="count({0})",
        doc="how many are not NULL; with * all rows", example="COUNT(*)",
    ),
    _Aggregate(
        name="COUNT_ALL", signature="COUNT_ALL()", type=_type_count, sql="count(1)",
        doc="how many rows", example="COUNT_ALL()",
    ),
    _Aggregate(
        name="AVG", signature="AVG(x)", known_as=("MEAN", "AVERAGE"), takes=("number",), type=_type_mean, can_fail=True,
        sql=_write_mean, calls=("sum", "count"),
        doc="the mean of what is not NULL", example="AVG(amount)",
    ),
    _Aggregate(
        name="MIN_AGG", signature="MIN_AGG(x)", takes=("any",), type=_type_extreme, sql="min({0})",
        doc="the smallest that is not NULL", example="MIN_AGG(booked)",
    ),
    _Aggregate(
        name="MAX_AGG", signature="MAX_AGG(x)", takes=("any",), type=_type_extreme, sql="max({0})",
        doc="the greatest that is not NULL", example="MAX_AGG(booked)",
    ),
    _Aggregate(
        name="COUNT_DISTINCT", signature="COUNT_DISTINCT(x)", takes=("any",), type=_type_count,
        sql="count(DISTINCT {0})", calls=("distinct",),
        doc="how many different ones, NULL left out", example="COUNT_DISTINCT(code)",
    ),
    _Aggregate(
        name="SUM_IF", signature="SUM_IF(x, c)", takes=("number", "boolean"), type=_type_sum_if, calls=("sum",),
        known_as=("SUMIF", "SUMIFS"),
        doc="the sum over the rows where c is TRUE; NULL when there is none", example="SUM_IF(amount, active)",
    ),
    _Aggregate(
        name="COUNT_IF", signature="COUNT_IF(c)", takes=("boolean",), type=_type_count_if, calls=("count",),
        known_as=("COUNTIF", "COUNTIFS"),
        doc="how many rows where c is TRUE", example="COUNT_IF(active)",
    ),
)  # fmt: skip
