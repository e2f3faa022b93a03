"""One warning, at the key that it is about."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.planning.check.checked import Path


def make_warning(code: Code, message: str, hint: str, definition: Definition[Model], path: Path) -> Problem:
    """Return a warning at the key that a path leads to."""
    return Problem(code, message, hint, definition.locate(*path, key=True), "warning")
