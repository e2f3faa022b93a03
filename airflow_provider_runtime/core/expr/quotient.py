"""Division of decimals in Spark, rounded exactly once.

Spark divides to 39 decimal places, rounds that to a scale it derives from the operands' types, and only then comes the
cast to the scale that the language promises. Rounding twice can make a tie of something below it. So the operands are
shifted by powers of ten until Spark's own scale is the promised one, shifted alike, and the result is shifted back.
Rounding to 39 places makes no tie either while the divisor has no more digits than 39 less that scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from airflow_provider_runtime.core.model.schema import MAX_PRECISION, DataType, make_decimal

PLACES = 39
NEGATABLE_DIGITS = 34
LIMB = 19
MOST_ZEROS = 12
MOST_DIGITS = 26
"""No divisor of more digits can be divided by in one step."""


@dataclass(frozen=True, slots=True)
class QuotientPlan:
    """The types to bring the operands to, and the powers of ten that each of the three is multiplied by."""

    left: DataType
    left_shift: int
    right: DataType
    right_shift: int
    raw: DataType
    """Spark's type of the quotient."""
    shift: int
    digits: int
    """Digits that the divisor may have."""
    is_bounded: bool
    """Whether every quotient fits its type, so that NULL can only come from a divisor of zero."""


@lru_cache(maxsize=1024)
def plan_quotient(left: DataType, right: DataType, digits: int, scale: int, exact: bool = True) -> QuotientPlan | None:
    """Return the cheapest exact plan for a divisor of so many digits (with `exact` false: ties may be made)."""
    offset = scale + right.scale - left.scale
    limit = PLACES - digits if exact else MAX_PRECISION
    whole = left.precision - left.scale + right.scale
    best: tuple[int, QuotientPlan] | None = None
    for cost, left_scale, right_scale in _order_scales(left, right):
        if best is not None and cost >= best[0]:
            break
        raw_scale = offset + left_scale - right_scale
        if not 0 <= raw_scale <= limit:
            continue
        found = _find_types(left.precision, left_scale, digits, right_scale, raw_scale)
        if found is None:
            continue
        first, second, raw = found
        shift = raw_scale - scale
        total = cost + _shift_cost(min(whole, MAX_PRECISION - scale) + scale, raw_scale, shift)
        if best is None or total < best[0]:
            left_shift, right_shift = left.scale - left_scale, right.scale - right_scale
            is_bounded = whole + scale <= MAX_PRECISION
            best = total, QuotientPlan(first, left_shift, second, right_shift, raw, shift, digits, is_bounded)
    return best[1] if best else None


def _order_scales(left: DataType, right: DataType) -> Iterator[tuple[int, int, int]]:
    scales = range(-MOST_ZEROS, MAX_PRECISION + 1)
    yield from sorted(
        (
            _shift_cost(left.precision, left.scale, left.scale - one)
            + _shift_cost(right.precision, right.scale, right.scale - two),
            one,
            two,
        )
        for one in scales
        for two in scales
    )


def _shift_cost(precision: int, scale: int, places: int) -> int:
    if places == 0:
        return 0
    return (200 if _can_multiply(precision, scale, places) else 1000) + abs(places)


def _can_multiply(digits: int, scale: int, places: int) -> bool:
    """Return whether a number times a power of ten fits the type that Spark gives the product."""
    return digits + places <= MAX_PRECISION if places > 0 else scale - places <= MAX_PRECISION


def _find_types(
    left_digits: int, left_scale: int, right_digits: int, right_scale: int, raw_scale: int
) -> tuple[DataType, DataType, DataType] | None:
    second = _shifted_type(right_digits, right_scale)
    least = _shifted_type(left_digits, left_scale)
    if max(second.precision, least.precision) > MAX_PRECISION:
        return None
    for precision in range(least.precision, MAX_PRECISION + 1):
        digits, scale = _spark_quotient(precision, least.scale, second.precision, second.scale)
        if scale == raw_scale:
            return make_decimal(precision, least.scale), second, make_decimal(digits + scale, scale)
    return None


def _shifted_type(digits: int, scale: int) -> DataType:
    # A scale below zero stands for zeros before the point.
    return make_decimal(max(digits - min(scale, 0), scale, 1), max(scale, 0))


def _spark_quotient(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    """Return digits before the point and scale of Spark's result type without loss of precision allowed."""
    digits, scale = min(38, p1 - s1 + s2), min(38, max(6, s1 + p2 + 1))
    excess = digits + scale - 38
    if excess > 0:
        scale -= excess // 2 + 1
        digits = 38 - scale
    return digits, scale


def divide_sql(
    names: dict[str, str], left: DataType, right: DataType, result: DataType, mark: str, *, is_safe: bool
) -> str:
    """Return the quotient of names a and b, NULL for a divisor of zero; `is_safe` says that it never is zero."""
    found = _plan_exact(left, right, result.scale)
    quotient = _write_plan(names, left, right, found, result, mark, is_safe)
    if found.digits == right.precision:
        return quotient
    limit = _power(found.digits - right.scale)
    small = f"{names['b']} < {limit} AND {names['b']} > -{limit}"
    near = plan_quotient(left, right, right.precision, result.scale, False)
    assert near is not None
    candidate = _write_plan(names, left, right, near, result, mark, is_safe)
    unit = _power(-result.scale)
    is_above = _write_check({**names, "q": "q"}, left, right, result, mark)
    # Spark's difference has a digit more than the quotient can have.
    lower = f"CAST(q - IF(q > 0BD, {unit}, -{unit}) AS {result.ddl.upper()})"
    corrected = f"CASE WHEN {is_above} THEN {lower} ELSE q END"
    # The long check stays out of the generated code, which Java would not compile if it grew too long.
    return f"CASE WHEN {small} THEN {quotient} ELSE transform(array({candidate}), q -> {corrected})[0] END"


def has_one_step(left: DataType, right: DataType, scale: int) -> bool:
    """Return whether the SQL of a quotient holds each operand once."""
    plan = _plan_exact(left, right, scale)
    return plan.digits == right.precision and plan.is_bounded


def _plan_exact(left: DataType, right: DataType, scale: int) -> QuotientPlan:
    most = min(right.precision, MOST_DIGITS)
    plans = (plan_quotient(left, right, digits, scale) for digits in range(most, 0, -1))
    return next(plan for plan in plans if plan is not None)


def _write_plan(
    names: dict[str, str], left: DataType, right: DataType, plan: QuotientPlan, result: DataType, mark: str, safe: bool
) -> str:
    dividend = shift(names["a"], left.precision, left, plan.left_shift, plan.left, mark)
    divisor = shift(names["b"], plan.digits, right, plan.right_shift, plan.right, mark)
    if safe:
        quotient = f"{dividend} / {mark}{divisor}"
    elif plan.is_bounded:
        quotient = f"try_divide({dividend}, {divisor})"
    else:
        quotient = f"{dividend} / {mark}NULLIF({divisor}, 0BD)"
    if plan.shift == 0:
        return f"CAST({mark}{quotient} AS {result.ddl.upper()})"
    return shift(quotient, result.precision, plan.raw, plan.shift, result, mark)


def _write_check(names: dict[str, str], left: DataType, right: DataType, result: DataType, mark: str) -> str:
    """Return whether a candidate was rounded up although its remainder is less than half of the divisor.

    All is counted in units of the last place: N = Q * B + R. The remainder is exact, and when Q was rounded up, then
    N - Q * B is R - B. The last 19 digits distinguish the two, unless B ends in 19 zeros: then no tie is false.
    """
    offset = result.scale + right.scale - left.scale
    places = min(offset, MAX_PRECISION)
    whole, units = make_decimal(MAX_PRECISION, 0), make_decimal(MAX_PRECISION, places)
    dividend, divisor, last = (absolute(names["a"], left), absolute(names["b"], right), _power(LIMB))
    scaled = shift(dividend, left.precision, left, left.scale + offset - places, whole, mark)
    unit = shift(divisor, right.precision, right, right.scale - places, units, mark)
    remainder = f"({scaled} % {unit})"
    low = "0BD"
    if offset < LIMB:
        low = f"({scaled} % {_power(LIMB - offset)}) * {_power(offset)}"
    top = absolute(names["q"], result)
    quotient = f"{shift(top, result.precision, result, result.scale, whole, mark)} % {last}"
    product = f"({quotient}) * ({shift(divisor, right.precision, right, right.scale, whole, mark)} % {last}) % {last}"
    remainder_low = f"{shift(remainder, MAX_PRECISION, units, places, whole, mark)} % {last}"
    is_off = f"({low} - {product} - {remainder_low}) % {last} <> 0BD"
    return f"{names['q']} IS NOT NULL AND {unit} - {remainder} > {remainder} AND {is_off}"


def absolute(sql: str, data_type: DataType) -> str:
    """Return a decimal without its sign; Spark's abs and unary minus round what has more than 34 digits."""
    if data_type.precision <= NEGATABLE_DIGITS:
        return f"abs({sql})"
    return f"CAST(replace(CAST({sql} AS STRING), '-', '') AS {data_type.ddl.upper()})"


def negate(sql: str, data_type: DataType) -> str:
    """Return a decimal negated; `sql` must be as tight as a product's operand."""
    if data_type.precision <= NEGATABLE_DIGITS:
        return f"-({sql})" if sql.startswith("-") else f"-{sql}"
    return f"CAST({sql} * -1BD AS {data_type.ddl.upper()})"


def _power(places: int) -> str:
    return f"{Decimal(1).scaleb(places):f}BD"


def shift(sql: str, digits: int, source: DataType, places: int, target: DataType, mark: str) -> str:
    """Return a number of so many digits times a power of ten as another type."""
    if places == 0:
        return sql if source == target else f"CAST({mark}{sql} AS {target.ddl.upper()})"
    if _can_multiply(digits, source.scale, places):
        return f"CAST({mark}{sql} * {_power(places)} AS {target.ddl.upper()})"
    # The product would not fit a decimal before it is cast: let a text carry the exponent.
    return f"CAST({mark}concat(CAST({sql} AS STRING), 'E{places}') AS {target.ddl.upper()})"
