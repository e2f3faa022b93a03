"""How the problems of an expression are reported at each place where an expression may stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.expr.problems import ExpressionProblem

Told = tuple[Code, str]
"""Code and message."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Codes and texts of one place; `tell` answers for what is special there, else the expression's own code holds."""

    prefix: str = ""
    tell: Callable[[ExpressionProblem], Told | None] = lambda _: None
    allows_selectors: bool = False

    def translate(self, problem: ExpressionProblem) -> Told:
        """Return code and message of a problem at this place."""
        if problem.kind == "selector":
            if self.allows_selectors:
                return problem.code, problem.message
            message = "a named selector may stand in a selector or source_selector only"
            problem = replace(problem, code="EXPR_001", kind="syntax", message=message)
        return self.tell(problem) or (problem.code, self.prefix + problem.message)


def _tell_unknown_table(problem: ExpressionProblem) -> Told | None:
    if problem.kind == "unknown_table":
        return "JOIN_009", f"unknown table or alias '{problem.table}'"
    return None


def _tell_join(problem: ExpressionProblem) -> Told:
    if problem.kind == "unknown_column":
        return "JOIN_007", f"Unknown column '{problem.column}' in join condition"
    return _tell_unknown_table(problem) or ("JOIN_006", f"Join condition failed to compile: {problem.message}")


def _tell_aggregation(problem: ExpressionProblem) -> Told | None:
    return _tell_unknown_table(problem) or _tell_not_aggregate(problem)


def _tell_not_aggregate(problem: ExpressionProblem) -> Told | None:
    # An aggregate inside an aggregate is not a missing one: EXPR_005 stays for it.
    is_nested = problem.column is None and "do not nest" in problem.message
    return ("AGG_004", problem.message) if problem.kind == "aggregate" and not is_nested else None


def _tell_source_column(problem: ExpressionProblem) -> Told | None:
    if problem.kind == "unknown_table":
        return "APPEND_006", f"unknown table '{problem.table}': an append sees the columns of its source only"
    if problem.kind == "unknown_column":
        return "APPEND_006", f"column '{problem.column}' is not in the source dataset"
    return None


def _tell_source_selector(problem: ExpressionProblem) -> Told | None:
    if problem.kind in {"syntax", "type"}:
        return "APPEND_004", SELECTOR_PREFIX + problem.message
    return _tell_source_column(problem)


def _tell_source_aggregation(problem: ExpressionProblem) -> Told | None:
    if problem.kind == "unknown_function":
        return "APPEND_005", problem.message
    return _tell_source_column(problem) or _tell_not_aggregate(problem)


SELECTOR_PREFIX = "Invalid selector expression: "
SELECTOR = Wording(SELECTOR_PREFIX, _tell_unknown_table, allows_selectors=True)
JOIN_CONDITION = Wording(tell=_tell_join)
JOIN_DAY = Wording("as_of of a join: ", _tell_unknown_table)
AGGREGATION = Wording(tell=_tell_aggregation)
SOURCE_SELECTOR = Wording(SELECTOR_PREFIX, _tell_source_selector, allows_selectors=True)
SOURCE_AGGREGATION = Wording(tell=_tell_source_aggregation)


def make_assignment_wording(column: str, join_aliases: frozenset[str]) -> Wording:
    """Return the wording of an update's assignment to a column."""

    def tell(problem: ExpressionProblem) -> Told | None:
        if problem.kind == "unknown_column" and problem.table in join_aliases:
            return "JOIN_008", f"Unknown column '{problem.table}.{problem.column}' in assignment expression"
        return _tell_unknown_table(problem)

    return Wording(f"Invalid assignment expression for '{column}': ", tell)
