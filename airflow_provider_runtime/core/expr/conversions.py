"""Kinds that operands must have, and the types in which values meet."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

from airflow_provider_runtime.core.expr import nodes
from airflow_provider_runtime.core.expr.datatypes import (
    NUMERIC,
    common_type,
    explain_no_common_type,
    is_assignable,
)
from airflow_provider_runtime.core.expr.problems import CODES, ExpressionProblem, Kind
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER, NULL, DataType, make_decimal

_KIND_OF = {"moment": "date"}
_CONVERSIONS = {
    "number": "NUMBER(s, precision, scale) or INTEGER(s) makes a number of it",
    "integer": "INTEGER(s) makes an integer of it",
    "date": 'DATE(s) makes a date of it; one is written DATE("YYYY-MM-DD")',
    "moment": 'DATE(s) makes a date of it; one is written DATE("YYYY-MM-DD")',
}
"""What makes a text what is asked for."""
_ROUNDED = "it is a number already; ROUND, FLOOR and CEIL round it"
_COUNTED = "IF(c, 1, 0) makes a number of it"
_ALREADY = {
    ("NUMBER", "integer"): "it is a number already",
    ("NUMBER", "decimal"): _ROUNDED,
    ("INTEGER", "integer"): "it is an integer already",
    ("INTEGER", "decimal"): _ROUNDED,
    ("NUMBER", "boolean"): _COUNTED,
    ("INTEGER", "boolean"): _COUNTED,
    ("DATE", "date"): "it is a date already",
    ("DATE", "timestamp"): "DATE(LEFT(TEXT(x), 10)) is its day",
}
"""By a function that reads texts and the kind of what it was given: what is meant."""
_KIND_NAMES = {
    "boolean": "a condition",
    "moment": "a date or timestamp",
    "number": "a number",
    "integer": "an integer",
}


def literal_type(value: Decimal) -> DataType:
    """Return the smallest decimal type of a constant."""
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    return make_decimal(max(len(digits) if any(digits) else 1, scale, 1), scale)


def find_decimal_comma(arguments: list[nodes.Node]) -> str | None:
    """Return a hint where two arguments look like one number with a comma: `0,95`."""
    for whole, places in pairwise(arguments):
        last = whole
        while isinstance(last, nodes.Chain | nodes.Compare):
            last = last.operands[-1] if isinstance(last, nodes.Chain) else last.right
        numbers = [node.value for node in (last, places) if isinstance(node, nodes.Literal) and node.kind == "integer"]
        if len(numbers) == 2 and places.start == whole.end + 1:
            return f"a decimal is written with a point: {numbers[0]}.{numbers[1]}"
    return None


def _find_conversion(kind: str, wanted: str, by: str) -> str | None:
    """Return a hint for a value of one kind where another is wanted."""
    if by == "CONCAT":
        return "TEXT(x) makes text of it; conditions are joined by OR"
    if wanted == "string":
        return _ALREADY.get((by.removeprefix("TRY_"), kind), "TEXT(x) makes text of it")
    if kind == "string":
        return "texts are joined by || or CONCAT" if by == "+" else _CONVERSIONS.get(wanted)
    if kind in ("date", "timestamp") and by in ("+", "-"):
        return "use DATEADD(date, days), or DATEDIFF(end, start) for the days between"
    return None


class Conversions:
    """Notes problems, and converts what may be converted."""

    def __init__(self) -> None:
        self.problems: list[ExpressionProblem] = []
        self.selector: str | None = None
        """The named selector whose text is looked at."""

    def need(self, typed: Typed, wanted: str, by: str) -> Typed:
        """Return the node if it is of the wanted kind, else report it; NULL takes the kind."""
        kind = typed.type.kind
        if typed.op == "error" or wanted == "any" or kind == wanted:
            return typed
        if kind == "null":
            return typed if wanted == "number" else self.cast(typed, DataType(_KIND_OF.get(wanted, wanted)))  # type: ignore[arg-type]
        if (wanted == "number" and kind in NUMERIC) or (wanted == "moment" and kind in ("date", "timestamp")):
            return typed
        at = nodes.Node(start=typed.start, end=typed.end)
        message = f"{by} needs {_KIND_NAMES.get(wanted, f'a {wanted}')}, found {typed.type}"
        return self.report("type", message, at, _find_conversion(kind, wanted, by))

    def meet(self, values: list[Typed], node: nodes.Node) -> list[Typed] | None:
        """Return the values cast to the type that holds all exactly, or None after reporting."""
        if self.failed(*values):
            return None
        common = NULL
        beside_decimal = any(value.type.kind == "decimal" for value in values)
        for value in values:
            met = common_type(common, self._meeting_type(value, beside_decimal))
            if met is None:
                message, hint = explain_no_common_type(common, value.type)
                self.report("type", message, node, hint)
                return None
            common = met
        common = BOOLEAN if common.kind == "null" else common
        return [self.cast(value, common) for value in values]

    def _meeting_type(self, value: Typed, beside_decimal: bool) -> DataType:
        # A constant needs no more digits than it has.
        if value.op == "literal" and value.type == INTEGER and beside_decimal:
            return literal_type(Decimal(str(value.value)))
        return value.type

    def cast(self, typed: Typed, target: DataType) -> Typed:
        """Return the node as the type; never loses a digit."""
        if typed.type == target or typed.op == "error":
            return typed
        assert is_assignable(typed.type, target)
        return Typed("cast", target, typed.nullable, (typed,), None, typed.start, typed.end)

    def report(
        self, kind: Kind, message: str, at: nodes.Node, hint: str | None = None,
        table: str | None = None, column: str | None = None,
    ) -> Typed:  # fmt: skip
        """Note a problem and return the node that stands for it."""
        problem = ExpressionProblem(CODES[kind], kind, message, hint, at.start, at.end, self.selector, table, column)
        self.problems.append(problem)
        return self.fail()

    @staticmethod
    def fail() -> Typed:
        """Return the node that stands for what is wrong."""
        return Typed("error", NULL, True)

    @staticmethod
    def failed(*typed: Typed) -> bool:
        """Whether any of the nodes stands for what is wrong."""
        return any(node.op == "error" for node in typed)
