"""Text made of values and values made of text; what does not fit fails, or is NULL where that is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.exact import EXACT
from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DATE, INTEGER, MAX_PRECISION, NULL, STRING, make_decimal
from spark_jobs.contract.sql import quote_text

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

INTEGER_FORM = "-?[0-9]+"
DATE_FORM = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"


def _type_text(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    (value,) = arguments
    if value.type.kind == "string":
        return checker.report(
            "type", "TEXT takes a number, boolean, date or timestamp, this is text", node, "leave TEXT out"
        )
    if value.type == NULL:
        return checker.cast(value, STRING)
    return Typed("TEXT", STRING, value.nullable, (value,))


def _write_text(writer: SqlWriter, node: Typed) -> Sql:
    text = f"CAST({writer.write(node.args[0], OR)} AS STRING)"
    forms = {"boolean": "upper({})", "timestamp": "concat(replace({}, ' ', 'T'), 'Z')"}
    return PRIMARY, forms.get(node.args[0].type.kind, "{}").format(text)


def _make_text(value: object) -> str:
    match value:
        case bool():
            return str(value).upper()
        case datetime():
            fraction = f"{value.microsecond:06}".rstrip("0")
            return f"{value:%Y-%m-%dT%H:%M:%S}{'.' if fraction else ''}{fraction}Z".zfill(20)
        case Decimal():
            return f"{value:f}"
    return str(value)


def _type_number(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    precision, scale = (argument.value for argument in arguments[1:])
    for index, (value, most) in enumerate(((precision, MAX_PRECISION), (scale, precision)), start=1):
        least = 2 - index
        if not isinstance(value, int) or not isinstance(most, int) or not least <= value <= most:
            what = f"a constant precision from 1 to {MAX_PRECISION}"
            if index == 2:
                what = "a constant scale from 0 to the precision"
            hint = f"write {node.name}(s, 18, 2): 18 digits in all, 2 of them after the point"
            return checker.report("type", f"{node.name} needs {what}", node.arguments[index], hint)
    assert isinstance(precision, int)
    assert isinstance(scale, int)
    nullable = arguments[0].nullable or node.name.startswith("TRY_")
    return Typed(node.name, make_decimal(precision, scale), nullable, tuple(arguments))


def make_number_form(scale: int) -> str:
    """Return the pattern of a number's text: only zeros may follow the digits of the scale."""
    return INTEGER_FORM + (rf"(?:\.[0-9]{{1,{scale}}}0*)?" if scale else r"(?:\.0+)?")


def _write_conversion(writer: SqlWriter, node: Typed, form: str = "") -> Sql:
    """Write a cast that fails, or is NULL, for a text of another form: that gets a character that no value has."""
    text = writer.write(node.args[0], OR)
    other_text = rf"\A(?! *{form or make_number_form(node.type.scale)} *\z)"
    guarded = f"regexp_replace({text}, {quote_text(other_text)}, '?') AS {node.type.ddl.upper()}"
    return PRIMARY, f"try_cast({guarded})" if node.op.startswith("TRY_") else f"CAST({writer.mark}{guarded})"


def _read_number(text: str, precision: int, scale: int) -> Decimal:
    number = Decimal(_read(text, make_number_form(scale)))
    number = number.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    if abs(number) >= Decimal(10) ** (precision - scale):
        raise ValueError(f"'{text}' has more digits than decimal({precision},{scale})")
    return number


def _read_integer(text: str) -> int:
    number = int(Decimal(_read(text, INTEGER_FORM)))
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"'{text}' does not fit an integer")
    return number


def _read_date(text: str) -> date:
    return date.fromisoformat(_read(text, DATE_FORM))


def _read(text: str, form: str) -> str:
    found = text.strip(" ")
    if not re.fullmatch(form, found):
        raise ValueError(f"'{text}' cannot be read")
    return found


def _try(read: Callable[..., object], *arguments: object) -> object:
    try:
        return read(*arguments)
    except ValueError:
        return None


_write_integer = partial(_write_conversion, form=INTEGER_FORM)
_write_date = partial(_write_conversion, form=DATE_FORM)
_Failing = partial(Function, can_fail=True, calls=("regexp_replace",))
_Trying = partial(Function, null="also", calls=("regexp_replace", "try_cast"))

FUNCTIONS = (
    Function(
        name="TEXT", signature="TEXT(x)", takes=("any",), type=_type_text,
        sql=_write_text, calls=("upper",), value=_make_text,
        doc="a number, boolean, date or timestamp as text", example="TEXT(amount)",
    ),
    _Failing(
        name="NUMBER", signature="NUMBER(s, precision, scale)", takes=("string", "integer", "integer"),
        type=_type_number, sql=_write_conversion, value=_read_number,
        doc="the decimal that s spells; any other text fails", example='NUMBER(" -12.50 ", 10, 1)',
    ),
    _Failing(
        name="INTEGER", signature="INTEGER(s)", takes=("string",), type=INTEGER, sql=_write_integer,
        value=_read_integer,
        doc="the integer that s spells; any other text fails", example='INTEGER("-7")',
    ),
    # With a constant text DATE becomes a literal when it is parsed.
    _Failing(
        name="DATE", signature="DATE(s)", takes=("string",), type=DATE, sql=_write_date, value=_read_date,
        doc="the date that s spells as YYYY-MM-DD; any other text fails", example='DATE("2026-01-31")',
    ),
    _Trying(
        name="TRY_NUMBER", signature="TRY_NUMBER(s, precision, scale)", takes=("string", "integer", "integer"),
        type=_type_number, sql=_write_conversion, value=partial(_try, _read_number),
        doc="the decimal that s spells, else NULL", example="TRY_NUMBER(code, 10, 2)",
    ),
    _Trying(
        name="TRY_INTEGER", signature="TRY_INTEGER(s)", takes=("string",), type=INTEGER, sql=_write_integer,
        value=partial(_try, _read_integer),
        doc="the integer that s spells, else NULL", example="TRY_INTEGER(RIGHT(code, 1))",
    ),
    _Trying(
        name="TRY_DATE", signature="TRY_DATE(s)", takes=("string",), type=DATE, sql=_write_date,
        value=partial(_try, _read_date),
        doc="the date that s spells, else NULL", example="TRY_DATE(code)",
    ),
)  # fmt: skip
