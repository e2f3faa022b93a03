"""Whether a run's tables are found elsewhere or otherwise now, and whether its period has other days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.stale.basis import RunBasis, TableBasis, list_days, read_basis
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, ComparedTable
from airflow_provider_runtime.core.planning.stale.past import list_sources
from airflow_provider_runtime.core.planning.stale.plan import Reason
from airflow_provider_runtime.core.planning.stale.signatures import SourceColumn, make_period_source
from airflow_provider_runtime.core.planning.stale.sources import Source
from airflow_provider_runtime.core.registry.ports import RunRecord


@dataclass(frozen=True, slots=True)
class BasisChange:
    """What has changed beside definitions and files."""

    reasons: tuple[Reason, ...] = ()
    moved: frozenset[tuple[str, str]] = frozenset()
    """Tables that are read elsewhere now: their files are others because of it."""


def compare_basis(
    project: ComparedProject, period: Period, run: RunRecord, sources: Mapping[tuple[str, str], Source]
) -> BasisChange:
    """Return the reasons of the kinds resolver and calendar."""
    before = read_basis(run.basis)
    if before is None:
        return BasisChange()
    versions = {
        (str(source["dataset_id"]), str(source["table"])): source.get("version") for source in list_sources(run)
    }
    tables = {table.key: table for table in project.tables}
    changed_days = _list_changed_days(before, period)
    by_calendar: list[SourceColumn] = [make_period_source(name) for name in changed_days]
    reasons, moved = [], set()
    for key, table in tables.items():
        then, now = before.tables.get(key), sources[key].basis
        if then is None:
            continue
        if changed_days and _takes_other_rows(table, then, now, changed_days):
            by_calendar += table.columns
        if not _is_elsewhere(then, now):
            continue
        moved.add(key)
        if then.resolver == now.resolver and changed_days:
            by_calendar += table.columns
        elif then.resolver != now.resolver or versions.get(key) in (None, table.pin.version):
            detail = _describe_move(table.use.dataset.model.name, then, now)
            reasons.append(Reason("resolver", detail, project.list_affected(table.columns)))
    affected = project.list_affected(by_calendar)
    if affected:
        reasons.append(Reason("calendar", _describe_days(period, before), affected))
    return BasisChange(tuple(reasons), frozenset(moved))


def _list_changed_days(before: RunBasis, period: Period) -> list[str]:
    now = list_days(period.start_date, period.end_date)
    return [name for name, value in now.items() if before.days.get(name, value) != value]


def _takes_other_rows(table: ComparedTable, then: TableBasis, now: TableBasis, changed: list[str]) -> bool:
    """Return whether a bitemporal table is read for another day."""
    if table.use.table.temporal_mode != "bitemporal" or table.use.is_read_whole:
        return False
    return then.days != now.days or (table.use.as_of is None and "PERIOD_START" in changed)


def _is_elsewhere(then: TableBasis, now: TableBasis) -> bool:
    # Where nobody is asked for places, another resolver may mean other ones.
    if then.places is None or now.places is None:
        return then.resolver != now.resolver
    return then.places != now.places


def _describe_move(dataset: str, then: TableBasis, now: TableBasis) -> str:
    if then.resolver == now.resolver:
        return f"the datasource or the resolver of '{dataset}' was edited: its data are elsewhere, or read otherwise"
    return f"'{dataset}' is found by resolver {now.resolver}, the run's was {then.resolver}"


def _describe_days(period: Period, before: RunBasis) -> str:
    then = f"{before.days.get('PERIOD_START')} to {before.days.get('PERIOD_END')}"
    return f"{period.identifier} is {period.start_date} to {period.end_date} now, for the run it was {then}"
