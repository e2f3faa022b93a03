"""MIN and MAX in Spark: what makes them NULL, and MAX as the least of values in reverse order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.quotient import negate
from airflow_provider_runtime.core.expr.sql_text import (
    COMPARE,
    NOT,
    OR,
    PRIMARY,
    SUM,
    UNARY,
    Sql,
    join_balanced,
)
from airflow_provider_runtime.core.expr.typed import Typed

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

_HEX, _REVERSED_HEX = "'0123456789ABCDEF'", "'FEDCBA9876543210'"
_HEX_AND_END = "'0123456789ABCDEFZ'"
"""translate leaves out a character that has no counterpart."""
# level of the result, level needed of a value, a value as its order is reversed, and back
REVERSED: dict[str, tuple[int, int, str, str]] = {
    "integer": (UNARY, PRIMARY, "~{}", "~{}"),
    "boolean": (NOT, COMPARE, "NOT {}", "NOT {}"),
    "date": (PRIMARY, OR, "~unix_date({})", "date_from_unix_date(~{})"),
    "timestamp": (PRIMARY, OR, "~unix_micros({})", "timestamp_micros(~{})"),
    # A text ends in Z so that it comes after those that begin with it.
    "string": (
        PRIMARY, OR, f"concat(translate(hex({{}}), {_HEX}, {_REVERSED_HEX}), 'Z')",
        f"CAST(unhex(translate({{}}, {_HEX_AND_END}, {_REVERSED_HEX})) AS STRING)",
    ),
}  # fmt: skip
"""How the order of each kind of value is reversed, so that the greatest is the least."""


def write_extreme(writer: SqlWriter, node: Typed, function: str) -> Sql:
    """Write MIN or MAX: NULL when one is NULL, without writing a long operand twice."""
    columns = writer.find_null_columns(node)
    if columns is None:
        return _write_extreme_of_any(writer, node, function)
    unknown = {name: column for name, column in columns.items() if name not in writer.not_null}
    outer, writer.not_null = writer.not_null, writer.not_null | unknown.keys()
    values = writer.arguments(_flatten(node))
    writer.not_null = outer
    if not unknown:
        return PRIMARY, f"{function}({values})"
    tests = join_balanced([f"{writer.write(column, SUM)} IS NULL" for column in unknown.values()], "OR")
    return PRIMARY, f"IF({tests}, NULL, {function}({values}))"


def _write_extreme_of_any(writer: SqlWriter, node: Typed, function: str) -> Sql:
    """Return the function of operands that can be NULL in any way: a struct of NULL is the least of all."""
    operands = _flatten(node)
    if function == "least":
        return PRIMARY, _write_least_struct([writer.write(operand, OR) for operand in operands])
    if node.type.kind == "decimal":
        negated = [negate(writer.write(operand, UNARY), node.type) for operand in operands]
        return UNARY, negate(_write_least_struct(negated), node.type)
    level, needed, reverse, restore = REVERSED[node.type.kind]
    reversed_values = [reverse.format(writer.write(operand, needed)) for operand in operands]
    return level, restore.format(_write_least_struct(reversed_values))


def _write_least_struct(values: list[str]) -> str:
    structs = ", ".join([f"named_struct('v', {value})" for value in values])
    return f"least({structs}).v"


def _flatten(node: Typed) -> list[Typed]:
    """Return the arguments of MIN or MAX, those of the same function inside it put in their place."""
    pending, found = list(reversed(node.args)), []
    while pending:
        current = pending.pop()
        if current.op == node.op and current.type == node.type:
            pending.extend(reversed(current.args))
        else:
            found.append(current)
    return found
