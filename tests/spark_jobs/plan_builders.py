"""Plans with valid defaults, and their execution into memory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.contract.snapshot import Snapshot, parse_snapshot
from spark_jobs.rows.executor import ExecutionReport, execute
from spark_jobs.sinks.memory import MemorySinks

TIMESTAMP = "2026-02-01T00:00:00Z"
SYSTEM = [
    ("_row_id", "string"),
    ("_source_dataset", "string"),
    ("_operation_seq", "bigint"),
    ("_created_by_run", "string"),
    ("_created_at", "timestamp"),
    ("_updated_at", "timestamp"),
    ("_deleted", "boolean"),
    ("_labels", "string"),
    ("_period", "string"),
]

Columns = list[tuple[str, str]]


def memory(columns: list[str], *rows: tuple[str | None, ...], **more: Any) -> dict[str, Any]:
    return {"kind": "memory", "columns": columns, "rows": [list(row) for row in rows], **more}


def files(uri: object, kind: str = "parquet", **more: Any) -> dict[str, Any]:
    return {"kind": "files", "format": kind, "uri": str(uri), **more}


def table(
    columns: Columns,
    *locations: dict[str, Any],
    role: str = "join",
    mode: str = "snapshot",
    required: tuple[str, ...] = (),
    dataset: str = "ds",
    name: str = "t",
    **temporal: str,
) -> dict[str, Any]:
    return {
        "role": role,
        "dataset_id": dataset,
        "dataset_version": 1,
        "table": name,
        "columns": [{"name": c, "type": t, "nullable": c not in required} for c, t in columns],
        "temporal": {"mode": mode, **temporal},
        "locations": list(locations),
        "mark": role,
    }


@dataclass
class PlanBuilder:
    """Collects operations over an input and knows the columns after each."""

    columns: Columns
    input: dict[str, Any]
    tables: dict[str, Any] = field(default_factory=dict)
    operations: list[dict[str, Any]] = field(default_factory=list)
    added: Columns = field(default_factory=list)
    system: Columns = field(default_factory=lambda: list(SYSTEM))
    identity: str = "project"

    def _columns_after(self) -> list[dict[str, Any]]:
        return [{"name": n, "type": t} for n, t in (*self.columns, *self.added, *self.system)]

    def _operation(self, kind: str, new: Columns = [], **more: Any) -> PlanBuilder:  # noqa: B006
        known = {name for name, _ in (*self.columns, *self.added, *self.system)}
        self.added += [(name, kind_) for name, kind_ in new if name not in known]
        seq = 10 * (len(self.operations) + 1)
        self.operations.append(
            {
                "type": kind,
                "seq": seq,
                "name": f"{kind} {seq}",
                "mark": f"{seq}",
                "columns_after": self._columns_after(),
            }
            | more
        )
        return self

    def update(self, *assignments: tuple[str, str, str], **more: Any) -> PlanBuilder:
        seq = 10 * (len(self.operations) + 1)
        items = [
            {"column": c, "type": t, "sql": s, "mark": f"{seq}:{index}"} for index, (c, t, s) in enumerate(assignments)
        ]
        return self._operation("update", [(c, t) for c, t, _ in assignments], assignments=items, **more)

    def delete(self, where: str | None = None, **more: Any) -> PlanBuilder:
        return self._operation("delete", where=where, **more)

    def aggregate(self, group_by: list[str], *items: tuple[str, str, str], **more: Any) -> PlanBuilder:
        values = [{"column": c, "type": t, "sql": s, "mark": c} for c, t, s in items]
        return self._operation(
            "aggregate", [(c, t) for c, t, _ in items], group_by=group_by, aggregations=values, **more
        )

    def append(self, source: str, *columns: tuple[str, str, str], aggregations: Any = (), **more: Any) -> PlanBuilder:
        def items(values: Any) -> list[dict[str, str]]:
            return [{"column": c, "type": t, "sql": s, "mark": c} for c, t, s in values]

        return self._operation(
            "append",
            source=source,
            source_dataset_id=self.tables[source]["dataset_id"],
            columns=items(columns),
            aggregations=items(aggregations),
            **more,
        )

    def output(self, *columns: str, include_deleted: bool = False, **more: Any) -> PlanBuilder:
        types = dict((*self.columns, *self.added, *self.system))
        return self._operation(
            "output",
            columns=[{"name": name, "type": types[name]} for name in (columns or types)],
            include_deleted=include_deleted,
            write_mode="replace_period",
            destination={"kind": "files", "format": "parquet", "uri": "/nowhere", "display": "nowhere"},
            **more,
        )

    def document(self) -> dict[str, Any]:
        return {
            "snapshot_version": 1,
            "run_id": "run-1",
            "run_timestamp": TIMESTAMP,
            "project": {"id": self.identity, "name": "Project", "version": 1, "digest": "sha256:0"},
            "period": {
                "identifier": "2026-01",
                "level": "month",
                "start_date": "2026-01-01",
                "end_date": "2026-01-31",
            },
            "as_of": "2026-01-01",
            "project_snapshot": {},
            "resolver_snapshot": {
                "input_dataset_id": "in",
                "input_dataset_version": 1,
                "resolver_id": "files",
                "resolver_version": 1,
                "resolver_source": "dataset_resolver",
                "join_datasets": [],
                "append_datasets": [],
                "lookup_datasets": [],
            },
            "plan": {
                "tables": {"input": self.input, **self.tables},
                "input": "input",
                "input_columns": [{"name": n, "type": t} for n, t in (*self.columns, *self.system)],
                "operations": self.operations,
                "marks": {},
                "project_name": "Project",
            },
        }

    def snapshot(self) -> Snapshot:
        content = json.dumps(self.document()).encode()
        return parse_snapshot(content, hashlib.sha256(content).hexdigest())


def start(columns: Columns, *locations: dict[str, Any], **more: Any) -> PlanBuilder:
    """Begin a plan over an input table."""
    return PlanBuilder(columns, table(columns, *locations, role="input", dataset="in", name="w", **more))


def join(alias: str, key: str, columns: list[str], on: tuple[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A join over equal columns `on` (row, alias), or any `condition`."""
    equality = [] if on is None else [{"row": f"`@w`.`{on[0]}`", "alias": f"`@@{alias}`.`{on[1]}`"}]
    condition = "" if on is None else f"{equality[0]['row']} = {equality[0]['alias']}"
    return {
        "alias": alias,
        "table": key,
        "columns": columns,
        "condition": condition,
        "equalities": equality,
        "key": [] if on is None else [on[0]],
        "mark": f"join {alias}",
        **more,
    }


@dataclass
class Result:
    """Captured outputs and the report."""

    report: ExecutionReport
    sinks: MemorySinks

    def rows(self, seq: int) -> list[tuple[Any, ...]]:
        return sorted(self.sinks.tables[seq].rows, key=repr)

    def affected(self) -> list[int | None]:
        return [operation.rows_affected for operation in self.report.operations]

    def after(self) -> list[int | None]:
        return [operation.rows_after for operation in self.report.operations]


def run(spark: SparkSession, plan: PlanBuilder, **more: Any) -> Result:
    """Execute a plan into memory."""
    sinks = MemorySinks()
    return Result(execute(spark, plan.snapshot(), sinks, **more), sinks)
