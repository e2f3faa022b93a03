"""Checks across the documents of a catalog: every definition that is fine by itself meets the others."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.rules_calendar import check_calendar
from airflow_provider_runtime.core.catalog.rules_dataset import check_dataset, check_lookup_cycles
from airflow_provider_runtime.core.catalog.rules_names import check_names
from airflow_provider_runtime.core.catalog.rules_project import check_project_document
from airflow_provider_runtime.core.catalog.rules_resolver import check_default_resolvers, check_resolver
from airflow_provider_runtime.core.catalog.rules_secrets import check_datasource
from airflow_provider_runtime.core.errors import Problem


def check_catalog(catalog: Catalog) -> list[Problem]:
    """Return what is wrong with definitions that are fine by themselves."""
    problems: list[Problem] = []
    for calendar in catalog.calendars.values():
        problems += check_calendar(calendar)
    for datasource in catalog.datasources.values():
        problems += check_datasource(datasource)
    for resolver in catalog.resolvers.values():
        problems += check_resolver(catalog, resolver)
    for dataset in catalog.datasets.values():
        problems += check_dataset(catalog, dataset)
    for project in catalog.projects.values():
        problems += check_project_document(catalog, project)
    problems += check_default_resolvers(catalog)
    problems += check_lookup_cycles(catalog)
    problems += check_names(catalog)
    return problems
