"""What the registry knows of the runs of each project and period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_runtime.core.registry.ports import RunRecord


@dataclass(frozen=True, slots=True)
class PastRuns:
    """The latest run of each project and period, and the one whose rows readers see."""

    latest: Mapping[tuple[str, str], RunRecord] = field(default_factory=dict)
    published: Mapping[tuple[str, str], RunRecord] = field(default_factory=dict)

    def list_periods(self, project_id: str) -> list[str]:
        """Return the periods that a project was run for."""
        return [period for project, period in self.latest if project == project_id]


def collect_past_runs(runs: Iterable[RunRecord]) -> PastRuns:
    """Return what runs have recorded, given the latest first."""
    latest: dict[tuple[str, str], RunRecord] = {}
    published: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        key = (run.project_id, run.period)
        latest.setdefault(key, run)
        known = published.get(key)
        if run.published_at is not None and (
            known is None or run.published_at > (known.published_at or run.published_at)
        ):
            published[key] = run
    return PastRuns(latest, published)
