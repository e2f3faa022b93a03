"""Checks explained: the queries that find what they need, and the input columns that these rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypedDict

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.check.checked import CheckedCheck, CheckedProject, CheckedValue
from airflow_provider_runtime.core.planning.snapshot.compile_checks import CompiledChecks, compile_checks
from airflow_provider_runtime.core.planning.snapshot.lineage import Columns
from airflow_provider_runtime.core.planning.snapshot.plan_lineage import PlanLineage, SourceColumn
from spark_jobs.contract import checks as planned
from spark_jobs.contract.sql import strip_marks, write_column


class CheckDocument(TypedDict):
    """One check, explained."""

    name: str
    kind: str
    output: int
    outputs: list[int]
    """All whose rows it reads."""
    reads: list[str]
    """Keys of the tables that it reads beside them."""
    on_fail: str
    is_proven: bool
    spark_sql: list[str]
    lineage: list[str]


def explain_checks(
    checked: CheckedProject, lineage: Iterable[PlanLineage], names: Mapping[str, str], run: RunConstants
) -> tuple[CompiledChecks, list[CheckDocument]]:
    """Explain the checks of a project without errors; `names` are those of its tables, by key."""
    compiled = compile_checks(checked, run=run)
    columns = {found.seq: found.columns for found in lineage}
    documents = [
        CheckDocument(
            name=check.name,
            kind=check.kind,
            output=check.output,
            outputs=sorted(check.outputs),
            reads=[name for side in check.values for name in _list_tables(side, checked)],
            on_fail=check.on_fail,
            is_proven=check.is_proven,
            spark_sql=[strip_marks(sql) for sql in _list_statements(check)],
            lineage=sorted({f"{names[found.table]}.{found.column}" for found in _trace(source, checked, columns)}),
        )
        for check, source in zip(compiled.checks, checked.checks, strict=True)
    ]
    return compiled, documents


def _list_tables(side: planned.CheckedValue, checked: CheckedProject) -> list[str]:
    if side.is_of_input:
        return [] if checked.input is None else [checked.input.key]
    return [] if side.table is None else [side.table]


def _list_statements(check: planned.Check) -> Iterator[str]:
    """Yield the queries of a check; all totals of the same rows are read together."""
    if check.is_proven:
        return
    rows = f"FROM `output {check.output}` AS `@w`"
    where = f"\nWHERE {check.where}" if check.where is not None else ""
    if check.condition is not None:
        looked = f"({check.where}) AND " if check.where is not None else ""
        yield f"SELECT *\n{rows}\nWHERE {looked}({check.condition}) IS NOT TRUE"
    if check.unique:
        names = ", ".join(write_column(None, name) for name in check.unique)
        yield f"SELECT {names}, count(1)\n{rows}{where}\nGROUP BY {names}\nHAVING count(1) > 1"
    for side in check.values:
        yield _write_value(check, side)


def _write_value(check: planned.Check, side: planned.CheckedValue) -> str:
    place = f"output {side.output}" if side.output is not None else side.table or "input"
    keys = [write_column(None, key.name) for key in check.group_by]
    lines = [f"SELECT {', '.join([*keys, side.sql])}", f"FROM `{place}` AS `@w`"]
    if keys:
        lines += [f"WHERE {side.where}"] if side.where is not None else []
        lines.append(f"GROUP BY {', '.join(keys)}")
    return "\n".join(lines)


def _trace(
    check: CheckedCheck, checked: CheckedProject, columns: Mapping[int, Columns[SourceColumn]]
) -> Iterator[SourceColumn]:
    """Yield the source columns whose values a check reads."""
    own = columns.get(check.output, {})
    for name in (*check.unique, *_list_columns(check.rows, check.where), *(key for key, _ in check.group_by)):
        yield from own[name].values if name in own else ()
    for side in check.values:
        for name in _list_columns(side.value, side.where):
            yield from _find_sources(side, name, checked, columns)


def _find_sources(
    side: CheckedValue, name: str, checked: CheckedProject, columns: Mapping[int, Columns[SourceColumn]]
) -> frozenset[SourceColumn]:
    if side.output is not None:
        own = columns.get(side.output, {})
        return own[name].values if name in own else frozenset()
    table = side.table or checked.input
    if table is None or name not in {column.name for column in table.table.columns}:
        return frozenset()
    return frozenset({SourceColumn(table.key, name)})


def _list_columns(*expressions: Checked | None) -> list[str]:
    return [column for expression in expressions if expression is not None for _, column in expression.columns]
