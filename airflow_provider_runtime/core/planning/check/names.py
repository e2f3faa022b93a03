"""Rules for the names that operations give: columns that they fill, and aliases."""

from __future__ import annotations

import re

from airflow_provider_runtime.core.model.base import NAME_PATTERN
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES
from airflow_provider_runtime.core.planning.check.checked import Path
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.suggest import suggest
from spark_jobs.contract.system_columns import ASSIGNABLE_SYSTEM_COLUMNS

_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether a text can be the name of a column."""
    return _NAME.match(text) is not None and not text.endswith("\n")


def check_new_name(context: OperationContext, column: str, path: Path, seen: dict[str, str]) -> bool:
    """Report a column whose name differs from another one's in case only; False when it does.

    `seen` holds the operation's own names so far by lower case.
    """
    if context.working.knows(column):
        return True
    twin = context.working.find_case_twin(column) or seen.get(column.lower())
    if twin is None or twin == column:
        return True
    message = f"column '{column}' differs from column '{twin}' in upper and lower case only"
    context.report("CATALOG_002", message, path, f"write '{twin}', or choose another name")
    return False


def check_target(context: OperationContext, column: str, seen: set[str], lowered: dict[str, str], path: Path) -> bool:
    """Report a column that cannot be assigned; False when it cannot."""
    if not is_name(column):
        hint = "a name has letters, digits and underscores, and does not begin with a digit"
        context.report("UPDATE_002", f"Invalid column name: '{column}'", path, hint)
        return False
    if column in SYSTEM_COLUMN_NAMES - ASSIGNABLE_SYSTEM_COLUMNS:
        context.report("UPDATE_003", f"system column '{column}' cannot be assigned", path, "only _labels can be set")
        return False
    if column in seen:
        hint = "assignments are evaluated together: combine them, or use a second operation"
        context.report("UPDATE_006", f"column '{column}' is assigned twice", path, hint)
        return False
    return check_new_name(context, column, path, lowered)


def check_alias(context: OperationContext, alias: str, path: Path, seen: dict[str, str]) -> bool:
    """Report an alias that is taken; False when it is. `seen` holds the operation's aliases by lower case."""
    # To Spark, names that differ only in case are the same.
    names = (context.working.table_name, *context.project.lookups, *context.project.unknown_aliases)
    taken = {name.lower(): name for name in names}
    twin = seen.get(alias.lower())
    if twin is not None:
        message = f"Join alias '{alias}' is already used in this operation"
        context.report("JOIN_004", message, path, "give each join its own alias" + _describe_case(alias, twin))
        return False
    seen[alias.lower()] = alias
    twin = taken.get(alias.lower())
    if twin is not None:
        message = f"Join alias '{alias}' conflicts with working dataset table name"
        hint = f"choose another alias, such as '{alias}_join'" + _describe_case(alias, twin)
        context.report("JOIN_005", message, path, hint)
        return False
    return True


def _describe_case(name: str, twin: str) -> str:
    return "" if name == twin else f"; '{name}' differs from '{twin}' only in case"


def read_column_reference(text: str, table_name: str) -> str:
    """Return the column of `table.column` when that is this table, else the text as it is."""
    table, dot, column = text.partition(".")
    return column if dot and table == table_name else text


def suggest_column(name: str, names: list[str]) -> str | None:
    """Return a hint with the nearest column."""
    return suggest(name.rpartition(".")[2], names)
