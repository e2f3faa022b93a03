"""The table of functions: what each does, its example, and what the example gives on one row."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.functions import FUNCTION_GROUPS, Function
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import list_spark_words
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, STRING, make_decimal

ROW = {
    "amount": (make_decimal(18, 3), Decimal("12.345")),
    "code": (STRING, "A-7"),
    "unit": (STRING, "kg"),
    "booked": (DATE, date(2026, 1, 31)),
    "active": (BOOLEAN, True),
}
RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
SCOPE = Scope(Relation("items", "working", {name: ScopeColumn(kind) for name, (kind, _) in ROW.items()}))
EARLIER_WORDS = ("rtrim",)
"""What only earlier versions of this package have compiled to: their snapshots can still be executed."""
JOB_MODULE = '''"""Words that may come before an opening bracket; `make docs` writes them from the functions' table."""

CALLABLE = frozenset({{
{words}
}})  # fmt: skip
'''


def make_block(name: str) -> str:
    """Return a generated block of docs/expressions.md."""
    assert name == "functions", name
    parts = []
    for title, group in FUNCTION_GROUPS.items():
        last = "type" if group[0].is_aggregate or group[0].group_form else "gives"
        rows = [f"| function | meaning | example | {last} |", "| --- | --- | --- | --- |"]
        rows += [_make_row(function) for function in group]
        parts.append(f"**{title}**\n\n" + "\n".join(rows))
    return "\n" + "\n\n".join(parts) + "\n"


def _make_row(function: Function) -> str:
    cells = (f"`{function.signature}`", function.doc, f"`{function.example}`", find_result(function))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def find_result(function: Function) -> str:
    """Return what a function's example gives on the sample row; the type for an aggregate."""
    scope = replace(SCOPE, allows_groups=bool(function.group_form))
    result = check_expression(function.example, scope, aggregate=function.is_aggregate)
    assert result.expression is not None, (function.name, result.problems)
    if function.is_aggregate or function.group_form:
        return str(result.expression.type)
    row = {(None, name): value for name, (_, value) in ROW.items()}
    return f"`{_show(evaluate(result.expression, row, run=RUN))}`"


def _show(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'"{value}"' if isinstance(value, str) else str(value)


def make_job_module() -> str:
    """Return the module of the job that names what compiled expressions may call."""
    words = ", ".join(f'"{word}"' for word in sorted({*list_spark_words(), *EARLIER_WORDS}))
    return JOB_MODULE.format(words=textwrap.fill(f"{words},", 116, initial_indent="    ", subsequent_indent="    "))
