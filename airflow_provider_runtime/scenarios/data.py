"""A scenario's rows as the locations that the Spark job reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from airflow_provider_runtime.core.model.scenario import ScenarioData
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
from airflow_provider_runtime.core.planning.resolve.slices import choose_slice_periods
from airflow_provider_runtime.core.planning.snapshot.table_chooser import LocationRequest
from airflow_provider_runtime.core.suggest import suggest
from airflow_provider_runtime.scenarios.loading import LoadedScenario
from airflow_provider_runtime.scenarios.values import to_text
from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.tables import Location

FILE_FORMATS = {".csv": ("csv", {"header": "true"}), ".parquet": ("parquet", {}), ".json": ("json", {})}


def find_data(scenario: Iterable[ScenarioData], dataset: Dataset, table: Table) -> list[ScenarioData]:
    """Return the data that a scenario gives for a table: for this version, or for every version."""
    return [
        entry
        for entry in scenario
        if entry.dataset in (dataset.id, dataset.name)
        and entry.version in (None, dataset.version)
        and (entry.table or dataset.main_table.name) == table.name
    ]


def make_locations(
    entries: Iterable[ScenarioData], request: LocationRequest, chosen: tuple[Location, ...], folder: Path
) -> tuple[Location, ...]:
    """Return what is read in place of the locations that the resolver chose."""
    table = request.table
    found = [_make_location(entry, table, folder) for entry in entries] or [_make_rows((), table)]
    if table.temporal_mode != "period":
        return tuple(found)
    periods = list(dict.fromkeys(location.period for location in chosen)) or [None]
    if request.dataset.resolver_id == REGISTRY_RESOLVER_ID:
        # What is registered is found by its slices: here, by the periods of the rows.
        held = {period for location in found for period in _list_periods(location)}
        periods = [*choose_slice_periods(held, request.index, request.period)[0]] or periods
    return tuple(replace(location, period=period) for location in found for period in _take(periods, location, table))


def _list_periods(location: Location) -> set[str]:
    if "_period" not in location.columns:
        return set()
    at = location.columns.index("_period")
    return {period for row in location.rows if (period := row[at]) is not None}


def _take(periods: list[str | None], location: Location, table: Table) -> list[str | None]:
    """Return the periods that a location is read for; rows without a period column belong to one only."""
    column = table.temporal_columns.period or "_period"
    return periods if location.kind == "files" or column in location.columns else periods[:1]


def _make_location(entry: ScenarioData, table: Table, folder: Path) -> Location:
    if entry.rows is not None:
        return _make_rows(entry.rows, table)
    path = folder / str(entry.file)
    file_format, options = FILE_FORMATS[path.suffix.lower()]
    return Location(kind="files", format=file_format, uri=escape_pattern(f"file://{path.resolve()}"), options=options)


def _make_rows(rows: tuple[dict[str, object], ...], table: Table) -> Location:
    """Return rows in memory, with every column that is declared or that a row names."""
    names = [column.name for column in table.columns]
    if table.temporal_mode == "bitemporal":
        names += [table.temporal_columns.from_ or "_period_from", table.temporal_columns.to or "_period_to"]
    columns = tuple(dict.fromkeys([*names, *(name for row in rows for name in row)]))
    texts = tuple(tuple(to_text(row.get(column)) for column in columns) for row in rows)
    return Location(kind="memory", columns=columns, rows=texts)


def check_files(loaded: LoadedScenario) -> list[Problem]:
    """Return what is wrong with the names of a scenario's files."""
    assert loaded.scenario is not None
    assert loaded.source is not None
    problems = []
    for index, entry in enumerate(loaded.scenario.data):
        if entry.file is None:
            continue
        shown = hide_control_characters(entry.file)
        hint = "rows of a table come from one of these"
        if shown != entry.file:
            message, hint = f"the file name '{shown}' holds a control character", "remove it"
        elif Path(entry.file).suffix.lower() not in FILE_FORMATS:
            message = f"'{entry.file}' is not a csv, parquet or json file"
        else:
            continue
        problems.append(Problem("CATALOG_002", message, hint, loaded.source.locate("data", index, "file")))
    return problems


def check_data(loaded: LoadedScenario, catalog: Catalog) -> list[Problem]:
    """Return what is wrong with a scenario's data: unknown datasets and tables."""
    assert loaded.scenario is not None
    assert loaded.source is not None
    problems = []
    for index, entry in enumerate(loaded.scenario.data):
        tables = _list_tables(catalog, entry.dataset)
        if tables is None:
            message = f"data is given for the dataset '{entry.dataset}', which is not defined"
            hint = suggest(entry.dataset, [found.model.id for found in catalog.datasets.values()])
            problems.append(Problem("DATASET_001", message, hint, loaded.source.locate("data", index, "dataset")))
        elif entry.table is not None and tables and entry.table not in tables:
            message, hint = f"dataset '{entry.dataset}' has no table '{entry.table}'", suggest(entry.table, tables)
            problems.append(Problem("CATALOG_002", message, hint, loaded.source.locate("data", index, "table")))
    return problems


def _list_tables(catalog: Catalog, reference: str) -> list[str] | None:
    """Return the tables of a dataset; none that are known for one that a project registers; None for an unknown one."""
    datasets = [found.model for found in catalog.list_dataset_versions(reference)]
    if datasets:
        lookups = [lookup.target for dataset in datasets for lookup in dataset.lookups]
        names = [dataset.main_table.name for dataset in datasets]
        return names + [target.name for target in lookups if target.type == "table"]
    return [] if catalog.find_registration(reference) is not None else None
