"""The snapshots of the runs that a registry knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.planning.snapshot.store import Storage, read_snapshot
from airflow_provider_runtime.core.registry.ports import RunRecord
from spark_jobs.contract.addresses import has_scheme
from spark_jobs.contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunSnapshots:
    """Reads the snapshot of a run, from the folder or the store in which it was written."""

    folder: Path | None = None
    """Where relative addresses start: an embedded registry's runs are recorded relative to the folder that holds it."""
    storage: Storage | None = None

    def locate(self, run: RunRecord) -> str:
        """Return the address of a run's snapshot; SNAPSHOT_001 when none was recorded."""
        if run.snapshot_uri is None:
            raise SnapshotError(Problem("SNAPSHOT_001", f"run {run.run_id} has no snapshot"))
        uri = run.snapshot_uri
        if self.folder is None or has_scheme(uri) or Path(uri).is_absolute():
            return uri
        return str(self.folder / uri)

    def read(self, run: RunRecord) -> Snapshot:
        """Return a run's snapshot; SNAPSHOT_001 when it is gone or was changed."""
        return read_snapshot(self.locate(run), run.snapshot_sha256, self.storage)

    def find(self, run: RunRecord) -> Snapshot | None:
        """Return a run's snapshot, None when it cannot be read."""
        try:
            return self.read(run)
        except RuntimeProviderError:
            return None
