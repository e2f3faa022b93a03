"""Opens all tables of a plan at once: most of the time goes into asking file systems and databases what is there."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.contract.report import STEPS
from spark_jobs.errors import JobError
from spark_jobs.sources.loader import WORKED_ON, LoadedTable, load_table
from spark_jobs.spark.jvm import describe_jobs

if TYPE_CHECKING:
    from spark_jobs.contract.plan import Plan
    from spark_jobs.sources.opening import SourceContext

MAX_OPENED_AT_ONCE = 8


def load_tables(context: SourceContext, plan: Plan) -> dict[str, LoadedTable]:
    """Return the tables that a plan uses, by their keys; what is wrong with any of them is one error."""
    # A thread's jobs have the description that the thread gave them.
    description = (context.spark, STEPS["load_seconds"])
    with ThreadPoolExecutor(MAX_OPENED_AT_ONCE, initializer=describe_jobs, initargs=description) as pool:
        loaded_as = find_loaded_as(plan)
        opening: dict[str, Future[LoadedTable]] = {}
        for key in dict.fromkeys(loaded_as.values()):
            opening[key] = pool.submit(load_table, context, plan.tables[key])
    failures = [future.exception() for future in opening.values()]
    problems = [problem for failure in failures if isinstance(failure, JobError) for problem in failure.problems]
    if problems:
        raise JobError.of(problems)
    return {key: opening[same].result() for key, same in loaded_as.items()}


def find_loaded_as(plan: Plan) -> dict[str, str]:
    """Return by the key of each table that a plan uses the key of the one that is loaded for it, as both are equal."""
    first: dict[tuple[str, str], str] = {}
    found = {}
    for key in _list_used_tables(plan):
        table = plan.tables[key]
        # Joins of one dataset differ in where the project names it.
        content = repr(replace(table, mark="", role="join"))
        role = table.role if table.role in WORKED_ON else "join"
        if table.role == "check" and (content, role) not in first and (content, "append") in first:
            role = "append"
        found[key] = first.setdefault((content, role), key)
    return found


def _list_used_tables(plan: Plan) -> list[str]:
    keys = [plan.input]
    for operation in plan.operations:
        keys.extend(operation.tables)
    keys.extend(side.table for check in plan.checks for side in check.values if side.table is not None)
    return list(dict.fromkeys(keys))
