"""The slices that a job has written, as the registry takes them."""

from __future__ import annotations

import re

from airflow_provider_runtime.core.errors import Problem, SnapshotError
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters
from airflow_provider_runtime.core.registry.ports import SliceWrite
from spark_jobs.contract.report import Report
from spark_jobs.contract.snapshot import Snapshot

_SLICE_NAME = re.compile(r"[A-Za-z0-9_-]+")


def list_slice_writes(snapshot: Snapshot, report: Report) -> list[SliceWrite]:
    """Return the slices in a report, with the schema that the snapshot planned for them."""
    planned = {output.seq: output.slice for output in snapshot.plan.outputs}
    period, writes = snapshot.period.identifier, []
    for output in report.outputs:
        if output.slice is None:
            continue
        target = planned.get(output.seq)
        if target is None or not target.definition:
            message = f"the report names a slice of output {output.seq}, which the snapshot does not have"
            raise SnapshotError(Problem("SNAPSHOT_001", message))
        _check_slice_address(output.slice.uri, f"{target.uri_prefix.rstrip('/')}/{period}/")
        writes.append(
            SliceWrite(
                output_seq=output.seq,
                dataset_id=target.dataset_id,
                dataset_name=target.dataset_name,
                period=period,
                uri=output.slice.uri,
                rows=output.slice.rows,
                definition=target.definition,
                content=output.slice.content,
            )
        )
    return writes


def _check_slice_address(uri: str, folder: str) -> None:
    """Refuse a slice that is not directly in its period's folder: other projects read what is registered."""
    if not uri.startswith(folder) or not _SLICE_NAME.fullmatch(uri.removeprefix(folder)):
        shown = hide_control_characters(uri[:200])
        message = f"the report names a slice at {shown}, which is not directly below {folder}"
        raise SnapshotError(Problem("SNAPSHOT_001", message, "see who can write reports; nothing was registered"))
