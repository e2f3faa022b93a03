"""The working dataset's schema while the check walks through the operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_runtime.core.expr.datatypes import common_type
from airflow_provider_runtime.core.expr.scope import Relation, ScopeColumn
from airflow_provider_runtime.core.model.dataset import Table
from airflow_provider_runtime.core.model.schema import NULL, DataType
from airflow_provider_runtime.core.planning.check.checked import Path, WorkingColumn
from airflow_provider_runtime.core.planning.check.system_columns import list_system_columns

ContributionKey = tuple[int, Path]
"""Distinguishes a contribution from others, the same in every pass."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """A value that an operation puts into an added column."""

    type: DataType
    reads: frozenset[str]
    index: int
    path: Path

    @property
    def key(self) -> ContributionKey:
        """The operation's index, and the path in it."""
        return self.index, self.path


@dataclass(frozen=True, slots=True)
class SettledTypes:
    """What an earlier pass knows: the types of added columns, and which values are computed from their own column."""

    types: Mapping[str, DataType] = field(default_factory=dict)
    recursive: Mapping[tuple[str, ContributionKey], DataType] = field(default_factory=dict)
    """By column and key: the type that such a value had in the first pass."""


@dataclass(slots=True)
class WorkingSchema:
    """Columns by name, what was put into the added ones, and the names whose type a mistake has made unknown."""

    table_name: str
    system: dict[str, WorkingColumn]
    declared: dict[str, WorkingColumn] = field(default_factory=dict)
    added: dict[str, WorkingColumn] = field(default_factory=dict)
    settled: SettledTypes = field(default_factory=SettledTypes)
    contributions: dict[str, list[Contribution]] = field(default_factory=dict)
    poisoned: set[str] = field(default_factory=set)
    conflicts: set[str] = field(default_factory=set)
    """Added columns whose values of more than one type have been reported."""
    widened: bool = False
    _relation: Relation | None = None
    _lowered: dict[str, str] | None = None
    """Names by lower case."""

    @classmethod
    def start(cls, table: Table, settled: SettledTypes | None = None) -> WorkingSchema:
        """Return the schema before the first operation."""
        system = {column.name: column for column in list_system_columns(table.temporal_mode)}
        declared = {
            column.name: WorkingColumn(column.name, column.data_type, column.nullable, "declared")
            for column in table.columns
        }
        return cls(table.name, system, declared, settled=settled or SettledTypes())

    @property
    def columns(self) -> tuple[WorkingColumn, ...]:
        """All columns whose type is known: declared, added in order, system."""
        return (*self.declared.values(), *self.added.values(), *self.system.values())

    @property
    def relation(self) -> Relation:
        """The columns as expressions see them."""
        if self._relation is None:
            columns = {column.name: ScopeColumn(column.type, column.nullable) for column in self.columns}
            self._relation = Relation(self.table_name, "working", columns)
        return self._relation

    def find(self, name: str) -> WorkingColumn | None:
        """Return a column by its exact name."""
        return self.declared.get(name) or self.added.get(name) or self.system.get(name)

    def knows(self, name: str) -> bool:
        """Whether a column is there, be its type known or not."""
        return name in self.poisoned or self.find(name) is not None

    def names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def find_case_twin(self, name: str) -> str | None:
        """Return a column whose name differs from this one in case only."""
        if self._lowered is None:
            known = (*self.declared, *self.added, *self.system, *sorted(self.poisoned))
            self._lowered = {other.lower(): other for other in reversed(known)}
        other = self._lowered.get(name.lower())
        return None if other == name else other

    def poison(self, name: str) -> None:
        """Remember that a column exists, but that a mistake hides its type."""
        if self.find(name) is None:
            self.poisoned.add(name)
            self._lowered = None

    def contribute(self, name: str, contribution: Contribution) -> bool:
        """Put a value into an added column; False when no type holds it together with what is there."""
        self.poisoned.discard(name)
        self._lowered = None
        present = self.added.get(name)
        known = present.type if present is not None else self.settled.types.get(name, NULL)
        incoming = self.settled.recursive.get((name, contribution.key), contribution.type)
        type_ = common_type(known, incoming)
        if type_ is None:
            return False
        self.contributions.setdefault(name, []).append(contribution)
        self.widened = self.widened or (present is not None and present.type != type_)
        self.added[name] = WorkingColumn(name, type_, True, "added")
        self._relation = None
        return True

    def fill(self, nullable: Mapping[str, bool], *, others_null: bool) -> None:
        """Note which columns an operation has made nullable; `others_null`: its new rows lack the other columns."""
        for group in (self.declared, self.added):
            for name, column in group.items():
                is_nullable = column.nullable or nullable.get(name, others_null)
                if is_nullable != column.nullable:
                    group[name] = replace(column, nullable=True)
                    self._relation = None


def find_recursive(contributions: Mapping[str, list[Contribution]]) -> dict[tuple[str, ContributionKey], DataType]:
    """Return the values that are computed from their own column (`x = x * 1.1`), with their types.

    Such a value counts with the type of the first pass, where every column has the type of what was put in before: its
    values need no more, and its type would otherwise grow without end.
    """
    reads = {name: _NOTHING.union(*(value.reads for value in values)) for name, values in contributions.items()}
    return {
        (name, value.key): value.type
        for name, values in contributions.items()
        for value in values
        if value.reads and name in _reach(value.reads, reads)
    }


def settle_types(
    contributions: Mapping[str, list[Contribution]], recursive: Mapping[tuple[str, ContributionKey], DataType]
) -> SettledTypes:
    """Return the common type of everything that is put into each added column."""
    types: dict[str, DataType] = {}
    for name, values in contributions.items():
        result = NULL
        for value in values:
            result = common_type(result, recursive.get((name, value.key), value.type)) or result
        types[name] = result
    return SettledTypes(types, recursive)


_NOTHING: frozenset[str] = frozenset()


def _reach(start: frozenset[str], reads: Mapping[str, frozenset[str]]) -> set[str]:
    """Return the added columns that can be reached over what is read."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(reads.get(name, ()))
    return found
