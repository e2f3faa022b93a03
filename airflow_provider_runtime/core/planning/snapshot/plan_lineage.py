"""Column lineage of a plan, from what its operations read: for `explain` and OpenLineage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.core.planning.check.origins import Origins
from airflow_provider_runtime.core.planning.snapshot.lineage import (
    Aliases,
    Columns,
    Find,
    Lineage,
    Match,
    Step,
    StepLineage,
    Value,
    Walk,
    combine,
    make_constant,
    make_source,
)
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    Expression,
    Operation,
    OutputOperation,
    Read,
    UpdateOperation,
)
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.contract.tables import Column


@dataclass(frozen=True, slots=True, order=True)
class SourceColumn:
    """A column of a table that is read; the table by its key in the plan."""

    table: str
    column: str


PlanLineage = StepLineage[SourceColumn]
_Lineage = Lineage[SourceColumn]


def trace_lineage(
    input_key: str, input_columns: Iterable[Column], operations: Iterable[AnyOperation]
) -> tuple[PlanLineage, ...]:
    """Return the lineage of every operation of a plan, in seq order."""
    walk = Walk(make_constant("rows"), _make_columns(input_key, (column.name for column in input_columns)))
    return tuple(walk.follow(_make_step(operation)) for operation in operations)


def _make_columns(table: str, names: Iterable[str]) -> dict[str, _Lineage]:
    """Return the columns of a table whose rows become working rows; their system columns are new."""
    return {name: _make_source(table, name) for name in names if name not in SYSTEM_TYPES}


def _make_source(table: str, column: str) -> _Lineage:
    return make_source(SourceColumn(table, column), table, column)


def _make_step(operation: AnyOperation) -> Step[SourceColumn]:
    if isinstance(operation, AppendOperation):
        return _make_append(operation)
    given: dict[str, Any] = {}
    if isinstance(operation, UpdateOperation):
        given = {"values": _make_values(operation.assignments)}
    elif isinstance(operation, AggregateOperation):
        given = {"values": _make_values(operation.aggregations), "group_by": operation.group_by}
    elif isinstance(operation, OutputOperation):
        given = {
            "written": tuple((column.name, column.type) for column in operation.columns),
            "include_deleted": operation.include_deleted,
            "distinct": operation.distinct,
        }
    return Step(seq=operation.seq, kind=operation.type, **_make_rows(operation), **given)


def _make_append(operation: AppendOperation) -> Step[SourceColumn]:
    expand = operation.expand
    reads = [*operation.where_reads, *(read for item in operation.expressions for read in item.reads)]
    reads += expand.reads if expand is not None else ()
    alias = expand.alias if expand is not None else None
    names = [*operation.group_by, *(read.column for read in reads if read.alias in {None, alias})]
    return Step(
        seq=operation.seq,
        kind=operation.type,
        **(_make_rows(expand.rows) if expand is not None else {"origins": Origins()}),
        values=_make_values(operation.aggregations),
        group_by=operation.group_by,
        source=_make_columns(operation.source, names),
        source_rows=make_constant("rows"),
        source_where=_find(operation.where_reads) if operation.where is not None else None,
        pair=(expand.alias, _find(expand.reads)) if expand is not None else None,
        filled=_make_values(operation.columns),
        distinct=operation.distinct,
    )


def _make_rows(operation: Operation) -> dict[str, Any]:
    """Return which working rows an operation takes, and the joins for their expressions."""
    return {
        "origins": Origins(operation.origins, operation.picks_by_origin),
        "where": _find(operation.where_reads) if operation.where is not None else None,
        "matches": tuple(
            Match(
                join.alias,
                {name: _make_source(join.table, name) for name in join.match_columns},
                make_constant("rows"),
                _find(join.reads),
            )
            for join in operation.joins
        ),
    }


def _make_values(items: Iterable[Expression]) -> tuple[Value[SourceColumn], ...]:
    return tuple(Value(item.column, item.type, _find(item.reads), item.is_over_group) for item in items)


def _find(reads: Iterable[Read]) -> Find[SourceColumn]:
    def find(columns: Columns[SourceColumn], aliases: Aliases[SourceColumn]) -> _Lineage:
        tables = ((columns if read.alias is None else aliases.get(read.alias, {}), read.column) for read in reads)
        return combine("reads", *(table[name] for table, name in tables if name in table))

    return find
