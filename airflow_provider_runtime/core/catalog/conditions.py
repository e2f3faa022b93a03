"""What a resolver's `when` may speak of: the period, the table and the dataset that are asked for."""

from __future__ import annotations

from functools import lru_cache

from airflow_provider_runtime.core.expr.checker import CheckResult, check_expression
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.model.schema import DATE, INTEGER, STRING


def make_condition_scope() -> Scope:
    """Return the names that a resolver's condition can use; none of them can be NULL."""
    text, day, number = ScopeColumn(STRING, False), ScopeColumn(DATE, False), ScopeColumn(INTEGER, False)
    period = {"identifier": text, "level": text, "start_date": day, "end_date": day}
    return Scope(
        working=Relation("", "context", {}),
        aliases={
            "period": Relation("period", "context", period),
            "table": Relation("table", "context", {"name": text}),
            "dataset": Relation("dataset", "context", {"id": text, "version": number}),
        },
    )


@lru_cache(maxsize=4096)
def check_condition(text: str) -> CheckResult:
    """Return a resolver's condition with its types, or what is wrong with it."""
    return check_expression(text, make_condition_scope(), expect_boolean=True)
