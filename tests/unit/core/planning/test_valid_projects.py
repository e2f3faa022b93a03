"""Valid neighbours of the wrong definitions: none of them gives a problem."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.unit.core.planning.project_builder import (
    CATALOG,
    aggregate,
    append,
    check_operations,
    check_text,
    delete,
    join,
    output,
    update,
)

GROUPED = ", aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(value)}]}"
TWO_JOINS = (
    "joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}, "
    "{alias: r, dataset_id: Rates, on: 'r.currency = c.tier AND r.valid_from <= ordered_on'}], "
)

VALID: dict[str, tuple[str, ...]] = {
    "number_to_number": (update("quantity", "amount"), update("amount", "quantity", seq=20)),
    "date_to_timestamp": (update("ordered_on", "shipped_at"),),
    "null_to_anything": (update("NULL", "region"), update("NULL", "amount", seq=20)),
    "null_then_typed": (update("NULL"), update("amount", seq=20)),
    "typed_by_append": (update("NULL", "value"), update("'\"x\"'", "kind", seq=11), update("'\"y\"'", "note", seq=12), append("plan", seq=20)),
    "qualified": (update("'orders.amount * 2'"),),
    "added_by_table_name": (update("amount"), update("'orders.total + total'", "twice", seq=20)),
    "labels": (update("'CONCAT(_labels, \"{x}\")'", "_labels"),),
    "system_columns_read": (update("'IF(_deleted, _operation_seq, LEN(_period))'"), update("_updated_at", "seen", seq=20)),
    "lookup": (update("'amount * regions.weight'"),),
    "lookup_to_dataset": (update("people.discount"),),
    "lookup_in_selector": (delete("'regions.manager = \"Ann\" AND people.tier = \"gold\"'"),),
    "join": (update("'amount * c.discount'", more=join("customer_id = c.id")),),
    "join_by_name": (update("c.tier", more=join("customer_id = c.id", dataset="Customers")),),
    "join_pinned": (update("c.tier", more=join("customer_id = c.id", more=", dataset_version: 1")),),
    "join_not_equal": (update("c.tier", more=join("'customer_id > c.id OR c.tier = region'")),),
    "join_over_lookup": (update("c.tier", more=join("'regions.manager = c.id'")),),
    "join_uses_earlier_alias": (update("'r.rate * amount'", more=TWO_JOINS),),
    "alias_again_in_other_operation": (update("c.tier", more=join("customer_id = c.id")), update("c.rate", "x", more=join("region = c.currency", dataset="rates"), seq=20)),
    "selector_uses_alias": (update("c.tier", more=join("customer_id = c.id"), selector="'c.tier = \"gold\"'"),),
    "selector_null": (delete("'NULL'"),),
    "named_selector": (delete("'{{EMEA}}'"),),
    "named_selector_in_part": (delete("'NOT {{EMEA}} AND amount > 1'"),),
    "text_like_a_selector": (update("'\"{{X}}\"'"),),
    "file_order_is_not_seq_order": (update("'later * 2'", seq=20), update("'1.5'", "later", seq=10)),
    "aggregate_qualified": (aggregate("SUM(orders.amount)", group_by="[orders._period, region]"),),
    "aggregate_combined": (aggregate("'SUM(amount * quantity) / COUNT(*)'"),),
    "aggregate_into_declared": (aggregate("SUM(amount)", "amount"), aggregate("COUNT(*)", "quantity", seq=20)),
    "aggregate_of_lookup": (aggregate("SUM(regions.weight)"),),
    "aggregate_of_aggregate": (aggregate("SUM(amount)"), aggregate("MAX_AGG(total)", "top", seq=20)),
    "append_all": (append("budget"),),
    "append_filtered": (append("budget", ", source_selector: 'budget.amount > 10 AND region != \"x\"'"),),
    "append_period": (append("budget", ", source_selector: '_period = \"2026-01\"'"),),
    "append_grouped": (append("plan", GROUPED),),
    "append_grouped_by_table": (append("plan", GROUPED.replace("[region]", "[plan.region]")),),
    "append_grouped_by_period": (append("budget", GROUPED.replace("[region]", "[_period]").replace("value", "amount")),),
    "append_filled_column": (update("NULL", "kind"), append("plan", GROUPED.replace("[region]", "[region, kind]"), seq=20)),
    "output_all": (output(),),
    "output_columns": (output(", columns: [region, orders.amount, _row_id]"),),
    "output_added": (update("amount"), output(", columns: [total]")),
    "output_path": (output(destination="{datasource_id: lake, path: a/b}"),),
    "output_inline": (output(destination="{type: parquet, path: /tmp/out}"),),
    "output_jdbc": (output(destination="{datasource_id: dwh, table: out}"),),
    "output_jdbc_period": (output(", columns: [region, _period]", destination="{datasource_id: dwh, table: out}"),),
    "output_jdbc_overwrite": (output(", columns: [region], write_mode: overwrite", destination="{datasource_id: dwh, table: out}"),),
    "delete_all": ("{seq: 10, name: drop, type: delete, arguments: {}}",),
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_valid_project_has_no_problem(name: str) -> None:
    checked = check_operations(*VALID[name], selectors="EMEA: 'orders.region = \"EMEA\"'")
    assert checked.problems == ()


ANNOTATED = """project:
  id: sales
  name: close
  version: 1
  input_dataset_id: shop
  selectors:
    active_orders: "orders.status = \\"active\\""
  operations:
    - id: "op-001"
      seq: 1
      name: "Tag EMEA orders"
      type: update
      selector: "orders.region = \\"EMEA\\""
      arguments:
        assignments:
          - column: "_labels"
            expression: "CONCAT(_labels, \\"{region:EMEA}\\")"
    - id: "op-002"
      seq: 2
      name: "Add customer tier and discounted price"
      type: update
      selector: "{{active_orders}}"
      arguments:
        joins:
          - alias: "customers"
            dataset_id: "d5e6f7g8-0000-0000-0000-000000000010"
            on: "orders.customer_id = customers.id"
        assignments:
          - column: "customer_tier"
            expression: "customers.tier"
          - column: "discounted_price"
            expression: "IF(customers.tier = \\"gold\\", orders.amount * 0.9, orders.amount)"
    - id: "op-003"
      seq: 3
      name: "Monthly totals"
      type: aggregate
      arguments:
        group_by:
          - "orders._period"
          - "orders.region"
        aggregations:
          - column: "total_sales"
            expression: "SUM(orders.amount)"
          - column: "order_count"
            expression: "COUNT(orders.order_id)"
    - id: "op-004"
      seq: 4
      name: "Remove zero-amount rows"
      type: delete
      selector: "orders.amount = 0"
    - id: "op-005"
      seq: 5
      name: "Write to warehouse"
      type: output
      selector: "{{active_orders}}"
      arguments:
        destination:
          datasource_id: "ds-warehouse"
          table: "processed_orders"
        include_deleted: false
"""
SHOP = """
datasource: {id: ds-warehouse, type: parquet, path_prefix: warehouse}
---
dataset:
  id: shop
  name: Shop
  version: 1
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {name: order_id, type: string}
      - {name: customer_id, type: string}
      - {name: region, type: string}
      - {name: status, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: d5e6f7g8-0000-0000-0000-000000000010
  name: Customers
  version: 1
  main_table: {name: customers, columns: [{name: id, type: string}, {name: tier, type: string}]}
"""


def test_annotated_example_of_the_specification_is_valid() -> None:
    checked = check_text(ANNOTATED, SHOP)
    assert checked.problems == ()
    after = {column.name: str(column.type) for column in checked.project.operations[-1].columns_after}
    assert after["discounted_price"] == "decimal(20,3)"
    assert after["total_sales"] == "decimal(38,2)"
    assert after["order_count"] == "integer"


def test_bitemporal_input_has_from_and_to_instead_of_period() -> None:
    head = "project: {id: close, name: close, version: 1, input_dataset_id: rates, operations: ["
    good = check_text(head + update("'DATEDIFF(rates._period_to, _period_from)'") + "]}")
    assert good.problems == ()
    bad = check_text(head + update("_period") + "]}")
    assert [problem.code for problem in bad.problems] == ["EXPR_002"]


def test_order_and_parameters_are_accepted_for_seq_and_arguments() -> None:
    operation = update("'amonut'").replace("seq:", "order:").replace("arguments:", "parameters:")
    checked = check_operations(operation)
    assert [problem.location.field for problem in checked.problems] == [
        "operations[0].arguments.assignments[0].expression"
    ]


def test_catalog_of_the_tests_has_no_problem() -> None:
    assert check_text("project: {id: close, name: close, version: 1, input_dataset_id: orders, operations: ["
                      + update("amount") + "]}", CATALOG).problems == ()  # fmt: skip
