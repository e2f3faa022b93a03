"""Whether a value can fail to be computed, so that the job computes it even where nothing reads it."""

from __future__ import annotations

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.recursion import walks_deep
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DataType

_SAFE_OPERATORS = frozenset(
    {"literal", "column", "and", "or", "not", "compare", "is_null", "in", "between", "like", "case"}
)


@walks_deep
def may_fail(checked: Checked, target: DataType) -> bool:
    """Return whether there are values for which an expression, cast to a column's type, cannot be computed."""
    if checked.type != target and checked.type.kind != "null":
        return True
    return node_may_fail(checked.node)


def node_may_fail(node: Typed) -> bool:
    """Return whether there are values for which a node cannot be computed; conversions to wider types always can be."""
    function = FUNCTIONS.get(node.op)
    if function is not None:
        is_safe = not function.can_fail
    else:
        is_widening = node.op == "cast" and (node.value is None or node.args[0].type.kind == "null")
        is_safe = node.op in _SAFE_OPERATORS or is_widening
    return not is_safe or any(node_may_fail(argument) for argument in node.args)
