"""Output: rows and columns that leave the working dataset."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.errors import DefinitionError
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, Path, WorkingColumn
from airflow_provider_runtime.core.planning.check.context import OperationContext, uses_of
from airflow_provider_runtime.core.planning.check.names import read_column_reference, suggest_column
from airflow_provider_runtime.core.planning.check.selection import check_selection
from airflow_provider_runtime.core.planning.check.working import WorkingSchema
from airflow_provider_runtime.core.planning.resolve.destinations import (
    PERIOD_FOLDER,
    POSTGRES_NAME_BYTES,
    exceeds_name_limit,
    resolve_destination,
)
from airflow_provider_runtime.core.planning.resolve.overlaps import describe_overlap
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import get_option


def check_output(context: OperationContext) -> CheckedOperation:
    """Check an output's selector, columns and destination."""
    operation = context.operation
    assert isinstance(operation, OutputOperation)
    where = check_selection(context, operation, context.make_scope())
    columns = _check_columns(context, operation)
    if operation.arguments.distinct and columns and all(column.origin == "system" for column in columns):
        hint = "write another column too: rows that differ in system columns only count as equal"
        context.report(
            "OUTPUT_001",
            "a distinct output needs a column that is not a system column",
            ("arguments", "distinct"),
            hint,
        )
    _check_destination(context, operation, columns)
    if operation.arguments.register_as_dataset is not None:
        _check_registration(context, operation.arguments.register_as_dataset, columns)
    return CheckedOperation(
        operation.seq,
        context.index,
        operation,
        context.working.columns,
        where=where,
        joins=uses_of(context.project.lookups, [where]),
        output_columns=columns,
        is_incomplete=_misses_columns(context, operation, columns),
        registered_dataset=operation.arguments.register_as_dataset,
        key=_check_key(context, operation, columns),
    )


def _misses_columns(context: OperationContext, operation: OutputOperation, columns: tuple[WorkingColumn, ...]) -> bool:
    """Whether mistakes keep columns away, so that they should not be reported as unknown."""
    if operation.arguments.columns is None:
        return bool(context.working.poisoned)
    named = {read_column_reference(text, context.working.table_name) for text in operation.arguments.columns}
    return not named <= {column.name for column in columns}


def _check_columns(context: OperationContext, operation: OutputOperation) -> tuple[WorkingColumn, ...]:
    working = context.working
    if operation.arguments.columns is None:
        return working.columns
    if not operation.arguments.columns:
        hint = "name columns, or leave `columns` out to write all"
        context.report("OUTPUT_001", "an output needs at least one column", ("arguments", "columns"), hint)
    found: dict[str, WorkingColumn] = {}
    for position, text in enumerate(operation.arguments.columns):
        path = ("arguments", "columns", position)
        name = read_column_reference(text, working.table_name)
        column = working.find(name)
        if name in found:
            context.report("OUTPUT_001", f"column '{text}' is written twice", path, "leave one of them out")
        elif column is not None:
            found[name] = column
        elif name not in working.poisoned:
            context.report("OUTPUT_001", f"unknown column '{text}'", path, suggest_column(name, working.names()))
    return tuple(found.values())


def _check_key(
    context: OperationContext, operation: OutputOperation, columns: tuple[WorkingColumn, ...]
) -> tuple[str, ...]:
    key = operation.arguments.key
    if key is None:
        return ()
    if not key:
        hint = "name the columns that identify a row, or leave `key` out"
        context.report("OUTPUT_001", "a key needs at least one column", ("arguments", "key"), hint)
    written = [column.name for column in columns]
    hidden = list_hidden_columns(context.working, operation)
    found: list[str] = []
    for position, text in enumerate(key):
        name = read_column_reference(text, context.working.table_name)
        path = ("arguments", "key", position)
        if name in found:
            context.report("OUTPUT_001", f"column '{text}' is listed twice in key", path, "leave one of them out")
        elif name in written:
            found.append(name)
        elif name not in hidden:
            message = f"column '{text}' of key is not written by this output"
            context.report("OUTPUT_001", message, path, suggest_column(name, written))
    return tuple(found)


def list_hidden_columns(working: WorkingSchema, operation: OutputOperation) -> set[str]:
    """Return the columns that mistakes keep away: those mistakes have been reported."""
    named = {read_column_reference(text, working.table_name) for text in operation.arguments.columns or ()}
    return {name for name in named if working.find(name) is None} | working.poisoned


def _check_destination(
    context: OperationContext, operation: OutputOperation, columns: tuple[WorkingColumn, ...]
) -> None:
    try:
        destination = resolve_destination(context.catalog, context.project.definition, context.index)
    except DefinitionError as error:
        context.project.problems.extend(error.problems)
        return
    has_period = any(column.name == "_period" for column in columns)
    is_table = destination.kind in ("jdbc", "table")
    if is_table and operation.arguments.write_mode == "replace_period" and not has_period:
        noun = "a JDBC output" if destination.kind == "jdbc" else "an output into a table"
        message = f"{noun} must include the column _period, or the rows of its period cannot be replaced"
        hint = "add _period to `columns`, or set write_mode: overwrite"
        context.report("OUTPUT_002", message, ("arguments", "columns"), hint)
    if destination.kind == "files":
        _check_folder_column(context, operation, columns)
    url = get_option(destination.options, "url") or ""
    cut = [column.name for column in columns if exceeds_name_limit(url, column.name)]
    if destination.kind == "jdbc" and cut:
        message = f"the column '{cut[0]}' has a name of more than {POSTGRES_NAME_BYTES} bytes, which PostgreSQL cuts"
        context.report("OUTPUT_002", message, ("arguments", "columns"), "leave it out, or write a shorter name")
    _check_apart(context, operation, destination)


def _check_folder_column(
    context: OperationContext, operation: OutputOperation, columns: tuple[WorkingColumn, ...]
) -> None:
    fault = describe_folder_column(columns)
    if fault is not None:
        path: Path = ("arguments",) if operation.arguments.columns is None else ("arguments", "columns")
        context.report("OUTPUT_002", fault[0], path, fault[1])


def describe_folder_column(columns: Iterable[WorkingColumn]) -> tuple[str, str] | None:
    """Say which column the folder of the period would take the place of: readers of folders see the folder's."""
    twin = next((column.name for column in columns if column.name.lower() == PERIOD_FOLDER), None)
    if twin is None:
        return None
    message = f"a file output cannot have the column '{twin}': readers see the folder {PERIOD_FOLDER}=… in its place"
    return message, "put its values into a column of another name, and name the `columns` of the output without it"


def _check_apart(context: OperationContext, operation: OutputOperation, destination: Destination) -> None:
    """Refuse a place that another output writes to: the later one would replace what the earlier one wrote."""
    found = context.project.written.find_overlapping(destination)
    if found is not None:
        seq, earlier = found
        met = describe_overlap(destination, earlier)
        message = f"output {operation.seq} meets output {seq}: it {met}"
        is_unsure = met is not None and met.startswith("may be")
        hint = "name the schema in both" if is_unsure else "give every output its own place"
        context.report("OUTPUT_002", message, ("arguments", "destination"), hint)
    context.project.written.add(operation.seq, destination)


def _check_registration(context: OperationContext, name: str, columns: tuple[WorkingColumn, ...]) -> None:
    """Check that the registered dataset has columns, and a name that no dataset of a file has."""
    path = ("arguments", "register_as_dataset")
    taken = (
        *context.catalog.list_dataset_versions(name),
        *context.catalog.list_dataset_versions(registered_dataset_id(name)),
    )
    for found in taken:
        # What the registry knows is in no file, and this output continues it.
        if not found.file.startswith("<"):
            hint = f"it is in {found.file}, line {found.locate('id').line}; choose another name"
            context.report("CATALOG_003", f"dataset '{name}' is defined in the catalog already", path, hint)
            break
    first = context.project.registered.setdefault(name, context.operation.seq)
    if first != context.operation.seq:
        message = f"output {first} registers the dataset '{name}' already"
        context.report("CATALOG_003", message, path, "choose another name")
    if columns and all(column.origin == "system" for column in columns):
        message = "a registered dataset needs a column that is not a system column"
        context.report("OUTPUT_001", message, ("arguments", "columns"), "add a column to `columns`")
