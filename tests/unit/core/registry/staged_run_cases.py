"""What every registry must do with runs that are staged first, and with the decisions on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_runtime.core.errors import DefinitionError, LeaseError, PeriodError, PlanError, SnapshotError
from airflow_provider_runtime.core.registry.ports import Approval, Registry
from tests.unit.core.registry.registry_cases import ELSEWHERE, begin, make_start, make_write


class StagedRunCases:
    """Tests; a subclass's module gives the fixture `registry`."""

    def test_staged_run_is_published_with_its_own_token(self, registry: Registry) -> None:
        attempt = begin(registry, make_start("a", who="ann"))
        staged = registry.stage_attempt(attempt, {"rows_in": 7, "outputs": []})
        assert (staged.status, staged.who, staged.rows_in) == ("staged", "ann", 7)
        assert registry.stage_attempt(attempt, {"rows_in": 7}) == registry.find_run("run-a")
        assert not registry.is_published("p", "2026-01")
        again = registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        assert again.token == attempt.token
        with pytest.raises(LeaseError, match="RUN_001"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        registry.finish_attempt(again, [make_write()], {"rows_in": 7})
        answered = registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        assert answered.published is not None
        (publication,) = registry.list_publications("fx", "2026-01")
        assert (publication.number, publication.run_id, publication.report) == (1, "run-a", {"rows_in": 7})

    def test_publication_that_failed_is_tried_again(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {"rows_in": 7})
        attempt = registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        registry.fail_attempt(attempt, {"code": "OUTPUT_003", "message": "the disk is full"}, {"rows_in": 0})
        run = registry.find_run("run-a")
        assert run is not None
        assert (run.status, run.report, run.error and run.error["code"]) == ("staged", {"rows_in": 7}, "OUTPUT_003")
        killed = registry.begin_publication(make_start("a"), holder=ELSEWHERE, lease_seconds=0)
        again = registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        assert killed.token == again.token
        registry.finish_attempt(again, [make_write()], {})
        assert registry.is_published("p", "2026-01")

    def test_newer_attempt_refuses_the_publication_of_an_older_one(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {})
        newer = begin(registry, make_start("b"))
        run = registry.find_run("run-a")
        assert run is not None
        assert run.status == "discarded"
        with pytest.raises(LeaseError, match="RUN_002"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        registry.finish_attempt(newer, [make_write()], {})
        with pytest.raises(PlanError, match="published by run run-b since run run-a was staged"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)

    def test_lock_refuses_the_publication_of_what_is_staged(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {})
        registry.set_period_status("gregorian", "2026-01", "locked", who="ann", reason="audited")
        with pytest.raises(PeriodError, match="locked by ann: audited"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)

    def test_staged_rows_that_were_kept_long_enough_are_not_published(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {}, keep_seconds=-1)
        with pytest.raises(PlanError, match="was kept until"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)

    def test_discarded_run_cannot_be_published_and_does_not_block_the_next(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {})
        discarded = registry.discard_staged("run-a", who="ben", reason="wrong rate")
        assert discarded.status == "discarded"
        assert discarded.error is not None
        assert "ben: wrong rate" in discarded.error["message"]
        with pytest.raises(LeaseError, match="RUN_002"):
            registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        with pytest.raises(PlanError, match="is discarded: nothing is staged"):
            registry.discard_staged("run-a", who="ben", reason="again")
        begin(registry, make_start("b"))

    def test_run_that_is_being_published_is_not_discarded(self, registry: Registry) -> None:
        registry.stage_attempt(begin(registry, make_start("a")), {})
        registry.begin_publication(make_start("a"), holder=ELSEWHERE)
        with pytest.raises(LeaseError, match="RUN_001"):
            registry.discard_staged("run-a", who="ben", reason="wrong rate")

    def test_publications_of_a_period_are_numbered_and_keep_their_reports(self, registry: Registry) -> None:
        checks = [{"name": "total", "value": "7"}]
        registry.finish_attempt(begin(registry, make_start("a")), [], {"checks": checks})
        registry.finish_attempt(begin(registry, make_start("a")), [], {"checks": []})
        registry.finish_attempt(begin(registry, make_start("b", period="2026-02")), [], {})
        found = registry.list_publications("p", "2026-01")
        assert [(item.number, list(item.checks)) for item in found] == [(2, []), (1, checks)]
        assert len(registry.list_publications("p")) == 3
        assert [item.period for item in registry.list_publications("p", limit=1)] == ["2026-02"]

    def test_release_frees_the_lease_and_takes_a_token_above_the_one_in_the_way(self, registry: Registry) -> None:
        ahead = 9_000_000_000_000
        stuck = begin(registry, make_start("a"))
        registry.fail_attempt(stuck, {"code": "RUN_002", "message": "replaced"}, {"newest_token": ahead})
        begin(registry, make_start("b"))
        released = registry.release("fx", "2026-01", who="ann", reason="its clock ran ahead")
        assert (released.number, released.token) == (1, ahead)
        assert begin(registry, make_start("c")).token == ahead + 1
        with pytest.raises(PlanError, match="nothing to release"):
            registry.release("fx", "2030-01", who="ann", reason="none")

    def test_override_holds_until_it_is_withdrawn(self, registry: Registry) -> None:
        first = registry.add_override("p", "2026-01", "balanced", who="ann", reason="known gap")
        assert registry.add_override("p", "2026-01", "balanced", who="ann", reason="known gap") == first
        with pytest.raises(DefinitionError, match=r"overridden already, by ann at .*: known gap"):
            registry.add_override("p", "2026-01", "balanced", who="ben", reason="again")
        withdrawn = registry.withdraw_override("p", "2026-01", "balanced", who="ben")
        assert withdrawn is not None
        assert (withdrawn.withdrawn_by, withdrawn.reason) == ("ben", "known gap")
        assert registry.withdraw_override("p", "2026-01", "balanced", who="ben") is None
        registry.add_override("p", "2026-01", "balanced", who="cid", reason="a new gap")
        assert [(item.number, item.withdrawn_by) for item in registry.list_overrides("p", "2026-01")] == [
            (1, "ben"),
            (2, None),
        ]
        assert registry.list_overrides("p") == registry.list_overrides("p", "2026-01")
        assert registry.list_overrides("q") == []

    def test_run_id_of_another_snapshot_is_refused(self, registry: Registry) -> None:
        staged = make_start("a")
        registry.stage_attempt(begin(registry, staged), {})
        for run_id in (staged.run_id, staged.snapshot_sha256):
            with pytest.raises(SnapshotError, match=f"the run id {run_id} belongs to the snapshot"):
                begin(registry, make_start("b", run_id=run_id))
        found = registry.find_run(staged.run_id)
        assert found is not None
        assert (found.snapshot_sha256, found.status) == (staged.snapshot_sha256, "staged")

    def test_run_whose_override_was_withdrawn_is_refused(self, registry: Registry) -> None:
        registry.add_override("p", "2026-01", "balanced", who="ann", reason="known gap")
        begin(registry, make_start("a", overrides=(("balanced", 1),)))
        registry.withdraw_override("p", "2026-01", "balanced", who="ben")
        with pytest.raises(PlanError, match="override of check 'balanced' for period 2026-01 was withdrawn by ben"):
            begin(registry, make_start("a", overrides=(("balanced", 1),)))
        registry.add_override("p", "2026-01", "balanced", who="cid", reason="a new gap")
        with pytest.raises(PlanError, match="withdrawn by ben"):
            begin(registry, make_start("a", overrides=(("balanced", 1),)))
        begin(registry, make_start("a", overrides=(("balanced", 2),)))

    @pytest.mark.parametrize(("project", "period"), [("q", "2026-01"), ("p", "2026-02"), (None, None)])
    def test_run_whose_override_is_not_in_the_registry_is_refused(
        self, registry: Registry, project: str | None, period: str | None
    ) -> None:
        if project and period:
            registry.add_override(project, period, "balanced", who="ann", reason="known gap")
        with pytest.raises(PlanError, match="the override of check 'balanced' for period 2026-01 is not known"):
            begin(registry, make_start("a", overrides=(("balanced", 1),)))
        assert registry.find_run("a") is None

    def test_staged_run_whose_override_was_withdrawn_is_not_published(self, registry: Registry) -> None:
        registry.add_override("p", "2026-01", "balanced", who="ann", reason="known gap")
        results = [{"name": "balanced", "status": "overridden"}, {"name": "total", "status": "passed"}]
        start = make_start("a", overrides=(("balanced", 1), ("total", 1)))
        registry.add_override("p", "2026-01", "total", who="ann", reason="not needed")
        registry.stage_attempt(begin(registry, start), {"checks": results})
        registry.withdraw_override("p", "2026-01", "total", who="ben")
        assert registry.begin_publication(start, holder=ELSEWHERE).staged is not None

    def test_override_that_is_given_anew_does_not_publish_what_was_staged_before(self, registry: Registry) -> None:
        start = make_start("a", overrides=(("balanced", 1),))
        registry.add_override("p", "2026-01", "balanced", who="ann", reason="known gap")
        report = {"checks": [{"name": "balanced", "status": "overridden"}]}
        registry.stage_attempt(begin(registry, start), report)
        registry.withdraw_override("p", "2026-01", "balanced", who="ben")
        registry.add_override("p", "2026-01", "balanced", who="cid", reason="a new gap")
        with pytest.raises(PlanError, match="check 'balanced' for period 2026-01 was withdrawn by ben"):
            registry.begin_publication(start, holder=ELSEWHERE)

    def test_approvals_are_kept_in_their_order(self, registry: Registry) -> None:
        wanted = Approval("run-a", "refused", "ann", "ben", real_user="svc", claimed_name="ben", host="h", comment="no")
        registry.add_approval(wanted)
        registry.add_approval(replace(wanted, decision="approved", comment="now it is right"))
        kept = registry.list_approvals("run-a")
        assert [item.decision for item in kept] == ["refused", "approved"]
        assert replace(kept[0], at=None) == wanted
        assert registry.list_approvals("run-b") == []
