"""Where a table's rows are for a period: rules, expansion of periods, and the strategies that make locations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.rules_calendar import ANY_LEVEL
from airflow_provider_runtime.core.catalog.rules_options import find_option_faults
from airflow_provider_runtime.core.catalog.rules_secrets import FORMAT_NAME, find_secret_word, holds_secret
from airflow_provider_runtime.core.catalog.templates import make_token_values, render_template
from airflow_provider_runtime.core.errors import (
    DataError,
    DefinitionError,
    Place,
    Problem,
    ResolveError,
    RuntimeProviderError,
)
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.model.base import read_format
from airflow_provider_runtime.core.model.dataset import Dataset, Table
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import CatalogStrategy, PathStrategy, Resolver, Rule
from airflow_provider_runtime.core.planning.resolve import resolver_class
from airflow_provider_runtime.core.planning.resolve.locations import (
    check_relative_path,
    hide_control_characters,
    make_pattern,
)
from airflow_provider_runtime.core.planning.resolve.resolver_class import holds_login, show_text
from airflow_provider_runtime.core.planning.resolve.resolver_rules import RuleMatch, match_rule
from airflow_provider_runtime.core.planning.resolve.resolver_service import CredentialReader, ask_service
from airflow_provider_runtime.core.planning.resolve.versioned_tables import is_iceberg_name, make_table_options
from airflow_provider_runtime.core.suggest import suggest
from spark_jobs.contract.addresses import has_scheme
from spark_jobs.contract.options import drop_options, get_option, merge_options
from spark_jobs.contract.plan import RuleTrace
from spark_jobs.contract.tables import Location

_Locate = Callable[[str], Place]
_TABLE = re.compile(r"""[^\s"'`;()\[\]\\,*]+(?: [^\s"'`;()\[\]\\,*]+)*""")


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """What the resolution of every table of a run has in common."""

    catalog: Catalog
    project: str
    index: PeriodIndex
    period: Period
    run: RunConstants
    read_credential: CredentialReader | None = None
    offline: bool = False
    """Call no service and no class: locations are served by someone else (scenarios)."""


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """A table's locations, and the reasons for them."""

    locations: tuple[Location, ...]
    rules: tuple[RuleTrace, ...] = ()
    data_level: str | None = None
    periods: tuple[str, ...] = field(default=())

    @property
    def version(self) -> str | None:
        """Snapshot id or version, where rows are read from an Iceberg or Delta table."""
        return next((location.version for location in self.locations if location.version is not None), None)


def resolve_table(
    context: ResolveContext, resolver: Definition[Resolver], dataset: Dataset, table: Table, place: Place
) -> ResolvedTable:
    """Return where a table's rows are for the run's period.

    Problems of the resolver itself point into its file, all others at `place`.
    """
    if resolver.model.class_ is not None:
        return _resolve_with_class(context, resolver, dataset, table)
    match = _match(context, resolver, dataset, table)
    if match.index is None:
        raise ResolveError(_report_no_match(resolver.model, table, context.period, match.trace, place))
    rule = resolver.model.rules[match.index]
    level = rule.data_level or context.period.level
    periods = _expand(context, resolver, match.index, level)
    on_missing = dataset.on_missing or rule.on_missing
    needs_all = len(periods) > 1 and (rule.requires_all_periods or dataset.requires_all_periods)
    if needs_all:
        on_missing = "error"
    rule = rule.model_copy(update={"on_missing": on_missing})
    strategy = _StrategyCall(context, resolver, match.index, rule, dataset, table)
    locations = _drop_repeated(table, [found for period in periods for found in strategy.locate(period)])
    if table.temporal_mode == "period" and needs_all:
        counts = Counter(map(_key_without_period, locations))
        locations = [replace(found, needs_rows=counts[_key_without_period(found)] > 1) for found in locations]
    return ResolvedTable(tuple(locations), match.trace, level, tuple(period.identifier for period in periods))


def _match(context: ResolveContext, resolver: Definition[Resolver], dataset: Dataset, table: Table) -> RuleMatch:
    return match_rule(
        resolver,
        dataset_id=dataset.id,
        dataset_version=dataset.version,
        table=table.name,
        period=context.period,
        run=context.run,
    )


def resolve_before_first(
    context: ResolveContext, resolver: Definition[Resolver] | None, dataset: Dataset, table: Table, place: Place
) -> ResolvedTable:
    """Return a table without rows for a period before the calendar's first; DATA_001 unless it may be missing."""
    on_missing = dataset.on_missing
    if on_missing is None and resolver is not None and resolver.model.class_ is None:
        match = _match(context, resolver, dataset, table)
        on_missing = resolver.model.rules[match.index].on_missing if match.index is not None else None
    if on_missing == "empty":
        return ResolvedTable(())
    message = (
        f"dataset '{dataset.name}' is read {-dataset.period_shift} before {context.period.identifier}, and the calendar"
        f" '{context.index.calendar_id}' has no {context.period.level} there"
    )
    raise DataError(
        Problem("DATA_001", message, "write `on_missing: empty` if the first period starts from nothing", place)
    )


def _drop_repeated(table: Table, locations: list[Location]) -> list[Location]:
    """Leave out a place that is there already: it would give its rows twice.

    Where rows are filtered by the location's period, a place of several periods is read for each.
    """
    key = repr if table.temporal_mode == "period" else _key_without_period
    found: dict[str, Location] = {}
    for location in locations:
        found.setdefault(key(location), location)
    return list(found.values())


def _key_without_period(location: Location) -> str:
    return repr(replace(location, period=None))


def _report_no_match(
    resolver: Resolver, table: Table, period: Period, trace: tuple[RuleTrace, ...], place: Place
) -> Problem:
    reasons = "; ".join(f"rule '{rule.name}': {rule.reason}" for rule in trace) or "it has no rules"
    message = (
        f"no rule of resolver '{resolver.id}' matches table '{table.name}' for period {period.identifier}: {reasons}"
    )
    return Problem("RESOLVE_003", message, "add a rule that matches, or a last one without `when`", place)


def _expand(context: ResolveContext, resolver: Definition[Resolver], rule: int, level: str) -> tuple[Period, ...]:
    """Return the periods whose data a rule has: the run's own, its children, or its parent."""
    period, index = context.period, context.index
    if level in (ANY_LEVEL, period.level):
        return (period,)
    place = resolver.locate("rules", rule, "data_level")
    if level not in index.levels:
        message = f"the calendar '{index.calendar_id}' has no level '{level}'"
        hint = suggest(level, (*index.levels, ANY_LEVEL))
        raise DefinitionError(Problem("CATALOG_004", message, hint, place))
    found = index.list_at(period, level)
    if not found:
        message = f"the calendar '{index.calendar_id}' has no {level} for the {period.level} {period.identifier}"
        raise ResolveError(Problem("PERIOD_001", message, "add it to the calendar, or change the rule's level", place))
    return found


@dataclass(frozen=True, slots=True)
class _StrategyCall:
    """The strategy of a rule that matched, for one table."""

    context: ResolveContext
    resolver: Definition[Resolver]
    index: int
    rule: Rule
    dataset: Dataset
    table: Table

    def locate(self, period: Period) -> list[Location]:
        """Return the locations that the rule gives for a period."""
        strategy = self.rule.strategy
        values = make_token_values(self.dataset.id, self.dataset.version, self.table.name, period)
        if isinstance(strategy, CatalogStrategy):
            return self._ask(strategy, values, period)
        if isinstance(strategy, PathStrategy):
            path = self._render("path", strategy.path, values)
            asked = resolver_class.Location(strategy.datasource_id, path=path)
        else:
            schema = self._render("schema", strategy.schema_, values) if strategy.schema_ else None
            table = self._render("table", strategy.table, values)
            asked = resolver_class.Location(strategy.datasource_id, table=table, schema=schema)
        found = make_location(self.context.catalog, asked, self._locate)
        return [self._finish(found, period.identifier)]

    def _ask(self, strategy: CatalogStrategy, values: Mapping[str, str], period: Period) -> list[Location]:
        if self.context.offline:
            return [Location(kind="memory", period=period.identifier)]
        try:
            answer = ask_service(strategy, values, self.context.read_credential)
        except RuntimeProviderError as error:
            place = self._locate("endpoint")
            raise type(error)(p if p.location.file else replace(p, location=place) for p in error.problems) from error
        return _make_answered(self.context, self.table, answer, self._locate, period, self.rule.on_missing)

    def _render(self, key: str, text: str, values: Mapping[str, str]) -> str:
        return render_template(text, values, lambda: self._locate(key))

    def _locate(self, key: str) -> Place:
        return self.resolver.locate("rules", self.index, "strategy", key)

    def _finish(self, location: Location, period: str) -> Location:
        return replace(location, period=period, on_missing=self.rule.on_missing)


def _resolve_with_class(
    context: ResolveContext, resolver: Definition[Resolver], dataset: Dataset, table: Table
) -> ResolvedTable:
    period = context.period
    trace = (RuleTrace(f"class {resolver.model.class_}", True, "asked for the run's period"),)
    if context.offline:
        location = Location(kind="memory", period=period.identifier)
        return ResolvedTable((location,), trace, period.level, (period.identifier,))
    request = resolver_class.ResolveRequest(
        dataset.id, dataset.version, table.name, period, context.project, context.index.calendar_id
    )

    def locate(_: str) -> Place:
        return resolver.locate("class")

    try:
        answer = resolver_class.call_resolver_class(resolver.model.class_ or "", request)
    except RuntimeProviderError as error:
        raise type(error)(replace(p, location=locate("class")) for p in error.problems) from error
    locations = tuple(_drop_repeated(table, _make_answered(context, table, answer, locate, period, "error")))
    periods = tuple(dict.fromkeys(location.period or "" for location in locations))
    return ResolvedTable(locations, trace, None, periods)


def _make_answered(
    context: ResolveContext,
    table: Table,
    answer: tuple[resolver_class.Location, ...],
    locate: _Locate,
    period: Period,
    on_missing: Literal["error", "empty"],
) -> list[Location]:
    """Return the locations that a service or a class answered with, checked like those of the catalog."""
    found = []
    for asked in answer:
        fault = resolver_class.find_fault(asked, context.index)
        if fault is None and table.temporal_mode == "period":
            fault = _find_foreign_period(asked, context)
        if fault:
            message = f"a location of the answer is wrong: {fault}"
            hint = "a location has a datasource_id with a path or a table, or a uri and a type"
            raise ResolveError(Problem("RESOLVE_003", message, hint, locate("endpoint")))
        location = make_location(context.catalog, asked, locate)
        found.append(replace(location, period=asked.period or period.identifier, on_missing=on_missing))
    return found


def _find_foreign_period(asked: resolver_class.Location, context: ResolveContext) -> str | None:
    """Return what is wrong with rows of a period that the run is not about: it would replace what others published."""
    found = context.index.find_period(asked.period) if asked.period is not None else None
    if found is None:
        return None
    own = context.period
    is_inside = own.start_date <= found.start_date and found.end_date <= own.end_date
    is_around = found.start_date <= own.start_date and own.end_date <= found.end_date
    if is_inside or is_around:
        return None
    return f"its period {found.identifier} is neither {own.identifier}, nor part of it, nor one that it is part of"


def make_location(catalog: Catalog, asked: resolver_class.Location, locate: _Locate) -> Location:
    """Return the place that a path or table of a datasource, or a URI, means."""
    if asked.datasource_id is not None:
        datasource = _get_datasource(catalog, asked.datasource_id, locate)
        if asked.type is not None and read_format(asked.type) != datasource.type:
            message = f"a location's type is {asked.type}, and that of '{datasource.id}' is {datasource.type}"
            raise ResolveError(Problem("RESOLVE_003", message, "leave the type out", locate("endpoint")))
        _check_options(asked, datasource.type, locate)
        if datasource.type == "jdbc":
            return _locate_table(datasource, asked, locate)
        if datasource.type == "iceberg":
            return _locate_iceberg(catalog, datasource, asked, locate)
        found = _locate_files(catalog, datasource, asked, locate)
        return replace(found, kind="table", uri=found.shown_uri) if datasource.type == "delta" else found
    if asked.uri is None or asked.type is None or asked.path is not None or asked.table is not None:
        message = "a location has a datasource_id with a path or a table, or a uri and a type"
        raise ResolveError(Problem("RESOLVE_003", message, None, locate("endpoint")))
    if (
        hide_control_characters(asked.uri) != asked.uri
        or holds_secret(asked.uri)
        or not (has_scheme(asked.uri) or asked.uri.startswith("/"))
    ):
        message = "the uri of a location is not absolute, holds a control character, or holds a password"
        raise ResolveError(Problem("RESOLVE_003", message, "write scheme://host/path", locate("endpoint")))
    kind = read_format(asked.type)
    if not FORMAT_NAME.fullmatch(kind):
        message = "the type of a location is not the name of a format"
        raise ResolveError(Problem("RESOLVE_003", message, None, locate("endpoint")))
    _check_options(asked, kind, locate)
    if kind == "iceberg":
        message = "a table of Iceberg has no uri"
        raise ResolveError(Problem("RESOLVE_003", message, "name a datasource_id and a table", locate("endpoint")))
    if kind == "delta":
        return Location(kind="table", format=kind, uri=asked.uri.rstrip("/"), options=dict(asked.options))
    return Location(kind="files", format=kind, uri=asked.uri, options=dict(asked.options))


def _check_options(asked: resolver_class.Location, kind: str, locate: _Locate) -> None:
    """Refuse options that no definition may have either."""
    hint = "use a datasource with a credential_ref"
    for name, value in asked.options.items():
        if find_secret_word(name) or holds_login(name) or holds_secret(value):
            message = f"the option '{show_text(name)}' of a location looks like a secret"
            raise DefinitionError(Problem("CATALOG_002", message, hint, locate("endpoint")))
    for _, message, said in find_option_faults(asked.options, kind):
        raise DefinitionError(Problem("CATALOG_002", f"a location's {message}", said, locate("endpoint")))
    if asked.path is not None and holds_secret(asked.path):
        raise DefinitionError(Problem("CATALOG_002", "the path of a location holds a password", hint, locate("path")))
    for key, text in (("table", asked.table), ("schema", asked.schema)):
        if text is not None and holds_login(text):
            message = f"the {key} of a location holds a password"
            raise DefinitionError(Problem("CATALOG_002", message, hint, locate(key)))


def _get_datasource(catalog: Catalog, identifier: str, locate: _Locate) -> Datasource:
    found = catalog.find_datasource(identifier)
    if found is None:
        hint = suggest(identifier, catalog.datasources)
        problem = Problem(
            "CATALOG_004", f"datasource '{show_text(identifier)}' not found", hint, locate("datasource_id")
        )
        raise DefinitionError(problem)
    if found.model.status != "active":
        message = f"datasource '{identifier}' is disabled"
        hint = "activate it, or name another datasource"
        raise DefinitionError(Problem("CATALOG_004", message, hint, locate("datasource_id")))
    return found.model


def _locate_table(datasource: Datasource, asked: resolver_class.Location, locate: _Locate) -> Location:
    if asked.table is None:
        message = f"datasource '{datasource.id}' is a database and has no paths"
        raise DefinitionError(Problem("CATALOG_002", message, "use the strategy `table`", locate("path")))
    schema = asked.schema or get_option(datasource.options, "schema")
    for key, text in (("table", asked.table), ("schema", schema)):
        if text is not None and not _TABLE.fullmatch(text):
            message = f"the {key} '{show_text(text)}' is not the name of a {key}"
            raise DefinitionError(Problem("CATALOG_002", message, "write letters, digits and dots", locate(key)))
    name = f"{schema}.{asked.table}" if schema and "." not in asked.table else asked.table
    return Location(
        kind="jdbc",
        format="jdbc",
        table=name,
        options=merge_options(drop_options(datasource.options, "schema"), asked.options),
        credential_ref=datasource.credential_ref,
    )


def _locate_iceberg(
    catalog: Catalog, datasource: Datasource, asked: resolver_class.Location, locate: _Locate
) -> Location:
    if asked.table is None:
        message = f"datasource '{datasource.id}' is an Iceberg catalog and has no paths"
        raise DefinitionError(Problem("CATALOG_002", message, "use the strategy `table`", locate("path")))
    name = ".".join(filter(None, (asked.schema, asked.table)))
    if not is_iceberg_name(name):
        message = f"the table '{show_text(name)}' is not a namespace and a name"
        raise DefinitionError(Problem("CATALOG_002", message, "write namespace.name", locate("table")))
    return Location(
        kind="table",
        format="iceberg",
        table=name,
        options=make_table_options(catalog, datasource, merge_options(datasource.options, asked.options)),
        credential_ref=datasource.credential_ref,
    )


def _locate_files(
    catalog: Catalog, datasource: Datasource, asked: resolver_class.Location, locate: _Locate
) -> Location:
    key = "path" if asked.path is not None else "table"
    relative = asked.path if asked.path is not None else "/".join(filter(None, (asked.schema, asked.table)))
    if reason := check_relative_path(relative, allow_absolute=not datasource.path_prefix):
        message = f"the {key} '{show_text(relative)}' {reason}"
        hint = f"write a path below the prefix of datasource '{datasource.id}'"
        raise DefinitionError(Problem("CATALOG_002", message, hint, locate(key)))
    return Location(
        kind="files",
        format=datasource.type,
        uri=make_pattern(catalog.root, datasource.path_prefix, relative),
        options=merge_options(datasource.options, asked.options),
        credential_ref=datasource.credential_ref,
    )
