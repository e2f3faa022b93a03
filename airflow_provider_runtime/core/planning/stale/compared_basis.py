"""Whether a run's tables are found elsewhere or otherwise now, and whether its period has other days."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.snapshot.day_of_rows import find_own_day
from airflow_provider_runtime.core.planning.stale.basis import (
    AS_OF,
    PREVIOUS,
    RunBasis,
    TableBasis,
    list_days,
    read_basis,
)
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, ComparedTable, group_by_key
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
    versions = {(str(source["dataset_id"]), str(source["table"])): source.get("version") for source in run.sources}
    tables = group_by_key(project.tables)
    changed_days = _list_changed_days(before, project, period)
    by_calendar: list[SourceColumn] = [make_period_source(name) for name in changed_days]
    reasons, moved = [], set()
    for key, uses in tables.items():
        table = uses[0]
        then, now = before.tables.get(key), sources[key].basis
        if then is None:
            continue
        if changed_days and _takes_other_rows(project, uses, period, then, now, changed_days):
            by_calendar += table.columns
        if not _is_elsewhere(then, now):
            continue
        moved.add(key)
        if then.resolver == now.resolver and set(changed_days) - {AS_OF}:
            by_calendar += table.columns
        elif then.resolver != now.resolver or versions.get(key) in (None, table.pin.version):
            detail = _describe_move(table.use.dataset.model.name, then, now)
            reasons.append(Reason("resolver", detail, project.list_affected(table.columns)))
    reasons += _list_moved_outputs(project, before)
    affected = project.list_affected(by_calendar)
    if affected:
        reasons.append(Reason("calendar", _describe_days(period, before, changed_days), affected))
    return BasisChange(tuple(reasons), frozenset(moved))


def _list_moved_outputs(project: ComparedProject, before: RunBasis) -> Iterator[Reason]:
    for seq, now in project.places.items():
        then = before.outputs.get(str(seq))
        if then is not None and then.place != now.place:
            shown = f"'{now.shown}'" if now.shown == then.shown else f"'{now.shown}', the run's went to '{then.shown}'"
            detail = f"output {seq} goes elsewhere now, or is written otherwise: {shown}"
            yield Reason("resolver", detail, tuple(project.outputs[seq].columns))


def _list_changed_days(before: RunBasis, project: ComparedProject, period: Period) -> list[str]:
    previous = project.index.find_previous(period)
    now = list_days(period.start_date, period.end_date, period.start_date, previous.identifier if previous else "")
    # An older package did not record as of which day a run read: it is taken to be the period's first.
    then = {AS_OF: before.days.get("PERIOD_START"), **before.days}
    return [name for name, value in now.items() if then.get(name, value) != value]


def _takes_other_rows(
    project: ComparedProject,
    uses: Iterable[ComparedTable],
    period: Period,
    then: TableBasis,
    now: TableBasis,
    changed: Collection[str],
) -> bool:
    """Return whether a bitemporal table is read for another day."""
    by_day = [found.use for found in uses if found.use.table.temporal_mode == "bitemporal"]
    by_day = [use for use in by_day if not use.is_read_whole]
    if by_day and then.days != now.days:
        return True
    return AS_OF in changed and any(find_own_day(use, project.index, period) is None for use in by_day)


def _is_elsewhere(then: TableBasis, now: TableBasis) -> bool:
    # Where places are not looked up, another resolver may mean other ones.
    if then.places is None or now.places is None:
        return then.resolver != now.resolver
    return then.places != now.places


def _describe_move(dataset: str, then: TableBasis, now: TableBasis) -> str:
    if then.resolver == now.resolver:
        return f"the datasource or the resolver of '{dataset}' was edited: its data are elsewhere, or read otherwise"
    return f"'{dataset}' is found by resolver {now.resolver}, the run's was {then.resolver}"


def _describe_days(period: Period, before: RunBasis, changed: Sequence[str]) -> str:
    if {"PERIOD_START", "PERIOD_END"} & {*changed}:
        then = f"{before.days.get('PERIOD_START')} to {before.days.get('PERIOD_END')}"
        return f"{period.identifier} is {period.start_date} to {period.end_date} now, for the run it was {then}"
    if AS_OF in changed:
        then = before.days[AS_OF]
        return (
            f"the run read bitemporal tables as of {then}, a run without --as-of reads them as of {period.start_date}"
        )
    return f"the period before {period.identifier} is another one now, for the run it was {before.days[PREVIOUS]}"
