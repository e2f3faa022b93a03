"""Run: execute a snapshot on Spark, register what it published, and tell whoever waits for it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import (
    DefinitionError,
    InfrastructureError,
    Problem,
    RuntimeProviderError,
    SnapshotError,
)
from airflow_provider_runtime.core.rendering import escape_control
from airflow_provider_runtime.failures import translate_errors
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID, RuntimeHook
from airflow_provider_runtime.operators.links import ReportLink, SnapshotLink, SparkUiLink
from airflow_provider_runtime.operators.spark_job import SparkJobOperator, SubmittedJob, explain_submit_failure
from airflow_provider_runtime.timetables.assets import make_asset_uri
from spark_jobs.contract.checks import count_statuses, describe_result
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.report import Report

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Registration
    from airflow_provider_runtime.core.runs.execution import Execution


class RunProjectOperator(SparkJobOperator):
    """Executes the snapshot that a ResolveOperator wrote.

    All arguments of SparkSubmitOperator are passed through. The task succeeds only with a report of this snapshot and
    attempt; it then registers the slices of registered outputs and emits an event of each dataset's asset with the
    period as the partition key.

    :param snapshot: what ResolveOperator returned (or its XComArg); without it the upstream ResolveOperator's answer
    :param runtime_conn_id: connection of type `runtime`
    """

    template_fields: Sequence[str] = (*SparkJobOperator.template_fields, "snapshot", "runtime_conn_id")
    operator_extra_links = (SnapshotLink(), ReportLink(), SparkUiLink())
    ui_color = "#fdf2e1"

    def __init__(
        self,
        *,
        snapshot: Any = None,
        runtime_conn_id: str = DEFAULT_CONN_ID,
        retries: int = 2,
        retry_exponential_backoff: float | bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(retries=retries, retry_exponential_backoff=retry_exponential_backoff, **kwargs)
        self.snapshot = snapshot
        self.runtime_conn_id = runtime_conn_id
        self.snapshot_uri: str | None = None
        self.report_uri: str | None = None
        self._execution: Execution | None = None
        self._runtime: RuntimeHook | None = None
        self._resumed = False

    def execute(self, context: Context) -> Any:
        """Run the job and return a short report."""
        with translate_errors():
            return self._run(context)

    def _run(self, context: Context) -> dict[str, Any]:
        self._runtime = RuntimeHook(self.runtime_conn_id)
        execution = self._execution = self._prepare(context, self._runtime)
        try:
            self._begin(context, execution)
            answered = execution.attempt.published or execution.attempt.staged
            if answered is not None:
                self.log.info("an earlier try of this task has %s already; nothing is left to do", answered.status)
                execution.report = read_document(Report, answered.report)
                registrations = execution.finish(execution.report)
            else:
                registrations = execution.run(_SubmittedRun(self, context))
            return self._conclude(context, execution, registrations)
        finally:
            execution.registry.close()

    def _prepare(self, context: Context, hook: RuntimeHook) -> Execution:
        from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot
        from airflow_provider_runtime.core.runs.execution import Execution
        from airflow_provider_runtime.hooks.credentials import read_properties

        pins = self._read_pins(context)
        self.snapshot_uri, digest = str(pins["snapshot_uri"]), str(pins["snapshot_sha256"])
        snapshot = read_snapshot(self.snapshot_uri, digest, hook.storage)
        run, task_instance = context["dag_run"], context["ti"]
        clears = getattr(run, "clear_number", 0) or 0
        place = (task_instance.dag_id, task_instance.task_id, run.run_id, task_instance.map_index, clears)
        self.prepare_job(snapshot.plan.list_credential_refs(), f"{clears}:{digest[:12]}")
        return Execution(
            registry=hook.open_registry(),
            snapshot=snapshot,
            snapshot_uri=self.snapshot_uri,
            invocation="/".join(str(part) for part in place),
            who=str(getattr(run, "triggering_user_name", None) or self.owner),
            durable=self.is_durable,
            read_properties=read_properties,
        )

    def _read_pins(self, context: Context) -> Mapping[str, Any]:
        pins = self.snapshot
        if pins is None:
            pins = context["ti"].xcom_pull(task_ids=self._find_resolve_task())
        if isinstance(pins, str):
            pins = _parse_pins(pins)
        if not isinstance(pins, Mapping) or not {"snapshot_uri", "snapshot_sha256"} <= set(pins):
            hint = "put a ResolveOperator before this task, or give snapshot=resolve.output"
            raise SnapshotError(Problem("SNAPSHOT_001", f"task '{self.task_id}' was given no snapshot", hint))
        return pins

    def _find_resolve_task(self) -> str:
        from airflow_provider_runtime.operators.resolve import ResolveOperator

        found = [task.task_id for task in self.upstream_list if isinstance(task, ResolveOperator)]
        if len(found) != 1:
            hint = "give snapshot=resolve.output"
            message = f"task '{self.task_id}' has {len(found)} ResolveOperators right before it, expected one"
            raise DefinitionError(Problem("SNAPSHOT_001", message, hint))
        return found[0]

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
        assert self._runtime is not None
        digest, token = execution.snapshot.sha256, execution.attempt.token
        self.report_uri = f"{self._runtime.settings.snapshot_store}/reports/{digest}/{token}.json"
        arguments = ["--snapshot", execution.snapshot_uri, "--sha256", digest]
        if execution.snapshot.plan.settings.publication.needs_approval:
            # Nobody has approved anything yet: the rows wait for `publish`.
            arguments += ["--keep-until", str(int((time.time() + execution.keep_seconds) * 1000))]
        self.set_application([*arguments, "--attempt", str(token), "--report", self.report_uri])
        if earlier is not None:
            self.take_up_job(earlier)
        self.keep_token(context, token)
        self.log.info("attempt %s of snapshot %s", token, digest[:12])

    def submit_job(self, context: Context) -> str | None:
        """Submit anew; a job that was to be taken up again and is gone gets a new attempt first."""
        if self._execution is not None and self._resumed:
            self._execution.begin()
            self._submit_as(context, self._execution)
        return super().submit_job(context)

    # The job

    def follow_job(self, context: Context) -> Report:
        """Submit the job, or follow the one that was taken up, and return its report."""
        try:
            super().execute(context)
        except Exception as error:
            report = self._find_report_of_failure()
            if report is not None and report.failed:
                # The job knows more of its failure than an exit status tells.
                return report
            explained = explain_submit_failure(error)
            if explained is error:
                raise
            raise explained from None
        report = self._find_report()
        if report is None:
            message = f"the Spark job ended without a report of this attempt at {self.report_uri}"
            hint = "see the job's log above; the report's address must be writable for the driver"
            raise InfrastructureError(Problem("INFRA_001", message, hint))
        return report

    def _find_report(self) -> Report | None:
        """Return the report of this attempt, or None."""
        from airflow_provider_runtime.core.runs.report import read_report

        assert self._runtime is not None
        assert self._execution is not None
        content = self._runtime.storage.find_bytes(str(self.report_uri))
        if content is None:
            return None
        try:
            report = read_report(content)
        except SnapshotError as error:
            self.log.warning("%s: %s", self.report_uri, error)
            return None
        return report if report.is_of(self._execution.snapshot.sha256, self._execution.attempt.token) else None

    def _find_report_of_failure(self) -> Report | None:
        """Return the report, or None also where it cannot be read: what failed before matters more."""
        try:
            return self._find_report()
        except Exception:
            self.log.exception("the report at %s cannot be read", self.report_uri)
            return None

    def log_checks(self, report: Report) -> None:
        """Tell what came of the checks."""
        for result in report.checks:
            level = logging.INFO if result.status in ("passed", "recorded", "no_baseline") else logging.WARNING
            self.log.log(level, "%s", escape_control(describe_result(result)))
            if result.failing_rows_uri is not None:
                self.log.log(level, "failing rows: %s", escape_control(result.failing_rows_uri))

    # What follows a success

    def _conclude(
        self, context: Context, execution: Execution, registrations: Sequence[Registration]
    ) -> dict[str, Any]:
        from airflow_provider_runtime.core.runs.report import public_report

        assert execution.report is not None
        self._emit_events(context, execution, registrations)
        for output in execution.report.outputs:
            self.log.info("output %s: %s rows to %s", output.seq, output.rows, escape_control(output.destination))
        keys = ("seq", "rows", "registered_dataset", "registered_version")
        outputs = public_report(execution.report, registrations)["outputs"]
        return {
            "run_id": execution.snapshot.run_id,
            "status": execution.report.status,
            "period": execution.snapshot.period.identifier,
            "report_uri": self.report_uri,
            "outputs": [{key: output[key] for key in keys} for output in outputs],
            **({"checks": count_statuses(execution.report.checks)} if execution.report.checks else {}),
        }

    def _emit_events(self, context: Context, execution: Execution, registrations: Sequence[Registration]) -> None:
        """Give each registered dataset's event the period as its key, and what it is about as its extra."""
        by_uri = {make_asset_uri(entry.dataset_name): entry for entry in registrations}
        for outlet in self.outlets:
            entry = by_uri.get(getattr(outlet, "uri", ""))
            if entry is None:
                continue
            event = context["outlet_events"][outlet]
            event.add_partitions(execution.snapshot.period.identifier)
            event.extra.update(
                {
                    "period": execution.snapshot.period.identifier,
                    "version": entry.version,
                    "rows": entry.rows,
                    "snapshot_sha256": execution.snapshot.sha256,
                    "run_id": execution.snapshot.run_id,
                }
            )

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """Tell OpenLineage the same of a run that failed, of which a check may be the reason."""
        return self.get_openlineage_facets_on_complete(task_instance)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Tell OpenLineage what was read and written, with schemas, column lineage and row counts."""
        del task_instance
        if self._execution is None:
            return None
        from airflow_provider_runtime.operators.lineage import make_operator_lineage

        return make_operator_lineage(self._execution.snapshot.plan, self._execution.report)


class _SubmittedRun:
    """The Spark job of an execution, submitted to a cluster or as a process of its own."""

    def __init__(self, operator: RunProjectOperator, context: Context) -> None:
        self._operator = operator
        self._context = context

    def run(self) -> Report:
        report = self._operator.follow_job(self._context)
        self._operator.log_checks(report)
        return report

    def stop(self) -> None:
        self._operator.on_kill()


def _parse_pins(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        import ast

        # A template renders a dictionary the way Python writes it.
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None
