"""What a run's deadline is counted from: the end of its period, or the moment it was queued.

Both are evaluated in the scheduler while it makes a run. An error there would keep the run from being made, so they
log it and say that there is no deadline; they read nothing but the run's own row.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo

from airflow import __version__ as airflow_version
from airflow.sdk.definitions.deadline import BaseDeadlineReference

from airflow_provider_runtime.core.calendar.moments import compute_period_end
from airflow_provider_runtime.timetables.calendar_codec import decode_calendar, get_period_index

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)

_BACKFILL = "backfill"
_GREGORIAN_TEXT = '{"id":"gregorian"}'


class _RunReference(BaseDeadlineReference):
    """A reference that looks at the run; never raises."""

    if tuple(map(int, airflow_version.split(".")[:2])) < (3, 4):
        # Airflow 3.3 passes what is named here; later ones look at the parameters, and warn of this.
        required_kwargs: ClassVar[set[str]] = {"dag_id", "run_id"}

    def _evaluate_with(self, *, session: Session, dag_id: str, run_id: str) -> datetime | None:
        try:
            run = _find_run(session, dag_id, run_id)
            return self._compute(run) if run is not None else None
        except Exception:
            log.exception("no deadline for the run %s of %s", run_id, dag_id)
            return None

    def _compute(self, run: DagRun) -> datetime | None:
        raise NotImplementedError


@dataclass(eq=False)
class PeriodEndReference(_RunReference):
    """The end of the run's period; none for a backfill of a period that is over."""

    calendar: str = _GREGORIAN_TEXT
    level: str = "month"
    timezone: str = "UTC"

    def _compute(self, run: DagRun) -> datetime | None:
        zone = ZoneInfo(self.timezone)
        index = get_period_index(decode_calendar(json.loads(self.calendar)))
        period = index.find_period(run.partition_key, self.level) if run.partition_key else None
        if period is None and run.partition_date is not None:
            period = index.find_by_date(run.partition_date.astimezone(zone).date(), self.level)
        if period is None:
            return None
        end = compute_period_end(period, zone).astimezone(UTC)
        if _is_backfill(run) and end <= datetime.now(UTC):
            return None
        return end

    def serialize_reference(self) -> dict[str, Any]:
        """Return what the DAG's stored form keeps of the reference."""
        return super().serialize_reference() | {
            "calendar": self.calendar,
            "level": self.level,
            "timezone": self.timezone,
        }

    @classmethod
    def deserialize_reference(cls, reference_data: dict[str, Any]) -> PeriodEndReference:
        """Return the reference that was stored."""
        fields = ("calendar", "level", "timezone")
        return cls(**{name: reference_data[name] for name in fields if name in reference_data})


class QueuedReference(_RunReference):
    """The moment at which the run was queued, or made if it was not queued yet."""

    def _compute(self, run: DagRun) -> datetime | None:
        return run.queued_at or datetime.now(UTC)


def _is_backfill(run: DagRun) -> bool:
    return str(getattr(run.run_type, "value", run.run_type)).startswith(_BACKFILL)


def _find_run(session: Session, dag_id: str, run_id: str) -> DagRun | None:
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    return session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
