"""update: new values for the touched rows, all computed from the values before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_jobs.contract.compiled_sql import split_sql
from spark_jobs.contract.sql import WORKING, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.plan import Expression, UpdateOperation
    from spark_jobs.rows.flags import Flags
    from spark_jobs.rows.joins import TouchedRows
    from spark_jobs.rows.working import Part


_NULL = re.compile(r"CAST\((?:/\*[^*]*\*/)?NULL AS [\w(),]+?\)(?=\s|\)|,|$)", re.IGNORECASE)
_HARMLESS = frozenset({
    "case", "when", "then", "else", "end", "if", "coalesce", "concat", "upper", "lower", "true", "false",
    "and", "or", "not", "is", "null", "in",
})  # fmt: skip
_ARITHMETIC = frozenset("+-*/%~")


def list_fallible(assignments: Iterable[Expression]) -> list[str]:
    """Return the columns whose values may fail to be computed: all but those made of texts, choices and comparisons."""
    return [assignment.column for assignment in assignments if not _is_safe(assignment.sql)]


def _is_safe(sql: str) -> bool:
    for token in split_sql(_NULL.sub("NULL", sql)):
        if token.lastgroup == "word" and token.group().lower() not in _HARMLESS:
            return False
        if token.group() in _ARITHMETIC or token.lastgroup == "foreign":
            return False
    return True


def update_rows(rows: TouchedRows, operation: UpdateOperation, timestamp: str, flags: Flags, part: Part) -> DataFrame:
    """Return all rows, the touched ones with their assigned values and the time of the update."""
    flag = rows.touched
    columns, replaced = list(flags.columns), [*rows.helpers, *flags.replaced]
    for assignment in operation.assignments:
        name = quote_name(assignment.column)
        if assignment.column in part.columns:
            replaced.append(assignment.column)
            before = f"`@w`.{name}"
        else:
            before = f"CAST(NULL AS {assignment.type})"
        columns.append(f"IF({flag}, {assignment.sql}, {before}) AS {name}")
    replaced.append("_updated_at")
    columns.append(f"IF({flag}, {timestamp}, `@w`.`_updated_at`) AS `_updated_at`")
    dropped = ", ".join(quote_name(name) for name in replaced)
    return rows.frame.alias(WORKING).selectExpr(f"* EXCEPT ({dropped})", *columns)
