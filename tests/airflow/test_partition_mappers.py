from __future__ import annotations

import json

import pendulum
import pytest
from airflow.sdk import RollupMapper
from airflow.serialization.decoders import decode_partition_mapper
from airflow.serialization.encoders import encode_partition_mapper

from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar
from airflow_provider_runtime.timetables.partition_mappers import ChildPeriodsWindow, PeriodMapper
from tests.airflow.test_period_timetable import FISCAL

pytestmark = pytest.mark.airflow


def make_rollup(calendar: Calendar) -> RollupMapper:
    mapper = PeriodMapper(calendar=calendar, upstream_level="month", level="quarter")
    window = ChildPeriodsWindow(calendar=calendar, upstream_level="month", level="quarter")
    return RollupMapper(upstream_mapper=mapper, window=window)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("calendar", "months", "quarter"),
    [
        (GREGORIAN, ["2024-01", "2024-02", "2024-03"], "2024-Q1"),
        (FISCAL, ["FY2024-P01", "FY2024-P02", "FY2024-P03"], "FY2024-Q1"),
    ],
)
def test_stored_rollup_agrees_in_both_directions(calendar: Calendar, months: list[str], quarter: str) -> None:
    rollup = decode_partition_mapper(json.loads(json.dumps(encode_partition_mapper(make_rollup(calendar)))))

    assert [rollup.to_downstream(month) for month in months] == [quarter] * 3
    assert rollup.to_upstream(quarter) == frozenset(months)  # type: ignore[attr-defined]
    assert rollup.to_partition_date(quarter) == pendulum.datetime(2024, 1, 1)


def test_same_level_keeps_the_key() -> None:
    mapper = PeriodMapper(calendar=GREGORIAN, upstream_level="month", level="month")

    assert mapper.to_downstream("2024-02") == "2024-02"


def test_coarser_upstream_feeds_every_period_inside() -> None:
    mapper = PeriodMapper(calendar=GREGORIAN, upstream_level="quarter", level="month")

    assert mapper.to_downstream("2024-Q2") == ["2024-04", "2024-05", "2024-06"]


def test_key_of_another_level_is_refused() -> None:
    mapper = PeriodMapper(calendar=GREGORIAN, upstream_level="month", level="quarter")

    with pytest.raises(ValueError, match="PERIOD_001"):
        mapper.to_downstream("2024")
