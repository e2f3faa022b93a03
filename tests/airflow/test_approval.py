"""A project that needs an approval: what is asked, who may answer, and what follows from the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators import hitl
from airflow.sdk import DAG
from airflow.sdk.exceptions import TaskAwaitingInput
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_runtime.core.registry.ports import RunRecord
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.registry.transactional import TransactionalRegistry
from airflow_provider_runtime.dag_factory import ProjectTaskGroup, project_dag
from airflow_provider_runtime.operators.approve_run import ApproveRunOperator
from airflow_provider_runtime.operators.publish_run import PublishRunOperator
from airflow_provider_runtime.operators.resolve import ResolveOperator
from airflow_provider_runtime.operators.run_project import RunProjectOperator
from tests.airflow.tasks import FakeSpark, FakeTask

pytestmark = pytest.mark.airflow

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@dataclass
class Close:
    """The tasks of one DAG run of a project that needs an approval."""

    home: Path
    spark: FakeSpark
    asked: list[dict[str, Any]]
    task: FakeTask = field(default_factory=lambda: FakeTask(triggered_by="ann"))
    skipped: list[str] = field(default_factory=list)
    pins: Any = None

    @property
    def registry(self) -> TransactionalRegistry:
        return open_registry(f"sqlite:///{self.home}/.runtime/registry.db")

    @property
    def record(self) -> RunRecord:
        found = self.registry.find_run(self.pins["run_id"])
        assert found is not None
        return found

    def stage(self) -> None:
        if self.pins is None:
            resolve = ResolveOperator(task_id="resolve", project="fx-close", catalog=self.home / "catalog")
            self.pins = resolve.execute(self.task.context("resolve"))
        report = RunProjectOperator(task_id="run", snapshot=self.pins).execute(self.task.context("run"))
        assert report["status"] == "staged"

    def ask(self) -> Any:
        """Ask for an approval; None when somebody has to answer."""
        operator = self._make_approve()
        try:
            return operator.execute(self._context(operator))
        except TaskAwaitingInput:
            return None

    def answer(self, name: str, option: str = "Approve", comment: str = "", user_id: str | None = None) -> Any:
        operator = self._make_approve()
        event = {
            "chosen_options": [option],
            "params_input": {"comment": comment},
            "responded_at": NOW,
            "responded_by_user": {"id": user_id or name, "name": name},
        }
        return operator.execute_complete(self._context(operator), event)

    def publish(self) -> dict[str, Any]:
        operator = PublishRunOperator(task_id="publish", snapshot=self.pins)
        return dict(operator.execute(self.task.context("publish")))

    def _make_approve(self) -> ApproveRunOperator:
        with DAG("close", schedule=None):
            approve = ApproveRunOperator(task_id="approve", snapshot=self.pins)
            approve >> PublishRunOperator(task_id="publish", snapshot=self.pins)
        object.__setattr__(approve, "skip", lambda ti, tasks: self.skipped.extend(task.task_id for task in tasks))
        return approve

    def _context(self, operator: ApproveRunOperator) -> Any:
        return {**self.task.context("approve"), "task": operator}


@pytest.fixture
def close(home: Path, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch) -> Close:
    require_approval(home)
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **request: asked.append(request))
    return Close(home, spark, asked)


def require_approval(home: Path, by: str = "[ann, ben]") -> None:
    project = next(path for path in (home / "catalog").rglob("*.yaml") if "name: fx-close" in path.read_text())
    text = project.read_text()
    approval = f"publication: {{approval: required, by: {by}}}"
    project.write_text(text.replace("name: fx-close\n", f"name: fx-close\n  {approval}\n", 1))


def test_second_person_approves_and_the_run_is_published_once(close: Close) -> None:
    close.stage()
    assert close.ask() is None
    (request,) = close.asked
    assert request["subject"] == "Publish fx-close for 2026-01?"
    assert [user["id"] for user in request["assigned_users"]] == ["ben"]
    assert "ann ran **fx-close**" in request["body"]

    answer = close.answer("ben", comment="totals agree")
    assert (answer["decision"], answer["approver"], answer["preparer"]) == ("approved", "ben", "ann")
    (kept,) = close.registry.list_approvals(close.pins["run_id"])
    assert (kept.decision, kept.approver, kept.comment, kept.at) == ("approved", "ben", "totals agree", NOW)
    assert close.publish()["status"] == "succeeded"
    assert close.record.status == "succeeded"
    assert "--publish" in close.spark.calls[1]["arguments"]
    # A retry, or a clear of the last task, finds what was done.
    assert close.publish()["status"] == "succeeded"
    assert len(close.spark.calls) == 2
    assert len(close.registry.list_publications("fx-close")) == 1
    assert {key for event in close.task.events.values() for key in event.partition_keys} <= {"2026-01"}


def test_nothing_is_published_before_somebody_has_approved(close: Close) -> None:
    close.stage()
    with pytest.raises(AirflowFailException, match=r"APPROVAL_001.*nobody has approved"):
        close.publish()
    assert close.record.status == "staged"


@pytest.mark.parametrize(("name", "why"), [("ann", "ran fx-close"), ("cid", "is not an approver")])
def test_answer_of_somebody_who_may_not_approve_fails_the_task(close: Close, name: str, why: str) -> None:
    close.stage()
    with pytest.raises(AirflowFailException, match=f"APPROVAL_001.*'{name}' {why}"):
        close.answer(name)
    assert close.registry.list_approvals(close.pins["run_id"]) == []
    assert close.record.status == "staged"


def test_users_are_known_by_id_or_by_name(close: Close) -> None:
    close.stage()
    assert close.answer("ben", user_id="17")["approver"] == "ben"
    assert close.record.status == "staged"


def test_preparer_who_is_an_approver_by_id_cannot_approve(home: Path, close: Close) -> None:
    project = next(path for path in (home / "catalog").rglob("*.yaml") if "by: [ann, ben]" in path.read_text())
    project.write_text(project.read_text().replace("by: [ann, ben]", 'by: ["7", "17"]'))
    close.stage()
    with pytest.raises(AirflowFailException, match=r"APPROVAL_001.*'ann' ran"):
        close.answer("ann", user_id="7")
    assert close.answer("ben", user_id="17")["approver"] == "17"


def test_run_of_the_schedule_is_prepared_by_the_owner(close: Close) -> None:
    close.task.triggered_by = None
    close.stage()
    close.ask()
    assert close.record.who == "airflow"
    assert [user["id"] for user in close.asked[0]["assigned_users"]] == ["ann", "ben"]


def test_only_approver_who_has_run_it_cannot_be_asked(home: Path, close: Close) -> None:
    project = next(path for path in (home / "catalog").rglob("*.yaml") if "by: [ann, ben]" in path.read_text())
    project.write_text(project.read_text().replace("by: [ann, ben]", "by: [ann]"))
    close.stage()
    with pytest.raises(AirflowFailException, match=r"APPROVAL_001.*its only approver"):
        close.ask()


def test_refusal_discards_what_was_staged_and_skips_the_publication(close: Close) -> None:
    close.stage()
    answer = close.answer("ben", "Reject", comment="wrong rates")
    assert (answer["decision"], close.skipped) == ("refused", ["publish"])
    record = close.record
    assert (record.status, record.staged_until) == ("discarded", None)
    assert record.error is not None
    assert "wrong rates" in record.error["message"]
    with pytest.raises(AirflowFailException, match=r"RUN_002.*wrong rates"):
        close.publish()
    # Clearing the task asks nobody again: there is nothing left to approve.
    assert close.ask()["decision"] == "refused"
    assert close.skipped == ["publish", "publish"]


def test_answer_survives_a_clear_of_its_task(close: Close) -> None:
    close.stage()
    close.answer("ben")
    close.task.clear_number = 1
    assert close.ask()["approver"] == "ben"
    assert close.asked == []
    assert close.publish()["status"] == "succeeded"


def test_rows_that_are_staged_anew_are_asked_for_anew(close: Close) -> None:
    close.stage()
    close.answer("ben")
    close.task.clear_number = 1
    close.stage()
    assert close.ask() is None
    with pytest.raises(AirflowFailException, match=r"APPROVAL_001"):
        close.publish()
    close.answer("ben")
    assert close.publish()["status"] == "succeeded"
    assert len(close.registry.list_approvals(close.pins["run_id"])) == 2


def test_period_that_somebody_else_has_published_since_is_not_overwritten(close: Close) -> None:
    close.stage()
    close.answer("ben")
    other = Close(close.home, close.spark, [], FakeTask(triggered_by="dee"))
    registry = close.registry
    overtaken = registry.find_run(close.pins["run_id"])
    assert overtaken is not None
    other.stage()
    other.answer("ben")
    other.publish()
    with pytest.raises(AirflowFailException, match=r"PLAN_001|RUN_002"):
        close.publish()


def test_locked_period_is_not_published(close: Close) -> None:
    close.stage()
    close.answer("ben")
    close.registry.set_period_status("gregorian", "2026-01", "locked", who="eve", reason="audited")
    with pytest.raises(AirflowFailException, match=r"PERIOD_002.*audited"):
        close.publish()


def test_request_ends_with_the_rows_that_it_is_about(close: Close) -> None:
    close.stage()
    close.ask()
    until = close.record.staged_until
    assert until is not None
    operator = ApproveRunOperator(task_id="approve", snapshot=close.pins)
    with pytest.raises(TaskAwaitingInput) as asked:
        operator.execute(close._context(operator))
    assert timedelta(days=6) < asked.value.timeout <= timedelta(days=7)


def test_publication_on_the_command_line_ends_the_question(close: Close) -> None:
    close.stage()
    close.answer("ben")
    close.publish()
    close.task.clear_number = 1
    assert close.ask()["decision"] == "approved"


def test_failed_publication_is_tried_again(close: Close, monkeypatch: pytest.MonkeyPatch) -> None:
    close.stage()
    close.answer("ben")
    error = {"code": "INFRA_001", "message": "the database is away"}
    monkeypatch.setenv("FAKE_SUBMIT_ERROR", json.dumps(error))
    with pytest.raises(Exception, match="the database is away"):
        close.publish()
    assert close.record.status == "staged"
    monkeypatch.delenv("FAKE_SUBMIT_ERROR")
    assert close.publish()["status"] == "succeeded"


def test_factory_makes_four_tasks_that_can_be_stored(home: Path) -> None:
    require_approval(home)
    dag = project_dag("fx-close", home / "catalog")
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    assert list(stored.task_dict) == ["resolve", "run", "approve", "publish"]
    assert [stored.task_dict[name].downstream_task_ids for name in ("resolve", "run", "approve")] == [
        {"run", "approve", "publish"},
        {"approve"},
        {"publish"},
    ]
    run, publish = dag.get_task("run"), dag.get_task("publish")
    assert (run.outlets, len(publish.outlets)) == ([], 1)
    assert "`ann`, `ben`" in str(dag.get_task("approve").doc_md)

    with DAG("own", schedule=None):
        group = ProjectTaskGroup("fx-close", home / "catalog")
    assert group.approve is not None
    assert group.publish is not None
    assert group.publish.task_id == "fx-close.publish"
