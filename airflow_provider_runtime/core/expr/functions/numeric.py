"""Functions of numbers."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.datatypes import remainder_type, round_type, to_decimal
from airflow_provider_runtime.core.expr.exact import EXACT, round_exactly
from airflow_provider_runtime.core.expr.extremes import write_greatest, write_least
from airflow_provider_runtime.core.expr.functions.entry import MANY, Function
from airflow_provider_runtime.core.expr.functions.logic import type_choice
from airflow_provider_runtime.core.expr.quotient import absolute
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import INTEGER, NULL, make_decimal

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

MOST_PLACES = 12


def type_number(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    """Type a function of a number that returns one of the same type."""
    (number,) = fill_nulls(checker, arguments)
    return Typed(node.name, number.type, number.nullable, (number,))


def fill_nulls(checker: Checker, arguments: list[Typed]) -> list[Typed]:
    """Return numbers, the constant NULL as an integer."""
    return [checker.cast(argument, INTEGER) if argument.type == NULL else argument for argument in arguments]


def _type_whole(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    typed = type_number(checker, node, arguments)
    if typed.type.kind == "decimal" and typed.type.scale > 0:
        typed.type = make_decimal(typed.type.precision - typed.type.scale + 1, 0)
    return typed


def _type_round(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    places = 0
    if len(arguments) == 2:
        value = arguments[1].value
        if arguments[1].op != "literal" or not isinstance(value, int) or not 0 <= value <= MOST_PLACES:
            message = f"{node.name} needs a constant from 0 to {MOST_PLACES} places"
            return checker.report("type", message, node.arguments[1])
        places = value
    (number,) = fill_nulls(checker, arguments[:1])
    return Typed(node.name, round_type(number.type, places), number.nullable, (number, *arguments[1:]))


def _type_remainder(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    left, right = arguments
    left = checker.cast(left, INTEGER) if left.type == NULL else left
    right = checker.cast(right, left.type) if right.type == NULL else right
    if left.type.kind != right.type.kind:
        left, right = checker.cast(left, to_decimal(left.type)), checker.cast(right, to_decimal(right.type))
    return Typed(node.name, remainder_type(left.type, right.type), True, (left, right))


def _write_absolute(writer: SqlWriter, node: Typed) -> Sql:
    value = writer.write(node.args[0], OR)
    return PRIMARY, absolute(value, node.type) if node.type.kind == "decimal" else f"abs({writer.mark}{value})"


def _write_round(writer: SqlWriter, node: Typed) -> Sql:
    """Rounding half up is a cast to fewer places."""
    value = writer.write(node.args[0], OR)
    return PRIMARY, f"({value})" if node.args[0].type == node.type else writer.cast(value, node.type)


def _write_floor(writer: SqlWriter, node: Typed) -> Sql:
    return _write_whole(writer, node, "floor")


def _write_ceiling(writer: SqlWriter, node: Typed) -> Sql:
    return _write_whole(writer, node, "ceil")


def _write_whole(writer: SqlWriter, node: Typed, function: str) -> Sql:
    value = writer.write(node.args[0], OR)
    return PRIMARY, f"({value})" if node.args[0].type == node.type else f"{function}({value})"


def _find_remainder(dividend: Decimal, divisor: Decimal) -> Decimal | None:
    return EXACT.remainder(Decimal(dividend), Decimal(divisor)) if divisor else None


FUNCTIONS = (
    Function(
        name="ABS", signature="ABS(x)", takes=("number",), type=type_number, can_fail=True,
        sql=_write_absolute, calls=("abs", "replace"), value=lambda x: EXACT.abs(Decimal(x)),
        doc="x without its sign", example="ABS(amount)",
    ),
    Function(
        name="ROUND", signature="ROUND(x[, n])", takes=("number", "integer"), least=1, type=_type_round, can_fail=True,
        sql=_write_round, value=lambda x, places=0: round_exactly(x, places, ROUND_HALF_UP),
        doc="x to n places, half away from zero", example="ROUND(amount, 2)",
    ),
    Function(
        name="FLOOR", signature="FLOOR(x)", takes=("number",), type=_type_whole,
        sql=_write_floor, calls=("floor",), value=lambda x: round_exactly(x, 0, ROUND_FLOOR),
        doc="the whole number at or below x", example="FLOOR(amount)",
    ),
    Function(
        name="CEIL", signature="CEIL(x)", takes=("number",), type=_type_whole,
        sql=_write_ceiling, calls=("ceil",), value=lambda x: round_exactly(x, 0, ROUND_CEILING),
        doc="the whole number at or above x", example="CEIL(amount)",
    ),
    Function(
        name="MOD", signature="MOD(x, d)", takes=("number", "number"), type=_type_remainder, null="also",
        sql="try_mod({0}, {1})", value=_find_remainder,
        doc="the remainder, with the sign of x; NULL for d = 0", example="MOD(amount, 10)",
    ),
    Function(
        name="MIN", signature="MIN(x, …)", takes=("any",), least=2, most=MANY, type=type_choice,
        sql=write_least, calls=("least", "named_struct"), value=lambda *values: min(values),
        doc="the least; NULL if one is NULL", example="MIN(amount, 100)",
    ),
    Function(
        name="MAX", signature="MAX(x, …)", takes=("any",), least=2, most=MANY, type=type_choice,
        sql=write_greatest, value=lambda *values: max(values),
        calls=(
            "greatest", "least", "named_struct", "unix_date", "date_from_unix_date", "unix_micros", "timestamp_micros",
            "concat", "translate", "hex", "unhex", "rtrim",
        ),
        doc="the greatest; NULL if one is NULL", example="MAX(amount, 0)",
    ),
)  # fmt: skip
