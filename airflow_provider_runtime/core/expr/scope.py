"""What an expression can name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from airflow_provider_runtime.core.model.schema import DataType

RelationKind = Literal["working", "lookup", "join", "source", "context"]


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column's type."""

    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Relation:
    """A named set of columns."""

    name: str
    kind: RelationKind
    columns: Mapping[str, ScopeColumn]


@dataclass(frozen=True, slots=True)
class Scope:
    """The working relation, the aliases beside it, and the project's named selectors."""

    working: Relation
    aliases: Mapping[str, Relation] = field(default_factory=dict)
    selectors: Mapping[str, str] = field(default_factory=dict)
    allows_groups: bool = False
    """Whether group functions are possible."""
