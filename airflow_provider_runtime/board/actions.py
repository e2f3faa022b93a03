"""What people do on the board, with their name and reason in the registry."""

from __future__ import annotations

from airflow_provider_runtime.board.answers import get_known
from airflow_provider_runtime.board.catalogs import open_registry
from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.planning.resolve.run_period import get_project_periods

_DONE: dict[PeriodStatus, str] = {"open": "reopened", "closed": "closed", "locked": "locked"}


def set_status(dag_id: str, period: str, status: PeriodStatus, reason: str, who: str) -> str:
    """Close, lock or reopen a period of the calendar of a DAG's project."""
    known = get_known(dag_id)
    project = known.project
    get_project_periods(known.loaded.catalog, known.definition).get_period(period, project.level)
    with open_registry(known.dag.runtime_conn_id) as registry:
        update = registry.set_period_status(project.calendar, period, status, who=who, reason=reason)
    stopped = f"; {len(update.revoked)} runs under way publish nothing" if update.revoked else ""
    return f"{period} is {_DONE[status]}{stopped}"


def override_check(dag_id: str, period: str, check: str, reason: str, who: str) -> str:
    """Let a check fail for the runs of a period that are resolved from now on."""
    known = get_known(dag_id)
    project = known.project
    if check not in {found.name for found in project.checks}:
        raise DefinitionError(
            Problem("CHECK_002", f"the project '{project.name}' has no check '{check}'", "see `checks`")
        )
    get_project_periods(known.loaded.catalog, known.definition).get_period(period, project.level)
    with open_registry(known.dag.runtime_conn_id) as registry:
        registry.add_override(project.id, period, check, who=who, reason=reason)
    return f"'{check}' no longer stops runs of {period}"
