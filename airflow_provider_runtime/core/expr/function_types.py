"""What each function makes of its arguments' types."""

from __future__ import annotations

from typing import Protocol

from airflow_provider_runtime.core.expr import nodes
from airflow_provider_runtime.core.expr.datatypes import quotient_type, remainder_type, round_type, to_decimal
from airflow_provider_runtime.core.expr.problems import Kind
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import (
    BOOLEAN,
    DATE,
    INTEGER,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    make_decimal,
)

MOST_PLACES = 12
_RESULTS: dict[str, DataType] = {
    "UPPER": STRING, "LOWER": STRING, "TRIM": STRING, "LEFT": STRING, "RIGHT": STRING, "REPLACE": STRING,
    "CONCAT": STRING, "LEN": INTEGER, "CONTAINS": BOOLEAN, "TODAY": DATE, "NOW": TIMESTAMP, "YEAR": INTEGER,
    "MONTH": INTEGER, "DAY": INTEGER, "DATEDIFF": INTEGER, "DATEADD": DATE, "NOT": BOOLEAN,
}  # fmt: skip


class Checking(Protocol):
    """What this module needs of the checker."""

    def meet(self, values: list[Typed], node: nodes.Node) -> list[Typed] | None:
        """Cast values to their common type."""

    def cast(self, typed: Typed, target: DataType) -> Typed:
        """Cast a value."""

    def report(self, kind: Kind, message: str, at: nodes.Node, hint: str | None = None) -> Typed:
        """Note a problem."""


def type_call(checker: Checking, node: nodes.Call, arguments: list[Typed]) -> Typed:
    """Return the typed call; arity and kinds of the arguments have been checked."""
    name = node.name
    nullable = any(argument.nullable for argument in arguments)
    if name in _RESULTS:
        return Typed(name.lower(), _RESULTS[name], nullable, tuple(arguments))
    if name == "ISNULL":
        return Typed("is_null", BOOLEAN, False, tuple(arguments), False)
    if name == "DATE":
        hint = 'write an existing day as DATE("YYYY-MM-DD")'
        return checker.report("syntax", "DATE takes a constant text", node, hint)
    if name in ("IF", "COALESCE", "MIN", "MAX"):
        return _type_meeting(checker, node, arguments)
    if name in ("COUNT", "MIN_AGG", "MAX_AGG"):
        data_type = INTEGER if name == "COUNT" else arguments[0].type
        return Typed(name.lower(), data_type, name != "COUNT", tuple(arguments))
    if arguments[0].type == NULL:
        arguments[0] = checker.cast(arguments[0], INTEGER)
    if name in ("SUM", "AVG"):
        return _type_total(checker, node, arguments[0])
    if name == "ROUND":
        return _type_round(checker, node, arguments)
    if name == "MOD":
        return _type_remainder(checker, arguments)
    data_type = arguments[0].type
    if name in ("FLOOR", "CEIL") and data_type.kind == "decimal" and data_type.scale > 0:
        data_type = make_decimal(data_type.precision - data_type.scale + 1, 0)
    return Typed(name.lower(), data_type, nullable, tuple(arguments))


def _type_meeting(checker: Checking, node: nodes.Call, arguments: list[Typed]) -> Typed:
    values = arguments[1:] if node.name == "IF" else arguments
    if all(value.type == NULL for value in values):
        return Typed("literal", NULL, True)
    met = checker.meet(values, node)
    if met is None:
        return Typed("error", NULL, True)
    data_type = met[0].type
    if node.name == "IF":
        return Typed("if", data_type, any(value.nullable for value in met), (arguments[0], *met))
    nullable = (all if node.name == "COALESCE" else any)(value.nullable for value in met)
    return Typed(node.name.lower(), data_type, nullable, tuple(met))


def _type_total(checker: Checking, node: nodes.Call, argument: Typed) -> Typed:
    if node.name == "SUM":
        data_type = argument.type
        if data_type.kind == "decimal":
            data_type = make_decimal(MAX_PRECISION, data_type.scale)
        return Typed("sum", data_type, True, (argument,))
    argument = checker.cast(argument, to_decimal(argument.type))
    result = quotient_type(make_decimal(MAX_PRECISION, argument.type.scale), INTEGER)
    if result is None:
        message = f"the mean has {argument.type.scale + 4} decimal places, at most 38 are possible"
        return checker.report("type", message, node, "ROUND what is averaged to fewer decimal places")
    return Typed("avg", result, True, (argument,))


def _type_round(checker: Checking, node: nodes.Call, arguments: list[Typed]) -> Typed:
    places = 0
    if len(arguments) == 2:
        value = arguments[1].value
        if arguments[1].op != "literal" or not isinstance(value, int) or not 0 <= value <= MOST_PLACES:
            return checker.report("type", f"ROUND needs a constant from 0 to {MOST_PLACES} places", node.arguments[1])
        places = value
    data_type = round_type(arguments[0].type, places)
    return Typed("round", data_type, arguments[0].nullable, (arguments[0],), places)


def _type_remainder(checker: Checking, arguments: list[Typed]) -> Typed:
    left, right = arguments
    if right.type == NULL:
        right = checker.cast(right, left.type)
    if left.type.kind != right.type.kind:
        left, right = checker.cast(left, to_decimal(left.type)), checker.cast(right, to_decimal(right.type))
    return Typed("mod", remainder_type(left.type, right.type), True, (left, right))
