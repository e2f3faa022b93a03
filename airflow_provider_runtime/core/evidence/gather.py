"""The evidence of a project's period: who published what from which versions, checked how, and what followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.plan import Entry, Plan, Work
from airflow_provider_runtime.core.registry.ports import Approval, PeriodRecord, Publication, Registry, RunRecord
from airflow_provider_runtime.core.run_timestamps import format_timestamp
from airflow_provider_runtime.core.runs.approval import find_answer
from spark_jobs.contract.snapshot import DatasetPin, Snapshot

Document = Mapping[str, Any]
MOST_IN_HISTORY = 50
KEYS = {
    "sources": ("table", "dataset_id", "version", "files", "bytes", "fingerprint"),
    "operations": ("seq", "type", "name", "rows_affected", "rows_after", "seconds", "computed_with", "joins"),
    "outputs": ("seq", "destination", "rows", "columns", "registered_dataset", "registered_version"),
    "checks": (
        "name", "output", "kind", "on_fail", "status", "rows", "failing_rows", "value", "expected", "difference",
        "groups", "failing_rows_uri", "message", "override",
    ),
}  # fmt: skip
"""What evidence shows of each part of a report; samples of rows stay out of it."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run that the evidence is of: the one that published, else the latest."""

    run_id: str
    status: str
    who: str | None
    started_at: str
    finished_at: str | None
    published_at: str | None
    project_version: int
    attempt: int
    snapshot_sha256: str
    error: Document | None


@dataclass(frozen=True, slots=True)
class LatestRun:
    """A run after the publication that readers see: it failed, is at work, or waits for a decision."""

    run: Run
    outputs: Sequence[Document]
    checks: Sequence[Document]
    comparison: Document | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Staged rows that wait for a decision."""

    run_id: str
    preparer: str | None
    needs_approval: bool
    approvers: Sequence[str]
    kept_until: str | None
    decision: Document | None
    """What was decided on these very rows."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a project's period."""

    project: str
    period: str
    calendar: str
    level: str
    state: str
    status: str
    reasons: Sequence[Document]
    run: Run | None
    latest: LatestRun | None
    waiting: Waiting | None
    project_version: int | None
    as_of: str | None
    pins: Sequence[Document]
    sources: Sequence[Document]
    operations: Sequence[Document]
    outputs: Sequence[Document]
    checks: Sequence[Document]
    overrides: Sequence[Document]
    permissions: Sequence[Document]
    """The checks that runs which are resolved now let fail."""
    comparison: Document | None
    approval: Document | None
    deadline: Document | None
    history: Sequence[Document]
    status_history: Sequence[Document]
    downstream: Sequence[Document] | None
    """None where it is unknown, since other projects could not be looked at."""
    gathered_at: str

    def to_document(self) -> dict[str, Any]:
        """Return the evidence as JSON."""
        return asdict(self)


def gather_evidence(
    registry: Registry,
    plan: Plan,
    work: Work,
    calendar: str,
    level: str,
    snapshots: RunSnapshots,
    due: datetime | None = None,
) -> Evidence:
    """Return the evidence of the publication that readers see, else of the latest run; with when it was due."""
    entry = next((found for found in plan.entries if found.work == work), None)
    runs = registry.list_runs(project=work.project, period=work.period, limit=MOST_IN_HISTORY)
    shown = find_published(runs) or next(iter(runs), None)
    snapshot = snapshots.find(shown) if shown is not None else None
    report: Document = (shown.report if shown is not None else None) or {}
    latest = runs[0] if runs else None
    period = registry.get_period(calendar, work.period)
    return Evidence(
        project=work.project,
        period=work.period,
        calendar=calendar,
        level=level,
        state=entry.state if entry is not None else "missing",
        status=entry.status if entry is not None else period.status,
        reasons=[asdict(reason) for reason in entry.reasons] if entry is not None else [],
        run=_describe_run(shown) if shown is not None else None,
        latest=_describe_latest(latest) if latest is not None and latest is not shown else None,
        waiting=_describe_waiting(registry, latest, snapshots) if latest is not None else None,
        project_version=shown.project_version if shown is not None else None,
        as_of=snapshot.as_of.isoformat() if snapshot is not None else None,
        pins=list_pins(snapshot) if snapshot is not None else [],
        sources=_pick(report, "sources"),
        operations=_pick(report, "operations"),
        outputs=_list_outputs(report),
        checks=_pick(report, "checks"),
        overrides=[asdict(found) for found in snapshot.overrides] if snapshot is not None else [],
        permissions=_list_permissions(registry, latest, work.period) if latest is not None else [],
        comparison=_describe_comparison(report),
        approval=_describe_approval(_find_last_answer(registry, shown)) if shown is not None else None,
        deadline=_describe_deadline(due, runs) if due is not None else None,
        history=_list_publications(registry, work, runs),
        status_history=_list_changes(period),
        downstream=_list_downstream(plan, work) if plan.scope.project is None else None,
        gathered_at=_format(datetime.now(UTC)) or "",
    )


def find_published(runs: Iterable[RunRecord]) -> RunRecord | None:
    """Return the run whose rows readers see: of those that published, the one that did so last."""
    published = [run for run in runs if run.published_at is not None]
    return max(published, key=lambda run: run.published_at or run.started_at, default=None)


def list_pins(snapshot: Snapshot) -> list[Document]:
    """Return which version of which dataset a snapshot reads for what, and through which resolver."""
    pins = snapshot.resolver_snapshot
    names = _name_datasets(snapshot)
    first = DatasetPin(
        dataset_id=pins.input_dataset_id,
        dataset_version=pins.input_dataset_version,
        resolver_id=pins.resolver_id,
        resolver_version=pins.resolver_version,
        resolver_source=pins.resolver_source,
        table_version=pins.table_version,
    )
    used: list[tuple[str, DatasetPin]] = [("input", first)]
    used += [(f"lookup {pin.alias}", pin) for pin in pins.lookup_datasets]
    used += [(f"join {pin.alias} of operation {pin.operation_seq}", pin) for pin in pins.join_datasets]
    used += [(f"append of operation {pin.operation_seq}", pin) for pin in pins.append_datasets]
    used += [(f"check {pin.check}", pin) for pin in pins.check_datasets]
    return [
        {
            "used_by": used_by,
            "dataset": names.get(pin.dataset_id, pin.dataset_id),
            "version": pin.dataset_version,
            "table_version": pin.table_version,
            "resolver": f"{pin.resolver_id} version {pin.resolver_version}",
        }
        for used_by, pin in used
    ]


def _name_datasets(snapshot: Snapshot) -> dict[str, str]:
    """Return the names of datasets by id: the id of a registered one is computed, and means nothing to people."""
    trace = snapshot.plan.settings.trace
    return {table.dataset_id: trace[key].dataset for key, table in snapshot.plan.tables.items() if key in trace}


def _describe_run(run: RunRecord) -> Run:
    return Run(
        run_id=run.run_id,
        status=run.status,
        who=run.who or None,
        started_at=_format(run.started_at) or "",
        finished_at=_format(run.finished_at),
        published_at=_format(run.published_at),
        project_version=run.project_version,
        attempt=run.attempt,
        snapshot_sha256=run.snapshot_sha256,
        error=run.error,
    )


def _describe_latest(run: RunRecord) -> LatestRun:
    report: Document = run.report or {}
    checks, comparison = _pick(report, "checks"), _describe_comparison(report)
    return LatestRun(_describe_run(run), _list_outputs(report), checks, comparison)


def _describe_waiting(registry: Registry, run: RunRecord, snapshots: RunSnapshots) -> Waiting | None:
    if not run.is_waiting(datetime.now(UTC)):
        return None
    snapshot = snapshots.find(run)
    settings = snapshot.plan.settings.publication if snapshot is not None else None
    return Waiting(
        run_id=run.run_id,
        preparer=run.who or None,
        needs_approval=settings is not None and settings.needs_approval,
        approvers=[name for name in settings.by if name != run.who] if settings is not None else [],
        kept_until=_format(run.staged_until),
        decision=_describe_approval(find_answer(registry, run)),
    )


def _list_permissions(registry: Registry, run: RunRecord, period: str) -> list[Document]:
    return [
        {"check": found.check, "who": found.who, "reason": found.reason, "at": _format(found.at)}
        for found in registry.list_overrides(run.project_id, period)
        if found.withdrawn_at is None
    ]


def _pick(report: Document, part: str) -> list[Document]:
    """Return the entries of a part of a report, with all keys: reports of older packages have fewer."""
    return [{key: entry.get(key) for key in KEYS[part]} for entry in report.get(part) or ()]


def _describe_comparison(report: Document) -> Document | None:
    """Return the comparison with what was published before, without its sample of rows."""
    comparison: Document | None = report.get("comparison")
    if comparison is None:
        return None
    outputs = [{key: value for key, value in output.items() if key != "sample"} for output in comparison["outputs"]]
    return {**comparison, "outputs": outputs}


def _list_outputs(report: Document) -> list[Document]:
    """Return the outputs with their totals; of an Iceberg or Delta table, with the version that was committed."""
    versions = [(entry.get("table") or {}).get("version") for entry in report.get("outputs") or ()]
    listed = zip(_pick(report, "outputs"), versions, strict=True)
    totals = _find_totals(report)
    return [{**output, "table_version": version, "totals": totals.get(output["seq"], {})} for output, version in listed]


def _find_totals(report: Document) -> dict[int, dict[str, str]]:
    """Return the values that checks have measured, by output; those of groups stand with the check."""
    found: dict[int, dict[str, str]] = {}
    for check in report.get("checks") or ():
        if check.get("kind") == "value" and check.get("value") is not None:
            found.setdefault(check["output"], {})[check["name"]] = check["value"]
    return found


def _list_publications(registry: Registry, work: Work, runs: Iterable[RunRecord]) -> list[Document]:
    """Return what was published, the latest first: a run that is executed again publishes again."""
    by_digest = {run.snapshot_sha256: run for run in runs}
    return [
        _describe_publication(found, by_digest.get(found.snapshot_sha256))
        for found in registry.list_publications(work.project, work.period, limit=MOST_IN_HISTORY)
    ]


def _describe_publication(publication: Publication, run: RunRecord | None) -> Document:
    outputs, totals = _pick(publication.report, "outputs"), _find_totals(publication.report)
    shown = ("seq", "destination", "rows")
    return {
        "run_id": publication.run_id,
        "published_at": _format(publication.published_at),
        "who": run.who or None if run is not None else None,
        "project_version": run.project_version if run is not None else None,
        "rows": sum(output["rows"] or 0 for output in outputs),
        "outputs": [{**{key: out[key] for key in shown}, "totals": totals.get(out["seq"], {})} for out in outputs],
    }


def _describe_approval(answer: Approval | None) -> Document | None:
    if answer is None:
        return None
    return {
        "decision": answer.decision,
        "who": answer.approver,
        "preparer": answer.preparer,
        "at": _format(answer.at),
        "comment": answer.comment or None,
    }


def _find_last_answer(registry: Registry, run: RunRecord) -> Approval | None:
    return next(reversed(registry.list_approvals(run.run_id)), None)


def _describe_deadline(due: datetime, runs: Iterable[RunRecord]) -> Document:
    """Return whether the first publication came late, or is still missing when it was due."""
    first = min((run.published_at for run in runs if run.published_at is not None), default=None)
    return {"due": _format(due), "is_late": (first or datetime.now(UTC)) > due}


def _list_changes(period: PeriodRecord) -> list[Document]:
    return [
        {"status": change.status, "who": change.who, "reason": change.reason, "at": _format(change.at)}
        for change in reversed(period.history)
    ]


def _list_downstream(plan: Plan, work: Work) -> list[Document]:
    """Return what depends on a period, directly or through others."""
    reached: dict[Work, Entry] = {}
    sources = {work}
    # Entries are in run order, so that what is between two others is met before the second.
    for entry in plan.entries:
        if sources & set(entry.depends_on):
            sources.add(entry.work)
            reached[entry.work] = entry
    return [{"project": found.project, "period": found.period, "state": reached[found].state} for found in reached]


def _format(moment: datetime | None) -> str | None:
    return None if moment is None else format_timestamp(moment)
