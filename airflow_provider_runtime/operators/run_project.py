"""Run: execute a snapshot on Spark, register what it published, and notify whatever waits for it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.operators.snapshot_job import SnapshotJobOperator, SubmittedRun
from airflow_provider_runtime.operators.spark_job import SubmittedJob
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.published import write_published
from spark_jobs.contract.report import Report

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Registration
    from airflow_provider_runtime.core.runs.execution import Execution


class RunProjectOperator(SnapshotJobOperator):
    """Executes the snapshot that a ResolveOperator wrote.

    All arguments of SparkSubmitOperator are passed through. The task succeeds only with a report of this snapshot and
    attempt; it then registers the slices of registered outputs and emits an event of each dataset's asset with the
    period as the partition key. What needs an approval is staged: ApproveRunOperator and PublishRunOperator follow.

    :param snapshot: what ResolveOperator returned (or its XComArg); without it the upstream ResolveOperator's answer
    :param runtime_conn_id: connection of type `runtime`
    :param verify: publish nothing, and fail with DATA_004, if sources or rows are not those that an earlier execution
        of the same snapshot has published: of a cleared task, for example
    """

    ui_color = "#fdf2e1"
    _resumed = False

    def __init__(self, *, verify: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.verify = verify

    def carry_out(self, context: Context, execution: Execution) -> Sequence[Registration]:
        """Execute the snapshot, or find that an earlier try has done so."""
        self._begin(context, execution)
        answered = execution.attempt.published or execution.attempt.staged
        if answered is None:
            return execution.run(SubmittedRun(self, context))
        self.log.info("an earlier try of this task has %s already; nothing is left to do", answered.status)
        execution.report = read_document(Report, answered.report)
        return execution.finish(execution.report)

    # The attempt

    def _begin(self, context: Context, execution: Execution) -> None:
        """Begin an attempt, or take up the one whose job an earlier try has submitted."""
        earlier = self.find_submitted_job(context)
        try:
            attempt = execution.begin(resume_token=earlier.token if earlier else None)
        except RuntimeProviderError as error:
            if earlier is not None and not error.retryable:
                self.stop_job(context, earlier)
            raise
        self._resumed = earlier is not None and earlier.token == attempt.token
        if earlier is not None and not self._resumed:
            self.stop_job(context, earlier)
            # Before the new token is written down: the old job must never be taken for the new attempt's.
            self.forget_job(context)
        self._submit_as(context, execution, earlier if self._resumed else None)

    def _submit_as(self, context: Context, execution: Execution, earlier: SubmittedJob | None = None) -> None:
        """Set what is submitted, or has been, for the current attempt."""
        digest, token = execution.snapshot.sha256, execution.attempt.token
        self.report_uri = self.name_file(execution, "reports")
        arguments = ["--snapshot", execution.snapshot_uri, "--sha256", digest]
        if execution.snapshot.plan.settings.publication.needs_approval:
            # Nobody has approved anything yet: the rows wait for `publish`.
            until = int((time.time() + execution.keep_seconds) * 1000)
            arguments += ["--keep-until", str(until), "--compare"]
        if earlier is None:
            arguments += [*self._list_published(execution), *self._list_verified(execution)]
        self.set_application([*arguments, "--attempt", str(token), "--report", self.report_uri])
        if earlier is not None:
            self.reattach_job(earlier)
        self.keep_token(context, token)

    def _list_published(self, execution: Execution) -> list[str]:
        """Return the arguments for a job that compares: what readers see of tables; only this side can ask."""
        plan = execution.snapshot.plan
        publication = plan.settings.publication
        compares = publication.compare or publication.needs_approval
        if not compares or all(found.destination.kind != "table" for found in plan.outputs):
            return []
        uri = self.name_file(execution, "published")
        self.runtime.storage.write_once(uri, write_published(execution.show_published()))
        return ["--published", uri]

    def _list_verified(self, execution: Execution) -> list[str]:
        """Return the arguments for a job that must publish the same as before."""
        if not self.verify or execution.earlier is None:
            return []
        content = json.dumps(execution.earlier.to_dict(), ensure_ascii=False).encode()
        uri = self.name_file(execution, "earlier")
        self.runtime.storage.write_once(uri, content)
        return ["--earlier", uri, "--verify"]

    def submit_job(self, context: Context) -> str | None:
        """Submit again; if the job of an earlier try is gone, begin a new attempt first."""
        if self._execution is not None and self._resumed:
            self._execution.begin()
            self._submit_as(context, self._execution)
        return super().submit_job(context)
