"""Functions of dates and timestamps."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, PRODUCT, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DATE, INTEGER, TIMESTAMP

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

MIDDLE_DAY = 1106867  # days from 1970-01-01 to the middle between 0001-01-01 and 9999-12-31
DAY_FACTOR = (2**63 - 1) // 1826029  # times a day at either end it fits a bigint, times the next day it does not


def _type_constant_day(checker: Checker, node: nodes.Call, _arguments: list[Typed]) -> Typed:
    hint = 'write an existing day as DATE("YYYY-MM-DD")'
    return checker.report("syntax", "DATE takes a constant text", node, hint)


def _write_date_add(writer: SqlWriter, node: Typed) -> Sql:
    return PRIMARY, f"date_from_unix_date(CAST({_write_days(writer, node)} + {MIDDLE_DAY}L AS INT))"


def _write_days(writer: SqlWriter, node: Typed) -> str:
    """Return a date as days from the middle of all dates; the product overflows for days that are none."""
    if node.op != "DATEADD":
        return f"unix_date({writer.write(node, OR)}) - {MIDDLE_DAY}L"
    start, count = _write_days(writer, node.args[0]), writer.write(node.args[1], PRODUCT)
    return f"({start} + {writer.mark}{count}) * {writer.mark}{DAY_FACTOR}L div {DAY_FACTOR}L"


def _add_days(start: date, days: int) -> date:
    return start + timedelta(days=days)


FUNCTIONS = (
    # A constant day becomes a literal when it is parsed.
    Function(
        name="DATE", signature='DATE("…")', takes=("string",), type=_type_constant_day,
        doc="a constant day", example='DATE("2026-01-31")',
    ),
    Function(
        name="TODAY", signature="TODAY()", type=DATE, is_of_run=True, value=lambda now: now.date(),
        doc="the day of the run's timestamp", example="TODAY()",
    ),
    Function(
        name="NOW", signature="NOW()", type=TIMESTAMP, is_of_run=True, value=lambda now: now,
        doc="the run's timestamp", example="NOW()",
    ),
    Function(
        name="YEAR", signature="YEAR(d)", takes=("moment",), type=INTEGER,
        sql="CAST(year({0}) AS BIGINT)", value=lambda moment: moment.year,
        doc="the year", example="YEAR(booked)",
    ),
    Function(
        name="MONTH", signature="MONTH(d)", takes=("moment",), type=INTEGER,
        sql="CAST(month({0}) AS BIGINT)", value=lambda moment: moment.month,
        doc="the month, 1 to 12", example="MONTH(booked)",
    ),
    Function(
        name="DAY", signature="DAY(d)", takes=("moment",), type=INTEGER,
        sql="CAST(day({0}) AS BIGINT)", value=lambda moment: moment.day,
        doc="the day of the month", example="DAY(booked)",
    ),
    Function(
        name="DATEDIFF", signature="DATEDIFF(end, start)", takes=("date", "date"), type=INTEGER,
        sql="CAST(datediff({0}, {1}) AS BIGINT)", value=lambda end, start: (end - start).days,
        doc="days from start to end", example="DATEDIFF(TODAY(), booked)",
    ),
    Function(
        name="DATEADD", signature="DATEADD(date, days)", takes=("date", "integer"), type=DATE, can_fail=True,
        sql=_write_date_add, calls=("date_from_unix_date", "unix_date"), value=_add_days,
        doc="the day so many days later", example="DATEADD(booked, 30)",
    ),
)  # fmt: skip
