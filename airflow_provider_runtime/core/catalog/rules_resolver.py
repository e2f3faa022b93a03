"""Resolvers: rules or a class, known datasources and levels, tokens and conditions that make sense."""

from __future__ import annotations

import re

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.catalog.rules_calendar import ANY_LEVEL
from airflow_provider_runtime.core.catalog.rules_secrets import check_credential, check_url, find_secret_word, hide_line
from airflow_provider_runtime.core.catalog.templates import find_template_faults
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.core.model.resolver import (
    REGISTRY_RESOLVER_ID,
    CatalogStrategy,
    PathStrategy,
    Resolver,
    Rule,
    TableStrategy,
)
from airflow_provider_runtime.core.suggest import suggest

CLASS_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
ENDPOINT = re.compile(r"https?://\S+")


def check_resolver(catalog: Catalog, definition: Definition[Resolver]) -> list[Problem]:
    """Return what is wrong with a resolver."""
    model = definition.model
    problems: list[Problem] = []
    if model.id == REGISTRY_RESOLVER_ID:
        message = f"resolver '{REGISTRY_RESOLVER_ID}' is built in"
        problems.append(Problem("CATALOG_003", message, "choose another id", definition.locate("id")))
    if not model.rules and model.class_ is None:
        hint = "a resolver has rules, or the class that resolves"
        problems.append(Problem("CATALOG_002", "required key 'rules' is missing", hint, definition.locate("rules")))
    if model.rules and model.class_ is not None:
        message = "a resolver has either rules or a class"
        problems.append(Problem("CATALOG_002", message, "keep one", definition.locate("class", key=True)))
    if model.class_ is not None and not CLASS_NAME.fullmatch(model.class_):
        message = f"'{model.class_[:60]}' is not the name of a class"
        problems.append(Problem("CATALOG_002", message, "write my.module.MyResolver", definition.locate("class")))
    for index, rule in enumerate(model.rules):
        problems += _check_rule(catalog, definition, ("rules", index), rule)
    return problems


def _check_rule(catalog: Catalog, definition: Definition[Resolver], path: Path, rule: Rule) -> list[Problem]:
    problems: list[Problem] = []
    if rule.when is not None:
        problems += _check_condition(definition, (*path, "when"), rule.when)
    if rule.data_level is not None and rule.data_level != ANY_LEVEL:
        levels = list_levels(catalog)
        if rule.data_level not in levels and not _has_broken_calendar(catalog):
            hint = suggest(rule.data_level, [*levels, ANY_LEVEL])
            place = definition.locate(*path, "data_level")
            problems.append(Problem("CATALOG_004", f"unknown level '{rule.data_level}'", hint, place))
    return problems + _check_strategy(catalog, definition, (*path, "strategy"), rule)


def _has_broken_calendar(catalog: Catalog) -> bool:
    return any(kind == "calendar" for kind, _ in catalog.broken)


def list_levels(catalog: Catalog) -> list[str]:
    """Return the levels of every calendar, the built-in one's first."""
    calendars = [GREGORIAN, *(definition.model for definition in catalog.calendars.values())]
    return list(dict.fromkeys(level.name for calendar in calendars for level in calendar.levels))


def _check_condition(definition: Definition[Resolver], path: Path, text: str) -> list[Problem]:
    from airflow_provider_runtime.core.catalog.conditions import check_condition

    return [
        Problem(found.code, found.message, found.hint, definition.locate_span(path, found.start, found.end))
        for found in check_condition(text).problems
    ]


def _check_strategy(catalog: Catalog, definition: Definition[Resolver], path: Path, rule: Rule) -> list[Problem]:
    strategy = rule.strategy
    problems: list[Problem] = []
    templates: dict[Path, str | None]
    if isinstance(strategy, CatalogStrategy):
        problems += _check_service(definition, path, strategy)
        templates = {(*path, "params", name): value for name, value in strategy.params.items()}
        templates[(*path, "endpoint")] = strategy.endpoint
    elif isinstance(strategy, PathStrategy):
        templates = {(*path, "path"): strategy.path}
        problems += _check_datasource(catalog, definition, path, strategy)
        if ".." in re.split(r"[/\\]", strategy.path):
            place = definition.locate(*path, "path")
            message = "path leaves the datasource's path_prefix"
            problems.append(Problem("CATALOG_002", message, "remove '..'", place))
    else:
        templates = {(*path, "table"): strategy.table, (*path, "schema"): strategy.schema_}
        problems += _check_datasource(catalog, definition, path, strategy)
    for template, text in templates.items():
        problems += _check_template(definition, template, text or "")
    return problems


def _check_datasource(
    catalog: Catalog, definition: Definition[Resolver], path: Path, strategy: PathStrategy | TableStrategy
) -> list[Problem]:
    name = strategy.datasource_id
    place = definition.locate(*path, "datasource_id")
    found = catalog.find_datasource(name)
    if found is None:
        if catalog.is_broken("datasource", name):
            return []
        return [Problem("CATALOG_004", f"unknown datasource '{name}'", suggest(name, catalog.datasources), place)]
    if isinstance(strategy, PathStrategy) and found.model.type == "jdbc":
        message = f"datasource '{name}' is a database and has no paths"
        return [Problem("CATALOG_002", message, "use the strategy type: table", place)]
    if isinstance(strategy, PathStrategy) and found.model.type == "iceberg":
        message = f"datasource '{name}' is an Iceberg catalog and has no paths"
        return [Problem("CATALOG_002", message, "use the strategy type: table, with namespace.name", place)]
    return []


def _check_service(definition: Definition[Resolver], path: Path, strategy: CatalogStrategy) -> list[Problem]:
    problems = check_url(definition, (*path, "endpoint"), strategy.endpoint)
    problems += check_credential(definition, (*path, "auth"), strategy.auth)
    if not ENDPOINT.fullmatch(strategy.endpoint):
        place = definition.locate(*path, "endpoint")
        problems.append(Problem("CATALOG_002", "endpoint is not a url", "begin it with https://", place))
    for name, value in strategy.params.items():
        word = find_secret_word(name)
        if word is not None and "{{" not in value:
            message = f"parameter '{name}' may hold a secret: '{word}' is in its name"
            place = hide_line(definition, *path, "params", name, key=True)
            problems.append(Problem("CATALOG_002", message, "name a connection or a variable in auth", place))
    return problems


def _check_template(definition: Definition[Resolver], path: Path, text: str) -> list[Problem]:
    return [
        Problem(fault.code, fault.message, fault.hint, definition.locate_span(path, fault.start, fault.end))
        for fault in find_template_faults(text)
    ]


def check_default_resolvers(catalog: Catalog) -> list[Problem]:
    """Return a problem for each active default resolver after the first; versions of one resolver are one."""
    problems: list[Problem] = []
    first: Definition[Resolver] | None = None
    for definition in catalog.resolvers.values():
        if definition.model.status != "active" or not definition.model.is_default:
            continue
        if first is None or first.model.id == definition.model.id:
            first = first or definition
            continue
        place = first.locate("is_default")
        message = f"resolver '{definition.model.id}' is a second default beside '{first.model.id}'"
        hint = f"the first one is in {place.file}, line {place.line}; at most one active resolver is the default"
        problems.append(Problem("CATALOG_002", message, hint, definition.locate("is_default")))
    return problems
