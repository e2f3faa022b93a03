"""The built-in resolver `registry`: the slices of a registered dataset's version that hold a period."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.errors import DataError, Place, Problem
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.resolve.tables import ResolvedTable
from airflow_provider_runtime.core.registry.ports import DatasetVersion, SliceRecord
from airflow_provider_runtime.core.suggest import list_names
from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.plan import RuleTrace
from spark_jobs.contract.tables import Location, RegisteredSlice


def locate_slices(
    version: DatasetVersion, index: PeriodIndex, period: Period, place: Place, dataset: Dataset
) -> ResolvedTable:
    """Return the locations of a period's slices: its own, else its children's, else its parent's."""
    chosen, reason = _choose(version, index, period)
    if not chosen and dataset.on_missing == "empty":
        return ResolvedTable((), (RuleTrace("registry", True, f"version {version.version} holds no such period"),))
    if not chosen:
        held = list_names(sorted(found.period for found in version.slices))
        message = f"dataset '{version.name}' version {version.version} holds no data for {period.identifier}"
        raise DataError(Problem("DATA_001", message, f"it holds {held}" if held else "it is empty", place))
    if dataset.requires_all_periods and (missing := _list_missing(chosen, index, period)):
        message = (
            f"dataset '{version.name}' version {version.version} holds {period.identifier} in part only:"
            f" {list_names(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
        raise DataError(Problem("DATA_001", message, "run the project that registers it for these periods", place))
    locations = tuple(_make_location(found) for found in chosen)
    periods = tuple(found.period for found in chosen)
    traced = RuleTrace("registry", True, f"version {version.version} of '{version.name}': {reason}")
    return ResolvedTable(locations, (traced,), None, periods)


def _list_missing(chosen: Sequence[SliceRecord], index: PeriodIndex, period: Period) -> list[str]:
    """Return the finer periods of which others make up a period and that are not held."""
    held = {found.period for found in chosen}
    first = index.find_period(chosen[0].period)
    if first is None or not index.is_finer(first.level, period.level):
        return []
    return [child.identifier for child in index.list_children(period, first.level) if child.identifier not in held]


def _choose(version: DatasetVersion, index: PeriodIndex, period: Period) -> tuple[list[SliceRecord], str]:
    by_period = {found.period: found for found in version.slices}
    chosen, reason = choose_slice_periods(by_period, index, period)
    return [by_period[identifier] for identifier in chosen], reason


def choose_slice_periods(held: Iterable[str], index: PeriodIndex, period: Period) -> tuple[list[str], str]:
    """Return which of the periods that a version holds make up a period, and why."""
    identifiers = set(held)
    if period.identifier in identifiers:
        return [period.identifier], "the version holds a slice of this period"
    known = [found for identifier in identifiers if (found := index.find_period(identifier))]
    for level in index.levels[index.levels.index(period.level) + 1 :]:
        children = [
            child for child in known if child.level == level and index.find_parent(child, period.level) == period
        ]
        if children:
            ordered = sorted(children, key=lambda child: child.start_date)
            return [child.identifier for child in ordered], f"the version holds slices of the level {level}"
    for level in reversed(index.levels[: index.levels.index(period.level)]):
        parent = index.find_parent(period, level)
        if parent and parent.identifier in identifiers:
            return [parent.identifier], f"the version holds a slice of the {level}"
    return [], ""


def _make_location(found: SliceRecord) -> Location:
    columns = tuple(column["name"] for column in found.definition.get("main_table", {}).get("columns", ()))
    return Location(
        kind="files",
        format="parquet",
        uri=escape_pattern(found.uri),
        period=found.period,
        columns=columns,
        registered=RegisteredSlice(found.rows, found.content),
    )
