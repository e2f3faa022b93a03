"""Links on a task's page, to pages that a browser opens: evidence, snapshot and report on the board, and Spark's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf

if TYPE_CHECKING:
    from airflow.sdk import Context

    from spark_jobs.contract.snapshot import Snapshot

PAGE = "plugin/periods"
ROUTES = "runtime-board/api/dags"


@dataclass(frozen=True)
class LinkedRun:
    """The run of a period that a task was about."""

    dag_id: str
    project: str
    period: str
    run_id: str

    @classmethod
    def of(cls, context: Context, snapshot: Snapshot) -> LinkedRun:
        """Return the run of a snapshot in a task of a DAG."""
        return cls(context["ti"].dag_id, snapshot.project.name, snapshot.period.identifier, snapshot.run_id)


class _BoardLink(BaseOperatorLink):
    """A page or a file of the board, for those who may see the DAG."""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return its address; nothing before the task knows its run."""
        del ti_key
        run: LinkedRun | None = getattr(operator, "linked_run", None)
        if run is None:
            return ""
        path, query = self._locate(run)
        return f"{_find_base()}/{path}?{urlencode(query, quote_via=quote)}"

    def _locate(self, run: LinkedRun) -> tuple[str, dict[str, str]]:
        raise NotImplementedError


class EvidenceLink(_BoardLink):
    """The period on the board: what was read, done, checked and published."""

    name = "Evidence"

    def _locate(self, run: LinkedRun) -> tuple[str, dict[str, str]]:
        return PAGE, {"dag": run.dag_id, "project": run.project, "period": run.period}


class _FileLink(_BoardLink):
    """A file of a run."""

    file = ""

    def _locate(self, run: LinkedRun) -> tuple[str, dict[str, str]]:
        route = f"{ROUTES}/{quote(run.dag_id, safe='')}/periods/{quote(run.period, safe='')}/{self.file}"
        return route, {"project": run.project, "run_id": run.run_id}


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
