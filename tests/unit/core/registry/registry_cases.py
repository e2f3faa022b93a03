"""What every registry must do, whatever keeps it; run against memory, SQLite and PostgreSQL."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_runtime.core.errors import DefinitionError, LeaseError, PeriodError
from airflow_provider_runtime.core.registry.ports import Attempt, Registry, RunStart, SliceWrite
from spark_jobs.contract.plan import UsedDefinition

ELSEWHERE = "another-machine/1/1"


def make_start(name: str = "a", period: str = "2026-01", project: str = "p", **changes: Any) -> RunStart:
    start = RunStart(name * 8, f"run-{name}", project, "fx", 1, "gregorian", period, "month")
    return replace(start, **changes)


def make_write(uri: str = "file:/s/1", period: str = "2026-01", rows: int = 3, **changes: Any) -> SliceWrite:
    definition = {"id": "ds-id", "name": "DS", "main_table": {"name": "DS", "columns": [{"name": "a"}]}}
    return replace(SliceWrite(50, "ds-id", "DS", period, uri, rows, definition), **changes)


def begin(registry: Registry, start: RunStart, **options: Any) -> Attempt:
    return registry.begin_attempt(start, **{"holder": ELSEWHERE, **options})


def read(registry: Registry, version: int | None = None) -> list[tuple[str, str]]:
    found = registry.find_version("DS", version)
    return [] if found is None else [(item.period, item.uri) for item in found.slices]


class RegistryCases:
    """Tests; a subclass's module gives the fixture `registry`."""

    def test_lease_held_by_another_run_refuses_with_run_001(self, registry: Registry) -> None:
        begin(registry, make_start("a"))
        with pytest.raises(LeaseError) as caught:
            begin(registry, make_start("b"))
        assert caught.value.code == "RUN_001"
        assert "run-a" in str(caught.value)
        begin(registry, make_start("c", period="2026-02"))

    def test_retry_of_the_same_snapshot_takes_the_lease_up_with_a_higher_token(self, registry: Registry) -> None:
        first = begin(registry, make_start("a"))
        second = begin(registry, make_start("a"))
        assert second.token > first.token
        assert second.number == 2
        with pytest.raises(LeaseError, match="RUN_002"):
            registry.heartbeat(first)
        with pytest.raises(LeaseError, match="RUN_002"):
            registry.finish_attempt(first, [make_write()], {})
        assert registry.fail_attempt(first, {"code": "X"}) is False
        assert registry.list_datasets() == []
        registry.heartbeat(second)

    def test_expired_lease_is_taken_over_and_its_run_marked_failed(self, registry: Registry) -> None:
        old = begin(registry, make_start("a"), lease_seconds=0)
        new = begin(registry, make_start("b"))
        assert new.token > old.token
        run = registry.find_run("run-a")
        assert run is not None
        assert run.status == "failed"
        with pytest.raises(LeaseError, match="RUN_002"):
            registry.finish_attempt(old, [make_write()], {})

    def test_resumed_attempt_keeps_its_token_until_it_is_replaced(self, registry: Registry) -> None:
        first = begin(registry, make_start("a"))
        assert begin(registry, make_start("a"), resume_token=first.token).token == first.token
        begin(registry, make_start("a"))
        with pytest.raises(LeaseError, match="RUN_002"):
            begin(registry, make_start("a"), resume_token=first.token)

    def test_attempt_that_was_given_back_is_taken_up_until_it_is_replaced(self, registry: Registry) -> None:
        first = begin(registry, make_start("a"))
        registry.fail_attempt(first, {"code": "INFRA_001", "message": "could not be asked"})
        again = begin(registry, make_start("a"), resume_token=first.token)
        assert (again.token, again.number) == (first.token, 1)
        run = registry.find_run("a" * 8)
        assert run is not None
        assert (run.status, run.error, run.finished_at) == ("running", None, None)
        with pytest.raises(LeaseError, match="RUN_001"):
            begin(registry, make_start("b"))
        registry.fail_attempt(again, {"code": "INFRA_001", "message": "could not be asked"})
        begin(registry, make_start("b"))
        with pytest.raises(LeaseError, match="RUN_002"):
            begin(registry, make_start("a"), resume_token=first.token)

    def test_invocation_that_has_replaced_its_own_attempt_takes_another(self, registry: Registry) -> None:
        start = make_start("a", invocation="dag/task/0")
        first = begin(registry, start)
        second = begin(registry, start)
        third = begin(registry, start, resume_token=first.token)
        assert third.token > second.token
        registry.finish_attempt(third, [make_write()], {"rows_in": 7})
        lost = begin(registry, start, resume_token=first.token)
        assert (lost.token, lost.published is not None) == (third.token, True)
        with pytest.raises(LeaseError, match="RUN_002"):
            begin(registry, replace(start, invocation="dag/task/1"), resume_token=first.token)

    def test_attempt_replaced_by_a_run_that_published_nothing_is_followed_by_a_new_one(
        self, registry: Registry
    ) -> None:
        start = make_start("a", invocation="dag/task/0")
        first = begin(registry, start)
        registry.fail_attempt(first, {"code": "INFRA_001", "message": "could not be asked"})
        other = begin(registry, make_start("b"))
        with pytest.raises(LeaseError, match="RUN_001"):
            begin(registry, start, resume_token=first.token)
        registry.fail_attempt(other, {"code": "DATA_001", "message": "gone"})
        again = begin(registry, start, resume_token=first.token)
        assert again.token > other.token
        registry.heartbeat(again)

    def test_attempt_replaced_by_a_run_that_published_stays_replaced(self, registry: Registry) -> None:
        start = make_start("a", invocation="dag/task/0")
        first = begin(registry, start)
        registry.fail_attempt(first, {"code": "INFRA_001", "message": "could not be asked"})
        registry.finish_attempt(begin(registry, make_start("b")), [make_write()], {})
        registry.fail_attempt(begin(registry, make_start("c")), {"code": "DATA_001", "message": "gone"})
        with pytest.raises(LeaseError, match="RUN_002"):
            begin(registry, start, resume_token=first.token)

    def test_failed_attempt_frees_the_lease_and_keeps_the_error(self, registry: Registry) -> None:
        attempt = begin(registry, make_start("a"))
        assert registry.fail_attempt(attempt, {"code": "DATA_001", "message": "gone"}) is True
        run = registry.find_run("a" * 8)
        assert run is not None
        assert (run.status, run.error) == ("failed", {"code": "DATA_001", "message": "gone"})
        assert registry.is_published("p", "2026-01") is False
        begin(registry, make_start("b"))

    def test_finish_repeated_after_a_lost_answer_registers_once(self, registry: Registry) -> None:
        attempt = begin(registry, make_start("a"))
        (first,) = registry.finish_attempt(attempt, [make_write()], {"rows_in": 7})
        (again,) = registry.finish_attempt(attempt, [make_write()], {"rows_in": 7})
        assert (first.version, first.created, again.version, again.created) == (1, True, 1, False)
        assert len(registry.list_versions("DS")) == 1
        assert registry.is_published("p", "2026-01")

    def test_report_that_is_kept_has_the_registered_versions(self, registry: Registry) -> None:
        report = {"outputs": [{"seq": 20, "rows": 3}, {"seq": 50, "rows": 4}]}
        for digest in ("a", "b"):
            (made,) = registry.finish_attempt(
                begin(registry, make_start(digest)), [make_write(f"file:/{digest}")], report
            )
            run = registry.find_run(digest * 8)
            assert run is not None
            assert run.report is not None
            kept = (run.report, registry.list_publications("p", "2026-01")[0].report)
            told = [{output["seq"]: output["registered_version"] for output in found["outputs"]} for found in kept]
            assert told == [{20: None, 50: made.version}] * 2

    def test_lost_answer_is_found_after_a_newer_run_published(self, registry: Registry) -> None:
        old = begin(registry, make_start("a"))
        registry.finish_attempt(old, [make_write("file:/s/1")], {})
        new = begin(registry, make_start("b"))
        registry.finish_attempt(new, [make_write("file:/s/2")], {})
        (again,) = registry.finish_attempt(old, [make_write("file:/s/1")], {})
        assert again.version == 1
        assert read(registry) == [("2026-01", "file:/s/2")]

    def test_same_invocation_after_success_finds_the_published_run(self, registry: Registry) -> None:
        attempt = begin(registry, make_start("a", invocation="dag/task/0"))
        registry.finish_attempt(attempt, [make_write()], {"rows_in": 7})
        retry = begin(registry, make_start("a", invocation="dag/task/0"))
        assert retry.published is not None
        assert retry.published.report == {"rows_in": 7}
        assert begin(registry, make_start("a", invocation="dag/task/1")).published is None
        assert registry.is_published("p", "2026-01")

    def test_snapshot_executed_again_with_equal_rows_makes_no_version(self, registry: Registry) -> None:
        registry.finish_attempt(begin(registry, make_start("a")), [make_write("file:/s/1", content="x")], {})
        (same,) = registry.finish_attempt(begin(registry, make_start("a")), [make_write("file:/s/2", content="x")], {})
        assert (same.version, same.created, same.uri) == (1, False, "file:/s/1")
        (other,) = registry.finish_attempt(begin(registry, make_start("a")), [make_write("file:/s/3", content="y")], {})
        assert (other.version, other.created) == (2, True)

    def test_rows_that_nobody_can_compare_make_a_version(self, registry: Registry) -> None:
        registry.finish_attempt(begin(registry, make_start("a")), [make_write("file:/s/1")], {})
        (again,) = registry.finish_attempt(begin(registry, make_start("a")), [make_write("file:/s/2")], {})
        assert (again.version, again.created, again.uri) == (2, True, "file:/s/2")

    def test_pinned_version_reads_the_same_slices_forever(self, registry: Registry) -> None:
        for number, (name, period) in enumerate([("a", "2026-01"), ("b", "2026-02"), ("c", "2026-01")], 1):
            attempt = begin(registry, make_start(name, period=period))
            registry.finish_attempt(attempt, [make_write(f"file:/s/{number}", period=period)], {})
        assert read(registry, 1) == [("2026-01", "file:/s/1")]
        assert read(registry, 2) == [("2026-01", "file:/s/1"), ("2026-02", "file:/s/2")]
        assert read(registry, 3) == [("2026-01", "file:/s/3"), ("2026-02", "file:/s/2")]
        assert read(registry) == read(registry, 3)
        assert registry.find_version("DS", 4) is None
        (summary,) = registry.list_datasets()
        assert (summary.latest_version, summary.periods, summary.rows) == (3, 2, 6)

    def test_new_version_has_the_new_schema_and_old_slices_keep_theirs(self, registry: Registry) -> None:
        wider = {"id": "ds-id", "name": "DS", "main_table": {"name": "DS", "columns": [{"name": "a"}, {"name": "b"}]}}
        registry.finish_attempt(begin(registry, make_start("a")), [make_write()], {})
        attempt = begin(registry, make_start("b", period="2026-02"))
        registry.finish_attempt(attempt, [make_write("file:/s/2", period="2026-02", definition=wider)], {})
        version = registry.find_version("ds-id")
        assert version is not None
        assert version.definition == {**wider, "version": 2}
        assert [len(item.definition["main_table"]["columns"]) for item in version.slices] == [1, 2]

    def test_old_snapshot_executed_again_keeps_the_schema_of_the_highest_project_version(
        self, registry: Registry
    ) -> None:
        wider = {"id": "ds-id", "name": "DS", "main_table": {"name": "DS", "columns": [{"name": "a"}, {"name": "b"}]}}
        narrow = make_write().definition
        old, new = make_start("a"), make_start("b", project_version=2)
        newest = make_start("c", project_version=3)
        for version, (start, own, whole) in enumerate(
            [
                (old, narrow, narrow),
                (new, wider, wider),
                (old, narrow, wider),
                (old, narrow, wider),
                (newest, narrow, narrow),
                (new, wider, narrow),
            ],
            1,
        ):
            write = make_write(f"file:/s/{version}", definition=own)
            registry.finish_attempt(begin(registry, start), [write], {})
            found = registry.find_version("DS")
            assert found is not None
            assert found.definition == {**whole, "version": version}
            assert [item.definition for item in found.slices] == [{**own, "version": version}]

    def test_dataset_that_another_project_has_registered_is_refused(self, registry: Registry) -> None:
        registry.finish_attempt(begin(registry, make_start("a")), [make_write()], {})
        other = begin(registry, make_start("b", project="other"))
        with pytest.raises(DefinitionError, match=r"CATALOG_003: dataset 'DS' is registered by project 'fx'"):
            registry.finish_attempt(other, [make_write("file:/s/other")], {})
        assert [found.version for found in registry.list_versions("DS")] == [1]

    def test_locking_revokes_the_attempt_under_way_for_good(self, registry: Registry) -> None:
        attempt = begin(registry, make_start("a"))
        update = registry.set_period_status("gregorian", "2026-01", "locked", who="ann", reason="audited")
        assert [run.run_id for run in update.revoked] == ["run-a"]
        for publish in (registry.heartbeat, lambda it: registry.finish_attempt(it, [make_write()], {})):
            with pytest.raises(PeriodError, match="locked by ann: audited"):
                publish(attempt)
        with pytest.raises(PeriodError, match="PERIOD_002"):
            begin(registry, make_start("a", allow_closed=True))
        with pytest.raises(PeriodError, match="PERIOD_002"):
            registry.set_period_status("gregorian", "2026-01", "open", who="bob", reason="oops")
        assert registry.list_datasets() == []

    def test_closed_period_needs_permission_also_when_publishing(self, registry: Registry) -> None:
        plain, allowed = make_start("a"), make_start("b", project="q", allow_closed=True)
        attempts = begin(registry, plain), begin(registry, allowed)
        registry.set_period_status("gregorian", "2026-01", "closed", who="ann", reason="done")
        with pytest.raises(PeriodError, match="closed by ann"):
            registry.finish_attempt(attempts[0], [make_write()], {})
        assert registry.finish_attempt(attempts[1], [make_write()], {})[0].version == 1
        registry.set_period_status("gregorian", "2026-01", "open", who="bob", reason="late invoice")
        record = registry.get_period("gregorian", "2026-01")
        assert [(c.previous, c.status, c.who) for c in record.history] == [
            ("open", "closed", "ann"),
            ("closed", "open", "bob"),
        ]

    def test_file_status_counts_when_it_is_stricter(self, registry: Registry) -> None:
        with pytest.raises(PeriodError, match="locked in the calendar's file"):
            begin(registry, make_start("a", file_status="locked", allow_closed=True))

    def test_locking_a_year_locks_its_months_for_runs_under_way_too(self, registry: Registry) -> None:
        start = make_start("a", enclosing_periods=("2026-Q1", "2026"))
        attempt = begin(registry, start)
        registry.set_period_status("gregorian", "2026", "locked", who="ann", reason="audit")
        for use in (lambda: registry.heartbeat(attempt), lambda: registry.finish_attempt(attempt, [make_write()], {})):
            with pytest.raises(PeriodError, match="is part of 2026, which was locked by ann: audit"):
                use()
        with pytest.raises(PeriodError):
            begin(registry, replace(start, allow_closed=True))
        assert registry.list_datasets() == []
        begin(registry, make_start("b", period="2027-01", enclosing_periods=("2027-Q1", "2027")))

    def test_closing_a_quarter_closes_its_months_unless_allowed(self, registry: Registry) -> None:
        registry.set_period_status("gregorian", "2026-Q1", "closed", who="ann", reason="done")
        with pytest.raises(PeriodError, match="is part of 2026-Q1, which was closed by ann: done"):
            begin(registry, make_start("a", enclosing_periods=("2026-Q1", "2026")))
        begin(registry, make_start("a", enclosing_periods=("2026-Q1", "2026"), allow_closed=True))

    def test_changed_definition_asks_for_a_new_version(self, registry: Registry) -> None:
        used = UsedDefinition("dataset", "gl", 1, "sha256:1")
        begin(registry, make_start("a", definitions=(used,)))
        changed = replace(used, digest="sha256:2")
        with pytest.raises(DefinitionError) as caught:
            begin(registry, make_start("b", period="2026-02", definitions=(changed,)))
        assert caught.value.code == "CATALOG_005"
        assert "new version (2" in str(caught.value.problems[0].hint)
        assert "if the registry belongs to another catalog" in str(caught.value.problems[0].hint)
        assert registry.check_definitions([used, replace(changed, version=2)]) == []

    def test_runs_are_listed_latest_first_by_project_name_or_id(self, registry: Registry) -> None:
        begin(registry, make_start("a"))
        time.sleep(0.005)  # the registry counts milliseconds
        begin(registry, make_start("b", period="2026-02"))
        assert [run.run_id for run in registry.list_runs(project="fx")] == ["run-b", "run-a"]
        assert [run.run_id for run in registry.list_runs(project="p", period="2026-01")] == ["run-a"]
        assert len(registry.list_runs(limit=1)) == 1

    def test_last_runs_are_the_latest_and_the_published_one_of_each_period(self, registry: Registry) -> None:
        for name, succeeds in (("a", True), ("b", True), ("c", False), ("d", False)):
            attempt = begin(registry, make_start(name))
            if succeeds:
                registry.finish_attempt(attempt, [], {"rows_in": 1})
            else:
                registry.fail_attempt(attempt, {"code": "DATA_001"})
            time.sleep(0.005)  # the registry counts milliseconds
        registry.finish_attempt(begin(registry, make_start("e", project="q")), [], {"rows_in": 2})
        last = registry.list_last_runs()
        assert [run.run_id for run in last] == ["run-e", "run-d", "run-b"]
        assert last[2] == registry.find_run("run-b")

    def test_last_runs_without_reports_know_what_they_read(self, registry: Registry) -> None:
        source = {"dataset_id": "d", "table": "t", "version": 2, "fingerprint": "sha256:1"}
        report = {"rows_in": 1, "sources": [{**source, "files": 3, "bytes": 10}]}
        registry.finish_attempt(begin(registry, make_start("a")), [], report)
        (run,) = registry.list_last_runs(reports=False)
        assert (run.status, run.report, run.error, run.sources) == ("succeeded", None, None, (source,))
        assert registry.find_run("run-a") == replace(run, report=report)

    def test_runs_that_are_known_are_not_read_again_until_they_change(self, registry: Registry) -> None:
        for name in "ab":
            registry.finish_attempt(begin(registry, make_start(name, project=name)), [], {"rows_in": 1})
        known = registry.list_last_runs(reports=False)
        time.sleep(0.005)  # the registry counts milliseconds
        registry.fail_attempt(begin(registry, make_start("a", project="a")), {"code": "DATA_001"})
        found = {run.run_id: run for run in registry.list_last_runs(known, reports=False)}
        assert found["run-a"].status == "failed"
        assert (found["run-a"].report, found["run-b"].report) == (None, None)
        assert found["run-b"] == next(run for run in known if run.run_id == "run-b")

    def test_runs_without_reports_know_how_many_checks_have_which_status(self, registry: Registry) -> None:
        checks = [{"name": status, "status": status} for status in ("passed", "passed", "warned")]
        attempt = begin(registry, make_start("a"))
        registry.finish_attempt(attempt, [], {"checks": checks})
        (run,) = registry.list_last_runs(reports=False)
        assert run.check_counts == {"passed": 2, "warned": 1}
        again = begin(registry, make_start("a"))
        (run,) = registry.list_last_runs(reports=False)
        assert run.check_counts == {}
        registry.fail_attempt(again, {"code": "CHECK_001"}, {"checks": [{"name": "a", "status": "failed"}]})
        (run,) = registry.list_last_runs(reports=False)
        assert run.check_counts == {"failed": 1}

    def test_run_that_is_executed_again_still_knows_what_its_publication_read(self, registry: Registry) -> None:
        source = {"dataset_id": "d", "table": "t", "version": 2, "fingerprint": "sha256:1"}
        registry.finish_attempt(begin(registry, make_start("a")), [], {"sources": [source]})
        again = begin(registry, make_start("a"))
        registry.fail_attempt(again, {"code": "DATA_001"}, {"sources": [{**source, "fingerprint": "sha256:2"}]})
        run = registry.find_run("run-a")
        assert run is not None
        assert run.sources == (source,)
        assert run.published_at is not None

    def test_nothing_is_written_while_a_registry_is_read(self, registry: Registry) -> None:
        with pytest.raises(TypeError, match="nothing is written"):
            registry.read_together(lambda reading: begin(reading, make_start("a")))
        assert registry.list_runs() == []

    def test_changed_definitions_are_found_among_many(self, registry: Registry) -> None:
        many = tuple(UsedDefinition("dataset", f"d{number}", 1, "sha256:1") for number in range(400))
        begin(registry, make_start("a", definitions=many))
        changed = replace(many[333], digest="sha256:2")
        assert registry.find_changed([*many[:333], changed, *many[334:], replace(changed, version=2)]) == [changed]
