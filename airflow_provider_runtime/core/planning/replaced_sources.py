"""Outputs that would replace what their own run reads, or the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.plan import PlanDestination, PlanLocation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.locations import make_uri, unescape_pattern
from airflow_provider_runtime.core.planning.places import holds_folder, overlaps_source

_HINT = "write to a folder that this project does not read"


def list_replaced_sources(
    definition: Definition[Project],
    destinations: Mapping[int, PlanDestination],
    locations: Iterable[PlanLocation],
    period: str,
    root: Path,
) -> list[Problem]:
    """Return the problem of each output whose folder meets a place that the run reads."""
    sources = list(dict.fromkeys(location.uri for location in locations if location.kind == "files"))
    problems = []
    for index, operation in enumerate(definition.model.operations):
        destination = destinations.get(operation.seq)
        if not isinstance(operation, OutputOperation) or destination is None or destination.kind != "files":
            continue
        overwrites = operation.arguments.write_mode == "overwrite"
        met = _find_met(destination.uri, sources, period, root, overwrites=overwrites)
        if met is not None:
            message = f"output {operation.seq} would replace what the run reads: {destination.display} meets {met}"
            place = definition.locate("operations", index, "arguments", "destination")
            problems.append(Problem("OUTPUT_002", message, _HINT, place).at(operation_seq=operation.seq))
    return problems


def _find_met(uri: str, sources: Iterable[str], period: str, root: Path, *, overwrites: bool) -> str | None:
    """Return the place that is met by what the output replaces: its whole folder, or the period's in it."""
    replaced = uri if overwrites else f"{uri}/period={period}"
    catalog = make_uri(root, None)
    if overwrites and holds_folder(uri, catalog):
        return f"the catalog {catalog}"
    return next((unescape_pattern(source) for source in sources if overlaps_source(replaced, source)), None)
