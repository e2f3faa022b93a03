from __future__ import annotations

import datetime
import json
from datetime import UTC, date, timedelta

import pendulum
import pytest
from airflow.exceptions import InvalidPartitionKeyError
from airflow.serialization.decoders import decode_timetable
from airflow.serialization.encoders import encode_timetable
from airflow.timetables.base import DagRunInfo, TimeRestriction
from airflow.utils.types import DagRunType

from airflow_provider_runtime.core.model.period import GREGORIAN, Calendar, Level, Period
from airflow_provider_runtime.timetables.period_timetable import PeriodTimetable

pytestmark = pytest.mark.airflow

FISCAL = Calendar(
    id="fiscal",
    levels=(Level(name="quarter"), Level(name="month", parent_level="quarter")),
    periods=(
        Period(
            identifier="FY2024-P01",
            level="month",
            parent="FY2024-Q1",
            start_date=date(2024, 1, 1),
            end_date=date(2024, 1, 28),
        ),
        Period(
            identifier="FY2024-P02",
            level="month",
            parent="FY2024-Q1",
            start_date=date(2024, 1, 29),
            end_date=date(2024, 2, 25),
        ),
        Period(
            identifier="FY2024-P03",
            level="month",
            parent="FY2024-Q1",
            start_date=date(2024, 2, 26),
            end_date=date(2024, 3, 31),
        ),
    ),
)
NO_LIMITS = TimeRestriction(earliest=None, latest=None, catchup=True)


def list_keys(timetable: PeriodTimetable, first: str, last: str) -> list[str | None]:
    infos = timetable.iter_partition_dagrun_infos(earliest=pendulum.parse(first), latest=pendulum.parse(last))
    return [info.partition_key for info in infos]


@pytest.mark.parametrize(
    ("level", "keys"),
    [
        ("month", ["2024-01", "2024-02", "2024-03", "2024-04"]),
        ("quarter", ["2024-Q1", "2024-Q2"]),
        ("year", ["2024"]),
    ],
)
def test_backfill_range_gives_the_periods_that_start_inside(level: str, keys: list[str]) -> None:
    assert list_keys(PeriodTimetable(GREGORIAN, level), "2024-01-01", "2024-04-30") == keys


def test_backfill_range_of_custom_calendar_gives_its_identifiers() -> None:
    keys = list_keys(PeriodTimetable(FISCAL, "month"), "2024-01-01", "2024-12-31")

    assert keys == ["FY2024-P01", "FY2024-P02", "FY2024-P03"]


def test_leap_day_and_53rd_week_have_runs_of_their_own() -> None:
    days = PeriodTimetable(GREGORIAN, "day")
    assert list_keys(days, "2024-02-28", "2024-03-01") == ["2024-02-28", "2024-02-29", "2024-03-01"]
    weeks = [date(2023, 1, 1) + timedelta(weeks=number) for number in range(54)]
    periods = tuple(
        Period(identifier=name, level="week", start_date=start, end_date=start + timedelta(days=6))
        for start, name in zip(weeks, [*(f"FY23-W{n:02}" for n in range(1, 54)), "FY24-W01"], strict=True)
    )
    retail = PeriodTimetable(Calendar(id="retail", levels=(Level(name="week"),), periods=periods), "week")
    assert list_keys(retail, "2023-12-20", "2024-01-10") == ["FY23-W52", "FY23-W53", "FY24-W01"]


def test_backfill_into_the_future_leaves_out_what_has_not_ended() -> None:
    today = datetime.datetime.now(UTC).date()
    infos = PeriodTimetable(GREGORIAN, "month").iter_partition_dagrun_infos(
        earliest=pendulum.datetime(today.year - 1, 1, 1), latest=pendulum.datetime(today.year + 1, 12, 31)
    )

    assert max(info.run_after for info in infos) <= pendulum.now("UTC")


def test_backfill_with_open_periods_allowed_includes_the_current_one() -> None:
    today = datetime.datetime.now(UTC).date()
    timetable = PeriodTimetable(GREGORIAN, "month", allow_open_period=True)

    keys = list_keys(timetable, f"{today.year}-01-01", f"{today.year}-12-31")

    assert keys[-1] == f"{today.year}-{today.month:02}"


def test_run_comes_at_midnight_after_the_last_day_in_the_timezone() -> None:
    timetable = PeriodTimetable(GREGORIAN, "month", timezone="Asia/Tokyo")
    restriction = TimeRestriction(pendulum.datetime(2024, 1, 31, 20), None, True)

    info = timetable.next_dagrun_info_v2(last_dagrun_info=None, restriction=restriction)

    assert info is not None
    assert info.partition_key == "2024-02" or info.partition_key == "2024-03"
    assert info.run_after.in_timezone("Asia/Tokyo").time() == datetime.time.min
    assert info.data_interval is None


def test_runs_follow_each_other_without_gap() -> None:
    timetable = PeriodTimetable(GREGORIAN, "month")
    restriction = TimeRestriction(pendulum.datetime(2024, 1, 1), None, True)
    info: DagRunInfo | None = None
    keys = []
    for _ in range(4):
        info = timetable.next_dagrun_info_v2(last_dagrun_info=info, restriction=restriction)
        assert info is not None
        keys.append(info.partition_key)

    assert keys == ["2024-01", "2024-02", "2024-03", "2024-04"]


def test_without_catchup_the_latest_ended_period_comes_first() -> None:
    info = PeriodTimetable(GREGORIAN, "month").next_dagrun_info_v2(
        last_dagrun_info=None, restriction=TimeRestriction(pendulum.datetime(2020, 1, 1), None, False)
    )

    assert info is not None
    assert info.run_after <= pendulum.now("UTC") < info.run_after.add(months=1)


def test_calendar_at_its_end_schedules_nothing() -> None:
    last = DagRunInfo(pendulum.datetime(2024, 4, 1), None, pendulum.datetime(2024, 2, 26), "FY2024-P03")

    assert PeriodTimetable(FISCAL, "month").next_dagrun_info_v2(last_dagrun_info=last, restriction=NO_LIMITS) is None


def test_end_date_stops_the_schedule() -> None:
    restriction = TimeRestriction(pendulum.datetime(2024, 1, 1), pendulum.datetime(2024, 1, 15), True)
    timetable = PeriodTimetable(GREGORIAN, "month")
    first = timetable.next_dagrun_info_v2(last_dagrun_info=None, restriction=restriction)

    assert first is not None
    assert timetable.next_dagrun_info_v2(last_dagrun_info=first, restriction=restriction) is None


def test_cron_runs_for_the_latest_ended_period_at_each_tick() -> None:
    timetable = PeriodTimetable(GREGORIAN, "month", cron="0 6 3 * *")
    restriction = TimeRestriction(pendulum.datetime(2024, 1, 10), None, True)
    first = timetable.next_dagrun_info_v2(last_dagrun_info=None, restriction=restriction)
    second = timetable.next_dagrun_info_v2(last_dagrun_info=first, restriction=restriction)

    assert first is not None
    assert second is not None
    assert (first.run_after, first.partition_key) == (pendulum.datetime(2024, 2, 3, 6), "2024-01")
    assert (second.run_after, second.partition_key) == (pendulum.datetime(2024, 3, 3, 6), "2024-02")


def test_key_of_a_manual_run_is_decoded_or_refused() -> None:
    timetable = PeriodTimetable(GREGORIAN, "quarter")

    assert timetable.resolve_partition_date("2024-Q2") == pendulum.datetime(2024, 4, 1)
    with pytest.raises(InvalidPartitionKeyError, match="2024-04"):
        timetable.resolve_partition_date("2024-04")


@pytest.mark.parametrize("calendar", [GREGORIAN, FISCAL])
def test_stored_timetable_is_the_same_again(calendar: Calendar) -> None:
    timetable = PeriodTimetable(calendar, "month", timezone="Europe/Berlin", allow_open_period=True, cron="@daily")

    stored = json.loads(json.dumps(encode_timetable(timetable)))
    back = decode_timetable(stored)

    assert isinstance(back, PeriodTimetable)
    assert back.calendar == calendar
    assert back.serialize() == timetable.serialize()


def test_closing_a_period_does_not_change_the_stored_timetable() -> None:
    closed = FISCAL.model_copy(
        update={"periods": tuple(period.model_copy(update={"status": "closed"}) for period in FISCAL.periods)}
    )

    assert PeriodTimetable(closed, "month").serialize() == PeriodTimetable(FISCAL, "month").serialize()


def test_run_id_needs_no_key_and_never_repeats() -> None:
    timetable = PeriodTimetable(GREGORIAN, "month")
    at = pendulum.datetime(2024, 2, 1)
    made = {timetable.generate_run_id(run_type=DagRunType.MANUAL, run_after=at, data_interval=None) for _ in range(5)}
    keyed = timetable.generate_run_id(
        run_type=DagRunType.BACKFILL_JOB, run_after=at, data_interval=None, partition_key="2024-01"
    )

    assert len(made) == 5
    assert "__2024-01__" in keyed


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="no level 'week'"):
        PeriodTimetable(GREGORIAN, "week")


def test_time_of_day_in_a_window_does_not_take_the_period_before() -> None:
    start = pendulum.datetime(2024, 1, 1, 12)
    infos = PeriodTimetable(GREGORIAN, "month").iter_partition_dagrun_infos(
        earliest=start, latest=start + timedelta(days=40)
    )

    assert [info.partition_key for info in infos] == ["2024-02"]
