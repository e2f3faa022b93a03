"""Functions of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.functions.entry import MANY, Function
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER, STRING

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

LONGEST = 2**31 - 1


def _write_left(writer: SqlWriter, node: Typed) -> Sql:
    return PRIMARY, f"left({writer.write(node.args[0], OR)}, {write_count(writer, node.args[1])})"


def _write_right(writer: SqlWriter, node: Typed) -> Sql:
    return PRIMARY, f"right({writer.write(node.args[0], OR)}, {write_count(writer, node.args[1])})"


def write_count(writer: SqlWriter, node: Typed, least: int = 0) -> str:
    """Return a number of characters as Spark's int, kept in its range."""
    if node.op == "literal" and isinstance(node.value, int):
        return str(min(max(node.value, least), LONGEST))
    values = {"n": (writer.write(node, OR), node.is_simple)}
    return writer.bind(
        values,
        lambda names: (
            f"CASE WHEN {names['n']} > {LONGEST}L THEN {LONGEST} WHEN {names['n']} < {least}L THEN {least}"
            f" ELSE CAST({names['n']} AS INT) END"
        ),
    )


FUNCTIONS = (
    Function(
        name="CONCAT", signature="CONCAT(s, …)", takes=("string",), least=2, most=MANY, type=STRING,
        sql="concat({all})", value=lambda *parts: "".join(parts),
        doc="the texts one after another", example='CONCAT(code, "-", unit)',
    ),
    Function(
        name="UPPER", signature="UPPER(s)", takes=("string",), type=STRING, sql="upper({0})", value=str.upper,
        doc="s in capitals", example="UPPER(code)",
    ),
    Function(
        name="LOWER", signature="LOWER(s)", takes=("string",), type=STRING, sql="lower({0})", value=str.lower,
        doc="s in small letters", example="LOWER(code)",
    ),
    Function(
        name="TRIM", signature="TRIM(s)", takes=("string",), type=STRING, sql="trim({0})",
        value=lambda text: text.strip(" "),
        doc="s without spaces at both ends", example="TRIM(code)",
    ),
    Function(
        name="LEFT", signature="LEFT(s, n)", takes=("string", "integer"), type=STRING,
        sql=_write_left, calls=("left",), value=lambda text, count: text[: max(count, 0)],
        doc="the first n characters", example="LEFT(code, 2)",
    ),
    Function(
        name="RIGHT", signature="RIGHT(s, n)", takes=("string", "integer"), type=STRING,
        sql=_write_right, calls=("right",), value=lambda text, count: text[max(len(text) - max(count, 0), 0) :],
        doc="the last n characters", example="RIGHT(code, 2)",
    ),
    Function(
        name="LEN", signature="LEN(s)", takes=("string",), type=INTEGER, sql="CAST(length({0}) AS BIGINT)", value=len,
        doc="the number of characters", example="LEN(code)",
    ),
    Function(
        name="CONTAINS", signature="CONTAINS(s, part)", takes=("string", "string"), type=BOOLEAN,
        sql="contains({0}, {1})", value=lambda text, part: part in text,
        doc="whether part is in s", example='CONTAINS(code, "A")',
    ),
    Function(
        name="REPLACE", signature="REPLACE(s, old, new)", takes=("string", "string", "string"), type=STRING,
        sql="replace({all})", value=lambda text, old, new: text.replace(old, new) if old else text,
        doc="s with each old made new", example='REPLACE(code, "-", "")',
    ),
)  # fmt: skip
