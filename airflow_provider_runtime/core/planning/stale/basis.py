"""What decides a run's rows beside definitions and files: the period's days, and where and how tables are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Location

PREVIOUS = "PREVIOUS_PERIOD_ID"
AS_OF = "as_of"
"""Names the day as of which a run reads bitemporal tables."""


@dataclass(frozen=True, slots=True)
class TableBasis:
    """Where a table is found, and which rows are taken there."""

    resolver: str
    """Resolver and version, for people."""
    places: str | None = None
    """Digest of locations with formats and options; None where they are not looked up."""
    days: tuple[str, ...] = ()
    """The days for which a bitemporal table is read where a join says so with `as_of`, over all its uses."""


@dataclass(frozen=True, slots=True)
class OutputBasis:
    """Where an output goes."""

    shown: str
    """For people."""
    place: str
    """Digest of the address with format and options."""


@dataclass(frozen=True, slots=True)
class RunBasis:
    """What decides a run's rows beside definitions and files."""

    days: Mapping[str, str] = field(default_factory=dict)
    """What functions of the period give, by their names, and the day of bitemporal tables."""
    tables: Mapping[tuple[str, str], TableBasis] = field(default_factory=dict)
    """By dataset and table."""
    outputs: Mapping[str, OutputBasis] = field(default_factory=dict)
    """By seq, as text."""

    def to_document(self) -> dict[str, Any]:
        """Return what the registry keeps."""
        tables = [{"dataset_id": key[0], "table": key[1], **asdict(found)} for key, found in self.tables.items()]
        outputs = {seq: asdict(found) for seq, found in self.outputs.items()}
        return {"days": dict(self.days), "tables": tables, "outputs": outputs}


def read_basis(document: Mapping[str, Any] | None) -> RunBasis | None:
    """Return what the registry has kept; None for a run of an older package."""
    if document is None:
        return None
    tables = {
        (found["dataset_id"], found["table"]): TableBasis(found["resolver"], found["places"], tuple(found["days"]))
        for found in document["tables"]
    }
    outputs = {seq: OutputBasis(**found) for seq, found in document.get("outputs", {}).items()}
    return RunBasis(document["days"], tables, outputs)


def describe_basis(snapshot: Snapshot) -> RunBasis:
    """Return what decides the rows of a snapshot's run."""
    by_table: dict[tuple[str, str], list[str]] = {}
    for key, table in snapshot.plan.tables.items():
        by_table.setdefault((table.dataset_id, table.table), []).append(key)
    tables = {name: _describe_table(snapshot, keys) for name, keys in by_table.items()}
    period, settings = snapshot.period, snapshot.plan.settings
    days = list_days(period.start_date, period.end_date, snapshot.as_of, settings.previous_period)
    outputs = {str(output.seq): describe_output(output.destination) for output in snapshot.plan.outputs}
    return RunBasis(days, tables, outputs)


def _describe_table(snapshot: Snapshot, keys: Iterable[str]) -> TableBasis:
    used = [snapshot.plan.tables[key] for key in keys]
    trace = next((snapshot.plan.settings.trace[key] for key in keys if key in snapshot.plan.settings.trace), None)
    resolver = "" if trace is None else trace.resolver
    locations = [found for table in used for found in table.locations]
    is_registered = trace is not None and trace.resolver_id == REGISTRY_RESOLVER_ID
    return TableBasis(resolver, None if is_registered else digest_places(locations), sort_days(t.as_of for t in used))


def list_days(start: date, end: date, as_of: date, previous: str | None) -> dict[str, str]:
    """Return what the calendar decides of a run: values of the period's functions, and the day of bitemporal tables."""
    days = (end - start).days + 1
    found = {"PERIOD_START": start.isoformat(), "PERIOD_END": end.isoformat(), "PERIOD_DAYS": str(days)}
    before = {} if previous is None else {PREVIOUS: previous}
    return {**found, AS_OF: as_of.isoformat(), **before}


def sort_days(days: Iterable[date | None]) -> tuple[str, ...]:
    """Return the days that uses of a table have of their own."""
    return tuple(sorted({day.isoformat() for day in days if day is not None}))


def digest_places(locations: Iterable[Location]) -> str | None:
    """Return a digest of where rows are read and how, whichever version of a table that is; None for no locations."""
    places = {json.dumps(_describe_place(location), sort_keys=True) for location in locations}
    return hashlib.sha256("\n".join(sorted(places)).encode()).hexdigest()[:32] if places else None


def describe_output(destination: Destination) -> OutputBasis:
    """Return where an output goes; of an Iceberg or Delta table, whichever folder its files are written to."""
    place = destination.uri if destination.kind == "files" else destination.table or destination.display
    shown = json.dumps([destination.kind, destination.format, place, dict(destination.options)], sort_keys=True)
    return OutputBasis(destination.display, hashlib.sha256(shown.encode()).hexdigest()[:32])


def _describe_place(location: Location) -> list[object]:
    if location.kind == "table":
        return [location.format, location.table or location.uri]
    options, table = dict(location.options), location.table
    # What a missing location means changes no rows of one that is there, and a missing one has no files to compare.
    return [location.kind, location.format, location.uri, table, options, location.period]
