"""What the registry knows that checks depend on: values of earlier publications, and who lets a check pass."""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.check.checked import CheckedCheck, CheckedProject
from airflow_provider_runtime.core.registry.ports import Publication, Registry
from airflow_provider_runtime.core.run_timestamps import format_timestamp
from spark_jobs.contract.checks import Baseline, CheckResult, Override
from spark_jobs.contract.documents import find_document


def find_baselines(
    registry: Registry | None, checked: CheckedProject, index: PeriodIndex, period: Period
) -> dict[str, Baseline]:
    """Return what the publications that `change` compares with have recorded, by the checks' names."""
    wanted = {check.name: (check, check.change.since) for check in checked.checks if check.change is not None}
    if registry is None or not wanted:
        return {}
    previous = index.find_previous(period)
    periods = {"last_publication": period, "previous_period": previous}
    project_id = checked.definition.model.id
    published = {
        since: _find_publication(registry, project_id, periods[since])
        for since in dict.fromkeys(since for _, since in wanted.values())
    }
    found = {name: _read_baseline(published[since], check) for name, (check, since) in wanted.items()}
    return {name: baseline for name, baseline in found.items() if baseline is not None}


def find_overrides(
    registry: Registry | None, names: Collection[str], project_id: str, period: Period
) -> tuple[Override, ...]:
    """Return the permissions that hold for these checks of a period."""
    if registry is None or not names:
        return ()
    return tuple(
        Override(
            check=entry.check,
            who=entry.who,
            at=format_timestamp(entry.at),
            reason=entry.reason,
            number=entry.number,
        )
        for entry in registry.list_overrides(project_id, period.identifier)
        if entry.withdrawn_at is None and entry.check in names
    )


def _find_publication(registry: Registry, project_id: str, period: Period | None) -> Publication | None:
    if period is None:
        return None
    found = registry.list_publications(project_id, period.identifier, limit=1)
    return found[0] if found else None


def _read_baseline(publication: Publication | None, check: CheckedCheck) -> Baseline | None:
    """Return what a check has recorded; None also where a check of that name was one of another form."""
    recorded = [] if publication is None else [entry for entry in publication.checks if entry.get("name") == check.name]
    result = find_document(CheckResult, recorded[0]) if recorded else None
    if publication is None or result is None or result.kind != "value":
        return None
    if not check.group_by and (result.groups or result.recorded):
        return None
    return Baseline(run_id=publication.run_id, period=publication.period, value=result.value, groups=result.recorded)
