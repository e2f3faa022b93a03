"""Questions about rows of a run, from its snapshot alone, and the places and texts of what was replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from airflow_provider_runtime.core.errors import DefinitionError, Place, Problem
from airflow_provider_runtime.core.expr.checker import Checked, check_expression
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import SqlWriter
from airflow_provider_runtime.core.expr.sql_text import OR
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import read_ddl
from spark_jobs.contract.operations import AggregateOperation, AnyOperation, AppendOperation
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Column, Table
from spark_jobs.contract.why import Change, Condition, History, RowHistory, Step, Term, WhyRequest

QUESTION = "--where"
_SUMMED = ("SUM", "AVG", "MIN_AGG", "MAX_AGG")


@dataclass(frozen=True, slots=True)
class Question:
    """The rows that are asked about, by a condition or by their id."""

    where: str | None = None
    row_id: str | None = None
    output: int | None = None
    limit: int = 5


def make_request(snapshot: Snapshot, question: Question) -> WhyRequest:
    """Return the question for a job; a condition that is wrong is a DefinitionError with its place."""
    output = question.output
    if output is not None and output not in {each.seq for each in snapshot.plan.outputs}:
        known = ", ".join(str(each.seq) for each in snapshot.plan.outputs)
        raise DefinitionError(Problem("OUTPUT_001", f"there is no output {output}", f"the outputs are {known}"))
    conditions = () if question.where is None else _compile_conditions(snapshot, question.where, output)
    row_id = question.row_id and question.row_id.strip().lower()
    return WhyRequest(conditions, row_id, output, question.limit, _list_terms(snapshot))


def _compile_conditions(snapshot: Snapshot, text: str, output: int | None) -> tuple[Condition, ...]:
    """Return the conditions that AND connects, each by itself: every one is tried where rows are read."""
    plan = snapshot.plan
    later = {column.name for each in plan.operations if output and each.seq > output for column in each.adds}
    columns = [column for column in plan.columns if column.name not in later]
    selectors = _get(snapshot.project_snapshot, "selectors") or {}
    scope = Scope(_make_relation(snapshot.input_table.table, columns), selectors=selectors)
    result = check_expression(text, scope, expect_boolean=True)
    if result.expression is None:
        raise DefinitionError(
            Problem(
                found.code,
                found.message,
                found.hint,
                Place(file=QUESTION, column=found.start + 1, end_column=found.end + 1, source_line=text),
            )
            for found in result.problems
        )
    return _write_conditions(result.expression, _find_constants(snapshot))


@recurses_deeply
def _write_conditions(checked: Checked, run: RunConstants) -> tuple[Condition, ...]:
    return tuple(
        Condition(SqlWriter(run, None).write(node, OR), frozenset(column for _, column in find_columns(node)))
        for node in split_conjunction(checked.node)
    )


def _list_terms(snapshot: Snapshot) -> dict[int, tuple[Term, ...]]:
    """Return what each aggregation sums up, by the number of its operation."""
    terms = {}
    columns = list(snapshot.plan.input_columns)
    for operation in snapshot.plan.operations:
        if isinstance(operation, AggregateOperation | AppendOperation) and operation.aggregations:
            texts = _list_texts(snapshot, operation.seq)
            scope = _make_scope(snapshot, operation, columns)
            found = [(item.column, texts.get(item.column)) for item in operation.aggregations]
            terms[operation.seq] = tuple(
                Term(column, sql)
                for column, text in found
                if text is not None
                for sql in _write_terms(text, scope, _find_constants(snapshot))
            )
        columns += operation.adds
    return terms


@recurses_deeply
def _write_terms(text: str, scope: Scope, run: RunConstants) -> list[str]:
    checked = check_expression(text, scope, aggregate=True).expression
    if checked is None:
        # Written for another version of the language.
        return []
    return [SqlWriter(run, None).write(node.args[0], OR) for node in _find_summed(checked.node)]


def _find_summed(node: Typed) -> Iterator[Typed]:
    if node.op in _SUMMED:
        yield node
        return
    for argument in node.args:
        yield from _find_summed(argument)


def _make_scope(snapshot: Snapshot, operation: AnyOperation, columns: Sequence[Column]) -> Scope:
    tables = snapshot.plan.tables
    if isinstance(operation, AppendOperation):
        source = tables[operation.source]
        return Scope(_make_relation(source.table, _list_columns(source)))
    aliases = {
        join.alias: Relation(join.alias, "lookup", _make_columns(_list_columns(tables[join.table])))
        for join in operation.joins
    }
    return Scope(_make_relation(snapshot.input_table.table, columns), aliases)


def _list_columns(table: Table) -> list[Column]:
    temporal = table.temporal
    beside = {
        "period": [Column(temporal.period_column, "string")],
        "bitemporal": [Column(temporal.from_column, "date"), Column(temporal.to_column, "date")],
        "snapshot": [],
    }[temporal.mode]
    return [*beside, *table.columns]


def _make_relation(name: str, columns: Sequence[Column]) -> Relation:
    return Relation(name, "working", _make_columns(columns))


def _make_columns(columns: Sequence[Column]) -> dict[str, ScopeColumn]:
    return {column.name: ScopeColumn(read_ddl(column.type), column.nullable) for column in columns}


def _find_constants(snapshot: Snapshot) -> RunConstants:
    period = snapshot.period
    return RunConstants(snapshot.run_timestamp, period.identifier, period.start_date, period.end_date)


# Texts


def describe_history(snapshot: Snapshot, history: History) -> History:
    """Return a history with the expressions as they are written in the project."""
    return replace(history, rows=tuple(_describe_row(snapshot, row) for row in history.rows))


def _describe_row(snapshot: Snapshot, row: RowHistory) -> RowHistory:
    return replace(row, steps=tuple(_describe_step(step, _list_texts(snapshot, step.seq)) for step in row.steps))


def _describe_step(step: Step, texts: Mapping[str, str]) -> Step:
    return replace(step, changes=tuple(_describe_change(change, texts) for change in step.changes))


def _describe_change(change: Change, texts: Mapping[str, str]) -> Change:
    return replace(change, expression=texts.get(change.column))


def _list_texts(snapshot: Snapshot, seq: int) -> dict[str, str]:
    """Return the expressions of an operation by column, as they are written."""
    arguments = _find_arguments(snapshot, seq)
    written = [*(_get(arguments, "assignments") or ()), *(_get(arguments, "aggregations") or ())]
    written += _get(_get(arguments, "aggregation"), "aggregations") or ()
    return {item["column"]: str(item["expression"]) for item in written}


def find_selector(snapshot: Snapshot, seq: int) -> str | None:
    """Return the selector of an operation as it is written."""
    selector = _get(_find_operation(snapshot, seq), "selector")
    return None if selector is None else str(selector)


def _find_arguments(snapshot: Snapshot, seq: int) -> Any:
    operation = _find_operation(snapshot, seq)
    return _get(operation, "arguments") or _get(operation, "parameters")


def _find_operation(snapshot: Snapshot, seq: int) -> Any:
    for operation in _get(snapshot.project_snapshot, "operations") or ():
        if str(_get(operation, "seq") or _get(operation, "order")) == str(seq):
            return operation
    return None


def _get(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, Mapping) else None


def history_to_json(history: History) -> dict[str, Any]:
    """Return a history as `why --format json` promises it."""
    document = asdict(history)
    for row in document["rows"]:
        for output in row["outputs"]:
            del output["values"]
    del document["has_more"]
    return document
