"""Checked tree to Spark SQL text.

The text needs a session with ANSI mode on, time zone UTC, case-sensitive names and
`spark.sql.decimalOperations.allowPrecisionLoss=false`. Nothing of the user's text is copied: names are quoted, texts
are escaped. A mark is a comment inside everything that can fail at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from airflow_provider_runtime.core.expr.alternatives import find_alternatives, find_equalities
from airflow_provider_runtime.core.expr.checker import Checked
from airflow_provider_runtime.core.expr.conversions import literal_type
from airflow_provider_runtime.core.expr.functions import FUNCTIONS, Function
from airflow_provider_runtime.core.expr.operators import get_null_rule
from airflow_provider_runtime.core.expr.quotient import divide_sql, has_one_step, negate
from airflow_provider_runtime.core.expr.recursion import recurses_deeply
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.sql_text import (
    AND,
    COMPARE,
    NOT,
    OR,
    PRIMARY,
    PRODUCT,
    SUM,
    UNARY,
    Sql,
    join_balanced,
    spell_constant,
)
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import INTEGER_DIGITS, DataType, make_decimal
from spark_jobs.contract.operations import GroupColumn
from spark_jobs.contract.sql import name_alias, quote_name, quote_text, write_column, write_mark

Defaults = Mapping[tuple[str | None, str], Typed]
"""By alias and column: the constant that a column of an alias without a match is."""
LONGEST_FLAT = 64
OPERATOR_WORDS = frozenset({
    "abs", "array", "cast", "concat", "decimal", "if", "named_struct", "nullif", "replace", "transform", "try_divide",
    "and", "between", "case", "div", "else", "in", "is", "like", "not", "null", "or", "then", "when",
})  # fmt: skip
"""Words before an opening bracket in what operators are written as; those of functions are in their table."""


@recurses_deeply
def compile_sql(
    checked: Checked,
    *,
    run: RunConstants,
    target: DataType | None = None,
    mark: str | None = None,
    defaults: Defaults | None = None,
    is_total: bool = False,
) -> str:
    """Return the SQL of an expression, cast to the target's type by the rules of assignment.

    `defaults` are the constants that columns of an alias are where the alias has no match. `is_total` says that an
    aggregate has one value, of all rows, and no groups.
    """
    writer = SqlWriter(run, mark, defaults)
    writer.is_total = is_total
    node = checked.node
    if target is not None and target != node.type:
        node = assign(node, target)
    return writer.write(node, OR)


@recurses_deeply
def compile_assignment(
    checked: Checked, *, run: RunConstants, target: DataType, mark: str, prefix: str, defaults: Defaults | None = None
) -> tuple[str, list[list[GroupColumn]]]:
    """Return the SQL of an assigned value, and the columns over groups that it reads, whose names have a prefix."""
    writer = SqlWriter(run, mark, defaults)
    writer.prefix = prefix
    node = checked.node if target == checked.type else assign(checked.node, target)
    return writer.write(node, OR), writer.steps


@recurses_deeply
def compile_equalities(
    checked: Checked, alias: str, *, run: RunConstants, defaults: Defaults | None = None
) -> list[tuple[str, str]]:
    """Return the equalities of a condition connected by AND: the side over the row, the side over the alias."""
    writer = SqlWriter(run, None, defaults)
    return [(writer.write(row, OR), writer.write(own, OR)) for row, own in find_equalities(checked.node, alias)]


@recurses_deeply
def compile_alternatives(
    checked: Checked, alias: str, *, run: RunConstants, mark: str, defaults: Defaults | None = None
) -> list[str]:
    """Return conditions with an equality each, one of which is TRUE where a condition without one is."""
    writer = SqlWriter(run, mark, defaults)
    return [writer.write(node, OR) for node in find_alternatives(checked, alias)]


def list_spark_words() -> list[str]:
    """Return the words that may come before an opening bracket in what expressions compile to."""
    return sorted(OPERATOR_WORDS.union(*(function.spark_functions for function in FUNCTIONS.values())))


def assign(node: Typed, target: DataType) -> Typed:
    """Return the node cast to a column's type, rounded half up."""
    digits = node.type.precision - node.type.scale + 1
    if target.kind == "integer" and node.type.kind == "decimal" and (node.type.scale > 0 or digits > INTEGER_DIGITS):
        # Spark names the place of an overflow for a decimal, and not for a bigint.
        whole = make_decimal(min(digits, INTEGER_DIGITS), 0)
        node = Typed("cast", whole, node.nullable, (node,), "assign")
    return Typed("cast", target, node.nullable, (node,), "assign")


def _narrow_constant(node: Typed) -> Typed:
    """Return an integer constant that counts as a wide decimal with the digits it has."""
    inner = node.args[0] if node.op == "cast" else node
    if inner.op != "literal" or not isinstance(inner.value, int):
        return node
    value = Decimal(inner.value)
    return Typed("literal", literal_type(value), False, (), value)


class SqlWriter:
    """Writes nodes: operators by methods of their name, functions by their entry in the table."""

    def __init__(self, run: RunConstants, mark: str | None, defaults: Defaults | None = None) -> None:
        self.defaults = defaults or {}
        self.run = run
        self.mark = "" if mark is None else write_mark(mark)
        self.bindings = 0
        self.prefix = ""
        self.is_total = False
        self.steps: list[list[GroupColumn]] = []
        """Columns over groups that the text reads, step by step."""
        self.not_null: frozenset[object] = frozenset()
        """Columns that the text around has tested for NULL."""

    def write(self, node: Typed, least: int) -> str:
        """Return the SQL of a node, in brackets where it binds more loosely than is needed."""
        function = FUNCTIONS.get(node.op)
        level, sql = getattr(self, "write_" + node.op)(node) if function is None else self.call(function, node)
        return sql if level >= least else f"({sql})"

    def call(self, function: Function, node: Typed) -> Sql:
        """Return a function's call."""
        if function.is_of_run:
            assert function.value is not None
            return spell_constant(function.value(self.run))
        if not isinstance(function.sql, str):
            assert function.sql is not None
            return function.sql(self, node)
        values = [self.write(argument, OR) for argument in node.args]
        template = function.sql.replace("(", f"({self.mark}", 1) if function.can_fail else function.sql
        return PRIMARY, template.format(*values, all=", ".join(values))

    def precompute(self, step: int, data_type: DataType, sql: str) -> Sql:
        """Add a column to a step before the assignment, after the earlier steps; return a reference to it."""
        self.steps += [[] for _ in range(step + 1 - len(self.steps))]
        name = f"@{self.prefix}_{sum(map(len, self.steps))}"
        self.steps[step].append(GroupColumn(name, data_type.ddl, sql))
        return PRIMARY, write_column(None, name)

    def arguments(self, nodes: Sequence[Typed]) -> str:
        """Return SQL separated by commas."""
        return ", ".join([self.write(node, OR) for node in nodes])

    def bind(self, values: dict[str, tuple[str, bool]], body: Callable[[dict[str, str]], str]) -> str:
        """Return SQL in which each value occurs once: simple ones as they are, others bound to a name."""
        if all(is_simple for _, is_simple in values.values()):
            return body({name: sql for name, (sql, _) in values.items()})
        self.bindings += 1
        variable = f"v{self.bindings}"
        fields = ", ".join(f"'{name}', {sql}" for name, (sql, _) in values.items())
        inner = body({name: f"{variable}.{name}" for name in values})
        return f"transform(array(named_struct({fields})), {variable} -> {inner})[0]"

    def find_null_columns(self, node: Typed) -> dict[object, Typed] | None:
        """Return the columns that make a value NULL when they are, or None when anything else can."""
        found: dict[object, Typed] = {}
        pending = [node]
        while pending:
            current = pending.pop()
            if not current.nullable:
                continue
            if current.op == "column":
                found[current.value] = current
            elif get_null_rule(current.op) == "strict":
                pending.extend(current.args)
            else:
                return None
        return found

    def write_literal(self, node: Typed) -> Sql:
        """Write a constant."""
        return spell_constant(node.value)

    def write_column(self, node: Typed) -> Sql:
        """Write a reference."""
        assert isinstance(node.value, tuple)
        alias, name = node.value
        # No alias can hold an '@', so no alias can be the name of the working rows or of anything else of the job.
        sql = write_column(alias, name)
        default = self.defaults.get((alias, name))
        if alias is None or default is None:
            return PRIMARY, sql
        _, constant = spell_constant(default.value)
        value = f"CAST({constant} AS {default.type.ddl.upper()})"
        return PRIMARY, f"IF({quote_name(name_alias(alias))} IS NULL, {value}, {sql})"

    def write_cast(self, node: Typed) -> Sql:
        """Write a conversion."""
        sql = self.write(node.args[0], OR)
        if node.value == "assign":
            return PRIMARY, self.cast(sql, node.type)
        return PRIMARY, f"CAST({sql} AS {node.type.ddl.upper()})"

    def cast(self, sql: str, target: DataType) -> str:
        """Return a cast with the mark inside."""
        return f"CAST({self.mark}{sql} AS {target.ddl.upper()})"

    def fail(self, reason: str, data_type: DataType) -> str:
        """Return SQL of this type that fails a row for a reason."""
        return self.cast(quote_text(f"?!{reason}"), data_type)

    def write_and(self, node: Typed) -> Sql:
        """Write AND."""
        return AND, join_balanced([self.write(argument, NOT) for argument in node.args], "AND")

    def write_or(self, node: Typed) -> Sql:
        """Write OR."""
        return OR, join_balanced([self.write(argument, AND) for argument in node.args], "OR")

    def write_add(self, node: Typed) -> Sql:
        """Write a chain of + and -."""
        assert isinstance(node.value, list)
        operands = [self.write(node.args[0], SUM), *(self.write(argument, PRODUCT) for argument in node.args[1:])]
        if len(operands) <= LONGEST_FLAT:
            return SUM, self.add_flat(operands, node.value)
        return PRIMARY, self.cast(self.add_balanced(operands, node.value), node.type)

    def add_flat(self, operands: list[str], operators: list[str]) -> str:
        """Return a chain as it is."""
        pairs = zip(operators, operands[1:], strict=True)
        return operands[0] + "".join(f" {operator} {self.mark}{operand}" for operator, operand in pairs)

    def add_balanced(self, operands: list[str], operators: list[str]) -> str:
        """Return a long chain as a tree; after a minus, plus and minus change places."""
        if len(operands) <= LONGEST_FLAT:
            return self.add_flat(operands, operators)
        middle = len(operands) // 2
        operator, rest = operators[middle - 1], operators[middle:]
        if operator == "-":
            rest = ["+" if sign == "-" else "-" for sign in rest]
        left = self.add_balanced(operands[:middle], operators[: middle - 1])
        return f"({left}) {operator} {self.mark}({self.add_balanced(operands[middle:], rest)})"

    def write_multiply(self, node: Typed) -> Sql:
        """Write a chain of *."""
        operands = [self.write(node.args[0], PRODUCT), *(self.write(argument, UNARY) for argument in node.args[1:])]
        if len(operands) <= LONGEST_FLAT:
            return PRODUCT, f" * {self.mark}".join(operands)
        return PRIMARY, self.cast(join_balanced(operands, f"* {self.mark}".rstrip()), node.type)

    def write_negate(self, node: Typed) -> Sql:
        """Write unary minus."""
        if node.type.kind == "integer":
            # Spark gives no place for an overflow of its unary minus.
            return SUM, f"0L - {self.mark}{self.write(node.args[0], PRODUCT)}"
        return UNARY, negate(self.write(node.args[0], UNARY), node.type)

    def write_divide(self, node: Typed) -> Sql:
        """Write a quotient."""
        left, right = node.args
        right = _narrow_constant(right)
        is_safe = right.op == "literal" and right.value not in (0, None)
        return PRIMARY, self.divide(left, right, node.type, is_safe=is_safe)

    def divide(self, left: Typed, right: Typed, result: DataType, *, is_safe: bool) -> str:
        """Return a quotient rounded once to the result's scale, NULL for a divisor of zero."""
        values = {
            "a": (self.write(left, UNARY), left.is_simple),
            "b": (self.write(right, UNARY), right.is_simple),
        }

        def body(names: dict[str, str]) -> str:
            return divide_sql(names, left.type, right.type, result, self.mark, is_safe=is_safe)

        if has_one_step(left.type, right.type, result.scale):
            return body({name: sql for name, (sql, _) in values.items()})
        return self.bind(values, body)

    def write_like(self, node: Typed) -> Sql:
        """Write LIKE with a pattern in which a backslash escapes."""
        return PRIMARY, f"like({self.write(node.args[0], OR)}, {quote_text(str(node.value))})"

    def write_case(self, node: Typed) -> Sql:
        """Write CASE; an operand is compared with each value."""
        count = len(node.args) // 2
        # With an operand there are as many compared values as results, without one there is an ELSE more.
        compared, results = node.args[:count], node.args[count:]
        whens = [self.write(value, SUM if node.value else OR) for value in compared]
        if node.value:
            whens = [f"{whens[0]} = {value}" for value in whens[1:]]
        *thens, otherwise = [self.write(result, OR) for result in results]
        branches = [f"WHEN {when} THEN {then}" for when, then in zip(whens, thens, strict=True)]
        return PRIMARY, f"CASE {' '.join(branches)} ELSE {otherwise} END"

    def write_not(self, node: Typed) -> Sql:
        """Write NOT."""
        return NOT, f"NOT {self.write(node.args[0], COMPARE)}"

    def write_compare(self, node: Typed) -> Sql:
        """Write a comparison."""
        operator = "<>" if node.value == "!=" else node.value
        return COMPARE, f"{self.write(node.args[0], SUM)} {operator} {self.write(node.args[1], SUM)}"

    def write_is_null(self, node: Typed) -> Sql:
        """Write IS NULL."""
        return COMPARE, f"{self.write(node.args[0], SUM)} IS {'NOT ' if node.value else ''}NULL"

    def write_in(self, node: Typed) -> Sql:
        """Write IN."""
        word = "NOT IN" if node.value else "IN"
        return COMPARE, f"{self.write(node.args[0], SUM)} {word} ({self.arguments(node.args[1:])})"

    def write_between(self, node: Typed) -> Sql:
        """Write BETWEEN."""
        value, low, high = (self.write(argument, SUM) for argument in node.args)
        return COMPARE, f"{value} {'NOT BETWEEN' if node.value else 'BETWEEN'} {low} AND {high}"
