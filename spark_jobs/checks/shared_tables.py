"""Tables that checks compare with: one that several checks name, or that an operation reads too, is read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spark_jobs.contract.checks import Check, CheckedValue
from spark_jobs.contract.plan import Plan


def list_checks(plan: Plan, loaded_as: Mapping[str, str]) -> tuple[Check, ...]:
    """Return a plan's checks; of tables that are equal they name the one that is loaded."""

    def rename(side: CheckedValue | None) -> CheckedValue | None:
        return side if side is None or side.table is None else replace(side, table=loaded_as[side.table])

    return tuple(replace(check, value=rename(check.value), equals=rename(check.equals)) for check in plan.checks)


def list_shared_tables(plan: Plan, loaded_as: Mapping[str, str]) -> frozenset[str]:
    """Return the loaded tables that both checks and operations read."""
    operations = {loaded_as[key] for operation in plan.operations for key in operation.tables}
    checks = {loaded_as[side.table] for check in plan.checks for side in check.values if side.table is not None}
    return frozenset(operations & checks)
