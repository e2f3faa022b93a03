"""Publish: the second half of a run whose rows wait for a decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_runtime.operators.snapshot_job import SnapshotJobOperator, SubmittedRun
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.report import Report

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Registration
    from airflow_provider_runtime.core.runs.execution import Execution


class PublishRunOperator(SnapshotJobOperator):
    """Publishes what RunProjectOperator has staged, without computing it again.

    It fails with APPROVAL_001 unless the registry has an approval of these very rows, with RUN_002 when a newer attempt
    has begun, with PLAN_001 when the period was published since, and with PERIOD_002 when it was closed or locked. What
    a try before has published is found and not repeated.

    :param snapshot: what ResolveOperator returned (or its XComArg)
    :param runtime_conn_id: connection of type `runtime`
    """

    ui_color = "#e3f0fb"

    def carry_out(self, context: Context, execution: Execution) -> Sequence[Registration]:
        """Publish, or find that this was done already."""
        attempt = execution.begin_publication()
        if attempt.published is not None:
            self.log.info("it was published before; nothing is left to do")
            execution.report = read_document(Report, attempt.published.report)
            return execution.finish(execution.report)
        assert attempt.staged is not None
        self._submit(context, execution, read_document(Report, attempt.staged.report))
        return execution.run(SubmittedRun(self, context))

    def _submit(self, context: Context, execution: Execution, staged: Report) -> None:
        """Set what is submitted: the report of what was staged goes with it."""
        digest, token = execution.snapshot.sha256, execution.attempt.token
        clears = getattr(context["dag_run"], "clear_number", 0) or 0
        self.report_uri = self.name_file(execution, "reports", f".published-{clears}.json")
        staged_uri = self.name_file(execution, "reports", ".staged.json")
        self.runtime.storage.write_once(staged_uri, json.dumps(staged.to_dict(), ensure_ascii=False).encode())
        arguments = ["--snapshot", execution.snapshot_uri, "--sha256", digest, "--publish", staged_uri]
        self.set_application([*arguments, "--attempt", str(token), "--report", self.report_uri])
        earlier = self.find_submitted_job(context)
        if earlier is not None:
            self.reattach_job(earlier)
        self.keep_token(context, token)
