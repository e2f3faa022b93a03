"""A change to a definition reaches exactly the columns of outputs whose values it can change."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.planning.stale.changes import OutputChange, compare_definitions
from airflow_provider_runtime.core.planning.stale.signatures import SourceColumn, sign_outputs
from tests.unit.core.planning.project_builder import check_operations

BASE = """
- {seq: 10, name: Net, type: update, selector: 'status = "open"',
   arguments: {assignments: [{column: net, expression: amount * 2}, {column: units, expression: quantity + 1}]}}
- {seq: 20, name: Sum, type: aggregate, selector: _operation_seq = 0,
   arguments: {group_by: [region],
     aggregations: [{column: total, expression: SUM(net)}, {column: n, expression: COUNT(*)}]}}
- {seq: 30, name: Lines, type: output, selector: _operation_seq = 0,
   arguments: {destination: {datasource_id: lake, table: lines}, columns: [order_id, net, units]}}
- {seq: 40, name: Totals, type: output, selector: _operation_seq = 20,
   arguments: {destination: {datasource_id: lake, table: totals}, columns: [region, total, n]}}
"""


def check(operations: str):
    import yaml

    checked = check_operations(*[yaml.safe_dump(item, default_flow_style=True) for item in yaml.safe_load(operations)])
    assert checked.problems == ()
    return checked.project


@pytest.mark.parametrize(
    ("old", "new", "operations", "affected"),
    [
        ("amount * 2", "amount * 3", ["operation 10 'Net' changed"], {30: ("net",), 40: ("total",)}),
        ("quantity + 1", "quantity + 2", ["operation 10 'Net' changed"], {30: ("units",)}),
        ("name: Net", "name: Gross", [], {}),
        ("amount * 2", "amount  *  2", ["operation 10 'Net' changed"], {}),
        ('status = "open"', 'status = "new"', ["operation 10 'Net' changed"], {30: ("net", "units"), 40: ("total",)}),
        ("group_by: [region]", "group_by: [region, status]", ["operation 20 'Sum' changed"],
         {40: ("region", "total", "n")}),
        ("SUM(net)", "MAX_AGG(net)", ["operation 20 'Sum' changed"], {40: ("total",)}),
        ("table: totals", "table: sums", ["operation 40 'Totals' changed"], {40: ("region", "total", "n")}),
        ("columns: [region, total, n]", "columns: [region, n]", ["operation 40 'Totals' changed"], {40: ("total",)}),
        ("seq: 20, name: Sum", "seq: 25, name: Sum", ["operation 20 'Sum' removed", "operation 25 'Sum' added"],
         {40: ("region", "total", "n")}),
    ],
)  # fmt: skip
def test_change_reaches_the_columns_that_depend_on_it(
    old: str, new: str, operations: list[str], affected: dict[int, tuple[str, ...]]
) -> None:
    assert old in BASE
    change = compare_definitions(check(BASE), check(BASE.replace(old, new)))
    assert list(change.operations) == operations
    assert {output.seq: output.columns for output in change.outputs} == affected


def test_deleting_rows_changes_all_columns_of_outputs_that_had_them() -> None:
    deletes = BASE + "- {seq: 15, name: Drop, type: delete, selector: 'quantity < 0 AND _operation_seq = 0'}\n"
    change = compare_definitions(check(BASE), check(deletes))
    assert [output.seq for output in change.outputs] == [30, 40]
    assert change.outputs[0] == OutputChange(30, ("order_id", "net", "units"), None, "other rows")


def test_operation_after_the_last_output_of_its_rows_changes_nothing() -> None:
    late = (
        BASE + "- {seq: 50, name: Late, type: update, arguments: {assignments: [{column: net, expression: '1.00'}]}}\n"
    )
    change = compare_definitions(check(BASE), check(late))
    assert change.operations == ("operation 50 'Late' added",)
    assert change.outputs == ()


def test_output_knows_the_source_columns_behind_each_column() -> None:
    signature = sign_outputs(check(BASE))[30]
    assert signature.list_affected([SourceColumn("orders", "orders", "amount")]) == ("net",)
    assert signature.list_affected([SourceColumn("orders", "orders", "status")]) == ("net", "units")
    assert signature.list_affected([SourceColumn("orders", "orders")]) == ("order_id", "net", "units")
    assert signature.list_affected([SourceColumn("customers", "customers", "tier")]) == ()


def test_deleted_rows_that_are_written_keep_the_values_from_before_a_later_update() -> None:
    signature = sign_outputs(
        check("""
- {seq: 10, name: Drop, type: delete, selector: amount IS NULL, arguments: {}}
- {seq: 20, name: Net, type: update, arguments: {assignments: [{column: status, expression: "'new'"}]}}
- {seq: 30, name: Lines, type: output,
   arguments: {destination: {datasource_id: lake, table: lines}, include_deleted: true, columns: [order_id, status]}}
- {seq: 40, name: Live, type: output,
   arguments: {destination: {datasource_id: lake, table: live}, columns: [order_id, status]}}
""")
    )
    source = [SourceColumn("orders", "orders", "status")]
    assert {seq: found.list_affected(source) for seq, found in signature.items()} == {30: ("status",), 40: ()}
