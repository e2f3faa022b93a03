"""Functions of text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.errors import DataError, Problem
from airflow_provider_runtime.core.expr.functions.entry import MANY, Function
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER, STRING

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

LONGEST = 2**31 - 1
LONGEST_PADDED = 10_000
"""A greater length is most likely a typing error, and would cost gigabytes a row."""
TOO_LONG = f"a text is padded to {LONGEST_PADDED:,} characters at most"


def _write_end(writer: SqlWriter, node: Typed, function: str) -> Sql:
    return PRIMARY, f"{function}({writer.write(node.args[0], OR)}, {write_count(writer, node.args[1])})"


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


def _write_substring(writer: SqlWriter, node: Typed) -> Sql:
    first = write_count(writer, node.args[1], least=1)
    count = [write_count(writer, argument) for argument in node.args[2:]]
    return PRIMARY, f"substring({', '.join([writer.write(node.args[0], OR), first, *count])})"


def _find_substring(text: str, first: int, count: int | None = None) -> str:
    rest = text[max(first, 1) - 1 :]
    return rest if count is None else rest[: max(count, 0)]


def _type_padding(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    fill = arguments[2]
    if fill.op != "literal" or len(str(fill.value)) != 1:
        message = f"{node.name} pads with a constant of one character"
        return checker.report("type", message, node.arguments[2], f'write {node.name}(s, 5, "0")')
    length = arguments[1]
    if length.op == "literal" and isinstance(length.value, int) and length.value > LONGEST_PADDED:
        message = f"{node.name} pads to {LONGEST_PADDED:,} characters at most"
        return checker.report("type", message, node.arguments[1], "correct the length")
    return Typed(node.name, STRING, any(argument.nullable for argument in arguments), tuple(arguments))


def _write_padding(writer: SqlWriter, node: Typed, function: str) -> Sql:
    text, length, fill = node.args
    values = {
        "s": (writer.write(text, OR), text.is_simple),
        "n": (write_count(writer, length), length.op == "literal"),
    }

    def body(names: dict[str, str]) -> str:
        count = names["n"]
        if length.op != "literal":
            count = f"IF({count} > {LONGEST_PADDED}, CAST({writer.fail(TOO_LONG, INTEGER)} AS INT), {count})"
        padded = f"{function}({names['s']}, {count}, {writer.write(fill, OR)})"
        return f"IF(length({names['s']}) >= {names['n']}, {names['s']}, {padded})"

    return PRIMARY, writer.bind(values, body)


def _pad(text: str, length: int, fill: str, *, is_before: bool) -> str:
    if length > max(LONGEST_PADDED, len(text)):
        raise DataError(Problem("DATA_003", TOO_LONG))
    filled = fill * (length - len(text))
    return filled + text if is_before else text + filled


FUNCTIONS = (
    Function(
        name="CONCAT", signature="CONCAT(s, …)", takes=("string",), least=2, most=MANY, type=STRING,
        known_as=("CONCATENATE",),
        sql="concat({all})", value=lambda *parts: "".join(parts),
        doc="the texts one after another, as `s || t`", example='CONCAT(code, "-", unit)',
    ),
    Function(
        name="UPPER", signature="UPPER(s)", takes=("string",), type=STRING, sql="upper({0})", value=str.upper,
        known_as=("UCASE",),
        doc="s in capitals", example="UPPER(code)",
    ),
    Function(
        name="LOWER", signature="LOWER(s)", takes=("string",), type=STRING, sql="lower({0})", value=str.lower,
        known_as=("LCASE",),
        doc="s in small letters", example="LOWER(code)",
    ),
    Function(
        name="TRIM", signature="TRIM(s)", known_as=("BTRIM",), takes=("string",), type=STRING, sql="trim({0})",
        value=lambda text: text.strip(" "),
        doc="s without spaces at both ends", example="TRIM(code)",
    ),
    Function(
        name="LEFT", signature="LEFT(s, n)", takes=("string", "integer"), type=STRING,
        sql=partial(_write_end, function="left"), calls=("left",), value=lambda text, count: text[: max(count, 0)],
        doc="the first n characters", example="LEFT(code, 2)",
    ),
    Function(
        name="RIGHT", signature="RIGHT(s, n)", takes=("string", "integer"), type=STRING,
        sql=partial(_write_end, function="right"), calls=("right",),
        value=lambda text, count: text[max(len(text) - max(count, 0), 0) :],
        doc="the last n characters", example="RIGHT(code, 2)",
    ),
    Function(
        name="LEN", signature="LEN(s)", takes=("string",), type=INTEGER, sql="CAST(length({0}) AS BIGINT)", value=len,
        known_as=("LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH"),
        doc="the number of characters", example="LEN(code)",
    ),
    Function(
        name="SUBSTRING", signature="SUBSTRING(s, from[, n])", takes=("string", "integer", "integer"), least=2,
        type=STRING, sql=_write_substring, calls=("substring",), value=_find_substring, known_as=("SUBSTR", "MID"),
        doc="n characters from a position, counted from 1; without n, all of them", example="SUBSTRING(code, 2, 1)",
    ),
    Function(
        name="POSITION", signature="POSITION(part, s)", takes=("string", "string"), type=INTEGER,
        sql="CAST(instr({1}, {0}) AS BIGINT)", value=lambda part, text: text.find(part) + 1,
        known_as=("INSTR", "LOCATE", "CHARINDEX", "FIND", "STRPOS"),
        doc="where part begins in s, counted from 1; 0 when it is not there", example='POSITION("-", code)',
    ),
    Function(
        name="PAD_LEFT", signature="PAD_LEFT(s, n, fill)", takes=("string", "integer", "string"), type=_type_padding,
        sql=partial(_write_padding, function="lpad"), calls=("lpad", "length"), known_as=("LPAD",),
        value=partial(_pad, is_before=True), can_fail=True,
        levels=5, doc="s padded on the left with a character to a length of n", example='PAD_LEFT(code, 5, "0")',
    ),
    Function(
        name="PAD_RIGHT", signature="PAD_RIGHT(s, n, fill)", takes=("string", "integer", "string"), type=_type_padding,
        sql=partial(_write_padding, function="rpad"), calls=("rpad", "length"), known_as=("RPAD",),
        value=partial(_pad, is_before=False), can_fail=True,
        levels=5, doc="s padded on the right with a character to a length of n", example='PAD_RIGHT(code, 5, ".")',
    ),
    Function(
        name="STARTS_WITH", signature="STARTS_WITH(s, part)", takes=("string", "string"), type=BOOLEAN,
        sql="startswith({0}, {1})", value=str.startswith, known_as=("STARTSWITH",),
        doc="whether s begins with part", example='STARTS_WITH(code, "A")',
    ),
    Function(
        name="ENDS_WITH", signature="ENDS_WITH(s, part)", takes=("string", "string"), type=BOOLEAN,
        sql="endswith({0}, {1})", value=str.endswith, known_as=("ENDSWITH",),
        doc="whether s ends with part", example='ENDS_WITH(code, "A")',
    ),
    Function(
        name="CONTAINS", signature="CONTAINS(s, part)", takes=("string", "string"), type=BOOLEAN,
        sql="contains({0}, {1})", value=lambda text, part: part in text,
        doc="whether part is in s", example='CONTAINS(code, "A")',
    ),
    Function(
        name="REPLACE", signature="REPLACE(s, old, new)", takes=("string", "string", "string"), type=STRING,
        known_as=("SUBSTITUTE",),
        sql="replace({all})", value=lambda text, old, new: text.replace(old, new) if old else text,
        doc="s with each old replaced by new", example='REPLACE(code, "-", "")',
    ),
)  # fmt: skip
