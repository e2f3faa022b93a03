"""How Spark SQL is spelt: names, constants, and how tightly its operators bind."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from spark_jobs.contract.sql import quote_text

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, PRIMARY = range(8)
Sql = tuple[int, str]
"""How tightly a piece of SQL binds, and its text."""


def spell_constant(value: object) -> Sql:
    """Return a constant; timestamps are in UTC."""
    match value:
        case None:
            return PRIMARY, "NULL"
        case bool():
            return PRIMARY, "TRUE" if value else "FALSE"
        case str():
            return PRIMARY, quote_text(value)
        case datetime():
            moment = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
            return PRIMARY, f"TIMESTAMP_LTZ'{moment} UTC'"
        case date():
            return PRIMARY, f"DATE'{value.isoformat()}'"
    assert isinstance(value, int | Decimal)
    text = f"{value}L" if isinstance(value, int) else f"{value:f}BD"
    return (UNARY if text.startswith("-") else PRIMARY), text


def join_balanced(operands: list[str], operator: str, longest: int = 64) -> str:
    """Return operands joined flat, or as a balanced tree where there are many."""
    if len(operands) <= longest:
        return f" {operator} ".join(operands)
    middle = len(operands) // 2
    left, right = join_balanced(operands[:middle], operator), join_balanced(operands[middle:], operator)
    return f"({left}) {operator} ({right})"
