"""The run whose rows are asked about: what is published for a period, or a run that is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from airflow_provider_runtime.core.errors import PlanError, Problem
from airflow_provider_runtime.core.registry.ports import Publication, Registry, RunRecord
from spark_jobs.contract.documents import find_document, read_document
from spark_jobs.contract.report import Report


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run with the report of what it has published or staged."""

    record: RunRecord
    report: Report
    published_at: datetime | None
    replaced_by: Publication | None = None
    """The publication that readers see instead."""


def find_reported_run(registry: Registry, project: str, period: str, run_id: str | None = None) -> FoundRun:
    """Return the run that is published for a period, or the one with this id; PLAN_001 when there is none."""
    publications = registry.list_publications(project, period)
    if run_id is None:
        if not publications:
            raise PlanError(_say_unpublished(registry, project, period))
        latest = publications[0]
        record = registry.find_run(latest.snapshot_sha256)
        if record is None:
            raise PlanError(Problem("PLAN_001", f"run {latest.run_id} is not known to the registry any more"))
        return FoundRun(record, _read(latest), latest.published_at)
    record = registry.find_run(run_id)
    if record is None:
        raise PlanError(Problem("PLAN_001", f"run {run_id} is not known to the registry", "see `airflow-runtime runs`"))
    if project not in (record.project_id, record.project_name) or period != record.period:
        what = f"run {run_id} is one of {record.project_name}, {record.period}, and not of {project}, {period}"
        raise PlanError(Problem("PLAN_001", what, "give the run's own project and period"))
    if record.staged_until is not None and record.report is not None:
        return FoundRun(record, read_document(Report, dict(record.report)), None)
    own = next((each for each in publications if each.snapshot_sha256 == record.snapshot_sha256), None)
    if own is None:
        what = f"run {run_id} has published nothing: it is {record.status}"
        raise PlanError(Problem("PLAN_001", what, "see `airflow-runtime runs` for runs that succeeded or are staged"))
    latest = publications[0]
    is_replaced = latest.snapshot_sha256 != own.snapshot_sha256
    return FoundRun(record, _read(own), own.published_at, latest if is_replaced else None)


def _say_unpublished(registry: Registry, project: str, period: str) -> Problem:
    staged = [run for run in registry.list_runs(project=project, period=period) if run.status == "staged"]
    hint = f"run it: airflow-runtime run --project {project} --period {period}"
    if staged:
        hint = f"a run is staged; ask about that one with --run {staged[0].run_id}"
    return Problem("PLAN_001", f"nothing is published of {project}, {period}", hint)


def _read(publication: Publication) -> Report:
    # A report of another version does not say what was read.
    unreadable = Report(publication.snapshot_sha256, publication.token, "succeeded")
    return replace(find_document(Report, dict(publication.report)) or unreadable, attempt=publication.token)
