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
from airflow_provider_runtime.core.expr.quotient import plan_quotient
from airflow_provider_runtime.core.expr.typed import Typed
from airflow_provider_runtime.core.model.schema import DataType, make_decimal

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, PRIMARY = range(8)
LONGEST_FLAT = 64
FIRST_DAY, LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31 as days since 1970-01-01
Sql = tuple[int, str]


def compile_sql(
    checked: Checked, *, run_timestamp: datetime, target: DataType | None = None, mark: str | None = None
) -> str:
    """Return the SQL of an expression, cast to the target's type by the rules of assignment."""
    compiler = _Compiler(run_timestamp, mark)
    node = checked.node
    if target is not None and target != node.type:
        node = assign(node, target)
    return compiler.write(node, OR)


def compile_equalities(checked: Checked, alias: str, *, run_timestamp: datetime) -> list[tuple[str, str]]:
    """Return the equalities of a condition connected by AND: the side over the row, the side over the alias."""
    compiler = _Compiler(run_timestamp, None)
    found: list[tuple[str, str]] = []
    for condition in _split_conjunction(checked.node):
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
    if target.kind == "integer" and node.type.kind == "decimal" and node.type.scale > 0:
        digits = make_decimal(node.type.precision - node.type.scale + 1, 0)
        node = Typed("cast", digits, node.nullable, (node,), "assign")
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


def _split_conjunction(node: Typed) -> list[Typed]:
    pending, found = [node], []
    while pending:
        current = pending.pop()
        if current.op == "and":
            pending.extend(reversed(current.args))
        else:
            found.append(current)
    return found


def _find_aliases(node: Typed) -> set[str | None]:
    pending, found = [node], set()
    while pending:
        current = pending.pop()
        if current.op == "column":
            assert isinstance(current.value, tuple)
            found.add(current.value[0])
        pending.extend(current.args)
    return found


class _Compiler:
    def __init__(self, run_timestamp: datetime, mark: str | None) -> None:
        self.now = run_timestamp.astimezone(UTC)
        self.mark = "" if mark is None else f"/*@{mark.replace('*', '').replace('/', '|')}*/"
        self.bindings = 0

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
        return PRIMARY, f"{quote_name('@' + (alias or 'w'))}.{quote_name(name)}"

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
        return UNARY, f"-{self.write(node.args[0], PRIMARY)}"

    def write_divide(self, node: Typed) -> Sql:
        """Write a quotient."""
        left, right = node.args
        right = narrow_constant(right)
        values = {
            "a": (self.write(left, OR), left.is_simple),
            "b": (self.write(right, OR), right.is_simple),
        }
        is_safe = right.op == "literal" and right.value not in (0, None)
        return PRIMARY, self.divide(values, left.type, right.type, node.type, is_safe)

    def divide(
        self, values: dict[str, tuple[str, bool]], left: DataType, right: DataType, result: DataType, is_safe: bool
    ) -> str:
        """Return a quotient rounded once to the result's scale, NULL for a divisor of zero."""
        plan = plan_quotient(left, right, result.scale)

        def body(names: dict[str, str]) -> str:
            dividend = names["a"] if plan.left == left else self.cast(names["a"], plan.left)
            divisor = names["b"] if plan.right == right else self.cast(names["b"], plan.right)
            divisor = divisor if is_safe else f"NULLIF({divisor}, 0BD)"
            quotient = f"{_protect(dividend)} / {self.mark}{_protect(divisor)}"
            product_scale = result.scale + 1 + right.scale
            if plan.check_tie and product_scale <= 38:
                quotient = self.correct(quotient, names, result.scale, product_scale)
            return self.cast(quotient, result)

        return self.bind(values, body)

    @staticmethod
    def correct(quotient: str, names: dict[str, str], scale: int, product_scale: int) -> str:
        """Return a quotient in which a tie that rounding made from something below is taken back."""
        unit, half = f"{Decimal(1).scaleb(-scale):f}BD", f"{Decimal(5).scaleb(-scale - 1):f}BD"
        tie = f"CAST(abs({quotient}) AS DECIMAL(38,{scale + 1}))"
        product = f"try_cast(try_multiply({tie}, abs({names['b']})) AS DECIMAL(38,{product_scale}))"
        is_false = f"{product} > try_cast(abs({names['a']}) AS DECIMAL(38,{product_scale}))"
        less = f"{quotient} - CASE WHEN {quotient} > 0BD THEN {half} ELSE -{half} END"
        return f"CASE WHEN abs({quotient}) % {unit} = {half} AND {is_false} THEN {less} ELSE {quotient} END"

    def write_mod(self, node: Typed) -> Sql:
        """Write a remainder."""
        left, right = node.args
        divisor = (self.write(right, OR), right.is_simple)
        dividend = self.write(left, PRODUCT)
        if right.is_simple:
            return PRODUCT, f"{dividend} % {self.mark}NULLIF({divisor[0]}, {self.zero(right.type)})"
        values = {"a": (self.write(left, OR), left.is_simple), "b": divisor}
        zero = self.zero(right.type)
        return PRIMARY, self.bind(values, lambda names: f"{names['a']} % {self.mark}NULLIF({names['b']}, {zero})")

    @staticmethod
    def zero(data_type: DataType) -> str:
        """Return zero of a number's type."""
        return "0L" if data_type.kind == "integer" else "0BD"

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
        return PRIMARY, self.extreme("least", "sort_array({})[0]", node)

    def write_max(self, node: Typed) -> Sql:
        """Write MAX: NULL when one is NULL."""
        return PRIMARY, self.extreme("greatest", "element_at(array_sort({}), -1)", node)

    def extreme(self, function: str, by_sorting: str, node: Typed) -> str:
        """Return the function, guarded against NULL, without writing a long operand twice."""
        arguments = _flatten(node)
        values = self.arguments(arguments)
        nullable = [argument for argument in arguments if argument.nullable]
        if not nullable:
            return f"{function}({values})"
        if all(argument.is_simple for argument in nullable):
            tests = " OR ".join([f"{self.write(argument, SUM)} IS NULL" for argument in nullable])
            return f"IF({tests}, NULL, {function}({values}))"
        return by_sorting.format(f"array({values})")

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
        start, days = self.write(node.args[0], OR), self.write(node.args[1], PRODUCT)
        sql = f"CAST(unix_date({start}) AS BIGINT) + {self.mark}{days}"

        def body(names: dict[str, str]) -> str:
            n = names["n"]
            failure = f"CAST({self.mark}concat('day ', CAST({n} AS STRING), ' since 1970 is out of range') AS DATE)"
            inside = f"date_from_unix_date(CAST({n} AS INT))"
            in_range = f"{n} BETWEEN {FIRST_DAY}L AND {LAST_DAY}L"
            return f"CASE WHEN {in_range} THEN {inside} WHEN {n} IS NOT NULL THEN {failure} END"

        return PRIMARY, self.bind({"n": (sql, False)}, body)

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
        """Write SUM."""
        sql = f"sum({self.mark}{self.arguments(node.args)})"
        return PRIMARY, self.cast(sql, node.type) if node.type.kind == "decimal" else sql

    def write_avg(self, node: Typed) -> Sql:
        """Write AVG as a quotient, so that it is rounded once."""
        sql, source = self.arguments(node.args), node.args[0].type
        total = make_decimal(38, source.scale)
        values = {
            "a": (self.cast(f"sum({self.mark}{sql})", total), False),
            "b": (f"CAST(count({sql}) AS DECIMAL(20,0))", False),
        }
        return PRIMARY, self.divide(values, total, make_decimal(20, 0), node.type, is_safe=False)

    def write_count_all(self, _node: Typed) -> Sql:
        """Write COUNT(*)."""
        return PRIMARY, "count(1)"


_PLAIN = {
    "abs": "abs", "concat": "concat", "coalesce": "coalesce", "upper": "upper", "lower": "lower", "trim": "trim",
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


def _flatten(node: Typed) -> list[Typed]:
    """Return the arguments of MIN or MAX, those of the same function inside it put in their place."""
    pending, found = list(reversed(node.args)), []
    while pending:
        current = pending.pop()
        if current.op == node.op and current.type == node.type:
            pending.extend(reversed(current.args))
        else:
            found.append(current)
    return found


def _protect(sql: str) -> str:
    return f"({sql})" if sql.startswith("-") else sql
