"""The earlier execution of a snapshot: what it read and wrote, for one that does the same again."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.registry.ports import Registry
from spark_jobs.contract.documents import find_document
from spark_jobs.contract.report import Report, list_row_differences, list_source_differences
from spark_jobs.contract.snapshot import Snapshot


def find_earlier_report(registry: Registry, snapshot: Snapshot) -> Report | None:
    """Return what this very snapshot has staged and waits for a decision, else its last publication; None without both.

    Who looks at staged rows must learn when they are staged again and differ.
    """
    run = registry.find_run(snapshot.sha256)
    publications = registry.list_publications(snapshot.project.id, snapshot.period.identifier)
    found = next((found.report for found in publications if found.snapshot_sha256 == snapshot.sha256), None)
    if run is not None and run.staged_until is not None and run.report is not None:
        found = run.report
    return None if found is None else find_document(Report, dict(found))


def note_differences(report: Report, earlier: Report | None) -> Report:
    """Return a job's report with the differences that the job itself was not asked for."""
    if earlier is None or report.differences:
        return report
    sources = list_source_differences(earlier.sources, report.sources)
    differences = (*sources, *list_row_differences(earlier.outputs, report.outputs))
    return replace(report, differences=differences) if differences else report
