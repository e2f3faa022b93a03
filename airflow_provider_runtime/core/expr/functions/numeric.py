"""Functions of numbers."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal
from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.conversions import find_decimal_comma
from airflow_provider_runtime.core.expr.datatypes import multiply_type, remainder_type, round_type, to_decimal
from airflow_provider_runtime.core.expr.exact import EXACT, round_exactly
from airflow_provider_runtime.core.expr.extremes import write_extreme
from airflow_provider_runtime.core.expr.functions.entry import MANY, Function
from airflow_provider_runtime.core.expr.functions.logic import type_choice
from airflow_provider_runtime.core.expr.quotient import absolute
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, PRODUCT, SUM, UNARY, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import INTEGER, MAX_PRECISION, NULL, DataType, make_decimal

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

MOST_PLACES = 12
HIGHEST_POWER = 10


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
            return checker.report("type", message, node.arguments[1], find_decimal_comma(node.arguments))
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


def _write_whole(writer: SqlWriter, node: Typed, function: str) -> Sql:
    value = writer.write(node.args[0], OR)
    return PRIMARY, f"({value})" if node.args[0].type == node.type else f"{function}({value})"


def _write_round_even(writer: SqlWriter, node: Typed) -> Sql:
    value = writer.write(node.args[0], OR)
    if node.args[0].type == node.type:
        return PRIMARY, f"({value})"
    return PRIMARY, writer.cast(f"bround({value}, {node.type.scale})", node.type)


def _write_round_by_sign(writer: SqlWriter, node: Typed, below: str, above: str) -> Sql:
    (argument,) = node.args[:1]
    if argument.type == node.type:
        return PRIMARY, f"({writer.write(argument, OR)})"
    places = node.type.scale
    rounded = writer.bind(
        {"x": (writer.write(argument, UNARY), argument.is_simple)},
        lambda names: f"IF({names['x']} < 0BD, {below}({names['x']}, {places}), {above}({names['x']}, {places}))",
    )
    return PRIMARY, writer.cast(rounded, node.type)


def _write_sign(writer: SqlWriter, node: Typed) -> Sql:
    (argument,) = node.args
    zero = "0L" if argument.type.kind == "integer" else "0BD"
    return PRIMARY, writer.bind(
        {"x": (writer.write(argument, SUM), argument.is_simple)},
        lambda names: (
            f"CASE WHEN {names['x']} > {zero} THEN 1L WHEN {names['x']} < {zero} THEN -1L"
            f" WHEN {names['x']} = {zero} THEN 0L END"
        ),
    )


def _type_power(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (base,), exponent = fill_nulls(checker, arguments[:1]), arguments[1].value
    if arguments[1].op != "literal" or not isinstance(exponent, int) or not 0 <= exponent <= HIGHEST_POWER:
        message = f"POWER needs a constant whole exponent from 0 to {HIGHEST_POWER}"
        hint = find_decimal_comma(node.arguments) or "write POWER(x, 2), or multiply: only whole powers are exact"
        return checker.report("type", message, node.arguments[1], hint)
    data_type: DataType | None = base.type
    if exponent == 0 and base.type.kind == "decimal":
        data_type = make_decimal(1, 0)
    for _ in range(exponent - 1):
        data_type = multiply_type(data_type, base.type) if data_type else None
    if data_type is None:
        message = f"the power has {base.type.scale * exponent} decimal places, at most {MAX_PRECISION} are possible"
        return checker.report("type", message, node, "ROUND the base to fewer decimal places")
    return Typed("POWER", data_type, base.nullable, (base, arguments[1]))


def _write_power(writer: SqlWriter, node: Typed) -> Sql:
    base, exponent = node.args
    value = writer.write(base, UNARY)
    assert isinstance(exponent.value, int)
    if exponent.value == 0:
        return PRIMARY, f"CAST(IF({value} IS NULL, NULL, 1L) AS {node.type.ddl.upper()})"
    factors = exponent.value
    product = writer.bind(
        {"x": (value, base.is_simple)}, lambda names: f" * {writer.mark}".join([names["x"]] * factors)
    )
    return PRODUCT if base.is_simple else PRIMARY, product


def _raise(base: int | Decimal, exponent: int) -> Decimal:
    # No base of at most 38 digits needs more digits than the context has, so the power is exact.
    return EXACT.power(Decimal(base), exponent) if exponent else Decimal(1)


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
        name="ROUNDUP", signature="ROUNDUP(x[, n])", takes=("number", "integer"), least=1, type=_type_round,
        sql=partial(_write_round_by_sign, below="floor", above="ceil"), calls=("floor", "ceil"),
        value=lambda x, places=0: round_exactly(x, places, ROUND_UP),
        levels=5, doc="x to n places, away from zero", example="ROUNDUP(amount, 1)",
    ),
    Function(
        name="ROUNDDOWN", signature="ROUNDDOWN(x[, n])", takes=("number", "integer"), least=1, type=_type_round,
        sql=partial(_write_round_by_sign, below="ceil", above="floor"), calls=("floor", "ceil"),
        known_as=("TRUNC", "TRUNCATE", "FIX"),
        value=lambda x, places=0: round_exactly(x, places, ROUND_DOWN),
        levels=5, doc="x to n places, towards zero", example="ROUNDDOWN(amount, 1)",
    ),
    Function(
        name="ROUND_EVEN", signature="ROUND_EVEN(x[, n])", takes=("number", "integer"), least=1, type=_type_round,
        sql=_write_round_even, calls=("bround",), known_as=("BROUND", "HALF_EVEN"),
        value=lambda x, places=0: round_exactly(x, places, ROUND_HALF_EVEN),
        doc="x to n places, half to the even digit", example="ROUND_EVEN(amount, 2)",
    ),
    Function(
        name="SIGN", signature="SIGN(x)", takes=("number",), type=INTEGER,
        sql=_write_sign, value=lambda x: (x > 0) - (x < 0),
        known_as=("SIGNUM",),
        levels=5, doc="1, 0 or -1, as an integer", example="SIGN(-amount)",
    ),
    Function(
        name="POWER", signature="POWER(x, n)", takes=("number", "number"), type=_type_power, can_fail=True,
        sql=_write_power, value=_raise, known_as=("POW",),
        levels=5, doc="x times itself, n a constant from 0 to 10; exact", example="POWER(amount, 2)",
    ),
    Function(
        name="FLOOR", signature="FLOOR(x)", takes=("number",), type=_type_whole,
        sql=partial(_write_whole, function="floor"), calls=("floor",), value=lambda x: round_exactly(x, 0, ROUND_FLOOR),
        doc="the whole number at or below x", example="FLOOR(amount)",
    ),
    Function(
        name="CEIL", signature="CEIL(x)", takes=("number",), type=_type_whole, known_as=("CEILING",),
        sql=partial(_write_whole, function="ceil"), calls=("ceil",), value=lambda x: round_exactly(x, 0, ROUND_CEILING),
        doc="the whole number at or above x", example="CEIL(amount)",
    ),
    Function(
        name="MOD", signature="MOD(x, d)", takes=("number", "number"), type=_type_remainder, null="also",
        sql="try_mod({0}, {1})", value=_find_remainder, known_as=("REMAINDER",),
        doc="the remainder, with the sign of x; NULL for d = 0", example="MOD(amount, 10)",
    ),
    Function(
        name="MIN", signature="MIN(x, …)", takes=("any",), least=2, most=MANY, type=type_choice,
        sql=partial(write_extreme, function="least"), calls=("least", "named_struct"),
        value=lambda *values: min(values), known_as=("LEAST",),
        doc="the smallest; NULL if one is NULL", example="MIN(amount, 100)",
    ),
    Function(
        name="MAX", signature="MAX(x, …)", takes=("any",), least=2, most=MANY, type=type_choice,
        sql=partial(write_extreme, function="greatest"), value=lambda *values: max(values), known_as=("GREATEST",),
        calls=(
            "greatest", "least", "named_struct", "unix_date", "date_from_unix_date", "unix_micros", "timestamp_micros",
            "concat", "translate", "hex", "unhex",
        ),
        doc="the greatest; NULL if one is NULL", example="MAX(amount, 0)",
    ),
)  # fmt: skip
