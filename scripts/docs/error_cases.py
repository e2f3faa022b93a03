"""Every error code: what it means, what to do, and a mistake that shows it."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass

CATALOG = """datasource: {id: lake, type: parquet, path_prefix: data}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules:
    - name: monthly
      strategy: {type: path, datasource_id: lake, path: "{{table_name}}/{{YYYY}}-{{MM}}.parquet"}
---
dataset:
  id: orders
  name: Orders
  version: 1
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: region, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: rates
  name: Rates
  version: 1
  main_table: {name: rates, columns: [{name: region, type: string}, {name: rate, type: decimal}]}
---
dataset:
  id: old-rates
  name: Old Rates
  version: 1
  status: disabled
  main_table: {name: old_rates, columns: [{name: region, type: string}, {name: rate, type: decimal}]}
"""
PROJECT = """project:
  id: sales
  name: sales
  version: 1
  input_dataset_id: orders
  selectors: {EMEA: 'region = "EMEA"'}
  operations:
    - seq: 10
      name: convert
      type: update
      selector: amount > 0
      arguments:
        joins: [{alias: r, dataset_id: rates, on: orders.region = r.region}]
        assignments:
          - {column: converted, expression: "ROUND(amount * r.rate, 2)"}
    - seq: 20
      name: totals
      type: aggregate
      arguments:
        group_by: [region]
        aggregations:
          - {column: total, expression: SUM(amount)}
    - seq: 30
      name: more
      type: append
      arguments:
        source: {dataset_id: orders}
        source_selector: amount > 100
        aggregation:
          group_by: [region]
          aggregations: [{column: amount, expression: SUM(amount)}]
    - seq: 40
      name: write
      type: output
      arguments:
        destination: {datasource_id: lake, path: out}
        columns: [region, amount, total]
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A code with its meaning and remedy; the example is made by a change of the texts above, or written out."""

    code: str
    meaning: str
    remedy: str
    old: str = ""
    new: str = ""
    """Replaces `old` in the project, or in the catalog if it is not there."""
    how: str = "validate"
    """validate, resolve, or the name of a function of errors.py."""
    period: str = "2026-01"
    sample: str = ""
    """Written out where only a running job or another process can show it."""


CASES: tuple[Case, ...] = (
    Case("CATALOG_001", "A file cannot be read, is not UTF-8 or not YAML, or a mapping has a key twice.", "Correct the file at the place shown; the catalog folder itself is named with `--catalog`.", "  version: 1\n  input", "  version: 1\n  version: 2\n  input"),
    Case("CATALOG_002", "An unknown kind or key, a missing key, or a value that its key does not take; also reserved, repeated or case-equal column names, two default resolvers, and options that are given twice, hold a secret, move files, or could run code.", "Take the key or value that the hint names. Secrets belong into a connection or an environment variable, named by `credential_ref`.", "  input_dataset_id: orders", "  input_dataset: orders"),
    Case("CATALOG_003", "Two documents have the same id and version, or two datasets the same name; also a dataset that is both written in the catalog and registered by a project.", "Give one of them another id, name or version.", "dataset:\n  id: old-rates", "dataset:\n  id: rates"),
    Case("CATALOG_004", "A definition refers to a resolver, datasource, calendar or level that does not exist, or to a credential or connection that cannot be used.", "Correct the reference, or add what it refers to.", "  input_dataset_id: orders", "  calendar: fiscal\n  input_dataset_id: orders"),
    Case("CATALOG_005", "A definition has another content than the one that was used under the same id and version. Descriptions, operation names and the `airflow` block do not count.", "Give the changed definition the next version, or undo the change. The old version may stay beside it as a document of its own, as it was. While you are still trying things out use `status: draft`, which is exempt.", how="changed_definition"),
    Case("PROJECT_001", "No project has this id or name.", "See the names in the hint; `--catalog` says which folder is read.", how="missing_project"),
    Case("PROJECT_002", "The project cannot run in its status: it is inactive, or it is a draft and there is no sandbox datasource.", "Activate it, or add a datasource `sandbox` (or name one with `--sandbox`) for drafts.", "  version: 1\n  input", "  version: 1\n  status: draft\n  input", how="resolve"),
    Case("PROJECT_003", "An operation's `seq` is not positive, or two operations have the same.", "Number the operations 10, 20, 30 … so that there is room between them.", "- seq: 20", "- seq: 10"),
    Case("PERIOD_001", "The calendar has no period with this identifier, or the period's level is not the project's.", "Write the identifier as the calendar does: `2026-01`, `2026-Q1`, `2026`, `2026-01-31`, or one of the calendar's own.", how="resolve", period="2026-13"),
    Case("PERIOD_002", "The period is closed or locked, in the calendar's file or in the registry.", "A closed period is reopened with `airflow-runtime periods --reopen PERIOD --reason …` or run with `--allow-closed`; a locked one never changes again.", how="closed_period"),
    Case("PERIOD_003", "In Airflow: the period has not begun.", "Choose an earlier period.", how="period_not_begun"),
    Case("PERIOD_004", "In Airflow: the period has not ended.", "Wait, or set `allow_open_period: true` in the project's `airflow` block for runs on data that are still coming in.", how="period_not_ended"),
    Case("PERIOD_005", "In Airflow: `requires_previous_period` is set and the period before was not published within the task's `execution_timeout`.", "Run the period before, or give the resolve task more time.", sample="PERIOD_005 the period before, 2025-12, was not published within 2:00:00\n  hint: run sales for 2025-12 first"),
    Case("DATASET_001", "The input dataset, or one that a lookup refers to, does not exist.", "Correct the id or name. A dataset that another project registers counts, too.", "  input_dataset_id: orders", "  input_dataset_id: oders"),
    Case("DATASET_002", "The input dataset, a lookup's or an append's is disabled.", "Activate it, or use another version.", "  input_dataset_id: orders", "  input_dataset_id: old-rates"),
    Case("DATASET_003", "The dataset has no such version.", "Name one that exists, or leave the version out to get the latest.", "  input_dataset_id: orders", "  input_dataset_id: orders\n  input_dataset_version: 7"),
    Case("SELECTOR_001", "`{{NAME}}` refers to a selector that the project does not define.", "Add it below `selectors`, or correct the name.", "selector: amount > 0", 'selector: "{{EMAE}}"'),
    Case("EXPR_001", "The expression cannot be read, or it holds a date that does not exist.", "See the place under the caret and [the syntax](expressions.md#syntax).", '"ROUND(amount * r.rate, 2)"', '"ROUND(amount * r.rate, 2"'),
    Case("EXPR_002", "The column does not exist at this operation.", "Take the name from the hint; a column that an operation adds exists from that operation on.", "selector: amount > 0", "selector: amont > 0"),
    Case("EXPR_003", "The function does not exist, or takes another number of arguments.", "See the [table of functions](expressions.md#functions).", "ROUND(amount * r.rate, 2)", "RUND(amount * r.rate, 2)"),
    Case("EXPR_004", "Types do not fit: those of operands, of arguments, or of an assigned column; or a condition is not a boolean.", "Nothing is converted silently; see [types](expressions.md#types). Where digits do not fit, use ROUND.", "selector: amount > 0", 'selector: amount > "0"'),
    Case("EXPR_005", "An aggregate function is used in an expression about single rows.", "Aggregate in an `aggregate` operation first, or in the aggregation of an `append`.", "ROUND(amount * r.rate, 2)", "SUM(amount)"),
    Case("UPDATE_001", "An update assigns nothing.", "Add an assignment, or remove the operation.", '        assignments:\n          - {column: converted, expression: "ROUND(amount * r.rate, 2)"}\n', "        assignments: []\n"),
    Case("UPDATE_002", "The name of an assigned column is not a valid name.", "Use letters, digits and `_`, not beginning with a digit.", "column: converted", 'column: "2nd amount"'),
    Case("UPDATE_003", "An update assigns a system column.", "Only `_labels` can be assigned; the engine keeps the others.", "column: converted", "column: _row_id"),
    Case("UPDATE_006", "One update assigns a column twice.", "Keep one, or use a second operation: assignments of one operation all see the values from before it.", '          - {column: converted, expression: "ROUND(amount * r.rate, 2)"}\n', "          - {column: converted, expression: amount}\n          - {column: converted, expression: r.rate}\n"),
    Case("JOIN_001", "The joined dataset does not exist.", "Correct the id or name.", "dataset_id: rates", "dataset_id: rate"),
    Case("JOIN_002", "The joined dataset is disabled, or the version that is asked for is.", "Activate it, or join another version.", "dataset_id: rates", "dataset_id: old-rates"),
    Case("JOIN_003", "The joined dataset has no such version.", "Name one that exists, or leave the version out to get the latest.", "dataset_id: rates", "dataset_id: rates, dataset_version: 2"),
    Case("JOIN_004", "Two joins of one operation have the same alias.", "Rename one.", "joins: [", "joins: [{alias: r, dataset_id: rates, on: orders.region = r.region}, "),
    Case("JOIN_005", "A join's alias is the name of the main table or of a lookup.", "Rename the alias.", "{alias: r, dataset_id: rates, on: orders.region = r.region}", "{alias: orders, dataset_id: rates, on: region = orders.region}"),
    Case("JOIN_006", "The join's condition cannot be compiled.", "See the reason in the message and the place under the caret.", "on: orders.region = r.region", "on: orders.amount = r.region"),
    Case("JOIN_007", "The join's condition names a column that does not exist.", "Take the name from the hint.", "on: orders.region = r.region", "on: orders.region = r.regoin"),
    Case("JOIN_008", "An assignment reads a column that the joined dataset does not have.", "Take the name from the hint.", "ROUND(amount * r.rate, 2)", "ROUND(amount * r.rte, 2)"),
    Case("JOIN_009", "The name before the point is neither the main table, nor a lookup, nor a join of this operation.", "Add the join to this operation: aliases are not seen by other operations.", "ROUND(amount * r.rate, 2)", "ROUND(amount * fx.rate, 2)"),
    Case("JOIN_010", "While running: a row finds more than one match in a join or lookup. An update never multiplies rows.", "Make the join's condition match one row only, or correct the joined data (overlapping validity is the usual reason).", sample="JOIN_010 more than one match for 'r' in operation 10: region = EMEA\n  hint: make the joined rows unique for these columns, or narrow the condition"),
    Case("JOIN_011", "While running: a row that the update touches has no match in a join with `required: true`. Nothing is published.", "Add the rows that are missing, or say with `default` what a row without a match gets.", sample="JOIN_011 no match for 'fx' in operation 10, 3 rows: currency = XXX (2 rows); currency = NULL (1 row)\n  hint: add the missing rows, or let the join have a `default` in place of `required`"),
    Case("AGG_001", "An aggregate aggregates nothing.", "Name at least one aggregation; `group_by: []` makes one row of all.", "        aggregations:\n          - {column: total, expression: SUM(amount)}\n", "        aggregations: []\n"),
    Case("AGG_002", "A column of `group_by` does not exist at this operation.", "Take the name from the hint.", "        group_by: [region]\n        aggregations:\n", "        group_by: [regoin]\n        aggregations:\n"),
    Case("AGG_003", "A column occurs twice in `group_by` or among the aggregations.", "Remove one.", "        group_by: [region]\n        aggregations:\n", "        group_by: [region, region]\n        aggregations:\n"),
    Case("AGG_004", "An aggregation is not an aggregate expression: every column must be inside an aggregate function.", "Write for example `SUM(amount)`.", "{column: total, expression: SUM(amount)}", "{column: total, expression: amount}"),
    Case("AGG_005", "An aggregation fills a system column.", "Choose another name.", "{column: total, expression: SUM(amount)}", "{column: _labels, expression: MAX_AGG(region)}"),
    Case("APPEND_001", "The dataset to append does not exist.", "Correct the id or name.", "source: {dataset_id: orders}", "source: {dataset_id: order}"),
    Case("APPEND_002", "The dataset to append has no such version.", "Name one that exists, or leave the version out to get the latest.", "source: {dataset_id: orders}", "source: {dataset_id: orders, dataset_version: 9}"),
    Case("APPEND_003", "A column of the appended rows does not exist in the working dataset, or cannot be put into it.", "Add the column with an earlier update or with `add_columns: true`, or leave it out with an aggregation.", "aggregations: [{column: amount, expression: SUM(amount)}]", "aggregations: [{column: budget, expression: SUM(amount)}]"),
    Case("APPEND_004", "The `source_selector` cannot be read, or its types do not fit.", "See the reason in the message.", "source_selector: amount > 100", "source_selector: amount > region"),
    Case("APPEND_005", "The aggregation of an append uses an unknown function.", "See the [table of functions](expressions.md#functions).", "aggregations: [{column: amount, expression: SUM(amount)}]", "aggregations: [{column: amount, expression: MEDIAN(amount)}]"),
    Case("APPEND_006", "An expression of an append names a column that the source does not have. It sees the source's columns only.", "Take the name from the hint.", "source_selector: amount > 100", "source_selector: total > 100"),
    Case("APPEND_007", "No resolver can say where the data to append are. For other datasets this is `RESOLVE_001` to `RESOLVE_004`.", "See the remedies of these codes.", how="append_unresolved"),
    Case("APPEND_008", "While running: the data to append are not there or cannot be read.", "Write them first, or let the resolver's rule say `on_missing: empty`.", sample="APPEND_008 table 'orders' of dataset 'orders': no data at file:///books/data/orders/2026-01.parquet\n  hint: write the data first, or let the resolver's rule say `on_missing: empty`"),
    Case("OUTPUT_001", "An output names a column that does not exist at this operation, or one twice.", "Take the name from the hint.", "columns: [region, amount, total]", "columns: [region, amount, totl]"),
    Case("OUTPUT_002", "The destination cannot be resolved, an output over JDBC leaves out `_period`, the class of its driver is missing, or the output would replace what another one writes or the run reads.", "Correct the datasource; give every output its own place; add `_period` to the columns, or write with `write_mode: overwrite`; put the driver's jar on `--jars`.", "destination: {datasource_id: lake, path: out}", "destination: {datasource_id: lakee, path: out}"),
    Case("OUTPUT_003", "While running: writing or publishing failed. A run that is tried again completes what is missing and repeats nothing.", "See the reason (disk, permissions, database) and run again.", sample="OUTPUT_003 writing to lake/out failed: No space left on device\n  hint: run it again: what was published already is found"),
    Case("RESOLVE_001", "The resolver does not exist, or a dataset has none: no override in the project, no `resolver_id`, no default.", "Name an existing resolver, or make one the default with `is_default: true`.", "  is_default: true\n", "", how="resolve"),
    Case("RESOLVE_002", "The resolver is disabled.", "Activate it, or name another.", "  is_default: true\n", "  is_default: true\n  status: disabled\n", how="resolve"),
    Case("RESOLVE_003", "No rule of the resolver matches, or a resolver class or service gave no usable answer. For each rule the message says why.", "Add a rule that matches; one without `when` always does.", "    - name: monthly\n", '    - name: monthly\n      when: table.name = "invoices"\n', how="resolve"),
    Case("RESOLVE_004", "A location has an unknown token in double braces.", "Use one of the [known tokens](resolvers.md#rules).", "{{YYYY}}-{{MM}}", "{{yyyy}}-{{MM}}"),
    Case("SOURCE_001", "An Iceberg or Delta table cannot be read exactly: it has delete files, deletion vectors, column mapping or other features that plain Parquet lacks, or its folder is read as plain files.", "See the hint: rewrite the table without the feature, or read it through a datasource of its own type. [More](tables.md#inputs).", sample="SOURCE_001 table lake/ledger: it has deletion vectors\n  --> gl.yaml:12:21 (close, input_dataset_id)\n  hint: rewrite its files (REORG TABLE … APPLY (PURGE)), then resolve"),
    Case("DATA_001", "While running: there are no data at the location, or they cannot be read.", "Write them first, or let the resolver's rule say `on_missing: empty` if a table without rows is acceptable.", sample="DATA_001 table 'orders' of dataset 'orders': no data at file:///books/data/orders/2026-01.parquet\n  hint: write the data first, or let the resolver's rule say `on_missing: empty`"),
    Case("DATA_002", "While running: the columns that the files or the table have do not fit the declared ones. Each column is listed.", "Correct the declaration (as a new version) or the data. Columns that are not declared are left out silently; missing ones are not.", sample="DATA_002 table 'orders' of dataset 'orders' at /books/data/orders/2026-01.csv: columns 'region', 'amount' are missing; the data have 'id;region;amount'\n  hint: its values seem to be separated by another character: set the datasource option `delimiter: \";\"`"),
    Case("DATA_003", "While running: a value cannot be read as its column's type, is NULL where that is not allowed, or does not fit its column or the destination's; also integer overflow and repeated row ids. Values are never cut off or made NULL.", "Correct the value, or declare a type that holds it.", sample="DATA_003 table 'orders' of dataset 'orders', column 'amount': value 12,50 cannot be read as decimal(18,2), in file:/books/data/orders/2026-01.csv, line 4711\n  hint: correct the value where it comes from, or declare a type that holds it"),
    Case("DATA_004", "While running: a file was replaced while it was read; or, with `--verify`, the sources or the rows of a snapshot are not those of its earlier execution.", "Do not change a location's files while a run reads them, and run again. To use the new data, resolve again.", sample="DATA_004 table 'orders' of dataset 'orders': /books/data/orders/2026-01.csv was replaced while the run read it\n  hint: do not change a location's files while a run reads them; run again"),
    Case("CHECK_001", "While running: a blocking check failed. Nothing of the run was published; the report holds the results of all checks.", "Look at the failing rows or groups (the report and `airflow-runtime checks` show them), correct the data or the definitions, and run again. If the result is right all the same, [override the check](checks.md#letting-a-failing-check-pass) with a reason.", sample="CHECK_001 Check 'nothing lost' failed: value 5432.10, expected 5432.11 (input), difference -0.01"),
    Case("CHECK_002", "A check is not well defined: an unknown output, none or several of `rows`, `unique` and `value`, a misplaced key, an invalid limit, or a name that is used twice.", "See the message. Expressions have the codes of [expressions](expressions.md), an unknown dataset those of datasets.", "        columns: [region, amount, total]\n", "        columns: [region, amount, total]\n  checks:\n    - {name: one row a region, output: 45, unique: [region]}\n"),
    Case("WARN_001", "A warning: an aggregate or output takes the summary rows of an earlier aggregate as well, and does not say so. [More](warnings.md#warn_001-summary-rows-are-taken-as-well).", "Say which rows are meant: `from: loaded`, `from: [20]`, `from: all`, or a selector on `_operation_seq`.", how="warn"),
    Case("WARN_002", "A warning: a value that is NULL where a join finds nothing is aggregated or written. [More](warnings.md#warn_002-a-value-is-null-where-a-join-finds-nothing).", "Write `required: true` or a `default` in the join, or COALESCE in the expression.", "columns: [region, amount, total]", "columns: [region, converted, total]", how="warn"),
    Case("WARN_003", "A warning: a join, lookup, named selector or dataset that nothing uses. [More](warnings.md#warn_003-nothing-uses-it).", "Remove it.", how="warn"),
    Case("WARN_004", "A warning: a condition that can never be TRUE, or always is. [More](warnings.md#warn_004-a-condition-that-depends-on-no-row).", "Correct it. NULL equals nothing: write IS NULL.", "selector: amount > 0", "selector: amount = NULL", how="warn"),
    Case("WARN_005", "A warning: no output, check or aggregate ever sees what an operation does. [More](warnings.md#warn_005-nobody-sees-what-it-does).", "Remove it, or let a later output write what it makes.", how="warn"),
    Case("WARN_006", "A warning: an output without `key` registers a dataset, or is compared. [More](warnings.md#warn_006-an-output-without-a-key).", "Name the columns that identify a row.", "        columns: [region, amount, total]\n", "        columns: [region, amount, total]\n        register_as_dataset: Totals\n", how="warn"),
    Case("RUN_001", "Another run of this project and period is under way.", "Wait for it to end. If its process has died, its lease runs out by itself.", how="lease_held"),
    Case("RUN_002", "A newer attempt of the run has taken over. This one publishes nothing more.", "Nothing: look at `airflow-runtime runs` for the attempt that counts.", sample="RUN_002 attempt 1795003200001 was replaced by a newer one and publishes nothing"),
    Case("PLAN_001", "Something has moved since it was looked at: a plan, staged rows, or what they were compared with.", "See the message; make a new plan, or run and compare again.", sample="PLAN_001 period 2026-01 was published by run 27073153-3299-4a76-be9c-e0dff495c376 since run 1ac3cbe7-b9ee-4bfd-9b47-a0d2b2e25bcf was staged\n  hint: run it again, and compare with what is published now"),
    Case("APPROVAL_001", "Only approvers whom the project names may publish or refuse staged rows, and nobody their own run's.", "Ask one of those in `publication: by`.", sample="APPROVAL_001 nobody has approved what run 27073153-3299-4a76-be9c-e0dff495c376 has staged for period 2026-01\n  hint: an approver answers in Airflow, or calls `airflow-runtime publish`"),
    Case("SNAPSHOT_001", "A snapshot is missing, is not a snapshot, or does not match its digest.", "Take the file from the snapshot store again, or resolve anew. Snapshots are never edited.", how="changed_snapshot"),
    Case("INFRA_001", "A database, file system, web service or Spark itself could not be used.", "See the reason; the same run may succeed later. In Airflow these errors are retried.", how="registry_away"),
    Case("INFRA_002", "The registry was upgraded by a newer version of the package.", "Upgrade the package here as well.", sample="INFRA_002 the registry has schema 0002, which is newer than this version knows (0001)\n  hint: upgrade airflow-provider-runtime here to the version that the others use"),
)  # fmt: skip
