"""Lookups of the input dataset, made usable in every expression.

The catalog's rules report what is wrong with them, except for registered datasets, whose schema is known only here.
"""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.lookup_conditions import check_lookup, compile_lookup, make_relation
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.model.dataset import Lookup, TableTarget
from airflow_provider_runtime.core.planning.check.checked import CheckedJoin, TableUse
from airflow_provider_runtime.core.planning.check.context import (
    LookupUse,
    ProjectContext,
    make_table_use,
)
from airflow_provider_runtime.core.planning.check.registered import REGISTRY_FILE
from airflow_provider_runtime.core.planning.check.working import WorkingSchema


def check_lookups(context: ProjectContext, source: TableUse) -> None:
    """Make the input dataset's lookups usable."""
    unknown: set[str] = set()
    for index, lookup in enumerate(source.dataset.model.lookups):
        use = _find_lookup_table(context, source, lookup, index)
        if use is None:
            unknown.add(lookup.alias)
            continue
        context.tables.append(use)
        relation = make_relation(lookup.alias, "lookup", use.table)
        working = WorkingSchema.start(source.table).relation
        if _is_registered(context, use):
            context.problems += check_lookup(source.dataset, index, working, relation)
        condition = compile_lookup(source.dataset, index, working, relation)
        join = CheckedJoin(lookup.alias, use, condition, ()) if condition is not None else None
        context.lookups[lookup.alias] = LookupUse(relation, join)
    context.unknown_aliases = frozenset(unknown)


def _is_registered(context: ProjectContext, use: TableUse) -> bool:
    return use.dataset.file == REGISTRY_FILE or context.catalog.find_registration(use.reference) is not None


def _find_lookup_table(context: ProjectContext, source: TableUse, lookup: Lookup, index: int) -> TableUse | None:
    place = source.dataset.locate("lookups", index, "target")
    if isinstance(lookup.target, TableTarget):
        return make_table_use(source.dataset, "lookup", lookup.alias, place, alias=lookup.alias, table=lookup.target)
    answer = context.find_dataset(lookup.target.id, lookup.target.version)
    if answer.definition is None:
        missing = answer.describe("lookup dataset", lookup.target.id, lookup.target.version)
        if missing is not None and context.catalog.find_registration(lookup.target.id) is not None:
            key = "version" if answer.reason == "version" else "id"
            place = source.dataset.locate("lookups", index, "target", key)
            context.problems.append(Problem(*missing, answer.hint, place))
        return None
    return make_table_use(
        answer.definition, "lookup", lookup.target.id, place, alias=lookup.alias, pinned=lookup.target.version
    )
