"""The last results of a project's checks for each period, and who has overridden failing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.core.registry.ports import Override, Registry, RunRecord
from airflow_provider_runtime.core.run_timestamps import format_timestamp

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PeriodChecks:
    """The results of a period's last checks, and the overrides that were given for it."""

    project: str
    period: str
    run: RunRecord | None
    checks: Sequence[Document]
    overrides: Sequence[Override]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON's own kinds of values."""
        run = self.run
        return {
            "project": self.project,
            "period": self.period,
            "run_id": None if run is None else run.run_id,
            "status": None if run is None else run.status,
            "finished_at": None if run is None or run.finished_at is None else format_timestamp(run.finished_at),
            "checks": [{key: value for key, value in entry.items() if key != "recorded"} for entry in self.checks],
            "overrides": [_describe_override(entry) for entry in self.overrides],
        }


def list_last_checks(registry: Registry, project: str, period: str | None = None) -> list[PeriodChecks]:
    """Return the last results of each period, in the order of the periods' identifiers."""
    runs = registry.list_runs(project=project, period=period)
    found: dict[str, RunRecord] = {}
    for run in runs:
        if run.period not in found and (run.report or {}).get("checks"):
            found[run.period] = run
    known = runs or registry.list_runs(project=project, limit=1)
    overrides = registry.list_overrides(known[0].project_id, period) if known else []
    name = known[0].project_name if known else project
    periods = sorted({*found, *(entry.period for entry in overrides)})
    return [_gather(name, identifier, found.get(identifier), overrides) for identifier in periods]


def _gather(project: str, period: str, run: RunRecord | None, overrides: Sequence[Override]) -> PeriodChecks:
    checks = () if run is None or run.report is None else run.report.get("checks") or ()
    return PeriodChecks(project, period, run, checks, [entry for entry in overrides if entry.period == period])


def _describe_override(entry: Override) -> dict[str, Any]:
    return {
        "check": entry.check,
        "who": entry.who,
        "when": format_timestamp(entry.at),
        "why": entry.reason,
        "withdrawn_by": entry.withdrawn_by,
        "withdrawn_at": None if entry.withdrawn_at is None else format_timestamp(entry.withdrawn_at),
        "withdrawn_why": entry.withdrawn_reason,
    }
