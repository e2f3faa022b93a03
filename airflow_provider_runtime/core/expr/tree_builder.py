"""Nodes from what the grammar's rules have matched."""

from __future__ import annotations

import re
from collections.abc import Sized
from datetime import date
from decimal import Decimal

from lark import Token

from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.like import read_pattern
from airflow_provider_runtime.core.expr.nodes import (
    Between,
    Call,
    Case,
    Chain,
    ColumnRef,
    Compare,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Node,
    Not,
    SelectorRef,
)
from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError, shorten

DEEPEST = 200
LONGEST_CHAIN = 3_000
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class TreeBuilder:
    """Makes nodes from what the grammar's rules have matched; one method a rule or alias."""

    def start(self, children: list[Node]) -> Node:
        """Return the whole expression."""
        return children[0]

    def disjunction(self, children: list[Node | Token]) -> Node:
        """Return a chain of AND or OR, or the only operand."""
        return self.chain(children)

    conjunction = disjunction

    def chain(self, children: list[Node | Token]) -> Node:
        """Return a flat chain, or the only operand."""
        first = children[0]
        if len(children) == 1:
            return _node(first)
        operands = [_node(child) for child in children[::2]]
        operators = [str(child).upper() for child in children[1::2]]
        return _deepen(_chain(operands, operators, operands[0].start, operands[-1].end), operands)

    def negation(self, children: list[Node | Token]) -> Node:
        """Return NOT x."""
        operand = _node(children[1])
        return _deepen(Not(operand, start=_start(children[0]), end=operand.end), [operand])

    def negation_call(self, children: list[Node | Token]) -> Node:
        """Return NOT(x) where only a function is allowed."""
        operand = _node(children[1])
        return _deepen(Not(operand, start=_start(children[0]), end=_end(children[-1])), [operand])

    def compare(self, children: list[Node | Token]) -> Node:
        """Return a comparison."""
        left, operator, right = _node(children[0]), str(children[1]), _node(children[2])
        operator = "!=" if operator == "<>" else operator
        return _deepen(Compare(operator, left, right, start=left.start, end=right.end), [left, right])

    def is_null(self, children: list[Node | Token]) -> Node:
        """Return IS NULL or IS NOT NULL."""
        operand = _node(children[0])
        return _deepen(IsNull(operand, _is_negated(children), start=operand.start, end=_end(children[-1])), [operand])

    def in_list(self, children: list[Node | Token]) -> Node:
        """Return IN or NOT IN."""
        operand, items = _node(children[0]), _arguments(children[-2])
        node = InList(operand, items, _is_negated(children), start=operand.start, end=_end(children[-1]))
        return _deepen(node, [operand, *items])

    def between(self, children: list[Node | Token]) -> Node:
        """Return BETWEEN or NOT BETWEEN."""
        operand, low, high = _node(children[0]), _node(children[-3]), _node(children[-1])
        node = Between(operand, low, high, _is_negated(children), start=operand.start, end=high.end)
        return _deepen(node, [operand, low, high])

    def like(self, children: list[Node | Token]) -> Node:
        """Return LIKE or NOT LIKE."""
        operand = _node(children[0])
        texts = [child for child in children[1:] if isinstance(child, Token) and child.type == "STRING"]
        pattern, *quoted = [_unquote(text) for text in texts]
        escape = quoted[0] if quoted else None
        if escape is not None and len(escape) != 1:
            message = "ESCAPE needs a text of one character"
            raise ExpressionSyntaxError(message, _start(texts[1]), _end(texts[1]), r"write ESCAPE '\'")
        try:
            read_pattern(pattern, escape)
        except ValueError as error:
            hint = f"only %, _ or {escape} can follow it"
            raise ExpressionSyntaxError(str(error), _start(texts[0]), _end(texts[0]), hint) from None
        node = Like(operand, pattern, escape, _is_negated(children), start=operand.start, end=_end(texts[-1]))
        return _deepen(node, [operand])

    def joined_text(self, children: list[Node | Token]) -> Node:
        """Return CONCAT for `||`, or the only operand."""
        operands = [_node(child) for child in children[::2]]
        if len(operands) == 1:
            return operands[0]
        _check_length(operands, operands[0].start, operands[-1].end)
        return _deepen(Call("CONCAT", operands, start=operands[0].start, end=operands[-1].end), operands)

    def case(self, children: list[Node | Token]) -> Node:
        """Return CASE: its parts are between the keywords."""
        parts: dict[str, list[Node]] = {"CASE": [], "WHEN": [], "THEN": [], "ELSE": []}
        keyword = ""
        for child in children[:-1]:
            if isinstance(child, Token):
                keyword = child.type
            else:
                parts[keyword].append(_node(child))
        operand, otherwise = next(iter(parts["CASE"]), None), next(iter(parts["ELSE"]), None)
        branches = list(zip(parts["WHEN"], parts["THEN"], strict=True))
        _check_length(branches, _start(children[0]), _end(children[-1]))
        node = Case(operand, branches, otherwise, start=_start(children[0]), end=_end(children[-1]))
        return _deepen(node, [part for group in parts.values() for part in group])

    def minus(self, children: list[Node | Token]) -> Node:
        """Return the negative."""
        operand = _node(children[1])
        return _deepen(Negate(operand, start=_start(children[0]), end=operand.end), [operand])

    def number(self, children: list[Token]) -> Node:
        """Return an integer or a decimal constant."""
        text = str(children[0])
        kind = "decimal" if "." in text else "integer"
        value = Decimal(text)
        if kind == "integer" and len(text.lstrip("0")) <= 19 and int(text) <= 2**63:
            return Literal(int(text), kind, start=_start(children[0]), end=_end(children[0]))
        return Literal(value, "decimal", start=_start(children[0]), end=_end(children[0]))

    def string(self, children: list[Token]) -> Node:
        """Return a text constant."""
        return Literal(_unquote(children[0]), "string", start=_start(children[0]), end=_end(children[0]))

    def true(self, children: list[Token]) -> Node:
        """Return TRUE."""
        return Literal(True, "boolean", start=_start(children[0]), end=_end(children[0]))

    def false(self, children: list[Token]) -> Node:
        """Return FALSE."""
        return Literal(False, "boolean", start=_start(children[0]), end=_end(children[0]))

    def null(self, children: list[Token]) -> Node:
        """Return NULL."""
        return Literal(None, "null", start=_start(children[0]), end=_end(children[0]))

    def selector(self, children: list[Token]) -> Node:
        """Return a reference to a named selector."""
        return SelectorRef(str(children[0])[2:-2].strip(), start=_start(children[0]), end=_end(children[0]))

    def bare_column(self, children: list[Token]) -> Node:
        """Return a column of the working dataset."""
        return ColumnRef(None, str(children[0]), start=_start(children[0]), end=_end(children[0]))

    def qualified_column(self, children: list[Token]) -> Node:
        """Return a column of a table or alias."""
        start, end = _start(children[0]), _end(children[1])
        return ColumnRef(str(children[0]), str(children[1]), start=start, end=end)

    def call_empty(self, children: list[Token]) -> Node:
        """Return a call without arguments."""
        return self._call(children, [])

    def call_star(self, children: list[Token]) -> Node:
        """Return a call with an asterisk."""
        call = Call(str(children[0]).upper(), [], True, start=_start(children[0]), end=_end(children[-1]))
        return _deepen(call, [])

    def call(self, children: list[Node | Token]) -> Node:
        """Return a call; AND, OR and DATE become what they stand for."""
        return self._call(children, _arguments(children[1]))

    def _call(self, children: list[Node | Token] | list[Token], arguments: list[Node]) -> Node:
        token, start, end = children[0], _start(children[0]), _end(children[-1])
        name = str(token).upper()
        if name in ("AND", "OR") and len(arguments) > 1:
            operators = [name] * (len(arguments) - 1)
            return _deepen(_chain(arguments, operators, start, end), arguments)
        if name == "DATE" and len(arguments) == 1 and isinstance(arguments[0], Literal) and arguments[0].kind != "null":
            return _read_date(arguments[0], start, end)
        return _deepen(Call(name, arguments, start=start, end=end), arguments)

    def group_call(self, children: list[Node | Token]) -> Node:
        """Return a call of a group function: arguments, DESC, ORDER and BY."""
        parts: dict[str, list[Node]] = {"NAME": [], "ORDER": [], "DESC": [], "BY": []}
        keyword = ""
        for child in children[:-1]:
            keyword = child.type if isinstance(child, Token) else keyword
            found = parts[keyword]
            if isinstance(child, Node):
                found += _arguments(child) if keyword in ("NAME", "BY") else [child]
        descending = any(isinstance(child, Token) and child.type == "DESC" for child in children)
        order = next(iter(parts["ORDER"]), None)
        start, end = _start(children[0]), _end(children[-1])
        name = str(children[0]).upper()
        call = Call(name, parts["NAME"], keys=parts["BY"], order=order, descending=descending, start=start, end=end)
        return _deepen(call, [part for group in parts.values() for part in group])

    def group(self, children: list[Node | Token]) -> Node:
        """Return what is in brackets."""
        return _node(children[1])

    def arguments(self, children: list[Node]) -> Node:
        """Return arguments for the rule around them."""
        return Call("", children)


def too_deep(start: int, end: int) -> ExpressionSyntaxError:
    """Return the error of an expression that is nested too deeply."""
    hint = (
        "put a part of it into a column of its own with an earlier update; "
        "a division counts as 3 levels, SIGN, NULLIF and functions of dates, rounding and padding as up to 5, "
        "COALESCE above its first argument as 12"
    )
    return ExpressionSyntaxError(f"the expression is nested deeper than {DEEPEST} levels", start, end, hint)


def _deepen(node: Node, children: list[Node]) -> Node:
    node.depth = max((child.depth + _count_levels(node, child) for child in children), default=1)
    if node.depth > DEEPEST + 1:
        raise too_deep(node.start, node.end)
    return node


def _count_levels(node: Node, child: Node) -> int:
    """Return how many levels a node counts for above a child; some cost Spark more than one.

    A quotient is written with seven levels, and a day that DATEADD reaches is checked. The time that Spark takes to
    look for common parts doubles with each COALESCE that has another one in its first argument. The operand of CASE is
    written once for each WHEN.
    """
    if isinstance(node, Chain) and "/" in node.operators:
        return 3
    if isinstance(node, Case) and child is node.operand and child.depth > 1:
        return 40
    if not isinstance(node, Call):
        return 1
    is_first = node.name == "COALESCE" and child is node.arguments[0]
    if is_first and child.depth > 1:
        return 12
    return FUNCTIONS[node.name].levels if node.name in FUNCTIONS else 1


def _check_length(operands: Sized, start: int, end: int) -> None:
    if len(operands) > LONGEST_CHAIN:
        message = f"more than {LONGEST_CHAIN:,} operands in one chain"
        raise ExpressionSyntaxError(message, start, end, "split it over several columns")


def _chain(operands: list[Node], operators: list[str], start: int, end: int) -> Chain:
    _check_length(operands, start, end)
    return Chain(operands, operators, start=start, end=end)


def _read_date(literal: Literal, start: int, end: int) -> Node:
    if literal.kind != "string":
        raise ExpressionSyntaxError('DATE takes a text such as DATE("2026-01-31")', literal.start, literal.end)
    text = str(literal.value).strip(" ")
    hint = 'write an existing day as DATE("YYYY-MM-DD")'
    if not _DATE.fullmatch(text):
        raise ExpressionSyntaxError(f"'{shorten(text)}' is not a date", literal.start, literal.end, hint)
    try:
        return Literal(date.fromisoformat(text), "date", start=start, end=end)
    except ValueError:
        raise ExpressionSyntaxError(f"the date {text} does not exist", literal.start, literal.end, hint) from None


def _is_negated(children: list[Node | Token]) -> bool:
    return any(isinstance(child, Token) and child.type == "NOT" for child in children)


def _unquote(token: Node | Token) -> str:
    text = str(token)
    return text[1:-1].replace(text[0] * 2, text[0])


def _node(child: Node | Token) -> Node:
    assert isinstance(child, Node)
    return child


def _arguments(child: Node | Token) -> list[Node]:
    assert isinstance(child, Call)
    return child.arguments


def _start(child: Node | Token) -> int:
    position = child.start if isinstance(child, Node) else child.start_pos
    return position or 0


def _end(child: Node | Token) -> int:
    position = child.end if isinstance(child, Node) else child.end_pos
    return position or 0
