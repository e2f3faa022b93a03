"""Aggregates over some of the rows: what a condition leaves out is NULL inside, and no aggregate counts NULLs."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.functions import AGGREGATES
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER


@recurses_deeply
def restrict(value: Checked, where: Checked) -> Checked:
    """Return an aggregate expression over the rows for which a condition is TRUE."""
    return replace(value, node=_restrict(value.node, where.node), columns=value.columns | where.columns)


def _restrict(node: Typed, where: Typed) -> Typed:
    if node.op == "COUNT_ALL":
        return Typed("COUNT", INTEGER, False, (_choose(where, Typed("literal", BOOLEAN, False, (), True)),))
    if node.op in AGGREGATES:
        return replace(node, args=tuple(_choose(where, argument) for argument in node.args))
    return replace(node, args=tuple(_restrict(argument, where) for argument in node.args))


def _choose(where: Typed, value: Typed) -> Typed:
    return Typed("IF", value.type, True, (where, value, Typed("literal", value.type, True)))
