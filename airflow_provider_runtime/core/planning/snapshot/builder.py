"""Resolve: every choice of a run is made here, once, and written into its snapshot with the reasons."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal

from airflow_provider_runtime.core.calendar.run_period import (
    PeriodRules,
    Surface,
    find_strictest,
    list_period_problems,
)
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.loader import LoadResult
from airflow_provider_runtime.core.errors import Problem, RuntimeProviderError, raise_problems
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.check.placing import place_in_project
from airflow_provider_runtime.core.planning.check.project import check_runnable
from airflow_provider_runtime.core.planning.check.registered import add_registered_versions
from airflow_provider_runtime.core.planning.check.used_definitions import find_used_definitions, list_changed
from airflow_provider_runtime.core.planning.check.validation import check_needed, get_project
from airflow_provider_runtime.core.planning.check.warnings import list_project_warnings
from airflow_provider_runtime.core.planning.resolve.destinations import DEFAULT_SANDBOX
from airflow_provider_runtime.core.planning.resolve.replaced_sources import list_replaced_sources
from airflow_provider_runtime.core.planning.resolve.resolver_service import CredentialReader
from airflow_provider_runtime.core.planning.resolve.run_period import (
    get_project_day,
    get_project_periods,
    get_run_period,
)
from airflow_provider_runtime.core.planning.resolve.tables import (
    ResolveContext,
)
from airflow_provider_runtime.core.planning.snapshot.check_pins import find_baselines, find_overrides
from airflow_provider_runtime.core.planning.snapshot.choices import (
    TableChoice,
    describe_choice,
    describe_resolvers,
    hide_secrets,
    make_plan_table,
)
from airflow_provider_runtime.core.planning.snapshot.compile import (
    CompiledOperations,
    compile_operations,
    make_plan_columns,
    make_plan_mark,
)
from airflow_provider_runtime.core.planning.snapshot.compile_checks import CompiledChecks, compile_checks
from airflow_provider_runtime.core.planning.snapshot.outputs import OutputPlanner
from airflow_provider_runtime.core.planning.snapshot.table_chooser import Locate, TableChooser
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.codes import get_family
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.plan import PERIOD_BITS, Plan, PublicationSettings, Settings, UsedDefinition
from spark_jobs.contract.snapshot import Period as SnapshotPeriod
from spark_jobs.contract.snapshot import Project as SnapshotProject
from spark_jobs.contract.snapshot import Snapshot, seal_snapshot

DEFAULT_SLICE_STORE = ".runtime/slices"


@dataclass(frozen=True, slots=True)
class ResolveOptions:
    """How a run is asked for, apart from its project and period."""

    version: int | None = None
    as_of: date | None = None
    run_timestamp: datetime | None = None
    run_id: str | None = None
    sandbox: str | None = None
    slice_store: str = DEFAULT_SLICE_STORE
    allow_closed: bool = False
    require_begun: bool = False
    require_ended: bool = False
    deploy_mode: Literal["client", "cluster"] = "client"
    asked_in: Surface = "command line"


def build_snapshot(
    loaded: LoadResult,
    project_ref: str,
    period: str,
    options: ResolveOptions | None = None,
    *,
    registry: Registry | None = None,
    locate: Locate | None = None,
    read_credential: CredentialReader | None = None,
    warn: Callable[[Problem], None] | None = None,
    read_properties: PropertyReader | None = None,
) -> Snapshot:
    """Return the snapshot of a project's run for a period; everything that is wrong is raised at once.

    Of what is wrong in the catalog, only the problems that this project needs to see are raised. `warn` gets what is
    legal and nearly always wrong.
    """
    options = options or ResolveOptions()
    definition = get_project(loaded, project_ref, options.version)
    chooser = TableChooser(loaded.catalog, definition, registry, options.as_of, locate, read_properties)
    return _Builder(loaded, definition, options, chooser, read_credential, warn).build(period)


@dataclass(slots=True)
class _Builder:
    loaded: LoadResult
    definition: Definition[Project]
    options: ResolveOptions
    chooser: TableChooser
    read_credential: CredentialReader | None
    warn: Callable[[Problem], None] | None
    problems: list[Problem] = field(default_factory=list)

    @property
    def catalog(self) -> Catalog:
        """The catalog, without what the registry knows."""
        return self.loaded.catalog

    @property
    def registry(self) -> Registry | None:
        """The registry, where there is one."""
        return self.chooser.registry

    @property
    def is_offline(self) -> bool:
        """Whether locations are served by the caller."""
        return self.chooser.is_offline

    @property
    def is_draft(self) -> bool:
        """Whether the project's outputs are kept apart."""
        return self.definition.model.status == "draft"

    def build(self, identifier: str) -> Snapshot:
        """Make every choice, and raise all problems together."""
        run_timestamp = _to_utc(self.options.run_timestamp or datetime.now(UTC))
        known = add_registered_versions(self.catalog, [self.definition], self.registry)
        checked, found = check_needed(known, self.loaded, self.definition)
        self.problems += [problem for problem in found if problem.severity == "error"]
        self._check_status()
        context = self._make_context(identifier, run_timestamp)
        if context is None or self.problems:
            self._raise()
        assert context is not None
        outputs = self._plan_outputs(checked)
        destinations = outputs.locate()
        slices = {} if self.is_draft else outputs.make_slices(self.options.slice_store)
        outputs.check_registered(slices, context.period)
        compiled = checks = None
        if not self.problems:
            compiled = compile_operations(checked, run=context.run, destinations=destinations, slices=slices)
            baselines = find_baselines(self.registry, checked, context.index, context.period)
            checks = compile_checks(checked, run=context.run, baselines=baselines)
        used = compiled.used_tables | checks.used_tables if compiled and checks else {use.key for use in checked.tables}
        choices = self._choose_all(checked, context, used)
        definitions = find_used_definitions(self.catalog, checked, self.chooser.resolvers.values())
        changed = list_changed(self.registry, definitions)
        self.problems += [place_in_project(found, self.definition) for found in changed]
        self._check_credentials(choices, destinations)
        read = {key: choice for key, choice in choices.items() if key in used}
        self._check_replaced(read, destinations, context.period)
        self._raise()
        assert compiled is not None
        assert checks is not None
        if self.warn is not None:
            for warning in list_project_warnings(checked):
                self.warn(warning)
        settings = self._make_settings(context, definitions, choices)
        plan = self._make_plan(checked, context, compiled, checks, read, settings)
        return seal_snapshot(self._make_snapshot(context, choices, plan))

    def _make_plan(
        self,
        checked: CheckedProject,
        context: ResolveContext,
        compiled: CompiledOperations,
        checks: CompiledChecks,
        read: Mapping[str, TableChoice],
        settings: Settings,
    ) -> Plan:
        marks = {key: make_plan_mark(c.pin.use.location, c.pin.use.operation_seq) for key, c in read.items()}
        return Plan(
            tables={key: make_plan_table(choice, context.index, context.period) for key, choice in read.items()},
            input="input",
            input_columns=make_plan_columns(checked.input_columns),
            operations=compiled.operations,
            marks={**marks, **compiled.marks, **checks.marks},
            project_name=self.definition.model.name,
            checks=checks.checks,
            keep_failing_rows=self.definition.model.keep_failing_rows,
            settings=settings,
            period_bits=_make_period_bits(self.definition.model.id, context.period.identifier),
        )

    def _make_settings(
        self, context: ResolveContext, definitions: Iterable[UsedDefinition], choices: Mapping[str, TableChoice]
    ) -> Settings:
        return Settings(
            calendar=context.index.calendar_id,
            allow_closed=self.options.allow_closed,
            file_status=find_strictest(context.index, context.period, None).status,
            enclosing_periods=tuple(holder.identifier for holder in context.index.list_holders(context.period)),
            previous_period=context.run.previous_period_id or "",
            definitions=tuple(definitions),
            trace={key: describe_choice(choice) for key, choice in choices.items()},
            publication=_describe_publication(self.definition.model),
        )

    def _raise(self) -> None:
        # What a retry may mend comes last: the first problem decides whether there is one.
        ordered = sorted(dict.fromkeys(self.problems), key=lambda found: get_family(found.code).is_retryable)
        raise_problems(ordered)

    def _collect(self, error: RuntimeProviderError, role: str = "") -> None:
        self.problems += [place_in_project(problem, self.definition, role) for problem in error.problems]

    # Status and period

    def _check_status(self) -> None:
        if self.is_offline and self.is_draft:
            return
        self.problems += check_runnable(self.catalog, self.definition, sandbox=self.options.sandbox)

    def _make_context(self, identifier: str, run_timestamp: datetime) -> ResolveContext | None:
        try:
            index = get_project_periods(self.catalog, self.definition)
            period = get_run_period(index, identifier, self.definition)
        except RuntimeProviderError as error:
            self._collect(error)
            return None
        rules = PeriodRules(
            self.options.allow_closed, self.options.require_begun, self.options.require_ended, self.options.asked_in
        )
        today = get_project_day(self.definition.model, run_timestamp)
        found = list_period_problems(index, period, rules, registry=self.registry, today=today)
        self.problems += [place_in_project(problem, self.definition) for problem in found]
        return ResolveContext(
            self.catalog,
            self.definition.model.name,
            index,
            period,
            RunConstants.of(run_timestamp, period, index.find_previous(period)),
            self.read_credential,
            self.is_offline,
        )

    # Tables

    def _choose_all(
        self, checked: CheckedProject, context: ResolveContext, used: Container[str]
    ) -> dict[str, TableChoice]:
        """Choose version, resolver and locations of every table; for lookups that nothing reads, as far as it goes."""
        choices: dict[str, TableChoice] = {}
        for use in checked.tables:
            try:
                choices[use.key] = self.chooser.choose(use, context, is_read=use.key in used)
            except RuntimeProviderError as error:
                if use.key in used:
                    self._collect(error, use.role)
        return choices

    def _plan_outputs(self, checked: CheckedProject) -> OutputPlanner:
        sandbox = (self.options.sandbox or DEFAULT_SANDBOX) if self.is_draft and not self.is_offline else None
        return OutputPlanner(
            self.definition,
            checked,
            self.registry,
            self.chooser.read_properties,
            self.problems,
            sandbox,
            self.is_offline,
        )

    # What speaks against it

    def _check_replaced(
        self, read: dict[str, TableChoice], destinations: dict[int, Destination], period: Period
    ) -> None:
        if self.is_offline:
            return
        locations = [location for choice in read.values() for location in choice.resolved.locations]
        found = list_replaced_sources(self.definition, destinations, locations, period.identifier, self.catalog.root)
        self.problems += [place_in_project(problem, self.definition) for problem in found]

    # Credentials

    def _check_credentials(self, choices: dict[str, TableChoice], destinations: dict[int, Destination]) -> None:
        if self.options.deploy_mode != "cluster" or self.is_offline:
            return
        places = [
            (location.credential_ref, choice.pin.use.location)
            for choice in choices.values()
            for location in choice.resolved.locations
        ]
        by_seq = {operation.seq: index for index, operation in enumerate(self.definition.model.operations)}
        places += [
            (found.credential_ref, self.definition.locate("operations", by_seq[seq], "arguments", "destination"))
            for seq, found in destinations.items()
        ]
        for reference, place in places:
            if reference and not reference.startswith("env://"):
                message = f"the credential '{reference}' cannot work in cluster mode"
                hint = "use env://VARIABLE, a variable of the cluster's own secrets, or deploy mode client"
                self.problems.append(place_in_project(Problem("CATALOG_004", message, hint, place), self.definition))

    # The snapshot

    def _make_snapshot(self, context: ResolveContext, choices: dict[str, TableChoice], plan: Plan) -> Snapshot:
        project, period = self.definition.model, context.period
        return Snapshot(
            run_id=self.options.run_id or str(uuid.uuid4()),
            run_timestamp=context.run.timestamp,
            project=SnapshotProject(project.id, project.name, project.version, self.definition.digest),
            project_snapshot=hide_secrets(self.definition.raw),
            period=SnapshotPeriod(period.identifier, period.level, period.start_date, period.end_date),
            as_of=self.options.as_of or period.start_date,
            resolver_snapshot=describe_resolvers(choices),
            plan=plan,
            overrides=find_overrides(self.registry, [check.name for check in plan.checks], project.id, period),
        )


def _to_utc(moment: datetime) -> datetime:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.replace(microsecond=0)


def _make_period_bits(project_id: str, period: str) -> int:
    """Return what tells the ids of this period's rows from those of others whose runs have the same timestamp."""
    return int.from_bytes(hashlib.sha256(f"{project_id}/{period}".encode()).digest()[:8]) & PERIOD_BITS


def _describe_publication(project: Project) -> PublicationSettings:
    settings = project.publication
    return PublicationSettings(settings.compare, settings.approval == "required", settings.by)
