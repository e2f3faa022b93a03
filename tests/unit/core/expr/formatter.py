"""Tree to text: one canonical spelling, with no bracket that is not needed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from airflow_provider_runtime.core.expr import nodes
from airflow_provider_runtime.core.expr.keywords import BETWEEN_VALUES
from airflow_provider_runtime.core.expr.recursion import recurses_deeply

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, PRIMARY = range(8)
_AMBIGUOUS = frozenset({"CASE", "WHEN"})
"""Columns of these names are written in brackets, where no keyword can be."""
_LEVELS = {"OR": OR, "AND": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


@recurses_deeply
def format_expression(node: nodes.Node) -> str:
    """Return the text of a tree; parsing it gives an equal tree."""
    return _format(node, OR)


def _format(node: nodes.Node, least: int) -> str:
    level, text = _spell(node)
    return text if level >= least else f"({text})"


def _spell(node: nodes.Node) -> tuple[int, str]:
    match node:
        case nodes.Chain():
            level = _LEVELS[node.operators[0]]
            parts = [_format(node.operands[0], level + 1)]
            for operator, operand in zip(node.operators, node.operands[1:], strict=True):
                parts += (operator, _format(operand, level + 1))
            return level, " ".join(parts)
        case nodes.Not():
            return NOT, f"NOT {_format(node.operand, NOT)}"
        case nodes.Negate():
            return UNARY, f"-{_format(node.operand, UNARY)}"
        case nodes.Compare():
            return COMPARE, f"{_format(node.left, COMPARE)} {node.operator} {_format(node.right, SUM)}"
        case nodes.IsNull():
            return COMPARE, f"{_format(node.operand, COMPARE)} IS {'NOT ' if node.negated else ''}NULL"
        case nodes.InList():
            items = ", ".join([_format(item, OR) for item in node.items])
            return COMPARE, f"{_format(node.operand, COMPARE)} {'NOT ' if node.negated else ''}IN ({items})"
        case nodes.Between():
            bounds = f"{_format(node.low, SUM)} AND {_format(node.high, SUM)}"
            return COMPARE, f"{_format(node.operand, COMPARE)} {'NOT ' if node.negated else ''}BETWEEN {bounds}"
        case nodes.Like():
            escape = "" if node.escape is None else f" ESCAPE {_quote(node.escape)}"
            operator = f"{'NOT ' if node.negated else ''}LIKE"
            return COMPARE, f"{_format(node.operand, COMPARE)} {operator} {_quote(node.pattern)}{escape}"
        case nodes.Case():
            return PRIMARY, _spell_case(node)
        case nodes.Call():
            arguments = "*" if node.star else ", ".join([_format(argument, OR) for argument in node.arguments])
            order = "" if node.order is None else f" ORDER {_format(node.order, OR)}"
            direction = " DESC" if node.descending else ""
            keys = ", ".join([_format(key, OR) for key in node.keys])
            return PRIMARY, f"{node.name}({arguments}{order}{direction}{' BY ' if keys else ''}{keys})"
        case nodes.ColumnRef():
            if node.table is not None:
                return PRIMARY, f"{node.table}.{node.name}"
            return PRIMARY, f"({node.name})" if node.name.upper() in _AMBIGUOUS else node.name
        case nodes.SelectorRef():
            return PRIMARY, f"{{{{{node.name}}}}}"
        case nodes.Literal():
            return PRIMARY, _spell_literal(node)
    raise TypeError(f"no spelling for {type(node).__name__}")


def _spell_literal(node: nodes.Literal) -> str:
    value = node.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return f'DATE("{value.isoformat()}")'
    return _quote(value) if isinstance(value, str) else str(value)


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _spell_case(node: nodes.Case) -> str:
    operand = "" if node.operand is None else f" {_format(node.operand, OR)}"
    is_keyword = isinstance(node.operand, nodes.ColumnRef) and node.operand.name.upper() in BETWEEN_VALUES
    if is_keyword or not isinstance(node.operand, nodes.ColumnRef | nodes.Literal | nodes.Call | None):
        operand = f" ({operand.strip()})"
    branches = [f" WHEN {_format(when, OR)} THEN {_format(then, OR)}" for when, then in node.branches]
    otherwise = "" if node.otherwise is None else f" ELSE {_format(node.otherwise, OR)}"
    return f"CASE{operand}{''.join(branches)}{otherwise} END"
