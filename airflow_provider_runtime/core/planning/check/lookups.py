"""Lookups of the input dataset: made usable in every expression; what is wrong with them is told at the dataset."""

from __future__ import annotations

from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.expr.checker import check_tree
from airflow_provider_runtime.core.expr.nodes import ColumnRef, make_equalities
from airflow_provider_runtime.core.expr.scope import Scope
from airflow_provider_runtime.core.model.dataset import Lookup, TableTarget
from airflow_provider_runtime.core.planning.check.checked import CheckedJoin, Path, TableUse
from airflow_provider_runtime.core.planning.check.context import (
    LookupUse,
    ProjectContext,
    make_relation,
    make_table_use,
)
from airflow_provider_runtime.core.planning.check.datasets import DatasetAnswer
from airflow_provider_runtime.core.planning.check.working import WorkingSchema
from airflow_provider_runtime.core.suggest import suggest


def tell_missing(what: str, reference: str, version: int | None, answer: DatasetAnswer) -> tuple[Code, str] | None:
    """Return code and message for a dataset that is not there; None when the reason is told elsewhere."""
    told: dict[str, tuple[Code, str]] = {
        "not_found": ("DATASET_001", f"{what} '{reference}' not found"),
        "disabled": ("DATASET_002", f"{what} '{reference}' is disabled"),
        "version": ("DATASET_003", f"{what} '{reference}' has no version {version}"),
    }
    return told.get(answer.reason)


def check_lookups(context: ProjectContext, source: TableUse) -> None:
    """Make the input dataset's lookups usable; what is wrong with them is told at the dataset."""
    unknown: set[str] = set()
    for index, lookup in enumerate(source.dataset.model.lookups):
        use = _find_lookup_table(context, source, lookup, index)
        if use is None:
            unknown.add(lookup.alias)
            continue
        context.tables.append(use)
        relation = make_relation(lookup.alias, "lookup", use.table)
        join = _check_lookup_conditions(context, source, lookup, index, use)
        context.lookups[lookup.alias] = LookupUse(relation, join)
    context.unknown_aliases = frozenset(unknown)


def _find_lookup_table(context: ProjectContext, source: TableUse, lookup: Lookup, index: int) -> TableUse | None:
    place = source.dataset.locate("lookups", index, "target")
    if isinstance(lookup.target, TableTarget):
        return make_table_use(source.dataset, "lookup", lookup.alias, place, alias=lookup.alias, table=lookup.target)
    answer = context.find_dataset(lookup.target.id, lookup.target.version)
    if answer.definition is None:
        told = tell_missing("lookup dataset", lookup.target.id, lookup.target.version, answer)
        if told is not None:
            key = "version" if answer.reason == "version" else "id"
            place = source.dataset.locate("lookups", index, "target", key)
            context.problems.append(Problem(told[0], told[1], answer.hint, place))
        return None
    return make_table_use(
        answer.definition, "lookup", lookup.target.id, place, alias=lookup.alias, pinned=lookup.target.version
    )


def _check_lookup_conditions(
    context: ProjectContext, source: TableUse, lookup: Lookup, index: int, use: TableUse
) -> CheckedJoin | None:
    """Check the equalities of a lookup over the declared columns."""
    relation = make_relation(lookup.alias, "lookup", use.table)
    scope = Scope(WorkingSchema.start(source.table).relation, {lookup.alias: relation})
    parts = []
    for number, condition in enumerate(lookup.join_conditions):
        path: Path = ("lookups", index, "join_conditions", number)
        sides = (
            (condition.source_column, scope.working, "source_column"),
            (condition.target_column, relation, "target_column"),
        )
        unknown = [(name, side, key) for name, side, key in sides if name not in side.columns]
        for name, side, key in unknown:
            place = source.dataset.locate(*path, key)
            message = f"unknown column '{name}' in the conditions of lookup '{lookup.alias}'"
            context.problems.append(Problem("EXPR_002", message, suggest(name, side.columns), place))
        if not unknown:
            source_column = ColumnRef(scope.working.name, condition.source_column)
            parts.append((source_column, ColumnRef(lookup.alias, condition.target_column)))
    if len(parts) < len(lookup.join_conditions):
        return None
    result = check_tree(make_equalities(parts), scope, expect_boolean=True)
    for problem in result.problems:
        place = source.dataset.locate("lookups", index, "join_conditions")
        message = f"the conditions of lookup '{lookup.alias}' cannot be compared: {problem.message}"
        context.problems.append(Problem(problem.code, message, problem.hint, place))
    if result.expression is None or result.problems:
        return None
    return CheckedJoin(lookup.alias, use, result.expression, ())
