"""When operators and functions are NULL, and whether values can fail to be computed."""

from __future__ import annotations

from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.functions.entry import NullRule
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DataType

_NULL_RULES: dict[str, NullRule] = {
    "literal": "own", "column": "own", "and": "own", "or": "own", "is_null": "own", "in": "own", "between": "own",
    "case": "own", "cast": "strict", "negate": "strict", "add": "strict", "multiply": "strict", "compare": "strict",
    "not": "strict", "like": "strict", "divide": "also",
}  # fmt: skip
_CAN_FAIL = frozenset({"cast", "negate", "add", "multiply", "divide"})


def get_null_rule(op: str) -> NullRule:
    """Return when an operator or a function is NULL."""
    return FUNCTIONS[op].null if op in FUNCTIONS else _NULL_RULES[op]


@recurses_deeply
def may_fail(checked: Checked, target: DataType) -> bool:
    """Return whether there are values for which an expression, cast to a column's type, cannot be computed."""
    if checked.type != target and checked.type.kind != "null":
        return True
    return node_may_fail(checked.node)


def node_may_fail(node: Typed) -> bool:
    """Return whether there are values for which a node cannot be computed; conversions to wider types always can be."""
    is_widening = node.op == "cast" and (node.value is None or node.args[0].type.kind == "null")
    can_fail = FUNCTIONS[node.op].can_fail if node.op in FUNCTIONS else node.op in _CAN_FAIL
    return (can_fail and not is_widening) or any(node_may_fail(argument) for argument in node.args)
