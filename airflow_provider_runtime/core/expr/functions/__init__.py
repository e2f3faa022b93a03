"""The functions of the language: one entry each, in a module for each domain."""

from airflow_provider_runtime.core.expr.functions import aggregates, dates, logic, numeric, text
from airflow_provider_runtime.core.expr.functions.entry import Function

__all__ = ["AGGREGATES", "FUNCTIONS", "FUNCTION_GROUPS", "Function"]

FUNCTION_GROUPS: dict[str, tuple[Function, ...]] = {
    "Logic": logic.FUNCTIONS,
    "Numbers": numeric.FUNCTIONS,
    "Text": text.FUNCTIONS,
    "Dates": dates.FUNCTIONS,
    "Aggregates": aggregates.FUNCTIONS,
}
"""The functions of each domain, as the docs show them."""
FUNCTIONS = {function.name: function for group in FUNCTION_GROUPS.values() for function in group}
AGGREGATES = frozenset(function.name for function in aggregates.FUNCTIONS)
