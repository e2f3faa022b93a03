"""Outputs that would replace what their own run reads, or the catalog.

One period of a table that is read may be replaced: the rows of other periods, such as opening balances, stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.resolve.locations import make_uri
from airflow_provider_runtime.core.planning.resolve.overlaps import (
    contains_folder,
    find_overlapped,
    may_be_table,
    split_source,
)
from spark_jobs.contract.addresses import unescape_pattern
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.tables import Location

_HINTS = {
    "files": "write to a folder that this project does not read",
    "jdbc": "write to a table that this project does not read",
}


def list_replaced_sources(
    definition: Definition[Project],
    destinations: Mapping[int, Destination],
    locations: Iterable[Location],
    period: str,
    root: Path,
) -> list[Problem]:
    """Return the problem of each output that would replace rows at a place that the run reads."""
    read = list(locations)
    sources = {location.uri: split_source(location.uri) for location in read if location.kind == "files"}
    problems = []
    for index, operation in enumerate(definition.model.operations):
        destination = destinations.get(operation.seq)
        if not isinstance(operation, OutputOperation) or destination is None:
            continue
        if destination.kind == "table":
            # What is read of a table is a version of it, which stays.
            continue
        overwrites = operation.arguments.write_mode == "overwrite"
        if destination.kind == "files":
            met = _find_met(destination.uri, sources, period, root, overwrites=overwrites)
        else:
            met = _find_met_table(destination, read) if overwrites else None
        if met is not None:
            message = f"output {operation.seq} would replace what the run reads: {destination.display} meets {met}"
            place = definition.locate("operations", index, "arguments", "destination")
            problems.append(
                Problem("OUTPUT_002", message, _HINTS[destination.kind], place).at(operation_seq=operation.seq)
            )
    return problems


def _find_met(uri: str, sources: Mapping[str, list[str]], period: str, root: Path, *, overwrites: bool) -> str | None:
    """Return the place that is met by what the output replaces: its whole folder, or the period's in it."""
    replaced = uri if overwrites else f"{uri}/period={period}"
    catalog = make_uri(root, None)
    if overwrites and contains_folder(uri, catalog):
        return f"the catalog {catalog}"
    met = find_overlapped(replaced, sources)
    return None if met is None else unescape_pattern(met)


def _find_met_table(destination: Destination, read: Iterable[Location]) -> str | None:
    """Return the table that is read and would be replaced as a whole."""
    return next((f"the table {source.table}" for source in read if may_be_table(destination, source)), None)
