"""Links on a task's page, to pages that a browser opens: evidence, snapshot and report on the board, and Spark's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf

PAGE = "plugin/periods"
ROUTES = "runtime-board/api/dags"


@dataclass(frozen=True)
class RunPlace:
    """Which run of which period a task was about."""

    dag_id: str
    project: str
    period: str
    run_id: str


class EvidenceLink(BaseOperatorLink):
    """The period on the board: what was read, done, checked and published."""

    name = "Evidence"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the page's address."""
        del ti_key
        place: RunPlace | None = getattr(operator, "place", None)
        if place is None:
            return ""
        asked = {"dag": place.dag_id, "project": place.project, "period": place.period}
        return f"{_find_base()}/{PAGE}?{urlencode(asked, quote_via=quote)}"


class _FileLink(BaseOperatorLink):
    """A file of a run, which the board shows to those who may see the DAG."""

    file = ""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the file's address on the board."""
        del ti_key
        place: RunPlace | None = getattr(operator, "place", None)
        if place is None:
            return ""
        route = f"{ROUTES}/{quote(place.dag_id, safe='')}/periods/{quote(place.period, safe='')}/{self.file}"
        asked = {"project": place.project, "run_id": place.run_id}
        return f"{_find_base()}/{route}?{urlencode(asked, quote_via=quote)}"


class SnapshotLink(_FileLink):
    """The run snapshot that the task wrote or executed."""

    name = "Snapshot"
    file = "snapshot.json"


class ReportLink(_FileLink):
    """The report that the Spark job wrote."""

    name = "Run report"
    file = "report.json"


class SparkUiLink(BaseOperatorLink):
    """Spark's page of the application."""

    name = "Spark UI"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address that the cluster has given, or nothing."""
        del ti_key
        return str(getattr(operator, "spark_ui_url", None) or "")


def _find_base() -> str:
    """Return where Airflow's pages are; the same host as the page that shows the link, where none is configured."""
    return str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
