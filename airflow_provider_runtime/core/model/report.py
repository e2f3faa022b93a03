"""The shape of a job's report, checked before anything is made of it: whoever can write files can write one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from airflow_provider_runtime.core.model.base import Model, describe_misfit

RowCount = Annotated[int, Field(ge=0, le=2**63 - 1)]


class ReportSlice(Model):
    """Where the files of a registered dataset's slice are."""

    uri: str
    rows: RowCount
    content: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


class ReportOutput(Model):
    """What an output published."""

    seq: int
    destination: str
    rows: RowCount
    columns: tuple[str, ...]
    registered_dataset: str | None = None
    slice: ReportSlice | None = None


class ReportOperation(Model):
    """What an operation did."""

    seq: int
    type: str = ""
    name: str = ""
    rows_affected: RowCount | None = None
    rows_after: RowCount | None = None


class ReportError(Model):
    """What stopped the job."""

    code: str = "INFRA_001"
    message: str = ""
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    project: str | None = None
    operation_seq: int | None = None
    field: str | None = None


class JobReport(Model):
    """A whole report."""

    snapshot_sha256: str
    attempt: int | str
    status: str
    run_id: str | None = None
    period: str | None = None
    operations: tuple[ReportOperation, ...] = ()
    outputs: tuple[ReportOutput, ...] = ()
    rows_in: RowCount | None = None
    timings: dict[str, float] = Field(default_factory=dict)
    error: ReportError | None = None


def find_misfit(report: Any) -> str | None:
    """Return where and why a parsed document is no report; None when it is one."""
    try:
        JobReport.model_validate(report, strict=False, extra="ignore")
    except ValidationError as error:
        return describe_misfit(error)
    return None
