"""Resolvers that are Python classes: what they are asked, what they answer, and how they are called.

A class is named in YAML as `class: my.module.MyResolver`. It is made without arguments, and its
`resolve(request: ResolveRequest) -> list[Location]` is called once for each table of a run.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field

from airflow_provider_runtime.core.calendar.periods import PeriodIndex
from airflow_provider_runtime.core.catalog.rules_secrets import holds_secret
from airflow_provider_runtime.core.errors import Problem, ResolveError
from airflow_provider_runtime.core.model.base import LONGEST_BOUNDED_TEXT
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters

_LONGEST = 300
_TEXTS = ("datasource_id", "path", "table", "schema", "uri", "type", "period")
_SURROGATE = re.compile("[\ud800-\udfff]")


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
    """Return what a resolver class answers; RESOLVE_001 when there is none, RESOLVE_003 when it fails.

    What it prints goes to standard error: standard output may be a snapshot.
    """
    with redirect_stdout(sys.stderr):
        resolver = _make_resolver(name)
        try:
            answer = resolver.resolve(request)  # type: ignore[attr-defined]
        except (Exception, SystemExit) as error:
            raise _fail(name, f"raised {_describe(error)}") from error
    if not isinstance(answer, list | tuple) or not all(isinstance(found, Location) for found in answer):
        raise _fail(name, "did not return a list of Location")
    if not answer:
        raise _fail(name, f"knows no location of table '{request.table}' for period {request.period.identifier}")
    return tuple(answer)


def find_fault(location: Location, index: PeriodIndex) -> str | None:
    """Return what is wrong with a location that a service or a class has made, whatever it means, or None."""
    if not isinstance(location.options, Mapping):
        return "options is not a mapping"
    texts = {name: getattr(location, name) for name in _TEXTS}
    for name, value in ({n: v for n, v in texts.items() if v is not None} | dict(location.options)).items():
        if not isinstance(name, str) or not isinstance(value, str):
            return f"{show_text(str(name))} is not a text"
        if _SURROGATE.search(name) or _SURROGATE.search(value):
            return f"{show_text(name)} holds half a surrogate pair, which no file can hold"
        if max(len(name), len(value)) > LONGEST_BOUNDED_TEXT:
            return f"{show_text(name)} has more than {LONGEST_BOUNDED_TEXT} characters"
    if location.path is not None and location.table is not None:
        return "it has a path and a table"
    if location.datasource_id is not None and location.uri is not None:
        return "it has a datasource_id and a uri"
    if location.period is not None and index.find_period(location.period) is None:
        return f"its period '{show_text(location.period)}' is not in the calendar"
    return None


def show_text(text: str) -> str:
    """Return a text of an answer as it is shown: on one line, not too long, and without what may be a login."""
    return "…" if holds_login(text) else hide_control_characters(text[:_LONGEST])


def holds_login(text: str) -> bool:
    """Return whether a text that is not an address, such as a name, holds a user with a password, or another secret."""
    return holds_secret(f"//{text}")


def _make_resolver(name: str) -> object:
    module_name, _, class_name = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module_name), class_name)()
    except (Exception, SystemExit) as error:
        message = f"resolver class '{name}' cannot be loaded: {_describe(error)}"
        hint = "write it as module.Class, and see that the module can be imported here"
        raise ResolveError(Problem("RESOLVE_001", message, hint)) from error


def _describe(error: BaseException) -> str:
    return hide_control_characters(f"{type(error).__name__}: {error}")[:_LONGEST]


def _fail(name: str, what: str) -> ResolveError:
    return ResolveError(Problem("RESOLVE_003", f"resolver class '{name}' {what}", "correct the class's resolve method"))
