"""Functions of dates and timestamps, and constants of the run."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.functions.entry import Function
from airflow_provider_runtime.core.expr.sql_text import OR, PRIMARY, PRODUCT, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DATE, INTEGER, STRING, TIMESTAMP

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

MIDDLE_DAY = 1106867  # days from 1970-01-01 to the middle between 0001-01-01 and 9999-12-31
UNITS = ("year", "quarter", "month", "week")
DAY_FACTOR = (2**63 - 1) // 1826029  # times a day at either end it fits a bigint, times the next day it does not


def _write_date_add(writer: SqlWriter, node: Typed) -> Sql:
    return PRIMARY, f"date_from_unix_date(CAST({_write_days(writer, node)} + {MIDDLE_DAY}L AS INT))"


def _write_days(writer: SqlWriter, node: Typed) -> str:
    """Return a date as days from the middle of all dates; beyond the years 1 to 9999 the product overflows."""
    if node.op != "DATEADD":
        return f"unix_date({writer.write(node, OR)}) - {MIDDLE_DAY}L"
    start, count = _write_days(writer, node.args[0]), writer.write(node.args[1], PRODUCT)
    return f"({start} + {writer.mark}{count}) * {writer.mark}{DAY_FACTOR}L div {DAY_FACTOR}L"


def _add_days(start: date, days: int) -> date:
    return start + timedelta(days=days)


def _type_optional(_checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    return Typed(node.name, DATE, any(argument.nullable for argument in arguments), tuple(arguments))


def _write_add_months(writer: SqlWriter, node: Typed) -> Sql:
    """A day outside the years 1 to 9999 fails, as does a number of months that leads there from anywhere."""
    start, months = node.args
    count = f"CAST(CAST({writer.mark}{writer.write(months, OR)} AS DECIMAL(6,0)) AS INT)"
    if months.op == "literal" and isinstance(months.value, int) and abs(months.value) < 10**6:
        count = str(months.value)
    days = f"unix_date(add_months({writer.write(start, OR)}, {count})) - {MIDDLE_DAY}L"
    checked = f"({days}) * {writer.mark}{DAY_FACTOR}L div {DAY_FACTOR}L + {MIDDLE_DAY}L"
    return PRIMARY, f"date_from_unix_date(CAST({checked} AS INT))"


def _write_last_day(writer: SqlWriter, node: Typed) -> Sql:
    moved = _write_add_months(writer, node)[1] if len(node.args) == 2 else writer.write(node.args[0], OR)
    return PRIMARY, f"last_day({moved})"


def _add_months(start: date, months: int) -> date:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        raise ValueError(f"{months} months from {start} is out of range")
    return date(year, month + 1, min(start.day, monthrange(year, month + 1)[1]))


def _find_last_day(start: date, months: int = 0) -> date:
    moved = _add_months(start, months)
    return moved.replace(day=monthrange(moved.year, moved.month)[1])


def _type_truncation(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    unit, moment = arguments
    if unit.op != "literal" or unit.value not in UNITS:
        message = f"DATE_TRUNC needs one of {', '.join(UNITS)} as a constant"
        return checker.report("type", message, node.arguments[0], 'write DATE_TRUNC("month", d)')
    return Typed("DATE_TRUNC", DATE, moment.nullable, (unit, moment))


def _truncate(unit: str, day: date) -> date:
    firsts = {
        "year": day.replace(month=1, day=1),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": day.replace(day=1),
        "week": day - timedelta(days=day.weekday()),
    }
    return firsts[unit]


def _write_months_between(writer: SqlWriter, node: Typed) -> Sql:
    end, start = node.args
    values = {"a": (writer.write(end, OR), end.is_simple), "b": (writer.write(start, OR), start.is_simple)}

    def body(names: dict[str, str]) -> str:
        a, b = names["a"], names["b"]
        months = f"(year({a}) - year({b})) * 12 + month({a}) - month({b})"
        # A month is not over on an earlier day, unless that is the last one of its month.
        begun = f"IF(day({a}) < day({b}) AND {a} < last_day({a}), 1, 0)"
        begun_back = f"IF(day({b}) < day({a}) AND {b} < last_day({b}), 1, 0)"
        return f"CAST(IF({a} >= {b}, {months} - {begun}, {months} + {begun_back}) AS BIGINT)"

    return PRIMARY, writer.bind(values, body)


def _count_months(end: date, start: date) -> int:
    if end < start:
        return -_count_months(start, end)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months if _add_months(start, months) <= end else months - 1


FUNCTIONS = (
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
        known_as=("DATE_DIFF",),
        sql="CAST(datediff({0}, {1}) AS BIGINT)", value=lambda end, start: (end - start).days,
        doc="days from start to end", example="DATEDIFF(TODAY(), booked)",
    ),
    Function(
        name="DATEADD", signature="DATEADD(date, days)", takes=("date", "integer"), type=DATE, can_fail=True,
        known_as=("DATE_ADD",),
        sql=_write_date_add, calls=("date_from_unix_date", "unix_date"), value=_add_days,
        levels=2, doc="the day so many days later", example="DATEADD(booked, 30)",
    ),
    Function(
        name="ADDMONTHS", signature="ADDMONTHS(d, n)", takes=("date", "integer"), type=DATE, can_fail=True,
        sql=_write_add_months, calls=("date_from_unix_date", "unix_date", "add_months"), value=_add_months,
        known_as=("EDATE", "ADD_MONTHS", "DATE_ADD_MONTHS"),
        levels=5, doc="the day n months later, or the last day of its month", example="ADDMONTHS(booked, 1)",
    ),
    Function(
        name="EOMONTH", signature="EOMONTH(d[, months])", takes=("date", "integer"), least=1, type=_type_optional,
        can_fail=True, sql=_write_last_day, value=_find_last_day, known_as=("LAST_DAY",),
        calls=("last_day", "date_from_unix_date", "unix_date", "add_months"),
        levels=5, doc="the last day of the month, or of that so many months later", example="EOMONTH(booked, 1)",
    ),
    Function(
        name="MONTHS_BETWEEN", signature="MONTHS_BETWEEN(end, start)", takes=("date", "date"), type=INTEGER,
        sql=_write_months_between, calls=("year", "month", "day", "last_day"), value=_count_months,
        levels=5, doc="full months from start to end", example='MONTHS_BETWEEN(booked, DATE("2025-10-15"))',
    ),
    Function(
        name="QUARTER", signature="QUARTER(d)", takes=("moment",), type=INTEGER,
        sql="CAST(quarter({0}) AS BIGINT)", value=lambda moment: (moment.month + 2) // 3,
        doc="the quarter, 1 to 4", example="QUARTER(booked)",
    ),
    Function(
        name="WEEKDAY", signature="WEEKDAY(d)", takes=("moment",), type=INTEGER,
        sql="CAST(weekday({0}) + 1 AS BIGINT)", value=lambda moment: moment.isoweekday(), known_as=("DAYOFWEEK",),
        doc="1 for Monday to 7 for Sunday", example="WEEKDAY(booked)",
    ),
    Function(
        name="DATE_TRUNC", signature='DATE_TRUNC("month", d)', takes=("string", "date"), type=_type_truncation,
        sql="trunc({1}, {0})", value=_truncate,
        doc='the first day of the "year", "quarter", "month" or "week"', example='DATE_TRUNC("quarter", booked)',
    ),
)  # fmt: skip
OF_THE_RUN = (
    Function(
        name="TODAY", signature="TODAY()", type=DATE, is_of_run=True,
        known_as=("CURRENT_DATE", "SYSDATE", "GETDATE"), value=lambda run: run.timestamp.date(),
        doc="the day of the run's timestamp", example="TODAY()",
    ),
    Function(
        name="NOW", signature="NOW()", type=TIMESTAMP, is_of_run=True, known_as=("CURRENT_TIMESTAMP",),
        value=lambda run: run.timestamp,
        doc="the run's timestamp", example="NOW()",
    ),
    Function(
        name="PERIOD_ID", signature="PERIOD_ID()", type=STRING, is_of_run=True, value=lambda run: run.period_id,
        doc="the identifier of the run's period", example="PERIOD_ID()",
    ),
    Function(
        name="PERIOD_START", signature="PERIOD_START()", type=DATE, is_of_run=True,
        value=lambda run: run.period_start,
        doc="the period's first day", example="PERIOD_START()",
    ),
    Function(
        name="PERIOD_END", signature="PERIOD_END()", type=DATE, is_of_run=True, value=lambda run: run.period_end,
        doc="the period's last day", example="PERIOD_END()",
    ),
    Function(
        name="PERIOD_DAYS", signature="PERIOD_DAYS()", type=INTEGER, is_of_run=True,
        value=lambda run: (run.period_end - run.period_start).days + 1,
        doc="how many days the period has", example="PERIOD_DAYS()",
    ),
    Function(
        name="PREVIOUS_PERIOD_ID", signature="PREVIOUS_PERIOD_ID()", type=STRING, is_of_run=True, null="also",
        value=lambda run: run.previous_period_id,
        doc="the period before; NULL when the calendar has none", example="PREVIOUS_PERIOD_ID()",
    ),
)  # fmt: skip
