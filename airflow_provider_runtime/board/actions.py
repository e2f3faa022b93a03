"""What people do on the board, with their name and reason in the registry."""

from __future__ import annotations

from airflow_provider_runtime.board.catalogs import open_registry
from airflow_provider_runtime.board.projects import get_defined
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError, Problem
from airflow_provider_runtime.core.model.period import PeriodStatus
from airflow_provider_runtime.core.planning.check.checks import find_override_problem
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.runs.lock_marks import leave_lock_marks, make_mark
from airflow_provider_runtime.hooks.credentials import read_properties
from airflow_provider_runtime.hooks.runtime import RuntimeHook

_DONE: dict[PeriodStatus, str] = {"open": "reopened", "closed": "closed", "locked": "locked"}
_NAMES: dict[PeriodStatus, str] = {**_DONE, "open": "open"}


def set_status(dag_id: str, period: str, status: PeriodStatus, reason: str, who: str, named: str | None = None) -> str:
    """Close, lock or reopen a period of the calendar of a DAG's project."""
    known = get_defined(dag_id, named)
    project = known.project
    known.index.get_period(period, project.level)
    snapshots, unmarked = RunSnapshots(storage=RuntimeHook(known.dag.runtime_conn_id).storage), []
    with open_registry(known.dag.runtime_conn_id) as registry:
        if registry.get_period(project.calendar, period).status == status:
            hint = "load the page again to see who has done it, and why"
            raise PeriodError(Problem("PERIOD_001", f"{period} is {_NAMES[status]} already", hint))
        update = registry.set_period_status(project.calendar, period, status, who=who, reason=reason)
        if status == "locked":
            mark = make_mark(who, reason)
            unmarked = leave_lock_marks(registry, snapshots, project.calendar, period, mark, read_properties)
    stopped = f"; {len(update.revoked)} runs under way publish nothing" if update.revoked else ""
    unseen = f"; the runs of other registries do not see it at {', '.join(unmarked)}" if unmarked else ""
    return f"{period} is {_DONE[status]}{stopped}{unseen}"


def override_check(dag_id: str, period: str, check: str, reason: str, who: str, named: str | None = None) -> str:
    """Let a check fail for the runs of a period that are resolved from now on."""
    known = get_defined(dag_id, named)
    project = known.project
    problem = find_override_problem(project, check)
    if problem is not None:
        raise DefinitionError(problem)
    known.index.get_period(period, project.level)
    with open_registry(known.dag.runtime_conn_id) as registry:
        registry.add_override(project.id, period, check, who=who, reason=reason)
    return f"'{check}' no longer stops runs of {period}"


def withdraw_override(dag_id: str, period: str, check: str, reason: str, who: str, named: str | None = None) -> str:
    """Let a check stop runs of a period again."""
    known = get_defined(dag_id, named)
    with open_registry(known.dag.runtime_conn_id) as registry:
        found = registry.withdraw_override(known.project.id, period, check, who=who, reason=reason)
    if found is None:
        message = f"check '{check}' is not overridden for period {period}"
        raise DefinitionError(Problem("CHECK_002", message, "see `checks`"))
    return f"'{check}' stops runs of {period} again"
