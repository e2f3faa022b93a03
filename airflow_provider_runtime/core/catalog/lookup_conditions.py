"""The conditions of a dataset's lookups: equalities between its columns and those of another table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.expr.scope import Relation, RelationKind, Scope, ScopeColumn
from airflow_provider_runtime.core.model.dataset import Dataset, Lookup, Table, list_temporal_columns
from airflow_provider_runtime.core.model.schema import SYSTEM_COLUMN_NAMES, SYSTEM_COLUMN_TYPES, TEMPORAL_COLUMN_NAMES
from airflow_provider_runtime.core.suggest import suggest

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr.checker import Checked


def make_relation(name: str, kind: RelationKind, table: Table) -> Relation:
    """Return a table's columns, temporal ones included, under the name that expressions use."""
    columns = {name_: ScopeColumn(type_, True) for name_, type_ in list_temporal_columns(table)}
    columns |= {column.name: ScopeColumn(column.data_type, column.nullable) for column in table.columns}
    return Relation(name, kind, columns)


def make_input_relation(table: Table) -> Relation:
    """Return the columns of a working dataset before its first operation."""
    temporal = ("_period_from", "_period_to") if table.temporal_mode == "bitemporal" else ("_period",)
    system = [name for name in SYSTEM_COLUMN_TYPES if name not in TEMPORAL_COLUMN_NAMES or name in temporal]
    columns = {name: ScopeColumn(SYSTEM_COLUMN_TYPES[name]) for name in system}
    columns |= {column.name: ScopeColumn(column.data_type, column.nullable) for column in table.columns}
    return Relation(table.name, "working", columns)


def check_lookup(definition: Definition[Dataset], index: int, source: Relation, target: Relation) -> list[Problem]:
    """Return what is wrong with the conditions of the lookup at this position of a dataset's list."""
    lookup = definition.model.lookups[index]
    unknown = _list_unknown_columns(definition, index, source.columns, target.columns)
    if unknown or all(
        source.columns[condition.source_column].type == target.columns[condition.target_column].type
        for condition in lookup.join_conditions
    ):
        return unknown
    return _compile(definition, index, source, target)[1]


def compile_lookup(definition: Definition[Dataset], index: int, source: Relation, target: Relation) -> Checked | None:
    """Return the condition of the lookup at this position of a dataset's list; None when it has faults."""
    if _list_unknown_columns(definition, index, source.columns, target.columns):
        return None
    return _compile(definition, index, source, target)[0]


def _list_unknown_columns(
    definition: Definition[Dataset], index: int, source: Mapping[str, ScopeColumn], target: Mapping[str, ScopeColumn]
) -> list[Problem]:
    lookup = definition.model.lookups[index]
    problems = []
    for number, condition in enumerate(lookup.join_conditions):
        sides = (
            ("source_column", condition.source_column, source),
            ("target_column", condition.target_column, target),
        )
        for key, name, columns in sides:
            if name not in columns:
                message = f"unknown column '{name}' in the conditions of lookup '{lookup.alias}'"
                hint = suggest(name, [column for column in columns if column not in SYSTEM_COLUMN_NAMES])
                place = definition.locate("lookups", index, "join_conditions", number, key)
                problems.append(Problem("EXPR_002", message, hint, place))
    return problems


def _compile(
    definition: Definition[Dataset], index: int, source: Relation, target: Relation
) -> tuple[Checked | None, list[Problem]]:
    # Imported here: most catalogs are read without a condition that needs the checker.
    from airflow_provider_runtime.core.expr.checker import check_tree
    from airflow_provider_runtime.core.expr.nodes import ColumnRef, make_equalities

    lookup: Lookup = definition.model.lookups[index]
    pairs = [
        (ColumnRef(source.name, condition.source_column), ColumnRef(lookup.alias, condition.target_column))
        for condition in lookup.join_conditions
    ]
    result = check_tree(make_equalities(pairs), Scope(source, {lookup.alias: target}), expect_boolean=True)
    place = definition.locate("lookups", index, "join_conditions")
    prefix = f"the conditions of lookup '{lookup.alias}' cannot be compared: "
    problems = [Problem(found.code, prefix + found.message, found.hint, place) for found in result.problems]
    return (None if problems else result.expression), problems
