"""Text to tree, by the grammar in grammar.lark."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from airflow_provider_runtime.core.expr.nodes import (
    Between,
    Call,
    Chain,
    ColumnRef,
    Compare,
    InList,
    IsNull,
    Literal,
    Negate,
    Node,
    Not,
    SelectorRef,
)
from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError

DEEPEST = 200
LONGEST_CHAIN = 3_000
LONGEST_TEXT = 1_000_000
RESERVED = frozenset({"AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "TRUE", "FALSE"})

_NESTING = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<open>\()|(?P<close>\))"""
    rf"""|(?P<run>(?<!\w)(?:NOT\b\s*){{{DEEPEST + 1}}}|(?:-\s*){{{DEEPEST + 2}}})""",
    re.IGNORECASE,
)
_NOT_CALL = re.compile(r"(?<!\w)NOT\s*\($", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAMES = {
    "NUMBER": "a number",
    "STRING": "a text",
    "NAME": "a name",
    "RPAR": "')'",
    "LPAR": "'('",
    "COMPARE": "a comparison",
    "SELECTOR": "a named selector",
}
_OPERAND_STARTS = frozenset({"NUMBER", "STRING", "NAME", "LPAR"})


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
        """Return NOT(x) where only a function can stand."""
        operand = _node(children[1])
        return _deepen(Not(operand, start=_start(children[0]), end=_end(children[-1])), [operand])

    def compare(self, children: list[Node | Token]) -> Node:
        """Return a comparison."""
        left, operator, right = _node(children[0]), str(children[1]), _node(children[2])
        operator = "!=" if operator == "<>" else operator
        return _deepen(Compare(operator, left, right, start=left.start, end=right.end), [left, right])

    def is_null(self, children: list[Node | Token]) -> Node:
        """Return IS NULL."""
        return self._test_null(children, negated=False)

    def is_not_null(self, children: list[Node | Token]) -> Node:
        """Return IS NOT NULL."""
        return self._test_null(children, negated=True)

    def _test_null(self, children: list[Node | Token], *, negated: bool) -> Node:
        operand = _node(children[0])
        return _deepen(IsNull(operand, negated, start=operand.start, end=_end(children[-1])), [operand])

    def in_list(self, children: list[Node | Token]) -> Node:
        """Return IN."""
        return self._choose(children, negated=False)

    def not_in_list(self, children: list[Node | Token]) -> Node:
        """Return NOT IN."""
        return self._choose(children, negated=True)

    def _choose(self, children: list[Node | Token], *, negated: bool) -> Node:
        operand, items = _node(children[0]), _arguments(children[-2])
        return _deepen(InList(operand, items, negated, start=operand.start, end=_end(children[-1])), [operand, *items])

    def between(self, children: list[Node | Token]) -> Node:
        """Return BETWEEN."""
        return self._bound(children, negated=False)

    def not_between(self, children: list[Node | Token]) -> Node:
        """Return NOT BETWEEN."""
        return self._bound(children, negated=True)

    def _bound(self, children: list[Node | Token], *, negated: bool) -> Node:
        operand, low, high = _node(children[0]), _node(children[-3]), _node(children[-1])
        return _deepen(Between(operand, low, high, negated, start=operand.start, end=high.end), [operand, low, high])

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
        text = str(children[0])
        value = text[1:-1].replace(text[0] * 2, text[0])
        return Literal(value, "string", start=_start(children[0]), end=_end(children[0]))

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
        if name == "DATE" and len(arguments) == 1 and isinstance(arguments[0], Literal):
            return _read_date(arguments[0], start, end)
        return _deepen(Call(name, arguments, start=start, end=end), arguments)

    def group(self, children: list[Node | Token]) -> Node:
        """Return what stands in brackets."""
        return _node(children[1])

    def arguments(self, children: list[Node]) -> Node:
        """Return arguments for the rule around them."""
        return Call("", children)


def parse(text: str) -> Node:
    """Return the tree of an expression, or raise ExpressionSyntaxError."""
    # Nodes are never changed after they are made, so that equal texts can share one tree.
    result = _parse_cached(text)
    if isinstance(result, ExpressionSyntaxError):
        found = result.problem
        raise ExpressionSyntaxError(found.message, found.start, found.end, found.hint, found.kind)
    return result


@lru_cache(maxsize=4096)
def _parse_cached(text: str) -> Node | ExpressionSyntaxError:
    try:
        _check_size(text)
        return _parse_fresh(text)
    except ExpressionSyntaxError as error:
        return error


def _parse_fresh(text: str) -> Node:
    try:
        tree: object = _get_lark().parse(text)
    except ExpressionSyntaxError:
        raise
    except VisitError as error:
        if isinstance(error.orig_exc, ExpressionSyntaxError):
            raise error.orig_exc from None
        raise
    except UnexpectedInput as error:
        raise _explain(text, error) from None
    assert isinstance(tree, Node)
    return tree


@lru_cache(maxsize=1)
def _get_lark() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )


def _check_size(text: str) -> None:
    if not text.strip():
        raise ExpressionSyntaxError("the expression is empty", 0, len(text))
    if len(text) > LONGEST_TEXT:
        raise ExpressionSyntaxError(f"the expression is longer than {LONGEST_TEXT:,} characters", 0, 1)
    if len(text) <= DEEPEST:
        return
    depth = 0
    for match in _NESTING.finditer(text):
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
        if depth > DEEPEST or match.lastgroup == "run":
            raise _too_deep(match.start(), match.start() + 1)


def _too_deep(start: int, end: int) -> ExpressionSyntaxError:
    hint = (
        "put a part of it into a column of its own by an update before; "
        "a division counts as 3 levels, DATEADD as 2, COALESCE above its first argument as 12"
    )
    return ExpressionSyntaxError(f"the expression is nested deeper than {DEEPEST} levels", start, end, hint)


def _deepen(node: Node, children: list[Node]) -> Node:
    node.depth = max((child.depth + _count_levels(node, child) for child in children), default=1)
    if node.depth > DEEPEST + 1:
        raise _too_deep(node.start, node.end)
    return node


def _count_levels(node: Node, child: Node) -> int:
    """Return how many levels a node counts for above a child; some cost Spark more than one.

    A quotient is written with seven levels, and a day that DATEADD reaches is checked. The time that Spark takes to
    look for common parts doubles with each COALESCE that has another one in its first argument.
    """
    if isinstance(node, Chain) and "/" in node.operators:
        return 3
    if isinstance(node, Call) and node.name == "DATEADD":
        return 2
    is_first = isinstance(node, Call) and node.name == "COALESCE" and child is node.arguments[0]
    return 12 if is_first and child.depth > 1 else 1


def _chain(operands: list[Node], operators: list[str], start: int, end: int) -> Chain:
    if len(operands) > LONGEST_CHAIN:
        raise ExpressionSyntaxError(
            f"more than {LONGEST_CHAIN:,} operands in one chain", start, end, "split it over several columns"
        )
    return Chain(operands, operators, start=start, end=end)


def _read_date(literal: Literal, start: int, end: int) -> Node:
    if literal.kind != "string":
        raise ExpressionSyntaxError('DATE takes a text such as DATE("2026-01-31")', literal.start, literal.end)
    text = str(literal.value)
    hint = 'write an existing day as DATE("YYYY-MM-DD")'
    if not _DATE.fullmatch(text):
        raise ExpressionSyntaxError(f"'{_shorten(text)}' is no date", literal.start, literal.end, hint)
    try:
        return Literal(date.fromisoformat(text), "date", start=start, end=end)
    except ValueError:
        raise ExpressionSyntaxError(f"the date {text} does not exist", literal.start, literal.end, hint) from None


def _explain(text: str, error: UnexpectedInput) -> ExpressionSyntaxError:
    if isinstance(error, UnexpectedCharacters):
        return _explain_character(text, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)
    expected = {str(name) for name in error.expected}
    token = error.token
    if token.type == "$END":
        return _explain_end(text, expected)
    start, end = _start(token), _end(token)
    found = _shorten(str(token))
    before = text[:start].rstrip()
    if str(token) in (",", ")") and _NOT_CALL.search(text[: _find_open_bracket(text[:start]) + 1]):
        count = "none" if before.endswith("(") else "more" if token.type != "RPAR" else "another"
        return ExpressionSyntaxError(f"NOT takes 1 argument, found {count}", start, end, "write NOT(x)", "arity")
    if expected >= _OPERAND_STARTS:
        after = _last_word(before)
        message = (
            f"expected a value after '{after}', found '{found}'" if after else f"expected a value, found '{found}'"
        )
        if token.type in RESERVED:
            return ExpressionSyntaxError(message, start, end, f"{found.upper()} is a reserved word")
        return ExpressionSyntaxError(message, start, end)
    if token.type == "RPAR":
        return ExpressionSyntaxError("closing bracket without an opening one", start, end)
    return ExpressionSyntaxError(f"unexpected '{found}'", start, end, _hint_unexpected(text, token, expected))


def _hint_unexpected(text: str, token: Token, expected: set[str]) -> str | None:
    start = _start(token)
    if str(token) == "=" and text[start - 1 : start] == "=":
        return "equality is written with one ="
    if token.type == "NULL" and "IS" not in expected:
        return None
    if token.type in ("NAME", "NUMBER", "STRING", "LPAR", "SELECTOR", "TRUE", "FALSE", "NULL"):
        return "an operator or a comma is missing before it"
    return None


def _explain_end(text: str, expected: set[str]) -> ExpressionSyntaxError:
    end = len(text.rstrip())
    if expected >= _OPERAND_STARTS:
        return ExpressionSyntaxError(f"expected a value after '{_last_word(text[:end])}'", end, end)
    if "RPAR" in expected:
        opening = _find_open_bracket(text)
        return ExpressionSyntaxError("missing closing bracket", opening, opening + 1, "add the missing ')'")
    names = ", ".join(sorted({_NAMES.get(name, name) for name in expected})[:8])
    return ExpressionSyntaxError(f"the expression ends too early: expected {names}", end, end)


def _explain_character(text: str, at: int) -> ExpressionSyntaxError:
    character = text[at : at + 1]
    if character in ("'", '"'):
        return ExpressionSyntaxError("the text is not closed", at, len(text), f"add the closing {character}")
    if text[at : at + 2] == "{{":
        return ExpressionSyntaxError("the named selector is not closed", at, at + 2, "write {{NAME}}")
    hints = {
        "`": "names are written as they are",
        "&": "use AND", "|": "use OR", "!": "use NOT or !=", "%": "use MOD(x, d)", "[": "use round brackets",
        "“": 'use straight quotes: "text"', "”": 'use straight quotes: "text"', "’": "use straight quotes: 'text'",
        "‘": "use straight quotes: 'text'", ";": "an expression is a single one", "^": "powers are written as products",
    }  # fmt: skip
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return ExpressionSyntaxError(f"unexpected character '{shown}'", at, at + 1, hints.get(character))


def _find_open_bracket(text: str) -> int:
    stack: list[int] = []
    for match in _NESTING.finditer(text):
        if match.lastgroup == "open":
            stack.append(match.start())
        elif match.lastgroup == "close" and stack:
            stack.pop()
    return stack[-1] if stack else max(len(text) - 1, 0)


def _last_word(text: str) -> str:
    match = re.search(r"(\w+|<=|>=|<>|!=|\W)$", text[-100:])
    return match.group(1) if match else ""


def _shorten(text: str) -> str:
    printable = "".join(character if character.isprintable() else "�" for character in text[:41])
    return printable if len(printable) <= 40 else printable[:40] + "…"


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
