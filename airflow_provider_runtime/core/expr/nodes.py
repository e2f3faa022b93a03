"""The tree of an expression. Spans are offsets into the text and do not count when trees are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

LiteralValue = int | Decimal | str | bool | date | None


@dataclass(slots=True, eq=True, unsafe_hash=False)
class Node:
    """A part of an expression."""

    start: int = field(default=0, compare=False, kw_only=True)
    end: int = field(default=0, compare=False, kw_only=True)
    depth: int = field(default=1, compare=False, kw_only=True)


@dataclass(slots=True)
class Literal(Node):
    """A constant; `kind` keeps 1, TRUE and 1.0 apart."""

    value: LiteralValue
    kind: str


@dataclass(slots=True)
class ColumnRef(Node):
    """A column, of the working dataset when `table` is None."""

    table: str | None
    name: str


@dataclass(slots=True)
class SelectorRef(Node):
    """A named selector."""

    name: str


@dataclass(slots=True)
class Chain(Node):
    """Operands joined by `+ -`, `* /`, `AND` or `OR`; operators[i] comes before operands[i + 1]."""

    operands: list[Node]
    operators: list[str]


@dataclass(slots=True)
class Not(Node):
    """Negation of a condition."""

    operand: Node


@dataclass(slots=True)
class Negate(Node):
    """Unary minus."""

    operand: Node


@dataclass(slots=True)
class Compare(Node):
    """A comparison of two values."""

    operator: str
    left: Node
    right: Node


@dataclass(slots=True)
class IsNull(Node):
    """IS NULL or IS NOT NULL."""

    operand: Node
    negated: bool


@dataclass(slots=True)
class InList(Node):
    """IN or NOT IN."""

    operand: Node
    items: list[Node]
    negated: bool


@dataclass(slots=True)
class Between(Node):
    """BETWEEN or NOT BETWEEN."""

    operand: Node
    low: Node
    high: Node
    negated: bool


@dataclass(slots=True)
class Like(Node):
    """LIKE or NOT LIKE."""

    operand: Node
    pattern: str
    escape: str | None
    negated: bool


@dataclass(slots=True)
class Case(Node):
    """CASE: with an operand that is compared, or with conditions."""

    operand: Node | None
    branches: list[tuple[Node, Node]]
    otherwise: Node | None


@dataclass(slots=True)
class Call(Node):
    """A function call; the name is in capitals. `star` is the call with a single asterisk."""

    name: str
    arguments: list[Node]
    star: bool = False
    keys: list[Node] = field(default_factory=list)
    """Of a group function: what follows BY."""
    order: Node | None = None
    descending: bool = False


def make_equalities(pairs: Sequence[tuple[ColumnRef, ColumnRef]]) -> Node:
    """Return the condition that both columns of every pair are equal."""
    equalities: list[Node] = [Compare("=", left, right) for left, right in pairs]
    return equalities[0] if len(equalities) == 1 else Chain(equalities, ["AND"] * (len(equalities) - 1))
