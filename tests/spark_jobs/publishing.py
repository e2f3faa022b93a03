"""Builders of snapshots that hold outputs and little else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.operations import Destination, OutputOperation, Slice
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.report import OutputReport
from spark_jobs.contract.snapshot import Period, Project, ResolverSnapshot, Snapshot
from spark_jobs.contract.tables import Column, Location, Mark, Table, Temporal
from spark_jobs.sinks.publish import Publication

COLUMNS = (
    Column("id", "bigint", False),
    Column("name", "string"),
    Column("amount", "decimal(20,6)"),
    Column("_period", "string"),
)


PINS = ResolverSnapshot(
    input_dataset_id="gl",
    input_dataset_version=1,
    resolver_id="files",
    resolver_version=1,
    resolver_source="dataset_resolver",
    join_datasets=(),
    append_datasets=(),
    lookup_datasets=(),
)


def make_output(uri: str | Path = "", *, seq: int = 50, **changes: Any) -> OutputOperation:
    """An output to a folder of Parquet files."""
    destination = Destination(kind="files", format="parquet", display=f"lake/{Path(str(uri)).name}", uri=str(uri))
    values: dict[str, Any] = {
        "seq": seq,
        "name": f"output {seq}",
        "mark": f"output:{seq}",
        "columns": COLUMNS,
        "include_deleted": False,
        "write_mode": "replace_period",
        "destination": destination,
    }
    return OutputOperation(**(values | changes))


def make_slice(prefix: str | Path) -> Slice:
    return Slice("11111111-0000-5000-8000-000000000000", "fx_results", str(prefix))


def make_snapshot(
    outputs: Sequence[OutputOperation],
    *,
    period: str = "2026-01",
    sha256: str = "a" * 64,
    input_periods: Sequence[str | None] = (None,),
    marks: Mapping[str, Mark] | None = None,
) -> Snapshot:
    """A snapshot of a project with these outputs."""
    table = Table(
        role="input",
        dataset_id="gl",
        dataset_version=1,
        table="transactions",
        columns=COLUMNS[:3],
        temporal=Temporal("period"),
        locations=tuple(Location("memory", period=finer) for finer in input_periods),
        mark="input",
    )
    shown = {f"output:{output.seq}": Mark("project.yaml", 10, 3, "operations[0]", output.seq) for output in outputs}
    plan = Plan({"input": table}, "input", COLUMNS, tuple(outputs), dict(marks or shown), "fx")
    start = date(int(period[:4]), 1, 1)
    return Snapshot(
        sha256=sha256,
        run_id="run-1",
        run_timestamp=datetime(2026, 2, 1, tzinfo=UTC),
        project=Project("fx-id", "fx", 1, "sha256:0"),
        period=Period(period, "month", start, start),
        as_of=start,
        project_snapshot={},
        resolver_snapshot=PINS,
        plan=plan,
    )


def make_rows(spark: SparkSession, names: Sequence[str], *, period: str = "2026-01", parts: int = 1) -> DataFrame:
    """One row a name, in so many partitions."""
    rows = [(number, name, period) for number, name in enumerate(names)]
    frame = spark.createDataFrame(rows, "id bigint, name string, _period string").coalesce(1)
    frame = frame.repartition(parts, "id") if parts > 1 else frame
    return frame.selectExpr("id", "name", "cast(id * 1.5 as decimal(20,6)) amount", "_period")


def publish(
    spark: SparkSession, snapshot: Snapshot, attempt: int, frames: Sequence[DataFrame]
) -> tuple[OutputReport, ...]:
    """Run a whole publication: one frame for each output."""
    publication = Publication(spark, snapshot, attempt)
    publication.begin()
    stage(publication, snapshot, frames)
    return publication.publish()


def stage(publication: Publication, snapshot: Snapshot, frames: Sequence[DataFrame]) -> None:
    """Stage one frame for each output."""
    for output, frame in zip(snapshot.plan.operations, frames, strict=True):
        assert isinstance(output, OutputOperation)
        publication.stage(output, frame)


def read_names(spark: SparkSession, uri: str | Path) -> list[str]:
    """The values of `name` that a plain Spark reader finds."""
    return sorted(row["name"] for row in spark.read.parquet(str(uri)).collect())
