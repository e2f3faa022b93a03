"""`run --profile`: what Spark did for each step of a run, by its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from spark_jobs.contract.report import STEPS, Report, name_step
from spark_jobs.spark.stages import Stage

if TYPE_CHECKING:
    from spark_jobs.contract.report import OperationReport

SUMS = tuple(field.name for field in fields(Stage) if field.name not in ("stage", "name"))


def make_profile(project: str, report: Report, stages: Mapping[str, Sequence[Stage]]) -> dict[str, Any]:
    """Return the profile of a run as `--profile` writes it, with one entry for each step in the order of the run."""
    steps = [
        _make_step(STEPS["load_seconds"], report.timings.get("load_seconds"), stages),
        *(_make_operation_step(report, operation, stages) for operation in report.operations),
        *(_make_step(name, report.timings.get(key), stages) for key, name in STEPS.items() if key != "load_seconds"),
    ]
    return {
        "run_id": report.run_id,
        "project": project,
        "period": report.period,
        "status": report.status,
        "seconds": report.timings.get("total_seconds"),
        "steps": steps,
    }


def _make_operation_step(
    report: Report, operation: OperationReport, stages: Mapping[str, Sequence[Stage]]
) -> dict[str, Any]:
    here = [other.seq for other in report.operations if other.computed_with == operation.seq != other.seq]
    step = _make_step(name_step(operation.seq, operation.name), operation.seconds, stages)
    about = {"seq": operation.seq, "type": operation.type, "computed_with": operation.computed_with, "computes": here}
    return {**about, **step}


def _make_step(name: str, seconds: float | None, stages: Mapping[str, Sequence[Stage]]) -> dict[str, Any]:
    found = stages.get(name, ())
    sums = {key: round(sum(getattr(stage, key) for stage in found), 3) for key in SUMS}
    return {"step": name, "seconds": seconds, **sums, "stages": [asdict(stage) for stage in found]}
