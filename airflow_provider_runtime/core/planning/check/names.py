"""Rules for the names of columns that operations add."""

from __future__ import annotations

import re

from airflow_provider_runtime.core.model.base import NAME_PATTERN
from airflow_provider_runtime.core.planning.check.checked import Path
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.suggest import suggest

_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether a text can be the name of a column."""
    return _NAME.match(text) is not None and not text.endswith("\n")


def check_new_name(context: OperationContext, column: str, path: Path, seen: dict[str, str]) -> bool:
    """Report a column whose name differs from another one's in case only; False when it does.

    `seen` holds the operation's own names so far by their small letters.
    """
    if context.working.knows(column):
        return True
    twin = context.working.find_case_twin(column) or seen.get(column.lower())
    if twin is None or twin == column:
        return True
    message = f"column '{column}' differs from column '{twin}' in upper and lower case only"
    context.report("CATALOG_002", message, path, f"write '{twin}', or choose another name")
    return False


def read_column_reference(text: str, table_name: str) -> str:
    """Return the column of `table.column` when the table is the one at hand, else the text as it is."""
    table, dot, column = text.partition(".")
    return column if dot and table == table_name else text


def suggest_column(name: str, names: list[str]) -> str | None:
    """Return a hint with the nearest column."""
    return suggest(name.rpartition(".")[2], names)
