"""The marks that a lock leaves at the tables of a period, so that the runs of other registries find it."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.runs.database_marks import mark_table
from airflow_provider_runtime.core.tables import open_table
from airflow_provider_runtime.core.tables.addresses import PropertyReader, make_address, read_env_properties
from spark_jobs.contract.addresses import find_local_path
from spark_jobs.contract.hidden_folder import LockMark, get_lock_uri
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.own_tables import name_lock


def leave_lock_marks(
    registry: Registry,
    snapshots: RunSnapshots,
    calendar: str,
    period: str,
    mark: LockMark,
    read_properties: PropertyReader = read_env_properties,
) -> list[str]:
    """Mark every table that runs of a period have written; return the destinations that have no mark."""
    unmarked = set()
    for run in registry.list_runs():
        if run.calendar != calendar or run.published_at is None:
            continue
        try:
            snapshot = snapshots.read(run)
        except RuntimeProviderError:
            unmarked.add(f"those of run {run.run_id}, whose snapshot cannot be read")
            continue
        if period not in {run.period, *snapshot.plan.settings.enclosing_periods}:
            continue
        for output in snapshot.plan.outputs:
            if not _mark(output.destination, calendar, period, mark, read_properties):
                unmarked.add(output.destination.display)
    return sorted(unmarked)


def make_mark(who: str, reason: str) -> LockMark:
    """Return the mark of a lock that is set now."""
    return LockMark(who, reason, datetime.now(UTC).isoformat(timespec="seconds"))


def _mark(
    destination: Destination, calendar: str, period: str, mark: LockMark, read_properties: PropertyReader
) -> bool:
    if destination.kind == "jdbc":
        return mark_table(destination, calendar, period, mark, read_properties)
    if destination.kind == "table":
        with suppress(RuntimeProviderError):
            return open_table(make_address(destination, read_properties)).leave_lock(name_lock(calendar, period), mark)
        return False
    place = find_local_path(get_lock_uri(destination.uri, calendar, period))
    if place is None:
        return False
    try:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_bytes(mark.encode())
    except OSError:
        return False
    return True
