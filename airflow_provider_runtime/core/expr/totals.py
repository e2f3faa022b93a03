"""Sums in Spark: exact, and without a big number for every row.

Spark keeps a group's decimal of more than eight digits as a number of any size, which costs more than reading it.
Whole numbers are added in a register. So a number is taken apart into thousand millions, ones, and what follows
the point, each is added on its own, and the three totals make one again. The total of a part can only be out of range,
which is an error, beyond a thousand million rows of the longest numbers.
"""

from __future__ import annotations

from airflow_provider_runtime.core.model.schema import DataType

PART = 10**9
MOST_IN_A_LONG = 18
MOST_ADDED_AS_LONG = 8


def can_split(data_type: DataType, *, is_total: bool = False) -> bool:
    """Return whether values of a type are added part by part; for one total of all rows a decimal need not be kept."""
    if data_type.kind == "integer":
        return True
    return (
        not is_total
        and MOST_ADDED_AS_LONG < data_type.precision <= MOST_IN_A_LONG
        and data_type.scale <= MOST_ADDED_AS_LONG
    )


def split_sum(value: str, data_type: DataType) -> str:
    """Return SQL that adds a value's parts; it is a decimal whose type holds every total."""
    if data_type.kind == "integer":
        return _sum_whole(value)
    whole = f"CAST({value} AS BIGINT)"
    if not data_type.scale:
        return _sum_whole(whole)
    places = data_type.scale
    rest = f"CAST({value} - CAST({whole} AS {data_type.ddl.upper()}) AS DECIMAL({places},{places}))"
    return f"{_sum_whole(whole)} + sum({rest})"


def _sum_whole(value: str) -> str:
    return f"CAST(sum({value} div {PART}L) AS DECIMAL(19,0)) * {PART} + sum({value} % {PART}L)"
