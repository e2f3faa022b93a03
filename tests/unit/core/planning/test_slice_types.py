"""Which types of a dataset's next version can hold what its slices have."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.model.schema import DATE, INTEGER, STRING, TIMESTAMP, DataType, make_decimal
from airflow_provider_runtime.core.planning.resolve.slice_types import holds


@pytest.mark.parametrize(
    ("new", "old", "fits"),
    [
        (make_decimal(20, 6), make_decimal(20, 6), True),
        (make_decimal(21, 7), make_decimal(20, 6), True),
        (make_decimal(20, 7), make_decimal(20, 6), False),
        (make_decimal(20, 5), make_decimal(20, 6), False),
        (make_decimal(20, 0), INTEGER, True),
        (make_decimal(20, 2), INTEGER, False),
        (INTEGER, make_decimal(10, 0), False),
        (TIMESTAMP, DATE, False),
        (STRING, DATE, False),
    ],
)
def test_types_may_widen(new: DataType, old: DataType, *, fits: bool) -> None:
    assert holds(new, old) == fits
