"""One checker for each kind of operation, found by the kind's word."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_runtime.core.planning.check.aggregate import check_aggregate
from airflow_provider_runtime.core.planning.check.append import check_append
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation
from airflow_provider_runtime.core.planning.check.context import OperationContext
from airflow_provider_runtime.core.planning.check.delete import check_delete
from airflow_provider_runtime.core.planning.check.output import check_output
from airflow_provider_runtime.core.planning.check.update import check_update

CHECKERS: dict[str, Callable[[OperationContext], CheckedOperation]] = {
    "update": check_update,
    "aggregate": check_aggregate,
    "append": check_append,
    "delete": check_delete,
    "output": check_output,
}

__all__ = ["CHECKERS", "OperationContext"]
