"""Submitting this package's job: through the Spark provider, followed, and taken up again by a retry."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators import spark_submit
from airflow.providers.common.compat.sdk import AirflowException, AirflowNotFoundException, BaseHook

from airflow_provider_runtime.core.errors import DefinitionError, InfrastructureError, Problem, RuntimeProviderError
from airflow_provider_runtime.hooks.credentials import AIRFLOW_PREFIX, hide_credentials, make_environment
from airflow_provider_runtime.hooks.job_submit import JobSubmitHook, make_exit_error
from airflow_provider_runtime.hooks.runtime import find_home
from airflow_provider_runtime.hooks.spark_provider import ProviderOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

QUIET_CONF = {"spark.log.level": "WARN", "spark.ui.showConsoleProgress": "false"}
"""Settings that leave the job's own progress lines readable in the task's log; `conf` overrides them."""
_LOG_TAIL = 2000
_EXIT_CODE = re.compile(r"Error code is: (-?\d+)(?:\. Kubernetes spark exit code is: (\d+))?")


@dataclass(frozen=True)
class SubmittedJob:
    """A job that an earlier try has submitted to a cluster, and the token of its attempt."""

    external_id: str
    token: int


class SparkJobOperator(ProviderOperator):
    """Submits the job of this package; all arguments of SparkSubmitOperator are passed through."""

    def __init__(self, *, name: str = "airflow-runtime", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self._secrets: dict[str, str] = {}
        self._key_suffix = ""
        self._is_small = False

    @property
    def spark_ui_url(self) -> str | None:
        """Spark's page of the application, if the log shows it."""
        return getattr(self.submit_hook, "spark_ui_url", None)

    def prepare_job(self, credential_refs: Sequence[str], key_suffix: str, *, is_small: bool = False) -> None:
        """Look at the connection, look credentials up, and name what a retry finds the job by.

        `is_small` says that the job will read little for certain.
        """
        self._is_small = is_small
        self._require_spark_connection()
        self.conf = {**QUIET_CONF, **(self.conf or {})}
        self._secrets = make_environment(credential_refs)
        hide_credentials(credential_refs, self._secrets)
        self._key_suffix = key_suffix
        # Both keys of the Spark provider are constants, which would make a cleared task find its old job's success.
        self.external_id_key = f"spark_job_id:{key_suffix}"
        self.driver_status_key = f"k8s_driver_status:{key_suffix}"
        self.renew_hook()
        self._refuse_impossible_mode()
        self._refuse_secrets_on_clusters(credential_refs)

    def set_application(self, arguments: Sequence[str]) -> None:
        """Set what is submitted: the job's package and these arguments."""
        from airflow_provider_runtime.core.job_package import build_job_package

        if not self.application:
            package = build_job_package(Path(find_home()) / ".runtime" / "job")
            self.application = os.fspath(package.application)
            self.py_files = ",".join(filter(None, (os.fspath(package.archive), self.py_files)))
        self.application_args = list(arguments)
        self.renew_hook()

    @property
    def is_durable(self) -> bool:
        """Whether the job goes on without this process, and a retry can find it."""
        return bool(self.durable) and isinstance(self.submit_hook, JobSubmitHook) and self.submit_hook.is_cluster_mode

    def find_submitted_job(self, context: Context) -> SubmittedJob | None:
        """Find the job that an earlier try of this task has submitted."""
        store = context.get("task_state_store") if self.is_durable else None
        job = store.get(self.external_id_key) if store is not None else None
        token = store.get(self._token_key) if store is not None and job else None
        return SubmittedJob(str(job), int(str(token))) if token else None

    def keep_token(self, context: Context, token: int) -> None:
        """Record, for retries, the attempt that the job belongs to."""
        store = context.get("task_state_store") if self.is_durable else None
        if store is not None:
            store.set(self._token_key, str(token))

    def forget_job(self, context: Context) -> None:
        """Forget the job, so that no retry takes it for one of a new attempt."""
        store = context.get("task_state_store")
        if store is not None:
            for key in (self.external_id_key, self.driver_status_key):
                store.delete(key)

    def reattach_job(self, job: SubmittedJob) -> None:
        """Let `on_kill` stop a job that an earlier try has submitted."""
        assert isinstance(self.submit_hook, JobSubmitHook)
        self.submit_hook.reattach(job.external_id)

    def stop_job(self, context: Context, job: SubmittedJob) -> None:
        """Stop a job that nobody polls any more, if it is still running."""
        try:
            goes_on = self.is_job_active(self.get_job_status(job.external_id, context))
        except Exception:
            self.log.exception("it is unknown whether the job %s goes on", job.external_id)
            return
        if goes_on:
            self.log.warning("the job %s goes on and is not followed any more: it is stopped", job.external_id)
            self.reattach_job(job)
            self.on_kill()

    def on_kill(self) -> None:
        """Stop the job; if that cannot be done, the next attempt's fence keeps it from publishing."""
        if self.submit_hook is None:
            return
        try:
            super().on_kill()
        except Exception:
            self.log.exception(
                "the Spark job could not be stopped; it will not be able to publish over a newer attempt"
            )

    @property
    def _token_key(self) -> str:
        return f"attempt_token:{self._key_suffix}"

    def _require_spark_connection(self) -> None:
        """The Spark provider would take `yarn` for a connection that is not there."""
        try:
            connection = BaseHook.get_connection(self.connection_id)
        except AirflowNotFoundException:
            message = f"Spark connection '{self.connection_id}' is not defined"
            hint = "add a connection of type spark, for example with the host local[*], or set conn_id"
            raise DefinitionError(Problem("CATALOG_004", message, hint)) from None
        # Without it the Spark provider's hook fails with the name of a variable.
        is_kubernetes = "k8s" in f"{connection.conn_type}://{connection.host}"
        if is_kubernetes and getattr(spark_submit, "kube_client", None) is None:
            message = f"Spark connection '{self.connection_id}' is one of Kubernetes, which this worker cannot reach"
            hint = "install apache-airflow-providers-cncf-kubernetes"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    def _refuse_impossible_mode(self) -> None:
        """Spark would refuse it too, after starting Java and as an error that is retried."""
        if not isinstance(self.submit_hook, JobSubmitHook) or not self.submit_hook.is_cluster_mode:
            return
        if self.submit_hook.master.startswith(("local", "spark://")):
            message = (
                f"Spark connection '{self.connection_id}' asks for the deploy mode cluster on {self.submit_hook.master}"
            )
            hint = "Spark runs Python in cluster mode on YARN and Kubernetes only: use the deploy mode client"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    def _refuse_secrets_on_clusters(self, credential_refs: Sequence[str]) -> None:
        """A driver on a cluster has its own environment; ours would reach it only in plain sight."""
        refused = [ref for ref in credential_refs if ref.startswith(AIRFLOW_PREFIX)]
        if refused and isinstance(self.submit_hook, JobSubmitHook) and self.submit_hook.is_cluster_mode:
            hint = "use env:// with a variable of the cluster's own secrets, or the client deploy mode"
            message = f"the credential '{refused[0]}' cannot be handed to a driver in cluster mode"
            raise DefinitionError(Problem("CATALOG_004", message, hint))

    def make_hook(self) -> JobSubmitHook:
        """Return the Spark provider's hook as our own class, so that secrets reach the driver unseen."""
        hook = JobSubmitHook.adopt(super().make_hook(), self._secrets, is_small=self._is_small)
        self._choose_tracking(hook)
        return hook

    def _choose_tracking(self, hook: JobSubmitHook) -> None:
        """In cluster modes follow the job through the cluster's own API, so that a retry can take it up again."""
        if not self.durable or not hook.is_cluster_mode:
            return
        if hook.is_kubernetes and not self.follows_kubernetes_driver:
            self.follows_kubernetes_driver = self.durable = hook.can_ask_kubernetes
            if self.durable:
                hook.follow_kubernetes_driver()
            else:
                self.log.warning("without a namespace in the connection a retry starts the job anew")
        if hook.is_yarn and not self.follows_yarn_application:
            self.follows_yarn_application = self.durable = hook.track_yarn_application()
            if not self.durable:
                self.log.warning("without yarn_resourcemanager_webapp_address a retry starts the job anew")


def explain_submit_failure(error: Exception) -> Exception:
    """Return what is known of a job that failed without a report."""
    if isinstance(error, RuntimeProviderError) or not isinstance(error, (AirflowException, RuntimeError)):
        return error
    # The Spark provider's text begins with the whole command line.
    if (code := _EXIT_CODE.search(str(error))) is not None:
        return make_exit_error(int(code[1]) or int(code[2] or 0))
    tail = str(error)[-_LOG_TAIL:]
    hint = "the driver was killed or could not start; see the log above"
    return InfrastructureError(Problem("INFRA_001", f"the Spark job ended without a report: {tail}", hint))
