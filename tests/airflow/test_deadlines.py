from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.serialization.decoders import decode_deadline_reference
from airflow.serialization.encoders import encode_deadline_reference

from airflow_provider_runtime.deadlines.references import PeriodEndReference, QueuedReference
from airflow_provider_runtime.timetables.calendar_codec import encode_calendar
from tests.airflow.test_period_timetable import FISCAL

pytestmark = pytest.mark.airflow

RUN = {"dag_id": "close", "run_id": "manual__1"}


class OneRun:
    """A session that knows one run."""

    def __init__(self, **fields: Any) -> None:
        defaults = {"partition_key": None, "partition_date": None, "run_type": "manual", "queued_at": None}
        self.run = SimpleNamespace(**(defaults | fields))

    def scalar(self, _: object) -> Any:
        return self.run


def test_period_end_is_midnight_after_the_last_day() -> None:
    found = PeriodEndReference()._evaluate_with(session=OneRun(partition_key="2024-01"), **RUN)  # type: ignore[arg-type]

    assert found == datetime(2024, 2, 1, tzinfo=UTC)


def test_period_end_follows_the_calendar_after_storing() -> None:
    reference = PeriodEndReference(calendar=json.dumps(encode_calendar(FISCAL)), level="month", timezone="Asia/Tokyo")
    stored = decode_deadline_reference(json.loads(json.dumps(encode_deadline_reference(reference))))

    due = stored.evaluate_with(session=OneRun(partition_key="FY2024-P01"), interval=timedelta(hours=1), **RUN)

    assert due == datetime(2024, 1, 28, 16, tzinfo=UTC)


def test_run_that_has_only_a_partition_date_gets_its_period() -> None:
    session = OneRun(partition_date=datetime(2024, 3, 1, tzinfo=UTC))

    assert PeriodEndReference()._evaluate_with(session=session, **RUN) == datetime(2024, 4, 1, tzinfo=UTC)  # type: ignore[arg-type]


def test_backfill_of_the_past_has_no_deadline() -> None:
    session = OneRun(partition_key="2024-01", run_type="backfill")

    assert PeriodEndReference()._evaluate_with(session=session, **RUN) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("calendar", ["{", '{"id": "x", "levels": [], "periods": 3}', "null"])
def test_broken_calendar_gives_no_deadline_and_no_error(calendar: str) -> None:
    reference = PeriodEndReference(calendar=calendar)

    assert reference._evaluate_with(session=OneRun(partition_key="2024-01"), **RUN) is None  # type: ignore[arg-type]


def test_run_without_period_has_no_deadline() -> None:
    assert PeriodEndReference()._evaluate_with(session=OneRun(), **RUN) is None  # type: ignore[arg-type]


def test_queued_reference_takes_the_queueing_or_the_making_of_the_run() -> None:
    queued = datetime(2024, 1, 1, tzinfo=UTC)

    assert QueuedReference()._evaluate_with(session=OneRun(queued_at=queued), **RUN) == queued  # type: ignore[arg-type]
    assert QueuedReference()._evaluate_with(session=OneRun(), **RUN) is not None  # type: ignore[arg-type]
