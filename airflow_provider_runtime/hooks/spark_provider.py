"""The private members of the Spark provider that this package uses; for a new version of it, look here."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator


class ProviderHook(SparkSubmitHook):
    """The provider's hook, with public names for what it keeps to itself."""

    @property
    def connection_id(self) -> str:
        """Id of the Spark connection."""
        return str(self._conn_id)

    @property
    def target(self) -> Mapping[str, Any]:
        """The connection as the provider has read it: master, deploy mode, namespace."""
        return dict(self._connection)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of Spark that were asked for."""
        return dict(self._conf or {})

    @property
    def is_kubernetes(self) -> bool:
        """Whether the master is Kubernetes."""
        return bool(self._is_kubernetes)

    @property
    def is_yarn(self) -> bool:
        """Whether the master is YARN."""
        return bool(self._is_yarn)

    @property
    def process(self) -> subprocess.Popen[Any] | None:
        """The process of spark-submit."""
        found: subprocess.Popen[Any] | None = self._submit_sp
        return found

    @property
    def job(self) -> tuple[list[str], list[str], Mapping[str, str]]:
        """The job's archives of modules, its arguments, and the variables that were asked for."""
        return (
            (self._py_files or "").split(","),
            [str(argument) for argument in self._application_args or ()],
            dict(self._env_vars or {}),
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that spark-submit gets beside those of this process."""
        return dict(self._env or {})

    @environment.setter
    def environment(self, variables: Mapping[str, str]) -> None:
        self._env = dict(variables)

    def follow_kubernetes_driver(self) -> None:
        """Ask the API for the driver's pod instead of keeping spark-submit."""
        self._track_driver_via_k8s_api = True

    def follow_yarn_application(self) -> None:
        """Ask the resource manager for the application."""
        self._yarn_track_via_rm_api = True

    def reattach(self, external_id: str) -> None:
        """Know a job that was submitted before, by the id that the provider has stored, so that it can be stopped."""
        if self.is_yarn:
            self._yarn_application_id = external_id
        elif self.is_kubernetes:
            self._kubernetes_driver_pod = external_id.rpartition(":")[2]

    def build_command(self, application: str) -> list[str]:
        """Return the command line."""
        command: list[str] = super()._build_spark_submit_command(application)
        return command

    def watch_log(self, lines: Iterator[Any]) -> Iterator[Any]:
        """Return the lines of spark-submit that the provider reads."""
        return lines

    def _build_spark_submit_command(self, application: str) -> list[str]:
        return self.build_command(application)

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        super()._process_spark_submit_log(self.watch_log(itr))


class ProviderOperator(SparkSubmitOperator):
    """The provider's operator, with public names for what it keeps to itself."""

    _hook: SparkSubmitHook | None

    @property
    def connection_id(self) -> str:
        """Id of the Spark connection."""
        return str(self._conn_id)

    @property
    def submit_hook(self) -> SparkSubmitHook | None:
        """The hook, once it was made."""
        return self._hook

    def renew_hook(self) -> None:
        """Recreate the hook with the current arguments."""
        self._hook = self._get_hook()

    def make_hook(self) -> SparkSubmitHook:
        """Return a hook with the operator's arguments."""
        return super()._get_hook()

    def _get_hook(self) -> SparkSubmitHook:
        return self.make_hook()

    @property
    def driver_status_key(self) -> str:
        """Key under which the provider stores how a driver's pod has ended."""
        return self._K8S_DRIVER_STATUS_KEY

    @driver_status_key.setter
    def driver_status_key(self, key: str) -> None:
        self._K8S_DRIVER_STATUS_KEY = key

    @property
    def follows_kubernetes_driver(self) -> bool:
        """Whether the API is asked for the driver's pod."""
        return bool(self._track_driver_via_k8s_api)

    @follows_kubernetes_driver.setter
    def follows_kubernetes_driver(self, follows: bool) -> None:
        self._track_driver_via_k8s_api = follows

    @property
    def follows_yarn_application(self) -> bool:
        """Whether the resource manager is asked for the application."""
        return bool(self._yarn_track_via_rm_api)

    @follows_yarn_application.setter
    def follows_yarn_application(self, follows: bool) -> None:
        self._yarn_track_via_rm_api = follows
