"""How the problems of an expression are reported at each place that may hold an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from airflow_provider_runtime.core.errors import Code
from airflow_provider_runtime.core.expr.problems import ExpressionProblem

CodeAndMessage = tuple[Code, str]


@dataclass(frozen=True, slots=True)
class Wording:
    """Codes and texts of one place: those of `translate_special` where it returns any, else the expression's own."""

    prefix: str = ""
    translate_special: Callable[[ExpressionProblem], CodeAndMessage | None] = lambda _: None
    allows_selectors: bool = False

    def translate(self, problem: ExpressionProblem) -> CodeAndMessage:
        """Return code and message of a problem at this place."""
        if problem.kind == "selector":
            if self.allows_selectors:
                return problem.code, problem.message
            message = "a named selector may be used in a selector or source_selector only"
            problem = replace(problem, code="EXPR_001", kind="syntax", message=message)
        return self.translate_special(problem) or (problem.code, self.prefix + problem.message)


def _translate_unknown_table(problem: ExpressionProblem) -> CodeAndMessage | None:
    if problem.kind == "unknown_table":
        return "JOIN_009", f"unknown table or alias '{problem.table}'"
    return None


def _translate_join(problem: ExpressionProblem) -> CodeAndMessage:
    if problem.kind == "unknown_column":
        return "JOIN_007", f"Unknown column '{problem.column}' in join condition"
    return _translate_unknown_table(problem) or ("JOIN_006", f"Join condition failed to compile: {problem.message}")


def _translate_aggregation(problem: ExpressionProblem) -> CodeAndMessage | None:
    return _translate_unknown_table(problem) or _translate_not_aggregate(problem)


def _translate_not_aggregate(problem: ExpressionProblem) -> CodeAndMessage | None:
    # An aggregate inside an aggregate is not a missing one: EXPR_005 stays for it.
    return ("AGG_004", problem.message) if problem.kind == "aggregate" else None


def _translate_source_column(problem: ExpressionProblem) -> CodeAndMessage | None:
    if problem.kind == "unknown_table":
        return "APPEND_006", f"unknown table '{problem.table}': an append sees the columns of its source only"
    if problem.kind == "unknown_column":
        return "APPEND_006", f"column '{problem.column}' is not in the source dataset"
    return None


def _translate_source_selector(problem: ExpressionProblem) -> CodeAndMessage | None:
    if problem.kind in {"syntax", "type"}:
        return "APPEND_004", SELECTOR_PREFIX + problem.message
    return _translate_source_column(problem)


def _translate_source_aggregation(problem: ExpressionProblem) -> CodeAndMessage | None:
    if problem.kind == "unknown_function":
        return "APPEND_005", problem.message
    return _translate_source_column(problem) or _translate_not_aggregate(problem)


SELECTOR_PREFIX = "Invalid selector expression: "
SELECTOR = Wording(SELECTOR_PREFIX, _translate_unknown_table, allows_selectors=True)
JOIN_CONDITION = Wording(translate_special=_translate_join)
JOIN_DAY = Wording("as_of of a join: ", _translate_unknown_table)
AGGREGATION = Wording(translate_special=_translate_aggregation)
SOURCE_SELECTOR = Wording(SELECTOR_PREFIX, _translate_source_selector, allows_selectors=True)
SOURCE_AGGREGATION = Wording(translate_special=_translate_source_aggregation)


def make_pair_wording(alias: str, prefix: str = "") -> Wording:
    """Return the wording of an expression over a working row and the source row that an alias names."""

    def translate(problem: ExpressionProblem) -> CodeAndMessage | None:
        if problem.kind == "unknown_column" and problem.table == alias:
            return "APPEND_006", f"{prefix}column '{problem.column}' is not in the source dataset"
        return _translate_unknown_table(problem)

    return Wording(prefix, translate)


def make_assignment_wording(column: str, join_aliases: frozenset[str]) -> Wording:
    """Return the wording of an update's assignment to a column."""

    def translate(problem: ExpressionProblem) -> CodeAndMessage | None:
        if problem.kind == "unknown_column" and problem.table in join_aliases:
            return "JOIN_008", f"Unknown column '{problem.table}.{problem.column}' in assignment expression"
        return _translate_unknown_table(problem)

    return Wording(describe_assignment(column), translate)


def describe_assignment(column: str) -> str:
    """Return how messages about an assigned expression begin."""
    return f"Invalid assignment expression for '{column}': "
