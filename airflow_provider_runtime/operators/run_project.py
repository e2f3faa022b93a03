"""Run: execute a snapshot on Spark, register what it published, and tell whoever waits for it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators import spark_submit
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException, AirflowNotFoundException, BaseHook

from airflow_provider_runtime.core.errors import (
    DefinitionError,
    InfrastructureError,
    Problem,
    RuntimeProviderError,
    SnapshotError,
)
from airflow_provider_runtime.core.rendering import escape_control
from airflow_provider_runtime.failures import make_job_error, translate_errors
from airflow_provider_runtime.hooks.credentials import (
    AIRFLOW_PREFIX,
    hide_credentials,
    make_environment,
)
from airflow_provider_runtime.hooks.job_submit import JobSubmitHook, make_exit_error
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID, RuntimeHook, find_home
from airflow_provider_runtime.operators.links import ReportLink, SnapshotLink, SparkUiLink
from airflow_provider_runtime.timetables.assets import make_asset_uri
from spark_jobs.contract.documents import read_document
from spark_jobs.contract.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.sdk import Context

    from airflow_provider_runtime.core.registry.ports import Attempt, Registration, Registry
    from spark_jobs.contract.snapshot import Snapshot

QUIET_CONF = {"spark.log.level": "WARN", "spark.ui.showConsoleProgress": "false"}
"""Settings that leave the job's own progress lines readable in the task's log; `conf` overrides them."""
_LOG_TAIL = 2000
_EXIT_CODE = re.compile(r"Error code is: (-?\d+)(?:\. Kubernetes spark exit code is: (\d+))?")


@dataclass
class _Execution:
    """What one try of the task works with."""

    hook: RuntimeHook
    registry: Registry
    snapshot: Snapshot
    snapshot_uri: str
    secrets: dict[str, str]
    invocation: str
    suffix: str
    attempt: Attempt | None = None
    lost: list[RuntimeProviderError] = field(default_factory=list)
    resumed: bool = False
    alive: ExitStack = field(default_factory=ExitStack)
    """Lengthens the lease of the attempt that it was entered with."""

    @property
    def report_uri(self) -> str:
        """Where the job of the current attempt writes its report."""
        token = self.attempt.token if self.attempt else 0
        return f"{self.hook.settings.snapshot_store}/reports/{self.snapshot.sha256}/{token}.json"


@dataclass(frozen=True)
class _EarlierJob:
    """The job that an earlier try has submitted to a cluster, and the token of its attempt."""

    external_id: str
    token: int


class RunProjectOperator(SparkSubmitOperator):
    """Executes the snapshot that a ResolveOperator wrote.

    All arguments of SparkSubmitOperator are passed through. The task succeeds only with a report of this snapshot and
    attempt; it then registers the slices of registered outputs and emits an event of each dataset's asset with the
    period as the partition key.

    :param snapshot: what ResolveOperator returned (or its XComArg); without it the upstream ResolveOperator's answer
    :param runtime_conn_id: connection of type `runtime`
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "snapshot", "runtime_conn_id")
    operator_extra_links = (SnapshotLink(), ReportLink(), SparkUiLink())
    ui_color = "#fdf2e1"

    def __init__(
        self,
        *,
        snapshot: Any = None,
        runtime_conn_id: str = DEFAULT_CONN_ID,
        name: str = "airflow-runtime",
        retries: int = 2,
        retry_exponential_backoff: float | bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, retries=retries, retry_exponential_backoff=retry_exponential_backoff, **kwargs)
        self.snapshot = snapshot
        self.runtime_conn_id = runtime_conn_id
        self.snapshot_uri: str | None = None
        self.report_uri: str | None = None
        self._execution: _Execution | None = None
        self._finished_report: Report | None = None

    @property
    def spark_ui_url(self) -> str | None:
        """Spark's page of the application, when the log told it."""
        return getattr(self._hook, "spark_ui_url", None)

    def execute(self, context: Context) -> Any:
        """Run the job and return a short report."""
        with translate_errors():
            return self._run(context)

    def _run(self, context: Context) -> dict[str, Any]:
        self._require_spark_connection()
        self.conf = {**QUIET_CONF, **(self.conf or {})}
        execution = self._prepare(context)
        self._execution = execution
        self.snapshot_uri = execution.snapshot_uri
        try:
            attempt = self._begin(context, execution)
            if attempt.published is not None:
                self.log.info("an earlier try of this task has published already; nothing is left to do")
                report = read_document(Report, attempt.published.report)
                return self._conclude(context, execution, report, self._finish(execution, report))
            report = self._submit_and_read(context, execution)
            return self._conclude(context, execution, report, self._finish(execution, report))
        finally:
            execution.registry.close()

    def _require_spark_connection(self) -> None:
        """The Spark provider would take `yarn` for a connection that is not there."""
        try:
            connection = BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException:
            message = f"Spark connection '{self._conn_id}' is not defined"
            hint = "add a connection of type spark, for example with the host local[*], or set conn_id"
            raise DefinitionError(Problem("CATALOG_004", message, hint)) from None
        # Without it the Spark provider's hook fails with the name of a variable.
        is_kubernetes = "k8s" in f"{connection.conn_type}://{connection.host}"
        if is_kubernetes and getattr(spark_submit, "kube_client", None) is None:
            message = f"Spark connection '{self._conn_id}' is one of Kubernetes, which this worker cannot reach"
            hint = "install apache-airflow-providers-cncf-kubernetes"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    def _prepare(self, context: Context) -> _Execution:
        from airflow_provider_runtime.core.planning.snapshot.store import read_snapshot

        pins = self._read_pins(context)
        hook = RuntimeHook(self.runtime_conn_id)
        uri, digest = str(pins["snapshot_uri"]), str(pins["snapshot_sha256"])
        snapshot = read_snapshot(uri, digest, hook.storage)
        run, task_instance = context["dag_run"], context["ti"]
        references = snapshot.plan.list_credential_refs()
        secrets = make_environment(references)
        hide_credentials(references, secrets)
        clears = getattr(run, "clear_number", 0) or 0
        place = (task_instance.dag_id, task_instance.task_id, run.run_id, task_instance.map_index, clears)
        return _Execution(
            hook=hook,
            registry=hook.open_registry(),
            snapshot=snapshot,
            snapshot_uri=uri,
            secrets=secrets,
            invocation="/".join(str(part) for part in place),
            suffix=f"{clears}:{digest[:12]}",
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

    def _begin(self, context: Context, execution: _Execution) -> Attempt:
        # Both keys of the Spark provider are constants, which would make a cleared task find its old job's success.
        self.external_id_key = f"spark_job_id:{execution.suffix}"
        self._K8S_DRIVER_STATUS_KEY = f"k8s_driver_status:{execution.suffix}"
        self._hook = self._get_hook()
        self._refuse_impossible_mode()
        self._refuse_secrets_on_clusters(execution)
        earlier = self._find_earlier_job(context, execution) if self._is_durable else None
        try:
            return self._take_attempt(context, execution, earlier)
        except RuntimeProviderError as error:
            if earlier is not None and not error.retryable:
                self._stop_earlier(context, earlier)
            raise

    def _refuse_impossible_mode(self) -> None:
        """Spark would say so too, after a start of Java and in words that a retry would follow."""
        if not isinstance(self._hook, JobSubmitHook) or not self._hook.is_cluster_mode:
            return
        if self._hook.master.startswith(("local", "spark://")):
            message = f"Spark connection '{self._conn_id}' asks for the deploy mode cluster on {self._hook.master}"
            hint = "Spark runs Python in cluster mode on YARN and Kubernetes only: use the deploy mode client"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    def _refuse_secrets_on_clusters(self, execution: _Execution) -> None:
        """A driver on a cluster has its own environment; ours would reach it only in plain sight."""
        refused = [ref for ref in execution.snapshot.plan.list_credential_refs() if ref.startswith(AIRFLOW_PREFIX)]
        if refused and isinstance(self._hook, JobSubmitHook) and self._hook.is_cluster_mode:
            hint = "use env:// with a variable of the cluster's own secrets, or the client deploy mode"
            message = f"the credential '{refused[0]}' cannot be handed to a driver in cluster mode"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    @property
    def _is_durable(self) -> bool:
        return bool(self.durable) and isinstance(self._hook, JobSubmitHook) and self._hook.is_cluster_mode

    def _find_earlier_job(self, context: Context, execution: _Execution) -> _EarlierJob | None:
        store = context.get("task_state_store")
        job = store.get(self.external_id_key) if store is not None else None
        token = store.get(f"attempt_token:{execution.suffix}") if store is not None and job else None
        return _EarlierJob(str(job), int(str(token))) if token else None

    def _take_attempt(self, context: Context, execution: _Execution, earlier: _EarlierJob | None = None) -> Attempt:
        from airflow_provider_runtime.core.runs.life import begin_attempt

        attempt = begin_attempt(
            execution.registry,
            execution.snapshot,
            snapshot_uri=execution.snapshot_uri,
            invocation=execution.invocation,
            durable=self._is_durable,
            resume_token=earlier.token if earlier else None,
        )
        execution.resumed = earlier is not None and earlier.token == attempt.token
        store = context.get("task_state_store")
        if earlier is not None and store is not None and not execution.resumed:
            self._stop_earlier(context, earlier)
            # Before the new token is written down: the old job must never be taken for the new attempt's.
            for key in (self.external_id_key, self._K8S_DRIVER_STATUS_KEY):
                store.delete(key)
        execution.attempt = attempt
        self.report_uri = execution.report_uri
        self._set_application(execution)
        if earlier is not None and execution.resumed:
            self._know(earlier)
        if self._is_durable and store is not None:
            store.set(f"attempt_token:{execution.suffix}", str(attempt.token))
        self.log.info("attempt %s of snapshot %s", attempt.token, execution.snapshot.sha256[:12])
        return attempt

    def _know(self, earlier: _EarlierJob) -> None:
        """Let `on_kill` stop a job that an earlier try has submitted."""
        assert isinstance(self._hook, JobSubmitHook)
        self._hook.take_up(earlier.external_id)

    def _stop_earlier(self, context: Context, earlier: _EarlierJob) -> None:
        """Stop a job that nobody will follow any more, if it goes on."""
        try:
            goes_on = self.is_job_active(self.get_job_status(earlier.external_id, context))
        except Exception:
            self.log.exception("nobody can say whether the job %s goes on", earlier.external_id)
            return
        if goes_on:
            self.log.warning("the job %s goes on and nobody will follow it: it is stopped", earlier.external_id)
            self._know(earlier)
            self.on_kill()

    def _set_application(self, execution: _Execution) -> None:
        from airflow_provider_runtime.core.job_package import build_job_package

        assert execution.attempt is not None
        args = ["--snapshot", execution.snapshot_uri, "--sha256", execution.snapshot.sha256]
        args += ["--attempt", str(execution.attempt.token), "--report", execution.report_uri]
        if not self.application:
            package = build_job_package(Path(find_home()) / ".runtime" / "job")
            self.application = os.fspath(package.application)
            self.py_files = ",".join(filter(None, (os.fspath(package.archive), self.py_files)))
        self.application_args = args
        self._hook = self._get_hook()

    def _get_hook(self) -> JobSubmitHook:
        """Return the Spark provider's hook as our own class, so that secrets reach the driver unseen."""
        hook = JobSubmitHook.adopt(super()._get_hook(), self._execution.secrets if self._execution else {})
        self._choose_tracking(hook)
        return hook

    def _choose_tracking(self, hook: JobSubmitHook) -> None:
        """In cluster modes follow the job through the cluster's own API, so that a retry can take it up again."""
        if not self.durable or not hook.is_cluster_mode:
            return
        if hook.is_kubernetes and not self._track_driver_via_k8s_api:
            self._track_driver_via_k8s_api = self.durable = hook.can_ask_kubernetes
            if self.durable:
                hook.track_kubernetes_driver()
            else:
                self.log.warning("without a namespace in the connection a retry starts the job anew")
        if hook.is_yarn and not self._yarn_track_via_rm_api:
            self._yarn_track_via_rm_api = self.durable = hook.track_yarn_application()
            if not self.durable:
                self.log.warning("without yarn_resourcemanager_webapp_address a retry starts the job anew")

    def submit_job(self, context: Context) -> str | None:
        """Submit anew; a job that was to be taken up again and is gone gets a new attempt first."""
        execution = self._execution
        if execution is not None and execution.resumed:
            execution.alive.close()
            self._take_attempt(context, execution)
            execution.alive.enter_context(self._keep_alive(execution))
        return super().submit_job(context)

    # The job

    def _submit_and_read(self, context: Context, execution: _Execution) -> Report:
        try:
            self._submit(context, execution)
            return self._get_report(execution)
        except BaseException as error:
            found = self._find_report_of_failure(execution)
            failure = execution.lost[0] if execution.lost else _choose_error(error, found)
            self._record_failure(execution, failure, found)
            if failure is error:
                raise
            raise failure from None

    def _record_failure(self, execution: _Execution, failure: BaseException, report: Report | None) -> None:
        from airflow_provider_runtime.core.runs.life import fail_attempt

        try:
            if execution.attempt is not None:
                fail_attempt(execution.registry, execution.attempt, failure, report)
        except RuntimeProviderError:
            self.log.exception("the failure could not be recorded; the lease will expire by itself")

    def _submit(self, context: Context, execution: _Execution) -> None:
        with execution.alive:
            execution.alive.enter_context(self._keep_alive(execution))
            super().execute(context)

    @contextmanager
    def _keep_alive(self, execution: _Execution) -> Iterator[None]:
        from airflow_provider_runtime.core.runs.life import keep_alive

        def stop(error: RuntimeProviderError) -> None:
            execution.lost.append(error)
            self.on_kill()

        assert execution.attempt is not None
        with keep_alive(execution.registry, execution.attempt, stop):
            yield

    def on_kill(self) -> None:
        """Stop the job; if that cannot be done, the next attempt's fence keeps it from publishing."""
        if self._hook is None:
            return
        try:
            super().on_kill()
        except Exception:
            self.log.exception(
                "the Spark job could not be stopped; it will not be able to publish over a newer attempt"
            )

    def _find_report(self, execution: _Execution) -> Report | None:
        """Return the report of this attempt, or None."""
        from airflow_provider_runtime.core.runs.life import read_report

        content = execution.hook.storage.find_bytes(execution.report_uri)
        if content is None or execution.attempt is None:
            return None
        try:
            report = read_report(content)
        except SnapshotError as error:
            self.log.warning("%s: %s", execution.report_uri, error)
            return None
        return report if report.is_of(execution.snapshot.sha256, execution.attempt.token) else None

    def _find_report_of_failure(self, execution: _Execution) -> Report | None:
        """Return the report, or None also where it cannot be read: what failed before matters more."""
        try:
            return self._find_report(execution)
        except Exception:
            self.log.exception("the report at %s cannot be read", execution.report_uri)
            return None

    def _get_report(self, execution: _Execution) -> Report:
        report = self._find_report(execution)
        if report is None:
            message = f"the Spark job ended without a report of this attempt at {execution.report_uri}"
            hint = "see the job's log above; the report's address must be writable for the driver"
            raise InfrastructureError(Problem("INFRA_001", message, hint))
        if not report.succeeded:
            raise make_job_error(report)
        return report

    # What follows a success

    def _finish(self, execution: _Execution, report: Report) -> tuple[Registration, ...]:
        from airflow_provider_runtime.core.runs.life import finish_attempt

        assert execution.attempt is not None
        return finish_attempt(execution.registry, execution.attempt, execution.snapshot, report)

    def _conclude(
        self, context: Context, execution: _Execution, report: Report, registrations: Sequence[Registration]
    ) -> dict[str, Any]:
        self._finished_report = report
        self._emit_events(context, execution, registrations)
        versions = {entry.output_seq: entry.version for entry in registrations}
        for output in report.outputs:
            place = escape_control(output.destination)
            self.log.info("output %s: %s rows to %s", output.seq, output.rows, place)
        return {
            "run_id": execution.snapshot.run_id,
            "status": report.status,
            "period": execution.snapshot.period.identifier,
            "report_uri": execution.report_uri,
            "outputs": [
                {
                    "seq": output.seq,
                    "rows": output.rows,
                    "registered_dataset": output.registered_dataset,
                    "registered_version": versions.get(output.seq),
                }
                for output in report.outputs
            ],
        }

    def _emit_events(self, context: Context, execution: _Execution, registrations: Sequence[Registration]) -> None:
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

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Tell OpenLineage what was read and written, with schemas, column lineage and row counts."""
        del task_instance
        if self._execution is None:
            return None
        from airflow_provider_runtime.operators.lineage import make_operator_lineage

        return make_operator_lineage(self._execution.snapshot.plan, self._finished_report)


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


def _choose_error(error: BaseException, report: Report | None) -> BaseException:
    """Return what the job says of its failure, where it says anything; it knows more than an exit status."""
    if report is not None and not report.succeeded:
        return make_job_error(report)
    if isinstance(error, RuntimeProviderError) or not isinstance(error, (AirflowException, RuntimeError)):
        return error
    # The Spark provider's text begins with the whole command line.
    if (code := _EXIT_CODE.search(str(error))) is not None:
        return make_exit_error(int(code[1]) or int(code[2] or 0))
    tail = str(error)[-_LOG_TAIL:]
    hint = "the driver was killed or could not start; see the log above"
    return InfrastructureError(Problem("INFRA_001", f"the Spark job ended without a report: {tail}", hint))
