"""What running and publishing a snapshot have in common: its execution, the job's report, and who is notified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_runtime.core.errors import (
    InfrastructureError,
    Problem,
    RuntimeProviderError,
    SnapshotError,
)
from airflow_provider_runtime.core.rendering import render_problems
from airflow_provider_runtime.failures import translate_errors
from airflow_provider_runtime.hooks.job_submit import JobSubmitHook
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID, RuntimeHook
from airflow_provider_runtime.operators.links import EvidenceLink, LinkedRun, ReportLink, SnapshotLink, SparkUiLink
from airflow_provider_runtime.operators.pins import open_pinned
from airflow_provider_runtime.operators.run_log import Line, describe_checks, describe_run
from airflow_provider_runtime.operators.spark_job import SparkJobOperator, explain_submit_failure
from airflow_provider_runtime.timetables.assets import make_asset_uri
from spark_jobs.contract.checks import count_statuses
from spark_jobs.contract.report import Report

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Registration
    from airflow_provider_runtime.core.runs.execution import Execution


class SnapshotJobOperator(SparkJobOperator):
    """Does one half of a snapshot's execution, or both, with one Spark job.

    All arguments of SparkSubmitOperator are passed through. The task succeeds only with a report of this snapshot and
    attempt; it then registers the slices of registered outputs and emits an event of each dataset's asset with the
    period as the partition key.
    """

    template_fields: Sequence[str] = (*SparkJobOperator.template_fields, "snapshot", "runtime_conn_id")
    operator_extra_links = (EvidenceLink(), SnapshotLink(), ReportLink(), SparkUiLink())

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
        self.is_snapshot_literal = isinstance(snapshot, Mapping)
        self.runtime_conn_id = runtime_conn_id
        self.snapshot_uri: str | None = None
        self.report_uri: str | None = None
        self.linked_run: LinkedRun | None = None
        self._execution: Execution | None = None
        self._runtime: RuntimeHook | None = None

    def execute(self, context: Context) -> Any:
        """Run the job and return a short report."""
        with translate_errors():
            return self._run(context)

    def _run(self, context: Context) -> dict[str, Any]:
        self._runtime = RuntimeHook(self.runtime_conn_id)
        execution = self._execution = self._prepare(context, self._runtime)
        try:
            registrations = self.carry_out(context, execution)
            self.show_spark_log()
            return self._conclude(context, execution, registrations)
        except RuntimeProviderError as error:
            self.log.error("%s", render_problems(error.problems))
            if execution.report is not None:
                self._log_lines(describe_checks(execution.report.checks))
            raise
        finally:
            self.show_spark_log()
            execution.registry.close()

    @property
    def runtime(self) -> RuntimeHook:
        """The deployment's registry and stores, once the task has begun."""
        assert self._runtime is not None
        return self._runtime

    def name_file(self, execution: Execution, folder: str, suffix: str = ".json") -> str:
        """Return the address in the snapshot store of a file of the current attempt."""
        store, digest = self.runtime.settings.snapshot_store, execution.snapshot.sha256
        return f"{store}/{folder}/{digest}/{execution.attempt.token}{suffix}"

    def carry_out(self, context: Context, execution: Execution) -> Sequence[Registration]:
        """Do what the task is for; the execution has a report afterwards."""
        raise NotImplementedError

    def _prepare(self, context: Context, hook: RuntimeHook) -> Execution:
        from airflow_provider_runtime.core.runs.execution import Execution
        from airflow_provider_runtime.core.runs.small_runs import is_small_run
        from airflow_provider_runtime.hooks.credentials import read_properties

        hook.make_stores()
        self.snapshot_uri, snapshot = open_pinned(self, context, hook)
        run, task_instance = context["dag_run"], context["ti"]
        self.linked_run = LinkedRun.of(context, snapshot)
        clears = getattr(run, "clear_number", 0) or 0
        place = (task_instance.dag_id, task_instance.task_id, run.run_id, task_instance.map_index, clears)
        self.prepare_job(
            snapshot.plan.list_credential_refs(), f"{clears}:{snapshot.sha256[:12]}", is_small=is_small_run(snapshot)
        )
        return Execution(
            registry=hook.open_registry(),
            snapshot=snapshot,
            snapshot_uri=self.snapshot_uri,
            invocation="/".join(str(part) for part in place),
            who=find_preparer(context, self.owner),
            durable=self.is_durable,
            read_properties=read_properties,
        )

    # The job

    def follow_job(self, context: Context) -> Report:
        """Submit the job, or follow the one that was taken up, and return its report."""
        assert self._execution is not None
        number, digest = self._execution.attempt.token, self._execution.snapshot.sha256[:12]
        self.log.info("::group::Spark job, attempt %s of snapshot %s", number, digest)
        try:
            try:
                super().execute(context)
            finally:
                self.log.info("::endgroup::")
        except Exception as error:
            report = self._find_report_of_failure()
            if report is not None and report.failed:
                # The job knows more of its failure than an exit status says.
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

        assert self._execution is not None
        content = self.runtime.storage.find_bytes(str(self.report_uri))
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

    def show_spark_log(self) -> None:
        """Show what Spark has printed, folded: what matters is logged before or after."""
        lines = self.submit_hook.job_log.take() if isinstance(self.submit_hook, JobSubmitHook) else []
        if lines:
            self.log.info("::group::What Spark printed, %s lines", len(lines))
            for line in lines:
                self.log.info("%s", line)
            self.log.info("::endgroup::")

    def _log_lines(self, lines: Iterable[Line]) -> None:
        for level, text in lines:
            self.log.log(level, "%s", text)

    # What follows a success

    def _conclude(
        self, context: Context, execution: Execution, registrations: Sequence[Registration]
    ) -> dict[str, Any]:
        from airflow_provider_runtime.core.runs.report import public_report

        assert execution.report is not None
        self._emit_events(context, execution, registrations)
        self._log_lines(describe_run(execution.snapshot, execution.report, registrations))
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
        """Give each registered dataset's event the period as its key, and details as its extra."""
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


class SubmittedRun:
    """The Spark job of an execution, submitted to a cluster or run as a local process."""

    def __init__(self, operator: SnapshotJobOperator, context: Context) -> None:
        self._operator = operator
        self._context = context

    def run(self) -> Report:
        """Submit the job, or follow the one that was taken up, and return its report."""
        return self._operator.follow_job(self._context)

    def stop(self) -> None:
        """Stop the job."""
        self._operator.on_kill()


def find_preparer(context: Context, owner: str) -> str:
    """Return who triggered, or backfilled, the DAG run; of any other, the DAG's owner."""
    return str(getattr(context["dag_run"], "triggering_user_name", None) or owner)
