"""Resolvers that are Python classes: what they are asked, what they answer, and how they are called.

A class is named in YAML as `class: my.module.MyResolver`. It is made without arguments, and its
`resolve(request: ResolveRequest) -> list[Location]` is called once for each table of a run.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_runtime.core.errors import Problem, ResolveError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.locations import hide_control_characters

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """A table whose data are wanted for a period."""

    dataset_id: str
    dataset_version: int
    table: str
    period: Period
    project: str
    calendar: str


@dataclass(frozen=True, slots=True)
class Location:
    """Where rows are: a path or table of a datasource, or a URI with the format of its files."""

    datasource_id: str | None = None
    path: str | None = None
    table: str | None = None
    schema: str | None = None
    uri: str | None = None
    type: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    period: str | None = None
    """Identifier of the period whose rows these are; the run's when it is left out."""


def call_resolver_class(name: str, request: ResolveRequest) -> tuple[Location, ...]:
    """Return what a resolver class answers; RESOLVE_001 when there is none, RESOLVE_003 when it fails."""
    resolver = _make_resolver(name)
    try:
        answer = resolver.resolve(request)  # type: ignore[attr-defined]
    except Exception as error:
        raise _fail(name, f"raised {_describe(error)}") from error
    if not isinstance(answer, list | tuple) or not all(isinstance(found, Location) for found in answer):
        raise _fail(name, "did not return a list of Location")
    return tuple(answer)


def _make_resolver(name: str) -> object:
    module_name, _, class_name = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module_name), class_name)()
    except Exception as error:
        message = f"resolver class '{name}' cannot be loaded: {_describe(error)}"
        hint = "write it as module.Class, and see that the module can be imported here"
        raise ResolveError(Problem("RESOLVE_001", message, hint)) from error


def _describe(error: Exception) -> str:
    return hide_control_characters(f"{type(error).__name__}: {error}")[:_LONGEST]


def _fail(name: str, what: str) -> ResolveError:
    return ResolveError(Problem("RESOLVE_003", f"resolver class '{name}' {what}", "correct the class's resolve method"))
