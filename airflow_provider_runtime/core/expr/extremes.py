"""MIN and MAX: what makes them NULL, and MAX as the least of values turned around."""

from __future__ import annotations

from airflow_provider_runtime.core.expr.typed import Typed

STRICT = frozenset({
    "cast", "negate", "add", "multiply", "abs", "round", "floor", "ceil", "min", "max", "concat", "upper", "lower",
    "trim", "left", "right", "len", "contains", "replace", "year", "month", "day", "datediff", "dateadd", "compare",
    "not",
})  # fmt: skip
"""Operations that are NULL exactly when one of their operands is."""

_HEX, _TURNED_HEX = "'0123456789ABCDEF'", "'FEDCBA9876543210'"
# level of the result, level needed of a value, a value turned, the least turned back; levels as in spark_sql
TURNED: dict[str, tuple[int, int, str, str]] = {
    "integer": (6, 7, "~{}", "~{}"),
    "boolean": (2, 3, "NOT {}", "NOT {}"),
    "date": (7, 0, "~unix_date({})", "date_from_unix_date(~{})"),
    "timestamp": (7, 0, "~unix_micros({})", "timestamp_micros(~{})"),
    # A text ends in Z so that it comes after those that begin with it.
    "string": (
        7, 0, f"concat(translate(hex({{}}), {_HEX}, {_TURNED_HEX}), 'Z')",
        f"CAST(unhex(translate(rtrim('Z', {{}}), {_HEX}, {_TURNED_HEX})) AS STRING)",
    ),
}  # fmt: skip
"""How the order of each kind of value is turned around, so that the greatest is the least."""


def flatten(node: Typed) -> list[Typed]:
    """Return the arguments of MIN or MAX, those of the same function inside it put in their place."""
    pending, found = list(reversed(node.args)), []
    while pending:
        current = pending.pop()
        if current.op == node.op and current.type == node.type:
            pending.extend(reversed(current.args))
        else:
            found.append(current)
    return found


def find_null_columns(node: Typed) -> dict[object, Typed] | None:
    """Return the columns that make a value NULL when they are, or None when anything else can."""
    found: dict[object, Typed] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        if not current.nullable:
            continue
        if current.op == "column":
            found[current.value] = current
        elif current.op in STRICT:
            pending.extend(current.args)
        else:
            return None
    return found
