"""Division of decimals in Spark, rounded exactly once.

Spark divides to 39 significant digits, rounds that to a scale it derives from the operands' types, and only then
comes the cast to the scale that the language promises. The operands' types are chosen so that Spark's own scale is the
promised one; where that cannot be, a value that came to lie exactly on a tie is compared with the dividend.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from airflow_provider_runtime.core.model.schema import DataType, make_decimal


@dataclass(frozen=True, slots=True)
class QuotientPlan:
    """The types to cast both operands to, and whether a tie may be false."""

    left: DataType
    right: DataType
    check_tie: bool


@lru_cache(maxsize=1024)
def plan_quotient(left: DataType, right: DataType, scale: int) -> QuotientPlan:
    """Choose operand types: no digit of the operands lost first, then one rounding, then most room before the point."""
    best: tuple[tuple[int, int, int, int], QuotientPlan] | None = None
    for left_scale in range(left.scale, min(left.scale + 8, 38) + 1):
        widest = left.precision - left.scale + left_scale
        for precision in {min(widest, 38), 38, *range(left_scale + 1, min(widest, 38))}:
            for right_precision in range(right.precision, 39):
                digits, found = _spark_quotient(precision, left_scale, right_precision, right.scale)
                if found < min(scale + 1, 38) and found != scale:
                    continue
                is_false_tie_possible = found != scale and found < scale + right.precision + 1
                rank = (max(0, widest - precision), -min(digits, 28), int(is_false_tie_possible), precision)
                if best is None or rank < best[0]:
                    first = make_decimal(precision, left_scale)
                    second = make_decimal(right_precision, right.scale)
                    best = rank, QuotientPlan(first, second, is_false_tie_possible)
    assert best is not None
    return best[1]


def _spark_quotient(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    """Return digits before the point and scale of Spark's result type without loss of precision allowed."""
    digits, scale = min(38, p1 - s1 + s2), min(38, max(6, s1 + p2 + 1))
    excess = digits + scale - 38
    if excess > 0:
        scale -= excess // 2 + 1
        digits = 38 - scale
    return digits, scale
