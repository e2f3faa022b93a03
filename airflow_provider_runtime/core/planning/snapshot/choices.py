"""The parts of a snapshot's document that tell which choices were made, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.core.catalog.rules_secrets import find_secret_word, holds_secret
from airflow_provider_runtime.core.model.base import PlainValue
from airflow_provider_runtime.core.model.plan import PlanColumn, PlanTable, PlanTemporal
from airflow_provider_runtime.core.planning.resolve.resolver_choice import ResolverChoice
from airflow_provider_runtime.core.planning.resolve.tables import ResolvedTable
from airflow_provider_runtime.core.planning.snapshot.pinning import Pin
from airflow_provider_runtime.core.registry.ports import UsedDefinition

HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class TableChoice:
    """All that was chosen for one table."""

    pin: Pin
    resolver: ResolverChoice
    resolved: ResolvedTable


def make_plan_table(choice: TableChoice) -> PlanTable:
    """Return a table as the plan holds it."""
    use = choice.pin.use
    dataset, names = use.dataset.model, use.table.temporal_columns
    return PlanTable(
        role=use.role,
        dataset_id=dataset.id,
        dataset_version=choice.pin.version,
        table=use.table.name,
        columns=tuple(
            PlanColumn(name=column.name, type=column.data_type.ddl, nullable=column.nullable)
            for column in use.table.columns
        ),
        natural_key_columns=dataset.natural_key_columns if use.table == dataset.main_table else (),
        temporal=PlanTemporal(
            mode=use.table.temporal_mode,
            period_column=names.period or "_period",
            from_column=names.from_ or "_period_from",
            to_column=names.to or "_period_to",
        ),
        locations=choice.resolved.locations,
        mark=use.key,
    )


def describe_resolvers(choices: Mapping[str, TableChoice]) -> dict[str, Any]:
    """Return which version and which resolver every dataset got."""
    source = _describe_pin(choices["input"])
    return {
        "input_dataset_id": source.pop("dataset_id"),
        "input_dataset_version": source.pop("dataset_version"),
        **source,
        "join_datasets": [
            {"operation_seq": c.pin.use.operation_seq, "alias": c.pin.use.alias, **_describe_pin(c)}
            for c in _list_by_role(choices, "join")
        ],
        "append_datasets": [
            {"operation_seq": c.pin.use.operation_seq, **_describe_pin(c)} for c in _list_by_role(choices, "append")
        ],
        "lookup_datasets": [
            {"alias": c.pin.use.alias, **_describe_pin(c)}
            for c in _list_by_role(choices, "lookup")
            if c.pin.use.dataset.model.id != choices["input"].pin.use.dataset.model.id
        ],
        "check_datasets": [
            {"operation_seq": c.pin.use.operation_seq, "check": c.pin.use.alias, **_describe_pin(c)}
            for c in _list_by_role(choices, "check")
        ],
    }


def _list_by_role(choices: Mapping[str, TableChoice], role: str) -> Iterator[TableChoice]:
    return (choice for choice in choices.values() if choice.pin.use.role == role)


def _describe_pin(choice: TableChoice) -> dict[str, Any]:
    return {
        "dataset_id": choice.pin.use.dataset.model.id,
        "dataset_version": choice.pin.version,
        "resolver_id": choice.resolver.id,
        "resolver_version": choice.resolver.version,
        "resolver_source": choice.resolver.source,
    }


def describe_choice(choice: TableChoice) -> dict[str, Any]:
    """Return the reasons of a table's choices."""
    resolved = choice.resolved
    return {
        "dataset": choice.pin.use.dataset.model.name,
        "version": f"{choice.pin.version} ({choice.pin.reason})",
        "resolver": f"{choice.resolver.id} version {choice.resolver.version} ({choice.resolver.source})",
        "rules": [{"name": rule.name, "matched": rule.matched, "reason": rule.reason} for rule in resolved.rules],
        "data_level": resolved.data_level,
        "periods": list(resolved.periods),
    }


def describe_definition(found: UsedDefinition) -> dict[str, Any]:
    """Return a definition with the digest that it had when it was used."""
    return {"kind": found.kind, "id": found.id, "version": found.version, "digest": found.digest}


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
