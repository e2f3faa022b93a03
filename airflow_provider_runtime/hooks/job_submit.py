"""spark-submit for our job: secrets in the process environment only, and Spark's page once the log names it."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_runtime.core.errors import InfrastructureError, Problem
from airflow_provider_runtime.fast_start.home import QuickHome, find_quick_home, make_quick_environment
from airflow_provider_runtime.hooks.job_log import JobLog
from airflow_provider_runtime.hooks.spark_provider import ProviderHook
from spark_jobs.redaction import redact
from spark_jobs.submitter import SUBMITTER_VARIABLE, describe_process

_UI_PATTERN = re.compile(r"(?:tracking URL|Spark UI|SparkUI|web UI)\D*?(https?://\S+)", re.IGNORECASE)
_QUIET_LEVELS = frozenset({"WARN", "ERROR", "FATAL", "OFF"})
_JAVA_FAILURES = (1, 134, -6)
"""How spark-submit ends when Java stops at once or by itself; the job's own failures have other numbers."""


class JobSubmitHook(ProviderHook):
    """Submits the job with variables that never show in a command line, a template field or the log."""

    _secrets: dict[str, str]
    spark_ui_url: str | None
    quick_home: QuickHome | None
    job_log: JobLog
    is_small: bool
    """Whether the job will read little for certain."""

    @classmethod
    def adopt(cls, hook: object, secrets: Mapping[str, str], *, is_small: bool = False) -> JobSubmitHook:
        """Return the hook that the Spark provider's operator made, as one of this class."""
        adopted = cls.__new__(cls)
        adopted.__dict__.update(hook.__dict__)
        adopted._secrets = dict(secrets)
        adopted.is_small = is_small
        adopted.spark_ui_url = None
        adopted.quick_home = None
        adopted.job_log = JobLog(keeps_back=adopted._is_quiet)
        return adopted

    @property
    def master(self) -> str:
        """The master's address."""
        return str(self.target.get("master"))

    @property
    def _is_quiet(self) -> bool:
        """Whether Spark's own lines may wait: the driver is here, and no more of them were asked for."""
        level = str(self.settings.get("spark.log.level", "WARN")).upper()
        return not self.is_cluster_mode and not self.is_kubernetes and level in _QUIET_LEVELS

    @property
    def is_cluster_mode(self) -> bool:
        """Whether the driver runs elsewhere and outlives this process."""
        return self.target.get("deploy_mode") == "cluster"

    @property
    def is_connect(self) -> bool:
        """Whether the connection is a Spark Connect server, which is warm already."""
        return bool(self.get_connection(self.connection_id).conn_type == "spark_connect")

    @property
    def can_ask_kubernetes(self) -> bool:
        """Whether the driver's pod can be followed: its namespace is known, and spark-submit need not wait for it."""
        waits = str(self.settings.get("spark.kubernetes.submission.waitAppCompletion", "")).lower() == "true"
        return bool(self.target.get("namespace")) and not waits

    def track_yarn_application(self) -> bool:
        """Follow the application through the resource manager, if the connection says where that is."""
        extra = self.get_connection(self.connection_id).extra_dejson
        known = bool(extra.get("yarn_resourcemanager_webapp_address"))
        if known:
            self.follow_yarn_application()
        return known

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit the job, and close the pipe that its log came through."""
        try:
            driver: str | None = super().submit(application, **kwargs)
            return driver
        except FileNotFoundError as error:
            hint = "install pyspark where the task runs, or put the folder of Spark's commands on the PATH"
            raise InfrastructureError(Problem("INFRA_001", f"there is no command {error.filename}", hint)) from error
        finally:
            if self.process is not None and self.process.stdout is not None:
                self.process.stdout.close()
                self._maintain_archive(self.process.returncode)

    def build_command(self, application: str) -> list[str]:
        """Return the command line of spark-submit, or of the job itself on a Spark Connect server."""
        if self.is_connect:
            return self._build_connect_command(application)
        command = super().build_command(application)
        # Building the command sets the environment anew, so the secrets come after it; in cluster modes the environment
        # would turn into visible settings, so nothing is added there.
        if not self.is_cluster_mode:
            self.environment = {**self.environment, **self._secrets, **self._name_submitter()}
        self.environment = {**self.environment, **self._make_quick_environment(command)}
        return command

    def _build_connect_command(self, application: str) -> list[str]:
        """The job as a plain Python process; the server's address may hold a token, so it goes unseen as well."""
        # Imported here: the module imports pyspark, and DAG files are parsed often.
        from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

        archives, arguments, variables = self.job
        modules = os.pathsep.join(filter(None, (*archives, os.environ.get("PYTHONPATH"))))
        address = SparkConnectHook(self.connection_id).get_connection_url()
        own = {**self._secrets, **self._name_submitter()}
        self.environment = {**variables, **own, "SPARK_REMOTE": address, "PYTHONPATH": modules}
        return [sys.executable, application, *arguments]

    def _name_submitter(self) -> dict[str, str]:
        """A driver of this machine publishes nothing once this process, which keeps the lease, has gone."""
        described = describe_process(os.getpid())
        return {SUBMITTER_VARIABLE: described} if described else {}

    def _make_quick_environment(self, command: list[str]) -> dict[str, str]:
        master = self.master
        if not master.startswith("local"):
            return {}
        environ = {**os.environ, **self.environment}
        self.quick_home = find_quick_home(environ, command[0])
        return make_quick_environment(master, command, environ, self.quick_home, is_small=self.is_small)

    def _maintain_archive(self, exit_code: int | None) -> None:
        """Have the archive of classes made after the first job that worked; drop one that Java failed with."""
        from airflow_provider_runtime.fast_start.training import train_later

        if self.quick_home is None:
            return
        if exit_code in _JAVA_FAILURES:
            self.quick_home.discard_archive()
        elif exit_code == 0 and train_later(self.quick_home):
            self.log.info("a process in the background prepares a quicker start of Spark on this machine, once")

    def watch_log(self, lines: Iterator[Any]) -> Iterator[Any]:
        """Return the lines that are shown, redacted."""
        for line in lines:
            if self.spark_ui_url is None and (found := _UI_PATTERN.search(line)):
                self.spark_ui_url = found.group(1)
            cleaned = redact(line)
            if self.job_log.shows(cleaned):
                yield cleaned


def make_exit_error(code: int) -> InfrastructureError:
    """Return the error of a job that ended with this exit code and wrote no report."""
    hint = "see the log above; the driver could not start, or its report's address is not writable"
    # A process that a signal ended has its negative number; a shell in between makes 128 and the number of it.
    number = -code if code < 0 else code - 128
    try:
        how = f"was killed by signal {signal.Signals(number).name}"
        hint = "see the log above; SIGKILL often means that the machine had too little memory for the driver"
    except ValueError:
        how = f"ended with exit code {code}"
    return InfrastructureError(Problem("INFRA_001", f"the Spark job {how} without a report", hint))
