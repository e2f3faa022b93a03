"""What decides a run's rows beside definitions and files: the period's days, and where and how tables are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

from airflow_provider_runtime.core.model.resolver import REGISTRY_RESOLVER_ID
from spark_jobs.contract.plan import Location
from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TableBasis:
    """Where a table is found, and which rows are taken there."""

    resolver: str
    """Resolver and version, for people."""
    places: str | None = None
    """Digest of locations with formats and options; None where nobody is asked for them."""
    days: tuple[str, ...] = ()
    """The days for which a bitemporal table is read where a join says so with `as_of`, over all its uses."""


@dataclass(frozen=True, slots=True)
class RunBasis:
    """What decides a run's rows beside definitions and files."""

    days: Mapping[str, str] = field(default_factory=dict)
    """What functions of the period give, by their names."""
    tables: Mapping[tuple[str, str], TableBasis] = field(default_factory=dict)
    """By dataset and table."""

    def to_document(self) -> dict[str, Any]:
        """Return what the registry keeps."""
        tables = [{"dataset_id": key[0], "table": key[1], **asdict(found)} for key, found in self.tables.items()]
        return {"days": dict(self.days), "tables": tables}


def read_basis(document: Mapping[str, Any] | None) -> RunBasis | None:
    """Return what the registry has kept; None of a run of an older package."""
    if document is None:
        return None
    tables = {
        (found["dataset_id"], found["table"]): TableBasis(found["resolver"], found["places"], tuple(found["days"]))
        for found in document["tables"]
    }
    return RunBasis(document["days"], tables)


def describe_basis(snapshot: Snapshot) -> RunBasis:
    """Return what decides the rows of a snapshot's run."""
    by_table: dict[tuple[str, str], list[str]] = {}
    for key, table in snapshot.plan.tables.items():
        by_table.setdefault((table.dataset_id, table.table), []).append(key)
    tables = {name: _describe_table(snapshot, keys) for name, keys in by_table.items()}
    return RunBasis(list_days(snapshot.period.start_date, snapshot.period.end_date), tables)


def _describe_table(snapshot: Snapshot, keys: Iterable[str]) -> TableBasis:
    used = [snapshot.plan.tables[key] for key in keys]
    trace = next((snapshot.plan.settings.trace[key] for key in keys if key in snapshot.plan.settings.trace), None)
    resolver = "" if trace is None else trace.resolver
    locations = [found for table in used for found in table.locations]
    is_registered = trace is not None and trace.resolver_id == REGISTRY_RESOLVER_ID
    return TableBasis(resolver, None if is_registered else digest_places(locations), sort_days(t.as_of for t in used))


def list_days(start: date, end: date) -> dict[str, str]:
    """Return what the functions of a period give that its days decide."""
    days = (end - start).days + 1
    return {"PERIOD_START": start.isoformat(), "PERIOD_END": end.isoformat(), "PERIOD_DAYS": str(days)}


def sort_days(days: Iterable[date | None]) -> tuple[str, ...]:
    """Return the days that uses of a table have of their own."""
    return tuple(sorted({day.isoformat() for day in days if day is not None}))


def digest_places(locations: Iterable[Location]) -> str | None:
    """Return a digest of where rows are read and how, whichever version of a table that is; None for no locations."""
    places = {json.dumps(_describe_place(location), sort_keys=True) for location in locations}
    return hashlib.sha256("\n".join(sorted(places)).encode()).hexdigest()[:32] if places else None


def _describe_place(location: Location) -> list[object]:
    if location.kind == "table":
        return [location.format, location.table or location.uri]
    options, table = dict(location.options), location.table
    return [location.kind, location.format, location.uri, table, options, location.on_missing, location.period]
