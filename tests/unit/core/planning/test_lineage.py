"""Column lineage of plans, as explain, OpenLineage and the plan of stale periods use it."""

from __future__ import annotations

from datetime import UTC, date, datetime

from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.snapshot.compile import compile_operations, make_plan_columns
from airflow_provider_runtime.core.planning.snapshot.plan_lineage import PlanLineage, trace_lineage
from tests.unit.core.planning.project_builder import aggregate, append, check_operations, delete, output, update
from tests.unit.core.planning.test_compile import OPERATIONS

RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")


def trace(*operations: str, **more: str) -> dict[int, PlanLineage]:
    checked = check_operations(*operations, **more)
    assert checked.problems == ()
    compiled = compile_operations(checked.project, run=RUN)
    found = trace_lineage("input", make_plan_columns(checked.project.input_columns), compiled.operations)
    return {entry.seq: entry for entry in found}


def show(lineage: PlanLineage) -> dict[str, list[str]]:
    return {
        name: sorted(f"{source.table}.{source.column}" for source in column.values)
        for name, column in lineage.columns.items()
    }


def test_columns_are_followed_through_joins_aggregates_and_appends() -> None:
    lineage = trace(*OPERATIONS, selectors="EMEA: 'orders.region = \"EMEA\"'")
    assert show(lineage[70]) == {
        "region": ["append:40.region", "append:50.region", "input.region"],
        "total": ["input.amount", "join:10:c.discount"],
        "average": ["input.amount", "lookup:regions.weight"],
        "_period": [],
    }
    assert "join:10:c.id" in {f"{source.table}.{source.column}" for source in lineage[10].conditions.values}


def test_update_without_a_selector_replaces_what_was_there() -> None:
    lineage = trace(update("quantity", "amount", seq=10), output(", columns: [amount]", seq=90))
    assert show(lineage[90]) == {"amount": ["input.quantity"]}


def test_update_of_some_rows_leaves_the_others_as_they_were() -> None:
    lineage = trace(
        update("quantity", "amount", seq=10, selector="'amount > 1'"), output(", columns: [amount]", seq=90)
    )
    assert show(lineage[90]) == {"amount": ["input.amount", "input.quantity"]}


def test_rows_that_an_operation_cannot_pick_bring_nothing_along() -> None:
    outputs = (
        output(", columns: [amount]", seq=seq, destination=f"{{datasource_id: lake, table: t{seq}}}")
        for seq in (80, 90)
    )
    loaded, appended = (
        text.replace("type:", f"selector: _operation_seq = {origin}, type:")
        for text, origin in zip(outputs, (0, 10), strict=True)
    )
    lineage = trace(append("budget", seq=10), loaded, appended)
    assert show(lineage[80]) == {"amount": ["input.amount"]}
    assert show(lineage[90]) == {"amount": ["append:10.amount"]}


def test_deleted_rows_keep_what_they_had_before_a_later_update() -> None:
    lineage = trace(
        delete("'amount > 1'", seq=10),
        update("quantity", "amount", seq=20),
        output(", columns: [amount], include_deleted: true", seq=90),
    )
    assert show(lineage[90]) == {"amount": ["input.amount", "input.quantity"]}


def test_output_names_what_has_decided_which_rows_there_are() -> None:
    lineage = trace(
        aggregate("SUM(amount)", "total", group_by="[region]", seq=10),
        append("budget", seq=20),
        delete("'quantity < 1'", seq=30),
        update("amount", "net", seq=40),
        output(seq=90),
    )
    rows = lineage[90].rows
    assert {f"{source.table}.{source.column}" for source in rows.sources} == {"input.region", "input.quantity"}


EXPAND = (
    ", aggregation: {group_by: [region], aggregations: [{column: planned, expression: SUM(value)}]}, "
    "expand: {alias: p, on: p.region = orders.region AND quantity > 0, "
    "columns: [{column: amount, expression: p.planned * regions.weight}, {column: status, expression: orders.status}]}"
)


def test_columns_of_pairs_come_from_both_rows() -> None:
    lineage = trace(
        append("plan", seq=10, more=EXPAND).replace("type:", "selector: is_paid, type:"),
        output(", columns: [amount, status]", seq=90),
    )
    assert show(lineage[10]) == {
        "amount": ["append:10.value", "lookup:regions.weight"],
        "status": ["input.status"],
    }
    assert show(lineage[90])["amount"] == ["append:10.value", "input.amount", "lookup:regions.weight"]
    asked = {f"{source.table}.{source.column}" for source in lineage[10].conditions.values}
    assert {"append:10.region", "input.region", "input.quantity", "input.is_paid"} <= asked
