"""Rules of a resolver: which one matches a table and a period, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_runtime.core.catalog.conditions import check_condition
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Problem, ResolveError
from airflow_provider_runtime.core.expr.evaluator import Value, evaluate
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.resolver import Resolver
from spark_jobs.contract.plan import RuleTrace


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The position of the rule that matched, with the trace of all that were looked at; None when none did."""

    index: int | None
    trace: tuple[RuleTrace, ...]


def match_rule(
    resolver: Definition[Resolver],
    *,
    dataset_id: str,
    dataset_version: int,
    table: str,
    period: Period,
    run: RunConstants,
) -> RuleMatch:
    """Return the first rule that matches."""
    row: dict[tuple[str | None, str], Value] = {
        ("period", "identifier"): period.identifier,
        ("period", "level"): period.level,
        ("period", "start_date"): period.start_date,
        ("period", "end_date"): period.end_date,
        ("table", "name"): table,
        ("dataset", "id"): dataset_id,
        ("dataset", "version"): dataset_version,
    }
    trace: list[RuleTrace] = []
    for index, rule in enumerate(resolver.model.rules):
        if rule.when is None:
            trace.append(RuleTrace(rule.name, True, "has no condition"))
            return RuleMatch(index, tuple(trace))
        matched, reason = _evaluate(resolver, index, rule.when, row, run)
        trace.append(RuleTrace(rule.name, matched, reason))
        if matched:
            return RuleMatch(index, tuple(trace))
    return RuleMatch(None, tuple(trace))


def _evaluate(
    resolver: Definition[Resolver],
    index: int,
    text: str,
    row: dict[tuple[str | None, str], Value],
    run: RunConstants,
) -> tuple[bool, str]:
    result = check_condition(text)
    if result.expression is None or result.problems:
        raise ResolveError(
            Problem(
                problem.code,
                problem.message,
                problem.hint,
                resolver.locate_span(("rules", index, "when"), problem.start, problem.end),
            )
            for problem in result.problems
        )
    value = evaluate(result.expression, row, run=run)
    shown = "NULL" if value is None else str(value).upper()
    used = sorted((alias, column) for alias, column in result.expression.columns if alias is not None)
    facts = ", ".join(f"{alias}.{column} is {_show(row[alias, column])}" for alias, column in used)
    return value is True, f"`{text}` is {shown}" + (f" ({facts})" if facts else "")


def _show(value: object) -> str:
    return str(value) if isinstance(value, int) else f"'{value}'"
