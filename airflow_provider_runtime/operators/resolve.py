"""Resolve: pin versions, find locations, compile expressions, and write the run snapshot. No Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_runtime.core.errors import PeriodError, Problem, RuntimeProviderError
from airflow_provider_runtime.core.rendering import render_problem
from airflow_provider_runtime.failures import translate_errors
from airflow_provider_runtime.hooks.credentials import read_properties, read_secret
from airflow_provider_runtime.hooks.runtime import DEFAULT_CONN_ID, RuntimeHook
from airflow_provider_runtime.hooks.storage import open_store
from airflow_provider_runtime.operators.links import EvidenceLink, LinkedRun, SnapshotLink
from airflow_provider_runtime.operators.period_choice import choose_period, read_day
from spark_jobs.contract.documents import write_document

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_runtime.core.catalog.catalog import Catalog
    from airflow_provider_runtime.core.catalog.definition import Definition
    from airflow_provider_runtime.core.catalog.loader import LoadResult
    from airflow_provider_runtime.core.model.project import Project
    from airflow_provider_runtime.core.registry.ports import Registry
    from spark_jobs.contract.snapshot import Snapshot

Pins = dict[str, Any]
NO_DATA = ("DATA_001", "APPEND_008")
MIN_POKE_SECONDS = 15.0
"""A task that is due again before its executor has reported the previous look is taken for dead by the scheduler."""


class ResolveOperator(BaseOperator):
    """Resolves a project for a period and returns where the snapshot is and what it pinned.

    :param project: id or name of the project (templated)
    :param catalog: catalog folder, a relative one beside the DAG file; without it the connection's (templated)
    :param period: the period's identifier; without it the partition key, the trigger form's `period`, or the period
        that holds the logical date (templated)
    :param as_of: day as of which bitemporal tables are read; without it the period's first day (templated)
    :param allow_open_period: run a period that has not ended
    :param allow_closed: run a period that is closed
    :param requires_previous_period: wait until the period before is published
    :param wait_for_data: how long to wait until all that the run would read is there
    :param poke_interval: seconds between two looks while waiting, at least 15
    :param sandbox: datasource below which a draft writes
    :param deploy_mode: `cluster` when the Spark driver will not run in the task's own process
    """

    template_fields: Sequence[str] = ("project", "catalog", "period", "as_of", "runtime_conn_id")
    operator_extra_links = (EvidenceLink(), SnapshotLink())
    ui_color = "#e8f4ea"

    def __init__(
        self,
        *,
        project: str,
        catalog: str | os.PathLike[str] | None = None,
        period: str | None = None,
        as_of: str | date | None = None,
        runtime_conn_id: str = DEFAULT_CONN_ID,
        allow_open_period: bool = False,
        allow_closed: bool = False,
        requires_previous_period: bool = False,
        wait_for_data: timedelta | None = None,
        poke_interval: float = 60.0,
        sandbox: str | None = None,
        deploy_mode: str | None = None,
        retries: int = 2,
        retry_exponential_backoff: float | bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(retries=retries, retry_exponential_backoff=retry_exponential_backoff, **kwargs)
        self.project = project
        self.catalog = None if catalog is None else os.fspath(catalog)
        self.period = period
        self.as_of = as_of
        self.runtime_conn_id = runtime_conn_id
        self.allow_open_period = allow_open_period
        self.allow_closed = allow_closed
        self.requires_previous_period = requires_previous_period
        self.wait_for_data = wait_for_data
        self.poke_interval = max(poke_interval, MIN_POKE_SECONDS)
        self.sandbox = sandbox
        self.deploy_mode = deploy_mode
        self.snapshot_uri: str | None = None
        self.linked_run: LinkedRun | None = None

    def execute(self, context: Context) -> Pins:
        """Write the snapshot and return what pins it."""
        with translate_errors():
            return self._resolve(context)

    def _resolve(self, context: Context) -> Pins:
        hook = RuntimeHook(self.runtime_conn_id)
        loaded, definition = self._load(self._find_catalog(hook))
        catalog = loaded.catalog
        period = self._choose_period(context, catalog, definition)
        self.log.info("project %s, period %s", definition.model.name, period)
        registry = hook.open_registry()
        try:
            if self.requires_previous_period:
                self._await_previous(context, catalog, definition, period, registry)
            build = partial(self._build, hook, loaded, definition, period, registry)
            snapshot = build() if self.wait_for_data is None else self._await_data(context, build, self.wait_for_data)
        finally:
            registry.close()
        from airflow_provider_runtime.core.planning.snapshot.store import write_snapshot

        self.snapshot_uri = write_snapshot(snapshot, hook.settings.snapshot_store, hook.storage)
        self.log.info("snapshot %s", self.snapshot_uri)
        self.linked_run = LinkedRun.of(context, snapshot)
        return {
            "run_id": snapshot.run_id,
            "snapshot_uri": self.snapshot_uri,
            "snapshot_sha256": snapshot.sha256,
            "period": snapshot.period.identifier,
            "resolver_snapshot": write_document(snapshot.resolver_snapshot),
        }

    def _find_catalog(self, hook: RuntimeHook) -> Path:
        """Return the catalog folder; a relative one is looked for beside the DAG file first."""
        path = hook.resolve_catalog_path(self.catalog)
        file = getattr(self.get_dag(), "fileloc", None)
        beside = path if path.is_absolute() or not file else Path(file).parent / path
        return beside if beside.is_dir() else path

    def _load(self, path: Path) -> tuple[LoadResult, Definition[Project]]:
        # Imported here: parsing a DAG file must not load the expression language.
        from airflow_provider_runtime.core.catalog.loader import load_catalog
        from airflow_provider_runtime.core.planning.check.validation import get_project

        loaded = load_catalog(path, project=self.project)
        return loaded, get_project(loaded, self.project)

    def _choose_period(self, context: Context, catalog: Catalog, definition: Definition[Project]) -> str:
        from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods

        return choose_period(context, get_project_periods(catalog, definition), definition.model.level, self.period)

    def _build(
        self, hook: RuntimeHook, loaded: LoadResult, definition: Definition[Project], period: str, registry: Registry
    ) -> Snapshot:
        from airflow_provider_runtime.core.planning.snapshot.builder import ResolveOptions, build_snapshot

        options = ResolveOptions(
            version=definition.model.version,
            as_of=read_day(self.as_of, "as_of"),
            sandbox=self.sandbox,
            slice_store=hook.settings.slice_store,
            allow_closed=self.allow_closed,
            require_begun=True,
            require_ended=not self.allow_open_period,
            asked_in="airflow",
            deploy_mode="cluster" if self.deploy_mode == "cluster" else "client",
        )
        return build_snapshot(
            loaded,
            definition.model.id,
            period,
            options,
            registry=registry,
            read_credential=read_secret,
            warn=lambda warning: self.log.warning("%s", render_problem(warning)),
            read_properties=read_properties,
        )

    def _await_previous(
        self, context: Context, catalog: Catalog, definition: Definition[Project], identifier: str, registry: Registry
    ) -> None:
        """Return when the period before is published or need not be; else ask to be looked at again later."""
        from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods
        from airflow_provider_runtime.core.planning.snapshot.earlier_periods import list_unpublished

        index = get_project_periods(catalog, definition)
        period = index.get_period(identifier, definition.model.level)
        unpublished = list_unpublished(catalog, definition, index, period, registry)
        if not unpublished:
            return
        first = unpublished[0]
        waited = self._measure_wait(context)
        if self.execution_timeout is not None and waited >= self.execution_timeout:
            shown = first.describe(definition)
            message = f"the period before, {shown}, was not published within {self.execution_timeout}"
            hint = f"run {first.project.model.name} for {first.period.identifier} first"
            raise PeriodError(Problem("PERIOD_005", message, hint, definition.locate("airflow")))
        self.log.info("waiting for %s to be published", ", ".join(found.describe(definition) for found in unpublished))
        raise self._ask_for_another_look()

    def _await_data(self, context: Context, build: Callable[[], Snapshot], up_to: timedelta) -> Snapshot:
        """Return the snapshot when all that it reads is there; else ask to be looked at again later.

        What the last look has found is pinned. When time is over, what is missing fails the run.
        """
        from airflow_provider_runtime.core.presence import look_for_data

        try:
            snapshot = build()
        except RuntimeProviderError as failure:
            # A table without a version, or a dataset without the period: all else is a mistake that no wait mends.
            if any(problem.code not in NO_DATA for problem in failure.problems):
                raise
            missing, error = [problem.message for problem in failure.problems], failure
        else:
            found = look_for_data(snapshot.plan, open_store, read_properties)
            for presence in found.found:
                if presence.is_there is None:
                    self.log.warning("cannot look for %s: %s", presence.place, presence.reason)
            if not found.missing:
                return snapshot
            missing, error = [presence.place for presence in found.missing], found.make_error(f"waiting {up_to}")
        if self._measure_wait(context) >= up_to:
            raise error
        self.log.info("waiting for data, up to %s: %s", up_to, "; ".join(missing))
        raise self._ask_for_another_look()

    def _ask_for_another_look(self) -> AirflowRescheduleException:
        due = datetime.now(UTC) + timedelta(seconds=self.poke_interval)
        return AirflowRescheduleException(due)  # type: ignore[no-untyped-call]

    def _measure_wait(self, context: Context) -> timedelta:
        first: datetime | None = context["ti"].get_first_reschedule_date(context)
        return datetime.now(UTC) - first if first is not None else timedelta()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Tell OpenLineage which datasets the project reads and writes."""
        del task_instance
        if self.snapshot_uri is None:
            return None
        from airflow_provider_runtime.operators.lineage import make_operator_lineage, read_plan

        return make_operator_lineage(read_plan(self.snapshot_uri))
