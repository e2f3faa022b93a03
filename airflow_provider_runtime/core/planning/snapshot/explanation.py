"""A project explained: for every operation its Spark SQL, the schema after it, and column lineage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.calendar.run_period import get_timestamp_after
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation, CheckedProject, WorkingColumn
from airflow_provider_runtime.core.planning.check.validation import load_checked_project
from airflow_provider_runtime.core.planning.check.warnings import list_project_warnings
from airflow_provider_runtime.core.planning.snapshot.check_explanation import CheckDocument, explain_checks
from airflow_provider_runtime.core.planning.snapshot.compile import (
    CompiledOperations,
    compile_operations,
    make_plan_columns,
)
from airflow_provider_runtime.core.planning.snapshot.plan_lineage import PlanLineage, SourceColumn, trace_lineage
from airflow_provider_runtime.core.rendering import ProblemDocument, problem_to_json
from spark_jobs.contract.operations import (
    AggregateOperation,
    AnyOperation,
    AppendOperation,
    DeleteOperation,
    Expression,
    Join,
    Operation,
    OutputOperation,
    UpdateOperation,
    order_joins,
)
from spark_jobs.contract.sql import name_alias, quote_name, strip_marks, write_column


class ColumnDocument(TypedDict):
    """A column of a schema."""

    name: str
    type: str
    nullable: bool
    origin: str


class OperationDocument(TypedDict):
    """One operation, explained."""

    seq: int
    type: str
    name: str
    reads: list[str]
    """Keys of the tables that it reads beside the working dataset."""
    spark_sql: str
    schema: list[ColumnDocument]
    lineage: dict[str, list[str]]
    conditions: list[str]
    destination: str | None
    registers: str | None


class TableDocument(TypedDict):
    """A table that the project reads."""

    key: str
    role: str
    alias: str | None
    dataset: str
    version: int
    table: str
    temporal_mode: str


class Explanation(TypedDict):
    """A project, explained."""

    project: str
    version: int
    period: str | None
    tables: list[TableDocument]
    schema: list[ColumnDocument]
    operations: list[OperationDocument]
    checks: list[CheckDocument]
    errors: list[ProblemDocument]
    """Warnings: what is legal and nearly always wrong."""


def explain_project(root: Path, reference: str, period: str | None = None) -> Explanation:
    """Explain a project of a catalog folder; raise its problems if it has any."""
    checked = load_checked_project(root, reference)
    run = _find_run_constants(checked, period)
    return make_explanation(checked, compile_operations(checked, run=run), period, run=run)


def _find_run_constants(checked: CheckedProject, identifier: str | None) -> RunConstants:
    """Return the constants of a run on the day after the period; without a period, of a run now."""
    project = checked.definition.model
    calendar = checked.catalog.find_calendar(project.calendar)
    assert calendar is not None
    index = make_period_index(calendar.model)
    if identifier is not None:
        period = index.get_period(identifier, project.level)
        return RunConstants.of(get_timestamp_after(period), period, index.find_previous(period))
    now = datetime.now(UTC).replace(microsecond=0)
    found = index.find_by_date(now.date(), project.level)
    if found is None:
        return RunConstants(now, "any-period", now.date(), now.date())
    return RunConstants.of(now, found, index.find_previous(found))


def make_explanation(
    checked: CheckedProject, compiled: CompiledOperations, period: str | None = None, *, run: RunConstants
) -> Explanation:
    """Explain a checked and compiled project."""
    befores = [checked.input_columns, *(operation.columns_after for operation in checked.operations)]
    lineage = trace_lineage("input", make_plan_columns(checked.input_columns), compiled.operations)
    operations = zip(checked.operations, compiled.operations, lineage, befores[:-1], strict=True)
    names = {use.key: f"{use.dataset.model.name}.{use.table.name}" for use in checked.tables}
    compiled_checks, checks = explain_checks(checked, lineage, names, run)
    used = compiled.used_tables | compiled_checks.used_tables
    return Explanation(
        project=checked.definition.model.name,
        version=checked.definition.model.version,
        period=period,
        tables=[
            TableDocument(
                key=use.key,
                role=use.role,
                alias=use.alias,
                dataset=use.dataset.model.name,
                version=use.dataset.model.version,
                table=use.table.name,
                temporal_mode=use.table.temporal_mode,
            )
            for use in checked.tables
            if use.key in used
        ],
        schema=_make_columns(checked.input_columns),
        operations=[
            _make_operation(plan, operation, found, names, strip_marks(write_statement(plan, before)))
            for operation, plan, found, before in operations
        ],
        checks=checks,
        errors=[problem_to_json(warning) for warning in list_project_warnings(checked)],
    )


def _make_columns(columns: Iterable[WorkingColumn]) -> list[ColumnDocument]:
    return [
        ColumnDocument(name=column.name, type=str(column.type), nullable=column.nullable, origin=column.origin)
        for column in columns
    ]


def _make_operation(
    plan: AnyOperation,
    operation: CheckedOperation,
    lineage: PlanLineage,
    names: Mapping[str, str],
    sql: str,
) -> OperationDocument:
    def show(found: frozenset[SourceColumn]) -> list[str]:
        return sorted({f"{names[source.table]}.{source.column}" for source in found})

    return OperationDocument(
        seq=plan.seq,
        type=plan.type,
        name=plan.name,
        reads=list(plan.tables),
        spark_sql=sql,
        schema=_make_columns(operation.columns_after),
        lineage={column: show(found.values) for column, found in lineage.columns.items()},
        conditions=show(lineage.conditions.values),
        destination=plan.destination.display if isinstance(plan, OutputOperation) else None,
        registers=operation.registered_dataset,
    )


def write_statement(plan: AnyOperation, before: Iterable[WorkingColumn]) -> str:
    """Return an operation as one Spark SQL query over the working rows `@w`; system columns are left out."""
    known = frozenset(column.name for column in before)
    is_distinct = isinstance(plan, AppendOperation | OutputOperation) and plan.distinct
    lines = [
        "SELECT DISTINCT" if is_distinct else "SELECT",
        ",\n".join(f"  {item}" for item in _list_items(plan, known)),
    ]
    lines.append(f"FROM {_write_rows(plan)} AS `@w`")
    if isinstance(plan, AppendOperation) and plan.expand is not None:
        alias = quote_name(name_alias(plan.expand.alias))
        lines[-1] = f"FROM {_write_rows(plan.expand.rows)} AS `@w`"
        lines.append(f"JOIN {_write_source(plan)} AS {alias} ON {plan.expand.condition}")
        return "\n".join([*lines, *_write_where(plan.expand.rows)])
    return "\n".join([*lines, *_write_where(plan), *_write_groups(plan)])


def _write_where(plan: Operation) -> list[str]:
    if isinstance(plan, UpdateOperation | DeleteOperation):
        return []
    conditions = [plan.where] if plan.where else []
    sees_deleted = isinstance(plan, AppendOperation) or (isinstance(plan, OutputOperation) and plan.include_deleted)
    if not sees_deleted:
        conditions.insert(0, "NOT `@w`.`_deleted`")
    return ["WHERE " + " AND ".join(f"({text})" for text in conditions)] if conditions else []


def _write_groups(plan: Operation) -> list[str]:
    if isinstance(plan, AggregateOperation | AppendOperation) and plan.group_by:
        return ["GROUP BY " + ", ".join(write_column(None, name) for name in plan.group_by)]
    return []


def _write_source(plan: AppendOperation) -> str:
    """Return the source rows of an append that pairs them."""
    if not plan.where and not plan.aggregations:
        return quote_name(plan.source)
    items = ", ".join(_list_grouped(plan)) if plan.aggregations else "*"
    lines = [f"SELECT {items} FROM {quote_name(plan.source)} AS `@w`", *_write_where(plan), *_write_groups(plan)]
    return "(\n  " + "\n  ".join(lines) + "\n)"


def _write_rows(plan: Operation) -> str:
    """Return what an operation selects from; each join is a subquery that fails on a second match, as it is run."""
    rows = quote_name(plan.source if isinstance(plan, AppendOperation) else "working")
    for joins in order_joins(plan.joins):
        subqueries = "".join(f",\n    {_write_match(join)}" for join in joins)
        rows = f"(\n  SELECT `@w`.*{subqueries}\n  FROM {rows} AS `@w`\n)"
    return rows


def _write_match(join: Join) -> str:
    columns = ", ".join(quote_name(name) for name in join.columns) or "TRUE"
    alias = quote_name(name_alias(join.alias))
    source = f"SELECT struct({columns}) FROM {quote_name(join.table)} AS {alias}"
    if not join.alternatives:
        return f"({source} WHERE {join.condition}) AS {alias}"
    # Two that find a match each are a second match too.
    found = ",\n      ".join(f"({source} WHERE {way})" for way in join.ways)
    return f"coalesce(\n      {found}) AS {alias}"


def _list_items(plan: AnyOperation, known: frozenset[str]) -> list[str]:
    selected = "NOT `@w`.`_deleted`" + (f" AND ({plan.where})" if plan.where else "")
    if isinstance(plan, UpdateOperation):
        items = ["`@w`.*"]
        items += [f"{column.sql} AS {quote_name(column.column)}" for step in plan.group_steps for column in step]
        for item in plan.assignments:
            old = write_column(None, item.column) if item.column in known else "NULL"
            items.append(f"CASE WHEN {selected} THEN {item.sql} ELSE {old} END AS {quote_name(item.column)}")
        return items
    if isinstance(plan, OutputOperation):
        return [write_column(None, column.name) for column in plan.columns]
    if isinstance(plan, AggregateOperation):
        return _list_grouped(plan)
    if isinstance(plan, AppendOperation):
        if plan.aggregations and plan.expand is None:
            return _list_grouped(plan)
        return _name_values(plan.columns)
    return ["`@w`.*", f"`@w`.`_deleted` OR ({selected}) AS `_deleted`"]


def _list_grouped(plan: AggregateOperation | AppendOperation) -> list[str]:
    return [*(write_column(None, name) for name in plan.group_by), *_name_values(plan.aggregations)]


def _name_values(items: Iterable[Expression]) -> list[str]:
    return [f"{item.sql} AS {quote_name(item.column)}" for item in items]


def render_text(explanation: Explanation) -> str:
    """Write an explanation for a person."""
    blocks = [f"project {explanation['project']} version {explanation['version']}"]
    blocks.append("\n".join(["reads", *(_describe_table(table) for table in explanation["tables"])]))
    before = {column["name"] for column in explanation["schema"]}
    blocks.append("\n".join(["columns", *_describe_columns(explanation["schema"])]))
    for operation in explanation["operations"]:
        blocks.append(_describe_operation(operation, before))
        before = {column["name"] for column in operation["schema"]}
    blocks += [_describe_check(check) for check in explanation["checks"]]
    blocks += [_describe_warning(warning) for warning in explanation["errors"]]
    return "\n\n".join(blocks)


def _describe_warning(warning: ProblemDocument) -> str:
    hint = f"\n  hint: {warning['hint']}" if warning["hint"] else ""
    return (
        f"{warning['code']} {warning['message']}\n  --> {warning['file']}:{warning['line']}:{warning['column']}{hint}"
    )


def _describe_check(check: CheckDocument) -> str:
    fails = "blocks" if check["on_fail"] == "block" else "warns"
    lines = [f"check '{check['name']}' on output {check['output']}, {fails}"]
    if check["is_proven"]:
        lines.append("  the operations make sure of it: nothing is read")
    for sql in check["spark_sql"]:
        lines += [f"  | {line}" for line in sql.splitlines()]
    if check["lineage"]:
        lines.append(f"  depends on {', '.join(check['lineage'])}")
    return "\n".join(lines)


def _describe_table(table: TableDocument) -> str:
    alias = f" as {table['alias']}" if table["alias"] else ""
    return (
        f"  {table['key']}: {table['dataset']} version {table['version']}, table {table['table']}{alias},"
        f" {table['temporal_mode']}"
    )


def _describe_columns(columns: list[ColumnDocument], known: Collection[str] | None = None) -> list[str]:
    """Return a line for each column but system columns; with `known`, others than these are marked as new."""
    width = max(len(column["name"]) for column in columns)
    lines = []
    for column in columns:
        if column["origin"] != "system":
            sign = "" if known is None else "  " if column["name"] in known else "+ "
            shown = f"{column['name']:<{width}}  {column['type']}{'' if column['nullable'] else ' not null'}"
            lines.append(f"  {sign}{shown}")
    return lines


def _describe_operation(operation: OperationDocument, before: Collection[str]) -> str:
    lines = [f"{operation['seq']} {operation['type']}: {operation['name']}"]
    if operation["destination"]:
        registers = f", registered as {operation['registers']}" if operation["registers"] else ""
        lines.append(f"  to {operation['destination']}{registers}")
    lines += [f"  | {line}" for line in operation["spark_sql"].splitlines()]
    lines.append("  schema after it")
    lines += _describe_columns(operation["schema"], known=before)
    shown = {name: sources for name, sources in operation["lineage"].items() if sources}
    if shown:
        lines.append("  lineage")
        lines += [f"    {name} <- {', '.join(sources)}" for name, sources in shown.items()]
    return "\n".join(lines)


def render_mermaid(explanation: Explanation) -> str:
    """Draw tables, operations and destinations as a mermaid flowchart."""
    lines = ["flowchart LR"]
    for number, table in enumerate(explanation["tables"]):
        lines.append(f'  t{number}[("{_quote(table["dataset"])} v{table["version"]}")]')
    previous = "t0"
    for operation in explanation["operations"]:
        node = f"op{operation['seq']}"
        label = f"{operation['seq']} {operation['type']}<br/>{_quote(operation['name'])}"
        lines += [f'  {node}["{label}"]', f"  {previous} --> {node}"]
        for number, table in enumerate(explanation["tables"]):
            if table["key"] in operation["reads"]:
                lines.append(f"  t{number} -->|{_quote(table['alias'] or 'rows')}| {node}")
        if operation["type"] == "output":
            lines += [f'  out{operation["seq"]}[/"{_quote(operation["destination"] or "")}"/]']
            lines.append(f"  {node} --> out{operation['seq']}")
        previous = node
    for number, check in enumerate(explanation["checks"]):
        lines.append(f'  check{number}{{{{"{_quote(check["name"])}"}}}}')
        lines += [f"  {place} --> check{number}" for place in _list_checked(explanation, check)]
    return "\n".join(lines)


def _list_checked(explanation: Explanation, check: CheckDocument) -> list[str]:
    """Return the nodes whose rows a check looks at."""
    keys = [table["key"] for table in explanation["tables"]]
    compared = [f"t{keys.index(key)}" for key in check["reads"]]
    outputs = [f"out{seq}" for seq in check["outputs"]]
    return [*outputs, *compared]


def _quote(text: str) -> str:
    """Return a text that cannot end a label or be read as markup."""
    for character, written in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("|", "#124;")):
        text = text.replace(character, written)
    return " ".join(text.split())
