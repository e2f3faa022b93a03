"""A project's present definition, with which the runs of its periods are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject, TableUse
from airflow_provider_runtime.core.planning.resolve.resolver_choice import ResolverChoice
from airflow_provider_runtime.core.planning.snapshot.pinning import Pin
from airflow_provider_runtime.core.planning.stale.basis import OutputBasis
from airflow_provider_runtime.core.planning.stale.signatures import OutputSignature, SourceColumn


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table that a project reads, as it would be pinned now."""

    use: TableUse
    pin: Pin
    choice: ResolverChoice

    @property
    def key(self) -> tuple[str, str]:
        """How a report names the table."""
        return self.use.dataset.model.id, self.use.table.name

    @property
    def columns(self) -> list[SourceColumn]:
        """Its columns, and which rows it has."""
        dataset, table = self.key
        return [SourceColumn(dataset, table), *(SourceColumn(dataset, table, c.name) for c in self.use.table.columns)]

    def has_only(self, names: Sequence[str]) -> bool:
        """Return whether all of its columns are among these."""
        return all(column.name in names for column in self.use.table.columns)


@dataclass(frozen=True, slots=True)
class ComparedProject:
    """A project's present definition, with which the runs of its periods are compared."""

    definition: Definition[Project]
    checked: CheckedProject
    index: PeriodIndex
    outputs: Mapping[int, OutputSignature]
    tables: tuple[ComparedTable, ...]
    places: Mapping[int, OutputBasis] = field(default_factory=dict)
    """Where the outputs go; empty for a draft, whose runs say where that is."""

    @property
    def id(self) -> str:
        """The project's id."""
        return self.definition.model.id

    @property
    def name(self) -> str:
        """The project's name."""
        return self.definition.model.name

    def list_affected(self, changed: Iterable[SourceColumn]) -> tuple[str, ...]:
        """Return the columns of its outputs that depend on source columns."""
        found = list(changed)
        return merge_names(output.list_affected(found) for output in self.outputs.values())


def group_by_key(tables: Iterable[ComparedTable]) -> dict[tuple[str, str], list[ComparedTable]]:
    """Return the uses of each table."""
    found: dict[tuple[str, str], list[ComparedTable]] = {}
    for table in tables:
        found.setdefault(table.key, []).append(table)
    return found


def merge_names(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the names of all groups once each, in order."""
    return tuple(dict.fromkeys(name for group in groups for name in group))
