"""The progress that a run reports."""

from __future__ import annotations

from spark_jobs.contract.report import JoinReport, OperationReport
from spark_jobs.progress import list_matches


def test_matches_of_a_join_are_reported_once_they_are_counted() -> None:
    counted = OperationReport(10, "update", "Convert", joins=(JoinReport("fx", 2, 1), JoinReport("tg", 3, 0)))
    uncounted = OperationReport(20, "update", "Later", joins=(JoinReport("fx"),))
    assert list(list_matches([counted, uncounted])) == [
        "operation 10 join 'fx': 2 rows with a match, 1 without",
        "operation 10 join 'tg': 3 rows with a match, 0 without",
    ]
