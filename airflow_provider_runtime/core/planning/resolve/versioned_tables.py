"""Iceberg and Delta tables: which one a definition means, and which of its versions and files a run reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import DataError, Place, Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.dataset import Table
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.planning.resolve.locations import make_uri
from airflow_provider_runtime.core.tables import PinnedTable, RowFilter, TableAddress, VersionedTable, open_table
from airflow_provider_runtime.core.tables.addresses import CATALOG_NAME, PropertyReader, make_address
from airflow_provider_runtime.core.tables.locations import locate_files
from spark_jobs.contract.addresses import has_scheme
from spark_jobs.contract.tables import Location

_RELATIVE_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/|:memory:)(.+)", re.IGNORECASE)
_TABLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_$ -]*(?:\.[A-Za-z0-9_][A-Za-z0-9_$ -]*)+")


def is_iceberg_name(name: str) -> bool:
    """Return whether a text is a namespace and a table's name."""
    return _TABLE_NAME.fullmatch(name) is not None


def make_table_options(catalog: Catalog, datasource: Datasource, options: dict[str, str]) -> dict[str, str]:
    """Return a table's options with absolute paths; those of Iceberg name their catalog."""
    if datasource.type == "delta":
        return options
    absolute = {CATALOG_NAME: datasource.id, **options}
    if datasource.path_prefix and "warehouse" not in absolute:
        absolute["warehouse"] = make_uri(catalog.root, datasource.path_prefix)
    elif _is_relative_folder(absolute.get("warehouse", ""), absolute.get("uri", "")):
        absolute["warehouse"] = make_uri(catalog.root, absolute["warehouse"])
    if found := _RELATIVE_SQLITE.fullmatch(absolute.get("uri", "")):
        absolute["uri"] = f"{found[1]}{(catalog.root.absolute() / found[2]).resolve()}"
    return absolute


def _is_relative_folder(warehouse: str, uri: str) -> bool:
    """Return whether a warehouse is a folder without a scheme: a catalog of SQL has no warehouses of names."""
    is_of_sql = uri.lower().startswith(("sqlite", "postgres", "mysql"))
    return bool(warehouse) and not has_scheme(warehouse) and ("/" in warehouse or is_of_sql)


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a table a run reads, apart from where it is."""

    table: Table
    as_of: date | None
    """The day whose bitemporal rows are read; None for rows of every day."""
    place: Place


def pin_locations(
    locations: Sequence[Location], reading: Reading, read_properties: PropertyReader | None
) -> tuple[Location, ...]:
    """Return locations in which every table is pinned: the same one at the same version, whatever the period."""
    pinner = _Pinner(reading, read_properties)
    return tuple(
        pinned
        for location in locations
        for pinned in (pinner.pin(location) if location.kind == "table" else (location,))
    )


class _Pinner:
    def __init__(self, reading: Reading, read_properties: PropertyReader | None) -> None:
        self._reading = reading
        self._read_properties = read_properties
        self._opened: dict[tuple[str, str], tuple[VersionedTable, str | None]] = {}

    def pin(self, location: Location) -> tuple[Location, ...]:
        """Return the groups of files of the table's version."""
        address = make_address(location, self._read_properties)
        try:
            found = self._find_pin(address, location)
        except RuntimeProviderError as error:
            raise type(error)(problem.at_place(self._reading.place) for problem in error.problems) from error
        if found is None and location.on_missing == "empty":
            return ()
        if found is None:
            hint = "write the data first, or let the resolver's rule say `on_missing: empty`"
            raise DataError(Problem("DATA_001", f"no table {address.display}", hint, self._reading.place))
        # The folder that all files of a version share may be another one in the next version.
        table = location.table or location.uri
        return locate_files(replace(location, table=table, credential_ref=None, options={}), found)

    def _find_pin(self, address: TableAddress, location: Location) -> PinnedTable | None:
        key = (address.catalog, address.name)
        table, version = self._opened.get(key) or (open_table(address), None)
        found = table.find_pin(version, self._make_filter(location))
        self._opened[key] = (table, found.version if found else None)
        return found

    def _make_filter(self, location: Location) -> RowFilter:
        table, names = self._reading.table, self._reading.table.temporal_columns
        declared = frozenset(column.name for column in table.columns)
        if table.temporal_mode == "period":
            column = names.period or "_period"
            return RowFilter(period_column=column, period=location.period, columns=declared | {column})
        if table.temporal_mode == "bitemporal":
            first, last = names.from_ or "_period_from", names.to or "_period_to"
            found = RowFilter(columns=declared | {first, last})
            if self._reading.as_of is None:
                return found
            return replace(found, from_column=first, to_column=last, as_of=self._reading.as_of)
        return RowFilter(columns=declared)
