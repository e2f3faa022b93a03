"""What `publish` and `discard` have in common: a staged run, and the session in which its rows are handled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.core.errors import PlanError, Problem

if TYPE_CHECKING:
    from airflow_provider_runtime.core.registry.ports import Registry, RunRecord
    from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class StagedRun:
    """A run that the registry knows, with its snapshot."""

    registry: Registry
    record: RunRecord
    snapshot: Snapshot
    snapshot_uri: str


@contextmanager
def open_staged_run(run_id: str, registry_url: str | None, catalog: Path) -> Iterator[StagedRun]:
    """Find a run by its id or its snapshot's digest, and read its snapshot."""
    choice = choose_registry(registry_url, catalog)
    registry = choice.open_to_read()
    try:
        record = registry.find_run(run_id)
        if record is None or record.snapshot_uri is None:
            message = f"run {run_id} is not known to the registry"
            raise PlanError(Problem("PLAN_001", message, "see `airflow-runtime runs`"))
        snapshots = choice.snapshots
        yield StagedRun(registry, record, snapshots.read(record), snapshots.locate(record))
    finally:
        registry.close()
