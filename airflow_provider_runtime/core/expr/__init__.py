"""The expression language: text to tree, tree to types, types to Spark SQL."""

from airflow_provider_runtime.core.expr.checker import Checked, CheckResult, check_expression, check_tree
from airflow_provider_runtime.core.expr.datatypes import common_type, is_assignable
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.formatter import format_expression
from airflow_provider_runtime.core.expr.parser import parse
from airflow_provider_runtime.core.expr.problems import ExpressionProblem, ExpressionSyntaxError
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_equalities, compile_sql

__all__ = [
    "CheckResult",
    "Checked",
    "ExpressionProblem",
    "ExpressionSyntaxError",
    "Relation",
    "Scope",
    "ScopeColumn",
    "check_expression",
    "check_tree",
    "common_type",
    "compile_equalities",
    "compile_sql",
    "evaluate",
    "format_expression",
    "is_assignable",
    "parse",
]
