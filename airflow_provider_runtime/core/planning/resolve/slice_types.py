"""Slices of a registered dataset that its next version could not read: a type may widen, and nothing else."""

from __future__ import annotations

from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.schema import INTEGER_DIGITS, Column, DataType
from airflow_provider_runtime.core.registry.ports import DatasetVersion, SliceRecord
from airflow_provider_runtime.core.suggest import list_names


def list_unreadable_slices(dataset: Dataset, latest: DatasetVersion, period: str, place: Place) -> list[Problem]:
    """Return a problem for each column whose type does not hold what the slices of other periods have in it."""
    kept = [(found.period, _read_types(found)) for found in latest.slices if found.period != period]
    problems = []
    for column in dataset.main_table.columns:
        periods: dict[DataType, list[str]] = {}
        for identifier, earlier in kept:
            type_ = earlier.get(column.name)
            if type_ is not None and not holds(column.data_type, type_):
                periods.setdefault(type_, []).append(identifier)
        for type_, identifiers in periods.items():
            what = f"column '{column.name}' of the dataset '{dataset.name}' would be {column.data_type}"
            message = f"{what}, which cannot hold the {type_} of its slices of {list_names(sorted(identifiers))}"
            hint = f"keep {type_} or a wider type, or register the rows as a dataset of another name"
            problems.append(Problem("OUTPUT_002", message, hint, place))
    return problems


def _read_types(found: SliceRecord) -> dict[str, DataType]:
    declared = found.definition.get("main_table", {}).get("columns", ())
    columns = [Column.model_validate(column) for column in declared]
    return {column.name: column.data_type for column in columns}


def holds(new: DataType, old: DataType) -> bool:
    """Return whether every value of the old type is one of the new type, digit for digit."""
    if new == old:
        return True
    if new.kind != "decimal" or old.kind not in ("decimal", "integer"):
        return False
    whole, places = (old.precision - old.scale, old.scale) if old.kind == "decimal" else (INTEGER_DIGITS, 0)
    return new.precision - new.scale >= whole and new.scale >= places
