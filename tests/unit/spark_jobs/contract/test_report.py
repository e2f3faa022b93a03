"""What the Spark job reports, core reads."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest

from airflow_provider_runtime.core.errors import Problem, SnapshotError
from airflow_provider_runtime.core.rendering import problem_to_json
from airflow_provider_runtime.core.runs.report import public_report, read_report
from spark_jobs.contract.report import ErrorReport, OperationReport, OutputReport, Report, SliceReport
from spark_jobs.errors import JobError
from spark_jobs.redaction import hide
from spark_jobs.report import make_error_reports


def make_report() -> Report:
    return Report(
        snapshot_sha256="a" * 64,
        attempt=7,
        status="succeeded",
        run_id="run-1",
        period="2026-01",
        operations=(
            OperationReport(10, "update", "tag", 3, 5, 0.0, 50),
            OperationReport(50, "output", "out", 5, 5, 0.2, 50),
        ),
        outputs=(OutputReport(50, "lake/fx", 5, ("id", "amount"), "fx", SliceReport("file:///slices/2026-01/x", 5)),),
        rows_in=5,
        timings={"total_seconds": 0.3},
    )


def test_report_of_a_success_becomes_the_public_one() -> None:
    written = json.dumps(make_report().to_dict()).encode()
    public = public_report(read_report(written), ())
    assert public["operations"][0] == {
        "seq": 10,
        "type": "update",
        "name": "tag",
        "rows_affected": 3,
        "rows_after": 5,
        "seconds": 0.0,
        "computed_with": 50,
    }
    assert public["outputs"] == [
        {
            "seq": 50,
            "destination": "lake/fx",
            "rows": 5,
            "columns": ["id", "amount"],
            "registered_dataset": "fx",
            "registered_version": None,
        }
    ]
    assert public["error"] is None


def test_error_of_a_report_has_the_fields_of_a_problem() -> None:
    shown = set(problem_to_json(Problem("DATA_001", "no data")))
    assert {field.name for field in fields(ErrorReport)} == shown - {"severity"}


def test_report_of_several_problems_has_the_first_as_its_error() -> None:
    errors = make_error_reports(JobError("DATA_001", "no data", hint="look"), None)
    assert [(error.code, error.message, error.hint, error.line) for error in errors] == [
        ("DATA_001", "no data", "look", 1)
    ]


def test_secret_that_was_read_is_in_no_report() -> None:
    hide('canary"4711\\x')
    errors = make_error_reports(JobError("OUTPUT_003", 'login with canary"4711\\x failed'), None)
    text = json.dumps(Report("a" * 64, 1, "failed", error=errors[0], errors=errors).to_dict())
    assert "canary" not in text
    assert "login with *** failed" in text


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"status": "staged?"}, "status: expected one of succeeded, staged, failed"),
        ({"rows_in": -1}, "rows_in: expected a number from 0"),
        ({"outputs": [{"seq": 1}]}, "outputs.0: destination is missing"),
        ({"error": {"code": "DATA_999"}}, "error.code: expected one of"),
        ({"timings": {"total_seconds": "1"}}, "timings.total_seconds: expected a number"),
    ],
)
def test_report_of_another_shape_is_refused_with_the_place(changes: dict[str, object], where: str) -> None:
    with pytest.raises(SnapshotError, match=re.escape(where)):
        read_report(json.dumps(make_report().to_dict() | changes).encode())
