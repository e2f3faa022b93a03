"""What Spark did for each step of a run: the stages that it remembers, by the description of their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.spark.jvm import get_java_context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_MILLIS = 10_000


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage with what its tasks add up to."""

    stage: int
    name: str
    tasks: int
    task_seconds: float
    cpu_seconds: float
    gc_seconds: float
    rows_read: int
    bytes_read: int
    bytes_shuffled: int
    bytes_spilled: int
    rows_written: int
    bytes_written: int


def find_last_stage(spark: SparkSession) -> int:
    """Return the number of the newest stage, -1 before the first."""
    return max((int(stage.stageId()) for stage in _read_stages(spark)), default=-1)


def list_stages(spark: SparkSession, after: int) -> dict[str, Sequence[Stage]]:
    """Return the stages that have run since the stage `after`, by the description of their jobs."""
    found: dict[str, list[Stage]] = {}
    for data in _read_stages(spark):
        if int(data.stageId()) > after and str(data.status()) != "SKIPPED":
            description = data.description()
            text = str(description.get()) if description.isDefined() else ""
            found.setdefault(text, []).append(_make_stage(data))
    return {text: sorted(stages, key=lambda stage: stage.stage) for text, stages in found.items()}


def _make_stage(data: Any) -> Stage:
    return Stage(
        stage=int(data.stageId()),
        name=str(data.name()),
        tasks=int(data.numTasks()),
        task_seconds=round(data.executorRunTime() / 1e3, 3),
        cpu_seconds=round(data.executorCpuTime() / 1e9, 3),
        gc_seconds=round(data.jvmGcTime() / 1e3, 3),
        rows_read=int(data.inputRecords()),
        bytes_read=int(data.inputBytes()),
        bytes_shuffled=int(data.shuffleWriteBytes()),
        bytes_spilled=int(data.diskBytesSpilled()),
        rows_written=int(data.outputRecords()),
        bytes_written=int(data.outputBytes()),
    )


def _read_stages(spark: SparkSession) -> list[Any]:
    context = get_java_context(spark)
    # What Spark sends to its listeners arrives a little later than results do.
    context.listenerBus().waitUntilEmpty(PATIENCE_MILLIS)
    store = context.statusStore()
    stages = store.stageList(None, False, False, getattr(store, "stageList$default$4")(), None)
    return [stages.apply(index) for index in range(stages.size())]
