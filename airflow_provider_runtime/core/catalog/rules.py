"""Checks across the documents of a catalog."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import Problem


def check_catalog(catalog: Catalog) -> list[Problem]:
    """Return what is wrong with definitions that are fine by themselves."""
    return []
