"""An execution of a snapshot is compared with the last publication of the same snapshot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.runs.earlier import find_earlier_report, note_differences
from airflow_provider_runtime.core.runs.execution import Execution
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.report import OutputReport, Report, SliceReport, SourceReport, StagedReport
from tests.unit.core.planning.resolve_builder import MONTHLY, resolve, write_project, write_resolver

SOURCE = SourceReport("gl", "GL", 1, 2, 100, "sha256:a")
OUTPUT = OutputReport(20, "lake/out", 5, ("id",))


class ToldJob:
    """A job that does nothing, and reports what it was given."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def run(self) -> Report:
        return self.report

    def stop(self) -> None:
        raise AssertionError


def test_repeated_run_shows_how_it_differs(caplog: pytest.LogCaptureFixture) -> None:
    registry = MemoryRegistry()
    snapshot = resolve(write_resolver(MONTHLY), write_project(), registry=registry)

    def run(source: SourceReport, rows: int) -> Report:
        execution = Execution(registry, snapshot, "file:/s")
        attempt = execution.begin()
        (written,) = [found for found in snapshot.plan.operations if isinstance(found, OutputOperation)]
        assert written.slice is not None
        kept = SliceReport(f"{written.slice.uri_prefix}/2026-01/{attempt.token}", rows)
        outputs = (OutputReport(written.seq, "lake/out", rows, ("id",), "Converted GL", kept),)
        execution.run(ToldJob(Report(snapshot.sha256, attempt.token, "succeeded", sources=(source,), outputs=outputs)))
        assert execution.report is not None
        return execution.report

    assert find_earlier_report(registry, snapshot) is None
    assert run(SOURCE, 5).differences == ()
    assert run(SOURCE, 5).differences == ()
    changed = run(replace(SOURCE, files=3, bytes=120, fingerprint="sha256:b"), 6)
    assert changed.differences == (
        "table 'gl' of dataset 'GL' is read from 3 files of 120 bytes, which are not those of the earlier execution "
        "(2 files of 100 bytes)",
        f"output {snapshot.plan.operations[-1].seq} has 6 rows, 5 in the earlier execution",
    )
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == list(changed.differences)
    # The registry keeps it with the run.
    known = registry.find_run(snapshot.sha256)
    assert known is not None
    assert known.report is not None
    assert known.report["differences"] == list(changed.differences)


def test_rows_that_are_staged_again_show_how_they_differ_from_those_reviewed() -> None:
    registry = MemoryRegistry()
    snapshot = resolve(write_resolver(MONTHLY), write_project(), registry=registry)

    def stage(source: SourceReport) -> tuple[str, ...]:
        execution = Execution(registry, snapshot, "file:/s")
        attempt = execution.begin()
        output = replace(OUTPUT, seq=snapshot.plan.outputs[0].seq, staged=StagedReport("abc"))
        told = Report(
            snapshot.sha256, attempt.token, "staged", snapshot.run_id, "2026-01", sources=(source,), outputs=(output,)
        )
        execution.run(ToldJob(told))
        known = registry.find_run(snapshot.sha256)
        assert known is not None
        assert known.report is not None
        return tuple(known.report["differences"])

    assert stage(SOURCE) == ()
    (difference,) = stage(replace(SOURCE, fingerprint="sha256:b"))
    assert "table 'gl' of dataset 'GL' is read from 2 files" in difference


def test_source_that_cannot_be_identified_is_not_compared() -> None:
    earlier = Report("a", 1, "succeeded", sources=(replace(SOURCE, fingerprint=None),), outputs=(OUTPUT,))
    assert note_differences(replace(earlier, sources=(SOURCE,)), earlier).differences == ()


def test_report_of_the_job_stands() -> None:
    report = Report("a", 1, "succeeded", differences=("it differs",))
    assert note_differences(report, Report("a", 1, "succeeded", outputs=(OUTPUT,))) is report
