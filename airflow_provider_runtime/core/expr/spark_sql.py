"""Checked tree to Spark SQL text.

The text needs a session with ANSI mode on, time zone UTC, case-sensitive names and
`spark.sql.decimalOperations.allowPrecisionLoss=false`. Nothing of the user's text is copied: names are quoted, texts
are escaped. A mark stands as a comment inside everything that can fail at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

from airflow_provider_runtime.core.expr.checker import Checked, literal_type
from airflow_provider_runtime.core.expr.extremes import TURNED, find_null_columns, flatten
from airflow_provider_runtime.core.expr.quotient import absolute, divide_sql, has_one_step, negate
from airflow_provider_runtime.core.expr.recursion import walks_deep
from airflow_provider_runtime.core.expr.totals import can_split, split_sum
from airflow_provider_runtime.core.expr.typed import Typed, find_columns, split_conjunction
from airflow_provider_runtime.core.model.schema import INTEGER, DataType, make_decimal

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, PRIMARY = range(8)
LONGEST_FLAT = 64
INTEGER_DIGITS = 19
MIDDLE_DAY = 1106867  # days from 1970-01-01 to the middle between 0001-01-01 and 9999-12-31
DAY_FACTOR = (2**63 - 1) // 1826029  # times a day at either end it fits a bigint, times the next day it does not
Sql = tuple[int, str]


@walks_deep
def compile_sql(
    checked: Checked, *, run_timestamp: datetime, target: DataType | None = None, mark: str | None = None
) -> str:
    """Return the SQL of an expression, cast to the target's type by the rules of assignment."""
    compiler = _Compiler(run_timestamp, mark)
    node = checked.node
    if target is not None and target != node.type:
        node = assign(node, target)
    return compiler.write(node, OR)


@walks_deep
def compile_equalities(checked: Checked, alias: str, *, run_timestamp: datetime) -> list[tuple[str, str]]:
    """Return the equalities of a condition connected by AND: the side over the row, the side over the alias."""
    compiler = _Compiler(run_timestamp, None)
    found: list[tuple[str, str]] = []
    for condition in split_conjunction(checked.node):
        if condition.op != "compare" or condition.value != "=":
            continue
        first, second = condition.args
        if _find_aliases(first) == {alias}:
            first, second = second, first
        if _find_aliases(second) == {alias} and alias not in _find_aliases(first):
            found.append((compiler.write(first, OR), compiler.write(second, OR)))
    return found


def assign(node: Typed, target: DataType) -> Typed:
    """Return the node cast to a column's type, rounded half up."""
    digits = node.type.precision - node.type.scale + 1
    if target.kind == "integer" and node.type.kind == "decimal" and (node.type.scale > 0 or digits > INTEGER_DIGITS):
        # Spark names the place of an overflow for a decimal, and not for a bigint.
        whole = make_decimal(min(digits, INTEGER_DIGITS), 0)
        node = Typed("cast", whole, node.nullable, (node,), "assign")
    return Typed("cast", target, node.nullable, (node,), "assign")


def narrow_constant(node: Typed) -> Typed:
    """Return an integer constant that counts as a wide decimal with the digits it has."""
    inner = node.args[0] if node.op == "cast" else node
    if inner.op != "literal" or not isinstance(inner.value, int):
        return node
    value = Decimal(inner.value)
    return Typed("literal", literal_type(value), False, (), value)


def quote_name(name: str) -> str:
    """Return a name as a quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def quote_text(text: str) -> str:
    """Return a text as a string literal that means the same in Spark's default parser mode."""
    return "'" + "".join(map(_escape, text)) + "'"


def _escape(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    # `$` could begin a variable, which Spark substitutes before it parses.
    if character.isprintable() and character != "$":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _find_aliases(node: Typed) -> set[str | None]:
    return {alias for alias, _ in find_columns(node)}


class _Compiler:
    def __init__(self, run_timestamp: datetime, mark: str | None) -> None:
        self.now = run_timestamp.astimezone(UTC)
        self.mark = "" if mark is None else f"/*@{mark.replace('*', '').replace('/', '|')}*/"
        self.bindings = 0
        self.not_null: frozenset[object] = frozenset()

    def write(self, node: Typed, least: int) -> str:
        """Return the SQL of a node, in brackets where it binds more loosely than is needed."""
        level, sql = getattr(self, "write_" + node.op)(node)
        return sql if level >= least else f"({sql})"

    def arguments(self, nodes: Sequence[Typed]) -> str:
        """Return SQL separated by commas."""
        return ", ".join([self.write(node, OR) for node in nodes])

    def bind(self, values: dict[str, tuple[str, bool]], body: Callable[[dict[str, str]], str]) -> str:
        """Return SQL in which each value stands once: simple ones as they are, others bound to a name."""
        if all(is_simple for _, is_simple in values.values()):
            return body({name: sql for name, (sql, _) in values.items()})
        self.bindings += 1
        variable = f"v{self.bindings}"
        fields = ", ".join(f"'{name}', {sql}" for name, (sql, _) in values.items())
        inner = body({name: f"{variable}.{name}" for name in values})
        return f"transform(array(named_struct({fields})), {variable} -> {inner})[0]"

    def write_literal(self, node: Typed) -> Sql:
        """Write a constant."""
        value = node.value
        if value is None:
            return PRIMARY, "NULL"
        if isinstance(value, bool):
            return PRIMARY, "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return PRIMARY, quote_text(value)
        if isinstance(value, date):
            return PRIMARY, f"DATE'{value.isoformat()}'"
        assert isinstance(value, int | Decimal)
        text = f"{value}L" if isinstance(value, int) else f"{value:f}BD"
        return (UNARY if text.startswith("-") else PRIMARY), text

    def write_column(self, node: Typed) -> Sql:
        """Write a reference."""
        assert isinstance(node.value, tuple)
        alias, name = node.value
        # No alias can hold an '@', so no alias can be the name of the working rows or of anything else of the job.
        return PRIMARY, f"{quote_name(f'@@{alias}' if alias else '@w')}.{quote_name(name)}"

    def write_cast(self, node: Typed) -> Sql:
        """Write a conversion."""
        sql = self.write(node.args[0], OR)
        return PRIMARY, self.cast(
            sql, node.type
        ) if node.value == "assign" else f"CAST({sql} AS {node.type.ddl.upper()})"

    def cast(self, sql: str, target: DataType) -> str:
        """Return a cast with the mark inside."""
        return f"CAST({self.mark}{sql} AS {target.ddl.upper()})"

    def write_and(self, node: Typed) -> Sql:
        """Write AND."""
        return AND, self.join([self.write(argument, NOT) for argument in node.args], "AND")

    def write_or(self, node: Typed) -> Sql:
        """Write OR."""
        return OR, self.join([self.write(argument, AND) for argument in node.args], "OR")

    def join(self, operands: list[str], operator: str) -> str:
        """Return operands joined flat, or as a balanced tree where there are many."""
        if len(operands) <= LONGEST_FLAT:
            return f" {operator} ".join(operands)
        middle = len(operands) // 2
        return f"({self.join(operands[:middle], operator)}) {operator} ({self.join(operands[middle:], operator)})"

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
        """Return a long chain as a tree; behind a minus the signs turn."""
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
        return PRIMARY, self.cast(self.join(operands, f"* {self.mark}".rstrip()), node.type)

    def write_negate(self, node: Typed) -> Sql:
        """Write unary minus."""
        if node.type.kind == "integer":
            # Spark gives no place for an overflow of its unary minus.
            return SUM, f"0L - {self.mark}{self.write(node.args[0], PRODUCT)}"
        return UNARY, negate(self.write(node.args[0], UNARY), node.type)

    def write_abs(self, node: Typed) -> Sql:
        """Write ABS."""
        if node.type.kind == "decimal":
            return PRIMARY, absolute(self.write(node.args[0], OR), node.type)
        return self.call("abs", node)

    def write_divide(self, node: Typed) -> Sql:
        """Write a quotient."""
        left, right = node.args
        right = narrow_constant(right)
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

    def write_mod(self, node: Typed) -> Sql:
        """Write a remainder, which is NULL for a divisor of zero."""
        return PRIMARY, f"try_mod({self.arguments(node.args)})"

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

    def write_if(self, node: Typed) -> Sql:
        """Write IF."""
        return PRIMARY, f"IF({self.arguments(node.args)})"

    def write_round(self, node: Typed) -> Sql:
        """Write ROUND, which is a cast to fewer places."""
        argument = node.args[0]
        sql = self.write(argument, OR)
        return PRIMARY, f"({sql})" if argument.type == node.type else self.cast(sql, node.type)

    def write_floor(self, node: Typed) -> Sql:
        """Write FLOOR."""
        return self.whole("floor", node)

    def write_ceil(self, node: Typed) -> Sql:
        """Write CEIL."""
        return self.whole("ceil", node)

    def whole(self, function: str, node: Typed) -> Sql:
        """Return the whole number; one that is whole stays as it is."""
        sql = self.write(node.args[0], OR)
        return PRIMARY, f"({sql})" if node.args[0].type == node.type else f"{function}({self.mark}{sql})"

    def write_min(self, node: Typed) -> Sql:
        """Write MIN: NULL when one is NULL."""
        return self.extreme("least", node)

    def write_max(self, node: Typed) -> Sql:
        """Write MAX: NULL when one is NULL."""
        return self.extreme("greatest", node)

    def extreme(self, function: str, node: Typed) -> Sql:
        """Return the function, guarded against NULL, without writing a long operand twice."""
        arguments = flatten(node)
        columns = find_null_columns(node)
        if columns is None:
            return self.extreme_of_any(function, node.type, arguments)
        unknown = {name: column for name, column in columns.items() if name not in self.not_null}
        outer, self.not_null = self.not_null, self.not_null | unknown.keys()
        values = self.arguments(arguments)
        self.not_null = outer
        if not unknown:
            return PRIMARY, f"{function}({values})"
        tests = self.join([f"{self.write(column, SUM)} IS NULL" for column in unknown.values()], "OR")
        return PRIMARY, f"IF({tests}, NULL, {function}({values}))"

    def extreme_of_any(self, function: str, data_type: DataType, arguments: list[Typed]) -> Sql:
        """Return the function of operands that can be NULL in any way: a struct of NULL is the least of all."""
        if function == "least":
            values = ", ".join([f"named_struct('v', {self.write(argument, OR)})" for argument in arguments])
            return PRIMARY, f"least({values}).v"
        if data_type.kind == "decimal":
            turned = [negate(self.write(argument, UNARY), data_type) for argument in arguments]
            values = ", ".join([f"named_struct('v', {value})" for value in turned])
            return UNARY, negate(f"least({values}).v", data_type)
        level, needed, turn, turn_back = TURNED[data_type.kind]
        values = ", ".join(
            [f"named_struct('v', {turn.format(self.write(argument, needed))})" for argument in arguments]
        )
        return level, turn_back.format(f"least({values}).v")

    def write_left(self, node: Typed) -> Sql:
        """Write LEFT."""
        return PRIMARY, f"left({self.write(node.args[0], OR)}, {self.length(node.args[1])})"

    def write_right(self, node: Typed) -> Sql:
        """Write RIGHT."""
        return PRIMARY, f"right({self.write(node.args[0], OR)}, {self.length(node.args[1])})"

    def length(self, node: Typed) -> str:
        """Return a number of characters as Spark's int, kept in its range."""
        if node.op == "literal" and isinstance(node.value, int):
            return str(min(max(node.value, 0), 2**31 - 1))
        values = {"n": (self.write(node, OR), node.is_simple)}
        return self.bind(
            values,
            lambda names: (
                f"CASE WHEN {names['n']} > 2147483647L THEN 2147483647 WHEN {names['n']} < 0L THEN 0"
                f" ELSE CAST({names['n']} AS INT) END"
            ),
        )

    def call(self, function: str, node: Typed, *, widen: bool = False) -> Sql:
        """Return a plain call; `widen` makes Spark's int a bigint."""
        sql = f"{function}({self.mark}{self.arguments(node.args)})"
        return PRIMARY, f"CAST({sql} AS BIGINT)" if widen else sql

    def write_dateadd(self, node: Typed) -> Sql:
        """Write DATEADD; a day outside the years 1 to 9999 fails."""
        return PRIMARY, f"date_from_unix_date(CAST({self.days(node)} + {MIDDLE_DAY}L AS INT))"

    def days(self, node: Typed) -> str:
        """Return a date as days from the middle of all dates; the product overflows for days that are none."""
        if node.op != "dateadd":
            return f"unix_date({self.write(node, OR)}) - {MIDDLE_DAY}L"
        start, count = self.days(node.args[0]), self.write(node.args[1], PRODUCT)
        return f"({start} + {self.mark}{count}) * {self.mark}{DAY_FACTOR}L div {DAY_FACTOR}L"

    def write_today(self, _node: Typed) -> Sql:
        """Write the run's day."""
        return PRIMARY, f"DATE'{self.now.date().isoformat()}'"

    def write_now(self, _node: Typed) -> Sql:
        """Write the run's timestamp."""
        return (
            PRIMARY,
            f"TIMESTAMP_LTZ'{self.now.replace(tzinfo=None).isoformat(sep=' ', timespec='microseconds')} UTC'",
        )

    def write_sum(self, node: Typed) -> Sql:
        """Write SUM; integers are added as decimals, so that only the total must fit, in whatever order they come."""
        argument = node.args[0]
        if argument.is_simple and can_split(argument.type):
            return PRIMARY, self.cast(split_sum(self.write(argument, UNARY), argument.type), node.type)
        values = self.write(argument, OR)
        if node.type.kind == "integer":
            values = f"CAST({values} AS DECIMAL(20,0))"
        return PRIMARY, self.cast(f"sum({self.mark}{values})", node.type)

    def write_avg(self, node: Typed) -> Sql:
        """Write AVG as a quotient, so that it is rounded once."""
        argument = node.args[0]
        total = Typed("sum", make_decimal(38, argument.type.scale), True, (argument,))
        count = Typed("cast", make_decimal(20, 0), False, (Typed("count", INTEGER, False, (argument,)),))
        return PRIMARY, self.divide(total, count, node.type, is_safe=False)

    def write_count_all(self, _node: Typed) -> Sql:
        """Write COUNT(*)."""
        return PRIMARY, "count(1)"


_PLAIN = {
    "concat": "concat", "coalesce": "coalesce", "upper": "upper", "lower": "lower", "trim": "trim",
    "contains": "contains", "replace": "replace", "count": "count", "min_agg": "min", "max_agg": "max",
}  # fmt: skip
_WIDENED = {"len": "length", "year": "year", "month": "month", "day": "day", "datediff": "datediff"}


def _add_plain(op: str, function: str, widen: bool) -> None:
    def write(self: _Compiler, node: Typed) -> Sql:
        return self.call(function, node, widen=widen)

    setattr(_Compiler, "write_" + op, write)


for _op, _function in _PLAIN.items():
    _add_plain(_op, _function, False)
for _op, _function in _WIDENED.items():
    _add_plain(_op, _function, True)


def _protect(sql: str) -> str:
    return f"({sql})" if sql.startswith("-") else sql
