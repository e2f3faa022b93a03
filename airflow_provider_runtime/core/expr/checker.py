"""Names, types and places of aggregates: from a text and a scope to a checked tree."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from airflow_provider_runtime.core.expr import nodes
from airflow_provider_runtime.core.expr.conversions import Conversions, find_decimal_comma, literal_type
from airflow_provider_runtime.core.expr.datatypes import (
    add_type,
    multiply_type,
    quotient_type,
    to_decimal,
)
from airflow_provider_runtime.core.expr.functions import AGGREGATES, FUNCTIONS, WORDS_ELSEWHERE, Function
from airflow_provider_runtime.core.expr.functions.entry import MANY
from airflow_provider_runtime.core.expr.like import read_pattern
from airflow_provider_runtime.core.expr.parser import parse
from airflow_provider_runtime.core.expr.problems import ExpressionProblem, ExpressionSyntaxError
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.scope import Relation, Scope
from airflow_provider_runtime.core.expr.typed import GroupWindow, Typed, put_window
from airflow_provider_runtime.core.model.schema import (
    BOOLEAN,
    DATE,
    INTEGER,
    MAX_PRECISION,
    NULL,
    STRING,
    DataType,
)
from airflow_provider_runtime.core.suggest import suggest

__all__ = ["CheckResult", "Checked", "ExpressionProblem", "check_expression", "check_tree"]

_MEANT = {
    "ISNULL": "COALESCE(x, y) is y where x is NULL; ISNULL(x) asks whether it is",
    "DATE": 'a constant date is written DATE("2026-01-31")',
    "DATEDIFF": "write DATEDIFF(end, start) for days, MONTHS_BETWEEN(end, start) for months",
}
"""By function: what is meant by more arguments than it takes."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression that is right in its scope."""

    node: Typed
    type: DataType
    nullable: bool
    columns: frozenset[tuple[str | None, str]]
    """(alias, column); the alias is None for the working dataset."""
    aliases: frozenset[str]
    is_aggregate: bool
    selectors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The checked expression, or all that is wrong with it."""

    expression: Checked | None
    problems: tuple[ExpressionProblem, ...] = ()


@recurses_deeply
def check_tree(tree: nodes.Node, scope: Scope, *, aggregate: bool = False, expect_boolean: bool = False) -> CheckResult:
    """Check a tree that was built, not parsed: its names may be words that a text cannot hold."""
    return Checker(scope, aggregate).check(tree, expect_boolean)


@recurses_deeply
def check_expression(text: str, scope: Scope, *, aggregate: bool = False, expect_boolean: bool = False) -> CheckResult:
    """Check a text against a scope and report everything that is wrong."""
    try:
        tree = parse(text)
    except ExpressionSyntaxError as error:
        return CheckResult(None, (error.problem,))
    return check_tree(tree, scope, aggregate=aggregate, expect_boolean=expect_boolean)


class Checker(Conversions):
    """Types a tree from its leaves up, and notes everything that is wrong."""

    def __init__(self, scope: Scope, aggregate: bool) -> None:
        super().__init__()
        self.scope = scope
        self.aggregate = aggregate
        self.columns: set[tuple[str | None, str]] = set()
        self.selectors: dict[str, Typed] = {}
        self.inside: str | None = None  # the aggregate function whose arguments are looked at
        self.found_aggregate = False
        self.window = GroupWindow()
        """The window of the group function that is typed."""

    def check(self, tree: nodes.Node, expect_boolean: bool) -> CheckResult:
        """Return the result for a whole tree."""
        typed = self.visit(tree)
        if expect_boolean and not self.failed(typed) and typed.type.kind not in ("boolean", "null"):
            self.report("type", f"a condition is needed, this is {typed.type}", tree, "compare it with a value")
        if self.aggregate and not self.found_aggregate and not self.problems:
            hint = f"use one of {', '.join(sorted(AGGREGATES))}"
            self.report("aggregate", "no aggregate function in the expression", tree, hint)
        if self.problems:
            return CheckResult(None, tuple(dict.fromkeys(self.problems)))
        if expect_boolean and typed.type.kind == "null":
            typed = self.cast(typed, BOOLEAN)
        aliases = frozenset(alias for alias, _ in self.columns if alias is not None)
        columns, selectors = frozenset(self.columns), frozenset(self.selectors)
        checked = Checked(typed, typed.type, typed.nullable, columns, aliases, self.found_aggregate, selectors)
        return CheckResult(checked)

    def visit(self, node: nodes.Node) -> Typed:
        """Return the typed node; report what is wrong below it."""
        typed: Typed = getattr(self, "visit_" + type(node).__name__.lower())(node)
        typed.start, typed.end = node.start, node.end
        return typed

    def visit_literal(self, node: nodes.Literal) -> Typed:
        """Type a constant."""
        value, kind = node.value, node.kind
        if kind == "integer" and value == 2**63:
            value, kind = Decimal(2**63), "decimal"
        if kind != "decimal":
            data_type = {"integer": INTEGER, "string": STRING, "boolean": BOOLEAN, "date": DATE, "null": NULL}[kind]
            return Typed("literal", data_type, kind == "null", (), value)
        assert isinstance(value, Decimal)
        data_type = literal_type(value)
        if data_type.precision > MAX_PRECISION:
            return self.report("type", f"the number has more than {MAX_PRECISION} digits", node)
        return Typed("literal", data_type, False, (), value)

    def visit_columnref(self, node: nodes.ColumnRef) -> Typed:
        """Look a column up."""
        alias, relation = self._find_relation(node)
        if relation is None:
            return self.fail()
        column = relation.columns.get(node.name)
        if column is None:
            return self._report_unknown_column(node, relation)
        if self.aggregate and self.inside is None:
            message = f"column '{node.name}' is used outside an aggregate function"
            return self.report("aggregate", message, node, "put it inside one, such as MAX_AGG", column=node.name)
        self.columns.add((alias, node.name))
        return Typed("column", column.type, column.nullable, (), (alias, node.name))

    def _find_relation(self, node: nodes.ColumnRef) -> tuple[str | None, Relation | None]:
        if node.table is None or node.table == self.scope.working.name:
            return None, self.scope.working
        relation = self.scope.aliases.get(node.table)
        if relation is None:
            known = [self.scope.working.name, *self.scope.aliases]
            self.report(
                "unknown_table",
                f"unknown table '{node.table}'",
                node,
                suggest(node.table, known),
                node.table,
                node.name,
            )
        return node.table, relation

    def _report_unknown_column(self, node: nodes.ColumnRef, relation: Relation) -> Typed:
        shown = node.name if node.table is None else f"{node.table}.{node.name}"
        hint = suggest(node.name, relation.columns)
        if node.table is None and node.name.upper() in FUNCTIONS:
            hint = f"a function is written with brackets: {FUNCTIONS[node.name.upper()].signature}"
        elif node.table is None:
            owners = [alias for alias, other in self.scope.aliases.items() if node.name in other.columns]
            hint = f"did you mean '{owners[0]}.{node.name}'?" if owners else hint
        table = None if node.table == self.scope.working.name else node.table
        return self.report("unknown_column", f"unknown column '{shown}'", node, hint, table, node.name)

    def visit_selectorref(self, node: nodes.SelectorRef) -> Typed:
        """Put a named selector in."""
        if self.selector is not None:
            return self.report("syntax", "named selectors may not refer to each other", node)
        text = self.scope.selectors.get(node.name)
        if text is None:
            hint = suggest(node.name, self.scope.selectors)
            return self.report("selector", f"Selector '{node.name}' not defined in Project", node, hint)
        if node.name not in self.selectors:
            self.selector = node.name
            self.selectors[node.name] = self._visit_selector_text(text)
            self.selector = None
        typed = self.selectors[node.name]
        return Typed(typed.op, typed.type, typed.nullable, typed.args, typed.value)

    def _visit_selector_text(self, text: str) -> Typed:
        try:
            tree = parse(text)
        except ExpressionSyntaxError as error:
            at = nodes.Node(start=error.problem.start, end=error.problem.end)
            return self.report("syntax", error.problem.message, at, error.problem.hint)
        typed = self.visit(tree)
        if not self.failed(typed) and typed.type.kind not in ("boolean", "null"):
            return self.report("type", f"a condition is needed, this is {typed.type}", tree)
        return self.cast(typed, BOOLEAN) if typed.type.kind == "null" else typed

    def visit_chain(self, node: nodes.Chain) -> Typed:
        """Type a chain of one operator, or of + and -, or of * and /."""
        operands = [self.visit(operand) for operand in node.operands]
        if node.operators[0] in ("AND", "OR"):
            conditions = [self.need(operand, "boolean", node.operators[0]) for operand in operands]
            if self.failed(*conditions):
                return self.fail()
            nullable = any(condition.nullable for condition in conditions)
            return Typed(node.operators[0].lower(), BOOLEAN, nullable, tuple(conditions))
        numbers = [
            self.need(operand, "number", operator)
            for operand, operator in zip(operands, [node.operators[0], *node.operators], strict=True)
        ]
        if self.failed(*numbers):
            return self.fail()
        result = numbers[0]
        for operator, operand in zip(node.operators, numbers[1:], strict=True):
            result = self.combine(operator, result, operand, node)
            if self.failed(result):
                break
        return result

    def combine(self, operator: str, left: Typed, right: Typed, node: nodes.Node) -> Typed:
        """Type one arithmetic step; + - and * grow the chain to their left."""
        left, right = self._fill_null(left, right)
        if operator == "/":
            return self.divide(left, right, node)
        if left.type.kind != right.type.kind:
            left, right = self.cast(left, to_decimal(left.type)), self.cast(right, to_decimal(right.type))
        if operator == "*":
            data_type = multiply_type(left.type, right.type)
            if data_type is None:
                scale = left.type.scale + right.type.scale
                return self._report_scale(f"the product has {scale} decimal places", node)
            op = "multiply"
        else:
            data_type, op = add_type(left.type, right.type), "add"
        nullable = left.nullable or right.nullable
        # A chain in brackets is a node of its own: only the chain under construction has no span yet.
        if left.op == op and left.end == 0:
            assert isinstance(left.value, list)
            left.value.append(operator)
            assert isinstance(left.args, list)
            left.args.append(right)
            left.type, left.nullable = data_type, nullable
            return left
        return Typed(op, data_type, nullable, [left, right], [operator])

    def divide(self, left: Typed, right: Typed, node: nodes.Node) -> Typed:
        """Type a quotient."""
        data_type = quotient_type(left.type, right.type)
        if data_type is None:
            return self._report_scale(f"the quotient has {left.type.scale + 4} decimal places", node)
        left, right = self.cast(left, to_decimal(left.type)), self.cast(right, to_decimal(right.type))
        return Typed("divide", data_type, True, (left, right), None, 0, node.end)

    def _report_scale(self, what: str, node: nodes.Node) -> Typed:
        return self.report("type", f"{what}, at most 38 are possible", node, "ROUND an operand to fewer decimal places")

    def _fill_null(self, left: Typed, right: Typed) -> tuple[Typed, Typed]:
        common = right.type if left.type.kind == "null" else left.type
        common = INTEGER if common.kind == "null" else common
        return (
            self.cast(left, common) if left.type.kind == "null" else left,
            self.cast(right, common) if right.type.kind == "null" else right,
        )

    def visit_not(self, node: nodes.Not) -> Typed:
        """Type a negation."""
        operand = self.need(self.visit(node.operand), "boolean", "NOT")
        return operand if self.failed(operand) else Typed("not", BOOLEAN, operand.nullable, (operand,))

    def visit_negate(self, node: nodes.Negate) -> Typed:
        """Type unary minus; a negative constant is a constant."""
        inner = node.operand
        if isinstance(inner, nodes.Literal) and inner.kind == "integer" and isinstance(inner.value, int):
            return Typed("literal", INTEGER, False, (), -inner.value)
        operand = self.need(self.visit(inner), "number", "-")
        if self.failed(operand):
            return operand
        if operand.type.kind == "null":
            return self.cast(operand, INTEGER)
        if operand.op == "literal" and isinstance(operand.value, Decimal):
            return Typed("literal", operand.type, False, (), -operand.value)
        return Typed("negate", operand.type, operand.nullable, (operand,))

    def visit_compare(self, node: nodes.Compare) -> Typed:
        """Type a comparison."""
        return self._compare("compare", [self.visit(node.left), self.visit(node.right)], node, node.operator)

    def visit_isnull(self, node: nodes.IsNull) -> Typed:
        """Type IS NULL."""
        operand = self.visit(node.operand)
        return operand if self.failed(operand) else Typed("is_null", BOOLEAN, False, (operand,), node.negated)

    def visit_inlist(self, node: nodes.InList) -> Typed:
        """Type IN."""
        return self._compare("in", [self.visit(child) for child in (node.operand, *node.items)], node, node.negated)

    def visit_between(self, node: nodes.Between) -> Typed:
        """Type BETWEEN."""
        values = [self.visit(child) for child in (node.operand, node.low, node.high)]
        return self._compare("between", values, node, node.negated)

    def visit_like(self, node: nodes.Like) -> Typed:
        """Type LIKE."""
        operand = self.need(self.visit(node.operand), "string", "LIKE")
        if self.failed(operand):
            return operand
        pattern = read_pattern(node.pattern, node.escape)
        matched = Typed("like", BOOLEAN, operand.nullable, (operand,), pattern)
        return Typed("not", BOOLEAN, operand.nullable, (matched,)) if node.negated else matched

    def visit_case(self, node: nodes.Case) -> Typed:
        """Type CASE: what is compared meets in one type, and so do the results."""
        whens = [self.visit(when) for when, _ in node.branches]
        results = [self.visit(then) for _, then in node.branches]
        results.append(Typed("literal", NULL, True) if node.otherwise is None else self.visit(node.otherwise))
        if node.operand is None:
            whens = [self.need(when, "boolean", "WHEN") for when in whens]
            compared: list[Typed] | None = whens
        else:
            compared = self.meet([self.visit(node.operand), *whens], node)
        if compared is None or self.failed(*whens, *results):
            return self.fail()
        if all(result.type == NULL for result in results):
            return Typed("literal", NULL, True)
        met = self.meet(results, node)
        if met is None:
            return self.fail()
        nullable = any(result.nullable for result in met)
        return Typed("case", met[0].type, nullable, (*compared, *met), node.operand is not None)

    def _compare(self, op: str, values: list[Typed], node: nodes.Node, value: object) -> Typed:
        met = self.meet(values, node)
        if met is None:
            return self.fail()
        return Typed(op, BOOLEAN, any(item.nullable for item in met), tuple(met), value)

    def visit_call(self, node: nodes.Call) -> Typed:
        """Type a function call."""
        function = FUNCTIONS.get(node.name)
        if function is None:
            for argument in node.arguments:
                self.visit(argument)
            hint = WORDS_ELSEWHERE.get(node.name) or suggest(node.name, FUNCTIONS)
            return self.report("unknown_function", f"unknown function '{node.name}'", node, hint)
        outer, outer_failed = self.inside, len(self.problems)
        if function.is_aggregate:
            self._enter_aggregate(function, node)
        if function.group_form:
            self._enter_group(function, node)
        arguments = [self.visit(argument) for argument in node.arguments]
        self.window = self._visit_window(function, node)
        self.inside = outer
        if self.aggregate or not function.is_aggregate:
            self._check_arity(function, node)
        if len(self.problems) > outer_failed or self.failed(*arguments):
            return self.fail()
        needed = [self.need(argument, function.get_kind(index), node.name) for index, argument in enumerate(arguments)]
        return self.fail() if self.failed(*needed) else self._type_call(function, node, needed)

    def _enter_group(self, function: Function, node: nodes.Call) -> None:
        if self.aggregate:
            message = f"{function.name} is not an aggregate function"
            self.report("unknown_function", message, node, "the sum over rows is SUM(x)")
        elif not self.scope.allows_groups:
            message = f"the group function {function.name} is possible in assignments of update only"
            self.report("aggregate", message, node, "put its value into a column with an earlier update")
        elif self.inside is not None:
            message = f"{function.name} is used inside {self.inside}: group functions do not nest"
            self.report("nested", message, node, "put the inner one into a column with an earlier update")
        self.inside = function.name

    def _visit_window(self, function: Function, node: nodes.Call) -> GroupWindow:
        """Return a group function's keys and order; report what it does not take."""
        keys = tuple(self.visit(key) for key in node.keys)
        order = None if node.order is None else self.visit(node.order)
        form = function.group_form
        if not form and (keys or order or node.descending) and not (function.is_aggregate and not self.aggregate):
            self.report("syntax", f"{function.name} is not a group function", node, f"write {function.signature}")
        elif (order is None) == (form == "ORDER BY") or (node.descending and form == "BY"):
            message = f"{function.name} needs ORDER" if form == "ORDER BY" else f"{function.name} takes no order"
            self.report("arity", message, node, f"write {function.signature}")
        if function.breaks_ties:
            self.columns.add((None, "_row_id"))
        if self.failed(*keys, *([order] if order else [])):
            return GroupWindow()
        return GroupWindow(keys, order, node.descending)

    def _type_call(self, function: Function, node: nodes.Call, arguments: list[Typed]) -> Typed:
        if not isinstance(function.type, DataType):
            typed = function.type(self, node, arguments)
            return put_window(typed, self.window) if function.sql and function.group_form else typed
        nullable = function.null == "also" or any(argument.nullable for argument in arguments)
        return Typed(function.name, function.type, nullable, tuple(arguments))

    def _enter_aggregate(self, function: Function, node: nodes.Call) -> None:
        self.found_aggregate = True
        if not self.aggregate:
            message = f"the aggregate function {function.name} is not possible here"
            hint = "a total over rows is made by an aggregate operation"
            if node.keys or node.order:
                hint = f"write {FUNCTIONS['TOTAL'].signature}, or another group function"
            if f"{function.name.removesuffix('_AGG')}" in ("MIN", "MAX"):
                hint = f"{function.name.removesuffix('_AGG')} compares values of one row"
            self.report("aggregate", message, node, hint)
        elif self.inside is not None:
            self.report("nested", f"{function.name} is used inside {self.inside}: aggregates do not nest", node)
        self.inside = function.name

    def _check_arity(self, function: Function, node: nodes.Call) -> None:
        count = len(node.arguments)
        if node.star:
            if node.name != "COUNT":
                self.report("arity", f"{node.name}(*) is not possible, only COUNT(*)", node)
            return
        least, most = function.fewest_arguments, function.most_arguments
        if least <= count <= most:
            return
        wanted = f"{least} or more" if most == MANY else f"{least} to {most} arguments"
        if least == most:
            wanted = f"{least} argument{'' if least == 1 else 's'}"
        hint = find_decimal_comma(node.arguments) or f"write {function.signature}"
        if function.name in ("MIN", "MAX") and self.aggregate:
            hint = f"the aggregate function is {function.name}_AGG(x)"
        if count > most:
            hint = _MEANT.get(function.name, hint)
        self.report("arity", f"{function.name} takes {wanted}, found {count}", node, hint)
