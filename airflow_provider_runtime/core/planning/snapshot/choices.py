"""The parts of a snapshot's document that say which choices were made, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.rules_secrets import find_secret_word, holds_secret
from airflow_provider_runtime.core.model.base import PlainValue
from airflow_provider_runtime.core.model.dataset import list_temporal_columns
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.check.checked import TableUse
from airflow_provider_runtime.core.planning.resolve.resolver_choice import ResolverChoice
from airflow_provider_runtime.core.planning.resolve.tables import ResolvedTable
from airflow_provider_runtime.core.planning.snapshot.day_of_rows import find_own_day
from airflow_provider_runtime.core.planning.snapshot.pinning import Pin
from spark_jobs.contract.plan import TableTrace
from spark_jobs.contract.snapshot import AppendPin, CheckPin, JoinPin, LookupPin, ResolverSnapshot
from spark_jobs.contract.tables import Column, Table, Temporal

HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class TableChoice:
    """All that was chosen for one table."""

    pin: Pin
    resolver: ResolverChoice
    resolved: ResolvedTable


def make_plan_table(choice: TableChoice, index: PeriodIndex, period: Period) -> Table:
    """Return a table as the plan holds it."""
    use = choice.pin.use
    dataset, names = use.dataset.model, use.table.temporal_columns
    return Table(
        role=use.role,
        dataset_id=dataset.id,
        dataset_version=choice.pin.version,
        table=use.table.name,
        columns=_list_columns(use),
        natural_key_columns=dataset.natural_key_columns if use.table == dataset.main_table else (),
        temporal=Temporal(
            mode="snapshot" if use.is_read_whole else use.table.temporal_mode,
            period_column=names.period or "_period",
            from_column=names.from_ or "_period_from",
            to_column=names.to or "_period_to",
        ),
        locations=choice.resolved.locations,
        mark=use.key,
        as_of=find_own_day(use, index, period),
    )


def _list_columns(use: TableUse) -> tuple[Column, ...]:
    """Return the declared columns, and the temporal ones of a table whose rows the join's condition chooses."""
    columns = {column.name: Column(column.name, column.data_type.ddl, column.nullable) for column in use.table.columns}
    if use.is_read_whole:
        for name, data_type in list_temporal_columns(use.table):
            columns.setdefault(name, Column(name, data_type.ddl))
    return tuple(columns.values())


def describe_resolvers(choices: Mapping[str, TableChoice]) -> ResolverSnapshot:
    """Return which version and which resolver every dataset got."""
    source = choices["input"]
    input_id = source.pin.use.dataset.model.id
    return ResolverSnapshot(
        input_dataset_id=input_id,
        input_dataset_version=source.pin.version,
        resolver_id=source.resolver.id,
        resolver_version=source.resolver.version,
        resolver_source=source.resolver.source,
        table_version=source.resolved.version,
        join_datasets=tuple(
            JoinPin(operation_seq=use.operation_seq or 0, alias=use.alias or "", **_describe_pin(choice))
            for use, choice in _list_by_role(choices, "join")
        ),
        append_datasets=tuple(
            AppendPin(operation_seq=use.operation_seq or 0, **_describe_pin(choice))
            for use, choice in _list_by_role(choices, "append")
        ),
        lookup_datasets=tuple(
            LookupPin(alias=use.alias or "", **_describe_pin(choice))
            for use, choice in _list_by_role(choices, "lookup")
            if use.dataset.model.id != input_id
        ),
        check_datasets=tuple(
            CheckPin(operation_seq=use.operation_seq, check=use.alias or "", **_describe_pin(choice))
            for use, choice in _list_by_role(choices, "check")
        ),
    )


def _list_by_role(choices: Mapping[str, TableChoice], role: str) -> Iterator[tuple[TableUse, TableChoice]]:
    return ((choice.pin.use, choice) for choice in choices.values() if choice.pin.use.role == role)


def _describe_pin(choice: TableChoice) -> dict[str, Any]:
    return {
        "dataset_id": choice.pin.use.dataset.model.id,
        "dataset_version": choice.pin.version,
        "resolver_id": choice.resolver.id,
        "resolver_version": choice.resolver.version,
        "resolver_source": choice.resolver.source,
        "table_version": choice.resolved.version,
    }


def describe_choice(choice: TableChoice) -> TableTrace:
    """Return the reasons of a table's choices."""
    resolved = choice.resolved
    return TableTrace(
        dataset=choice.pin.registered_name or choice.pin.use.dataset.model.name,
        version=f"{choice.pin.version} ({choice.pin.reason})",
        resolver_id=choice.resolver.id,
        resolver=choice.resolver.description,
        rules=resolved.rules,
        data_level=resolved.data_level,
        periods=tuple(resolved.periods),
    )


def hide_secrets(raw: PlainValue) -> PlainValue:
    """Return a project as it was written, without secrets in its airflow block, which passes anything to Spark."""
    if not isinstance(raw, dict) or "airflow" not in raw:
        return raw
    return {**raw, "airflow": _hide(raw["airflow"])}


def _hide(value: PlainValue) -> PlainValue:
    if isinstance(value, list):
        return [_hide(entry) for entry in value]
    if not isinstance(value, dict):
        return HIDDEN if isinstance(value, str) and holds_secret(value) else value
    return {
        key: HIDDEN if find_secret_word(key) and not isinstance(entry, dict | list) else _hide(entry)
        for key, entry in value.items()
    }
