"""Wrong definitions: each gives one problem, with its code, at its place, with its hint."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.unit.core.planning.project_builder import aggregate, append, check_operations, delete, join, output, update

SELECTORS = "EMEA: 'orders.region = \"EMEA\"', SUM_ALL: 'SUM(amount) > 1'"
NAMES = "a name has letters"


@dataclass(frozen=True)
class Wrong:
    """A mistake: the operations with a mark before the place, the code, and parts of message, hint and field."""

    operations: tuple[str, ...]
    code: str
    message: str
    hint: str | None
    field: str


def wrong(
    name: str, code: str, operations: str | tuple[str, ...], message: str, hint: str | None, field: str
) -> object:
    """Return a named case."""
    listed = (operations,) if isinstance(operations, str) else operations
    return pytest.param(Wrong(listed, code, message, hint, field), id=name)


INVALID = "Invalid assignment expression for 'total': "
SELECTOR = "Invalid selector expression: "
EXPRESSION = "assignments[0].expression"

ASSIGNMENTS = [
    wrong("syntax_unclosed", "EXPR_001", update("'«(amount + 1'"), INVALID, None, EXPRESSION),
    wrong("syntax_operator", "EXPR_001", update("'amount + * «2'").replace("* «", "«* "), INVALID, None, EXPRESSION),
    wrong("syntax_empty", "EXPR_001", update("'«'"), INVALID, None, EXPRESSION),
    wrong("impossible_date", "EXPR_001", update("'DATE(«\"2026-02-30\")'"), INVALID, None, EXPRESSION),
    wrong("unknown_column", "EXPR_002", update("'«amont * 2'"), "unknown column 'amont'", "'amount'", EXPRESSION),
    wrong("column_other_case", "EXPR_002", update("'«Amount * 2'"), "unknown column 'Amount'", "'amount'", EXPRESSION),
    wrong("unknown_table_column", "EXPR_002", update("'«orders.amont'"), "orders.amont", "'amount'", EXPRESSION),
    wrong("lookup_column", "EXPR_002", update("'«regions.wight'"), INVALID + "unknown column", "'weight'", EXPRESSION),
    wrong("unknown_function", "EXPR_003", update("'«ROUNDUP(amount)'"), INVALID, "'ROUND'", EXPRESSION),
    wrong("arity_few", "EXPR_003", update("'«IF(is_paid, amount)'"), INVALID + "IF takes", "write IF(", EXPRESSION),
    wrong("arity_many", "EXPR_003", update("'«ABS(amount, 2)'"), "ABS takes 1 argument, found 2", "ABS(", EXPRESSION),
    wrong("min_of_one", "EXPR_003", update("'«MIN(amount)'"), "MIN takes", None, EXPRESSION),
    wrong("text_plus_number", "EXPR_004", update("'«region + 1'"), "needs a number", "CONCAT", EXPRESSION),
    wrong("number_as_text", "EXPR_004", update("'CONCAT(region, «amount)'"), "CONCAT needs", None, EXPRESSION),
    wrong("compare_kinds", "EXPR_004", update("'«amount = \"1\"'", column="flag"), "for 'flag'", None, EXPRESSION),
    wrong("if_condition", "EXPR_004", update("'IF(«amount, 1, 2)'"), "needs a condition", None, EXPRESSION),
    wrong("if_branches", "EXPR_004", update("'«IF(is_paid, 1, \"x\")'"), INVALID, None, EXPRESSION),
    wrong("round_places", "EXPR_004", update("'ROUND(amount, «quantity)'"), INVALID, None, EXPRESSION),
    wrong("date_arithmetic", "EXPR_004", update("'«ordered_on + 1'"), "needs a number", None, EXPRESSION),
    wrong(
        "to_number",
        "EXPR_004",
        update("«region", "amount"),
        "cannot put string into column 'amount'",
        "fit",
        EXPRESSION,
    ),
    wrong("to_text", "EXPR_004", update("«amount", "region"), "column 'region' of type string", "fit", EXPRESSION),
    wrong(
        "timestamp_to_date", "EXPR_004", update("«shipped_at", "ordered_on"), "column 'ordered_on'", "fit", EXPRESSION
    ),
    wrong("boolean_to_number", "EXPR_004", update("«is_paid", "quantity"), "column 'quantity'", "fit", EXPRESSION),
    wrong(
        "number_to_labels",
        "EXPR_004",
        update("«quantity", "_labels"),
        "column '_labels' of type string",
        "fit",
        EXPRESSION,
    ),
    wrong("only_null", "EXPR_004", update("«NULL"), "only gets NULL", "typed value", EXPRESSION),
    wrong("aggregate", "EXPR_005", update("'«SUM(amount)'"), INVALID, "aggregate operation", EXPRESSION),
    wrong("aggregate_inside", "EXPR_005", update("'amount / «COUNT(*)'"), INVALID, None, EXPRESSION),
    wrong(
        "selector_in_value", "EXPR_001", update("'IF(«{{EMEA}}, 1, 2)'"), "may stand in a selector", None, EXPRESSION
    ),
    wrong("unknown_alias", "JOIN_009", update("'«fx.rate * amount'"), "'fx'", None, EXPRESSION),
    wrong(
        "two_types",
        "EXPR_004",
        (update("'1'"), update("«region", seq=20)),
        "no type holds",
        "one type",
        EXPRESSION,
    ),
    wrong(
        "too_many_digits",
        "EXPR_004",
        (update("amount * amount * 0.00000000000000000001"), update("«quantity * 10000000000 * 10000000000", seq=20)),
        "no type holds",
        "ROUND",
        EXPRESSION,
    ),
    wrong(
        "not_yet_added",
        "EXPR_002",
        (update("'«later + 1'"), update("'1'", "later", seq=20)),
        "'later'",
        None,
        EXPRESSION,
    ),
    wrong(
        "multiplied_scale",
        "EXPR_004",
        update("'«0.00000000000000000001 * 0.00000000000000000001'"),
        INVALID,
        "ROUND",
        EXPRESSION,
    ),
]
ASSIGNED_COLUMNS = [
    wrong(
        "none",
        "UPDATE_001",
        "{seq: 10, name: set, type: update, arguments: «{joins: []}}",
        "Update operation requires at least one assignment",
        "add one",
        "arguments",
    ),
    wrong(
        "none_in_the_list",
        "UPDATE_001",
        "{seq: 10, name: set, type: update, arguments: {joins: [], assignments: «[]}}",
        "Update operation requires at least one assignment",
        "add one",
        "assignments",
    ),
    wrong(
        "digit_first", "UPDATE_002", update("'1'", "«1st"), "Invalid column name: '1st'", NAMES, "assignments[0].column"
    ),
    wrong("blank", "UPDATE_002", update("'1'", "«'a b'"), "Invalid column name: 'a b'", NAMES, "assignments[0].column"),
    wrong("empty", "UPDATE_002", update("'1'", "«''"), "Invalid column name: ''", NAMES, "assignments[0].column"),
    wrong(
        "dotted",
        "UPDATE_002",
        update("'1'", "«orders.x"),
        "Invalid column name: 'orders.x'",
        NAMES,
        "assignments[0].column",
    ),
    wrong("accent", "UPDATE_002", update("'1'", "«prénom"), "Invalid column name", NAMES, "assignments[0].column"),
    wrong("row_id", "UPDATE_003", update("'\"x\"'", "«_row_id"), "_row_id", "only _labels", "assignments[0].column"),
    wrong("deleted", "UPDATE_003", update("'TRUE'", "«_deleted"), "_deleted", "only _labels", "assignments[0].column"),
    wrong("period", "UPDATE_003", update("'\"2026\"'", "«_period"), "_period", "only _labels", "assignments[0].column"),
    wrong(
        "period_from",
        "UPDATE_003",
        update("ordered_on", "«_period_from"),
        "_period_from",
        "only _labels",
        "assignments[0].column",
    ),
    wrong(
        "case_twin",
        "CATALOG_002",
        update("'1'", "«Amount"),
        "differs from column 'amount'",
        "'amount'",
        "assignments[0].column",
    ),
    wrong(
        "case_twin_of_system",
        "CATALOG_002",
        update("'1'", "«_Deleted"),
        "'_deleted'",
        "'_deleted'",
        "assignments[0].column",
    ),
    wrong(
        "twice",
        "UPDATE_006",
        "{seq: 10, name: set, type: update, arguments: {assignments: [{column: a, expression: '1'}, {column: «a, expression: '2'}]}}",
        "column 'a' is assigned twice",
        "second operation",
        "assignments[1].column",
    ),
    wrong(
        "twice_in_other_case",
        "CATALOG_002",
        "{seq: 10, name: set, type: update, arguments: {assignments: [{column: a, expression: '1'}, {column: «A, expression: '2'}]}}",
        "differs from column 'a'",
        "'a'",
        "assignments[1].column",
    ),
    wrong(
        "case_twin_of_added",
        "CATALOG_002",
        (update("'1'"), update("'1'", "«Total", seq=20)),
        "'total'",
        "'total'",
        "assignments[0].column",
    ),
]
SELECTORS_WRONG = [
    wrong("update", "EXPR_002", update("'1'", selector="'«regin = \"x\"'"), SELECTOR, "'region'", "selector"),
    wrong(
        "delete", "EXPR_002", delete("'«regin = \"x\"'"), SELECTOR + "unknown column 'regin'", "'region'", "selector"
    ),
    wrong("syntax", "EXPR_001", delete("'amount > «'").replace("> «'", "> 1 «2'"), SELECTOR, None, "selector"),
    wrong("not_a_condition", "EXPR_004", delete("«amount"), SELECTOR + "a condition is needed", "compare", "selector"),
    wrong("text_condition", "EXPR_004", delete("«region"), SELECTOR, None, "selector"),
    wrong("aggregate_in_it", "EXPR_005", delete("'«SUM(amount) > 10'"), SELECTOR, None, "selector"),
    wrong("function", "EXPR_003", delete("'«STARTS(region, \"E\")'"), SELECTOR, None, "selector"),
    wrong(
        "not_defined",
        "SELECTOR_001",
        delete("'«{{EMEIA}}'"),
        "Selector 'EMEIA' not defined in Project",
        "'EMEA'",
        "selector",
    ),
    wrong(
        "part_not_defined",
        "SELECTOR_001",
        delete("'amount > 1 AND «{{X}}'"),
        "Selector 'X' not defined in Project",
        None,
        "selector",
    ),
    wrong("unknown_table", "JOIN_009", delete("'«customer.tier = \"gold\"'"), "'customer'", None, "selector"),
    wrong("lookup_column", "EXPR_002", delete("'«people.tear = \"x\"'"), SELECTOR, "'tier'", "selector"),
    wrong(
        "alias_of_another_operation",
        "JOIN_009",
        (update("c.tier", more=join("customer_id = c.id")), delete("'«c.tier = \"x\"'", seq=20)),
        "'c'",
        None,
        "selector",
    ),
    wrong(
        "output",
        "EXPR_004",
        output(", columns: [region]").replace("type: output,", "type: output, selector: '«amount + 1',"),
        SELECTOR,
        None,
        "selector",
    ),
    wrong(
        "aggregate",
        "EXPR_002",
        aggregate("SUM(amount)").replace("type: aggregate,", "type: aggregate, selector: '«x > 1',"),
        SELECTOR,
        None,
        "selector",
    ),
]
JOINS = [
    wrong(
        "unknown_dataset",
        "JOIN_001",
        update("c.tier", more=join("customer_id = c.id", dataset="«custmers")),
        "Dataset custmers not found in MetadataStore",
        "'customers'",
        "joins[0].dataset_id",
    ),
    wrong(
        "disabled",
        "JOIN_002",
        update("c.tier", more=join("customer_id = c.id", dataset="«retired")),
        "Dataset retired is disabled and cannot be used in joins",
        None,
        "joins[0].dataset_id",
    ),
    wrong(
        "disabled_version",
        "JOIN_002",
        update("c.tier", more=join("customer_id = c.id", dataset="«customers", more=", dataset_version: 3")),
        "Dataset customers is disabled and cannot be used in joins",
        None,
        "joins[0].dataset_id",
    ),
    wrong(
        "unknown_version",
        "JOIN_003",
        update("c.tier", more=join("customer_id = c.id", more=", dataset_version: «9")),
        "Dataset customers version 9 not found",
        "1, 2, 3",
        "joins[0].dataset_version",
    ),
    wrong(
        "alias_twice",
        "JOIN_004",
        update(
            "c.tier",
            more="joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}, {alias: «c, dataset_id: customers, on: customer_id = c.id}], ",
        ),
        "Join alias 'c' is already used in this operation",
        "alias of its own",
        "joins[1].alias",
    ),
    wrong(
        "alias_is_main_table",
        "JOIN_005",
        update("region", more=join("customer_id = orders.customer_id", alias="«orders")),
        "Join alias 'orders' conflicts with working dataset table name",
        "another alias",
        "joins[0].alias",
    ),
    wrong(
        "alias_twice_but_for_case",
        "JOIN_004",
        update(
            "c.tier",
            more="joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}, {alias: «C, dataset_id: customers, on: customer_id = C.id}], ",
        ),
        "Join alias 'C' is already used in this operation",
        "only in case",
        "joins[1].alias",
    ),
    wrong(
        "alias_is_lookup_but_for_case",
        "JOIN_005",
        update("region", more=join("TRUE", alias="«Regions")),
        "Join alias 'Regions' conflicts with working dataset table name",
        "only in case",
        "joins[0].alias",
    ),
    wrong(
        "alias_is_lookup",
        "JOIN_005",
        update("region", more=join("TRUE", alias="«regions")),
        "Join alias 'regions' conflicts with working dataset table name",
        "another alias",
        "joins[0].alias",
    ),
    wrong(
        "condition_syntax",
        "JOIN_006",
        update("c.tier", more=join("'customer_id = = c.id'").replace("= = c", "= «= c")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_type",
        "JOIN_006",
        update("c.tier", more=join("'«amount = c.id'")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_not_boolean",
        "JOIN_006",
        update("c.tier", more=join("'«c.id'")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_aggregate",
        "JOIN_006",
        update("c.tier", more=join("'«SUM(amount) = 1'")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_function",
        "JOIN_006",
        update("c.tier", more=join("'«NEAR(customer_id, c.id)'")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_selector",
        "JOIN_006",
        update("c.tier", more=join("'«{{EMEA}}'")),
        "Join condition failed to compile: ",
        None,
        "joins[0].on",
    ),
    wrong(
        "condition_column",
        "JOIN_007",
        update("c.tier", more=join("'«customr_id = c.id'")),
        "Unknown column 'customr_id' in join condition",
        "'customer_id'",
        "joins[0].on",
    ),
    wrong(
        "condition_alias_column",
        "JOIN_007",
        update("c.tier", more=join("'customer_id = «c.idd'")),
        "Unknown column 'idd' in join condition",
        "'id'",
        "joins[0].on",
    ),
    wrong(
        "condition_table", "JOIN_009", update("c.tier", more=join("'customer_id = «d.id'")), "'d'", None, "joins[0].on"
    ),
    wrong(
        "condition_later_alias",
        "JOIN_009",
        update(
            "c.tier",
            more="joins: [{alias: c, dataset_id: customers, on: 'c.id = «d.id'}, {alias: d, dataset_id: customers, on: customer_id = d.id}], ",
        ),
        "'d'",
        None,
        "joins[0].on",
    ),
    wrong(
        "assignment_column",
        "JOIN_008",
        update("'«c.tear'", more=join("customer_id = c.id")),
        "Unknown column 'c.tear' in assignment expression",
        "'tier'",
        EXPRESSION,
    ),
    wrong(
        "pinned_column",
        "JOIN_008",
        update("'«c.discount'", more=join("customer_id = c.id", more=", dataset_version: 1")),
        "Unknown column 'c.discount' in assignment expression",
        None,
        EXPRESSION,
    ),
    wrong(
        "assignment_table", "JOIN_009", update("'«x.tier'", more=join("customer_id = c.id")), "'x'", None, EXPRESSION
    ),
    wrong(
        "bare_is_no_alias",
        "EXPR_002",
        update("'«tier'", more=join("customer_id = c.id")),
        "unknown column 'tier'",
        ".tier",
        EXPRESSION,
    ),
    wrong(
        "selector_column",
        "EXPR_002",
        update("c.tier", more=join("customer_id = c.id"), selector="'«c.tear = \"x\"'"),
        SELECTOR,
        "'tier'",
        "selector",
    ),
]
AGGREGATES = [
    wrong("no_group_by", "AGG_001", aggregate("SUM(amount)", group_by="«[]"), "group_by", "make a group", "group_by"),
    wrong(
        "no_aggregations",
        "AGG_001",
        "{seq: 10, name: sum, type: aggregate, arguments: {group_by: [region], aggregations: «[]}}",
        "aggregation",
        "SUM",
        "aggregations",
    ),
    wrong(
        "unknown_group", "AGG_002", aggregate("SUM(amount)", group_by="[«regin]"), "'regin'", "'region'", "group_by[0]"
    ),
    wrong(
        "unknown_group_table",
        "AGG_002",
        aggregate("SUM(amount)", group_by="[«orders.regin]"),
        "'orders.regin'",
        "'region'",
        "group_by[0]",
    ),
    wrong(
        "group_by_lookup",
        "AGG_002",
        aggregate("SUM(amount)", group_by="[«regions.manager]"),
        "'regions.manager'",
        None,
        "group_by[0]",
    ),
    wrong(
        "group_twice",
        "AGG_003",
        aggregate("SUM(amount)", group_by="[region, «orders.region]"),
        "'region'",
        "leave one",
        "group_by[1]",
    ),
    wrong(
        "output_twice",
        "AGG_003",
        "{seq: 10, name: s, type: aggregate, arguments: {group_by: [region], aggregations: [{column: a, expression: COUNT(*)}, {column: «a, expression: COUNT(*)}]}}",
        "'a' is aggregated twice",
        "another column",
        "aggregations[1].column",
    ),
    wrong(
        "output_is_group",
        "AGG_003",
        aggregate("COUNT(*)", "«region"),
        "'region' is grouped by",
        "another column",
        "aggregations[0].column",
    ),
    wrong(
        "no_aggregate",
        "AGG_004",
        aggregate("«'1'").replace("«'1'", "'«1'"),
        "no aggregate",
        "SUM",
        "aggregations[0].expression",
    ),
    wrong(
        "column_outside",
        "AGG_004",
        aggregate("'SUM(amount) + «quantity'"),
        "outside an aggregate",
        None,
        "aggregations[0].expression",
    ),
    wrong("bare_column", "AGG_004", aggregate("'«amount'"), "outside an aggregate", None, "aggregations[0].expression"),
    wrong("nested", "EXPR_005", aggregate("'SUM(«SUM(amount))'"), "nest", None, "aggregations[0].expression"),
    wrong(
        "system_output",
        "AGG_005",
        aggregate("COUNT(*)", "«_labels"),
        "'_labels'",
        "another column",
        "aggregations[0].column",
    ),
    wrong(
        "system_output_id",
        "AGG_005",
        aggregate("COUNT(*)", "«_row_id"),
        "'_row_id'",
        "another column",
        "aggregations[0].column",
    ),
    wrong("bad_name", "CATALOG_002", aggregate("COUNT(*)", "«'a b'"), "'a b'", NAMES, "aggregations[0].column"),
    wrong(
        "case_twin",
        "CATALOG_002",
        aggregate("COUNT(*)", "«Quantity"),
        "'quantity'",
        "'quantity'",
        "aggregations[0].column",
    ),
    wrong(
        "unknown_column",
        "EXPR_002",
        aggregate("'SUM(«amont)'"),
        "unknown column 'amont'",
        "'amount'",
        "aggregations[0].expression",
    ),
    wrong("unknown_function", "EXPR_003", aggregate("'«MEDIAN(amount)'"), "MEDIAN", None, "aggregations[0].expression"),
    wrong("sum_of_text", "EXPR_004", aggregate("'SUM(«region)'"), "SUM needs", None, "aggregations[0].expression"),
    wrong(
        "not_assignable",
        "EXPR_004",
        aggregate("«COUNT(*)", "status"),
        "column 'status'",
        "fit",
        "aggregations[0].expression",
    ),
    wrong("unknown_table", "JOIN_009", aggregate("'SUM(«fx.rate)'"), "'fx'", None, "aggregations[0].expression"),
    wrong("syntax", "EXPR_001", aggregate("'SUM«(amount'"), "", None, "aggregations[0].expression"),
    wrong(
        "two_types",
        "EXPR_004",
        (update("region", "kind"), aggregate("«SUM(amount)", "kind", seq=20)),
        "no type holds",
        "one type",
        "aggregations[0].expression",
    ),
]
GROUPED = ", aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(value)}]}"
APPENDS = [
    wrong("unknown", "APPEND_001", append("«bugdet"), "'bugdet'", "'budget'", "source.dataset_id"),
    wrong(
        "version",
        "APPEND_002",
        append("budget, dataset_version: «7"),
        "version 7",
        "known versions: 1",
        "source.dataset_version",
    ),
    wrong("disabled", "DATASET_002", append("«retired"), "'retired' is disabled", None, "source.dataset_id"),
    wrong(
        "column_type",
        "APPEND_003",
        append("mistyped").replace("source: {", "source: «{"),
        "Column 'amount' is string",
        None,
        "source",
    ),
    wrong(
        "aggregated_column",
        "APPEND_003",
        append("plan", GROUPED.replace("column: amount", "column: «amout")),
        "Column 'amout' not in working dataset",
        "'amount'",
        "aggregation.aggregations[0].column",
    ),
    wrong(
        "grouped_column",
        "APPEND_003",
        append("plan", GROUPED.replace("[region]", "[«kind]")),
        "Column 'kind' not in working dataset",
        None,
        "aggregation.group_by[0]",
    ),
    wrong(
        "aggregated_type",
        "APPEND_003",
        append("plan", GROUPED.replace("column: amount, expression: ", "column: status, expression: «")),
        "Column 'status' is decimal",
        None,
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "selector_syntax",
        "APPEND_004",
        append("budget", ", source_selector: 'amount > > 1'").replace("> > 1", "> «> 1"),
        "",
        None,
        "source_selector",
    ),
    wrong(
        "selector_type",
        "APPEND_004",
        append("budget", ", source_selector: '«amount = region'"),
        "",
        None,
        "source_selector",
    ),
    wrong(
        "selector_no_condition",
        "APPEND_004",
        append("budget", ", source_selector: '«amount'"),
        "a condition is needed",
        None,
        "source_selector",
    ),
    wrong(
        "selector_aggregate",
        "EXPR_005",
        append("budget", ", source_selector: '«SUM(amount) > 1'"),
        "Invalid selector expression: the aggregate function SUM",
        None,
        "source_selector",
    ),
    wrong(
        "selector_function",
        "EXPR_003",
        append("budget", ", source_selector: '«TOTAL(amount) > 1'"),
        "Invalid selector expression: unknown function 'TOTAL'",
        None,
        "source_selector",
    ),
    wrong(
        "selector_not_defined",
        "SELECTOR_001",
        append("budget", ", source_selector: '«{{X}}'"),
        "Selector 'X' not defined in Project",
        None,
        "source_selector",
    ),
    wrong(
        "selector_column",
        "APPEND_006",
        append("budget", ", source_selector: '«amont > 1'"),
        "'amont'",
        "'amount'",
        "source_selector",
    ),
    wrong(
        "selector_working_column",
        "APPEND_006",
        append("budget", ", source_selector: '«quantity > 1'"),
        "'quantity'",
        None,
        "source_selector",
    ),
    wrong(
        "selector_working_table",
        "APPEND_006",
        append("budget", ", source_selector: '«orders.amount > 1'"),
        "'orders'",
        None,
        "source_selector",
    ),
    wrong(
        "unknown_aggregate",
        "APPEND_005",
        append("plan", GROUPED.replace("SUM(value)", "«MEDIAN(value)")),
        "MEDIAN",
        None,
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "aggregated_source",
        "APPEND_006",
        append("plan", GROUPED.replace("SUM(value)", "SUM(«vale)")),
        "'vale'",
        "'value'",
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "group_source",
        "APPEND_006",
        append("plan", GROUPED.replace("[region]", "[«regin]")),
        "'regin'",
        "'region'",
        "aggregation.group_by[0]",
    ),
    wrong(
        "no_group",
        "AGG_001",
        append("plan", GROUPED.replace("[region]", "«[]")),
        "group_by",
        None,
        "aggregation.group_by",
    ),
    wrong(
        "no_aggregations",
        "AGG_001",
        append("plan", ", aggregation: {group_by: [region], aggregations: «[]}"),
        "aggregation",
        None,
        "aggregation.aggregations",
    ),
    wrong(
        "group_twice",
        "AGG_003",
        append("plan", GROUPED.replace("[region]", "[region, «region]")),
        "'region'",
        None,
        "aggregation.group_by[1]",
    ),
    wrong(
        "no_aggregate",
        "AGG_004",
        append("plan", GROUPED.replace("SUM(value)", "'«1'")),
        "no aggregate",
        None,
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "column_outside",
        "AGG_004",
        append("plan", GROUPED.replace("SUM(value)", "«value")),
        "outside",
        None,
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "system_output",
        "AGG_005",
        append("plan", GROUPED.replace("column: amount", "column: «_labels")),
        "_labels",
        None,
        "aggregation.aggregations[0].column",
    ),
    wrong(
        "sum_of_text",
        "EXPR_004",
        append("plan", GROUPED.replace("SUM(value)", "SUM(«note)")),
        "SUM needs",
        None,
        "aggregation.aggregations[0].expression",
    ),
    wrong(
        "not_in_working",
        "APPEND_003",
        (append("rates").replace("source: {", "source: «{"), update("'\"x\"'", "currency", seq=5)),
        "Column 'rate' not in working dataset",
        None,
        "source",
    ),
]
TO_LAKE = "{datasource_id: lake, path: %s}"
OUTPUTS = [
    wrong("unknown_column", "OUTPUT_001", output(", columns: [region, «amont]"), "'amont'", "'amount'", "columns[1]"),
    wrong(
        "repeated_column", "OUTPUT_001", output(", columns: [region, «region]"), "'region'", "leave one", "columns[1]"
    ),
    wrong("no_column", "OUTPUT_001", output(", columns: «[]"), "at least one", "leave `columns` out", "columns"),
    wrong(
        "alias_column", "OUTPUT_001", output(", columns: [«regions.manager]"), "'regions.manager'", None, "columns[0]"
    ),
    wrong(
        "later_column",
        "OUTPUT_001",
        (output(", columns: [«total]", seq=5), update("'1'")),
        "'total'",
        None,
        "columns[0]",
    ),
    wrong(
        "unknown_datasource",
        "OUTPUT_002",
        output(destination="{datasource_id: «lak, table: out}"),
        "'lak'",
        "'lake'",
        "destination.datasource_id",
    ),
    wrong(
        "disabled_datasource",
        "OUTPUT_002",
        output(destination="{datasource_id: «closed, table: out}"),
        "disabled",
        None,
        "destination.datasource_id",
    ),
    *(
        wrong(
            f"own_table_{number}",
            "OUTPUT_002",
            output(destination=destination),
            "keep what they stage and publish",
            "another table",
            "destination.table",
        )
        for number, destination in enumerate(
            [
                "{datasource_id: dwh, table: «runtime_publish_ledger}",
                "{datasource_id: dwh, table: «finance.Runtime_Publish_Ledger}",
                "{datasource_id: dwh, table: «rt_stage_0123456789_1_ab}",
                "{type: jdbc, table: «runtime_publish_ledger, options: {url: 'jdbc:postgresql://db/dwh'}}",
            ]
        )
    ),
    wrong(
        "neither_table_nor_path",
        "OUTPUT_002",
        output(destination="«{datasource_id: lake}"),
        "either a table or a path",
        None,
        "destination",
    ),
    wrong(
        "both_table_and_path",
        "OUTPUT_002",
        output(destination="«{datasource_id: lake, table: a, path: b}"),
        "either a table or a path",
        None,
        "destination",
    ),
    wrong(
        "no_place",
        "OUTPUT_002",
        output(destination="«{table: a}"),
        "neither a datasource nor a type",
        None,
        "destination",
    ),
    wrong(
        "inline_without_path",
        "OUTPUT_002",
        output(destination="«{type: parquet}"),
        "needs a path",
        "path",
        "destination",
    ),
    wrong(
        "jdbc_path",
        "OUTPUT_002",
        output(destination="{datasource_id: dwh, path: «a}"),
        "is a database",
        "table",
        "destination.path",
    ),
    wrong("parent_path", "OUTPUT_002", output(destination=TO_LAKE % "«../out"), "'..'", "below", "destination.path"),
    wrong(
        "inner_parent_path",
        "OUTPUT_002",
        output(destination=TO_LAKE % "«a/../../b"),
        "'..'",
        "below",
        "destination.path",
    ),
    wrong(
        "absolute_path",
        "OUTPUT_002",
        output(destination=TO_LAKE % "«/etc/out"),
        "absolute",
        "below",
        "destination.path",
    ),
    wrong(
        "uri_path",
        "OUTPUT_002",
        output(destination=TO_LAKE % "«'s3a://other/out'"),
        "absolute",
        "below",
        "destination.path",
    ),
    *(
        wrong(
            f"invisible_{character}_in_path",
            "OUTPUT_002",
            output(destination=TO_LAKE % f'«"a\\u{character}b"'),
            "control character",
            "below",
            "destination.path",
        )
        for character in ("0007", "009b", "061c", "200b", "200f", "2028", "202e")
    ),
    *(
        wrong(
            f"root_as_{name}",
            "OUTPUT_002",
            output(destination=f"{{type: parquet, path: «'{root}'}}"),
            "names no folder",
            "plain path",
            "destination.path",
        )
        for name, root in (("path", "/"), ("uri", "file:///"), ("store", "s3a://"))
    ),
    wrong(
        "parent_table",
        "OUTPUT_002",
        output(destination="{datasource_id: lake, table: «../out}"),
        "'..'",
        "below",
        "destination.table",
    ),
    wrong(
        "jdbc_without_period",
        "OUTPUT_002",
        output(", columns: «[region]", destination="{datasource_id: dwh, table: out}"),
        "_period",
        "overwrite",
        "columns",
    ),
]
REGISTERED = [
    wrong(
        "name_of_a_dataset",
        "CATALOG_003",
        output(", register_as_dataset: «Budget"),
        "'Budget'",
        "catalog.yaml",
        "register_as_dataset",
    ),
    wrong(
        "id_of_a_dataset",
        "CATALOG_003",
        output(", register_as_dataset: «budget"),
        "'budget'",
        "catalog.yaml",
        "register_as_dataset",
    ),
    wrong(
        "system_columns_only",
        "OUTPUT_001",
        output(", columns: «[_row_id], register_as_dataset: X"),
        "system column",
        "add a column",
        "columns",
    ),
]
ALL = [*REGISTERED, *ASSIGNMENTS, *ASSIGNED_COLUMNS, *SELECTORS_WRONG, *JOINS, *AGGREGATES, *APPENDS, *OUTPUTS]


@pytest.mark.parametrize("case", ALL)
def test_wrong_project_gives_one_problem_at_its_place(case: Wrong) -> None:
    checked = check_operations(*case.operations, selectors="EMEA: 'orders.region = \"EMEA\"'")
    assert [problem.code for problem in checked.problems] == [case.code], checked.problems
    (problem,) = checked.problems
    place = problem.location
    assert (place.line, place.column) == checked.expected_places[0], problem
    assert case.message in problem.message
    if case.hint is not None:
        assert case.hint in (problem.hint or ""), problem.hint
    inner = case.field if case.field in ("selector", "arguments") else f"arguments.{case.field}"
    assert place.field in [f"operations[{index}].{inner}" for index in range(len(case.operations))]
    assert place.file == "project.yaml"
    assert place.project == "close"
    assert place.operation_seq is not None


def test_table_has_more_than_a_hundred_cases() -> None:
    assert len(ALL) > 100
