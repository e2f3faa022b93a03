"""Functions of conditions and of NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_provider_runtime.core.expr.functions.entry import MANY, Function
from airflow_provider_runtime.core.expr.sql_text import PRIMARY, SUM, Sql
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, NULL

if TYPE_CHECKING:
    from airflow_provider_runtime.core.expr import nodes
    from airflow_provider_runtime.core.expr.checker import Checker
    from airflow_provider_runtime.core.expr.spark_sql import SqlWriter

Thunk = Callable[[], object]


def type_choice(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    """Type a function that returns one of its arguments: they meet in one type."""
    values = arguments[1:] if node.name == "IF" else arguments
    if all(value.type == NULL for value in values):
        return Typed("literal", NULL, True)
    met = checker.meet(values, node)
    if met is None:
        return checker.fail()
    nullable = (all if node.name == "COALESCE" else any)(value.nullable for value in met)
    return Typed(node.name, met[0].type, nullable, (*arguments[: len(arguments) - len(met)], *met))


def _choose(condition: Thunk, then: Thunk, otherwise: Thunk) -> object:
    return then() if condition() is True else otherwise()


def _find_first(*values: Thunk) -> object:
    return next((found for found in (value() for value in values) if found is not None), None)


def _type_null_if(checker: Checker, node: nodes.Call, arguments: list[Typed]) -> Typed:
    value, other = arguments
    if value.type == NULL:
        return value
    met = checker.meet([value, other], node)
    return checker.fail() if met is None else Typed("NULLIF", value.type, True, (value, met[1]))


def _write_null_if(writer: SqlWriter, node: Typed) -> Sql:
    value, other = node.args
    values = {"a": (writer.write(value, SUM), value.is_simple), "b": (writer.write(other, SUM), other.is_simple)}

    def body(names: dict[str, str]) -> str:
        compared = names["a"] if value.type == other.type else f"CAST({names['a']} AS {other.type.ddl.upper()})"
        return f"IF({compared} = {names['b']}, NULL, {names['a']})"

    return PRIMARY, writer.bind(values, body)


def _null_if(value: Thunk, other: Thunk) -> object:
    found = value()
    return None if found is not None and found == other() else found


FUNCTIONS = (
    Function(
        name="IF", signature="IF(c, a, b)", takes=("boolean", "any", "any"), type=type_choice, null="own",
        sql="IF({all})", value=_choose, known_as=("IIF",),
        doc="a where c is TRUE, else b", example='IF(amount > 0, "in", "out")',
    ),
    # AND, OR and NOT become operators when they are parsed.
    Function(
        name="AND", signature="AND(c, …)", takes=("boolean",), least=2, most=MANY, type=BOOLEAN, null="own",
        doc="TRUE where all are", example="AND(active, amount > 0)",
    ),
    Function(
        name="OR", signature="OR(c, …)", takes=("boolean",), least=2, most=MANY, type=BOOLEAN, null="own",
        doc="TRUE where one is", example="OR(active, amount > 0)",
    ),
    Function(
        name="NOT", signature="NOT(c)", takes=("boolean",), type=BOOLEAN,
        doc="the opposite", example="NOT(active)",
    ),
    Function(
        name="ISNULL", signature="ISNULL(x)", takes=("any",), null="own",
        type=lambda _checker, _node, arguments: Typed("is_null", BOOLEAN, False, tuple(arguments), False),
        doc="whether x is NULL", example="ISNULL(amount)",
    ),
    Function(
        name="COALESCE", signature="COALESCE(x, …)", takes=("any",), least=2, most=MANY, type=type_choice, null="own",
        sql="coalesce({all})", value=_find_first, known_as=("IFNULL", "NVL", "ZN"),
        doc="the first that is not NULL", example="COALESCE(amount, 0)",
    ),
    Function(
        name="NULLIF", signature="NULLIF(a, b)", takes=("any", "any"), type=_type_null_if, null="own",
        sql=_write_null_if, value=_null_if,
        levels=5, doc="NULL where a equals b, else a", example='NULLIF(code, "")',
    ),
)  # fmt: skip
