"""Notes on a row on its way through the operations: the SQL that takes them, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from spark_jobs.checks.values import read_value, spell_value, write_value
from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.operations import AggregateOperation, AnyOperation, OutputOperation
from spark_jobs.contract.sql import quote_name
from spark_jobs.rows.row_ids import read_position
from spark_jobs.rows.walks import list_changed
from spark_jobs.spark.storage import get_local_path

if TYPE_CHECKING:
    from spark_jobs.contract.comparison import Values
    from spark_jobs.contract.operations import Join
    from spark_jobs.contract.plan import Plan
    from spark_jobs.contract.tables import Column


@dataclass(frozen=True, slots=True)
class TracedStep:
    """What an operation did with a row that it touched."""

    matches: Mapping[str, Values | None]
    after: Values = field(default_factory=dict)
    """Values after it; of an output the values that it selects, of an aggregate the keys of the row's group."""


@dataclass(frozen=True, slots=True)
class TracedRow:
    """A row with the values it was made with, what touched it, and the values it has at the end."""

    origin: int
    file: str | None
    made: Values
    steps: Mapping[int, TracedStep]
    end: Values
    position: int
    """What identifies the row among those of its origin, where its id was made by the run."""


@dataclass(frozen=True, slots=True)
class NoteReader:
    """Reads the notes of rows of a plan."""

    plan: Plan
    types_of: Callable[[str], Mapping[str, str]]
    """Gives the types of the columns of a table that is joined."""

    def read_row(self, row: Any) -> TracedRow:
        """Return what was noted of a row."""
        end = _unpack(row["@end"], self.plan.columns)
        present = set(row.__fields__)
        origin = int(end["_operation_seq"] or 0)
        columns = self.plan.columns if origin else self.plan.input_columns
        made = row[f"@made{origin}"]
        file = made[1 + len(columns)] if origin == 0 else None
        steps = {}
        for operation in self.plan.operations:
            name = f"@step{operation.seq}"
            if operation.seq > origin and name in present and row[name] is not None:
                steps[operation.seq] = self._read_step(operation, row[name], row[f"@after{operation.seq}"])
        position = read_position(str(end["_row_id"]), self.plan.period_bits)
        shown = None if file is None else show_file(file)
        return TracedRow(origin, shown, _unpack(made, columns), steps, end, position)

    def _read_step(self, operation: AnyOperation, step: Any, after: Any) -> TracedStep:
        matches: dict[str, Values | None] = {}
        for index, join in enumerate(operation.joins, start=1):
            types = self.types_of(join.table)
            names = list_shown(join)
            match = step[index]
            matches[join.alias] = None if match is None else _read_values(match, names, types)
        if isinstance(operation, OutputOperation):
            columns: Sequence[Column] = operation.columns
        elif isinstance(operation, AggregateOperation):
            columns = [describe_column(self.plan, name) for name in operation.group_by]
        else:
            columns = [describe_column(self.plan, name) for name in list_changed(operation)]
        return TracedStep(matches, _unpack(after, columns))


def pack(columns: Sequence[Column], more: Sequence[str] = (), present: Container[str] | None = None) -> str:
    """Return SQL of a struct that is never NULL with the values of these columns, as they are fetched.

    Columns that are not `present` are NULL.
    """
    values = [
        spell_value(f"`@w`.{quote_name(column.name)}", column.type)
        if present is None or column.name in present
        else "CAST(NULL AS string)"
        for column in columns
    ]
    return f"struct({', '.join(['TRUE', *values, *more])})"


def _unpack(packed: Any, columns: Sequence[Column]) -> dict[str, str | None]:
    return _read_values(packed, [column.name for column in columns], {column.name: column.type for column in columns})


def _read_values(packed: Any, names: Sequence[str], types: Mapping[str, str]) -> dict[str, str | None]:
    return {name: write_value(read_value(packed[index], types[name])) for index, name in enumerate(names, start=1)}


def show_file(uri: str) -> str:
    """Return a file's address as people write it."""
    return unquote(get_local_path(uri) if is_local(uri) else uri)


def list_shown(join: Join) -> tuple[str, ...]:
    """Return the columns of an alias that are shown: those of its condition first."""
    own = (read.column for read in join.reads if read.alias == join.alias)
    return tuple(dict.fromkeys((*own, *join.columns)))


def describe_column(plan: Plan, name: str) -> Column:
    """Return a column of the working dataset."""
    return next(column for column in plan.columns if column.name == name)
