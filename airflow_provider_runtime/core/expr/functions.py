# ruff: noqa: E501
"""The functions of the language, in one table."""

from __future__ import annotations

from dataclasses import dataclass

MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Function:
    """A function: how it is called, what its arguments must be, and what it means."""

    name: str
    group: str
    signature: str
    least: int
    most: int
    takes: tuple[str, ...]
    """What each argument must be (the last one holds for all that follow): a kind of type, number, moment or any."""
    doc: str
    example: str
    is_aggregate: bool = False


def _table(*functions: Function) -> dict[str, Function]:
    return {function.name: function for function in functions}


_F = Function
FUNCTIONS: dict[str, Function] = _table(
    _F("IF", "logic", "IF(c, a, b)", 3, 3, ("boolean", "any"), "a where c is TRUE, else b", 'IF(amount > 0, "in", "out")'),
    _F("AND", "logic", "AND(c, …)", 2, MANY, ("boolean",), "TRUE where all are", "AND(active, amount > 0)"),
    _F("OR", "logic", "OR(c, …)", 2, MANY, ("boolean",), "TRUE where one is", "OR(active, amount > 0)"),
    _F("NOT", "logic", "NOT(c)", 1, 1, ("boolean",), "the opposite", "NOT(active)"),
    _F("ISNULL", "logic", "ISNULL(x)", 1, 1, ("any",), "whether x is NULL", "ISNULL(amount)"),
    _F("COALESCE", "logic", "COALESCE(x, …)", 2, MANY, ("any",), "the first that is not NULL", "COALESCE(amount, 0)"),
    _F("ABS", "number", "ABS(x)", 1, 1, ("number",), "x without its sign", "ABS(amount)"),
    _F("ROUND", "number", "ROUND(x[, n])", 1, 2, ("number", "integer"), "x to n places, half away from zero", "ROUND(amount, 2)"),
    _F("FLOOR", "number", "FLOOR(x)", 1, 1, ("number",), "the whole number at or below x", "FLOOR(amount)"),
    _F("CEIL", "number", "CEIL(x)", 1, 1, ("number",), "the whole number at or above x", "CEIL(amount)"),
    _F("MOD", "number", "MOD(x, d)", 2, 2, ("number",), "the remainder, with the sign of x; NULL for d = 0", "MOD(amount, 10)"),
    _F("MIN", "number", "MIN(x, …)", 2, MANY, ("any",), "the least; NULL if one is NULL", "MIN(amount, 100)"),
    _F("MAX", "number", "MAX(x, …)", 2, MANY, ("any",), "the greatest; NULL if one is NULL", "MAX(amount, 0)"),
    _F("CONCAT", "text", "CONCAT(s, …)", 2, MANY, ("string",), "the texts one after another", 'CONCAT(code, "-", unit)'),
    _F("UPPER", "text", "UPPER(s)", 1, 1, ("string",), "s in capitals", "UPPER(code)"),
    _F("LOWER", "text", "LOWER(s)", 1, 1, ("string",), "s in small letters", "LOWER(code)"),
    _F("TRIM", "text", "TRIM(s)", 1, 1, ("string",), "s without spaces at both ends", "TRIM(code)"),
    _F("LEFT", "text", "LEFT(s, n)", 2, 2, ("string", "integer"), "the first n characters", "LEFT(code, 2)"),
    _F("RIGHT", "text", "RIGHT(s, n)", 2, 2, ("string", "integer"), "the last n characters", "RIGHT(code, 2)"),
    _F("LEN", "text", "LEN(s)", 1, 1, ("string",), "the number of characters", "LEN(code)"),
    _F("CONTAINS", "text", "CONTAINS(s, part)", 2, 2, ("string",), "whether part is in s", 'CONTAINS(code, "A")'),
    _F("REPLACE", "text", "REPLACE(s, old, new)", 3, 3, ("string",), "s with each old made new", 'REPLACE(code, "-", "")'),
    _F("DATE", "date", 'DATE("…")', 1, 1, ("string",), "a constant day", 'DATE("2026-01-31")'),
    _F("TODAY", "date", "TODAY()", 0, 0, (), "the day of the run's timestamp", "TODAY()"),
    _F("NOW", "date", "NOW()", 0, 0, (), "the run's timestamp", "NOW()"),
    _F("YEAR", "date", "YEAR(d)", 1, 1, ("moment",), "the year", "YEAR(booked)"),
    _F("MONTH", "date", "MONTH(d)", 1, 1, ("moment",), "the month, 1 to 12", "MONTH(booked)"),
    _F("DAY", "date", "DAY(d)", 1, 1, ("moment",), "the day of the month", "DAY(booked)"),
    _F("DATEDIFF", "date", "DATEDIFF(end, start)", 2, 2, ("date",), "days from start to end", "DATEDIFF(TODAY(), booked)"),
    _F("DATEADD", "date", "DATEADD(date, days)", 2, 2, ("date", "integer"), "the day so many days later", "DATEADD(booked, 30)"),
    _F("SUM", "aggregate", "SUM(x)", 1, 1, ("number",), "the sum of what is not NULL", "SUM(amount)", True),
    _F("COUNT", "aggregate", "COUNT(x), COUNT(*)", 1, 1, ("any",), "how many are not NULL; with * all rows", "COUNT(*)", True),
    _F("COUNT_ALL", "aggregate", "COUNT_ALL()", 0, 0, (), "how many rows", "COUNT_ALL()", True),
    _F("AVG", "aggregate", "AVG(x)", 1, 1, ("number",), "the mean of what is not NULL", "AVG(amount)", True),
    _F("MIN_AGG", "aggregate", "MIN_AGG(x)", 1, 1, ("any",), "the least that is not NULL", "MIN_AGG(booked)", True),
    _F("MAX_AGG", "aggregate", "MAX_AGG(x)", 1, 1, ("any",), "the greatest that is not NULL", "MAX_AGG(booked)", True),
)  # fmt: skip
AGGREGATES = frozenset(name for name, function in FUNCTIONS.items() if function.is_aggregate)
