"""The body of a document to a definition of its kind."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from airflow_provider_runtime.core.catalog.definition import Definition, Kind, SourceMap
from airflow_provider_runtime.core.catalog.partly_read import PartlyRead, read_partly
from airflow_provider_runtime.core.catalog.translate import translate_validation_error
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.dataset import Dataset
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.period import Calendar
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.model.resolver import Resolver

KINDS: dict[str, type[Model]] = {
    "calendar": Calendar,
    "datasource": Datasource,
    "resolver": Resolver,
    "dataset": Dataset,
    "project": Project,
}
EXPRESSION_KEYS = frozenset({"expression"})
"""Keys whose unquoted NULL is the literal of the expression language."""


@dataclass(frozen=True, slots=True)
class ReadDefinition:
    """The definition in a document's body, or what is wrong with it."""

    definition: Definition[Model] | None
    problems: list[Problem] = field(default_factory=list)
    partly: PartlyRead | None = None


def read_definition(kind: str, source: SourceMap) -> ReadDefinition:
    """Return the definition in a document's body, or what is wrong with it."""
    model = KINDS[kind]
    if kind == "project":
        source = replace(source, project=_find_project_name(source))
    value = None if source.root is None else source.root.to_value(EXPRESSION_KEYS)
    try:
        parsed = model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = translate_validation_error(error, source, model)
        partly = read_partly(source, value, error, problems) if kind == "project" else None
        return ReadDefinition(None, problems, partly)
    return ReadDefinition(Definition(_as_kind(kind), parsed, source, value))


def _as_kind(kind: str) -> Kind:
    return kind  # type: ignore[return-value]


def _find_project_name(source: SourceMap) -> str | None:
    for key in ("name", "id"):
        node, exact = source.find_node((key,))
        if exact and node is not None and node.text:
            return node.text
    return None
