"""Result types: the arithmetic of precision and scale, and where values meet in one type."""

from __future__ import annotations

from airflow_provider_runtime.core.model.schema import INTEGER, MAX_PRECISION, TIMESTAMP, DataType, make_decimal

INTEGER_AS_DECIMAL = make_decimal(20, 0)
NUMERIC = frozenset({"integer", "decimal"})


def to_decimal(data_type: DataType) -> DataType:
    """Return the decimal type that a number counts as."""
    return INTEGER_AS_DECIMAL if data_type.kind == "integer" else data_type


def common_type(first: DataType, second: DataType) -> DataType | None:
    """Return the type that holds both exactly, or None when there is none."""
    if first == second or second.kind == "null":
        return first
    if first.kind == "null":
        return second
    if {first.kind, second.kind} == {"date", "timestamp"}:
        return TIMESTAMP
    if first.kind not in NUMERIC or second.kind not in NUMERIC:
        return None
    one, two = to_decimal(first), to_decimal(second)
    scale = max(one.scale, two.scale)
    precision = max(one.precision - one.scale, two.precision - two.scale) + scale
    return make_decimal(precision, scale) if precision <= MAX_PRECISION else None


def is_assignable(source: DataType, target: DataType) -> bool:
    """Return whether a value may go into a column of the target type."""
    if source.kind in ("null", target.kind):
        return True
    if source.kind in NUMERIC and target.kind in NUMERIC:
        return True
    return source.kind == "date" and target.kind == "timestamp"


def add_type(first: DataType, second: DataType) -> DataType:
    """Return the type of a sum or difference."""
    if first.kind == second.kind == "integer":
        return INTEGER
    one, two = to_decimal(first), to_decimal(second)
    scale = max(one.scale, two.scale)
    digits = max(one.precision - one.scale, two.precision - two.scale)
    return make_decimal(min(digits + scale + 1, MAX_PRECISION), scale)


def multiply_type(first: DataType, second: DataType) -> DataType | None:
    """Return the type of a product, or None when its scale does not fit."""
    if first.kind == second.kind == "integer":
        return INTEGER
    one, two = to_decimal(first), to_decimal(second)
    scale = one.scale + two.scale
    return make_decimal(min(one.precision + two.precision + 1, MAX_PRECISION), scale) if scale <= 38 else None


def quotient_type(first: DataType, second: DataType) -> DataType | None:
    """Return the type of a quotient, or None when its scale does not fit."""
    one, two = to_decimal(first), to_decimal(second)
    scale = max(6, one.scale + 4)
    digits = one.precision - one.scale + two.scale
    return make_decimal(max(min(digits + scale, MAX_PRECISION), scale), scale) if scale <= MAX_PRECISION else None


def remainder_type(first: DataType, second: DataType) -> DataType:
    """Return the type of a remainder."""
    if first.kind == second.kind == "integer":
        return INTEGER
    one, two = to_decimal(first), to_decimal(second)
    scale = max(one.scale, two.scale)
    digits = min(one.precision - one.scale, two.precision - two.scale)
    return make_decimal(min(max(digits + scale, 1), MAX_PRECISION), scale)


def round_type(source: DataType, places: int) -> DataType:
    """Return the type of a number rounded to so many places."""
    if source.kind != "decimal" or places >= source.scale:
        return source
    return make_decimal(min(source.precision - source.scale + 1 + places, MAX_PRECISION), places)


def explain_no_common_type(first: DataType, second: DataType) -> tuple[str, str | None]:
    """Return the message and hint for two types that do not meet."""
    if first.kind in NUMERIC and second.kind in NUMERIC:
        hint = "ROUND one of them to fewer decimal places"
        return f"{first} and {second} together need more than {MAX_PRECISION} digits", hint
    return f"{first} and {second} do not go together", None
