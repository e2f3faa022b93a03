"""The working dataset's schema while the check walks through the operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_runtime.core.expr.datatypes import common_type
from airflow_provider_runtime.core.expr.scope import Relation, ScopeColumn
from airflow_provider_runtime.core.model.dataset import Table
from airflow_provider_runtime.core.model.schema import NULL, DataType
from airflow_provider_runtime.core.planning.checked import Path, WorkingColumn
from airflow_provider_runtime.core.planning.system_columns import list_system_columns


@dataclass(frozen=True, slots=True)
class Contribution:
    """A value that an operation puts into an added column."""

    type: DataType
    reads: frozenset[str]
    index: int
    path: Path


@dataclass(slots=True)
class WorkingSchema:
    """Columns by name, what was put into the added ones, and the names whose type a mistake has made unknown."""

    table_name: str
    system: dict[str, WorkingColumn]
    declared: dict[str, WorkingColumn] = field(default_factory=dict)
    added: dict[str, WorkingColumn] = field(default_factory=dict)
    finals: Mapping[str, DataType] = field(default_factory=dict)
    contributions: dict[str, list[Contribution]] = field(default_factory=dict)
    poisoned: set[str] = field(default_factory=set)
    widened: bool = False
    _relation: Relation | None = None

    @classmethod
    def start(cls, table: Table, finals: Mapping[str, DataType]) -> WorkingSchema:
        """Return the schema before the first operation."""
        system = {column.name: column for column in list_system_columns(table.temporal_mode)}
        declared = {
            column.name: WorkingColumn(column.name, column.data_type, column.nullable, "declared")
            for column in table.columns
        }
        return cls(table.name, system, declared, finals=finals)

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
        folded = name.lower()
        known = (*self.declared, *self.added, *self.system, *sorted(self.poisoned))
        return next((other for other in known if other.lower() == folded and other != name), None)

    def poison(self, name: str) -> None:
        """Remember that a column exists, but that a mistake hides its type."""
        if self.find(name) is None:
            self.poisoned.add(name)

    def contribute(self, name: str, contribution: Contribution) -> bool:
        """Put a value into an added column; False when no type holds it together with what is there."""
        self.contributions.setdefault(name, []).append(contribution)
        self.poisoned.discard(name)
        present = self.added.get(name)
        if name in self.finals:
            type_: DataType | None = self.finals[name]
        else:
            type_ = contribution.type if present is None else common_type(present.type, contribution.type)
        if type_ is None:
            self.contributions[name].pop()
            return False
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


def settle_types(
    first: Mapping[str, Iterable[Contribution]], latest: Mapping[str, Iterable[Contribution]]
) -> dict[str, DataType]:
    """Return the common type of everything that is put into each added column.

    A value that is computed from the column itself (`x = x * 1.1`) counts with the type that it had in the first
    pass, where every column has the type of what was put in before: its values need no more, and its type would
    otherwise grow for ever.
    """
    reads = {name: frozenset().union(*(c.reads for c in values)) for name, values in first.items()}
    types: dict[str, DataType] = {}
    for name, values in latest.items():
        result: DataType | None = NULL
        for old, new in zip(first.get(name, ()), values, strict=False):
            recursive = name in _reach(old.reads, reads)
            joined = common_type(result or NULL, old.type if recursive else new.type)
            result = joined or result
        types[name] = result or NULL
    return types


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
