"""The history of publications, and the end of runs that were staged and not published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_runtime.core.registry.ports import Publication, Registration, RunRecord
from airflow_provider_runtime.core.registry.store import Store, to_datetime

COMPARED = ("dataset_id", "table", "version", "fingerprint")
"""What identifies a source, and its data."""


def get_last_number(store: Store, project_id: str, period: str) -> int:
    """Return the number of a period's last publication, 0 when there was none."""
    found = store.list_publications(project_id, period, 1)
    return found[0].number if found else 0


def add_publication(store: Store, run: RunRecord, now_millis: int, report: Mapping[str, Any]) -> None:
    """Add a publication to the history of its period."""
    store.add_publication(
        Publication(
            project_id=run.project_id,
            project_name=run.project_name,
            period=run.period,
            number=get_last_number(store, run.project_id, run.period) + 1,
            run_id=run.run_id,
            snapshot_sha256=run.snapshot_sha256,
            token=run.token,
            published_at=to_datetime(now_millis),
            report=dict(report),
        )
    )


def add_versions(report: Mapping[str, Any], registrations: Sequence[Registration]) -> Mapping[str, Any]:
    """Return a job's report with the versions that its outputs were registered as."""
    versions = {registration.output_seq: registration.version for registration in registrations}
    outputs = report.get("outputs")
    if not versions or not outputs:
        return report
    return {**report, "outputs": [{**out, "registered_version": versions.get(out.get("seq"))} for out in outputs]}


def list_sources(report: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return what a plan compares of what a job has read; the report of an older package says nothing."""
    found = report.get("sources") or ()
    return tuple({name: source.get(name) for name in COMPARED} for source in found)


def count_checks(report: Mapping[str, Any]) -> dict[str, int]:
    """Return how many checks of a report have which status."""
    return dict(Counter(str(check.get("status")) for check in report.get("checks") or ()))


def discard_older(store: Store, project_id: str, period: str, snapshot_sha256: str, now_millis: int) -> None:
    """Give up what other runs have staged for a period: the attempt that begins now sweeps it away."""
    for run in store.list_runs(project_id, period, None):
        if run.status == "staged" and run.snapshot_sha256 != snapshot_sha256:
            error = {"code": "RUN_002", "message": "a newer attempt has replaced what was staged"}
            discard(store, run, now_millis, error)


def discard(store: Store, run: RunRecord, now_millis: int, error: Mapping[str, Any]) -> RunRecord:
    """Record that what a run has staged will not be published, and why."""
    finished = to_datetime(now_millis)
    discarded = replace(run, status="discarded", finished_at=finished, staged_until=None, error=dict(error))
    store.put_run(discarded)
    return discarded
