"""Exact arithmetic in Python: what no decimal of the language can outgrow."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


def round_exactly(value: int | Decimal, places: int, rounding: str) -> Decimal:
    """Return a number with at most so many places."""
    number = Decimal(value)
    if -int(number.as_tuple().exponent) <= places:
        return number
    return number.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=EXACT)
