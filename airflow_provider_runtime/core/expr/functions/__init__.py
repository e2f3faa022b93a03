"""The functions of the language: one entry each, in a module for each domain."""

from airflow_provider_runtime.core.expr.functions import aggregates, conversions, dates, groups, logic, numeric, text
from airflow_provider_runtime.core.expr.functions.entry import Function

__all__ = [
    "AGGREGATES", "CASE_FORM", "CONVERSIONS", "FUNCTIONS", "FUNCTION_GROUPS", "WORDS_ELSEWHERE", "Function",
]  # fmt: skip

FUNCTION_GROUPS: dict[str, tuple[Function, ...]] = {
    "Logic": logic.FUNCTIONS,
    "Numbers": numeric.FUNCTIONS,
    "Text": text.FUNCTIONS,
    "Conversions": conversions.FUNCTIONS,
    "Dates": dates.FUNCTIONS,
    "The run": dates.OF_THE_RUN,
    "Aggregates": aggregates.FUNCTIONS,
    "Groups": groups.FUNCTIONS,
}
"""The functions of each domain, as the docs show them."""
FUNCTIONS = {function.name: function for group in FUNCTION_GROUPS.values() for function in group}
AGGREGATES = frozenset(function.name for function in aggregates.FUNCTIONS)
CASE_FORM = "write CASE WHEN condition THEN value ELSE value END"
LIKE_FORM = 'write s LIKE "A%"'
CONVERSIONS = "use TEXT(x), NUMBER(s, precision, scale), INTEGER(s) or DATE(s)"
WORDS_ELSEWHERE = {
    word: f"use {function.signature}" for function in FUNCTIONS.values() for word in function.known_as
} | {
    "LIKE": LIKE_FORM,
    "ILIKE": 'write UPPER(s) LIKE "A%"',
    "RLIKE": LIKE_FORM,
    "REGEXP": LIKE_FORM,
    "CAST": CONVERSIONS,
    "CONVERT": CONVERSIONS,
    "TO_CHAR": "use TEXT(x)",
    "STR": "use TEXT(x)",
    "TO_DATE": "use DATE(s)",
    "TO_NUMBER": "use NUMBER(s, precision, scale) or INTEGER(s)",
    "VALUE": "use NUMBER(s, precision, scale) or INTEGER(s)",
    "ISBLANK": 'use ISNULL(x), or x = ""',
    "VLOOKUP": "use a lookup of the dataset, or a join of an update",
    "XLOOKUP": "use a lookup of the dataset, or a join of an update",
    "CASE": CASE_FORM,
    "IFS": CASE_FORM,
    "SWITCH": CASE_FORM,
    "DECODE": "write CASE x WHEN value THEN result END",
    "INT": "use INTEGER(s) for a text, ROUNDDOWN(x) for a number",
    "DATEVALUE": "use DATE(s)",
    "EXTRACT": "use YEAR(d), MONTH(d), DAY(d) or QUARTER(d)",
    "FORMAT": "use TEXT(x), PAD_LEFT(s, n, fill) and ||",
    "CUMSUM": "use RUNNING(x ORDER o [DESC] BY k, …)",
    "LEAD": "use PREVIOUS_VALUE(x ORDER o DESC BY k, …)",
    "SQRT": "only whole powers are exact: POWER(x, n)",
    "EXP": "only whole powers are exact: POWER(x, n)",
}
"""Hints for functions of other languages."""
