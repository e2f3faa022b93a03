"""Group functions in the plan of an update: columns made step by step, which the assignments read."""

from __future__ import annotations

from datetime import UTC, date, datetime

from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.snapshot.compile import compile_operations
from spark_jobs.contract.compiled_sql import find_foreign_part
from spark_jobs.contract.operations import Read, UpdateOperation
from tests.unit.core.planning.project_builder import check_operations, output, update

RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31))


def compile_update(expression: str) -> UpdateOperation:
    checked = check_operations(update(f"'{expression}'"), output())
    assert checked.problems == ()
    operation = compile_operations(checked.project, run=RUN).operations[0]
    assert isinstance(operation, UpdateOperation)
    return operation


def test_total_is_a_column_that_the_assignment_reads() -> None:
    operation = compile_update("amount - TOTAL(amount BY region)")
    ((column,),) = operation.group_steps
    assert f"`@w`.`{column.column}`" in operation.assignments[0].sql
    assert "OVER (PARTITION BY `@w`.`region`)" in column.sql
    assert Read("region") in operation.assignments[0].reads
    assert Read("_row_id") not in operation.assignments[0].reads


def test_what_breaks_ties_reads_row_ids() -> None:
    operation = compile_update("RUNNING(amount ORDER ordered_on BY region)")
    assert Read("_row_id") in operation.assignments[0].reads
    assert Read("ordered_on") in operation.assignments[0].reads


def test_columns_of_a_step_read_earlier_steps_only() -> None:
    operation = compile_update("ALLOCATE(100.00, amount BY region)")
    seen: list[str] = []
    for step in operation.group_steps:
        later = [column.column for other in operation.group_steps for column in other if column.column not in seen]
        for column in step:
            assert find_foreign_part(column.sql) is None
            assert not [name for name in later if f"`{name}`" in column.sql]
        seen += [column.column for column in step]


def test_update_without_group_functions_has_no_steps() -> None:
    assert compile_update("amount * 2").group_steps == ()
